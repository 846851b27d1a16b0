/* SPDX-License-Identifier: MIT
 *
 * The parts that all sweeps of the standard scheme share: the form of gather and scatter that is fastest for the
 * instruction set, the workspace of a thread, and how a group's momentum reaches the copies of its task.
 */
#pragma once
#define ANY_SCHEME 0
#include "mpm/kernels/particle_limits.h"
#if defined(MPM_ONE_LANE)
#include "mpm/kernels/stencil_scalar.h"
#elif defined(MPM_ISA_AVX512) && DIM == 2
#include "mpm/kernels/gather_tables.h"
#elif defined(MPM_ISA_AVX2) && DIM == 2
#include "mpm/kernels/gather_pairs.h"
#else
#include "mpm/kernels/gather_pencils.h"
#endif

struct workspace {
    struct velocities velocities;
    arena momentum;
    struct stencil stencil; /* of the scatter */
};

/* Once per task: another operation may have left values in the arena of momentum. */
INLINE void begin_scatter(struct workspace *work)
{
    memset(work->momentum, 0, sizeof work->momentum);
}

/* Not inlined, so that the loop over tiles has all registers; velocities_read likewise. */
NOINLINE void momentum_add(struct workspace *work, const mpm_group *group, real *copies)
{
    arena_add(work->momentum + ARENA_SLACK, group, copies);
}

INLINE void end_scatter(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, struct run *run)
{
    run_end(run, work->momentum + ARENA_SLACK);
    momentum_add(work, group, sweep->grid->copies[MPM_GRID_VELOCITY]);
}
