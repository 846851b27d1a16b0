/* SPDX-License-Identifier: MIT
 *
 * Binning sorts particles by (block, material, cell) with a stable counting sort, and builds groups and grid anew. All
 * insertions and deletions take effect here: new particles wait in tiles at the end, deleted particles are marked.
 */
#pragma once
#include <stdbool.h>

#include "base/pool.h"
#include "mpm/memory/grid.h"

/** A particle whose block is given rather than found: a new one, or one that the user has moved. Its resident position
 *  is already relative to `block`. */
typedef struct mpm_placement {
    int32_t block[3];
    int32_t material;
    uint8_t cell;   /* of its base node in the block */
    ptrdiff_t slot; /* tile * lanes + lane */
} mpm_placement;

/** New particles of one block and material in `count` consecutive slots of waiting tiles. Their resident positions are
 *  already relative to `block`. */
typedef struct mpm_arrival {
    int32_t block[3];
    int32_t material;
    int32_t slot, count;
} mpm_arrival;

typedef struct mpm_arrivals {
    const mpm_arrival *list; /* ascending in `slot`; waiting particles that are not in it leave */
    size_t count;
    const uint8_t *cell; /* of their base nodes, by slot from the first waiting one on */
} mpm_arrivals;

/** Finds for every slot of group `g` the cell of its base node (0 .. 63) and the neighbour block that it has moved to
 *  (0 .. 26, x slowest; 13 in 3-D and 4 in 2-D is its own). It is a kernel, because it reads positions. */
typedef void (*mpm_binning_locate)(const mpm_particles *particles, ptrdiff_t g, uint8_t *cell, uint8_t *shift);

/** Calls the items of a loop, in any order: mpm_pool_for. */
typedef void (*mpm_binning_loop)(mpm_pool *pool, mpm_pool_item item, void *context, ptrdiff_t items);

typedef struct mpm_binning {
    const mpm_allocator *allocator;
    mpm_binning_loop loop;
    mpm_pool *pool; /* of `loop` */
    mpm_binning_locate locate;
    const mpm_placement *placements; /* ascending in `slot` */
    size_t placement_count;
    const int32_t *layers; /* of the groups, by material */
    bool drop_massless; /* particles of mass 0 leave */
    bool mid_step;      /* between grid pass and gather: the new grid takes over the velocities of nodes; v and C are
                         * not moved, because the gather computes them anew */
    /** Prepares what else depends on the grid. The last step that may fail; nothing has changed yet. */
    mpm_status (*prepare)(void *context, const mpm_grid *grid);
    void *context;
    uint8_t *const *reach; /* where memory is distributed: `prepare` leaves there, per block, whether the process has
                            * nodes to read or to send; NULL: it has all */
    unsigned fields; /* of the new grid (mpm_grid_field) */
    mpm_symmetry symmetry[3]; /* of the grid's axes */
} mpm_binning;

/** Reorders `particles`, which the arrivals join, rebuilds `grid` and, in mid step, keeps its velocities. On error
 *  nothing has changed. Like a kernel, it works in memory of the device. */
mpm_status mpm_binning_run(const mpm_binning *binning, const mpm_arrivals *arrivals, mpm_particles *particles,
                           mpm_grid *grid);
