/* SPDX-License-Identifier: MIT */
#include "mpm/kernels/collide.h"

#include "contact/near.h"

/* Marks the colliders near a cube of `side` cells, or near its images. The cube begins at `first`, counted from node 0
 * of the block. Returns a bound of their speed. */
static double find_near_colliders(const mpm_colliders *colliders, const int32_t block[3], double first, double side,
                                  double dt, mpm_collider_book *books)
{
    double at[3] = {0};
    for (int a = 0; a < DIM; a++)
        at[a] = (double)block[a] * BLOCK_SIDE + first;
    return mpm_near_find(colliders->list, colliders->count, at, side, DIM, colliders->symmetry, colliders->lower,
                         colliders->dx, dt, books);
}

double MPM_KERNEL(collide_begin_nodes)(const mpm_colliders *colliders, const mpm_node_block *block, ptrdiff_t b,
                                       double dt)
{
    mpm_collider_book *books = colliders->books + (size_t)b * colliders->count;
    return find_near_colliders(colliders, block->block, 0, BLOCK_SIDE - 1, dt, books);
}

mpm_faces MPM_KERNEL(collide_faces)(const mpm_colliders *colliders, const mpm_wall walls[6], const int64_t cells[3])
{
    mpm_faces faces = {.walls = walls};
    for (int a = 0; a < DIM; a++) {
        faces.lower[a] = colliders->lower[a];
        faces.upper[a] = colliders->lower[a] + (double)cells[a] * colliders->dx;
        faces.periodic |= (colliders->symmetry[a].periodic ? 1u : 0) << a;
    }
    return faces;
}

bool MPM_KERNEL(collide_node)(const mpm_colliders *colliders, ptrdiff_t b, const int64_t at[DIM],
                              const int64_t own[DIM], const mpm_image_node *image, const mpm_faces *faces, real mass,
                              real v[DIM], double wall[3], double *heat)
{
    mpm_contact_point point = {
        .mass = (double)mass, .cell = colliders->dx, .flips = image ? image->flips : 0,
        .planes = image ? image->planes : 0};
    double w[3] = {0};
    for (int a = 0; a < DIM; a++) {
        point.x[a] = colliders->lower[a] + (double)at[a] * colliders->dx;
        point.image[a] = colliders->lower[a] + (double)own[a] * colliders->dx;
        w[a] = (double)v[a];
    }
    if (!mpm_contacts_touch(colliders->list, colliders->count, &point, faces, w,
                            colliders->books + (size_t)b * colliders->count, wall, heat))
        return false;
    for (int a = 0; a < DIM; a++)
        v[a] = (real)w[a];
    return true;
}

bool MPM_KERNEL(collide_reaches)(const mpm_colliders *colliders, const mpm_group *group, double dt,
                                 mpm_collider_book *books)
{
    return colliders->particles != MPM_PARTICLES_OFF &&
           find_near_colliders(colliders, group->block, -1, BLOCK_SIDE + 3, dt, books) >= 0;
}

/* One test for all particles of a tile, which are mostly in a few cells. */
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
        const double first = (double)group->block[a] * BLOCK_SIDE;
        if (mpm_near_wrapped(first + low, &colliders->symmetry[a]) != first + low ||
            mpm_near_wrapped(first + high, &colliders->symmetry[a]) != first + high)
            return true; /* at a periodic face */
        centre[a] = colliders->lower[a] + (first + 0.5 * (low + high)) * colliders->dx;
        diagonal2 += (high - low) * (high - low);
    }
    const double radius = 0.5 * __builtin_sqrt(diagonal2) * colliders->dx * (1 + 1e-9);
    return mpm_collider_can_hold(colliders->list, colliders->count, centre, radius, books);
}

void MPM_KERNEL(collide_tile)(const mpm_colliders *colliders, const mpm_group *group, const struct tile *tile,
                              wide mass, double depth, wide v[DIM], mpm_collider_book *books)
{
    if (WIDTH > 1 && !tile_meets_colliders(colliders, group, tile, books))
        return;
    for (int q = 0; q < WIDTH; q++) {
        mpm_contact_point point = {.mass = (double)wide_lane(mass, q), .cell = colliders->dx, .depth = depth};
        double w[3] = {0};
        if (!(wide_lane(tile->mass, q) > 0))
            continue;
        for (int a = 0; a < DIM; a++) {
            const double place = (double)group->block[a] * BLOCK_SIDE + (double)wide_lane(tile->x[a], q);
            point.x[a] = colliders->lower[a] + mpm_near_wrapped(place, &colliders->symmetry[a]) * colliders->dx;
            point.image[a] = point.x[a];
            w[a] = (double)wide_lane(v[a], q);
        }
        if (!mpm_contacts_touch(colliders->list, colliders->count, &point, NULL, w, books, NULL, NULL))
            continue;
        for (int a = 0; a < DIM; a++)
            ((real *)&v[a])[q] = (real)w[a];
    }
}
