/* SPDX-License-Identifier: MIT
 *
 * The arena: a block of nodes with the margin that its particles can reach, small enough to stay in the L1 cache.
 * The base nodes of a group are in its block at a binning and drift by at most one cell until the next. So stencils
 * reach nodes -1 .. side + degree; arena index 0 is node -1.
 */
#pragma once
#include "base/simd.h"
#include "mpm/kernels/formulas.h"
#include "mpm/kernels/kernels.h"

#define BLOCK_SIDE (DIM == 3 ? 4 : 8)
#ifndef ARENA_DEGREE
#define ARENA_DEGREE MPM_QUADRATIC /* the highest degree of a kernel that fits */
#endif
#define ARENA_SIDE (BLOCK_SIDE + 2 + ARENA_DEGREE)
#define ARENA_NODES (DIM == 3 ? ARENA_SIDE * ARENA_SIDE * ARENA_SIDE : ARENA_SIDE * ARENA_SIDE)
/* Pencils may begin one node early or end one node late, with weight 0. The slack in front also aligns node 0 of the
 * block to a cache line. */
#define ARENA_SLACK 28
#define ARENA_REALS (ARENA_SLACK + 4 * ARENA_NODES + 36)

/* How far beyond a face a particle may be, in cells, rounding included. */
INLINE double wall_room(int degree)
{
    return mpm_scheme_wall_depth(degree) + (REAL_IS_FLOAT ? 1e-5 : 1e-9);
}

typedef real arena[ARENA_REALS] __attribute__((aligned(64)));

/* The arena index of the first node of a stencil, clamped to the arena (NaN gives 0): the last line of defence behind
 * the checks of the step. */
INLINE wide arena_first(wide base)
{
    return wide_min(wide_max(base + wide_set(1), wide_set(0)), wide_set(BLOCK_SIDE + 1));
}

/* Along every axis an arena overlaps three blocks: the previous one, its own and the next one. For each block: the
 * arena index of its first node, the number of nodes, and the coordinate of the first within the block. */
static const int piece_begin[3] = {0, 1, BLOCK_SIDE + 1};
static const int piece_nodes[3] = {1, BLOCK_SIDE, 1 + ARENA_DEGREE};
static const int piece_inside[3] = {BLOCK_SIDE - 1, 0, 0};

/* The group's nodes in one of the three blocks, along one axis. */
struct piece {
    int first, end; /* arena indices */
    int inside;     /* coordinate of the first within the block */
};

INLINE struct piece piece_along(const mpm_group *group, int axis, int which)
{
    const int begin = piece_begin[which], end = begin + piece_nodes[which], stop = group->last_node[axis] + 1;
    const int first = group->first_node[axis] > begin ? group->first_node[axis] : begin;
    return (struct piece){first, stop < end ? stop : end, piece_inside[which] + first - begin};
}

/* Runs `body` for every line of the group's nodes along the last axis, block by block. The part of the line in the
 * block begins at `in_arena` in the arena and at `in_grid` in an array of blocks; its length `nodes` is a compile-time
 * constant. `table` holds the indices of the 27 or 9 blocks. */
#define ARENA_LINES(group, table, body) \
    do { \
        const ptrdiff_t arena_line = 4 * ARENA_SIDE, arena_slab = arena_line * ARENA_SIDE; \
        const ptrdiff_t grid_line = 4 * BLOCK_SIDE, grid_slab = grid_line * BLOCK_SIDE; \
        for (int a = 0; a < (DIM == 3 ? 3 : 1); a++) { \
            const struct piece slabs = DIM == 3 ? piece_along(group, 0, a) : (struct piece){0, 1, 0}; \
            for (int b = 0; b < 3; b++) { \
                const struct piece lines = piece_along(group, DIM - 2, b); \
                UNROLL for (int c = 0; c < 3; c++) { \
                    const int32_t block = (table)[9 * a + 3 * b + c]; \
                    const int nodes = piece_nodes[c]; \
                    if (block < 0) \
                        continue; \
                    ptrdiff_t arena_at = slabs.first * arena_slab + lines.first * arena_line + 4 * piece_begin[c]; \
                    ptrdiff_t grid_at = 4 * (ptrdiff_t)MPM_BLOCK_NODES * block + slabs.inside * grid_slab + \
                                        lines.inside * grid_line + 4 * piece_inside[c]; \
                    for (int i = slabs.first; i < slabs.end; i++, arena_at += arena_slab, grid_at += grid_slab) { \
                        ptrdiff_t in_arena = arena_at, in_grid = grid_at; \
                        for (int j = lines.first; j < lines.end; j++, in_arena += arena_line, in_grid += grid_line) \
                            body \
                    } \
                } \
            } \
        } \
    } while (0)

typedef real node4 __attribute__((vector_size(4 * sizeof(real)), may_alias, aligned(4 * sizeof(real))));

/* Copies the velocities that a group can reach. */
INLINE void arena_read(real *arena, const mpm_group *group, const real *grid)
{
    ARENA_LINES(group, group->node_block, {
        memcpy(arena + in_arena, grid + in_grid, 4 * (size_t)nodes * sizeof(real));
    });
}

/* Clears a task's copies of a field. */
INLINE void clear_copies(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t task)
{
    const size_t block = MPM_BLOCK_NODES * 4 * sizeof(real);
    memset((char *)grid->copies[field] + (size_t)grid->task_copy[task] * block, 0,
           (size_t)(grid->task_copy[task + 1] - grid->task_copy[task]) * block);
}

/* As many nodes as a register holds. */
#define SPAN_REALS (WIDTH < 4 ? 4 : WIDTH)
typedef real span __attribute__((vector_size(SPAN_REALS * sizeof(real)), may_alias, aligned(4 * sizeof(real))));

/* Adds a line of the block's own nodes and clears it. */
INLINE void arena_move_spans(real *arena, real *copy)
{
    enum { SPANS = 4 * BLOCK_SIDE / SPAN_REALS };
    span *from = (span *)arena, *to = (span *)copy, sum[SPANS];
    UNROLL for (int n = 0; n < SPANS; n++)
        sum[n] = to[n] + from[n];
    UNROLL for (int n = 0; n < SPANS; n++) {
        to[n] = sum[n];
        from[n] = (span){0};
    }
}

INLINE void arena_move_nodes(real *arena, real *copy, const int nodes)
{
    node4 *from = (node4 *)arena, *to = (node4 *)copy;
    UNROLL for (int n = 0; n < nodes; n++) {
        to[n] += from[n];
        from[n] = (node4){0};
    }
}

/* Adds what a group has collected to its task's copies and clears the arena for the next group. */
INLINE void arena_add(real *arena, const mpm_group *group, real *copies)
{
    ARENA_LINES(group, group->copy, {
        if (nodes == BLOCK_SIDE)
            arena_move_spans(arena + in_arena, copies + in_grid);
        else
            arena_move_nodes(arena + in_arena, copies + in_grid, nodes);
    });
}
