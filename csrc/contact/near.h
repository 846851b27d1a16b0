/* SPDX-License-Identifier: MIT
 *
 * Which colliders are near a cube of cells or its images. Coordinates count in cells from node 0 of the domain. Plain C
 * that is C++, too, for kernels of a GPU.
 */
#pragma once
#include "contact/collider.h"

/* Lists `place` (in cells along an axis) and those of its images that can be in the domain. Returns their number. */
static inline int mpm_near_places(double place, const mpm_symmetry *axis, double places[3])
{
    const double cells = (double)axis->cells;
    places[0] = axis->mirror[0] && place < 0 ? -place : axis->mirror[1] && place > cells ? 2 * cells - place : place;
    places[1] = place - cells;
    places[2] = place + cells;
    return axis->periodic ? 3 : 1;
}

/** Marks the colliders near a cube of `side` cells that begins at `first`, or near its images, as
 *  mpm_collider_find_near does; `near` and the parts are found anew. Returns a bound of their speed, -1 if there is
 *  none. `lower`, `dx`: of the domain [m]. */
static inline double mpm_near_find(const mpm_collider *colliders, size_t count, const double first[3], double side,
                                   int dim, const mpm_symmetry symmetry[3], const double lower[3], double dx,
                                   double dt, mpm_collider_book *books)
{
    const double radius = 0.5 * side * (dim == 3 ? 1.7320508075688773 : 1.4142135623730951) * dx;
    double places[3][3] = {{0}}, speed = -1;
    int counts[3] = {1, 1, 1};
    for (size_t k = 0; k < count; k++) {
        books[k].near = false;
        books[k].parts = books[k].beside = 0;
    }
    for (int a = 0; a < dim; a++)
        counts[a] = mpm_near_places(first[a] + 0.5 * side, &symmetry[a], places[a]);
    for (int i = 0; i < counts[0]; i++)
        for (int j = 0; j < counts[1]; j++)
            for (int k = 0; k < counts[2]; k++) {
                const double at[3] = {places[0][i], places[1][j], places[2][k]};
                double centre[3] = {0};
                for (int a = 0; a < dim; a++) { /* beyond the domain, its end decides (exposed.h) */
                    const double cells = (double)symmetry[a].cells;
                    const bool periodic = symmetry[a].periodic;
                    const double inside = at[a] < 0 && !periodic ? 0 : at[a] > cells && !periodic ? cells : at[a];
                    centre[a] = lower[a] + inside * dx;
                }
                const double found = mpm_collider_find_near(colliders, count, centre, radius, dt, books);
                speed = speed > found ? speed : found;
            }
    return speed;
}

/** A particle beyond a periodic face meets the colliders at the opposite face, where it will enter. */
static inline double mpm_near_wrapped(double place, const mpm_symmetry *axis)
{
    const double cells = (double)axis->cells;
    return !axis->periodic ? place : place < 0 ? place + cells : place >= cells ? place - cells : place;
}
