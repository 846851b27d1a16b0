/* SPDX-License-Identifier: MIT
 *
 * The particles of a rigid body: their sums, and their motion in a step. They neither scatter nor gather.
 *
 *     sums      give the body M, c, I, P, L and its place (mpm/rigid.c)
 *     motion    x <- x + dt V + (Q - 1) (x - c),  v = V + w x (x - c'),  C = [w],  F <- Q F
 *
 * Distances do not drift. Displacements are computed in double, with an error that is relative to them. x holds
 * multiples of a power of 2, which moves to another block as it is, and a remainder the rest.
 */
#pragma once
#include "base/doubles.h"
#include "mpm/kernels/particle_update.h"

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
    struct rigid_sum mass, mass_moment[DIM], rest_moment[DIM], momentum[DIM], angular_momentum[3], spin[3],
        second_moment[DIM][DIM];
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

/* The surface point of a lane, counted from 1; 0: none. */
INLINE size_t rigid_point(const struct tile *tile, int q)
{
    const double point = (double)wide_lane(tile->state.history[RIGID_POINT], q);
    return point > 0 ? (size_t)point : 0;
}

/* Hands the forces of the last step at the surface points, which particles keep, to the body. */
NOINLINE void rigid_give_forces(const mpm_rigid_body *body, const struct tile *tile)
{
    for (int q = 0; q < WIDTH; q++) {
        const size_t point = rigid_point(tile, q);
        for (int a = 0; point && point <= body->points && a < DIM; a++)
            body->force[point - 1][a] = (double)wide_lane(tile->state.history[RIGID_FORCE + a], q);
    }
}

NOINLINE void rigid_take_forces(const mpm_rigid_body *body, struct tile *tile)
{
    for (int q = 0; q < WIDTH; q++) {
        const size_t point = rigid_point(tile, q);
        for (int a = 0; point && point <= body->points && a < DIM; a++)
            ((real *)&tile->state.history[RIGID_FORCE + a])[q] = (real)body->force[point - 1][a];
    }
}

INLINE bool rigid_has_points(const struct tile *tile)
{
    return mask_any(wide_less(wide_set(0), tile->state.history[RIGID_POINT]));
}

/* The body force on a lane in the step [m/s]. */
INLINE doubles rigid_gain(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t t, int half, int axis)
{
    const double *b = arguments->rigid_sums.b;
    doubles gain = {0};
    for (int q = 0; b && q < HALF; q++) {
        const int32_t row = sweep->particles->row[t * WIDTH + half * HALF + q];
        gain[q] = row < 0 ? 0 : arguments->rigid_sums.dt * b[(ptrdiff_t)row * DIM + axis];
    }
    return gain;
}

/* Adds the particles of a tile. */
NOINLINE void rigid_add(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group, ptrdiff_t t,
                        const struct tile *tile, struct rigid_tally *tally)
{
    const double h = sweep->dx;
    if (rigid_has_points(tile))
        rigid_give_forces(&sweep->rigid[group->material], tile);
    for (int half = 0; half < HALVES; half++) {
        const doubles m = doubles_load(&tile->mass, half);
        const doubles_mask alive = m > 0;
        doubles x[DIM], v[DIM], mx[DIM];
        rigid_positions(sweep, group, tile, half, alive, x);
        rigid_sum_add(&tally->mass, m);
        UNROLL for (int a = 0; a < DIM; a++) {
            x[a] *= h;
            v[a] = doubles_load(&tile->v[a], half) + rigid_gain(sweep, arguments, t, half, a);
            mx[a] = m * x[a];
            rigid_sum_add(&tally->mass_moment[a], mx[a]);
            rigid_sum_add(&tally->rest_moment[a], m * doubles_load(&tile->state.history[RIGID_REST + a], half));
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
            rigid_sum_add(&tally->angular_momentum[c], mx[a] * v[b] - mx[b] * v[a]);
            rigid_sum_add(&tally->spin[c], m * (0.5 * turning));
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
    for (int c = 0; c < 3; c++)
        rigid_add_lanes(&sums.spin[c], &tally->spin[c]);
    for (int a = 0; a < DIM; a++) {
        rigid_add_lanes(&sums.mass_moment[a], &tally->mass_moment[a]);
        rigid_add_lanes(&sums.rest_moment[a], &tally->rest_moment[a]);
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

INLINE doubles rigid_dot(const double row[], const doubles r[DIM])
{
    doubles s = row[0] * r[0];
    UNROLL for (int b = 1; b < DIM; b++)
        s += row[b] * r[b];
    return s;
}

/* Moves the particles of a tile with their body, and gives them its velocity. `motion` becomes that of the body. */
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
    if (rigid_has_points(tile))
        rigid_take_forces(body, tile);
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
