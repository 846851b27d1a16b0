/* SPDX-License-Identifier: MIT
 *
 * Lights a picture by its depths: a surface through particles that are drawn as discs, its shading, ambient occlusion
 * and soft shadows. Coordinates are in pixels: columns to the right, rows down, nearness to the viewer.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "drawing/discs.h"

enum { MPM_RELIEF_SPREAD = 24, MPM_RELIEF_NUMBERS = 38 };

/** How light falls; MPM_RELIEF_NUMBERS floats in this order. */
typedef struct mpm_relief_light {
    float spread;     /* standard deviation of the smoothing, about, 0 to MPM_RELIEF_SPREAD */
    float step;       /* nearness by which neighbouring pixels of one surface differ at most, > 0 */
    float reach;      /* of ambient occlusion, >= 0 */
    float occlusion;  /* its strength */
    float sun[3];     /* unit vector towards the sun: right, down, near */
    float up[3];      /* unit vector towards the sky */
    float sky[3];     /* colour of the light that comes from the sky */
    float earth[3];   /* of that from below */
    float shine[3];   /* of the sun */
    float to_sun[12]; /* column, row and nearness in the picture seen from the sun: each by column, row, nearness, 1 */
    float bias;       /* nearness there within which a surface does not shade itself, > 0 */
    float softness;   /* radius of the filter of shadows there [pixels], >= 0 */
    float fill;       /* brightness of the light from where the viewer is */
    float ground;     /* how much of all this the ground takes, 0 to 1 */
    float lens[3];    /* of a picture in perspective: column and row straight before the eye, and one over the distance
                         of the eye from where nearness is 0 [1/pixels]; in a parallel projection that is 0 */
} mpm_relief_light;

typedef struct mpm_relief {
    ptrdiff_t width, height;
    const float *depth;  /* (height, width): nearness of the material, -infinity where it is not */
    const float *cover;  /* (height, width): share of the pixel that material covers */
    const float *gloss;  /* (height, width): how much the material reflects sky and sun, 0 to 1; NULL: nothing */
    const float *ground; /* (height, width): nearness of the ground, -infinity where it is not; NULL: nowhere */
    ptrdiff_t sun_width, sun_height;
    const float *sunlit; /* (sun_height, sun_width): nearness of the material to the sun, -infinity where it is not */
} mpm_relief;

/** Of the window of discs, the nearness of what is seen to `depth`, and the share that is covered to `cover`, both
 *  (., row_length), which fine x fine pixels of the window make one pixel of. The window begins at pixel (top / fine,
 *  left / fine), and `fine` divides its four numbers. */
void mpm_relief_depths(const mpm_discs *discs, const int32_t *seen, int fine, float *depth, float *cover,
                       ptrdiff_t row_length);

/** Multiplies an image (height, width, 3) by the light that falls on what it shows. Open ground keeps its colour. The
 *  number of threads changes nothing. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_relief_shade(const mpm_allocator *allocator, const mpm_relief *relief, const mpm_relief_light *light,
                            uint8_t *image, int threads);
