/* SPDX-License-Identifier: MIT
 *
 * Generalised winding number of a triangle soup: how often the soup winds around a point.
 *
 *     w(p) = 1/(4 pi) sum over faces of the signed solid angle seen from p
 *
 * It is 1 inside a closed surface whose normals point outwards, 0 outside, -1 inside an inside-out surface, 2 inside a
 * doubled one, and a fraction near holes. Jacobson, Kavan & Sorkine-Hornung, ACM Trans. Graph. 32 (2013) 33.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

/** Writes w of each of the `points` points to `result`, on up to `threads` threads; the bits do not depend on
 *  `threads`. `vertices` and `position` hold three coordinates each, of a size whose cube neither overflows
 *  nor underflows; `faces` holds three vertex indices each, all valid. On the surface itself w is any value
 *  between those of the two sides. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_winding_numbers(const mpm_allocator *allocator, const double *vertices, const int32_t *faces,
                               ptrdiff_t face_count, const double *position, ptrdiff_t points, double *result,
                               int threads);
