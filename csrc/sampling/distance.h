/* SPDX-License-Identifier: MIT
 *
 * Distance to a triangle soup: the nearest of its points, found through a tree of boxes.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

/** For each of the `points` points the distance to the nearest face, which face it is, and the weights of its three
 *  corners at the nearest point (they add up to 1), on up to `threads` threads; the bits do not depend on `threads`.
 *  `vertices` and `position` hold three coordinates each; `faces` holds three vertex indices each, all valid, for at
 *  least one face; faces may have no area. Points that follow each other should be near each other. Errors:
 *  MPM_OUT_OF_MEMORY. */
mpm_status mpm_distance_to_faces(const mpm_allocator *allocator, const double *vertices, const int32_t *faces,
                                 ptrdiff_t face_count, const double *position, ptrdiff_t points, double *distance,
                                 int32_t *face, double *weights, int threads);
