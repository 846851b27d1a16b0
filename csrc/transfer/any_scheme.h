/* SPDX-License-Identifier: MIT
 *
 * The parts that all sweeps of any scheme share: see standard_scheme.h.
 */
#pragma once
#define ARENA_DEGREE MPM_CUBIC
enum { ANY_SCHEME = 1 };
#include "transfer/particle_limits.h"
#include "transfer/stencil_any.h"

struct run {
    char unused;
};

INLINE void run_begin(struct run *run)
{
    (void)run;
}

struct workspace {
    arena velocity, before, momentum, impulse, midpoint, spin;
    struct stencil stencil;
};

/* Subtracts A e from Q, so that a node needs Q + A k alone. */
INLINE void fold_offset(struct deposit *deposit, const wide e[DIM])
{
    UNROLL for (int b = 0; b < DIM; b++)
        UNROLL for (int a = 0; a < DIM; a++)
            deposit->Q[b] = wide_fnma(deposit->A[a][b], e[a], deposit->Q[b]);
}

INLINE void begin_scatter(struct workspace *work)
{
    memset(work->momentum, 0, sizeof work->momentum);
    memset(work->impulse, 0, sizeof work->impulse);
}

INLINE void end_scatter(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, struct run *run)
{
    (void)run;
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies);
    if (sweep->grid->impulse_copies)
        arena_add(work->impulse + ARENA_SLACK, group, sweep->grid->impulse_copies);
}
