/* SPDX-License-Identifier: MIT
 *
 * Binning: particles are brought into the order (block, material, cell) by a stable counting sort, groups and
 * grid are laid anew. It is also the one door through which particles come and go: new ones wait in tiles
 * appended at the end, leaving ones are marked, and both take effect here.
 */
#pragma once
#include <stdbool.h>

#include "base/pool.h"
#include "state/grid.h"

/** A particle whose block is told rather than found: a new one, or one that was moved by the user. Its resident
 *  position is already relative to `block`. */
typedef struct mpm_placement {
    int32_t block[3];
    int32_t material;
    uint8_t cell;   /* of its base node in the block */
    ptrdiff_t slot; /* tile * lanes + lane */
} mpm_placement;

/** Fills, for every slot of group `g`, the cell of its base node (0 .. 63) and the neighbour block it has moved to
 *  (0 .. 26, x slowest; 13 in 3-D and 4 in 2-D is its own). A kernel: it reads positions. */
typedef void (*mpm_binning_locate)(const mpm_particles *particles, ptrdiff_t g, uint8_t *cell, uint8_t *shift);

typedef struct mpm_binning {
    const mpm_allocator *allocator;
    mpm_pool *pool;
    mpm_binning_locate locate;
    const mpm_placement *placements; /* ascending in `slot` */
    size_t placement_count;
    bool drop_massless; /* particles of mass 0 leave */
    bool mid_step;      /* between grid pass and gather: the new grid takes over the velocities of nodes, and v and C,
                         * which are about to be found anew, are not moved */
    /** Whatever else depends on the grid; the last that may fail, before anything has changed. */
    mpm_status (*prepare)(void *context, const mpm_grid *grid);
    void *context;
    unsigned vectors; /* of the new grid (mpm_grid_vector) */
    mpm_symmetry symmetry[3]; /* of the grid's axes */
} mpm_binning;

/** Re-orders `particles` and rebuilds `grid` (whose velocities are lost but in mid step). On error nothing has changed. */
mpm_status mpm_binning_run(const mpm_binning *binning, mpm_particles *particles, mpm_grid *grid);
