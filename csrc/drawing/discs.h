/* SPDX-License-Identifier: MIT
 *
 * Draws particles as discs that bulge towards the viewer. A depth buffer decides for each pixel which disc is visible.
 * Coordinates are in pixels, rows count downwards, and the centre of pixel (c, r) is at (c, r).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

enum {
    MPM_DISC_RADIUS = 31, /* the largest [pixels] */
    MPM_DISC_FINE = 8,    /* the most window pixels, each way, per image pixel */
    MPM_DISC_SIZES = 256
};

typedef struct mpm_discs {
    ptrdiff_t count;
    const float *column, *row; /* centres, which are rounded to whole pixels */
    const float *near;         /* nearness to the viewer [pixels]; NULL: all are equally near */
    float radius;              /* of the largest, 1 to MPM_DISC_RADIUS */
    const uint8_t *size;       /* (count,): the radius is radius (size + 1) / MPM_DISC_SIZES; NULL: all are equal */
    ptrdiff_t left, top, width, height; /* the window that is drawn */
} mpm_discs;

static inline float mpm_disc_radius(const mpm_discs *discs, ptrdiff_t disc)
{
    return discs->size ? discs->radius * (float)(discs->size[disc] + 1) / MPM_DISC_SIZES : discs->radius;
}

/** The colours of discs: palette[brightness][value], three bytes each. */
typedef struct mpm_disc_ink {
    const uint8_t *brightness; /* (2 k + 1, 2 k + 1), k = ceil(radius): below `shades`, by offset from the centre of
                                  the largest; others are scaled */
    const uint8_t *palette;    /* (shades, 256, 3) */
    const uint8_t *value;      /* (count,) */
} mpm_disc_ink;

/** Writes to `seen` (height, width) the disc that is visible at each pixel of the window, -1 for none. Uses up to
 *  `threads` threads; their number changes nothing. Of equally near discs, one is visible. Errors:
 *  MPM_OUT_OF_MEMORY. */
mpm_status mpm_discs_draw(const mpm_allocator *allocator, const mpm_discs *discs, int32_t *seen, int threads);

/** Paints the result of mpm_discs_draw into an image of `image_width` columns. Each image pixel is the average of
 *  `fine` x `fine` window pixels; where there is no disc, the old colour of the image counts. `fine` divides the four
 *  numbers of the window, which is within the image. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_discs_paint(const mpm_allocator *allocator, const mpm_discs *discs, const int32_t *seen,
                           const mpm_disc_ink *ink, int fine, uint8_t *image, ptrdiff_t image_width, int threads);
