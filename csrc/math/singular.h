/* SPDX-License-Identifier: MIT
 *
 * Singular value decomposition F = U diag(value) V^T, lane by lane, in the signed convention: U and V are proper
 * rotations, and where det F < 0 the value of smallest magnitude is negative. The values are in no particular order.
 * Where U and V are not unique (equal values, rank below d), the result is one of the choices. Nothing overflows or
 * underflows.
 */
#pragma once
#include "math/matrix.h"

#if DIM == 2

/* F is the sum of a scaled rotation and a scaled reflection: F = p [[c, -s], [s, c]] + q [[c', s'], [s', -c']] with
 * p, q >= 0. Its singular values are p + q and p - q. New values need only new p and q, never U and V. */
struct singular {
    wide value[2];
    wide rotation[2], reflection[2]; /* (cosine, sine) */
};

/* The length of (a, b), with |a| and |b| at most about 1, and its direction, (1, 0) if the length is 0. */
INLINE wide singular_direction(wide a, wide b, wide direction[2])
{
    const wide zero = wide_set(0), one = wide_set(1), length = wide_sqrt(wide_fma(a, a, b * b));
    const mask defined = wide_less(zero, length);
    const wide inverse = one / wide_select(defined, length, one);
    direction[0] = wide_select(defined, a * inverse, one);
    direction[1] = wide_select(defined, b * inverse, zero);
    return length;
}

INLINE struct singular singular_decompose(matrix f)
{
    struct singular s;
    const wide largest = wide_max(wide_max(wide_abs(f.m[0][0]), wide_abs(f.m[0][1])),
                                  wide_max(wide_abs(f.m[1][0]), wide_abs(f.m[1][1])));
    const wide size = wide_max(largest, wide_set((real)(REAL_IS_FLOAT ? 1.2e-38 : 2.3e-308)));
    f = matrix_scale(wide_set((real)0.5) / size, f);
    const wide p = singular_direction(f.m[0][0] + f.m[1][1], f.m[1][0] - f.m[0][1], s.rotation);
    const wide q = singular_direction(f.m[0][0] - f.m[1][1], f.m[1][0] + f.m[0][1], s.reflection);
    s.value[0] = (p + q) * size;
    s.value[1] = (p - q) * size;
    return s;
}

/** The matrix with the same U and V and other values. */
INLINE matrix singular_compose(const struct singular *s, const wide value[2])
{
    const wide half = wide_set((real)0.5), p = half * (value[0] + value[1]), q = half * (value[0] - value[1]);
    const wide rotation_cos = p * s->rotation[0], rotation_sin = p * s->rotation[1];
    matrix f;
    f.m[0][0] = wide_fma(q, s->reflection[0], rotation_cos);
    f.m[0][1] = wide_fma(q, s->reflection[1], -rotation_sin);
    f.m[1][0] = wide_fma(q, s->reflection[1], rotation_sin);
    f.m[1][1] = wide_fnma(q, s->reflection[0], rotation_cos);
    return f;
}

/** U diag(value) U^T. A rotation followed by a reflection is the reflection with both angles. */
INLINE matrix singular_spread(const struct singular *s, const wide value[2])
{
    const wide half = wide_set((real)0.5), p = half * (value[0] + value[1]), q = half * (value[0] - value[1]);
    const wide cosine = wide_fnma(s->rotation[1], s->reflection[1], s->rotation[0] * s->reflection[0]);
    const wide sine = wide_fma(s->rotation[1], s->reflection[0], s->rotation[0] * s->reflection[1]);
    matrix a;
    a.m[0][0] = wide_fma(q, cosine, p);
    a.m[1][1] = wide_fnma(q, cosine, p);
    a.m[0][1] = a.m[1][0] = q * sine;
    return a;
}

#else

struct singular {
    wide value[3];
    matrix U, V;
};

/* Any one matrix, in double: one-sided Jacobi rotations make the columns of F V orthogonal (Hestenes, J. Soc. Ind.
 * Appl. Math. 6 (1958) 51), which finds small values to as many digits as large ones. */
NOINLINE void singular_decompose_one(const real f[9], real value[3], real U[9], real V[9])
{
    double g[3][3], v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, u[3][3], size = 0, norm[3]; /* [column][row] */
    for (int k = 0; k < 9; k++)
        size = size > __builtin_fabs((double)f[k]) ? size : __builtin_fabs((double)f[k]);
    for (int k = 0; k < 9; k++)
        g[k % 3][k / 3] = size > 0 ? (double)f[k] / size : 0;

    bool orthogonal = false;
    for (int sweep = 0; sweep < 20 && !orthogonal; sweep++) {
        orthogonal = true;
        for (int i = 0; i < 3; i++)
            for (int j = i + 1; j < 3; j++) {
                double ii = 0, jj = 0, ij = 0;
                for (int k = 0; k < 3; k++)
                    ii += g[i][k] * g[i][k], jj += g[j][k] * g[j][k], ij += g[i][k] * g[j][k];
                if (ij * ij <= 1e-31 * ii * jj)
                    continue;
                orthogonal = false;
                const double difference = jj - ii, root = __builtin_sqrt(difference * difference + 4 * ij * ij);
                const double t = 2 * ij / (difference < 0 ? difference - root : difference + root);
                const double c = 1 / __builtin_sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 3; k++) {
                    double x = g[i][k], y = g[j][k];
                    g[i][k] = c * x - s * y;
                    g[j][k] = s * x + c * y;
                    x = v[i][k], y = v[j][k];
                    v[i][k] = c * x - s * y;
                    v[j][k] = s * x + c * y;
                }
            }
    }
    int order[3] = {0, 1, 2};
    for (int i = 0; i < 3; i++)
        norm[i] = __builtin_sqrt(g[i][0] * g[i][0] + g[i][1] * g[i][1] + g[i][2] * g[i][2]);
    for (int pass = 0; pass < 3; pass++) {
        const int i = pass % 2, a = order[i], b = order[i + 1];
        if (norm[a] < norm[b])
            order[i] = b, order[i + 1] = a;
    }

    /* u_0 and u_1 lie along the two longer columns; a zero column gets any direction. Then u_2 = u_0 x u_1 and
     * v_2 = v_0 x v_1, so that U and V are proper; the sign of the last value follows. */
    for (int n = 0; n < 2; n++) {
        const double *column = g[order[n]];
        double w[3] = {column[0], column[1], column[2]}, along = 0, length2 = 0;
        if (!(norm[order[n]] > 1e-140)) {
            const int axis = n == 0 ? 0 : u[0][0] * u[0][0] < 0.5 ? 0 : 1; /* not along u_0 */
            for (int k = 0; k < 3; k++)
                w[k] = k == axis;
        }
        for (int k = 0; n == 1 && k < 3; k++)
            along += w[k] * u[0][k];
        for (int k = 0; k < 3; k++) {
            w[k] -= n == 1 ? along * u[0][k] : 0;
            length2 += w[k] * w[k];
        }
        for (int k = 0; k < 3; k++)
            u[n][k] = w[k] / __builtin_sqrt(length2);
    }
    for (int i = 0; i < 3; i++) { /* normalise again, because every rotation changes the length slightly */
        const double rest = 0.5 - 0.5 * (v[i][0] * v[i][0] + v[i][1] * v[i][1] + v[i][2] * v[i][2]);
        for (int k = 0; k < 3; k++)
            v[i][k] += rest * v[i][k];
    }
    double last[3], sign = 0, turn = 0;
    const double *v0 = v[order[0]], *v1 = v[order[1]], *v2 = v[order[2]];
    for (int k = 0; k < 3; k++) {
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        u[2][k] = u[0][a] * u[1][b] - u[0][b] * u[1][a];
        last[k] = v0[a] * v1[b] - v0[b] * v1[a];
        sign += u[2][k] * g[order[2]][k];
        turn += last[k] * v2[k];
    }
    for (int n = 0; n < 3; n++)
        value[n] = (real)(size * norm[order[n]]);
    if (sign * turn < 0)
        value[2] = -value[2];
    for (int k = 0; k < 3; k++) {
        V[3 * k] = (real)v0[k], V[3 * k + 1] = (real)v1[k], V[3 * k + 2] = (real)last[k];
        for (int n = 0; n < 3; n++)
            U[3 * k + n] = (real)u[n][k];
    }
}

NOINLINE void singular_decompose_lanes(const matrix *f, struct singular *result, unsigned lanes)
{
    for (int q = 0; q < WIDTH; q++) {
        if (!(lanes >> q & 1))
            continue;
        real a[9], value[3], U[9], V[9];
        for (int k = 0; k < 9; k++)
            a[k] = ((const real *)&f->m[k / 3][k % 3])[q];
        singular_decompose_one(a, value, U, V);
        for (int k = 0; k < 3; k++)
            ((real *)&result->value[k])[q] = value[k];
        for (int k = 0; k < 9; k++) {
            ((real *)&result->U.m[k / 3][k % 3])[q] = U[k];
            ((real *)&result->V.m[k / 3][k % 3])[q] = V[k];
        }
    }
}

/* Rotates axes p < q so that a_pq vanishes, and rotates V with them. `a` is symmetric, given by its upper triangle. */
INLINE void singular_rotate(matrix *a, matrix *V, const int p, const int q)
{
    const int r = 3 - p - q;
    wide *rp = r < p ? &a->m[r][p] : &a->m[p][r], *rq = r < q ? &a->m[r][q] : &a->m[q][r], *pq = &a->m[p][q];
    const wide difference = a->m[q][q] - a->m[p][p], twice = *pq + *pq;
    const wide root = wide_sqrt(wide_fma(difference, difference, twice * twice));
    wide t = twice / wide_max(wide_abs(difference) + root, wide_set((real)(REAL_IS_FLOAT ? 1e-37 : 1e-300)));
    t = wide_select(wide_less(difference, wide_set(0)), -t, t);
    const wide c = wide_set(1) / wide_sqrt(wide_fma(t, t, wide_set(1))), s = t * c;
    a->m[p][p] = wide_fnma(t, *pq, a->m[p][p]);
    a->m[q][q] = wide_fma(t, *pq, a->m[q][q]);
    *pq = wide_set(0);
    const wide x = *rp, y = *rq;
    *rp = wide_fnma(s, y, c * x);
    *rq = wide_fma(s, x, c * y);
    UNROLL for (int k = 0; k < 3; k++) {
        const wide v = V->m[k][p], w = V->m[k][q];
        V->m[k][p] = wide_fnma(s, w, c * v);
        V->m[k][q] = wide_fma(s, v, c * w);
    }
}

INLINE wide singular_dot_columns(const matrix *g, const int i, const int j)
{
    return wide_fma(g->m[0][i], g->m[0][j], wide_fma(g->m[1][i], g->m[1][j], g->m[2][i] * g->m[2][j]));
}

/** Cyclic Jacobi rotations V diagonalise F^T F. The values are the lengths of the columns of F V, and U their
 *  directions. If these are orthogonal, nothing went wrong: the rotations converged, F^T F kept the smaller values, and
 *  nothing overflowed or underflowed. Lanes that fail this test, or have det F <= 0, take the robust way. */
INLINE struct singular singular_decompose(matrix f)
{
    const int sweeps = REAL_IS_FLOAT ? 3 : 4;
    const wide zero = wide_set(0), one = wide_set(1), tolerance = wide_set(12 * (real)REAL_EPSILON);
    struct singular s;
    matrix a, g;
    UNROLL for (int i = 0; i < 3; i++)
        UNROLL for (int j = i; j < 3; j++)
            a.m[i][j] = singular_dot_columns(&f, i, j);
    s.V = matrix_identity();
    UNROLL for (int sweep = 0; sweep < sweeps; sweep++) {
        singular_rotate(&a, &s.V, 0, 1);
        singular_rotate(&a, &s.V, 0, 2);
        singular_rotate(&a, &s.V, 1, 2);
    }
    UNROLL for (int i = 0; i < 3; i++) { /* as above */
        const wide half = wide_set((real)0.5), rest = wide_fnma(half, singular_dot_columns(&s.V, i, i), half);
        UNROLL for (int k = 0; k < 3; k++)
            s.V.m[k][i] = wide_fma(rest, s.V.m[k][i], s.V.m[k][i]);
    }
    g = matrix_multiply(f, s.V);
    UNROLL for (int i = 0; i < 3; i++)
        s.value[i] = wide_sqrt(singular_dot_columns(&g, i, i));
    mask good = wide_less(zero, matrix_det(g));
    UNROLL for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3;
        good &= wide_less(wide_abs(singular_dot_columns(&g, i, j)), tolerance * s.value[i] * s.value[j]);
    }
    UNROLL for (int i = 0; i < 3; i++) {
        const wide inverse = one / wide_select(good, s.value[i], one);
        UNROLL for (int k = 0; k < 3; k++)
            s.U.m[k][i] = g.m[k][i] * inverse;
    }
    const mask doubtful = mask_not(good);
    if (__builtin_expect(mask_any(doubtful), 0)) {
        matrix copy = f; /* a copy in memory, so that the original stays in registers */
        struct singular fixed = s;
        singular_decompose_lanes(&copy, &fixed, mask_bits(doubtful));
        s = fixed;
    }
    return s;
}

INLINE matrix singular_scale_columns(matrix a, const wide value[3])
{
    UNROLL for (int k = 0; k < 3; k++)
        UNROLL for (int i = 0; i < 3; i++)
            a.m[k][i] *= value[i];
    return a;
}

/** The matrix with the same U and V and other values. */
INLINE matrix singular_compose(const struct singular *s, const wide value[3])
{
    return matrix_multiply_transposed(singular_scale_columns(s->U, value), s->V);
}

/** U diag(value) U^T. */
INLINE matrix singular_spread(const struct singular *s, const wide value[3])
{
    return matrix_symmetric(matrix_multiply_transposed(singular_scale_columns(s->U, value), s->U));
}

#endif
