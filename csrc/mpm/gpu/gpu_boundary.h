/* SPDX-License-Identifier: MIT
 *
 * The colliders on a GPU (mpm_gpu_boundary): shapes are copied when they have changed, poses with every launch.
 */
#pragma once
#include "contact/boundary.h"
#include "mpm/gpu/engine.h"

/** Gives the device the colliders of a boundary, if it has not got these, and makes room for what launches find about
 *  them. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_gpu_boundary_take(mpm_gpu_engine *engine, const mpm_boundary *boundary);

/** Makes room for the books of as many CTAs. */
mpm_status mpm_gpu_boundary_hold_books(mpm_gpu_engine *engine, int ctas);

/** Brings the device's colliders to the poses of these, which are those that it has. Returns whether any had another
 *  pose. */
bool mpm_gpu_boundary_pose(mpm_gpu_engine *engine, const mpm_collider *colliders);

/** Frees all of it. */
void mpm_gpu_boundary_clear(mpm_gpu_engine *engine);
