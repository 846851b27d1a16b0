/* SPDX-License-Identifier: MIT
 *
 * What the kernels of processors and those of a GPU (mpm/gpu/) share beside the laws.
 */
#pragma once
#include "base/simd.h"

/* The quadratic B-spline along one axis: the weights of the three nodes, and the offset `e` of the particle from the
 * middle node, in [-1/2, 1/2]. Returns the first node. `x` and the result count in cells from the block's first
 * node. */
INLINE wide quadratic_weights(wide x, wide weight[3], wide *e)
{
    const wide half = wide_set((real)0.5), base = wide_floor(x - half);
    *e = x - (base + wide_set(1));
    const wide before = half - *e, after = half + *e;
    weight[0] = half * before * before;
    weight[1] = wide_fnma(*e, *e, wide_set((real)0.75));
    weight[2] = half * after * after;
    return base;
}

/* The least 1/dt^2 of dt^2 a + dt b <= 1, by which viscosity limits the step of a particle. */
INLINE wide damped_rate2(wide a, wide b)
{
    const wide rate = wide_set((real)0.5) * (b + wide_sqrt(wide_fma(b, b, wide_set(4) * wide_max(a, wide_set(0)))));
    return rate * rate;
}
