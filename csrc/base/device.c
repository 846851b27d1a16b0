/* SPDX-License-Identifier: MIT */
#include "base/device.h"

static void *host_allocate(mpm_device *device, size_t bytes, bool cleared)
{
    return cleared ? mpm_memory_new(&device->allocator, bytes, 1) : mpm_memory_new_unset(&device->allocator, bytes, 1);
}

static void host_release(mpm_device *device, void *memory)
{
    mpm_memory_free(&device->allocator, memory);
}

static void *host_map(mpm_device *device, void *memory, mpm_access access)
{
    (void)device, (void)access;
    return memory;
}

static void host_unmap(mpm_device *device, void *memory)
{
    (void)device, (void)memory;
}

mpm_device mpm_device_of_host(const mpm_allocator *allocator)
{
    return (mpm_device){host_allocate, host_release, host_map, host_unmap, *allocator};
}

static void *allocate(mpm_device *device, size_t count, size_t size, bool cleared)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return device->allocate(device, bytes ? bytes : 1, cleared);
}

void *mpm_device_new(mpm_device *device, size_t count, size_t size)
{
    return allocate(device, count, size, true);
}

void *mpm_device_new_unset(mpm_device *device, size_t count, size_t size)
{
    return allocate(device, count, size, false);
}

void mpm_device_free(mpm_device *device, void *memory)
{
    if (memory)
        device->release(device, memory);
}

void *mpm_device_map(mpm_device *device, const void *memory, mpm_access access)
{
    return memory ? device->map(device, (void *)memory, access) : NULL;
}

void mpm_device_unmap(mpm_device *device, const void *memory)
{
    if (memory)
        device->unmap(device, (void *)memory);
}
