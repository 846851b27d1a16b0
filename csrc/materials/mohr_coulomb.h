/* SPDX-License-Identifier: MIT
 *
 * Soil or rock by Mohr and Coulomb: elastic in its logarithmic strain (materials/hencky.h). It slides on the plane
 * where shear exceeds friction and cohesion, gains volume as it slides, and parts at the apex of the yield surface.
 *
 *     F = F_E F_P,  e = 1/2 ln F_E F_E^T,  tau_i = 2 mu e_i + lambda tr e          F_E is the particle's F
 *     (1 + sin phi) tau_1 - (1 - sin phi) tau_3 <= 2 c cos phi                     yield: tau_1 >= tau_2 >= tau_3 [Pa]
 *
 * The return map goes, with the flow of the dilation angle psi, to the plane, or if the principal stresses would change
 * places to the edge tau_1 = tau_2 or tau_2 = tau_3, or if these cross there to the apex tau_i = c cot phi, where
 * grains part: the gap g takes the rest of the volume. The trial strain includes ln g/3 along each axis. Jp = det F_P
 * takes what F_E loses. Flow is found as a change of strain: differences of stresses, which lose the digits of 2 mu e
 * beside lambda tr e where nu is near 1/2, would feed energy to the deviator. E. A. de Souza Neto, D. Peric & D. R. J. Owen, Computational Methods for Plasticity (2008),
 * section 8.2; gaps as in Tampubolon et al., ACM TOG 36(4) (2017) 105.
 */
#pragma once
#include "materials/hencky_flow.h"
#include "materials/sand.h"

enum { MOHR_COULOMB_JP, MOHR_COULOMB_FZZ, MOHR_COULOMB_GAP }; /* index in the history */

struct mohr_coulomb {
    struct hencky elastic;
    wide bulk3;              /* 3 K [Pa] */
    wide tensile, pressed;   /* 2 mu (1 + sin phi), 2 mu (1 - sin phi) [Pa] */
    wide volume;             /* 2 lambda sin phi [Pa] */
    wide cohesion, tip;      /* 2 c cos phi, c cot phi [Pa] */
    wide inner;              /* M of the largest cone q = M (p + c cot phi) within the surface */
    wide along, across;      /* strain per flow on a plane: 1 + sin psi, 1 - sin psi */
    wide plane, right, left; /* 1/stiffness of the plane, of the edges tau_1 = tau_2 and tau_2 = tau_3 [1/Pa] */
    wide apex;               /* strain along each axis where grains part */
};

INLINE struct mohr_coulomb mohr_coulomb_prepare(const double *values)
{
    const double E = values[0], nu = values[1], mu = E / (2 * (1 + nu)), lambda = E * nu / ((1 + nu) * (1 - 2 * nu));
    double s, cosine, d, unused;
    sand_angle(values[2] * (3.14159265358979323846 / 180), &s, &cosine);
    sand_angle(values[3] * (3.14159265358979323846 / 180), &d, &unused);
    const double first = 2 * mu * (1 + s) * (1 + d), third = 2 * mu * (1 - s) * (1 - d), both = 4 * lambda * s * d;
    const double tip = values[4] * cosine / s;
    return (struct mohr_coulomb){
        .elastic = {wide_set((real)mu), wide_set((real)lambda)},
        .bulk3 = wide_set((real)(E / (1 - 2 * nu))),
        .tensile = wide_set((real)(2 * mu * (1 + s))),
        .pressed = wide_set((real)(2 * mu * (1 - s))),
        .volume = wide_set((real)(2 * lambda * s)),
        .cohesion = wide_set((real)(2 * values[4] * cosine)),
        .tip = wide_set((real)tip),
        .inner = wide_set((real)(3 * s / __builtin_sqrt(3 + s * s))),
        .along = wide_set((real)(1 + d)),
        .across = wide_set((real)(1 - d)),
        .plane = wide_set((real)(1 / (first + third + both))),
        .right = wide_set((real)(1 / (first + 2 * third + 2 * both))),
        .left = wide_set((real)(1 / (2 * first + third + 2 * both))),
        .apex = wide_set((real)(tip * (1 - 2 * nu) / E)),
    };
}

/* Ordered principal strains after the return, and whether grains part. */
struct mohr_coulomb_strain {
    wide high, middle, low;
    mask yields, parts;
};

/* By how much stress exceeds the yield surface, given the largest strain, the smallest, and the part of `rest`. */
INLINE wide mohr_coulomb_over(const struct mohr_coulomb *law, wide high, wide low, wide rest)
{
    return wide_fma(law->tensile, high, wide_fnma(law->pressed, low, rest));
}

INLINE struct mohr_coulomb_strain mohr_coulomb_map(const struct mohr_coulomb *law, wide high, wide middle, wide low)
{
    const wide half = wide_set((real)0.5), rest = wide_fma(law->volume, high + middle + low, -law->cohesion);
    const wide over = mohr_coulomb_over(law, high, low, rest);
    struct mohr_coulomb_strain r = {.yields = wide_less(wide_set(0), over)};
    const wide flow = over * law->plane;
    const wide plane_high = wide_fnma(flow, law->along, high), plane_low = wide_fma(flow, law->across, low);

    const wide right_flow = (over + mohr_coulomb_over(law, middle, low, rest)) * law->right;
    const wide right_high = half * wide_fnma(right_flow, law->along, high + middle);
    const wide right_low = wide_fma(right_flow, law->across, low);

    const wide left_flow = (over + mohr_coulomb_over(law, high, middle, rest)) * law->left;
    const wide left_high = wide_fnma(left_flow, law->along, high);
    const wide left_low = half * wide_fma(left_flow, law->across, middle + low);

    const mask right = wide_less(plane_high, middle), left = mask_not(right) & wide_less(middle, plane_low);
    r.high = wide_select(right, right_high, wide_select(left, left_high, plane_high));
    r.low = wide_select(right, right_low, wide_select(left, left_low, plane_low));
    r.middle = wide_select(right, right_high, wide_select(left, left_low, middle));
    r.parts = r.yields & wide_less(r.high, r.low);
    r.high = wide_select(r.yields, wide_select(r.parts, law->apex, r.high), high);
    r.middle = wide_select(r.yields, wide_select(r.parts, law->apex, r.middle), middle);
    r.low = wide_select(r.yields, wide_select(r.parts, law->apex, r.low), low);
    return r;
}

/* The return map for a tile in which the lanes of `may` may yield or close gaps. Returns the lanes whose history it
 * limited. */
NOINLINE mask mohr_coulomb_yield(const struct mohr_coulomb *law, matrix *F, wide *Fzz, wide *Jp, wide *gap, mask may)
{
    const wide zero = wide_set(0), one = wide_set(1), third = wide_set((real)(1.0 / 3)), lift = wide_log_any(*gap);
    const struct singular s = singular_decompose(*F);
    wide strain[3], value[3];
    UNROLL for (int i = 0; i < 3; i++)
        strain[i] = wide_fma(third, lift, wide_log_any(i < DIM ? s.value[i < DIM ? i : 0] : *Fzz));
    const wide upper = wide_max(strain[0], strain[1]), lower = wide_min(strain[0], strain[1]);
    const wide high = wide_max(upper, strain[2]), low = wide_min(lower, strain[2]);
    const wide middle = wide_max(lower, wide_min(upper, strain[2]));
    const struct mohr_coulomb_strain r = mohr_coulomb_map(law, high, middle, low);

    const mask changes = may & (r.yields | wide_less(*gap, one) | wide_less(one, *gap));
    const wide flowed = (r.high - high) + (r.middle - middle) + (r.low - low); /* of the trace */
    UNROLL for (int i = 0; i < 3; i++) {
        const wide lesser = wide_select(wide_less(low, strain[i]), r.middle, r.low);
        value[i] = wide_exp(wide_select(wide_less(strain[i], high), lesser, r.high));
    }
    *F = matrix_select(changes, singular_compose(&s, value), *F);
    if (DIM == 2)
        *Fzz = wide_select(changes, value[2], *Fzz);
    const wide opened = wide_select(r.parts, -flowed, zero);
    return hencky_keep_volume(Jp, gap, -flowed - lift, wide_exp(opened), changes);
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the trouble stays visible. Within the inner cone no lane needs a decomposition. */
INLINE mask mohr_coulomb_return_map(const struct mohr_coulomb *law, struct law_state *state, wide dt,
                                    matrix velocity_gradient)
{
    (void)dt, (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), third = wide_set((real)(1.0 / 3));
    wide Fzz = state->history[MOHR_COULOMB_FZZ], Jp = state->history[MOHR_COULOMB_JP];
    wide gap = state->history[MOHR_COULOMB_GAP];
    const struct hencky_trial t = hencky_trial_of(state->F, Fzz);
    const wide p = -third * law->bulk3 * t.trace, q = wide_set((real)2.4494897427831781) * law->elastic.mu * t.length;
    const mask inside = wide_less_equal(q, law->inner * (p + law->tip));
    const mask may = t.sound & (mask_not(inside) | wide_less(gap, one) | wide_less(one, gap));
    if (!mask_any(may))
        return wide_less(one, zero);
    matrix F = state->F; /* copies in memory, so that the state stays in registers */
    const mask limited = mohr_coulomb_yield(law, &F, &Fzz, &Jp, &gap, may);
    state->F = F;
    state->history[MOHR_COULOMB_FZZ] = Fzz;
    state->history[MOHR_COULOMB_JP] = Jp;
    state->history[MOHR_COULOMB_GAP] = gap;
    return limited;
}

INLINE struct law_evaluation mohr_coulomb_evaluate(const struct mohr_coulomb *law, struct law_state state,
                                                   matrix velocity_gradient)
{
    (void)velocity_gradient;
    return hencky_flow_evaluate(&law->elastic, state.F, state.history[MOHR_COULOMB_FZZ]);
}
