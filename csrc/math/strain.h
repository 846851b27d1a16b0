/* SPDX-License-Identifier: MIT
 *
 * Small strains without cancellation. F F^T and det F of a stiff body are 1 but for their last digits, and an energy is
 * of second order in what is left. So laws take that from here:
 *
 *     e = F F^T - I,  e_ii = (F_ii - 1)(F_ii + 1) + sum of the other F_ik^2
 *     J - 1 = (F_00 - 1) C_00 + (C_00 - 1) + F_01 C_01 + F_02 C_02,  C_00 - 1 likewise          C: cofactors
 *     tr e/2 - ln J = ((J - 1)^2 - M_2 - M_3)/2 + (J - 1 - ln J)                 M: sums of the principal minors of e
 *     2 (V - I) = e - (V - I)^2,  V (V - I) = e - (V - I)                        F = V R
 *
 * The square on the right may be that of a rounded V. Errors of e and J - 1 are roundings of F - I: no more than what
 * the rounding of F itself changes. The other results are relatively as precise. Where e is large, lanes use the plain
 * forms, whatever their neighbours do.
 */
#pragma once
#include "math/elementary.h"
#include "math/polar.h"

#define STRAIN_NEAR2 ((real)0.04) /* |e|^2 */

/** F F^T - I, exactly symmetric. */
INLINE matrix strain_left(matrix F)
{
    const wide one = wide_set(1);
    matrix e;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++) {
            const int first = i == j ? i : 0;
            e.m[i][j] = i == j ? (F.m[i][i] - one) * (F.m[i][i] + one) : F.m[i][0] * F.m[j][0];
            UNROLL for (int k = 0; k < DIM; k++)
                if (k != first)
                    e.m[i][j] = wide_fma(F.m[i][k], F.m[j][k], e.m[i][j]);
        }
    return matrix_symmetric(e);
}

/** F^T F - I, likewise. */
INLINE matrix strain_right(matrix F)
{
    matrix transposed;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            transposed.m[i][j] = F.m[j][i];
    return strain_left(transposed);
}

/** det F - 1 */
INLINE wide strain_gained(matrix F)
{
    const wide one = wide_set(1), g0 = F.m[0][0] - one, g1 = F.m[1][1] - one;
#if DIM == 2
    return wide_fnma(F.m[0][1], F.m[1][0], wide_fma(g0, F.m[1][1], g1));
#else
    const matrix cofactor = matrix_cofactor(F);
    const wide over = wide_fma(g1, F.m[2][2], F.m[2][2] - one);
    const wide own = wide_fma(g0, cofactor.m[0][0], wide_fnma(F.m[1][2], F.m[2][1], over));
    return wide_fma(F.m[0][2], cofactor.m[0][2], wide_fma(F.m[0][1], cofactor.m[0][1], own));
#endif
}

struct strain {
    matrix e;           /* F F^T - I, exactly symmetric */
    wide trace, second; /* tr e, M_2; in plane strain with a stretch out of plane, those of three dimensions */
    wide gained;        /* J - 1 */
    wide ln_J, excess;  /* ln J; J - 1 - ln J >= 0 */
    wide shear;         /* tr e/2 - ln J >= 0 */
    mask near;          /* e is small */
};

/** The strain of F with det F = J. `Fzz`, where it is not NULL, is a stretch out of plane; then J is that of three
 *  dimensions. J > 0; otherwise the logarithm is an arbitrary number or NaN. */
INLINE struct strain strain_of(matrix F, wide J, const wide *Fzz)
{
    const wide half = wide_set((real)0.5);
    struct strain s; /* an initialiser would clear it first */
    s.e = strain_left(F);
    s.gained = strain_gained(F);
    const wide(*e)[DIM] = (const wide(*)[DIM])s.e.m;
    s.trace = matrix_trace(s.e);
    s.second = wide_fnma(e[0][1], e[0][1], e[0][0] * e[1][1]);
    wide third = wide_set(0);
#if DIM == 2
    if (Fzz) {
        const wide one = wide_set(1), swell = *Fzz - one, zz = swell * (*Fzz + one);
        s.gained = wide_fma(s.gained, swell, s.gained + swell);
        third = s.second * zz;
        s.second = wide_fma(s.trace, zz, s.second);
        s.trace += zz;
    }
#else
    (void)Fzz;
    const wide last = wide_fnma(e[1][2], e[1][2], e[1][1] * e[2][2]);
    third = wide_fma(e[0][2], wide_fnma(e[1][1], e[0][2], e[0][1] * e[1][2]), e[0][0] * last);
    third = wide_fnma(e[0][1], wide_fnma(e[1][2], e[0][2], e[0][1] * e[2][2]), third);
    s.second += wide_fnma(e[0][2], e[0][2], e[0][0] * e[2][2]) + last;
#endif
    const wide minors = s.second + third, size2 = wide_fnma(wide_set(2), s.second, s.trace * s.trace); /* |e|^2 */
    s.near = wide_less_equal(size2, wide_set(STRAIN_NEAR2));
    s.ln_J = wide_log_near(J, s.gained, wide_less_equal(wide_abs(s.gained), wide_set((real)0.25)), &s.excess);
    s.shear = wide_select(s.near, wide_fma(half, wide_fma(s.gained, s.gained, -minors), s.excess),
                          wide_fma(half, s.trace, -s.ln_J));
    return s;
}

/* The stretch V of F = V R, in the convention of polar_rotation. */
struct stretch {
    matrix e, strain, product; /* F F^T - I, V - I, V (V - I), exactly symmetric */
    wide size2, gained;        /* |V - I|^2, J - 1 */
};

/* V - I and V (V - I) by a known rotation, in the lanes of `far`. */
INLINE void strain_stretch_by(struct stretch *s, matrix F, matrix R, mask far)
{
    const matrix V = matrix_symmetric(matrix_multiply_transposed(F, R)), X = matrix_add_diagonal(V, wide_set(-1));
    s->strain = matrix_select(far, X, s->strain);
    s->product = matrix_select(far, matrix_symmetric(matrix_multiply(X, V)), s->product);
}

#if DIM == 2

/** The stretch of F with the rotation R, where that is known; else it is NULL.
 *
 *  With t = tr V, t^2 = tr b + 2 J = |(F_00 + F_11, F_10 - F_01)|^2, V = (b + J I)/t, hence
 *  V - I = (e + (t (J - 1) - tr e)/(t + 2) I)/t. Crushed and inverted lanes, with a small t, use the rotation. */
INLINE struct stretch strain_stretch(matrix F, const matrix *R)
{
    const wide one = wide_set(1), two = wide_set(2), c = F.m[0][0] + F.m[1][1], n = F.m[1][0] - F.m[0][1];
    struct stretch s;
    s.e = strain_left(F);
    s.gained = strain_gained(F);
    const wide t2 = wide_fma(c, c, n * n);
    const mask far = mask_not(wide_less(-one, s.gained) & wide_less(wide_set((real)0.25), t2));
    const wide t = wide_sqrt(wide_select(far, one, t2)), upper = t + two, inverse = one / (t * upper);
    s.strain = matrix_add_diagonal(matrix_scale(upper * inverse, s.e),
                                   wide_fma(s.gained, t, -matrix_trace(s.e)) * inverse);
    s.product = matrix_add(s.e, matrix_scale(-one, s.strain));
    if (__builtin_expect(mask_any(far), 0))
        strain_stretch_by(&s, F, R ? *R : polar_rotation(F), far);
    s.size2 = matrix_dot(s.strain, s.strain);
    return s;
}

#else

/** The same. Lanes that are crushed, or stretched by so much that the square of V - I rounds by more than V, use F R^T
 *  itself. */
INLINE struct stretch strain_stretch(matrix F, const matrix *R)
{
    const wide one = wide_set(1), half = wide_set((real)0.5);
    struct stretch s;
    s.e = strain_left(F);
    s.gained = strain_gained(F);
    const matrix known = R ? *R : polar_rotation(F);
    const matrix X = matrix_symmetric(matrix_add_diagonal(matrix_multiply_transposed(F, known), -one));
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++) {
            wide twice = s.e.m[i][j];
            UNROLL for (int k = 0; k < DIM; k++)
                twice = wide_fnma(X.m[i][k], X.m[k][j], twice);
            s.strain.m[i][j] = half * twice;
        }
    s.strain = matrix_symmetric(s.strain);
    s.product = matrix_add(s.e, matrix_scale(-one, s.strain));
    const mask far = mask_not(wide_less_equal(wide_abs(matrix_trace(s.e)), wide_set(2)));
    if (__builtin_expect(mask_any(far), 0))
        strain_stretch_by(&s, F, known, far);
    s.size2 = matrix_dot(s.strain, s.strain);
    return s;
}

#endif
