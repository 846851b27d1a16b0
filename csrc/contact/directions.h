/* SPDX-License-Identifier: MIT
 *
 * Normals that need not be orthogonal, and orthonormal directions d_k for them (Gram and Schmidt): d_k is what is left
 * of the unit vector n_k after d_0 .. d_{k-1}. Then R = sum s_k n_k is solved from the end, because d_k is orthogonal
 * to n_0 .. n_{k-1}:
 *
 *     s_k = R_k . d_k/(n_k . d_k),  R_{k-1} = R_k - s_k n_k
 */
#pragma once
#include <math.h>

#include "base/vector.h"

/** Makes the next direction from the unit vector n and the `count` earlier ones. Returns the sine of the angle between
 *  n and their span, 0 if that is too small to tell n from them; then there is no direction. */
static inline double mpm_directions_next(double next[3], const double n[3], const double direction[3][3], int count)
{
    static const double LEAST = 1e-6;
    for (int a = 0; a < 3; a++)
        next[a] = n[a];
    for (int pass = 0; pass < 2; pass++) /* twice, so that the directions are orthogonal to round-off */
        for (int k = 0; k < count; k++) {
            const double along = mpm_dot3(next, direction[k]);
            for (int a = 0; a < 3; a++)
                next[a] -= along * direction[k][a];
        }
    const double length = sqrt(mpm_dot3(next, next));
    if (!(length > LEAST))
        return 0;
    for (int a = 0; a < 3; a++)
        next[a] /= length;
    return length;
}

/** One step of the solution, from the last direction to the first: takes s n out of R and returns s. */
static inline double mpm_directions_take(double R[3], const double n[3], const double direction[3])
{
    const double s = mpm_dot3(R, direction) / mpm_dot3(n, direction);
    for (int a = 0; a < 3; a++)
        R[a] -= s * n[a];
    return s;
}
