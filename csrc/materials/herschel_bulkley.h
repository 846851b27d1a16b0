/* SPDX-License-Identifier: MIT
 *
 * Yield-stress fluid (Herschel and Bulkley; Bingham where n = 1): an elastic solid below its yield stress, which flows
 * at constant volume above it. Elastic in its logarithmic strain (materials/hencky.h).
 *
 *     F = F_E F_P,  det F_P = 1,  e = 1/2 ln F_E F_E^T,  tau = sqrt(2) mu |dev e|       Kirchhoff stress [Pa]
 *     tau = tau_y + k rate^n    where it flows; in steady simple shear `rate` is that of the shear
 *
 * The return map solves k rate^n + mu dt rate = tau - tau_y by Newton's method in rate^n, if n <= 1, else in rate: in
 * either case the left side is convex, so that the iteration falls from above. The step is implicit: no viscosity
 * limits dt. Without a yield stress the fluid relaxes in the time k/mu (Maxwell). W. H. Herschel & R. Bulkley,
 * Kolloid-Z. 39 (1926) 291; Y. Yue et al., ACM TOG 34(5) (2015) 160.
 */
#pragma once
#include "materials/row.h"

#define HERSCHEL_BULKLEY_PARAMETERS(P) \
    P(bulk_modulus, "Pa", POSITIVE, "K") \
    P(shear_modulus, "Pa", POSITIVE, "mu: elastic, before it flows") \
    P(yield_stress, "Pa", NOT_NEGATIVE, "tau_y: shear stress at which it flows") \
    P(consistency, "Pa s^n", NOT_NEGATIVE, "k: growth of the stress with the rate of shear", \
      .branches = MPM_BRANCHES_AT_0) \
    P(exponent, "1", 0.1, 10, false, false, "n: 1 Bingham, below 1 shear-thinning, above shear-thickening", \
      .branches = MPM_BRANCHES_AT_1) \
    DENSITY(P)

struct herschel_bulkley_parameters { HERSCHEL_BULKLEY_PARAMETERS(MPM_MEMBER) };

MPM_ROW(herschel_bulkley,
    .name = "herschel_bulkley", .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(herschel_bulkley, HERSCHEL_BULKLEY_PARAMETERS),
    .fields = 2, .field = {STRETCH_OUT_OF_PLANE, PLASTIC_STRAIN},
    .reference = "Y. Yue, B. Smith, C. Batty, C. Zheng, E. Grinspun, Continuum foam: A material point method for "
                 "shear-dependent flows, ACM Transactions on Graphics 34(5) (2015) 160. doi:10.1145/2751541")

#ifdef MPM_DIM /* for kernels */
#include "materials/flow_tangent.h"
#include "materials/hencky_flow.h"

enum { HERSCHEL_BULKLEY_FZZ, HERSCHEL_BULKLEY_STRAIN }; /* index in the history */

struct herschel_bulkley {
    struct hencky elastic;
    wide yield, consistency;   /* tau_y [Pa], k [Pa s^n] */
    wide ln_consistency;       /* ln k */
    wide of_rate, of_viscous;  /* powers of the unknown v: rate = v^of_rate, rate^n = v^of_viscous; the lesser is 1 */
    bool is_viscous, is_newtonian; /* k > 0; n = 1 */
};

INLINE struct herschel_bulkley herschel_bulkley_prepare(const struct herschel_bulkley_parameters *p)
{
    const double mu = p->shear_modulus, k = p->consistency, n = p->exponent;
    const struct herschel_bulkley law = {
        .elastic = {wide_set((real)mu), wide_set((real)(p->bulk_modulus - 2 * mu / 3))},
        .yield = wide_set((real)p->yield_stress),
        .consistency = wide_set((real)k),
        .ln_consistency = wide_log_any(wide_set((real)k)),
        .of_rate = wide_set((real)(n < 1 ? 1 / n : 1)),
        .of_viscous = wide_set((real)(n < 1 ? 1 : n)),
        .is_viscous = k > 0,
        .is_newtonian = n == 1,
    };
    return law;
}

/* The part of `excess` > 0 that the flow of a step removes. With v at its upper bound e^start, the terms of the
 * equation are the shares A and C of the excess, the larger of them 1; z, v over that bound, is between 1/2 and 1. */
INLINE wide herschel_bulkley_drop(const struct herschel_bulkley *law, wide excess, wide mu_dt)
{
    if (!law->is_viscous)
        return excess;
    if (law->is_newtonian)
        return excess * (mu_dt / (law->consistency + mu_dt));
    const wide one = wide_set(1), a = law->of_viscous, b = law->of_rate;
    const wide ln_excess = wide_log_any(excess), viscous = law->ln_consistency - ln_excess;
    const wide elastic = wide_log_any(mu_dt) - ln_excess;
    const wide start = wide_min(-viscous / a, -elastic / b);
    const wide A = wide_exp(wide_fma(a, start, viscous)), C = wide_exp(wide_fma(b, start, elastic));
    wide z = one, flowed = C;
    for (int k = 0; k < (REAL_IS_FLOAT ? 6 : 7); k++) {
        const wide ln_z = wide_log(z);
        const wide friction = A * wide_exp(a * ln_z);
        flowed = C * wide_exp(b * ln_z);
        z -= z * (friction + flowed - one) / wide_fma(a, friction, b * flowed);
        z = wide_min(wide_max(z, wide_set((real)0.25)), one);
    }
    return excess * wide_min(C * wide_exp(b * wide_log(z)), one);
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the fault stays visible. */
INLINE mask herschel_bulkley_return_map(const struct herschel_bulkley *law, struct law_state *state, wide dt,
                                        matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), mu = law->elastic.mu;
    const struct hencky_trial t = hencky_trial_of(state->F, state->history[HERSCHEL_BULKLEY_FZZ]);
    const wide tau = wide_set((real)1.4142135623730951) * mu * t.length, excess = tau - law->yield;
    const mask flows = t.sound & wide_less(zero, excess);
    if (mask_any(flows)) {
        const wide drop = herschel_bulkley_drop(law, wide_select(flows, excess, one), mu * dt);
        const wide keep = wide_select(flows, wide_max(tau - drop, zero) / wide_select(flows, tau, one), one);
        matrix F = state->F;
        wide Fzz = state->history[HERSCHEL_BULKLEY_FZZ];
        hencky_return(&t, &F, &Fzz, keep, wide_set(0), flows);
        state->F = F;
        state->history[HERSCHEL_BULKLEY_FZZ] = Fzz;
        const wide flowed = wide_select(flows, (one - keep) * t.length, zero);
        const wide before = state->history[HERSCHEL_BULKLEY_STRAIN];
        state->history[HERSCHEL_BULKLEY_STRAIN] = wide_fma(wide_set(PLASTIC_SHEAR), flowed, before);
    }
    return wide_less(one, zero);
}

INLINE struct law_evaluation herschel_bulkley_evaluate(const struct herschel_bulkley *law, struct law_state state,
                                                       matrix velocity_gradient)
{
    (void)velocity_gradient;
    return hencky_flow_evaluate(&law->elastic, state.F, state.history[HERSCHEL_BULKLEY_FZZ]);
}

/* n (tau - tau_y - drop) is d(k rate^n)/d(ln rate). */
INLINE struct law_tangent herschel_bulkley_tangent(const struct herschel_bulkley *law, const wide stretch[DIM],
                                                   const struct law_state *state, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), mu = law->elastic.mu;
    struct flow_trial t = flow_trial_of(stretch, state, 3, flow_zz(state, HERSCHEL_BULKLEY_FZZ));
    const struct law_evaluation mapped = flow_map(MPM_HERSCHEL_BULKLEY, law, &t.state, dt);
    const wide tau = wide_set((real)1.4142135623730951) * mu * t.length, excess = tau - law->yield;
    const mask flows = t.strained & wide_less(zero, excess);
    const wide drop = herschel_bulkley_drop(law, wide_select(flows, excess, one), mu * dt);
    const wide viscous = wide_max(excess - drop, zero) * (law->of_viscous / law->of_rate);
    const wide kept = wide_max(tau - drop, zero) / wide_select(flows, tau, one);
    struct flow_slopes flow = flow_elastic(flow_bulk(&law->elastic));
    flow.keep = wide_select(flows, kept, one);
    flow.by_length = wide_select(flows, viscous / (viscous + wide_select(flows, drop, one)), one);
    return flow_radial_tangent(&t, &mapped, mu, 3, &flow);
}
#endif
