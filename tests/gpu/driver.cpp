/* SPDX-License-Identifier: MIT
 *
 * A driver (mpm/gpu/driver.h) whose device is the emulation of cuda.h: the host of the package runs the kernels on a
 * processor. Compiled with the macros of csrc/mpm/gpu/sweep.cu, for tests/emulated_device.py, which may give the device
 * little memory, and lets it fail.
 */
#include <atomic>
#include <mutex>
#include <utility>

#include "cuda.h"

#include "mpm/gpu/driver.h"
#include "mpm/gpu/sweep.cu"
#include "mpm/gpu/nodes.cu"
#include "mpm/gpu/sort.cu"

static std::mutex one_at_a_time; /* the emulation has one CTA */
static std::atomic<long long> waits; /* for launches: copies to the host, and others */

struct emulated {
    mpm_gpu_driver driver; /* the first member */
    order threads;
    size_t room;     /* bytes that are left */
    long long calls; /* that are left; < 0: any number */
};

static emulated *of(mpm_gpu_driver *driver)
{
    return (emulated *)driver;
}

static mpm_status call(mpm_gpu_driver *driver)
{
    long long *calls = &of(driver)->calls;
    return *calls == 0 ? MPM_DEVICE_FAILED : (*calls -= *calls > 0, MPM_OK);
}

static mpm_status allocate(mpm_gpu_driver *driver, void **memory, size_t bytes)
{
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    if (bytes > of(driver)->room)
        return MPM_OUT_OF_MEMORY;
    of(driver)->room -= bytes;
    *memory = device_new(bytes);
    return MPM_OK;
}

static void release(mpm_gpu_driver *driver, void *memory)
{
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    for (piece *p = pieces; p && memory; p = p->next)
        if (p->data() == memory)
            of(driver)->room += p->bytes;
    device_free(memory);
}

static mpm_status copy(mpm_gpu_driver *driver, void *to, const void *from, size_t bytes)
{
    const mpm_status status = call(driver);
    if (!status)
        memcpy(to, from, bytes);
    return status;
}

static mpm_status read(mpm_gpu_driver *driver, void *to, const void *from, size_t bytes)
{
    waits++;
    return copy(driver, to, from, bytes);
}

static mpm_status fill(mpm_gpu_driver *driver, void *to, int byte, size_t bytes)
{
    const mpm_status status = call(driver);
    if (!status)
        memset(to, byte, bytes);
    return status;
}

/* Calls a kernel with arguments at these addresses. */
template <class... types, size_t... k>
static void apply(void (*kernel)(types...), void **arguments, std::index_sequence<k...>)
{
    kernel(*(std::remove_cv_t<types> *)arguments[k]...);
}

template <class... types> static void apply_all(void (*kernel)(types...), void **arguments)
{
    apply(kernel, arguments, std::index_sequence_for<types...>());
}

struct call_of_kernel {
    mpm_gpu_kernel kernel;
    void **arguments;
};

static void run_thread(void *called)
{
    const call_of_kernel *it = (const call_of_kernel *)called;
    switch (it->kernel) {
#define CASE(enumerator, name) \
    case enumerator: \
        apply_all(name, it->arguments); \
        break;
        MPM_GPU_KERNELS(CASE)
#undef CASE
    default:
        fail("no such kernel");
    }
}

static mpm_status launch_kernel(mpm_gpu_driver *driver, mpm_gpu_kernel kernel, mpm_gpu_shape shape, void **arguments)
{
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    const mpm_status status = call(driver);
    call_of_kernel called = {kernel, arguments};
    launch_order = of(driver)->threads;
    if (!status)
        launch(run_thread, &called, shape.ctas, shape.threads, shape.bytes);
    return status;
}

static mpm_status wait_for_all(mpm_gpu_driver *driver)
{
    waits++;
    return call(driver);
}

static const char *words(const mpm_gpu_driver *)
{
    return "the emulated device was told to fail";
}

static void free_driver(mpm_gpu_driver *driver)
{
    delete of(driver);
}

/** Are there arrays of any device? */
extern "C" bool emulated_holds(void)
{
    return pieces;
}

/** How often a host has waited for a device of this library. */
extern "C" long long emulated_waits(void)
{
    return waits;
}

/** A device with `room` bytes, which fails after so many calls; < 0: never. */
extern "C" mpm_gpu_driver *emulated_new(int threads, size_t room, long long calls)
{
    emulated *made = new emulated{};
    made->driver = {gpu_image, allocate, release, copy, read, copy, fill, launch_kernel, wait_for_all, words,
                    free_driver, 1, 0};
    made->threads = (order)threads, made->room = room, made->calls = calls;
    return &made->driver;
}
