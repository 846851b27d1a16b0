/* SPDX-License-Identifier: MIT
 *
 * The sweep of the standard scheme: everything a step does to particles, tile by tile. See kernels.h for its modes.
 *
 *     v = sum w v_i,  C = 4/h^2 sum w v_i (x_i - x)^T               G2P, quadratic B-spline (APIC: Jiang et al. 2015)
 *     v of what lies within a collider follows the collision rule (contact/collider.h)
 *     F <- (I + dt C) F  or  J <- det(I + dt C) J,  x <- x + dt v;  the return map of an inelastic law
 *     p_i += w [m v + (m C - dt V0 4/h^2 tau(F)) (x_i - x)]         P2G (MLS-MPM: Hu et al. 2018)
 */
enum { ANY_SCHEME = 0 };
#include "transfer/pieces.h"
#if defined(MPM_ONE_LANE)
#include "transfer/stencil_scalar.h"
#elif defined(MPM_ISA_AVX512) && DIM == 2
#include "transfer/gather_planes.h"
#elif defined(MPM_ISA_AVX2) && DIM == 2
#include "transfer/gather_pairs.h"
#else
#include "transfer/gather_rows.h"
#endif

struct workspace {
    struct velocities velocities;
    arena momentum;
    struct stencil stencil; /* of the scatter */
};

INLINE void begin_gather(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    velocities_read(&work->velocities, group, sweep->grid->velocity);
}

/* Velocity and its gradient from the grid; frozen particles (mass 0) do not move. */
INLINE struct motion gather(const mpm_sweep *sweep, struct workspace *work, const struct constants *k,
                            struct tile *tile, const int law)
{
    (void)sweep, (void)law;
    struct motion motion;
    wide moment[DIM][DIM], d[DIM];
    stencil_gather(&work->velocities, tile->x, tile->v, moment, d);
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
                    const struct tile *tile, const struct law_response *response, int count)
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
            A[a][b] = wide_fma(h_mass, tile->C.m[b][a], stress * response->tau.m[b][a]);
            Q[b] = wide_fnma(A[a][b], d[a], Q[b]);
        }
    }
    stencil_scatter(stencil, run, work->momentum + ARENA_SLACK, count, Q, tile->mass, A);
}

/* For a task: another kind of sweep may have left anything where momentum is collected. */
INLINE void begin_scatter(struct workspace *work)
{
    memset(work->momentum, 0, sizeof work->momentum);
}

/* Not inlined, like velocities_read, so that the loop over tiles has the registers to itself. */
NOINLINE void momentum_add(struct workspace *work, const mpm_group *group, real *copies)
{
    arena_add(work->momentum + ARENA_SLACK, group, copies);
}

INLINE void end_scatter(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, struct run *run)
{
    run_end(run, work->momentum + ARENA_SLACK);
    momentum_add(work, group, sweep->grid->copies);
}

#include "transfer/sweep_body.h"

void MPM_KERNEL(sweep_task)(const mpm_sweep *sweep, ptrdiff_t task, int thread)
{
    sweep_by_mode(sweep, task, sweep->workspaces[thread]);
}

int32_t MPM_KERNEL(sweep_find_limit)(const mpm_sweep *sweep, int which)
{
    return find_limit(sweep, which);
}

void MPM_KERNEL(sweep_find_trouble)(const mpm_sweep *sweep, uint8_t *flags)
{
    for (size_t g = 0; g < sweep->particles->group_count; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        const bool keeps_J = law_keeps_J(sweep->materials[group->material].law);
        const struct constants k = group_constants(sweep, group);
        for (ptrdiff_t t = 0; t < group->tiles; t++) {
            struct tile tile;
            tile_load(&tile, sweep->particles, group->first_tile + t, keeps_J, true);
            if (!keeps_J)
                tile.state.J = matrix_det(tile.state.F);
            const unsigned outside = find_outside(&k, &tile), out_of_range = find_out_of_range(&k, &tile);
            for (int q = 0; q < WIDTH; q++) {
                const int32_t row = sweep->particles->row[(group->first_tile + t) * WIDTH + q];
                if (row >= 0 && (outside >> q & 1))
                    flags[row] = MPM_OUTSIDE;
                if (row >= 0 && (out_of_range >> q & 1))
                    flags[row] = MPM_INVERTED;
            }
        }
    }
}
