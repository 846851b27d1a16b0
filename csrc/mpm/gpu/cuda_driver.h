/* SPDX-License-Identifier: MIT
 *
 * Drivers of NVIDIA's GPUs (driver.h). Nothing of CUDA is needed to build or to start: the library of the driver is
 * opened when a function here is called, by its name, "libcuda.so.1".
 *
 * All work goes to the legacy default stream of the device's primary context, which other libraries of the process
 * share: launches of several drivers of one device, and what PyTorch or CuPy do by default, take effect in the order
 * of the calls. The context stays when the last driver is freed, because making one takes tenths of a second.
 *
 * A driver serves one thread at a time, and the process that made it. In a child forked from that process its functions
 * fail, and `free` releases the memory of the host only.
 */
#pragma once
#include "base/memory.h"
#include "mpm/gpu/driver.h"

#define MPM_CUDA_LIBRARY "libcuda.so.1"

enum {
    MPM_CUDA_WORDS = 512,         /* of an error, with the final 0 */
    MPM_CUDA_NAME = 128,
    MPM_CUDA_MOST_DEVICES = 64,
    MPM_CUDA_LEAST_VERSION = 13000, /* of the driver: CUDA 13.0, as of the compiler */
    MPM_CUDA_LEAST_CAPABILITY = 75  /* of a device: 7.5 */
};

typedef struct mpm_cuda_device {
    char name[MPM_CUDA_NAME];
    int capability;     /* 90: compute capability 9.0 */
    size_t bytes;       /* of its memory */
    int shared_bytes;   /* that a CTA may have */
} mpm_cuda_device;

typedef struct mpm_cuda_list {
    int version, count; /* 13010: the driver knows CUDA 13.1 */
    mpm_cuda_device device[MPM_CUDA_MOST_DEVICES];
} mpm_cuda_list;

/** The devices that this process may use. Without a driver, or without a device, MPM_DEVICE_FAILED, and `words` says
 *  which and what to do. */
mpm_status mpm_cuda_driver_list(const char *library, mpm_cuda_list *list, char words[MPM_CUDA_WORDS]);

/** A driver with the kernels of `image`, code of the device that ends with a zero byte. On errors `words` says what
 *  failed: MPM_OUT_OF_MEMORY, MPM_BAD_ARGUMENT (no such device), MPM_TOO_LARGE (the kernels need more shared memory
 *  than the device has), MPM_DEVICE_FAILED. */
mpm_status mpm_cuda_driver_new(mpm_gpu_driver **driver, const mpm_allocator *allocator, const char *library,
                               int ordinal, const void *image, char words[MPM_CUDA_WORDS]);
