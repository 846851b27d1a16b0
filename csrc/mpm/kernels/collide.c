/* SPDX-License-Identifier: MIT */
#include "mpm/kernels/collide.h"

/* Lists `place` (in cells along an axis) and those of its images that can be in the domain. Returns their number. */
static int places_of(double place, const mpm_symmetry *axis, double places[3])
{
    const double cells = (double)axis->cells;
    places[0] = axis->mirror[0] && place < 0 ? -place : axis->mirror[1] && place > cells ? 2 * cells - place : place;
    places[1] = place - cells;
    places[2] = place + cells;
    return axis->periodic ? 3 : 1;
}

/* Marks the colliders near a cube of `side` cells, or near its images. The cube begins at `first`, counted from node 0
 * of the block. Returns a bound of their speed. */
static double find_near_colliders(const mpm_colliders *colliders, const int32_t block[3], double first, double side,
                                  double dt, mpm_collider_book *books)
{
    const double radius = 0.5 * side * (DIM == 3 ? 1.7320508075688773 : 1.4142135623730951) * colliders->dx;
    double places[3][3] = {{0}}, speed = -1;
    int counts[3] = {1, 1, 1};
    for (size_t k = 0; k < colliders->count; k++) {
        books[k].near = false;
        books[k].parts = books[k].beside = 0;
    }
    for (int a = 0; a < DIM; a++)
        counts[a] = places_of((double)block[a] * BLOCK_SIDE + first + 0.5 * side, &colliders->symmetry[a], places[a]);
    for (int i = 0; i < counts[0]; i++)
        for (int j = 0; j < counts[1]; j++)
            for (int k = 0; k < counts[2]; k++) {
                const double at[3] = {places[0][i], places[1][j], places[2][k]};
                double centre[3] = {0};
                for (int a = 0; a < DIM; a++) { /* beyond the domain, its end decides (exposed.h) */
                    const double cells = (double)colliders->symmetry[a].cells;
                    const bool periodic = colliders->symmetry[a].periodic;
                    const double inside = at[a] < 0 && !periodic ? 0 : at[a] > cells && !periodic ? cells : at[a];
                    centre[a] = colliders->lower[a] + inside * colliders->dx;
                }
                const double found =
                    mpm_collider_find_near(colliders->list, colliders->count, centre, radius, dt, books);
                speed = speed > found ? speed : found;
            }
    return speed;
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
                              real v[DIM], double wall[3])
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
                            colliders->books + (size_t)b * colliders->count, wall))
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

/* A particle beyond a periodic face meets the colliders at the opposite face, where it will enter. */
static double wrapped_place(double place, const mpm_symmetry *axis)
{
    const double cells = (double)axis->cells;
    return !axis->periodic ? place : place < 0 ? place + cells : place >= cells ? place - cells : place;
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
        if (wrapped_place(first + low, &colliders->symmetry[a]) != first + low ||
            wrapped_place(first + high, &colliders->symmetry[a]) != first + high)
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
            point.x[a] = colliders->lower[a] + wrapped_place(place, &colliders->symmetry[a]) * colliders->dx;
            point.image[a] = point.x[a];
            w[a] = (double)wide_lane(v[a], q);
        }
        if (!mpm_contacts_touch(colliders->list, colliders->count, &point, NULL, w, books, NULL))
            continue;
        for (int a = 0; a < DIM; a++)
            ((real *)&v[a])[q] = (real)w[a];
    }
}
