/* SPDX-License-Identifier: MIT
 *
 * The transfers by pencils. A pencil is 16 reals: four nodes along the last axis, with four reals each (one AVX-512
 * register of floats). A stencil has 9 pencils in 3-D and 3 in 2-D.
 *
 * Pencils begin at every second node. So one pencil holds the three nodes of either of two neighbouring cells (the
 * fourth weight is 0), and particles of both cells share it. Runs of particles with the same pencils, which are summed
 * in registers, become twice as long.
 *
 * The weights of a whole tile are computed at once, one particle per lane. They reach the pencils through small arrays,
 * from which one scalar per pencil is broadcast. 4 x 4 transposes turn the other quantities of particles into vec4s.
 *
 *     pencil (i, j) of P2G: w_i w_j w_k (Q + A_x i + A_y j + A_z k),  i, j in {-1, 0, 1}, k in 0 .. 3 within the pencil
 *     G2P: the sums of w v and of its first moments with the same i, j, k
 */
#pragma once
#include "mpm/kernels/pencil.h"

#define PENCILS (DIM == 3 ? 9 : 3)
#define AXES_ACROSS (DIM - 1)  /* axes across pencils; the last axis runs along them */

enum { NO_OFFSET = INT32_MIN };

struct stencil {
    int32_t offset[WIDTH] __attribute__((aligned(64))); /* arena position of the first pencil, by lane */
    real across[PENCILS][WIDTH] __attribute__((aligned(64))); /* weight of each pencil */
    real along[WIDTH][4] __attribute__((aligned(64)));     /* weights of the four nodes, by particle */
    real quantity[1 + DIM][WIDTH][4] __attribute__((aligned(64))); /* P2G: Q and A; G2P: the sums */
    wide middle[DIM]; /* particle minus the node that counts as 0, in cells */
};

INLINE ptrdiff_t pencil_position(int pencil)
{
    return 4 * (DIM == 3 ? (pencil / 3 * ARENA_SIDE + pencil % 3) * ARENA_SIDE : pencil * ARENA_SIDE);
}

/* ---- weights -------------------------------------------------------------------------------------------------- */

/* `x` in cells from the block's first node. */
INLINE void stencil_prepare(struct stencil *s, const wide x[DIM])
{
    const wide half = wide_set((real)0.5), one = wide_set(1), zero = wide_set(0);
    wide w[DIM][3], offset = zero, odd = zero;
    UNROLL for (int a = 0; a < DIM; a++) {
        wide first = arena_first(quadratic_weights(x[a], w[a], &s->middle[a]));
        if (a == DIM - 1) { /* pencils begin at arena nodes -1, 1, 3, ... */
            odd = parity(first + one);
            first -= odd;
            s->middle[a] += odd + one;
        }
        offset = wide_fma(offset, wide_set(ARENA_SIDE), first);
    }
    wide_store_int32(s->offset, offset * wide_set(4));
#if DIM == 3
    UNROLL for (int r = 0; r < PENCILS; r++)
        wide_store(s->across[r], w[0][r / 3] * w[1][r % 3]);
#else
    UNROLL for (int r = 0; r < PENCILS; r++)
        wide_store(s->across[r], w[0][r]);
#endif
    const wide *z = w[DIM - 1];
    const mask second = wide_less(half, odd); /* the second cell of the pair: weights shifted by one node */
    const wide along[4] = {wide_select(second, zero, z[0]), wide_select(second, z[0], z[1]),
                           wide_select(second, z[1], z[2]), wide_select(second, z[2], zero)};
    vec4s_store(&s->along[0][0], along);
}

INLINE const wide *stencil_middle(const struct stencil *s)
{
    return s->middle;
}

/* ---- particles to grid ---------------------------------------------------------------------------------------- */

/* Sums of the current run of particles with the same pencils. With enough registers (AVX-512), the sums stay there
 * until the pencils change; otherwise every particle adds to the arena, which is in the L1 cache. */
#ifdef MPM_ISA_AVX512
#define KEEP_RUN 1
#else
#define KEEP_RUN 0
#endif
struct run {
    int32_t offset;
#if KEEP_RUN
    wide pencil[PENCILS][PENCIL_PARTS];
#endif
};

INLINE void run_begin(struct run *run)
{
    run->offset = NO_OFFSET;
#if KEEP_RUN
    UNROLL for (int r = 0; r < PENCILS; r++)
        UNROLL for (int j = 0; j < PENCIL_PARTS; j++)
            run->pencil[r][j] = wide_set(0);
#endif
}

INLINE void run_end(struct run *run, real *arena)
{
#if KEEP_RUN
    if (run->offset == NO_OFFSET)
        return;
    UNROLL for (int r = 0; r < PENCILS; r++)
        UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
            real *at = arena + run->offset + pencil_position(r) + j * WIDTH;
            wide_store_any(at, wide_load_any(at) + run->pencil[r][j]);
            run->pencil[r][j] = wide_set(0);
        }
#else
    (void)run;
    (void)arena;
#endif
}

INLINE void pencil_add(struct run *run, real *at, int r, int j, wide weight, wide value)
{
#if KEEP_RUN
    (void)at;
    run->pencil[r][j] = wide_fma(weight, value, run->pencil[r][j]);
#else
    (void)run;
    at += pencil_position(r) + j * WIDTH;
    wide_store_any(at, wide_fma(weight, value, wide_load_any(at)));
#endif
}

/* The value at node 0, 1 or 2 of a stencil, from the value at the middle node. */
INLINE wide beside(wide middle, wide step, int node)
{
    if (node == 0)
        return middle - step;
    if (node == 2)
        return middle + step;
    return middle;
}

/* Adds particle p, which is in lane q. Everything is read before a pencil is written, so that all parts can reuse
 * it. */
INLINE void scatter_one(const struct stencil *s, struct run *run, real *arena, int p, int q)
{
    const int32_t offset = s->offset[q];
#if KEEP_RUN
    if (__builtin_expect(offset != run->offset, 0)) {
        run_end(run, arena);
        run->offset = offset;
    }
#endif
    const wide Q = pencil_repeat(s->quantity[0][p]), last = pencil_repeat(s->quantity[DIM][p]);
    wide middle[PENCIL_PARTS], step[AXES_ACROSS][PENCIL_PARTS];
    UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
        const wide along = pencil_weights(s->along[p], j);
        middle[j] = wide_fma(pencil_nodes(j), last, Q) * along;
        UNROLL for (int a = 0; a < AXES_ACROSS; a++)
            step[a][j] = pencil_repeat(s->quantity[1 + a][p]) * along;
    }
    UNROLL for (int r = 0; r < PENCILS; r++) {
        const wide weight = wide_set(s->across[r][q]);
        UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
            wide value = beside(middle[j], step[0][j], DIM == 3 ? r / 3 : r);
            if (DIM == 3)
                value = beside(value, step[AXES_ACROSS - 1][j], r % 3);
            pencil_add(run, arena + offset, r, j, weight, value);
        }
    }
}

/* Adds the first `count` particles of the tile in cell order, rounded up to a multiple of TOGETHER; padding has no
 * mass. A[a][b]: momentum component b per cell along axis a. */
INLINE void stencil_scatter(struct stencil *s, struct run *run, real *arena, int count, const wide Q[DIM], wide m,
                            wide A[DIM][DIM])
{
    const wide zero = wide_set(0);
    UNROLL for (int k = 0; k < 1 + DIM; k++) {
        const wide *quantity = k == 0 ? Q : A[k - 1];
        const wide component[4] = {quantity[0], quantity[1], DIM == 3 ? quantity[DIM - 1] : zero, k == 0 ? m : zero};
        vec4s_store(&s->quantity[k][0][0], component);
    }
    for (int p = 0; p < count; p += TOGETHER)
        UNROLL for (int i = 0; i < TOGETHER; i++)
            scatter_one(s, run, arena, p + i, lane_together(p, i));
}
