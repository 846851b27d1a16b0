/* SPDX-License-Identifier: MIT
 *
 * Soil: elastic in its logarithmic strain (materials/hencky.h). It slides where shear exceeds friction and cohesion
 * (Drucker and Prager), gains volume as it slides, and parts at a tension.
 *
 *     F = F_E F_P,  e = 1/2 ln F_E F_E^T,  p = -K tr e,  q = sqrt(3/2) 2 mu |dev e|           F_E is the particle's F
 *     q <= M p + k,  p >= -sigma_t                                yield: Kirchhoff stress [Pa], sigma_t <= k/M
 *
 * The return map, with the trial values of t = tr e + ln g, where g is the volume ratio of the gap between grains:
 *
 *     sliding   gamma = (q - M p - k)/(3 mu + K M D):  q -> q - 3 mu gamma,  p -> p + K D gamma,  g = 1
 *     parting   where p < -sigma_t after that:  p -> -sigma_t,  q -> min(q, k - M sigma_t),  g takes the other volume
 *
 * D is the ratio of the plastic strains of volume and shear. Jp = det F_P takes what F_E loses. E. A. de Souza Neto, D.
 * Peric & D. R. J. Owen, Computational Methods for Plasticity (2008), chapter 8; gaps as in Tampubolon et al., ACM TOG
 * 36(4) (2017) 105.
 */
#pragma once
#include "materials/hencky_flow.h"
#include "materials/sand.h"

enum { DRUCKER_PRAGER_JP, DRUCKER_PRAGER_FZZ, DRUCKER_PRAGER_GAP }; /* index in the history */

struct drucker_prager {
    struct hencky elastic;
    wide bulk;               /* K [Pa] */
    wide friction, dilation; /* M, D */
    wide strength, tension;  /* k, sigma_t [Pa] */
    wide corner;             /* q where grains part as they slide: k - M sigma_t */
};

/* M and D, where the cone meets Mohr and Coulomb's criterion with the sines of friction and dilation. For plastic flow
 * in a plane, s_zz = -2/9 D q: then half the difference of the principal stresses is a q, and the pressure in the plane
 * p - D q/9. */
INLINE void drucker_prager_cone(double cone, double friction, double dilation, double *M, double *D)
{
    if (cone == 2) {
        *D = 1.7320508075688772 * dilation / __builtin_sqrt(1 + dilation * dilation / 3);
        const double a = __builtin_sqrt((1 - *D * *D / 9) / 3);
        *M = friction / (a + *D * friction / 9);
    } else {
        const double sign = cone == 0 ? -1 : 1;
        *M = 6 * friction / (3 + sign * friction);
        *D = 6 * dilation / (3 + sign * dilation);
    }
}

INLINE struct drucker_prager drucker_prager_prepare(const double *values)
{
    double sine, cosine, dilation, unused, M, D;
    sand_angle(values[2] * (3.14159265358979323846 / 180), &sine, &cosine);
    sand_angle(values[3] * (3.14159265358979323846 / 180), &dilation, &unused);
    drucker_prager_cone(values[6], sine, dilation, &M, &D);
    const double apex = values[4] * cosine / sine, tension = values[5] < apex ? values[5] : apex;
    return (struct drucker_prager){
        .elastic = hencky_prepare(values),
        .bulk = wide_set((real)(values[0] / (3 * (1 - 2 * values[1])))),
        .friction = wide_set((real)M),
        .dilation = wide_set((real)D),
        .strength = wide_set((real)(M * apex)),
        .tension = wide_set((real)tension),
        .corner = wide_set((real)(M * (apex - tension))),
    };
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the trouble stays visible. */
INLINE mask drucker_prager_return_map(const struct drucker_prager *law, struct law_state *state, wide dt,
                                      matrix velocity_gradient)
{
    (void)dt, (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), mu = law->elastic.mu, three_mu = wide_set(3) * mu, K = law->bulk;
    const struct hencky_trial t = hencky_trial_of(state->F, state->history[DRUCKER_PRAGER_FZZ]);
    const wide before = state->history[DRUCKER_PRAGER_GAP], lift = wide_log_any(before), volume = t.trace + lift;
    const wide p = -K * volume, q = wide_set((real)2.4494897427831781) * mu * t.length; /* 2 sqrt(3/2) */
    const wide over = q - wide_fma(law->friction, p, law->strength);
    const mask flat = t.sound & wide_less(p, -law->tension) & wide_less_equal(q, law->corner);
    const mask slides = t.sound & mask_not(flat) & wide_less(zero, over);
    const mask changes = flat | slides | (t.sound & (wide_less(before, one) | wide_less(one, before)));
    if (!mask_any(changes))
        return wide_less(one, zero);

    const wide flow = over / wide_fma(K * law->friction, law->dilation, three_mu);
    const wide slid_q = wide_fnma(three_mu, flow, q), slid_p = wide_fma(K * law->dilation, flow, p);
    const mask corner = slides & wide_less(slid_p, -law->tension), parts = flat | corner;
    const wide new_q = wide_select(corner, law->corner, slid_q);
    const wide dilated = wide_select(corner, law->dilation * (q - law->corner) / three_mu, zero);
    const wide opened = wide_select(parts, volume - law->tension / K - dilated, zero);

    /* of the trace, as strain: p = -K tr e and back has lost its last digit */
    const wide slid = wide_fnma(law->dilation, wide_select(slides, flow, zero), lift);
    const wide rise = wide_select(parts, law->tension / K - t.trace, slid);
    const wide keep = new_q / wide_select(wide_less(zero, q), q, one);
    matrix F = state->F;
    wide Fzz = state->history[DRUCKER_PRAGER_FZZ], Jp = state->history[DRUCKER_PRAGER_JP], gap = before;
    hencky_return(&t, &F, &Fzz, wide_select(slides, keep, one), rise, changes);
    const mask limited = hencky_keep_volume(&Jp, &gap, -rise, wide_exp(opened), changes);
    state->F = F;
    state->history[DRUCKER_PRAGER_FZZ] = Fzz;
    state->history[DRUCKER_PRAGER_JP] = Jp;
    state->history[DRUCKER_PRAGER_GAP] = gap;
    return limited;
}

INLINE struct law_evaluation drucker_prager_evaluate(const struct drucker_prager *law, struct law_state state,
                                                     matrix velocity_gradient)
{
    (void)velocity_gradient;
    return hencky_flow_evaluate(&law->elastic, state.F, state.history[DRUCKER_PRAGER_FZZ]);
}
