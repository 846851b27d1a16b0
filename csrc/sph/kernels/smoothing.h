/* SPDX-License-Identifier: MIT
 *
 * The smoothing kernels on `wide`, without the factors that are the same for all pairs, and what kernels share.
 */
#pragma once
#include "base/simd.h"
#include "sph/kernels/kernels.h"

/* Neighbours are sought a little beyond the support, so that rounding omits none that would add more than 0. */
#define SUPPORT_MARGIN ((real)(REAL_IS_FLOAT ? 1 + 1e-5 : 1 + 1e-13))

/** W over its factor, h^-d and, for the cubic spline, 1/6. */
INLINE wide smoothing_value(const mpm_sph_kernel kernel, wide q)
{
    const wide zero = wide_set(0), one = wide_set(1);
    if (kernel == MPM_SPH_CUBIC) {
        const wide outer = wide_max(wide_set(2) - q, zero), inner = wide_max(one - q, zero);
        return wide_fnma(wide_set(4) * (inner * inner), inner, outer * outer * outer);
    }
    const wide t = wide_max(wide_fnma(wide_set((real)0.5), q, one), zero), t2 = t * t;
    return t2 * t2 * wide_fma(wide_set(2), q, one);
}

/** (dW/dr)/r over its factor. `inverse_r` is 1/r; Wendland's kernel does not need it. */
INLINE wide smoothing_slope(const mpm_sph_kernel kernel, wide q, wide inverse_r)
{
    const wide zero = wide_set(0), one = wide_set(1);
    if (kernel == MPM_SPH_CUBIC) {
        const wide outer = wide_max(wide_set(2) - q, zero), inner = wide_max(one - q, zero);
        return wide_fnma(outer, outer, wide_set(4) * (inner * inner)) * inverse_r;
    }
    const wide t = wide_max(wide_fnma(wide_set((real)0.5), q, one), zero);
    return -(t * t * t);
}

/** The factor of smoothing_value. */
INLINE double smoothing_value_factor(mpm_sph_kernel kernel, double h)
{
    return mpm_sph_factor(kernel, DIM) / (kernel == MPM_SPH_CUBIC ? 6 : 1) / (DIM == 2 ? h * h : h * h * h);
}

/** The factor of smoothing_slope: h^-(d+1)/2 (cubic), 5 h^-(d+2) (Wendland). */
INLINE double smoothing_slope_factor(mpm_sph_kernel kernel, double h)
{
    const double volume = DIM == 2 ? h * h : h * h * h;
    return mpm_sph_factor(kernel, DIM) / volume / h * (kernel == MPM_SPH_CUBIC ? 0.5 : 5 / h);
}

/** The records of up to CHUNK neighbours, copied so that sums read them in a row. */
enum { CHUNK = 128 };

INLINE void load_records(const real *records, const int32_t *list, int count, real *chunk)
{
    for (int k = 0; k < count; k++) {
        __builtin_prefetch(records + (size_t)list[k + 16 < count ? k + 16 : count - 1] * MPM_SPH_RECORD);
        memcpy(chunk + k * MPM_SPH_RECORD, records + (size_t)list[k] * MPM_SPH_RECORD, MPM_SPH_RECORD * sizeof(real));
    }
}

/** Entry `column` of the records of a tile. Lanes beyond its last particle repeat that one. */
INLINE wide load_column(const real *records, int count, int column)
{
    real lanes[MPM_SPH_MOST_LANES] __attribute__((aligned(64)));
    for (int q = 0; q < WIDTH; q++)
        lanes[q] = records[(q < count ? q : count - 1) * MPM_SPH_RECORD + column];
    return wide_load(lanes);
}

/* The columns of a record. */
enum { RECORD_X = 0, RECORD_V = DIM, RECORD_P = 2 * DIM, RECORD_S = 2 * DIM + 1 };
