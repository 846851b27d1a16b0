/* SPDX-License-Identifier: MIT
 *
 * The projection of a law's second derivatives onto positive semi-definite ones. In the principal frame the derivative
 * falls into a d x d block and, for every pair of directions, the eigenvalues m_ij and p_ij (A. Stomakhin et al., SCA
 * 2012).
 */
#pragma once
#include "materials/law.h"

/* A lower bound of the eigenvalues of a symmetric matrix that is not positive definite; exact in 2-D. */
INLINE wide least_eigenvalue(const wide a[DIM][DIM])
{
    const wide zero = wide_set(0), mean = wide_set((real)(1.0 / DIM));
#if DIM == 2
    const wide middle = mean * (a[0][0] + a[1][1]), half = mean * (a[0][0] - a[1][1]);
    (void)zero;
    return middle - wide_sqrt(wide_fma(half, half, a[0][1] * a[0][1]));
#else
    /* Newton's iteration on the characteristic polynomial x^3 - t x^2 + s x - d, whose roots are real: from the left it
     * approaches the least one and never passes it. */
    enum { ITERATIONS = 12 };
    const wide t = a[0][0] + a[1][1] + a[2][2], two = wide_set(2), three = wide_set(3);
    wide s = zero, square = zero, d;
    UNROLL for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3;
        s += a[i][i] * a[j][j] - a[i][j] * a[i][j];
        const wide deviation = wide_fnma(mean, t, a[i][i]);
        square += deviation * deviation + two * a[i][j] * a[i][j];
    }
    d = a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[1][2]) - a[0][1] * (a[0][1] * a[2][2] - a[1][2] * a[0][2]) +
        a[0][2] * (a[0][1] * a[1][2] - a[1][1] * a[0][2]);
    wide x = mean * t - wide_sqrt(wide_set((real)(2.0 / 3)) * square);
    for (int k = 0; k < ITERATIONS; k++) {
        const wide value = ((x - t) * x + s) * x - d, slope = (three * x - two * t) * x + s;
        const mask left = wide_less(value, zero) & wide_less(zero, slope);
        x = wide_select(left, x - value / wide_select(left, slope, wide_set(1)), x);
    }
    return x;
#endif
}

/* Are all leading minors positive? */
INLINE mask is_definite(const wide a[DIM][DIM])
{
    const wide zero = wide_set(0), minor = a[0][0] * a[1][1] - a[0][1] * a[0][1];
    mask definite = wide_less(zero, a[0][0]) & wide_less(zero, minor);
#if DIM == 3
    definite &= wide_less(zero, a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[1][2]) -
                                    a[0][1] * (a[0][1] * a[2][2] - a[1][2] * a[0][2]) +
                                    a[0][2] * (a[0][1] * a[1][2] - a[1][1] * a[0][2]));
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
