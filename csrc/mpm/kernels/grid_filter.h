/* SPDX-License-Identifier: MIT
 *
 * The filter of XPIC at the nodes: particles take v~ + sum of v_k, k = 1 ... m - 1, with v_0 = v^n (scheme.h).
 */
#pragma once
#include "mpm/kernels/grid_velocity.h"

INLINE void begin_filter(const mpm_grid_pass *pass, ptrdiff_t b)
{
    copy_block(nodes_of(pass, MPM_GRID_FILTERED, b), nodes_of(pass, MPM_GRID_BEFORE, b));
    copy_block(nodes_of(pass, MPM_GRID_BEFORE, b), nodes_of(pass, MPM_GRID_VELOCITY, b));
}

/* The filter conserves momentum except at a mirror; its wall gets the difference as impulse. */
static void add_filter_impulse(const mpm_grid_pass *pass, ptrdiff_t b, double impulse[3])
{
    const real *node = nodes_of(pass, MPM_GRID_VELOCITY, b), *taken = nodes_of(pass, MPM_GRID_BEFORE, b);
    for (int a = 0; a < DIM; a++) {
        if (pass->walls[2 * a].contact != MPM_MIRROR && pass->walls[2 * a + 1].contact != MPM_MIRROR)
            continue;
        for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4)
            impulse[a] += (double)node[n + 3] * ((double)taken[n + a] - (double)node[n + a]);
    }
}

/* Adds the next v_k = v_(k-1) - S+ S v_(k-1), where `seen` holds S+ S v_(k-1). */
static void continue_filter(const mpm_grid_pass *pass, ptrdiff_t b, const real *seen)
{
    real *taken = nodes_of(pass, MPM_GRID_BEFORE, b), *filtered = nodes_of(pass, MPM_GRID_FILTERED, b);
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH) {
        const wide v = wide_load(filtered + n) - wide_load(seen + n);
        wide_store(filtered + n, v);
        wide_store(taken + n, wide_load(taken + n) + v);
    }
    if (pass->filter_step == pass->scheme.xpic_order - 1)
        add_filter_impulse(pass, b, pass->reports[b].impulse);
}

/* One v_k from the copies of the last filter sweep. Blocks with images continue in filter_fold. */
static void filter_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_node_block *block = &grid->blocks[b];
    const bool folds = block->fold >= 0;
    real own[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    real *seen = folds ? field_sums(grid, MPM_GRID_FILTERED, b) : own;
    sum_copies(seen, grid, block, grid->copies[MPM_GRID_FILTERED]);
    if (folds)
        return;
    to_velocity(seen, no_gravity);
    continue_filter(pass, b, seen);
}

static void filter_fold(const mpm_grid_pass *pass, ptrdiff_t b)
{
    real seen[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    fold_velocities(seen, pass->grid, MPM_GRID_FILTERED, pass->grid->blocks[b].fold);
    continue_filter(pass, b, seen);
}
