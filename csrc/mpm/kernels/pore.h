/* SPDX-License-Identifier: MIT
 *
 * Pore water: what conduction (heat.c) does otherwise where the "temperature" of a material is the pressure p of the
 * water in its pores. With the volume V = J V0, Biot's coefficient a, the storage 1/M per rest volume, and the mobility
 * k/mu of the water, whose weight is rho g,
 *
 *     V0/M dp = -a dV + dt sum of what flows in,   q = -(k/mu) (grad p - rho g),   sigma = sigma' - a p I
 *
 * What is conducted is u = p - rho g . x: water at rest has one u. Particles carry p. They take the increments of the
 * nodes, so that u is an intermediate result; G is its gradient. The strain of the step is the source a dV of the first
 * sub-step, summed at nodes as everything is: increments of p are those of the mean strain around a node, so that
 * water that hardly changes its volume does not lock.
 *
 * M. A. Biot, J. Appl. Phys. 12 (1941) 155; O. Coussy, Poromechanics (2004), section 4.1, for finite strains.
 */
#pragma once
#include "mpm/kernels/any_scheme.h"

/* rho g . x, with the places of a tile in cells from the first node of its block. */
INLINE wide pore_hydrostatic(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                             const wide x[DIM])
{
    double first = 0;
    for (int a = 0; a < DIM; a++)
        first += heat->weight[a] * (sweep->lower[a] + (double)group->block[a] * BLOCK_SIDE * sweep->dx);
    wide sum = wide_set((real)first);
    UNROLL for (int a = 0; a < DIM; a++)
        sum = wide_fma(wide_set((real)(heat->weight[a] * sweep->dx)), x[a], sum);
    return sum;
}

/* det(I + dt grad v) - 1, to the last digits of small strains, from velocities in the arena `before`; with a stencil
 * that is prepared. Its sums are lost. */
INLINE wide pore_gained(const mpm_sweep *sweep, const mpm_heat_arguments *heat, struct workspace *work)
{
    const mpm_scheme *scheme = &sweep->scheme;
    const bool mls = scheme->gradient == MPM_GRADIENT_MLS;
    const double D = mls ? mpm_scheme_second_moment(scheme->degree) : 1;
    const wide scale = wide_set((real)(heat->strain_dt / (sweep->dx * D)));
    struct stencil *s = &work->stencil;
    matrix G;
    stencil_gather(s, work->before + ARENA_SLACK, NULL, scheme->degree, mls ? WANT_MOMENT : WANT_SLOPE);
    UNROLL for (int b = 0; b < DIM; b++)
        UNROLL for (int a = 0; a < DIM; a++) {
            const wide moment = wide_fnma(s->e[a], stencil_sum(s, 0, b), stencil_sum(s, 1 + a, b));
            G.m[b][a] = scale * (mls ? moment : stencil_sum(s, 1 + DIM + a, b));
        }
    if (DIM == 2)
        return matrix_trace(G) + matrix_det(G);
    return matrix_trace(G) + (matrix_trace(matrix_cofactor(G)) + matrix_det(G));
}
