/* SPDX-License-Identifier: MIT
 *
 * Body forces and loads on a GPU: what a forced step is given, by row (run/loads.h), and the power of loads.
 */
#pragma once
#include "mpm/gpu/engine.h"
#include "run/loads.h"

/** Memory of the host. */
typedef struct mpm_gpu_loads {
    double *couple; /* [row][dim][dim] [N m] */
    void *motion;   /* of each particle of the device: velocity, and its gradient */
    ptrdiff_t rows; /* that there is room for */
} mpm_gpu_loads;

/** Makes room for a forced step, on either side. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_gpu_loads_hold(mpm_gpu_loads *loads, mpm_gpu_engine *engine, const mpm_forcing *forcing);

/** Copies accelerations, and the couples of loads summed by row, to the device. */
void mpm_gpu_loads_give(mpm_gpu_loads *loads, mpm_gpu_engine *engine, const mpm_forcing *forcing);

/** The power of every entry [W], from the velocities that a launch has left beside the state (`probes`). `row`: of each
 *  particle, in the order of the device. */
void mpm_gpu_loads_find_power(mpm_gpu_loads *loads, mpm_gpu_engine *engine, const mpm_forcing *forcing,
                              const int32_t *row, double *power);

void mpm_gpu_loads_clear(mpm_gpu_loads *loads, const mpm_allocator *allocator);
