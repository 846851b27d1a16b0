/* SPDX-License-Identifier: MIT
 *
 * What the correction of the density does to a particle (fill.c): for processors and GPUs.
 */
#pragma once
#include "math/matrix.h"

/* The relative error that it leaves alone, the largest that counts, and the largest share of the error that a step
 * removes. */
#define FILL_DEAD_BAND 0.01
#define FILL_MOST 0.5
#define FILL_STEP 0.05

/* J of a fluid, drawn to the volume that its particles take on the grid. Its rate is that of the shear: what is at
 * rest, moves, turns or swells as a whole keeps J. `per_shear`: kappa dt. `J`: before the step, when the particles were
 * at the places that the grid has seen; `new_J`: after it. `fill`: how full the grid is there. */
INLINE wide density_corrected(wide per_shear, matrix gradient, wide mass, wide fill, wide J, wide new_J)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5);
    const wide ratio = J * fill;
    const wide torn = wide_max(fill, one); /* spray, or a crack: it may only be denser than at rest */
    const wide excess = wide_select(wide_less(one, J), torn, ratio) - one, size = wide_abs(excess);
    const wide counted = wide_min(wide_max(size - wide_set((real)FILL_DEAD_BAND), zero), wide_set((real)FILL_MOST));
    const wide mean = wide_set((real)(2.0 / DIM)) * matrix_trace(gradient);
    wide shear2 = zero; /* 2 D:D */
    UNROLL for (int a = 0; a < DIM; a++)
        UNROLL for (int b = 0; b < DIM; b++) {
            const wide sum = gradient.m[a][b] + gradient.m[b][a] - (a == b ? mean : zero);
            shear2 = wide_fma(half * sum, sum, shear2);
        }
    const wide rate = per_shear * wide_sqrt(shear2);
    const wide share = wide_min(rate, wide_set((real)FILL_STEP)) * counted;
    const wide gained = wide_select(wide_less(zero, excess), -share, share);
    return wide_select(wide_less(zero, mass), wide_fma(gained, new_J, new_J), new_J);
}
