/* SPDX-License-Identifier: MIT
 *
 * The parts that all sweeps of any scheme share: see standard_scheme.h.
 */
#pragma once
#define ARENA_DEGREE MPM_CUBIC
#define ANY_SCHEME 1
#include "mpm/kernels/faces.h"
#include "mpm/kernels/particle_limits.h"

struct run {
    char unused;
};

INLINE void run_begin(struct run *run)
{
    (void)run;
}

struct workspace {
    arena velocity, before, momentum, impulse, midpoint, spin, volume_change, fill;
    arena second_velocity, second_before, second_momentum, second_impulse; /* of the second sides of cracks */
    struct sides sides;
    struct stencil stencil;
};

/* Subtracts A e from Q, so that a node needs Q + A k alone. */
INLINE void fold_offset(struct deposit *deposit, const wide e[DIM])
{
    UNROLL for (int b = 0; b < DIM; b++)
        UNROLL for (int a = 0; a < DIM; a++)
            deposit->Q[b] = wide_fnma(deposit->A[a][b], e[a], deposit->Q[b]);
}

/* sum v_i g_i^T of the velocities in the arena, where g_i is the gradient of moving least squares or of the B-spline.
 * Prepares the stencil. */
INLINE matrix gather_gradient(const mpm_sweep *sweep, struct workspace *work, const struct constants *k,
                              const struct tile *tile)
{
    const mpm_scheme *scheme = &sweep->scheme;
    const bool mls = scheme->gradient == MPM_GRADIENT_MLS;
    const wide zero = wide_set(0), inverse_h = wide_set((real)(1 / sweep->dx));
    const mask alive = wide_less(zero, tile->mass);
    struct stencil *s = &work->stencil;
    matrix G;
    stencil_prepare(s, tile->x, scheme->degree);
    gather_by_side(&work->sides, s, work->velocity, work->second_velocity, scheme->degree,
                   mls ? WANT_MOMENT : WANT_SLOPE);
    UNROLL for (int b = 0; b < DIM; b++)
        UNROLL for (int a = 0; a < DIM; a++) {
            const wide found = mls ? k->affine * wide_fnma(s->e[a], stencil_sum(s, 0, b), stencil_sum(s, 1 + a, b))
                                   : inverse_h * stencil_sum(s, 1 + DIM + a, b);
            G.m[b][a] = wide_select(alive, found, zero);
        }
    return G;
}

INLINE void begin_scatter(struct workspace *work)
{
    memset(work->momentum, 0, sizeof work->momentum);
    memset(work->impulse, 0, sizeof work->impulse);
    memset(work->second_momentum, 0, sizeof work->second_momentum);
    memset(work->second_impulse, 0, sizeof work->second_impulse);
    work->sides.exist = false;
}

INLINE void end_scatter(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, struct run *run)
{
    (void)run;
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies[MPM_GRID_VELOCITY]);
    if (sweep->grid->copies[MPM_GRID_IMPULSE])
        arena_add(work->impulse + ARENA_SLACK, group, sweep->grid->copies[MPM_GRID_IMPULSE]);
    if (!work->sides.exist)
        return;
    add_second_field(group, work->second_momentum, sweep->grid->copies[MPM_GRID_VELOCITY]);
    if (sweep->grid->copies[MPM_GRID_IMPULSE])
        add_second_field(group, work->second_impulse, sweep->grid->copies[MPM_GRID_IMPULSE]);
}
