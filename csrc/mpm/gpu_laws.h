/* SPDX-License-Identifier: MIT
 *
 * What a GPU has of the materials of a simulation: images of their laws, which parameters these get, and where their
 * histories are.
 */
#pragma once
#include "mpm/gpu/engine.h"
#include "mpm/simulation.h"

/** The image of a law, for numbers as parameters, or for those that vary. */
typedef struct mpm_gpu_law {
    int law;
    bool varies;
    mpm_gpu_driver *driver;
} mpm_gpu_law;

typedef struct mpm_gpu_laws {
    mpm_gpu_law *list;
    size_t count, capacity;
    bool begun;                   /* the device is laid out for `materials` of them */
    size_t materials;
    void *given;                  /* the prepared parameters that it has, [material][MPM_GPU_LAW_BYTES] */
    int row[MPM_MOST_COLUMNS];    /* which of the device's histories a column is; -1: none */
} mpm_gpu_laws;

enum { MPM_GPU_LAW_BYTES = 2048 }; /* of the prepared parameters of any law, at most */

/** The driver with the image of a law; NULL: there is none. */
mpm_gpu_driver *mpm_gpu_laws_find(const mpm_gpu_laws *laws, int law, bool varies);

/** Adds an image. Its driver is freed with the others. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if there
 *  is one, or its prepared parameters are too large. */
mpm_status mpm_gpu_laws_add(mpm_gpu_laws *laws, const mpm_allocator *allocator, const mpm_gpu_law *image);

/** Lays out the histories of these materials on the device, which has no particles now. Errors: MPM_OUT_OF_MEMORY;
 *  MPM_BAD_ARGUMENT if a law has no image. */
mpm_status mpm_gpu_laws_begin(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials, size_t count);

/** Brings the parameters to the device that it does not have. Errors: MPM_OUT_OF_MEMORY, MPM_DEVICE_FAILED. */
mpm_status mpm_gpu_laws_give(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials);

/** Frees all, and the drivers. */
void mpm_gpu_laws_free(mpm_gpu_laws *laws, const mpm_allocator *allocator);
