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
#include "math/spectrum.h"
#include "math/strain.h"

#define HENCKY_NEAR2 ((real)0.04)    /* |b - I|^2 */
#define HENCKY_SHORT2 ((real)0.0144) /* |a|^2 of a step e^a F without a decomposition */

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

/* The series for e = b - I. */
INLINE matrix hencky_strain_near(matrix e)
{
    const matrix sum = matrix_add_diagonal(e, wide_set(2)), cofactor = matrix_symmetric(matrix_cofactor(sum));
    const matrix inverse = matrix_scale(wide_set(1) / matrix_det_from(sum, cofactor), cofactor);
    const matrix x = hencky_product(e, inverse), square = hencky_product(x, x);
    const int terms = REAL_IS_FLOAT ? 3 : 8;
    matrix p = matrix_add_diagonal(matrix_scale(wide_set((real)(1.0 / (2 * terms + 1))), square),
                                   wide_set((real)(1.0 / (2 * terms - 1))));
    UNROLL for (int k = terms - 2; k >= 0; k--)
        p = matrix_add_diagonal(hencky_product(p, square), wide_set((real)(1.0 / (2 * k + 1))));
    return hencky_product(x, p);
}

/** The strain, exactly symmetric, and the lanes in which it is large. det F > 0. */
INLINE matrix hencky_strain(matrix f, mask *far)
{
    const matrix e = strain_left(f);
    matrix strain = hencky_strain_near(e);
    *far = mask_not(wide_less_equal(matrix_dot(e, e), wide_set(HENCKY_NEAR2)));
    if (__builtin_expect(mask_any(*far), 0)) {
        matrix copy = f, found = strain; /* copies in memory, so that the originals stay in registers */
        hencky_strain_far(&copy, &found, *far);
        strain = found;
    }
    return strain;
}

/** e^a - I for a symmetric `a` of |a|^2 <= HENCKY_SHORT2: e^a F = F + (e^a - I) F rounds only what changes of F. */
INLINE matrix hencky_growth(matrix a)
{
    const int degree = REAL_IS_FLOAT ? 5 : 10;
    matrix p = matrix_add_diagonal(matrix_scale(wide_set((real)(1.0 / degree)), a), wide_set(1));
    UNROLL for (int k = degree - 1; k > 1; k--)
        p = matrix_add_diagonal(matrix_scale(wide_set((real)(1.0 / k)), hencky_product(p, a)), wide_set(1));
    return hencky_product(p, a);
}

/** e^a F for such an `a`. */
INLINE matrix hencky_move(matrix a, matrix f)
{
    return matrix_multiply(matrix_add_diagonal(hencky_growth(a), wide_set(1)), f);
}

/** Puts e^a - I for an `a` of any length into the lanes of `far`. */
NOINLINE void hencky_growth_far(const matrix *a, matrix *growth, mask far)
{
    const struct spectrum s = spectrum_of(*a);
    wide value[DIM];
    UNROLL for (int i = 0; i < DIM; i++)
        value[i] = wide_expm1(s.value[i]);
    *growth = matrix_select(far, spectrum_spread(&s, value), *growth);
}

/** e^a F for a symmetric `a` of any length. */
NOINLINE void hencky_move_any(const matrix *a, const matrix *f, matrix *moved)
{
    const wide size2 = matrix_dot(*a, *a), shift = wide_set(1) + wide_sqrt(size2);
    matrix found = hencky_move(*a, *f);
    const mask far = mask_not(wide_less_equal(size2, wide_set(HENCKY_SHORT2)));
    if (__builtin_expect(mask_any(far), 0)) {
        struct singular s = singular_decompose(matrix_add_diagonal(*a, shift)); /* positive definite */
        wide value[DIM];
        UNROLL for (int i = 0; i < DIM; i++)
            value[i] = wide_exp(s.value[i] - shift);
        found = matrix_select(far, matrix_multiply(singular_spread(&s, value), *f), found);
    }
    *moved = found;
}

/** Puts 1/2 ln b of a positive definite `b` into the lanes of `far`. */
NOINLINE void hencky_half_log_far(const matrix *b, matrix *strain, mask far)
{
    const struct singular s = singular_decompose(*b);
    wide value[DIM];
    UNROLL for (int i = 0; i < DIM; i++)
        value[i] = wide_set((real)0.5) * wide_log_any(s.value[i]);
    *strain = matrix_select(far, singular_spread(&s, value), *strain);
}

/** (ln a - ln b)/(a - b) of positive numbers, 1/b where they are equal. */
INLINE wide hencky_slope(wide a, wide b)
{
    const wide one = wide_set(1), gap = a - b, f = gap / b, m = a / b;
    const mask near = wide_less(wide_set((real)0.7072), m) & wide_less(m, wide_set((real)1.4142));
    const mask equal = wide_less_equal(gap, wide_set(0)) & wide_less_equal(wide_set(0), gap);
    const wide close = (one - log_defect(f, m) / wide_select(equal, one, f)) / b;
    return wide_select(near, close, (wide_log_any(a) - wide_log_any(b)) / wide_select(equal, one, gap));
}
