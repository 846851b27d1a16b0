/* SPDX-License-Identifier: MIT
 *
 * Polynomials of a traceless symmetric matrix d. By the theorem of Cayley and Hamilton d^3 = |d|^2/2 d + det d I in 3-D
 * and d^2 = |d|^2/2 I in 2-D, so that any of them is c_0 I + c_1 d (+ c_2 d^2): sums and products of polynomials take
 * numbers instead of matrices.
 */
#pragma once
#include "math/matrix.h"

struct traceless {
    wide half; /* |d|^2/2 */
    wide det;  /* 3-D */
};

struct polynomial {
    wide c[DIM];
};

INLINE struct polynomial polynomial_constant(wide a)
{
    struct polynomial p = {{a}};
    UNROLL for (int i = 1; i < DIM; i++)
        p.c[i] = wide_set(0);
    return p;
}

INLINE struct traceless traceless_of(matrix d)
{
    const struct traceless invariants = {wide_set((real)0.5) * matrix_dot(d, d),
                                         DIM == 3 ? matrix_det(d) : wide_set(0)};
    return invariants;
}

/** p d + shift I */
INLINE struct polynomial polynomial_raise(struct polynomial p, const struct traceless *d, real shift)
{
    struct polynomial r;
#if DIM == 2
    r.c[0] = wide_fma(p.c[1], d->half, wide_set(shift));
    r.c[1] = p.c[0];
#else
    r.c[0] = wide_fma(p.c[2], d->det, wide_set(shift));
    r.c[1] = wide_fma(p.c[2], d->half, p.c[0]);
    r.c[2] = p.c[1];
#endif
    return r;
}

/** p q */
INLINE struct polynomial polynomial_multiply(struct polynomial p, struct polynomial q, const struct traceless *d)
{
    struct polynomial r;
#if DIM == 2
    r.c[0] = wide_fma(p.c[1] * q.c[1], d->half, p.c[0] * q.c[0]);
    r.c[1] = wide_fma(p.c[0], q.c[1], p.c[1] * q.c[0]);
#else
    const wide third = wide_fma(p.c[1], q.c[2], p.c[2] * q.c[1]), fourth = p.c[2] * q.c[2]; /* of d^3, d^4 */
    r.c[0] = wide_fma(d->det, third, p.c[0] * q.c[0]);
    r.c[1] = wide_fma(d->half, third, wide_fma(d->det, fourth, wide_fma(p.c[0], q.c[1], p.c[1] * q.c[0])));
    r.c[2] = wide_fma(d->half, fourth, wide_fma(p.c[0], q.c[2], wide_fma(p.c[1], q.c[1], p.c[2] * q.c[0])));
#endif
    return r;
}

INLINE struct polynomial polynomial_scale(wide s, struct polynomial p)
{
    UNROLL for (int i = 0; i < DIM; i++)
        p.c[i] *= s;
    return p;
}

/** The trace of p over the dimension. */
INLINE wide polynomial_mean(struct polynomial p, const struct traceless *d)
{
    return DIM == 2 ? p.c[0] : wide_fma(wide_set((real)(2.0 / 3)) * p.c[DIM - 1], d->half, p.c[0]);
}

/** The matrix p, exactly symmetric. */
INLINE matrix polynomial_of(struct polynomial p, matrix d)
{
    matrix a = matrix_scale(p.c[1], d);
    if (DIM == 3)
        a = matrix_add(a, matrix_scale(p.c[DIM - 1], matrix_symmetric(matrix_multiply(d, d))));
    return matrix_add_diagonal(a, p.c[0]);
}
