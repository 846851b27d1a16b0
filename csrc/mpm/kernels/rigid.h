/* SPDX-License-Identifier: MIT
 *
 * The particles of a rigid body: their sums, and their places and velocities. They neither scatter nor gather.
 *
 *     sums      give the body M, c, I, P, L and its place, where particles have changed (mpm/rigid_motion.c)
 *     place     x = c + Q X,  v = V + w x (x - c),  C = [w],  F = Q, where somebody looks
 *
 * x holds multiples of a power of 2, which moves to another block as it is, and a remainder the rest.
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

/* The velocity that counts: of the particles, or the gain by the body force of a step [m/s]. */
INLINE doubles rigid_velocity(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t t,
                              const struct tile *tile, int half, int axis)
{
    const double *b = arguments->rigid_sums.b;
    doubles gain = {0};
    if (!b)
        return doubles_load(&tile->v[axis], half);
    for (int q = 0; q < HALF; q++) {
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
            v[a] = rigid_velocity(sweep, arguments, t, tile, half, a);
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

/* Places from the centre of mass of the body [m]. */
INLINE void rigid_arms(const mpm_rigid_motion *motion, const struct tile *tile, int half, doubles arm[DIM])
{
    doubles X[DIM];
    UNROLL for (int a = 0; a < DIM; a++)
        X[a] = doubles_load(&tile->state.history[RIGID_REST + a], half) - motion->rest[a];
    UNROLL for (int a = 0; a < DIM; a++)
        arm[a] = rigid_dot(motion->rotation[a], X);
}

/* Where a place in the domain, in cells from the lower face, is from the block of a group; across a periodic face, that
 * of its images which is the nearest to the block. */
INLINE doubles rigid_from_block(const mpm_sweep *sweep, const mpm_group *group, doubles place, int axis)
{
    const double period = (double)sweep->period[axis];
    place -= (double)group->block[axis] * BLOCK_SIDE;
    return period > 0 ? place - period * doubles_round((place - 0.5 * BLOCK_SIDE) / period, 1) : place;
}

/* Gives the particles of a tile the places and velocities that their body has. */
NOINLINE void rigid_place(const mpm_sweep *sweep, const mpm_group *group, ptrdiff_t t, struct tile *tile)
{
    const mpm_rigid_body *body = &sweep->rigid[group->material];
    const mpm_rigid_motion *motion = &body->motion;
    const double per_h = 1 / sweep->dx;
    const double unit = REAL_IS_FLOAT ? 0x1p-20 : 0x1p-47; /* of x [cells]; a real holds multiples below 16 exactly */
    double spin[DIM][DIM];
    const mask alive = wide_less(wide_set(0), tile->mass);
    UNROLL for (int a = 0; a < DIM; a++)
        UNROLL for (int b = 0; b < DIM; b++) {
            spin[a][b] = a == b ? 0 : ((b - a + 3) % 3 == 1 ? -1 : 1) * motion->spin[3 - a - b];
            tile->C.m[a][b] = wide_select(alive, wide_set((real)spin[a][b]), wide_set(0));
            tile->state.F.m[a][b] = wide_select(alive, wide_set((real)motion->rotation[a][b]), tile->state.F.m[a][b]);
        }
    if (rigid_has_points(tile))
        rigid_take_forces(body, tile);
    for (int half = 0; half < HALVES; half++) {
        doubles arm[DIM];
        doubles_mask taken; /* not padding, which is in the middle of the block */
        const doubles_mask lives = doubles_load(&tile->mass, half) > (doubles){0};
        for (int q = 0; q < HALF; q++)
            taken[q] = sweep->particles->row[t * WIDTH + half * HALF + q] < 0 ? 0 : -1;
        rigid_arms(motion, tile, half, arm);
        UNROLL for (int a = 0; a < DIM; a++) {
            const doubles place = per_h * (arm[a] + (motion->centre[a] - sweep->lower[a]));
            const doubles middle = (doubles){0} + 0.5 * BLOCK_SIDE;
            const doubles at = doubles_select(taken, rigid_from_block(sweep, group, place, a), middle);
            const doubles whole = doubles_round(at, unit);
            doubles_store(&tile->x[a], half, whole);
            doubles_store(&tile->state.history[RIGID_REMAINDER + a], half, at - whole);
            doubles_store(&tile->v[a], half,
                          doubles_select(lives, motion->velocity[a] + rigid_dot(spin[a], arm), (doubles){0}));
        }
    }
}

/* The mean velocity of a tile's particles in the step, and its gradient. The body is at its beginning. */
__attribute__((unused)) static struct motion rigid_mean_motion(const mpm_sweep *sweep, const mpm_group *group,
                                                               const struct tile *tile, double dt)
{
    const mpm_rigid_body *body = &sweep->rigid[group->material];
    struct motion result = {0};
    UNROLL for (int a = 0; a < DIM; a++)
        UNROLL for (int b = 0; b < DIM; b++)
            result.gradient.m[a][b] = wide_set((real)(0.5 * (body->turn[a][b] - body->turn[b][a]) / dt));
    for (int half = 0; half < HALVES; half++) {
        doubles arm[DIM];
        rigid_arms(&body->motion, tile, half, arm);
        UNROLL for (int a = 0; a < DIM; a++)
            doubles_store(&result.velocity[a], half, (body->shift[a] + rigid_dot(body->turn[a], arm)) / dt);
    }
    return result;
}
