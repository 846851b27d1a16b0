/* SPDX-License-Identifier: MIT
 *
 * The grid: blocks of nodes, only where material is. Bodies of different layers have blocks of their own, which lie at
 * one place where the bodies meet. What nodes carry, grid_fields.h lists. A node is a vec4: {p_x, p_y, p_z, m} while
 * momentum is collected, {v_x, v_y, v_z, m} after the grid pass (z unused in 2-D). The last axis is fastest.
 *
 * Sums are deterministic: groups are cut into tasks by particle counts, every task adds to private copies of the blocks
 * that it touches, and the grid pass adds the copies of a block in task order. Threads share only the list of tasks.
 */
#pragma once
#include "mpm/memory/grid_fields.h"
#include "mpm/memory/images.h"
#include "mpm/memory/particles.h"

typedef struct mpm_node_block {
    int32_t block[3];            /* coordinates, as in mpm_group */
    int32_t layer;               /* the same */
    int32_t first_copy, copies;  /* range in `copy_list`, in task order */
    int32_t fold;                /* index among the blocks with images; -1: none of its nodes has an image */
    bool waits;                  /* part of one of `places` */
} mpm_node_block;

/** The blocks of one place, one per layer, which a pass visits together after it has visited every block alone: there
 *  are several, or one of them has images. */
typedef struct mpm_place {
    int32_t first, count; /* range of `blocks` */
    int32_t first_pair;   /* of its count (count - 1)/2 pairs of layers, in the order (0, 1), (0, 2), ..., (1, 2) */
} mpm_place;

typedef struct mpm_grid {
    size_t block_count, copy_count, task_count, place_count;
    size_t shared_copy_count, pair_count;
    mpm_node_block *blocks;     /* sorted along the curve (block_map.h), then by layer */
    mpm_place *places;
    int32_t *copy_list;
    int32_t *task_group;        /* task t works on groups task_group[t] .. task_group[t + 1] */
    int32_t *task_copy;         /* and owns the copies task_copy[t] .. task_copy[t + 1] */
    int32_t *shared_copy;       /* of each copy: its number among those of places with several layers; -1 elsewhere */
    uint64_t *shared_nodes;     /* per block: the nodes that several layers can reach, one bit each; NULL without any */
    int32_t *task_shared;       /* task t owns the numbers task_shared[t] .. task_shared[t + 1]; NULL without any */
    /* Per field, as the table says, in memory of the device; NULL if it was not requested. Fields share copies and raw
     * sums. */
    void *field[MPM_GRID_FIELD_COUNT];  /* [block][MPM_BLOCK_NODES][4] */
    void *copies[MPM_GRID_FIELD_COUNT]; /* [copy][MPM_BLOCK_NODES][4] */
    void *raw[MPM_GRID_FIELD_COUNT];    /* [fold][MPM_BLOCK_NODES][4]; NULL if no node has an image */
    mpm_images images;          /* of nodes at planes of symmetry and periodic faces */
    size_t bytes;
} mpm_grid;

/** Builds the grid for the sorted `groups` and fills their tables. `symmetry` has one entry per axis; `fields` is the
 *  set of fields to keep, with those whose copies or raw sums they share. Nodes are 0, or, if they are `unset`, hold
 *  anything. Tables are memory of the host. On error (MPM_OUT_OF_MEMORY, MPM_TOO_LARGE) nothing is left allocated. */
mpm_status mpm_grid_build(mpm_grid *grid, mpm_device *device, mpm_group *groups, size_t group_count,
                          ptrdiff_t particles, const mpm_symmetry symmetry[3], int dim, size_t real_size,
                          unsigned fields, bool unset);

/** Sets the nodes of blocks with a `reach` that is not 0 to 0. The others get no memory from the system. */
void mpm_grid_clear_nodes(mpm_grid *grid, const uint8_t *reach, size_t real_size);

/** Copies node velocities from the `older` grid, which has every node that particles touch, in its layer: of the blocks
 *  with a `reach`, or of all if that is NULL. */
void mpm_grid_take_velocities(mpm_grid *grid, const mpm_grid *older, const uint8_t *reach, size_t real_size);

/** Frees all arrays and leaves an empty grid. */
void mpm_grid_clear(mpm_grid *grid, mpm_device *device);
