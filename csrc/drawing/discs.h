/* SPDX-License-Identifier: MIT
 *
 * Particles as discs that bulge towards the viewer, drawn over one another: a depth buffer decides, pixel by pixel,
 * which is seen. Coordinates are in pixels, rows count downwards, pixel (c, r) has its centre at (c, r).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

enum {
    MPM_DISC_RADIUS = 31, /* the largest [pixels] */
    MPM_DISC_FINE = 8     /* the most pixels of the window, each way, that make one of the image */
};

typedef struct mpm_discs {
    ptrdiff_t count;
    const float *column, *row; /* centres, which are rounded to whole pixels */
    const float *near;         /* nearness to the viewer [pixels]; NULL: all are as near as each other */
    float radius;              /* 1 to MPM_DISC_RADIUS */
    ptrdiff_t left, top, width, height; /* the window that is drawn */
} mpm_discs;

/** What discs look like: palette[brightness][value], three bytes each. */
typedef struct mpm_disc_ink {
    const uint8_t *brightness; /* (2 k + 1, 2 k + 1), k = ceil(radius): below `shades`, by offset from the centre */
    const uint8_t *palette;    /* (shades, 256, 3) */
    const uint8_t *value;      /* (count,) */
} mpm_disc_ink;

/** Writes which disc is seen at each pixel of the window, -1 for none, to `seen` (height, width), on up to `threads`
 *  threads; their number changes nothing. Of two that are as near, one is seen. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_discs_draw(const mpm_allocator *allocator, const mpm_discs *discs, int32_t *seen, int threads);

/** Paints what mpm_discs_draw has found for these discs into an image of `image_width` columns, on which `fine` x `fine` pixels make
 *  one: their average, in which the image's own colour stands for those without a disc. `fine` divides the four numbers
 *  of the window, which lies within the image. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_discs_paint(const mpm_allocator *allocator, const mpm_discs *discs, const int32_t *seen,
                           const mpm_disc_ink *ink, int fine, uint8_t *image, ptrdiff_t image_width, int threads);
