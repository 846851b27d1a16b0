/* SPDX-License-Identifier: MIT
 *
 * The rotation R of the polar decomposition F = R S, in the convention of the signed singular value decomposition: R is
 * proper (det R = +1) even where F is inverted, and S then has one negative eigenvalue, the one of smallest magnitude.
 * Equivalently, R is the rotation nearest to F. Where R is not unique (rank below d - 1, or a reflected F with equal
 * smallest singular values), the result is one of the nearest rotations; F = 0 gives I.
 */
#pragma once
#include "math/matrix.h"

#if DIM == 2

/** Closed form: R = [[c, -s], [s, c]] along (F11 + F22, F21 - F12), computed on F scaled by its largest element so
 *  that nothing over- or underflows. */
INLINE matrix polar_rotation(matrix f)
{
    wide largest = wide_max(wide_max(wide_abs(f.m[0][0]), wide_abs(f.m[0][1])),
                            wide_max(wide_abs(f.m[1][0]), wide_abs(f.m[1][1])));
    wide scale = wide_set(1) / wide_max(largest, wide_set((real)(REAL_IS_FLOAT ? 1.2e-38 : 2.3e-308)));
    wide c = f.m[0][0] * scale + f.m[1][1] * scale, s = f.m[1][0] * scale - f.m[0][1] * scale;
    wide r2 = wide_fma(c, c, s * s);
    mask defined = wide_less(wide_set(REAL_EPSILON * REAL_EPSILON), r2);
    wide r = wide_set(1) / wide_sqrt(wide_select(defined, r2, wide_set(1)));
    c = wide_select(defined, c * r, wide_set(1));
    s = wide_select(defined, s * r, wide_set(0));
    const matrix rotation = {{{c, -s}, {s, c}}};
    return rotation;
}

#else

/** The rotation nearest to any 3 x 3 matrix: the unit quaternion that maximises tr(R^T F) is the eigenvector of the
 *  largest eigenvalue of a symmetric 4 x 4 matrix (Horn, J. Opt. Soc. Am. A 4 (1987) 629). Cyclic Jacobi rotations in
 *  double find it. */
NOINLINE void polar_rotation_one(const real f[9], real rotation[9])
{
    double a[9], largest = 0;
    for (int k = 0; k < 9; k++)
        largest = largest > __builtin_fabs((double)f[k]) ? largest : __builtin_fabs((double)f[k]);
    for (int k = 0; k < 9; k++)
        a[k] = largest > 0 ? (double)f[k] / largest : 0;
    double n[4][4] = {
        {a[0] + a[4] + a[8], a[7] - a[5], a[2] - a[6], a[3] - a[1]},
        {a[7] - a[5], a[0] - a[4] - a[8], a[1] + a[3], a[2] + a[6]},
        {a[2] - a[6], a[1] + a[3], a[4] - a[0] - a[8], a[5] + a[7]},
        {a[3] - a[1], a[2] + a[6], a[5] + a[7], a[8] - a[0] - a[4]},
    };
    double q[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    for (int sweep = 0; sweep < 20; sweep++) {
        double off = 0;
        for (int i = 0; i < 4; i++)
            for (int j = i + 1; j < 4; j++)
                off += n[i][j] * n[i][j];
        if (off < 1e-34)
            break;
        for (int i = 0; i < 4; i++)
            for (int j = i + 1; j < 4; j++) {
                if (__builtin_fabs(n[i][j]) < 1e-300)
                    continue;
                double theta = (n[j][j] - n[i][i]) / (2 * n[i][j]);
                double t = (theta < 0 ? -1 : 1) / (__builtin_fabs(theta) + __builtin_sqrt(theta * theta + 1));
                double c = 1 / __builtin_sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 4; k++) { /* columns, then rows and the basis */
                    double x = n[k][i], y = n[k][j];
                    n[k][i] = c * x - s * y;
                    n[k][j] = s * x + c * y;
                }
                for (int k = 0; k < 4; k++) {
                    double x = n[i][k], y = n[j][k];
                    n[i][k] = c * x - s * y;
                    n[j][k] = s * x + c * y;
                    x = q[k][i], y = q[k][j];
                    q[k][i] = c * x - s * y;
                    q[k][j] = s * x + c * y;
                }
            }
    }
    int best = 0;
    for (int k = 1; k < 4; k++)
        best = n[k][k] > n[best][best] ? k : best;
    double w = q[0][best], x = q[1][best], y = q[2][best], z = q[3][best];
    double r = 1 / __builtin_sqrt(w * w + x * x + y * y + z * z);
    w *= r, x *= r, y *= r, z *= r;
    rotation[0] = (real)(1 - 2 * (y * y + z * z));
    rotation[1] = (real)(2 * (x * y - w * z));
    rotation[2] = (real)(2 * (x * z + w * y));
    rotation[3] = (real)(2 * (x * y + w * z));
    rotation[4] = (real)(1 - 2 * (x * x + z * z));
    rotation[5] = (real)(2 * (y * z - w * x));
    rotation[6] = (real)(2 * (x * z - w * y));
    rotation[7] = (real)(2 * (y * z + w * x));
    rotation[8] = (real)(1 - 2 * (x * x + y * y));
}

NOINLINE void polar_rotation_lanes(const matrix *f, matrix *rotation, unsigned lanes)
{
    for (int q = 0; q < WIDTH; q++) {
        if (!(lanes >> q & 1))
            continue;
        real a[9], r[9];
        for (int k = 0; k < 9; k++)
            a[k] = ((const real *)&f->m[k / 3][k % 3])[q];
        polar_rotation_one(a, r);
        for (int k = 0; k < 9; k++)
            ((real *)&rotation->m[k / 3][k % 3])[q] = r[k];
    }
}

/** a^(-1/3) for a > 0, relative error 2e-3: a third of the exponent by integer arithmetic on the bits, then one
 *  Newton step. A scale factor need not be more accurate. */
INLINE wide rough_inverse_cbrt(wide a)
{
    const wide third = wide_set((real)(1.0 / 3));
#if REAL_IS_FLOAT
    wide_int guess = wide_int_set(0x54a2fa8c);
    wide bits = wide_from_int(wide_as_int(a) >> 10) * third; /* within the range of wide_from_int */
    wide g = wide_as_real(guess - (wide_to_int(bits) << 10));
#else
    wide_int guess = wide_int_set(0x553ef0ff289dd796);
    wide bits = wide_from_int(wide_as_int(a) >> 32) * third;
    wide g = wide_as_real(guess - (wide_to_int(bits) << 32));
#endif
    return g * wide_fnma(a * third, g * g * g, wide_set((real)(4.0 / 3)));
}

/** Newton's iteration X <- (g X + (g X)^-T)/2 (Higham, SIAM J. Sci. Stat. Comput. 7 (1986) 1160), scaled by g =
 *  det^(-1/3) while it is far from the rotation, in the form X = h Y, Y <- Y + c cof Y with c = 1/((g h)^2 det Y),
 *  which saves nine products. After a step all singular values of X are >= 1, so det X - 1 bounds the error e, and an
 *  unscaled step leaves e^2/2. A lane stops at the step where that is negligible, so that its bits do not depend on its
 *  neighbours. Lanes take the robust way if they converge slowly, if F is so flat that rounding spoils its cofactors,
 *  or if det F <= 0. */
INLINE matrix polar_rotation(matrix f)
{
    const wide one = wide_set(1), half = wide_set((real)0.5);
    const wide least = wide_set((real)(REAL_IS_FLOAT ? 1e-18 : 1e-100)); /* det F, before it leaves the normal range */
    const wide flat = wide_set((real)(REAL_IS_FLOAT ? 1e-8 : 1e-12));    /* (det F)^2/|F|^6 */
    const wide near = wide_set((real)1.1), close = wide_set((real)(REAL_IS_FLOAT ? 1.0003 : 1.00000001));
    const int most = REAL_IS_FLOAT ? 6 : 8;
    matrix k = matrix_cofactor(f), y = f;
    wide det = matrix_det_from(f, k), h = one;
    const wide size2 = matrix_dot(f, f);
    mask proper = wide_less(least, det) & wide_less(flat * size2 * (size2 * size2), det * det);
    mask last = wide_less(one, one), done = last;
    mask unscaled = wide_less(wide_abs(det - one), wide_set((real)0.1)); /* and so exact for F = I */
    det = wide_select(proper, det, one);
    for (int step = 0; step < most; step++) {
        const wide g = wide_select(unscaled, h, rough_inverse_cbrt(det)), c = one / (g * g * det);
        UNROLL for (int i = 0; i < 9; i++) {
            wide *element = &y.m[i / 3][i % 3];
            *element = wide_select(done, *element, wide_fma(c, k.m[i / 3][i % 3], *element));
        }
        h = wide_select(done, h, half * g);
        done = last;
        if (!mask_any(proper & mask_not(done)))
            break;
        k = matrix_cofactor(y);
        det = matrix_det_from(y, k);
        const wide grown = det * (h * h * h); /* det X */
        last = wide_less(grown, close) | done;
        unscaled = wide_less(grown, near) | done;
    }
    matrix r = matrix_scale(h, y);
    const mask doubtful = mask_not(proper & done);
    if (__builtin_expect(mask_any(doubtful), 0)) {
        matrix copy = f, fixed = r; /* copies in memory, so that f and r stay in registers */
        polar_rotation_lanes(&copy, &fixed, mask_bits(doubtful));
        r = fixed;
    }
    return r;
}

#endif
