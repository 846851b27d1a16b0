/* SPDX-License-Identifier: MIT
 *
 * Hencky's logarithmic strain and its inverse. Small strains need no decomposition.
 *
 *     strain = 1/2 ln b,  b = F F^T.   With X = (b - I)(b + I)^-1:  1/2 ln b = X + X^3/3 + X^5/5 + ...
 *
 * Each series ends where the next term is below rounding for |b - I| <= 0.2, that is for strains up to about 0.1. Lanes
 * with larger strains use the singular value decomposition, whatever their neighbours do.
 */
#pragma once
#include "math/elementary.h"
#include "math/singular.h"

#define HENCKY_NEAR2 ((real)0.04) /* |b - I|^2 */

/* The product of two symmetric matrices that commute. */
INLINE matrix hencky_product(matrix a, matrix b)
{
    return matrix_symmetric(matrix_multiply(a, b));
}

NOINLINE void hencky_strain_far(const matrix *f, matrix *strain, mask far)
{
    const struct singular s = singular_decompose(*f);
    wide value[DIM];
    UNROLL for (int i = 0; i < DIM; i++)
        value[i] = wide_log_any(s.value[i]);
    *strain = matrix_select(far, singular_spread(&s, value), *strain);
}

/** The strain, exactly symmetric, and the lanes in which it is large. det F > 0. */
INLINE matrix hencky_strain(matrix f, mask *far)
{
    const matrix e = matrix_symmetric(matrix_add_diagonal(matrix_multiply_transposed(f, f), wide_set(-1)));
    const matrix sum = matrix_add_diagonal(e, wide_set(2)), cofactor = matrix_symmetric(matrix_cofactor(sum));
    const matrix inverse = matrix_scale(wide_set(1) / matrix_det_from(sum, cofactor), cofactor);
    const matrix x = hencky_product(e, inverse), square = hencky_product(x, x);
    const int terms = REAL_IS_FLOAT ? 3 : 8;
    matrix p = matrix_add_diagonal(matrix_scale(wide_set((real)(1.0 / (2 * terms + 1))), square),
                                   wide_set((real)(1.0 / (2 * terms - 1))));
    UNROLL for (int k = terms - 2; k >= 0; k--)
        p = matrix_add_diagonal(hencky_product(p, square), wide_set((real)(1.0 / (2 * k + 1))));
    matrix strain = hencky_product(x, p);
    *far = mask_not(wide_less_equal(matrix_dot(e, e), wide_set(HENCKY_NEAR2)));
    if (__builtin_expect(mask_any(*far), 0)) {
        matrix copy = f, found = strain; /* copies in memory, so that the originals stay in registers */
        hencky_strain_far(&copy, &found, *far);
        strain = found;
    }
    return strain;
}

/** e^a F for a symmetric `a` of |a| <= 0.12. */
INLINE matrix hencky_move(matrix a, matrix f)
{
    const int degree = REAL_IS_FLOAT ? 5 : 10;
    matrix p = matrix_add_diagonal(matrix_scale(wide_set((real)(1.0 / degree)), a), wide_set(1));
    UNROLL for (int k = degree - 1; k > 0; k--)
        p = matrix_add_diagonal(matrix_scale(wide_set((real)(1.0 / k)), hencky_product(p, a)), wide_set(1));
    return matrix_multiply(p, f);
}
