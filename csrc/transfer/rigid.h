/* SPDX-License-Identifier: MIT
 *
 * The particles of a rigid body: their sums, and their motion in a step.
 *
 *     G2P       v, C of each particle as in any material; their sums give the body P, L, M and I (integrate/rigid.c)
 *     motion    x <- x + dt V + (Q - 1) (x - c),  v = V + w x (x - c'),  C = [w],  F <- Q F
 *     reaction  R_s <- Q (R_s + k dt sym grad v) Q^T
 *
 * Distances do not drift. Displacements are computed in double, with an error that is relative to them. x holds
 * multiples of a power of 2, which moves to another block as it is, and a remainder the rest.
 *
 * Without the reaction, a wall would take from a body only the momentum of the particles beside it, and the body would
 * sink into it by one layer of cells after the other. With it, a contact is elastic: k = 1/4 of the modulus that bounds
 * the step (or 1/16, see below), whatever the step is. The wave speed that belongs to k is a fraction of h/dt.
 */
#pragma once
#include "transfer/particle_update.h"

/* k dt^2 over the largest modulus of which the step of an isolated particle is stable. A reaction grows with a quarter
 * of the stiffness with which it falls, so that a body bounces with about a quarter of its speed. It falls to zero at
 * most, and so is continuous in what came before: rounding does not decide whether it grows or falls. */
static const double RIGID_UNLOADING = 1.0 / 4, RIGID_LOADING = 1.0 / 16;

/* The position of a lane from the body's origin, in cells. Across a periodic face: of its nearest image. */
static void rigid_position(const mpm_sweep *sweep, const mpm_group *group, const struct tile *tile, int lane,
                           double x[DIM])
{
    const mpm_rigid_body *body = &sweep->rigid[group->material];
    for (int a = 0; a < DIM; a++) {
        x[a] = (double)(group->block[a] - body->block[a]) * BLOCK_SIDE +
               ((double)wide_lane(tile->x[a], lane) - body->place[a]);
        const double period = (double)sweep->period[a];
        if (period > 0)
            x[a] -= period * (double)(int64_t)(x[a] / period + (x[a] < 0 ? -0.5 : 0.5));
        x[a] += (double)wide_lane(tile->state.history[RIGID_REMAINDER + a], lane);
    }
}

/* Adds the particles of a tile, with the v and C that G2P has brought to them. */
NOINLINE void rigid_add(const mpm_sweep *sweep, const struct constants *k, const mpm_group *group,
                        const struct tile *tile, mpm_rigid_sums *sums)
{
    const double h = sweep->dx, spin = h * (double)wide_lane(k->spin, 0); /* the factor of eps:C */
    for (int q = 0; q < WIDTH; q++) {
        const double m = (double)wide_lane(tile->mass, q);
        double x[3] = {0}, v[3] = {0};
        if (!(m > 0))
            continue;
        rigid_position(sweep, group, tile, q, x);
        for (int a = 0; a < DIM; a++) {
            x[a] *= h;
            v[a] = (double)wide_lane(tile->v[a], q);
        }
        mpm_sum_add(&sums->mass, m);
        for (int a = 0; a < DIM; a++) {
            mpm_sum_add(&sums->mass_moment[a], m * x[a]);
            mpm_sum_add(&sums->momentum[a], m * v[a]);
            for (int b = 0; b < DIM; b++)
                mpm_sum_add(&sums->second_moment[a][b], m * x[a] * x[b]);
            if (x[a] < sums->lowest[a][a])
                memcpy(sums->lowest[a], x, sizeof x);
            if (x[a] > sums->highest[a][a])
                memcpy(sums->highest[a], x, sizeof x);
        }
        for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
            const int a = (c + 1) % 3, b = (c + 2) % 3;
            const double turning = (double)wide_lane(tile->C.m[b][a], q) - (double)wide_lane(tile->C.m[a][b], q);
            mpm_sum_add(&sums->angular_momentum[c], m * (x[a] * v[b] - x[b] * v[a] + spin * turning));
        }
    }
}

/* The nearest multiple of 2^-20 cells in single precision, of 2^-47 in double precision. A real holds it exactly below
 * 16 cells. */
static double rigid_on_lattice(double cells)
{
    const double large = REAL_IS_FLOAT ? 0x1.8p32 : 0x1.8p5;
    return (cells + large) - large;
}

/* Component `axis` of a x b. */
static double rigid_cross(const double a[3], const double b[3], int axis)
{
    const int i = (axis + 1) % 3, j = (axis + 2) % 3;
    return a[i] * b[j] - a[j] * b[i];
}

/* The reaction after the step. `gradient` is that of the node velocities. */
INLINE matrix rigid_reaction(const mpm_sweep *sweep, const struct constants *k, const struct tile *tile,
                             matrix gradient, matrix rotation)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5);
    const mask alive = wide_less(zero, tile->mass) & wide_less(zero, tile->volume);
    wide factor = k->isolated;
    if (ANY_SCHEME && sweep->scheme.degree == MPM_LINEAR)
        factor *= linear_excess(tile);
    const matrix kept = law_symmetric(&tile->state.history[RIGID_REACTION]);
    matrix rate;
    UNROLL for (int a = 0; a < DIM; a++)
        UNROLL for (int b = 0; b < DIM; b++)
            rate.m[a][b] = half * (gradient.m[a][b] + gradient.m[b][a]);
    const wide density = tile->mass / wide_select(alive, tile->volume, one);
    const wide most = wide_select(alive, density / (factor * k->gather_dt), zero); /* k dt for a share of 1 [Pa s] */
    const wide tiny = wide_set((real)(REAL_IS_FLOAT ? 1e-30 : 1e-200));
    const wide to_zero = -matrix_dot(kept, rate) / wide_max(matrix_dot(rate, rate), tiny); /* where R_s : grad v is 0 */
    const wide loading = wide_set((real)RIGID_LOADING) * most;
    const wide more = wide_set((real)(RIGID_UNLOADING - RIGID_LOADING)) * most;
    const wide gain = loading + wide_min(wide_max(to_zero, zero), more);
    const matrix grown = matrix_add(kept, matrix_scale(gain, rate));
    return matrix_symmetric(matrix_multiply_transposed(matrix_multiply(rotation, grown), rotation));
}

/* Moves the particles of a tile with their body, and gives them its velocity. `motion` is that of the nodes at first,
 * that of the body at last. */
NOINLINE void rigid_advance(const mpm_sweep *sweep, const struct constants *k, const mpm_group *group,
                            struct tile *tile, struct motion *motion)
{
    const mpm_rigid_body *body = &sweep->rigid[group->material];
    const double h = sweep->dx, per_dt = 1 / (double)wide_lane(k->gather_dt, 0);
    const wide zero = wide_set(0);
    const mask alive = wide_less(zero, tile->mass);
    matrix rotation, turning;
    UNROLL for (int a = 0; a < DIM; a++)
        UNROLL for (int b = 0; b < DIM; b++) {
            const double spin = a == b ? 0 : ((b - a + 3) % 3 == 1 ? -1 : 1) * body->spin[3 - a - b];
            rotation.m[a][b] = wide_set((real)((a == b) + body->turn[a][b]));
            turning.m[a][b] = wide_select(alive, wide_set((real)spin), zero);
        }
    law_keep_symmetric(&tile->state.history[RIGID_REACTION],
                       rigid_reaction(sweep, k, tile, motion->gradient, rotation));
    tile->state.F = matrix_select(alive, matrix_multiply(rotation, tile->state.F), tile->state.F);
    tile->C = motion->gradient = turning;
    for (int q = 0; q < WIDTH; q++) {
        const bool lives = wide_lane(tile->mass, q) > 0;
        double x[3] = {0}, r[3] = {0}, turn[3] = {0}, turned[3];
        rigid_position(sweep, group, tile, q, x);
        for (int a = 0; a < DIM; a++)
            r[a] = h * x[a] - body->centre[a];
        for (int a = 0; a < 3; a++) {
            for (int b = 0; b < DIM; b++)
                turn[a] += body->turn[a][b] * r[b];
            turned[a] = r[a] + turn[a];
        }
        for (int a = 0; a < DIM; a++) {
            real *place = (real *)&tile->x[a] + q, *remainder = (real *)&tile->state.history[RIGID_REMAINDER + a] + q;
            const double moved = lives ? body->shift[a] + turn[a] : 0, at = rigid_on_lattice((double)*place);
            const double left = (double)*remainder + ((double)*place - at) + moved / h, whole = rigid_on_lattice(left);
            ((real *)&tile->v[a])[q] = lives ? (real)(body->velocity[a] + rigid_cross(body->spin, turned, a)) : 0;
            ((real *)&motion->velocity[a])[q] = (real)(moved * per_dt);
            *place = (real)(at + whole);
            *remainder = (real)(left - whole);
        }
    }
}

/* The same on copies: the originals can stay in registers because their address is not taken. */
INLINE void rigid_advance_copies(const mpm_sweep *sweep, const struct constants *k, const mpm_group *group,
                                 struct tile *tile, struct motion *motion)
{
    struct tile moved = *tile;
    struct motion own = *motion;
    rigid_advance(sweep, k, group, &moved, &own);
    *tile = moved;
    *motion = own;
}
