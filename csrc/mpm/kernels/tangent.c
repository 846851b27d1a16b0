/* SPDX-License-Identifier: MIT
 *
 * The sweeps of implicit steps in the standard scheme (tangent_body.h).
 */
#include "mpm/kernels/standard_scheme.h"

INLINE void nodes_read(struct workspace *work, const mpm_group *group, const void *nodes)
{
    velocities_read(&work->velocities, group, nodes, false);
}

/* sum v_i g_i^T with g_i = 4/h^2 w_i (x_i - x) */
INLINE matrix gather_gradient(const mpm_sweep *sweep, struct workspace *work, const struct constants *k,
                              const struct tile *tile)
{
    (void)sweep;
    wide v[DIM], moment[DIM][DIM], d[DIM];
    matrix G;
    const wide zero = wide_set(0);
    const mask alive = wide_less(zero, tile->mass);
    stencil_gather(&work->velocities, tile->x, v, moment, d, NULL);
    UNROLL for (int b = 0; b < DIM; b++)
        UNROLL for (int a = 0; a < DIM; a++)
            G.m[b][a] = wide_select(alive, k->affine * wide_fnma(d[a], v[b], moment[a][b]), zero);
    return G;
}

/* Adds {force g_i, w_i diagonal} to the nodes. */
INLINE void scatter_stress(const mpm_sweep *sweep, struct workspace *work, struct run *run, const struct constants *k,
                           const struct tile *tile, matrix force, wide diagonal, int count)
{
    (void)sweep;
    struct stencil *stencil = &work->stencil;
    const wide zero = wide_set(0);
    wide Q[DIM], A[DIM][DIM];
    stencil_prepare(stencil, tile->x);
    const wide *d = stencil_middle(stencil);
    UNROLL for (int b = 0; b < DIM; b++) {
        Q[b] = zero;
        UNROLL for (int a = 0; a < DIM; a++) {
            A[a][b] = k->affine * force.m[b][a];
            Q[b] = wide_fnma(A[a][b], d[a], Q[b]);
        }
    }
    stencil_scatter(stencil, run, work->momentum + ARENA_SLACK, count, Q, diagonal, A);
}

INLINE void momentum_end(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, struct run *run)
{
    end_scatter(sweep, group, work, run);
}

#define FAMILY(name) MPM_KERNEL(tangent_##name)
#include "mpm/kernels/tangent_body.h"
