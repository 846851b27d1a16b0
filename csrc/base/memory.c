/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { ALIGNMENT = 64 }; /* a cache line, and the widest vector register */

static void *default_allocate(void *user, size_t bytes)
{
    (void)user;
    return aligned_alloc(ALIGNMENT, bytes);
}

static void default_release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

mpm_allocator mpm_memory_default(void)
{
    return (mpm_allocator){.allocate = default_allocate, .release = default_release};
}

/* The bytes to allocate, a multiple of the alignment; 0 if they overflow. */
static size_t bytes_of(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - ALIGNMENT)
        return 0;
    return bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
}

void *mpm_memory_new_unset(const mpm_allocator *allocator, size_t count, size_t size)
{
    const size_t bytes = bytes_of(count, size);
    return bytes ? allocator->allocate(allocator->user, bytes) : NULL;
}

void *mpm_memory_new(const mpm_allocator *allocator, size_t count, size_t size)
{
    void *memory = mpm_memory_new_unset(allocator, count, size);
    if (memory)
        memset(memory, 0, bytes_of(count, size));
    return memory;
}

void mpm_memory_free(const mpm_allocator *allocator, void *memory)
{
    if (memory)
        allocator->release(allocator->user, memory);
}

int mpm_memory_grow(const mpm_allocator *allocator, void **array, size_t *capacity, size_t used, size_t wanted,
                    size_t size)
{
    if (wanted <= *capacity)
        return 0;
    size_t larger = wanted > SIZE_MAX / 2 ? wanted : wanted + wanted / 2;
    void *memory = mpm_memory_new(allocator, larger, size);
    if (!memory)
        return -1;
    if (used)
        memcpy(memory, *array, used * size);
    mpm_memory_free(allocator, *array);
    *array = memory;
    *capacity = larger;
    return 0;
}

void mpm_memory_take_singly(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 19);
    malloc_trim(0);
#endif
}
