/* SPDX-License-Identifier: MIT
 *
 * The sweeps of implicit steps in any scheme (tangent_body.h).
 */
#include "mpm/kernels/any_scheme.h"

INLINE void nodes_read(struct workspace *work, const mpm_group *group, const void *nodes)
{
    arena_read(work->velocity + ARENA_SLACK, group, nodes);
}

/* Adds {force g_i, w_i diagonal} to the nodes; the gather has prepared the stencil. */
INLINE void scatter_stress(const mpm_sweep *sweep, struct workspace *work, struct run *run, const struct constants *k,
                           const struct tile *tile, matrix force, wide diagonal, int count)
{
    (void)run, (void)tile;
    const bool mls = sweep->scheme.gradient == MPM_GRADIENT_MLS;
    const wide zero = wide_set(0), scale = mls ? k->affine : wide_set((real)(1 / sweep->dx));
    struct stencil *s = &work->stencil;
    struct deposit deposit = {.mass = diagonal, .by_offset = mls, .by_slope = !mls};
    UNROLL for (int b = 0; b < DIM; b++) {
        deposit.Q[b] = zero;
        UNROLL for (int a = 0; a < DIM; a++) {
            const wide value = scale * force.m[b][a];
            deposit.A[a][b] = mls ? value : zero;
            deposit.G[a][b] = mls ? zero : value;
        }
    }
    fold_offset(&deposit, s->e);
    stencil_scatter(s, work->momentum + ARENA_SLACK, count, sweep->scheme.degree, &deposit);
}

INLINE void momentum_end(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, struct run *run)
{
    (void)run;
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies[MPM_GRID_FORCES]);
}

#define FAMILY(name) MPM_KERNEL(tangent_any_##name)
#include "mpm/kernels/tangent_body.h"
