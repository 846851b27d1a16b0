/* SPDX-License-Identifier: MIT
 *
 * The transfers, one particle at a time and node by node. They are the reference for the vector forms
 * (gather_pencils.h, gather_tables.h, stencil_pencils.h).
 *
 *     w_i = prod_a N((x - x_i)/dx)        quadratic B-spline, nodes base .. base + 2 per axis
 *     P2G: p_i += w_i (Q + A k_i),  m_i += w_i m        k_i: node offset from the middle node, in cells
 *     G2P: v = sum w_i v_i,  M_a = sum w_i v_i k_ia
 */
#pragma once
#include "mpm/kernels/arena.h"

struct stencil {
    int32_t offset; /* of the first node in the arena */
    real weight[DIM][3];
    real middle[DIM]; /* particle minus middle node, in cells */
};

/* `x`: in cells from the block's first node. */
INLINE void stencil_prepare(struct stencil *s, const wide x[DIM])
{
    s->offset = 0;
    for (int a = 0; a < DIM; a++) {
        real base = wide_floor(x[a] - (real)0.5);
        real e = s->middle[a] = x[a] - (base + 1);
        s->weight[a][0] = (real)0.5 * ((real)0.5 - e) * ((real)0.5 - e);
        s->weight[a][1] = (real)0.75 - e * e;
        s->weight[a][2] = (real)0.5 * ((real)0.5 + e) * ((real)0.5 + e);
        s->offset = s->offset * ARENA_SIDE + (int32_t)arena_first(base);
    }
    s->offset *= 4;
}

INLINE const wide *stencil_middle(const struct stencil *s)
{
    return s->middle;
}

/* Weight, offset from the middle node in cells, and arena position of node n = 0 .. 3^d - 1 of the stencil. */
struct stencil_node {
    real weight, k[DIM];
    ptrdiff_t at;
};

INLINE struct stencil_node stencil_node(const struct stencil *s, int i, int j, int l)
{
#if DIM == 2
    (void)l;
    return (struct stencil_node){
        s->weight[0][i] * s->weight[1][j], {(real)(i - 1), (real)(j - 1)}, s->offset + 4 * (i * ARENA_SIDE + j)};
#else
    return (struct stencil_node){s->weight[0][i] * s->weight[1][j] * s->weight[2][l],
                                 {(real)(i - 1), (real)(j - 1), (real)(l - 1)},
                                 s->offset + 4 * ((i * ARENA_SIDE + j) * ARENA_SIDE + l)};
#endif
}

#define FOR_STENCIL(i, j, l) \
    UNROLL for (int i = 0; i < 3; i++) \
        UNROLL for (int j = 0; j < 3; j++) \
            UNROLL for (int l = 0; l < (DIM == 3 ? 3 : 1); l++)

struct velocities {
    arena nodes;
};

NOINLINE void velocities_read(struct velocities *velocities, const mpm_group *group, const real *grid, bool fourth)
{
    (void)fourth;
    arena_read(velocities->nodes + ARENA_SLACK, group, grid);
}

/* `fourth`: the sum of the fourth reals; or NULL. */
INLINE void stencil_gather(struct velocities *velocities, const wide x[DIM], wide v[DIM], wide moment[DIM][DIM],
                           wide middle[DIM], wide *fourth)
{
    const real *arena = velocities->nodes + ARENA_SLACK;
    struct stencil stencil;
    stencil_prepare(&stencil, x);
    for (int a = 0; a < DIM; a++)
        middle[a] = stencil.middle[a];
    node4 sum = {0}, offset_sum[DIM] = {{0}};
    FOR_STENCIL(i, j, l) {
        const struct stencil_node node = stencil_node(&stencil, i, j, l);
        const node4 wv = node.weight * *(const node4 *)(arena + node.at);
        sum += wv;
        for (int a = 0; a < DIM; a++)
            if (node.k[a] != 0) /* a compile-time constant; the compiler may not drop x + 0 y */
                offset_sum[a] += node.k[a] * wv;
    }
    for (int b = 0; b < DIM; b++) {
        v[b] = sum[b];
        for (int a = 0; a < DIM; a++)
            moment[a][b] = offset_sum[a][b];
    }
    if (fourth)
        *fourth = sum[3];
}

struct run {
    char unused;
};

INLINE void run_begin(struct run *run)
{
    (void)run;
}

INLINE void run_end(struct run *run, real *arena)
{
    (void)run;
    (void)arena;
}

/* A[a][b]: momentum component b per cell along axis a. Only the vector form uses `count` and `run`. */
INLINE void stencil_scatter(struct stencil *s, struct run *run, real *arena, int count, const wide Q[DIM], wide m,
                            wide A[DIM][DIM])
{
    (void)run;
    (void)count;
    node4 middle = {0}, per_cell[DIM] = {{0}}; /* momentum and mass of the middle node, and their increase per cell */
    for (int b = 0; b < DIM; b++) {
        middle[b] = Q[b];
        for (int a = 0; a < DIM; a++)
            per_cell[a][b] = A[a][b];
    }
    middle[3] = m;
    const struct stencil local = *s; /* a copy, because writes to the arena might alias *s */
    FOR_STENCIL(i, j, l) {
        const struct stencil_node node = stencil_node(&local, i, j, l);
        node4 p = middle;
        for (int a = 0; a < DIM; a++)
            if (node.k[a] != 0)
                p += node.k[a] * per_cell[a];
        *(node4 *)(arena + node.at) += node.weight * p;
    }
}
