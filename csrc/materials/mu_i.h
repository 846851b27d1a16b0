/* SPDX-License-Identifier: MIT
 *
 * Dense granular flow, the mu(I) rheology: grains whose friction grows with the rate at which they slide. Elastic in
 * its logarithmic strain (materials/hencky.h); it parts without resistance.
 *
 *     F = F_E F_P,  e = 1/2 ln F_E F_E^T,  p = -K tr e,  tau = sqrt(2) mu |dev e|       Kirchhoff stress [Pa]
 *     tau <= mu(I) p,  mu(I) = mu_1 + (mu_2 - mu_1)/(I_0/I + 1),  I = rate d sqrt(rho_s/p)
 *
 * The return map uses the trial values of t = tr e + ln g, where g is the volume ratio of the gap between grains. Where
 * tau > mu_1 p they slide at constant volume, with tau - mu dt rate = mu(I) p: with Q = I_0/(d sqrt(rho_s)) and S = tau
 * - mu_1 p, the change x = mu dt rate is the positive root of
 *
 *     x^2 + (mu dt Q sqrt(p) + (mu_2 - mu_1) p - S) x - mu dt Q sqrt(p) S = 0
 *
 * P. Jop, Y. Forterre & O. Pouliquen, Nature 441 (2006) 727; the step as in S. Dunatunga & K. Kamrin, J. Fluid Mech.
 * 779 (2015) 483; gaps as in Tampubolon et al., ACM TOG 36(4) (2017) 105.
 */
#pragma once
#include "materials/row.h"

#define MU_I_PARAMETERS(P) \
    ELASTIC_MODULI(P) \
    P(mu_1, "1", POSITIVE, "friction of slow flow") \
    P(mu_2, "1", POSITIVE, "friction of fast flow") \
    P(I_0, "1", POSITIVE, "inertial number halfway between the two") \
    P(grain_diameter, "m", POSITIVE, "diameter of the grains") \
    P(grain_density, "kg/m3", POSITIVE, "density of the grains themselves") \
    DENSITY(P)

struct mu_i_parameters { MU_I_PARAMETERS(MPM_MEMBER) };

static inline const char *mu_i_unfit(const double *values)
{
    const struct mu_i_parameters *p = MPM_VALUES(mu_i, values);
    return p->mu_2 >= p->mu_1 ? NULL : "mu_2 must be >= mu_1";
}

MPM_ROW(mu_i,
    .name = "mu_i", .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(mu_i, MU_I_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(mu_i_unfit),
    .fields = 4, .field = {PLASTIC_VOLUME_RATIO, STRETCH_OUT_OF_PLANE, GAP, PLASTIC_STRAIN},
    .reference = "P. Jop, Y. Forterre, O. Pouliquen, A constitutive law for dense granular flows, Nature 441 "
                 "(2006) 727-730. doi:10.1038/nature04801")

#ifdef MPM_DIM /* for kernels */
#include "materials/flow_tangent.h"
#include "materials/hencky_flow.h"

enum { MU_I_JP, MU_I_FZZ, MU_I_GAP, MU_I_STRAIN }; /* index in the history */

struct mu_i {
    struct hencky elastic;
    wide bulk;            /* K [Pa] */
    wide least, range;    /* mu_1, mu_2 - mu_1 */
    wide pace;            /* Q = I_0/(d sqrt(rho_s)): rate over sqrt(p) at which I = I_0 */
};

INLINE struct mu_i mu_i_prepare(const struct mu_i_parameters *p)
{
    const struct mu_i law = {
        .elastic = hencky_of(p->E, p->nu),
        .bulk = wide_set((real)(p->E / (3 * (1 - 2 * p->nu)))),
        .least = wide_set((real)p->mu_1),
        .range = wide_set((real)(p->mu_2 - p->mu_1)),
        .pace = wide_set((real)(p->I_0 / (p->grain_diameter * __builtin_sqrt(p->grain_density)))),
    };
    return law;
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the fault stays visible. */
INLINE mask mu_i_return_map(const struct mu_i *law, struct law_state *state, wide dt, matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), mu = law->elastic.mu, K = law->bulk;
    const struct hencky_trial t = hencky_trial_of(state->F, state->history[MU_I_FZZ]);
    const wide before = state->history[MU_I_GAP], lift = wide_log_any(before), volume = t.trace + lift;
    const wide p = -K * volume, tau = wide_set((real)1.4142135623730951) * mu * t.length;
    const wide excess = wide_fnma(law->least, p, tau);
    const mask parts = t.sound & wide_less_equal(p, zero);
    const mask slides = t.sound & wide_less(zero, p) & wide_less(zero, excess);
    const mask changes = parts | slides | (t.sound & (wide_less(before, one) | wide_less(one, before)));
    if (!mask_any(changes))
        return wide_less(one, zero);

    const wide reach = mu * dt * law->pace * wide_sqrt(wide_max(p, zero));
    const wide linear = wide_fma(law->range, p, reach - excess), product = reach * excess;
    const wide root = wide_sqrt(wide_fma(linear, linear, wide_set(4) * product));
    const mask grows = wide_less(zero, linear); /* two forms of the root: nothing cancels */
    const wide small = (product + product) / wide_select(grows, linear + root, one);
    const wide x = wide_select(grows, small, half * (root - linear));
    const wide slid = wide_max(tau - x, zero) / wide_select(slides, tau, one);
    const wide keep = wide_select(parts, zero, wide_select(slides, slid, one));
    const wide rise = wide_select(parts, -t.trace, lift);

    matrix F = state->F;
    wide Fzz = state->history[MU_I_FZZ], Jp = state->history[MU_I_JP], gap = before;
    hencky_return(&t, &F, &Fzz, keep, rise, changes);
    const wide opened = wide_select(parts, volume, zero);
    const mask limited = hencky_keep_volume(&Jp, &gap, -rise, wide_exp(opened), changes);
    state->F = F;
    state->history[MU_I_FZZ] = Fzz;
    state->history[MU_I_JP] = Jp;
    state->history[MU_I_GAP] = gap;
    const wide flowed = wide_select(parts | slides, (one - keep) * t.length, zero);
    state->history[MU_I_STRAIN] = wide_fma(wide_set(PLASTIC_SHEAR), flowed, state->history[MU_I_STRAIN]);
    return limited;
}

INLINE struct law_evaluation mu_i_evaluate(const struct mu_i *law, struct law_state state, matrix velocity_gradient)
{
    (void)velocity_gradient;
    return hencky_flow_evaluate(&law->elastic, state.F, state.history[MU_I_FZZ]);
}

/* The change x of the shear stress solves x^2 + (R + range p - S) x - R S = 0 (mu_i.h), R = mu dt Q sqrt(p). */
INLINE struct law_tangent mu_i_tangent(const struct mu_i *law, const wide stretch[DIM], const struct law_state *state,
                                       wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), mu = law->elastic.mu, K = law->bulk;
    struct flow_trial t = flow_trial_of(stretch, state, 3, flow_zz(state, MU_I_FZZ));
    const struct law_evaluation mapped = flow_map(MPM_MU_I, law, &t.state, dt);
    const wide root2 = wide_set((real)1.4142135623730951), tau = root2 * mu * t.length;
    const wide p = -K * (t.trace + wide_log_any(state->history[MU_I_GAP])), S = wide_fnma(law->least, p, tau);
    const mask parts = wide_less_equal(p, zero), slides = t.strained & wide_less(zero, p) & wide_less(zero, S);
    const wide press = wide_select(slides, p, one), reach = mu * dt * law->pace * wide_sqrt(press);
    const wide linear = wide_fma(law->range, p, reach - S), product = reach * S;
    const wide root = wide_sqrt(wide_max(wide_fma(linear, linear, wide_set(4) * product), zero));
    const mask grows = wide_less(zero, linear);
    const wide x = wide_select(grows, (product + product) / wide_select(grows, linear + root, one),
                               half * (root - linear));
    const wide whole = wide_select(slides & wide_less(zero, root), root, one), R_p = half * reach / press;
    const wide x_tau = (x + reach) / whole;
    const wide x_p = (R_p * S - law->least * reach - (R_p + law->range + law->least) * x) / whole;
    const struct flow_slopes elastic = flow_elastic(K);
    const struct flow_slopes sliding = {
        .keep = wide_max(tau - x, zero) / wide_select(slides, tau, one), .by_length = one - x_tau,
        .by_trace = K * x_p / (root2 * mu), .mean_by_length = zero, .mean_by_trace = K};
    const struct flow_slopes parted = {zero, zero, zero, zero, zero};
    const struct flow_slopes flow = flow_select(parts, parted, flow_select(slides, sliding, elastic));
    return flow_definite(flow_radial_tangent(&t, &mapped, mu, 3, &flow));
}
#endif
