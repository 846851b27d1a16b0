/* SPDX-License-Identifier: MIT
 *
 * Distance to a triangle soup, and its nearest point, found with a tree of boxes.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

/** Finds, for each of the `points` points, the distance to the nearest face, the index of that face, and the weights of
 *  its three corners at the nearest point (they add up to 1). Uses up to `threads` threads; the bits do not depend on
 *  `threads`. `vertices` and `position` hold three coordinates each; `faces` holds three valid vertex indices each, for
 *  at least one face; faces may have no area. Consecutive points should be near each other. Errors:
 *  MPM_OUT_OF_MEMORY. */
mpm_status mpm_distance_to_faces(const mpm_allocator *allocator, const double *vertices, const int32_t *faces,
                                 ptrdiff_t face_count, const double *position, ptrdiff_t points, double *distance,
                                 int32_t *face, double *weights, int threads);
