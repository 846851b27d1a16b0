/* SPDX-License-Identifier: MIT
 *
 * Functions of a symmetric matrix by its eigenvalues, without iterations and without eigenvectors:
 *
 *     2-D    a = m I + r E                                         eigenvalues m + r, m - r
 *     3-D    a = m I + s (x P + r E - x/2 (I - P))                 m + s x, m + s (r - x/2), m - s (r + x/2)
 *
 * P projects onto an eigenvector, E is a reflection in the plane across it: f(a) is a sum of I, P and E. With
 * m = tr a/3, |a - m I|^2 = 6 s^2 and the sign of s chosen so that h = det((a - m I)/s)/2 >= 0, x in [sqrt 3, 2] is the
 * largest root of x^3 - 3 x = 2 h. No other one is nearer to it than sqrt 3, so that P, the adjugate of
 * (a - m I)/s - x I over its trace, is precise. The two others may be equal: then E is arbitrary, and f(a) is not, as
 * long as f is the same for equal eigenvalues. Errors are below 12 roundings of the eigenvalue or the value of f that
 * is largest (tests/c/test_decompositions.c).
 */
#pragma once
#include "math/matrix.h"

struct spectrum {
    wide value[DIM]; /* 3-D: that of P first, then those of +E and -E, in no other order */
    matrix E;
#if DIM == 3
    matrix P;
#endif
};

/* The direction of a symmetric matrix that has eigenvalues +r and -r (and in 3-D 0), and r. */
INLINE wide spectrum_reflect(matrix *a)
{
    const wide r = wide_sqrt(matrix_dot(*a, *a) * wide_set((real)0.5));
    *a = matrix_scale(wide_set(1) / wide_max(r, wide_set((real)(REAL_IS_FLOAT ? 1e-30 : 1e-200))), *a);
    return r;
}

#if DIM == 2

INLINE struct spectrum spectrum_of(matrix a)
{
    const wide mean = wide_set((real)0.5) * matrix_trace(a);
    struct spectrum s = {.E = matrix_add_diagonal(a, -mean)};
    s.E.m[1][1] = -s.E.m[0][0];
    const wide r = spectrum_reflect(&s.E);
    s.value[0] = mean + r;
    s.value[1] = mean - r;
    return s;
}

/** f(a), exactly symmetric, given the values of f. */
INLINE matrix spectrum_spread(const struct spectrum *s, const wide value[2])
{
    const wide half = wide_set((real)0.5);
    return matrix_add_diagonal(matrix_scale(half * (value[0] - value[1]), s->E), half * (value[0] + value[1]));
}

#else

INLINE struct spectrum spectrum_of(matrix a)
{
    const wide one = wide_set(1), three = wide_set(3), half = wide_set((real)0.5);
    const wide third = wide_set((real)(1.0 / 3)), mean = third * matrix_trace(a);
    matrix b = matrix_add_diagonal(a, -mean);
    b = matrix_add_diagonal(b, -third * matrix_trace(b)); /* where it is all rounding, too, its trace must be 0 */
    wide size = wide_sqrt(wide_set((real)(1.0 / 6)) * matrix_dot(b, b));
    b = matrix_scale(one / wide_max(size, wide_set((real)(REAL_IS_FLOAT ? 1e-30 : 1e-200))), b);
    const mask turned = wide_less(matrix_det(b), wide_set(0));
    const wide sign = wide_select(turned, -one, one);
    b = matrix_scale(sign, b);
    size *= sign;

    const wide h2 = wide_min(wide_max(matrix_det(b), wide_set(0)), wide_set(2)), h = half * h2;
    /* 1.3e-4 from the root; each of Newton's steps squares that */
    wide x = wide_fma(wide_fma(wide_fma(wide_set((real)0.01874897), h, wide_set((real)-0.08126101)), h,
                               wide_set((real)0.33042943)), h, wide_set((real)1.73218504));
    UNROLL for (int k = 0; k < (REAL_IS_FLOAT ? 1 : 2); k++) {
        const wide x2 = x * x, f = wide_fma(x, x2 - three, -h2);
        x -= f / (three * (x2 - one));
    }
    struct spectrum s;
    const matrix adjugate = matrix_symmetric(matrix_cofactor(matrix_add_diagonal(b, -x)));
    s.P = matrix_scale(one / matrix_trace(adjugate), adjugate);
    s.E = matrix_add(matrix_add_diagonal(b, half * x), matrix_scale(wide_set((real)-1.5) * x, s.P));
    const wide r = spectrum_reflect(&s.E);
    s.value[0] = wide_fma(size, x, mean);
    s.value[1] = wide_fma(size, r - half * x, mean);
    s.value[2] = wide_fnma(size, r + half * x, mean);
    return s;
}

/** f(a), exactly symmetric, given the values of f. */
INLINE matrix spectrum_spread(const struct spectrum *s, const wide value[3])
{
    const wide half = wide_set((real)0.5), middle = half * (value[1] + value[2]), apart = half * (value[1] - value[2]);
    const wide lone = value[0] - middle;
    matrix f;
    UNROLL for (int i = 0; i < 3; i++)
        UNROLL for (int j = i; j < 3; j++) {
            f.m[i][j] = wide_fma(lone, s->P.m[i][j], apart * s->E.m[i][j]);
            if (i == j)
                f.m[i][j] += middle;
        }
    return matrix_symmetric(f);
}

#endif
