/* SPDX-License-Identifier: MIT
 *
 * The arena: a block of nodes with the margin its particles can reach, small enough to stay in the first cache.
 * Base nodes of a group lie in its block at a binning and drift by at most one cell until the next, so nodes
 * -1 .. side + degree are reached; arena index 0 is node -1.
 */
#pragma once
#include "base/simd.h"
#include "transfer/kernels.h"

#define BLOCK_SIDE (DIM == 3 ? 4 : 8)
#ifndef ARENA_DEGREE
#define ARENA_DEGREE MPM_QUADRATIC /* the highest degree of a kernel that fits */
#endif
#define ARENA_SIDE (BLOCK_SIDE + 2 + ARENA_DEGREE)
#define ARENA_NODES (DIM == 3 ? ARENA_SIDE * ARENA_SIDE * ARENA_SIDE : ARENA_SIDE * ARENA_SIDE)
/* Rows may begin one node early or end one node late with weight 0; the slack before keeps node 0 of the block on
 * a cache line. */
#define ARENA_SLACK 28
#define ARENA_REALS (ARENA_SLACK + 4 * ARENA_NODES + 36)

/* How far beyond a face a particle may be, in cells, rounding included. */
INLINE double wall_room(int degree)
{
    return mpm_scheme_wall_depth(degree) + (REAL_IS_FLOAT ? 1e-5 : 1e-9);
}

#define LINES (DIM == 3 ? ARENA_SIDE * ARENA_SIDE : ARENA_SIDE)

typedef real arena[ARENA_REALS] __attribute__((aligned(64)));

/* Arena index of the first node of a stencil, kept inside the arena whatever happens (a NaN gives 0): the last
 * line of defence behind the checks of the step. */
INLINE wide arena_first(wide base)
{
    return wide_min(wide_max(base + wide_set(1), wide_set(0)), wide_set(BLOCK_SIDE + 1));
}

/* The quadratic B-spline along one axis: the weights of the three nodes, the particle's place `e` from the middle one, in
 * [-1/2, 1/2], and, as the result, the first of them. All in cells from the block's first node. */
INLINE wide quadratic_weights(wide x, wide weight[3], wide *e)
{
    const wide half = wide_set((real)0.5), base = wide_floor(x - half);
    *e = x - (base + wide_set(1));
    const wide before = half - *e, after = half + *e;
    weight[0] = half * before * before;
    weight[1] = wide_fnma(*e, *e, wide_set((real)0.75));
    weight[2] = half * after * after;
    return base;
}

/* For every line of nodes along the last axis of the group's range, calls
 * `piece(arena position, grid position, nodes)` for the parts that lie in the three blocks along it. */
#define ARENA_PIECES(group, table, body) \
    do { \
        for (int i = (group)->first_node[0]; i <= (group)->last_node[0]; i++) \
            for (int j = DIM == 3 ? (group)->first_node[1] : 0; j <= (DIM == 3 ? (group)->last_node[1] : 0); j++) { \
                const int32_t *line_blocks = \
                    (table) + 3 * (DIM == 3 ? 3 * arena_neighbour(i) + arena_neighbour(j) : arena_neighbour(i)); \
                const int line = DIM == 3 ? arena_inside(i) * BLOCK_SIDE + arena_inside(j) : arena_inside(i); \
                const ptrdiff_t at = 4 * (DIM == 3 ? i * ARENA_SIDE + j : i) * ARENA_SIDE; \
                UNROLL for (int part = 0; part < 3; part++) { \
                    if (line_blocks[part] < 0) \
                        continue; \
                    const int first = part == 0 ? 0 : part == 1 ? 1 : BLOCK_SIDE + 1; \
                    const int nodes = part == 0 ? 1 : part == 1 ? BLOCK_SIDE : 1 + ARENA_DEGREE; \
                    const ptrdiff_t in_arena = at + 4 * first; \
                    const ptrdiff_t in_grid = 4 * ((ptrdiff_t)line_blocks[part] * MPM_BLOCK_NODES + \
                                                   line * BLOCK_SIDE + (part == 0 ? BLOCK_SIDE - 1 : 0)); \
                    body \
                } \
            } \
    } while (0)

INLINE int arena_neighbour(int index) /* 0: block before, 1: own, 2: block after */
{
    return (index > 0) + (index > BLOCK_SIDE);
}

INLINE int arena_inside(int index) /* coordinate within that block */
{
    return (index + BLOCK_SIDE - 1) & (BLOCK_SIDE - 1);
}

typedef real node4 __attribute__((vector_size(4 * sizeof(real)), may_alias, aligned(4 * sizeof(real))));

/* Copies the velocities a group can see. */
INLINE void arena_read(real *arena, const mpm_group *group, const real *grid)
{
    ARENA_PIECES(group, group->node_block, {
        memcpy(arena + in_arena, grid + in_grid, 4 * (size_t)nodes * sizeof(real));
    });
}

/* Nodes in as large pieces as a register holds. */
#define SPAN_REALS (WIDTH < 4 ? 4 : WIDTH)
typedef real span __attribute__((vector_size(SPAN_REALS * sizeof(real)), may_alias, aligned(4 * sizeof(real))));

/* A line of the block's own nodes: added and cleared. */
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
    ARENA_PIECES(group, group->copy, {
        if (part == 1)
            arena_move_spans(arena + in_arena, copies + in_grid);
        else
            arena_move_nodes(arena + in_arena, copies + in_grid, nodes);
    });
}
