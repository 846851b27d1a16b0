/* SPDX-License-Identifier: MIT */
#include "base/exact.h"
#include "contact/collider.h"
#include "contact/holders.h"

#include <float.h>
#include <math.h>
#include <string.h>

mpm_status mpm_collider_copy(mpm_collider *copy, const mpm_allocator *allocator, const mpm_collider *collider)
{
    const size_t name = strlen(collider->name) + 1, keys = MPM_KEYFRAME * collider->motion.key_count;
    double *own_keys = mpm_memory_new(allocator, keys, sizeof *own_keys);
    *copy = *collider;
    copy->motion.keys = own_keys;
    copy->name = mpm_memory_new(allocator, name, 1);
    if (mpm_shape_copy(&copy->shape, allocator, &collider->shape) || !own_keys || !copy->name) {
        mpm_collider_clear(copy, allocator);
        return MPM_OUT_OF_MEMORY;
    }
    memcpy(copy->name, collider->name, name);
    if (keys)
        memcpy(own_keys, collider->motion.keys, keys * sizeof *own_keys);
    copy->now = mpm_collider_state_at(copy, 0, 0);
    return MPM_OK;
}

size_t mpm_collider_bytes(const mpm_collider *collider)
{
    const mpm_shape *shape = &collider->shape;
    return strlen(collider->name) + 1 + MPM_KEYFRAME * collider->motion.key_count * sizeof *collider->motion.keys +
           shape->node_count * sizeof *shape->nodes + shape->number_count * sizeof *shape->numbers +
           shape->part_count * sizeof *shape->parts + shape->factor_count * sizeof *shape->factors;
}

void mpm_collider_clear(mpm_collider *collider, const mpm_allocator *allocator)
{
    mpm_memory_free(allocator, collider->name);
    mpm_memory_free(allocator, (void *)collider->motion.keys);
    mpm_shape_clear(&collider->shape, allocator);
    *collider = (mpm_collider){0};
}

mpm_collider_state mpm_collider_state_at(const mpm_collider *collider, double time, double dt)
{
    const mpm_pose pose = mpm_motion_pose(&collider->motion, time);
    mpm_collider_state state = {.time = time};
    mpm_motion_matrix(&pose, state.rotation);
    for (int a = 0; a < 3; a++)
        state.reference[a] = collider->reference[a] + pose.displacement[a];
    if (dt > 0) {
        const mpm_pose next = mpm_motion_pose(&collider->motion, time + dt);
        const mpm_excursion most = mpm_motion_excursion(&collider->motion, time, dt);
        mpm_motion_rates(&pose, &next, dt, state.velocity, state.spin);
        state.swing = most.distance / dt;
        state.twist = most.angle / dt;
        state.deforming = mpm_shape_speed(&collider->shape, time, dt);
    }
    return state;
}

double mpm_collider_speed(const mpm_collider_state *state, double extent)
{
    const double steady = length(state->velocity) + length(state->spin) * extent;
    const double most = state->swing + state->twist * extent;
    return isnan(steady) || isnan(most) ? NAN : fmax(steady, most);
}

static double speed_within(const mpm_collider *collider, double time, double dt, double extent)
{
    const mpm_collider_state state = mpm_collider_state_at(collider, time, dt);
    return mpm_collider_speed(&state, extent);
}

double mpm_collider_longest_dt(const mpm_collider *collider, double time, double dt, double extent, double reach)
{
    const double most = reach * (1 + 1e-9);
    double low = fmin(dt, DBL_MAX), high = low, speed = 0;
    if (collider->motion.kind == MPM_MOTION_NONE)
        return dt;
    /* The mean speed of a shorter step may be larger, so the search goes on until a step fits. */
    for (int attempt = 0; low > 0 && !((speed = speed_within(collider, time, low, extent)) * low <= most); attempt++) {
        /* The end of a very long step may lie beyond all numbers. */
        const double fitting = speed < INFINITY ? reach / speed : 0.5 * low;
        high = low;
        low = attempt < 8 ? fitting : fmin(fitting, 0.5 * low);
    }
    if (speed * low >= 0.99 * reach)
        return low;
    for (int k = 0; k < 24 && low < high; k++) { /* it was smaller than it need be */
        const double middle = 0.5 * (low + high);
        if (speed_within(collider, time, middle, extent) * middle <= most)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void mpm_collider_add_books(mpm_collider_book *sums, const mpm_collider_book *books, size_t parts, size_t colliders)
{
    const size_t stride = colliders * sizeof *books;
    for (size_t k = 0; parts && k < colliders; k++) {
        for (int a = 0; a < 3; a++) {
            sums[k].impulse[a] += mpm_exact_sum(&books[k].impulse[a], parts, stride);
            sums[k].torque[a] += mpm_exact_sum(&books[k].torque[a], parts, stride);
        }
        for (size_t part = 0; part < parts; part++)
            sums[k].speed = fmax(sums[k].speed, books[part * colliders + k].speed);
    }
}
