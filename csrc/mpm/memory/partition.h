/* SPDX-License-Identifier: MIT
 *
 * What of a grid one of several processes works on: a consecutive range of the tasks, the blocks that their groups
 * touch, and the private copies that it sends to and receives from others. A process that touches a block gets all its
 * copies, in the places that the tasks of other processes own, and adds them itself.
 */
#pragma once
#include "mpm/memory/grid.h"
#include "ranks/team.h"

/** What a process does with a block. */
typedef enum mpm_reach {
    MPM_BEYOND, /* nothing: its nodes hold anything */
    MPM_SUMMED, /* adds its copies, because a block that it finishes has images there */
    MPM_FINISHED
} mpm_reach;

/** The nodes of a copy that the groups of its task can reach: from `first` to before `end` along each axis. All others
 *  are 0. */
typedef struct mpm_node_box {
    uint8_t first[3], end[3];
} mpm_node_box;

/** What goes to a process and what comes from it: ranges of `out` and `in`, ascending in block and task. */
typedef struct mpm_neighbour {
    int32_t process;
    size_t first_out, out_count, first_in, in_count;
} mpm_neighbour;

typedef struct mpm_partition {
    int32_t processes, own;
    size_t first_task, end_task;
    uint8_t *reaches;     /* per process and block: mpm_reach */
    const uint8_t *reach; /* that of the own process */
    int32_t *counting;    /* per block: the process whose reports count, the lowest one that finishes it; or -1 */
    mpm_neighbour *neighbours; /* ascending in the process */
    size_t neighbour_count;
    int32_t *out, *in;    /* indices of copies */
    mpm_node_box *box;    /* per copy, by mpm_partition_find_boxes */
    size_t out_count, in_count;
    int64_t *spent;       /* per task, of own ones: by sweeps over the present grid [ns of a processor] */
} mpm_partition;

/** The first group of a process. */
size_t mpm_partition_first_group(const mpm_grid *grid, const mpm_team *team, int32_t process);

/** Finds the part that the own process of a team has of `grid`. `reflects`: passes read nodes
 *  across any wall, too; `all`: of any block. All processes know the whole grid. On error (MPM_OUT_OF_MEMORY) nothing
 *  is left allocated. */
mpm_status mpm_partition_find(mpm_partition *partition, const mpm_allocator *allocator, const mpm_grid *grid,
                              const mpm_symmetry symmetry[3], int dim, bool reflects, bool all, const mpm_team *team);

/** Finds the boxes of all copies, for the groups of the grid; `boxes` has room. */
void mpm_partition_find_boxes(mpm_node_box *boxes, const mpm_grid *grid, const mpm_group *groups, int dim);

/** The nodes of a box. */
static inline size_t mpm_partition_nodes(const mpm_node_box *box)
{
    size_t nodes = 1;
    for (int axis = 0; axis < 3; axis++)
        nodes *= (size_t)(box->end[axis] - box->first[axis]);
    return nodes;
}

void mpm_partition_clear(mpm_partition *partition, const mpm_allocator *allocator);
