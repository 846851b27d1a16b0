/* SPDX-License-Identifier: MIT
 *
 * The derivative of P F^nT by a gradient G, dF = G F^n, for a law that is isotropic (C. Jiang, C. Schroeder, J. Teran,
 * A. Stomakhin, A. Selle, SIGGRAPH courses 2016, section 6.4). With F = U e V^T and W = F^n V it is U Y W^T, where
 *
 *     X = U^T G W,  Y_ii = sum_j psi_ij X_jj,  Y_ij = (m_ij + p_ij)/2 X_ij + (m_ij - p_ij)/2 X_ji
 *
 * Its projection onto positive semi-definite ones: in the principal frame the derivative falls into a d x d block and,
 * for every pair of directions, the eigenvalues m_ij and p_ij (A. Stomakhin et al., SCA 2012).
 */
#pragma once
#include "materials/law.h"
#include "math/singular.h"

/* A lower bound of the eigenvalues of a symmetric matrix that is not positive definite; exact in 2-D. No product
 * overflows: the matrix is scaled by its largest element. */
INLINE wide least_eigenvalue(const wide a[DIM][DIM])
{
    const wide zero = wide_set(0), one = wide_set(1), mean = wide_set((real)(1.0 / DIM));
    wide size = zero;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++)
            size = wide_max(size, wide_abs(a[i][j]));
    const wide inverse = one / wide_select(wide_less(zero, size), size, one);
#if DIM == 2
    const wide middle = mean * (a[0][0] + a[1][1]), half = mean * inverse * (a[0][0] - a[1][1]);
    const wide off = inverse * a[0][1];
    return wide_fnma(size, wide_sqrt(wide_fma(half, half, off * off)), middle);
#else
    /* The eigenvalues are middle + spread y with y^3 - 3 y - 2 r = 0 and -1 <= r <= 1 (O. K. Smith, Communications of
     * the ACM 4 (1961) 168). From -2, Newton's iteration approaches the least root and never passes it, because the
     * margin exceeds rounding errors. */
    enum { ITERATIONS = 12 };
    const wide middle = mean * inverse * (a[0][0] + a[1][1] + a[2][2]), three = wide_set(3);
    const wide margin = wide_set(16 * REAL_EPSILON);
    wide b[3][3], square = zero, y = wide_set(-2);
    UNROLL for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3;
        b[i][i] = wide_fma(inverse, a[i][i], -middle);
        b[i][j] = b[j][i] = inverse * a[i][j];
        square += b[i][i] * b[i][i] + wide_set(2) * b[i][j] * b[i][j];
    }
    const wide spread = wide_sqrt(square * wide_set((real)(1.0 / 6)));
    const wide normal = one / wide_max(spread, wide_set((real)(REAL_IS_FLOAT ? 1e-18 : 1e-150)));
    UNROLL for (int i = 0; i < 3; i++)
        UNROLL for (int j = 0; j < 3; j++)
            b[i][j] *= normal;
    const wide twice_r = b[0][0] * (b[1][1] * b[2][2] - b[1][2] * b[1][2]) -
                         b[0][1] * (b[0][1] * b[2][2] - b[1][2] * b[0][2]) +
                         b[0][2] * (b[0][1] * b[1][2] - b[1][1] * b[0][2]);
    for (int k = 0; k < ITERATIONS; k++) {
        const wide value = (y * y - three) * y - (twice_r - margin), slope = three * (y * y - one);
        const mask left = wide_less(value, zero) & wide_less(zero, slope);
        y = wide_select(left, y - value / wide_select(left, slope, one), y);
    }
    return size * wide_fma(spread, y, middle);
#endif
}

/* Are all pivots of Gaussian elimination positive? They keep more digits than minors, and do not overflow. */
INLINE mask is_definite(const wide a[DIM][DIM])
{
    const wide zero = wide_set(0), ratio = a[0][1] / a[0][0], pivot = wide_fnma(ratio, a[0][1], a[1][1]);
    mask definite = wide_less(zero, a[0][0]) & wide_less(zero, pivot);
#if DIM == 3
    const wide other = wide_fnma(ratio, a[0][2], a[1][2]), last = wide_fnma(a[0][2] / a[0][0], a[0][2], a[2][2]);
    definite &= wide_less(zero, wide_fnma(other / pivot, other, last));
#endif
    return definite;
}

/** Cuts negative m_ij and p_ij off, and shifts the block by its least eigenvalue where that is negative. */
INLINE void law_tangent_project(struct law_tangent *t)
{
    const wide zero = wide_set(0);
    UNROLL for (int k = 0; k < LAW_PAIRS; k++) {
        t->minus[k] = wide_max(t->minus[k], zero);
        t->plus[k] = wide_max(t->plus[k], zero);
    }
    const mask fails = mask_not(is_definite(t->second));
    if (!mask_any(fails))
        return;
    const wide shift = wide_select(fails, wide_max(-least_eigenvalue(t->second), zero), zero);
    UNROLL for (int i = 0; i < DIM; i++)
        t->second[i][i] += shift;
}

/* The derivative times a factor, and what the force needs. */
struct tangent {
    matrix U, W;
    wide second[DIM][DIM], even[LAW_PAIRS], odd[LAW_PAIRS]; /* even, odd: (m + p)/2 and (m - p)/2 */
    wide viscosity;                                         /* eta J, which adds a stress of its own */
};

/* U and V of F = U e V^T. */
INLINE void principal_frames(const struct singular *s, matrix *U, matrix *V)
{
#if DIM == 3
    *U = s->U;
    *V = s->V;
#else
    /* F is a rotation by u - v and a reflection by u + v, where U and V turn by u and v. Half angles come from the
     * larger of cosine and sine, so that no digits cancel. */
    const wide half = wide_set((real)0.5), one = wide_set(1), zero = wide_set(0);
    const wide *r = s->rotation, *m = s->reflection;
    const wide cosine = wide_fnma(r[1], m[1], r[0] * m[0]), sine = wide_fma(r[1], m[0], r[0] * m[1]); /* of 2 u */
    const mask right = wide_less_equal(zero, cosine);
    const wide larger = wide_sqrt(half * (one + wide_abs(cosine))), smaller = half * sine / larger;
    const wide c = wide_select(right, larger, smaller), n = wide_select(right, smaller, larger);
    const matrix turned = {{{c, -n}, {n, c}}};
    *U = turned;
    const matrix R = {{{r[0], -r[1]}, {r[1], r[0]}}};
    *V = matrix_multiply_left_transposed(R, *U);
#endif
}

/* The frames of F = U e V^T: U, W = F^n V, and V. Returns e in `stretch`. */
INLINE matrix tangent_frames(struct tangent *t, matrix F, matrix begin, wide stretch[DIM])
{
    const struct singular s = singular_decompose(F);
    matrix V;
    principal_frames(&s, &t->U, &V);
    t->W = matrix_multiply(begin, V);
    UNROLL for (int i = 0; i < DIM; i++)
        stretch[i] = s.value[i];
    return V;
}

/* P F^nT, by the derivatives of the law. */
INLINE matrix tangent_force(const struct tangent *t, const struct law_tangent *law_part)
{
    matrix P;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            P.m[i][j] = t->U.m[i][j] * law_part->first[j];
    return matrix_multiply_transposed(P, t->W);
}

/* The derivatives of the law times a factor. */
INLINE void tangent_fill(struct tangent *t, struct law_tangent *law_part, wide scale, const bool projects)
{
    const wide half = wide_set((real)0.5) * scale;
    if (projects)
        law_tangent_project(law_part);
    UNROLL for (int i = 0; i < DIM; i++) {
        UNROLL for (int j = 0; j < DIM; j++)
            t->second[i][j] = scale * law_part->second[i][j];
    }
    UNROLL for (int k = 0; k < LAW_PAIRS; k++) {
        t->even[k] = half * (law_part->minus[k] + law_part->plus[k]);
        t->odd[k] = half * (law_part->minus[k] - law_part->plus[k]);
    }
}

/* eta (G + G^T - 2/3 tr G I) */
INLINE matrix viscous_stress(wide eta, matrix G)
{
    matrix tau;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            tau.m[i][j] = eta * (G.m[i][j] + G.m[j][i]);
    return matrix_add_diagonal(tau, wide_set((real)(-2.0 / 3)) * eta * matrix_trace(G));
}

/* The derivative applied to G. */
INLINE matrix tangent_apply(const struct tangent *t, matrix G)
{
    const matrix X = matrix_multiply(matrix_multiply_left_transposed(t->U, G), t->W);
    matrix Y;
    UNROLL for (int i = 0; i < DIM; i++) {
        Y.m[i][i] = t->second[i][0] * X.m[0][0];
        UNROLL for (int j = 1; j < DIM; j++)
            Y.m[i][i] = wide_fma(t->second[i][j], X.m[j][j], Y.m[i][i]);
        UNROLL for (int j = i + 1; j < DIM; j++) {
            const wide even = t->even[LAW_PAIR(i, j)], odd = t->odd[LAW_PAIR(i, j)];
            Y.m[i][j] = wide_fma(even, X.m[i][j], odd * X.m[j][i]);
            Y.m[j][i] = wide_fma(even, X.m[j][i], odd * X.m[i][j]);
        }
    }
    const matrix elastic = matrix_multiply_transposed(matrix_multiply(t->U, Y), t->W);
    return matrix_add(elastic, viscous_stress(t->viscosity, G));
}
