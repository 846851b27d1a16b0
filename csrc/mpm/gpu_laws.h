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
    void *given;                  /* of what it has: the prepared parameters, [material][MPM_GPU_LAW_BYTES]; where
                                   * they vary, the values of the material */
    bool *due;                    /* per material: parameters that vary have been written */
    int row[MPM_MOST_COLUMNS];    /* which of the device's histories a column is; -1: none */
} mpm_gpu_laws;

enum { MPM_GPU_LAW_BYTES = 2048 }; /* of the prepared parameters of any law, at most */

/** The driver with the last image of a law; NULL: there is none. */
mpm_gpu_driver *mpm_gpu_laws_find(const mpm_gpu_laws *laws, int law, bool varies);

/** Adds an image, or one that knows colliders, which takes the place of one that does not. Its driver is freed with the
 *  others. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if there is one, or its prepared parameters are too large. */
mpm_status mpm_gpu_laws_add(mpm_gpu_laws *laws, const mpm_allocator *allocator, const mpm_gpu_law *image);

/** Lays out the histories of these materials, and the parameters that vary, on the device, which has no particles now.
 *  Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if a law has no image. */
mpm_status mpm_gpu_laws_begin(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials, size_t count);

/** Lets the materials of the device be launched by the images that have been added since. */
void mpm_gpu_laws_renew(const mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials);

/** Notes that the host has written a column. */
void mpm_gpu_laws_note(mpm_gpu_laws *laws, int dim, const mpm_material *materials, int column);

/** Does the device lack the values of a material that vary? Then the next function reads their columns and the rows. */
bool mpm_gpu_laws_lacks(const mpm_gpu_laws *laws, const mpm_gpu_engine *engine, const mpm_material *materials,
                        size_t m);

/** Brings the parameters to the device that it does not have. Errors: MPM_OUT_OF_MEMORY, MPM_DEVICE_FAILED. */
mpm_status mpm_gpu_laws_give(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials,
                             const mpm_particles *particles);

/** Frees all, and the drivers. */
void mpm_gpu_laws_free(mpm_gpu_laws *laws, const mpm_allocator *allocator);
