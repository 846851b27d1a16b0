/* SPDX-License-Identifier: MIT
 *
 * d x d matrices of `wide`: one matrix per lane. Row-major, m[a][b] = dx_a/dX_b for a deformation gradient.
 */
#pragma once
#include "base/simd.h"

typedef struct matrix {
    wide m[DIM][DIM];
} matrix;

INLINE matrix matrix_identity(void)
{
    matrix a;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            a.m[i][j] = wide_set(i == j ? 1 : 0);
    return a;
}

INLINE wide matrix_trace(matrix a)
{
    wide t = a.m[0][0] + a.m[1][1];
#if DIM == 3
    t += a.m[2][2];
#endif
    return t;
}

INLINE matrix matrix_cofactor(matrix a)
{
    matrix c;
#if DIM == 2
    c.m[0][0] = a.m[1][1];
    c.m[0][1] = -a.m[1][0];
    c.m[1][0] = -a.m[0][1];
    c.m[1][1] = a.m[0][0];
#else
    UNROLL for (int i = 0; i < 3; i++)
        UNROLL for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            c.m[i][j] = wide_fnma(a.m[i1][j2], a.m[i2][j1], a.m[i1][j1] * a.m[i2][j2]);
        }
#endif
    return c;
}

INLINE wide matrix_dot(matrix a, matrix b) /* sum of a_ij b_ij */
{
    wide s = a.m[0][0] * b.m[0][0];
    UNROLL for (int k = 1; k < DIM * DIM; k++)
        s = wide_fma(a.m[k / DIM][k % DIM], b.m[k / DIM][k % DIM], s);
    return s;
}

/** Determinant, given the cofactors. */
INLINE wide matrix_det_from(matrix a, matrix cofactor)
{
    wide s = a.m[0][DIM - 1] * cofactor.m[0][DIM - 1];
    UNROLL for (int j = DIM - 2; j >= 0; j--)
        s = wide_fma(a.m[0][j], cofactor.m[0][j], s);
    return s;
}

INLINE wide matrix_det(matrix a)
{
#if DIM == 2
    return wide_fnma(a.m[0][1], a.m[1][0], a.m[0][0] * a.m[1][1]);
#else
    return matrix_det_from(a, matrix_cofactor(a));
#endif
}

/** a b */
INLINE matrix matrix_multiply(matrix a, matrix b)
{
    matrix c;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++) {
            wide s = a.m[i][DIM - 1] * b.m[DIM - 1][j];
            UNROLL for (int k = DIM - 2; k >= 0; k--)
                s = wide_fma(a.m[i][k], b.m[k][j], s);
            c.m[i][j] = s;
        }
    return c;
}

/** a b^T */
INLINE matrix matrix_multiply_transposed(matrix a, matrix b)
{
    matrix c;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++) {
            wide s = a.m[i][DIM - 1] * b.m[j][DIM - 1];
            UNROLL for (int k = DIM - 2; k >= 0; k--)
                s = wide_fma(a.m[i][k], b.m[j][k], s);
            c.m[i][j] = s;
        }
    return c;
}

/** a^T b */
INLINE matrix matrix_multiply_left_transposed(matrix a, matrix b)
{
    matrix c;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++) {
            wide s = a.m[DIM - 1][i] * b.m[DIM - 1][j];
            UNROLL for (int k = DIM - 2; k >= 0; k--)
                s = wide_fma(a.m[k][i], b.m[k][j], s);
            c.m[i][j] = s;
        }
    return c;
}

/** (I + s a) b */
INLINE matrix matrix_advance(wide s, matrix a, matrix b)
{
    matrix c;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++) {
            wide t = a.m[i][DIM - 1] * b.m[DIM - 1][j];
            UNROLL for (int k = DIM - 2; k >= 0; k--)
                t = wide_fma(a.m[i][k], b.m[k][j], t);
            c.m[i][j] = wide_fma(s, t, b.m[i][j]);
        }
    return c;
}

/** Copies the upper triangle to the lower one: makes a product exactly symmetric that is so up to rounding. */
INLINE matrix matrix_symmetric(matrix a)
{
    UNROLL for (int i = 1; i < DIM; i++)
        UNROLL for (int j = 0; j < i; j++)
            a.m[i][j] = a.m[j][i];
    return a;
}

INLINE matrix matrix_scale(wide s, matrix a)
{
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            a.m[i][j] *= s;
    return a;
}

INLINE matrix matrix_add(matrix a, matrix b)
{
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            a.m[i][j] += b.m[i][j];
    return a;
}

/** a in the lanes of m, b in the others. */
INLINE matrix matrix_select(mask m, matrix a, matrix b)
{
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            b.m[i][j] = wide_select(m, a.m[i][j], b.m[i][j]);
    return b;
}

INLINE matrix matrix_add_diagonal(matrix a, wide s)
{
    UNROLL for (int i = 0; i < DIM; i++)
        a.m[i][i] += s;
    return a;
}

/** An upper bound of the largest eigenvalue of the symmetric `a` (given by its upper triangle): mean + sqrt((d-1)/d)
 *  |deviator|. It is exact in 2-D, and where all eigenvalues are equal. */
INLINE wide matrix_largest_eigenvalue_bound(matrix a)
{
    wide mean = matrix_trace(a) * wide_set((real)(1.0 / DIM));
    wide square = wide_set(0);
    UNROLL for (int i = 0; i < DIM; i++) {
        wide e = a.m[i][i] - mean;
        square = wide_fma(e, e, square);
        UNROLL for (int j = i + 1; j < DIM; j++)
            square = wide_fma(a.m[i][j] + a.m[i][j], a.m[i][j], square);
    }
    return mean + wide_sqrt(square * wide_set((real)((DIM - 1.0) / DIM)));
}
