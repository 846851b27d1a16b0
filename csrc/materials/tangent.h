/* SPDX-License-Identifier: MIT
 *
 * The projection of a law's second derivatives onto positive semi-definite ones. In the principal frame the derivative
 * falls into a d x d block and, for every pair of directions, the eigenvalues m_ij and p_ij (A. Stomakhin et al., SCA
 * 2012).
 */
#pragma once
#include "materials/law.h"

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
