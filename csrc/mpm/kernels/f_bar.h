/* SPDX-License-Identifier: MIT
 *
 * F-bar: particles strain with a volume change that is averaged around the centres of cells (f_bar.c).
 */
#pragma once
#include "math/elementary.h"
#include "mpm/kernels/any_scheme.h"

/* Prepares the stencil of the averages, whatever the kernel of the scheme: linear B-splines. Centre i + 1/2 is stored
 * at node i. Beyond a wall there is nothing to average, so that the outer half of its first cells belongs to their
 * centres: at a plane of symmetry this is what images would add. The linear kernel keeps the nodes, because its blocks
 * of nodes do not reach the centres. */
INLINE void f_bar_prepare_stencil(struct stencil *s, const struct constants *k, const wide x[DIM], int degree)
{
    const wide half = wide_set((real)0.5), room = wide_set((real)k->room);
    wide from_centre[DIM];
    UNROLL for (int a = 0; a < DIM; a++) {
        from_centre[a] = x[a];
        if (degree == MPM_LINEAR)
            continue;
        const wide low = wide_floor(k->lowest[a] + (room + half)), high = wide_floor(k->highest[a] - (room - half));
        from_centre[a] = wide_max(wide_min(x[a], high - half), low + half) - half;
    }
    stencil_prepare(s, from_centre, MPM_LINEAR);
}

/* det(I + A) - 1, without the rounding of 1. */
INLINE wide f_bar_volume_change(matrix A)
{
#if DIM == 2
    return matrix_trace(A) + matrix_det(A);
#else
    const wide second = matrix_trace(matrix_cofactor(A)); /* the sum of the principal minors */
    return matrix_trace(A) + (second + matrix_det(A));
#endif
}

/* The velocity gradient G' with I + dt G' = s (I + dt G), where s^d = (1 + mean)/det(I + dt G). */
INLINE matrix f_bar_gradient(matrix G, wide dt, wide mean)
{
    const wide one = wide_set(1), own = f_bar_volume_change(matrix_scale(dt, G));
    const wide excess = (mean - own) / (one + own), ratio = one + excess; /* s^d - 1, s^d */
#if DIM == 2
    const wide s = wide_sqrt(ratio), rest = excess / (one + s);
#else
    const wide s = wide_exp(wide_log(ratio) * wide_set((real)(1.0 / 3))), rest = excess / wide_fma(s, s, one + s);
#endif
    const wide least = wide_set((real)(REAL_IS_FLOAT ? 0x1p-126 : 0x1p-1022)); /* a smaller step is 0, as rest is */
    return matrix_add_diagonal(matrix_scale(s, G), rest / wide_max(dt, least)); /* rest is s - 1 */
}
