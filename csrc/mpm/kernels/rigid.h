/* SPDX-License-Identifier: MIT
 *
 * The particles of a rigid body: their sums, and their motion in a step.
 *
 *     G2P       v, C of each particle as in any material; their sums give the body P, L, M and I (mpm/rigid.c)
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
#include "base/doubles.h"
#include "mpm/kernels/particle_update.h"

/* k dt^2 over the largest modulus of which the step of an isolated particle is stable. A reaction grows with a quarter
 * of the stiffness with which it falls, and so returns a quarter of the energy: a body bounces with less than half of
 * its speed. It falls to zero at most, and so is continuous in what came before: rounding does not decide whether it
 * grows or falls. */
static const double RIGID_UNLOADING = 1.0 / 4, RIGID_LOADING = 1.0 / 16;

/* Positions from the body's origin, in cells. Across a periodic face: of the nearest image. A lane without a particle
 * is at the origin, the place of one. */
INLINE void rigid_positions(const mpm_sweep *sweep, const mpm_group *group, const struct tile *tile, int half,
                            doubles_mask alive, doubles x[DIM])
{
    const mpm_rigid_body *body = &sweep->rigid[group->material];
    UNROLL for (int a = 0; a < DIM; a++) {
        const double blocks = (double)(group->block[a] - body->block[a]) * BLOCK_SIDE;
        const double period = (double)sweep->period[a];
        x[a] = blocks + (doubles_load(&tile->x[a], half) - body->place[a]);
        if (period > 0)
            x[a] -= period * doubles_round(x[a] / period, 1);
        x[a] += doubles_load(&tile->state.history[RIGID_REMAINDER + a], half);
        x[a] = doubles_select(alive, x[a], (doubles){0});
    }
}

/* mpm_sum, by lane. */
struct rigid_sum {
    doubles high, low;
};

/* mpm_rigid_sums of a group, by lane. */
struct rigid_tally {
    struct rigid_sum mass, mass_moment[DIM], momentum[DIM], angular_momentum[3], second_moment[DIM][DIM];
    doubles lowest[DIM], highest[DIM];
};

static void rigid_begin(struct rigid_tally *tally)
{
    memset(tally, 0, sizeof *tally);
    for (int a = 0; a < DIM; a++) {
        tally->lowest[a] += __builtin_inf();
        tally->highest[a] -= __builtin_inf();
    }
}

INLINE void rigid_sum_add(struct rigid_sum *sum, doubles term)
{
    const doubles high = sum->high + term, added = high - sum->high;
    sum->low += (sum->high - (high - added)) + (term - added);
    sum->high = high;
}

/* Adds the particles of a tile, with the v and C that G2P has brought to them. */
NOINLINE void rigid_add(const mpm_sweep *sweep, const struct constants *k, const mpm_group *group,
                        const struct tile *tile, struct rigid_tally *tally)
{
    const double h = sweep->dx, spin = h * (double)wide_lane(k->spin, 0); /* the factor of eps:C */
    for (int half = 0; half < HALVES; half++) {
        const doubles m = doubles_load(&tile->mass, half);
        const doubles_mask alive = m > 0;
        doubles x[DIM], v[DIM], mx[DIM];
        rigid_positions(sweep, group, tile, half, alive, x);
        rigid_sum_add(&tally->mass, m);
        UNROLL for (int a = 0; a < DIM; a++) {
            x[a] *= h;
            v[a] = doubles_load(&tile->v[a], half);
            mx[a] = m * x[a];
            rigid_sum_add(&tally->mass_moment[a], mx[a]);
            rigid_sum_add(&tally->momentum[a], m * v[a]);
        }
        UNROLL for (int a = 0; a < DIM; a++) {
            tally->lowest[a] = doubles_select(alive & (x[a] < tally->lowest[a]), x[a], tally->lowest[a]);
            tally->highest[a] = doubles_select(alive & (x[a] > tally->highest[a]), x[a], tally->highest[a]);
            UNROLL for (int b = a; b < DIM; b++)
                rigid_sum_add(&tally->second_moment[a][b], mx[a] * x[b]);
        }
        UNROLL for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
            const int a = (c + 1) % 3, b = (c + 2) % 3;
            const doubles turning = doubles_load(&tile->C.m[b][a], half) - doubles_load(&tile->C.m[a][b], half);
            rigid_sum_add(&tally->angular_momentum[c], mx[a] * v[b] - mx[b] * v[a] + m * (spin * turning));
        }
    }
}

static void rigid_add_lanes(mpm_sum *sum, const struct rigid_sum *lanes)
{
    for (int q = 0; q < HALF; q++)
        mpm_sum_add_sum(sum, &(mpm_sum){lanes->high[q], lanes->low[q]});
}

static mpm_rigid_sums rigid_sums_of(const struct rigid_tally *tally)
{
    mpm_rigid_sums sums = {0};
    rigid_add_lanes(&sums.mass, &tally->mass);
    for (int c = 0; c < 3; c++)
        rigid_add_lanes(&sums.angular_momentum[c], &tally->angular_momentum[c]);
    for (int a = 0; a < DIM; a++) {
        rigid_add_lanes(&sums.mass_moment[a], &tally->mass_moment[a]);
        rigid_add_lanes(&sums.momentum[a], &tally->momentum[a]);
        for (int b = a; b < DIM; b++) {
            rigid_add_lanes(&sums.second_moment[a][b], &tally->second_moment[a][b]);
            sums.second_moment[b][a] = sums.second_moment[a][b];
        }
        sums.lowest[a] = tally->lowest[a][0];
        sums.highest[a] = tally->highest[a][0];
        for (int q = 1; q < HALF; q++) {
            const double low = tally->lowest[a][q], high = tally->highest[a][q];
            sums.lowest[a] = low < sums.lowest[a] ? low : sums.lowest[a];
            sums.highest[a] = high > sums.highest[a] ? high : sums.highest[a];
        }
    }
    return sums;
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

INLINE doubles rigid_dot(const double row[], const doubles r[DIM])
{
    doubles s = row[0] * r[0];
    UNROLL for (int b = 1; b < DIM; b++)
        s += row[b] * r[b];
    return s;
}

/* Moves the particles of a tile with their body, and gives them its velocity. `motion` is that of the nodes at first,
 * that of the body at last. */
NOINLINE void rigid_advance(const mpm_sweep *sweep, const struct constants *k, const mpm_group *group,
                            struct tile *tile, struct motion *motion)
{
    const mpm_rigid_body *body = &sweep->rigid[group->material];
    const double h = sweep->dx, per_dt = 1 / (double)wide_lane(k->gather_dt, 0);
    const double unit = REAL_IS_FLOAT ? 0x1p-20 : 0x1p-47; /* of x [cells]; a real holds multiples below 16 exactly */
    double spin[DIM][DIM];
    matrix rotation;
    const mask alive = wide_less(wide_set(0), tile->mass);
    UNROLL for (int a = 0; a < DIM; a++)
        UNROLL for (int b = 0; b < DIM; b++) {
            spin[a][b] = a == b ? 0 : ((b - a + 3) % 3 == 1 ? -1 : 1) * body->spin[3 - a - b];
            rotation.m[a][b] = wide_set((real)((a == b) + body->turn[a][b]));
            tile->C.m[a][b] = wide_select(alive, wide_set((real)spin[a][b]), wide_set(0));
        }
    law_keep_symmetric(&tile->state.history[RIGID_REACTION],
                       rigid_reaction(sweep, k, tile, motion->gradient, rotation));
    tile->state.F = matrix_select(alive, matrix_multiply(rotation, tile->state.F), tile->state.F);
    motion->gradient = tile->C;
    for (int half = 0; half < HALVES; half++) {
        const doubles none = {0};
        const doubles_mask lives = doubles_load(&tile->mass, half) > none;
        doubles x[DIM], r[DIM], turned[DIM], after[DIM];
        rigid_positions(sweep, group, tile, half, lives, x);
        UNROLL for (int a = 0; a < DIM; a++)
            r[a] = h * x[a] - body->centre[a];
        UNROLL for (int a = 0; a < DIM; a++) {
            turned[a] = rigid_dot(body->turn[a], r);
            after[a] = r[a] + turned[a];
        }
        UNROLL for (int a = 0; a < DIM; a++) {
            wide *place = &tile->x[a], *remainder = &tile->state.history[RIGID_REMAINDER + a];
            const doubles moved = doubles_select(lives, body->shift[a] + turned[a], none);
            const doubles from = doubles_load(place, half), at = doubles_round(from, unit);
            const doubles left = doubles_load(remainder, half) + (from - at) + moved / h;
            const doubles whole = doubles_round(left, unit);
            doubles_store(place, half, at + whole);
            doubles_store(remainder, half, left - whole);
            doubles_store(&motion->velocity[a], half, moved * per_dt);
            doubles_store(&tile->v[a], half,
                          doubles_select(lives, body->velocity[a] + rigid_dot(spin[a], after), none));
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
