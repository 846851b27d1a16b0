/* SPDX-License-Identifier: MIT */
#include "transfer/collide.h"

/* Which colliders are near the cube of `side` cells from `first` on, counted from node 0 of a block. */
static double find_near_colliders(const mpm_colliders *colliders, const int32_t block[3], double first, double side,
                                  double dt, mpm_collider_book *books)
{
    double centre[3] = {0};
    for (int a = 0; a < DIM; a++)
        centre[a] = colliders->lower[a] + ((double)block[a] * BLOCK_SIDE + first + 0.5 * side) * colliders->dx;
    return mpm_collider_find_near(colliders->list, colliders->count, centre,
                                  0.5 * side * (DIM == 3 ? 1.7320508075688773 : 1.4142135623730951) * colliders->dx, dt,
                                  books);
}

double MPM_KERNEL(collide_nodes)(const mpm_colliders *colliders, const mpm_node_block *block, ptrdiff_t b, double dt,
                              real *node)
{
    mpm_collider_book *books = colliders->books + (size_t)b * colliders->count;
    memset(books, 0, colliders->count * sizeof *books);
    const double speed = find_near_colliders(colliders, block->block, 0, BLOCK_SIDE - 1, dt, books);
    for (int n = 0; speed >= 0 && n < MPM_BLOCK_NODES; n++) {
        real *record = node + 4 * n;
        double x[3] = {0}, v[3] = {0};
        if (!(record[3] > 0))
            continue;
        for (int a = DIM - 1, rest = n; a >= 0; a--, rest /= BLOCK_SIDE) {
            x[a] = colliders->lower[a] + ((double)block->block[a] * BLOCK_SIDE + rest % BLOCK_SIDE) * colliders->dx;
            v[a] = (double)record[a];
        }
        if (mpm_collider_touch(colliders->list, colliders->count, x, (double)record[3], v, books))
            for (int a = 0; a < DIM; a++)
                record[a] = (real)v[a];
    }
    return speed;
}

bool MPM_KERNEL(collide_reaches)(const mpm_colliders *colliders, const mpm_group *group, double dt,
                                    mpm_collider_book *books)
{
    return find_near_colliders(colliders, group->block, -1, BLOCK_SIDE + 3, dt, books) >= 0;
}

/* One question for all particles of a tile, which mostly lie in a few cells. */
static bool tile_meets_colliders(const mpm_colliders *colliders, const mpm_group *group, const struct tile *tile,
                                 const mpm_collider_book *books)
{
    double centre[3] = {0}, diagonal2 = 0;
    for (int a = 0; a < DIM; a++) {
        double low = 1e9, high = -1e9;
        for (int q = 0; q < WIDTH; q++) {
            const double x = (double)wide_lane(tile->x[a], q);
            if (wide_lane(tile->mass, q) > 0) {
                low = x < low ? x : low;
                high = x > high ? x : high;
            }
        }
        centre[a] = colliders->lower[a] + ((double)group->block[a] * BLOCK_SIDE + 0.5 * (low + high)) * colliders->dx;
        diagonal2 += (high - low) * (high - low);
    }
    const double radius = 0.5 * __builtin_sqrt(diagonal2) * colliders->dx * (1 + 1e-9);
    return mpm_collider_can_hold(colliders->list, colliders->count, centre, radius, books);
}

void MPM_KERNEL(collide_tile)(const mpm_colliders *colliders, const mpm_group *group, const struct tile *tile, wide mass,
                           wide v[DIM], mpm_collider_book *books, double *pushed)
{
    if (WIDTH > 1 && !tile_meets_colliders(colliders, group, tile, books))
        return;
    for (int q = 0; q < WIDTH; q++) {
        double x[3] = {0}, w[3] = {0};
        if (!(wide_lane(tile->mass, q) > 0))
            continue;
        for (int a = 0; a < DIM; a++) {
            x[a] = colliders->lower[a] +
                   ((double)group->block[a] * BLOCK_SIDE + (double)wide_lane(tile->x[a], q)) * colliders->dx;
            w[a] = (double)wide_lane(v[a], q);
        }
        if (!mpm_collider_touch(colliders->list, colliders->count, x, (double)wide_lane(mass, q), w, books))
            continue;
        for (int a = 0; a < DIM; a++) {
            ((real *)&v[a])[q] = (real)w[a];
            const double size = w[a] < 0 ? -w[a] : w[a];
            *pushed = *pushed > size ? *pushed : size;
        }
    }
}
