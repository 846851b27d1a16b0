/* SPDX-License-Identifier: MIT
 *
 * What the host needs of a GPU: its memory, and the launches of one image, which is the kernels of this folder compiled
 * for one law, dimension and precision. A driver is a table of functions, so that tests may run the same host on an
 * emulation.
 *
 * Python hands a driver to the core as a capsule named MPM_GPU_CAPSULE, whose pointer is a `mpm_gpu_driver`. The core
 * calls `free` when its simulation ends.
 *
 * Copies and launches take effect in the order of their calls; `read` and `wait` return when all before them are done.
 * Memory is that of the device, not of the image: drivers of one device may use each other's.
 *
 * Every function with a status returns MPM_OK, MPM_OUT_OF_MEMORY from `allocate`, or MPM_DEVICE_FAILED, whose cause
 * `words` gives. After MPM_DEVICE_FAILED only `words`, `release` and `free` are called.
 */
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "mpm/gpu/image.h"

#define MPM_GPU_CAPSULE "mpm.gpu.driver"

/** X(enumerator, name): every kernel of an image, by its name in the image. */
#define MPM_GPU_KERNELS(X) \
    X(MPM_GPU_P2G, p2g)                   /* sweep.cu */ \
    X(MPM_GPU_G2P, g2p) \
    X(MPM_GPU_G2P2G, g2p2g) \
    X(MPM_GPU_SYNCHRONIZE, synchronize) \
    X(MPM_GPU_MEASURE, measure_particles) \
    X(MPM_GPU_DRY_RUN, dry_run) \
    X(MPM_GPU_PUSH, push) \
    X(MPM_GPU_FILL_VOLUME, fill_volume) \
    X(MPM_GPU_MOVE_NODES, move_nodes)     /* nodes.cu */ \
    X(MPM_GPU_MEET_NODES, meet_nodes) \
    X(MPM_GPU_SUM_VOLUMES, sum_volumes) \
    X(MPM_GPU_FILL_NODES, fill_nodes) \
    X(MPM_GPU_TAKE_NODES, take_nodes) \
    X(MPM_GPU_ADD_REPORTS, add_reports) \
    X(MPM_GPU_ADD_BOOKS, add_books) \
    X(MPM_GPU_COUNT_BLOCKS, count_blocks) /* sort.cu */ \
    X(MPM_GPU_MARK_BLOCKS, mark_blocks) \
    X(MPM_GPU_SCAN, scan) \
    X(MPM_GPU_SHIFT, shift) \
    X(MPM_GPU_LIST_BLOCKS, list_blocks) \
    X(MPM_GPU_COUNT_CELLS, count_cells) \
    X(MPM_GPU_PUT, put) \
    X(MPM_GPU_SORT_CELLS, sort_cells) \
    X(MPM_GPU_MOVE, move) \
    X(MPM_GPU_SHOW_PLACES, show_places)

#define MPM_GPU_ENUMERATOR(enumerator, name) enumerator,
typedef enum mpm_gpu_kernel { MPM_GPU_KERNELS(MPM_GPU_ENUMERATOR) MPM_GPU_KERNEL_COUNT } mpm_gpu_kernel;
#undef MPM_GPU_ENUMERATOR

/** `bytes` of shared memory beside what a kernel declares. */
typedef struct mpm_gpu_shape {
    unsigned ctas, threads;
    size_t bytes;
} mpm_gpu_shape;

typedef struct mpm_gpu_driver mpm_gpu_driver;
struct mpm_gpu_driver {
    mpm_gpu_image image;
    mpm_status (*allocate)(mpm_gpu_driver *driver, void **memory, size_t bytes); /* bytes > 0; aligned to 256 */
    void (*release)(mpm_gpu_driver *driver, void *memory); /* after the launches before it; NULL is allowed */
    mpm_status (*write)(mpm_gpu_driver *driver, void *to, const void *from, size_t bytes); /* host to device; `from`
                                                                                           * may change afterwards */
    mpm_status (*read)(mpm_gpu_driver *driver, void *to, const void *from, size_t bytes);  /* device to host */
    mpm_status (*copy)(mpm_gpu_driver *driver, void *to, const void *from, size_t bytes);  /* within the device */
    mpm_status (*fill)(mpm_gpu_driver *driver, void *to, int byte, size_t bytes);
    /** `arguments`: the address of each parameter of the kernel, as for cuLaunchKernel; valid during the call. */
    mpm_status (*launch)(mpm_gpu_driver *driver, mpm_gpu_kernel kernel, mpm_gpu_shape shape, void **arguments);
    mpm_status (*wait)(mpm_gpu_driver *driver);
    const char *(*words)(const mpm_gpu_driver *driver); /* of the failure: valid until `free` */
    void (*free)(mpm_gpu_driver *driver);               /* the memory that is left, and the driver itself */
    int device_kind, device_number;                     /* of the memory, as DLPack counts them */
};
