/* SPDX-License-Identifier: MIT
 *
 * The back end of a GPU, or of its emulation (mpm/gpu/driver.h): explicit steps of the standard scheme, or of PIC, FLIP
 * or AFLIP in its place, under forces and tractions, between walls and colliders that do not absorb. Whoever makes the
 * simulation refuses the rest.
 *
 * The host has a copy of every column, in the layout of kernels with one lane. What is rare works on it: particles that
 * come and go, files, searches for rows. Columns are copied when they are mapped, and back after they were written.
 */
#pragma once
#include "mpm/gpu_laws.h"

/** Makes a simulation that has never had particles, and whose kernels have one lane, run on the GPU of the driver of
 *  an image. Further calls add images of other laws, before their materials are added, and images that know colliders,
 *  which take the place of those of the same laws without, before there are colliders. The driver belongs to the
 *  simulation from then on. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if the simulation is another one, the image is
 *  of another precision, dimension or transfer, or there is one of the law; MPM_TOO_LARGE if the domain has too many
 *  blocks. */
mpm_status mpm_gpu_backend_use(mpm_simulation *simulation, const mpm_gpu_law *image);

/** An array of the device for other libraries: what users know as a field, in the order of the device. */
typedef struct mpm_gpu_shown {
    void *at;
    int axes;
    int64_t shape[3], strides[3];   /* in numbers */
    bool is_integer;                /* of 32 bits; or a real */
    size_t size;                    /* bytes of a number */
    int device_kind, device_number; /* as DLPack counts them */
    uint64_t changes;               /* mpm_gpu_backend_changes: with another number the array shows something else */
} mpm_gpu_shown;

/** Lends a field of the current state, or "row", the users' row of each particle. x is an array of its own, the others
 *  are those of the simulation. The memory lasts until mpm_gpu_backend_return and the end of the simulation. Errors:
 *  those of a step; MPM_BAD_ARGUMENT if the simulation is on no device, or the device has no such field. */
mpm_status mpm_gpu_backend_lend(mpm_simulation *simulation, const char *name, mpm_gpu_shown *shown);

/** Returns what was lent. From any thread, also during a run. */
void mpm_gpu_backend_return(mpm_simulation *simulation);

/** How often the device's arrays have changed. */
uint64_t mpm_gpu_backend_changes(const mpm_simulation *simulation);

/** Has the simulation such an image, which knows colliders if it must? The driver of `image` is not read. */
bool mpm_gpu_backend_has(const mpm_simulation *simulation, const mpm_gpu_law *image, bool collides);
