/* SPDX-License-Identifier: MIT
 *
 * The sweep of the standard scheme: everything a step does to particles, tile by tile. kernels.h lists the operations.
 *
 *     v = sum w v_i,  C = 4/h^2 sum w v_i (x_i - x)^T               G2P, quadratic B-spline (APIC: Jiang et al. 2015)
 *     particles within a collider: v by the collision rule (contact/collider.h)
 *     F <- (I + dt C) F  or  J <- det(I + dt C) J,  x <- x + dt v;  the return map of an inelastic law
 *     p_i += w [m v + (m C - dt V0 4/h^2 tau(F)) (x_i - x)]         P2G (MLS-MPM: Hu et al. 2018)
 */
#include "mpm/kernels/standard_scheme.h"
#include "mpm/kernels/particle_update.h"

INLINE void begin_gather(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, const bool fills)
{
    velocities_read(&work->velocities, group, fills ? sweep->fill : sweep->grid->field[MPM_GRID_VELOCITY], fills);
}

/* Crack faces are a matter of any scheme. */
INLINE void begin_sides(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    (void)sweep, (void)group, (void)work;
}

/* Computes velocity and its gradient from the grid. Frozen particles (mass 0) do not move. `fill`: receives how full
 * the grid is there, or NULL. */
INLINE struct motion gather(const mpm_sweep *sweep, struct workspace *work, const struct constants *k,
                            struct tile *tile, const int law, wide *fill)
{
    (void)sweep;
    struct motion motion;
    wide moment[DIM][DIM], d[DIM];
    stencil_gather(&work->velocities, tile->x, tile->v, moment, d, law_keeps_J(law) ? fill : NULL);
    const wide zero = wide_set(0);
    const mask alive = wide_less(zero, tile->mass);
    UNROLL for (int b = 0; b < DIM; b++) {
        UNROLL for (int a = 0; a < DIM; a++)
            tile->C.m[b][a] = wide_select(alive, k->affine * wide_fnma(d[a], tile->v[b], moment[a][b]), zero);
        motion.velocity[b] = tile->v[b] = wide_select(alive, tile->v[b], zero);
    }
    motion.gradient = tile->C;
    return motion;
}

INLINE void scatter(const mpm_sweep *sweep, struct workspace *work, struct run *run, const struct constants *k,
                    const struct tile *tile, const struct law_evaluation *evaluation, int count)
{
    (void)sweep;
    struct stencil *stencil = &work->stencil;
    const wide h_mass = k->h * tile->mass, stress = k->stress * tile->volume;
    wide Q[DIM], A[DIM][DIM];
    stencil_prepare(stencil, tile->x);
    const wide *d = stencil_middle(stencil);
    UNROLL for (int b = 0; b < DIM; b++) {
        Q[b] = tile->mass * tile->v[b];
        UNROLL for (int a = 0; a < DIM; a++) {
            A[a][b] = wide_fma(h_mass, tile->C.m[b][a], stress * evaluation->tau.m[b][a]);
            Q[b] = wide_fnma(A[a][b], d[a], Q[b]);
        }
    }
    stencil_scatter(stencil, run, work->momentum + ARENA_SLACK, count, Q, tile->mass, A);
}

#define FAMILY(name) MPM_KERNEL(sweep_##name)
#include "mpm/kernels/sweep_body.h"
