/* SPDX-License-Identifier: MIT
 *
 * Cells handed out to particles: each sub-cell goes to the nearest particle of the cells around.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

/** Cells and the particles around them. */
typedef struct mpm_parts {
    int dim, side;         /* 2 or 3; sub-cells of a cell along an axis */
    double dx;             /* of a cell */
    ptrdiff_t cells, cut;  /* `filled` has the first `cut` cells; the others are full */
    const double *middle;  /* of cells, (cells, dim) */
    const double *filled;  /* shares of sub-cells, the last axis fastest, (cut, side^dim) */
    const int32_t *around; /* rows of `members`: the cell and its neighbours, (cells, 3^dim) */
    ptrdiff_t rows, most;  /* of `members` */
    const int32_t *members; /* particles of cells, (rows, most); -1: none */
    ptrdiff_t particles;
    const double *x; /* (particles, dim) */
} mpm_parts;

/** Writes the volume that each particle gets to `share` [cells], and the integral of x over it to `moment`
 *  (particles, dim). The distances of equally near particles decide by the order of the members. Sub-cells without a
 *  particle around are left out. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_parts_hand_out(const mpm_allocator *allocator, const mpm_parts *parts, double *share, double *moment);
