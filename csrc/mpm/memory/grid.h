/* SPDX-License-Identifier: MIT
 *
 * The grid: blocks of nodes, only where material is. A node is a vec4: {p_x, p_y, p_z, m} while momentum is collected,
 * {v_x, v_y, v_z, m} after the grid pass (z unused in 2-D). The last axis is fastest.
 *
 * Sums are deterministic: groups are cut into tasks by particle counts, every task adds to private copies of the blocks
 * that it touches, and the grid pass adds the copies of a block in task order. Threads share only the list of tasks.
 */
#pragma once
#include "mpm/memory/images.h"
#include "mpm/memory/particles.h"

typedef struct mpm_node_block {
    int32_t block[3];            /* coordinates, as in mpm_group */
    int32_t first_copy, copies;  /* range in `copy_list`, in task order */
    int32_t fold;                /* index among the blocks with images; -1: none of its nodes has an image */
} mpm_node_block;

/** The vectors that nodes can keep. A grid has those that were requested, as a set of bits 1 << vector. */
typedef enum mpm_grid_vector {
    MPM_GRID_VELOCITY, /* after forces and contact */
    MPM_GRID_PREVIOUS, /* the velocity at the end of the last step */
    MPM_GRID_BEFORE,   /* the velocity before forces; impulses then have copies of their own */
    MPM_GRID_FILTERED, /* the series of XPIC */
    MPM_GRID_MIDPOINT, /* the velocity in mid step, which moves and strains particles */
    MPM_GRID_VOLUME_CHANGE, /* the volume change of the step, averaged; a scalar */
    /* of a solve (mpm/kernels/kernels.h): */
    MPM_GRID_GUESS, MPM_GRID_TRIAL, MPM_GRID_RESIDUAL, MPM_GRID_DIRECTION, MPM_GRID_PRODUCT, MPM_GRID_CORRECTION,
    MPM_GRID_DIAGONAL,
    MPM_GRID_VECTORS
} mpm_grid_vector;

typedef struct mpm_grid {
    size_t block_count, copy_count, task_count;
    mpm_node_block *blocks;     /* sorted by coordinates */
    int32_t *copy_list;
    int32_t *task_group;        /* task t works on groups task_group[t] .. task_group[t + 1] */
    int32_t *task_copy;         /* and owns the copies task_copy[t] .. task_copy[t + 1] */
    void *vector[MPM_GRID_VECTORS]; /* [block][MPM_BLOCK_NODES][4]; NULL if not requested */
    void *copies;               /* [copy][MPM_BLOCK_NODES][4] */
    void *impulse_copies;       /* the same for {dt f_x, dt f_y, dt f_z, 0}; NULL: dt f is part of the momentum */
    mpm_images images;          /* of nodes at planes of symmetry and periodic faces */
    size_t bytes;
} mpm_grid;

/** Builds the grid for the sorted `groups` and fills their tables. `symmetry` has one entry per axis; `vectors` is the
 *  set of vectors to keep. On error (MPM_OUT_OF_MEMORY, MPM_TOO_LARGE) nothing is left allocated. */
mpm_status mpm_grid_build(mpm_grid *grid, const mpm_allocator *allocator, mpm_group *groups, size_t group_count,
                          ptrdiff_t particles, const mpm_symmetry symmetry[3], int dim, size_t real_size,
                          unsigned vectors);

/** Copies node velocities from the `older` grid, which has every node that particles touch. */
void mpm_grid_take_velocities(mpm_grid *grid, const mpm_grid *older, size_t real_size);

/** Frees all arrays and leaves an empty grid. */
void mpm_grid_clear(mpm_grid *grid, const mpm_allocator *allocator);
