/* SPDX-License-Identifier: MIT
 *
 * Signed crossings of rays with a triangle soup: for each point, the number of faces above it (towards +z) that face
 * up, minus the number of those that face down.
 *
 * For a closed surface this is the winding number, found without solid angles. Faces are binned by column, so a point
 * is compared only with the few faces of its column.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

/** Writes the signed crossings of each of the `points` points to `result`, on up to `threads` threads; the
 *  bits do not depend on `threads`. Arguments as in `mpm_winding_numbers`.
 *
 *  Two faces that share an edge use the same numbers for it, so that no ray misses a seam or crosses it twice. Ties are
 *  half-open, as in a box lower <= x < upper: a point on a face towards -x, -y or -z is inside, a point on the opposite
 *  face is not. Errors: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE. */
mpm_status mpm_crossings_count(const mpm_allocator *allocator, const double *vertices, const int32_t *faces,
                               ptrdiff_t face_count, const double *position, ptrdiff_t points,
                               int32_t *result, int threads);
