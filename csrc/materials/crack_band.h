/* SPDX-License-Identifier: MIT
 *
 * A crack smeared over a band of the width l_c, which dissipates the fracture energy G_f per area: the toughness
 * G_f/l_c per volume. Z. P. Bazant & B. H. Oh, Materials and Structures 16 (1983) 155.
 *
 * Where a material flows as it softens, with w = `damage` and the plastic work dW of a step, per rest volume and at
 * undamaged stress, and the undamaged energy E that the damage releases,
 *
 *     dw = (1 - w) dW/(G_f/l_c - E)
 *
 * so that flow and release, (1 - w) dW + E dw, dissipate G_f/l_c dw: the same whatever the path, the hardening and l_c.
 * Where E has reached G_f/l_c, stress would snap back, and the particle breaks at once. G_f = 0 stands for that.
 */
#pragma once
#include "materials/row.h"

#define CRACK_BAND(P, range_of_energy) \
    P(fracture_energy, "J/m2", range_of_energy, "G_f: energy that a crack dissipates per area") \
    P(crack_band, "m", POSITIVE, "l_c: width of the band of a crack")

#define DAMAGE \
    {"damage", "1", MPM_SCALAR, .low = 0, .high = 1, .closed = true, \
     .meaning = "share of the stiffness in tension that cracks have taken"}

#define CRACK_BAND_REFERENCE \
    "Z. P. Bazant, B. H. Oh, Crack band theory for fracture of concrete, Materials and Structures 16 (1983) 155-177. " \
    "doi:10.1007/BF02486267"

#ifdef MPM_DIM /* for kernels */
#include "math/elementary.h"

#define CRACK_BAND_LEFT ((real)1e-3) /* a crack that carries this share is open for good */

/* The share 1 - w that is left after the plastic work of a step at undamaged stress. The stress of the step is between
 * those of its beginning and of its end, `end` times the latter: so the step dissipates what the damage says. Lanes
 * without work keep their share. */
INLINE wide crack_band_soften(wide toughness, wide kept, wide work, wide released, double end)
{
    const wide zero = wide_set(0), one = wide_set(1), rest = toughness - released;
    const mask grows = wide_less(zero, work), holds = wide_less(zero, rest);
    const wide x = wide_max(work, zero) / wide_select(holds, rest, one);
    const wide found = kept * wide_fnma(wide_set((real)(1 - end)), x, one) / wide_fma(wide_set((real)end), x, one);
    const wide left = wide_select(holds & wide_less_equal(wide_set(CRACK_BAND_LEFT), found), found, zero);
    return wide_select(grows, left, kept);
}
#endif
