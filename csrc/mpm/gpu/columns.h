/* SPDX-License-Identifier: MIT
 *
 * Sums over the particles of a block at its nodes, whose order is fixed: no atomic operation on floats.
 *
 * A CTA takes a chunk of its particles, one per thread. The chunk is sorted by cell in shared memory. A warp then takes
 * a column of cells along the last axis, a lane takes a node of the stencil, and adds the particles of each cell one by
 * one (2-D: a warp takes three columns). So every (column, node of the stencil) has sums of its own along the column,
 * which are added up when all chunks are done.
 */
#pragma once
#include "mpm/gpu/device.h"

enum {
    STENCIL = DIM == 3 ? 27 : 9,
    ACROSS = STENCIL / 3,                     /* of these, across the column */
    REACH = GPU_SIDE + 2,                     /* cells that particles may be in along an axis: -1 .. side */
    COLUMNS = DIM == 3 ? REACH * REACH : REACH,
    REACHED = COLUMNS * REACH,                /* cells */
    PARTIAL = COLUMNS * GPU_TILE_SIDE * ACROSS,
    SWEEP_WARPS = GPU_SWEEP_THREADS / 32
};

/* What a particle gives to the nodes of its stencil: w (Q + A k) and w m, k being the offset from the middle node. */
struct gift {
    int cell[3];            /* 0 .. REACH - 1 */
    real Q[DIM], A[DIM][DIM], m; /* A[a][b]: change of p_b per cell along a */
    real e[DIM];            /* the particle less the middle node [cells] */
};

struct chunk {
    struct gpu_vec4 partial[PARTIAL]; /* [column][node along it][node across it] */
    struct gpu_vec4 middle[GPU_SWEEP_THREADS], slope[DIM][GPU_SWEEP_THREADS]; /* {Q, m}; {A, e} */
    int start[REACHED + 1];  /* of each cell */
    unsigned short count[SWEEP_WARPS][REACHED];
    int warp_sum[SWEEP_WARPS], next_column;
};

/* Where the particle of each thread comes in the order of cells; within a cell, in the order of threads. */
INLINE int chunk_sort(struct chunk *s, int cell, bool valid)
{
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    for (int i = tid; i < SWEEP_WARPS * REACHED; i += GPU_SWEEP_THREADS)
        (&s->count[0][0])[i] = 0;
    __syncthreads();
    const unsigned same = __match_any_sync(ALL_LANES, valid ? cell : REACHED);
    const int rank = __popc(same & ((1u << lane) - 1));
    if (valid && rank == 0)
        s->count[warp][cell] = (unsigned short)__popc(same);
    __syncthreads();
    int begun = 0; /* particles of the cells before */
    for (int first = 0; first < REACHED; first += GPU_SWEEP_THREADS) {
        const int c = first + tid;
        int total = 0;
        for (int w = 0; c < REACHED && w < SWEEP_WARPS; w++) {
            const int n = s->count[w][c];
            s->count[w][c] = (unsigned short)total;
            total += n;
        }
        const int scanned = warp_scan(total);
        if (lane == 31)
            s->warp_sum[warp] = scanned;
        __syncthreads();
        int before = begun;
        for (int w = 0; w < SWEEP_WARPS; w++) {
            before += w < warp ? s->warp_sum[w] : 0;
            begun += s->warp_sum[w];
        }
        if (c < REACHED)
            s->start[c] = before + scanned - total;
        __syncthreads();
    }
    if (tid == 0)
        s->start[REACHED] = begun;
    __syncthreads();
    return valid ? s->start[cell] + s->count[warp][cell] + rank : 0;
}

/* The weight of node -1, 0 or 1 from the middle: a (b e + c)^2 + d. As quadratic_weights rounds it, so never negative:
 * a sum of weights that are all tiny must not vanish. */
struct weight {
    real a, b, c, d;
};

INLINE struct weight weight_of(int node)
{
    struct weight w;
    w.a = node == 0 ? -1 : (real)0.5;
    w.b = node == -1 ? -1 : 1;
    w.c = node == 0 ? 0 : (real)0.5;
    w.d = node == 0 ? (real)0.75 : 0;
    return w;
}

INLINE real weight_at(struct weight w, real e)
{
    const real t = wide_fma(w.b, e, w.c);
    return wide_fma(w.a * t, t, w.d);
}

/* A lane adds the particles of one cell to the sums of its node. */
INLINE void add_cell(const struct chunk *s, int slot, int end, const struct weight weight[DIM], const real k[DIM],
                     struct gpu_vec4 *to)
{
    struct gpu_vec4 sum = vec4_load(to);
    for (; slot < end; slot++) {
        const struct gpu_vec4 middle = vec4_load(&s->middle[slot]);
        real value[DIM], w = 1;
        UNROLL for (int b = 0; b < DIM; b++)
            value[b] = middle.c[b];
        UNROLL for (int a = 0; a < DIM; a++) {
            const struct gpu_vec4 slope = vec4_load(&s->slope[a][slot]);
            const real along = weight_at(weight[a], slope.c[3]);
            w = a == 0 ? along : w * along;
            UNROLL for (int b = 0; b < DIM; b++)
                value[b] = wide_fma(slope.c[b], k[a], value[b]);
        }
        UNROLL for (int b = 0; b < DIM; b++)
            sum.c[b] = wide_fma(w, value[b], sum.c[b]);
        sum.c[3] = wide_fma(w, middle.c[3], sum.c[3]);
    }
    vec4_store(to, sum.c[0], sum.c[1], sum.c[2], sum.c[3]);
}

/* The columns of the chunk, which is sorted. Which warp takes a column does not matter. */
INLINE void chunk_sum(struct chunk *s)
{
    enum { TOGETHER = DIM == 3 ? 1 : 3 };
    const int lane = threadIdx.x % 32, group = lane / STENCIL, node = lane % STENCIL;
    const unsigned own = (DIM == 3 ? 0x7ffffffu : 0x1ffu) << (group * STENCIL) % 32; /* lanes of the same column */
    int at[3];
    struct weight weight[DIM];
    real k[DIM];
    cube_at(node, 3, at);
    UNROLL for (int a = 0; a < DIM; a++) {
        weight[a] = weight_of(at[a] - 1);
        k[a] = (real)(at[a] - 1);
    }
    for (;;) {
        int column = 0;
        if (lane == 0)
            column = atomicAdd(&s->next_column, TOGETHER);
        column = __shfl_sync(ALL_LANES, column, 0);
        if (column >= COLUMNS)
            break;
        column += group;
        if (group >= TOGETHER || column >= COLUMNS)
            continue;
        const int *start = s->start + column * REACH;
        for (int z = 0; z < REACH; z++) {
            if (start[z] == start[z + 1])
                continue;
            add_cell(s, start[z], start[z + 1], weight, k,
                     &s->partial[(column * GPU_TILE_SIDE + z + at[DIM - 1]) * ACROSS + node / 3]);
            __syncwarp(own); /* the next cell reaches nodes of this one by other lanes */
        }
    }
    __syncthreads();
}

INLINE void chunk_begin(struct chunk *s)
{
    for (int t = threadIdx.x; t < PARTIAL; t += GPU_SWEEP_THREADS)
        vec4_store(&s->partial[t], 0, 0, 0, 0);
}

/* Adds the gifts of all threads. */
INLINE void chunk_add(struct chunk *s, const struct gift *gift, bool valid)
{
    const int slot = chunk_sort(s, cube_number(gift->cell, REACH), valid);
    if (threadIdx.x == 0)
        s->next_column = 0;
    if (valid) {
        vec4_store(&s->middle[slot], gift->Q[0], gift->Q[1], DIM == 3 ? gift->Q[DIM - 1] : 0, gift->m);
        UNROLL for (int a = 0; a < DIM; a++)
            vec4_store(&s->slope[a][slot], gift->A[a][0], gift->A[a][1], DIM == 3 ? gift->A[a][DIM - 1] : 0,
                       gift->e[a]);
    }
    __syncthreads();
    chunk_sum(s);
}

/* The sums of all chunks at the nodes of a tile, -1 .. side + 2; with `adds`, to what the tile has. */
INLINE void chunk_end(const struct chunk *s, struct gpu_vec4 *tile, const bool adds)
{
    for (int t = threadIdx.x; t < GPU_TILE; t += GPU_SWEEP_THREADS) {
        int node[3];
        real sum[4] = {0, 0, 0, 0};
        cube_at(t, GPU_TILE_SIDE, node);
        if (adds) {
            const struct gpu_vec4 before = vec4_load(&tile[t]);
            UNROLL for (int b = 0; b < 4; b++)
                sum[b] = before.c[b];
        }
        for (int across = 0; across < ACROSS; across++) {
            const int x = node[0] - (DIM == 3 ? across / 3 : across), y = node[1] - across % 3;
            if (x < 0 || x >= REACH || (DIM == 3 && (y < 0 || y >= REACH)))
                continue;
            const int column = DIM == 3 ? x * REACH + y : x;
            const struct gpu_vec4 part =
                vec4_load(&s->partial[(column * GPU_TILE_SIDE + node[DIM - 1]) * ACROSS + across]);
            UNROLL for (int b = 0; b < 4; b++)
                sum[b] += part.c[b];
        }
        vec4_store(&tile[t], sum[0], sum[1], sum[2], sum[3]);
    }
}
