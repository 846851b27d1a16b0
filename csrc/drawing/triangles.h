/* SPDX-License-Identifier: MIT
 *
 * Fills triangles with colours that are linear between their corners. Coordinates are in pixels, rows count downwards,
 * and the centre of pixel (c, r) is at (c, r).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

enum { MPM_TRIANGLE_FINE = 8 }; /* the most window pixels, each way, per image pixel */

typedef struct mpm_triangles {
    ptrdiff_t count;
    const int32_t *corners;    /* (count, 3): numbers of points */
    const float *column, *row; /* of the points; a triangle with one that is not finite is not drawn */
    const uint8_t *value;      /* of the points: rows of the palette */
    const uint8_t *palette;    /* (256, 3) */
} mpm_triangles;

/** Paints triangles into an image (height, width, 3). Each image pixel is the average of `fine` x `fine` pixels; where
 *  there is no triangle, the old colour of the image counts. Of triangles that overlap, the last is seen. Either
 *  orientation is drawn. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_triangles_paint(const mpm_allocator *allocator, const mpm_triangles *triangles, int fine,
                               uint8_t *image, ptrdiff_t width, ptrdiff_t height);
