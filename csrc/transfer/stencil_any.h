/* SPDX-License-Identifier: MIT
 *
 * The transfers for every kernel and scheme: weights for a whole tile at once, nodes one particle at a time. The last
 * axis is summed first, with the weights, their slopes and the node's number; rows are combined across.
 *
 *     k = 0 .. degree   number of a node along an axis;  e = x_p - (node 0), in cells;  Delta = h (k - e)
 *     G2P:  S v = sum w v_i,  moment_a = sum w v_i k_a,  slope_a = sum v_i h dw/dx_a
 *     P2G:  p_i += w (Q + sum_a A_a k_a) + sum_a G_a h dw/dx_a
 */
#pragma once
#include "transfer/arena.h"
#include "transfer/scheme.h"

enum { MOST_NODES = 4 }; /* along an axis */

struct stencil {
    int32_t offset[WIDTH] __attribute__((aligned(64))); /* lane -> arena position of its first node */
    real weight[DIM][MOST_NODES][WIDTH] __attribute__((aligned(64)));
    real slope[DIM][MOST_NODES][WIDTH] __attribute__((aligned(64))); /* h dN/dx */
    real sums[1 + 2 * DIM][4][WIDTH] __attribute__((aligned(64)));   /* by component and lane */
    wide e[DIM];
};

/* What is gathered: which of `sums` are wanted. */
enum stencil_wanted { WANT_MOMENT = 1, WANT_SLOPE = 2 };

/* `x` in cells from the block's first node. One weight closes the sum to 1 and one slope that to 0; the cubic kernel's
 * inner weights come from sum w = 1 and sum w Delta = 0 together. So nothing is lost to the rounding of thirds and
 * sixths, which would be the same in every step. */
INLINE void stencil_prepare_any(struct stencil *s, const wide x[DIM], const int degree)
{
    const wide one = wide_set(1), half = wide_set((real)0.5);
    wide offset = wide_set(0);
    UNROLL for (int a = 0; a < DIM; a++) {
        wide w[MOST_NODES], d[MOST_NODES];
        const wide base = wide_floor(x[a] - wide_set((real)(0.5 * (degree - 1))));
        const wide e = s->e[a] = x[a] - base;
        if (degree == MPM_LINEAR) {
            w[0] = one - e;
            w[1] = e;
            d[0] = -one;
            d[1] = one;
        } else if (degree == MPM_QUADRATIC) {
            const wide before = wide_set((real)1.5) - e, after = e - half;
            w[0] = half * before * before;
            w[2] = half * after * after;
            w[1] = one - (w[0] + w[2]);
            d[0] = -before;
            d[2] = after;
            d[1] = before - after;
        } else {
            const wide sixth = wide_set((real)(1.0 / 6)), f = e - one, g = one - f;
            w[0] = sixth * g * g * g;
            w[3] = sixth * f * f * f;
            w[1] = (g - (w[0] + w[0])) + w[3];
            w[2] = (f - (w[3] + w[3])) + w[0];
            d[0] = -half * g * g;
            d[3] = half * f * f;
            d[1] = f * wide_fma(wide_set((real)1.5), f, wide_set(-2));
            d[2] = -((d[0] + d[3]) + d[1]);
        }
        UNROLL for (int k = 0; k <= degree; k++) {
            wide_store(s->weight[a][k], w[k]);
            wide_store(s->slope[a][k], d[k]);
        }
        offset = wide_fma(offset, wide_set(ARENA_SIDE), arena_first(base));
    }
    wide_store_int32(s->offset, offset * wide_set(4));
}

INLINE void stencil_prepare(struct stencil *s, const wide x[DIM], int degree)
{
    switch (degree) {
    case MPM_LINEAR:
        stencil_prepare_any(s, x, MPM_LINEAR);
        break;
    case MPM_QUADRATIC:
        stencil_prepare_any(s, x, MPM_QUADRATIC);
        break;
    default:
        stencil_prepare_any(s, x, MPM_CUBIC);
    }
}

INLINE node4 node_of(const real *at)
{
    return *(const node4 *)at;
}

INLINE void keep_sum(struct stencil *s, int which, int q, node4 sum)
{
    UNROLL for (int b = 0; b < 4; b++)
        s->sums[which][b][q] = sum[b];
}

/* Sums for the particle in lane q: sums[0] values, [1 + a] moments, [1 + DIM + a] slopes. */
INLINE void gather_lane(struct stencil *s, const real *arena, int q, const int degree, const unsigned wanted)
{
    const int nodes = degree + 1;
    const real *first = arena + s->offset[q];
    node4 value = {0}, moment[DIM] = {{0}}, slope[DIM] = {{0}};
    UNROLL for (int i = 0; i < nodes; i++)
        UNROLL for (int j = 0; j < (DIM == 3 ? nodes : 1); j++) {
            const real *row = first + 4 * (DIM == 3 ? (i * ARENA_SIDE + j) * ARENA_SIDE : i * ARENA_SIDE);
            const real wi = s->weight[0][i][q], wj = DIM == 3 ? s->weight[1][j][q] : 1, across = wi * wj;
            node4 along = {0}, along_moment = {0}, along_slope = {0};
            UNROLL for (int k = 0; k < nodes; k++) {
                const node4 v = node_of(row + 4 * k), wv = s->weight[DIM - 1][k][q] * v;
                along += wv;
                if ((wanted & WANT_MOMENT) && k > 0)
                    along_moment += (real)k * wv;
                if (wanted & WANT_SLOPE)
                    along_slope += s->slope[DIM - 1][k][q] * v;
            }
            const node4 here = across * along;
            value += here;
            if (wanted & WANT_MOMENT) {
                moment[DIM - 1] += across * along_moment;
                moment[0] += (real)i * here;
                if (DIM == 3)
                    moment[1] += (real)j * here;
            }
            if (wanted & WANT_SLOPE) {
                slope[DIM - 1] += across * along_slope;
                slope[0] += (s->slope[0][i][q] * wj) * along;
                if (DIM == 3)
                    slope[1] += (wi * s->slope[1][j][q]) * along;
            }
        }
    keep_sum(s, 0, q, value);
    UNROLL for (int a = 0; a < DIM; a++) {
        if (wanted & WANT_MOMENT)
            keep_sum(s, 1 + a, q, moment[a]);
        if (wanted & WANT_SLOPE)
            keep_sum(s, 1 + DIM + a, q, slope[a]);
    }
}

/* Instances of a function of (degree, flags), each compiled for its own. */
#define FOR_DEGREE(degree, call) \
    do { \
        if ((degree) == MPM_LINEAR) { \
            enum { DEGREE = MPM_LINEAR }; \
            call; \
        } else if ((degree) == MPM_QUADRATIC) { \
            enum { DEGREE = MPM_QUADRATIC }; \
            call; \
        } else { \
            enum { DEGREE = MPM_CUBIC }; \
            call; \
        } \
    } while (0)

INLINE void gather_lanes(struct stencil *s, const real *arena, const int degree, const unsigned wanted)
{
    for (int q = 0; q < WIDTH; q++)
        gather_lane(s, arena, q, degree, wanted);
}

/* Fills `sums` from node records. */
NOINLINE void stencil_gather(struct stencil *s, const real *arena, int degree, unsigned wanted)
{
    switch (wanted) {
    case 0:
        FOR_DEGREE(degree, gather_lanes(s, arena, DEGREE, 0));
        break;
    case WANT_MOMENT:
        FOR_DEGREE(degree, gather_lanes(s, arena, DEGREE, WANT_MOMENT));
        break;
    case WANT_SLOPE:
        FOR_DEGREE(degree, gather_lanes(s, arena, DEGREE, WANT_SLOPE));
        break;
    default:
        FOR_DEGREE(degree, gather_lanes(s, arena, DEGREE, WANT_MOMENT | WANT_SLOPE));
    }
}

INLINE wide stencil_sum(const struct stencil *s, int which, int component)
{
    return wide_load(s->sums[which][component]);
}

/* One quantity on its way to the grid, one particle per lane: at a node w (Q + A k) + G h grad w. */
struct deposit {
    wide Q[DIM], mass;
    wide A[DIM][DIM], G[DIM][DIM]; /* [axis][component] */
    bool by_offset, by_slope;      /* whether A and G take part */
};

INLINE node4 record_of(const struct stencil *s, int which, int q)
{
    return (node4){s->sums[which][0][q], s->sums[which][1][q], s->sums[which][2][q], s->sums[which][3][q]};
}

INLINE void scatter_lane(const struct stencil *s, real *arena, int q, const int degree, const unsigned parts)
{
    const int nodes = degree + 1;
    real *first = arena + s->offset[q];
    const node4 Q = record_of(s, 0, q);
    node4 A[DIM], G[DIM];
    UNROLL for (int a = 0; a < DIM; a++) {
        A[a] = parts & WANT_MOMENT ? record_of(s, 1 + a, q) : (node4){0};
        G[a] = parts & WANT_SLOPE ? record_of(s, 1 + DIM + a, q) : (node4){0};
    }
    UNROLL for (int i = 0; i < nodes; i++)
        UNROLL for (int j = 0; j < (DIM == 3 ? nodes : 1); j++) {
            real *row = first + 4 * (DIM == 3 ? (i * ARENA_SIDE + j) * ARENA_SIDE : i * ARENA_SIDE);
            const real wi = s->weight[0][i][q], wj = DIM == 3 ? s->weight[1][j][q] : 1, across = wi * wj;
            node4 base = Q;
            if (parts & WANT_MOMENT) {
                base += (real)i * A[0];
                if (DIM == 3)
                    base += (real)j * A[1];
            }
            base *= across;
            if (parts & WANT_SLOPE) {
                base += (s->slope[0][i][q] * wj) * G[0];
                if (DIM == 3)
                    base += (wi * s->slope[1][j][q]) * G[1];
            }
            const node4 per_node = across * A[DIM - 1], per_slope = across * G[DIM - 1];
            UNROLL for (int k = 0; k < nodes; k++) {
                node4 p = base;
                if (parts & WANT_MOMENT)
                    p += (real)k * per_node;
                p *= s->weight[DIM - 1][k][q];
                if (parts & WANT_SLOPE)
                    p += s->slope[DIM - 1][k][q] * per_slope;
                *(node4 *)(row + 4 * k) += p;
            }
        }
}

INLINE void scatter_lanes(const struct stencil *s, real *arena, int count, const int degree, const unsigned parts)
{
    for (int p = 0; p < count; p++)
        scatter_lane(s, arena, lane_of(p), degree, parts);
}

NOINLINE void scatter_sums(const struct stencil *s, real *arena, int count, int degree, unsigned parts)
{
    switch (parts) {
    case 0:
        FOR_DEGREE(degree, scatter_lanes(s, arena, count, DEGREE, 0));
        break;
    case WANT_MOMENT:
        FOR_DEGREE(degree, scatter_lanes(s, arena, count, DEGREE, WANT_MOMENT));
        break;
    case WANT_SLOPE:
        FOR_DEGREE(degree, scatter_lanes(s, arena, count, DEGREE, WANT_SLOPE));
        break;
    default:
        FOR_DEGREE(degree, scatter_lanes(s, arena, count, DEGREE, WANT_MOMENT | WANT_SLOPE));
    }
}

/* Adds the first `count` particles of the tile, in cell order. */
INLINE void stencil_scatter(struct stencil *s, real *arena, int count, int degree, const struct deposit *deposit)
{
    const wide zero = wide_set(0);
    UNROLL for (int b = 0; b < 4; b++) {
        wide_store(s->sums[0][b], b < DIM ? deposit->Q[b] : b == 3 ? deposit->mass : zero);
        UNROLL for (int a = 0; a < DIM; a++) {
            wide_store(s->sums[1 + a][b], b < DIM ? deposit->A[a][b] : zero);
            wide_store(s->sums[1 + DIM + a][b], b < DIM ? deposit->G[a][b] : zero);
        }
    }
    scatter_sums(s, arena, count, degree,
                 (deposit->by_offset ? WANT_MOMENT : 0) | (deposit->by_slope ? WANT_SLOPE : 0));
}
