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
 * D is the ratio of the plastic strains of volume and shear. M, D and k follow the plastic strain at the beginning of a
 * step (materials/strength.h). Jp = det F_P takes what F_E loses. E. A. de Souza Neto, D.
 * Peric & D. R. J. Owen, Computational Methods for Plasticity (2008), chapter 8; gaps as in Tampubolon et al., ACM TOG
 * 36(4) (2017) 105.
 */
#pragma once
#include "materials/row.h"
#include "materials/strength.h"

/* Without the density, which is the last of a row. */
#define DRUCKER_PRAGER_OWN(P) \
    ELASTIC_MODULI(P) \
    FRICTION_ANGLE(P) \
    P(dilation_angle_deg, "deg", 0, 90, false, true, "psi: angle of dilation") \
    P(cohesion, "Pa", NOT_NEGATIVE, "shear strength without pressure") \
    P(tension, "Pa", 0, INFINITY, false, false, "mean tension at which grains part, at most c cot phi") \
    P(cone, "1", 0, 2, false, false, "where it meets Mohr-Coulomb: compression, extension, plane strain") \
    STRENGTH_PARAMETERS(P)

#define DRUCKER_PRAGER_PARAMETERS(P) \
    DRUCKER_PRAGER_OWN(P) \
    DENSITY(P)

#define DRUCKER_PRAGER_FIELDS PLASTIC_VOLUME_RATIO, STRETCH_OUT_OF_PLANE, GAP, PLASTIC_STRAIN

#define DRUCKER_PRAGER_REFERENCE \
    "D. C. Drucker, W. Prager, Soil mechanics and plastic analysis or limit design, Quarterly of Applied Mathematics " \
    "10 (1952) 157-165. doi:10.1090/qam/48291"

struct drucker_prager_parameters { DRUCKER_PRAGER_PARAMETERS(MPM_MEMBER) };

#define DRUCKER_PRAGER_START(p) {(p)->friction_angle_deg, (p)->dilation_angle_deg, (p)->cohesion}

static inline const char *drucker_prager_unfit(const double *values)
{
    const struct drucker_prager_parameters *p = MPM_VALUES(drucker_prager, values);
    const double slack = 1 - 1e-12; /* rounding, where a limit is computed from other parameters */
    double sine, cosine;
    angle_sine_cosine(p->friction_angle_deg * (3.14159265358979323846 / 180), &sine, &cosine);
    const double start[3] = DRUCKER_PRAGER_START(p);
    const char *broken = strength_unfit(start, &p->table_strain_1, false);
    if (!broken && !isinf(p->tension) && !(p->tension * slack <= p->cohesion * cosine / sine))
        return "tension must be <= cohesion/tan(friction_angle_deg)";
    return broken;
}

MPM_ROW(drucker_prager,
    .name = "drucker_prager", .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(drucker_prager, DRUCKER_PRAGER_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(drucker_prager_unfit),
    .fields = 4, .field = {DRUCKER_PRAGER_FIELDS}, .reference = DRUCKER_PRAGER_REFERENCE)

#ifdef MPM_DIM /* for kernels */
#include "materials/flow_tangent.h"
#include "materials/hencky_flow.h"

enum { DRUCKER_PRAGER_JP, DRUCKER_PRAGER_FZZ, DRUCKER_PRAGER_GAP, DRUCKER_PRAGER_STRAIN }; /* index in the history */

struct drucker_prager {
    struct hencky elastic;
    wide bulk;               /* K [Pa] */
    wide friction, dilation; /* M, D */
    wide strength, tension;  /* k, sigma_t [Pa] */
    wide corner;             /* q where grains part as they slide: k - M sigma_t */
    wide given;              /* sigma_t of the parameters, which may exceed c cot phi [Pa] */
    int cone;
    struct strength_table table;
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

NOINLINE struct drucker_prager drucker_prager_prepare(const struct drucker_prager_parameters *p)
{
    double sine, cosine, dilation, unused, M, D;
    angle_sine_cosine(p->friction_angle_deg * (3.14159265358979323846 / 180), &sine, &cosine);
    angle_sine_cosine(p->dilation_angle_deg * (3.14159265358979323846 / 180), &dilation, &unused);
    drucker_prager_cone(p->cone, sine, dilation, &M, &D);
    const double apex = p->cohesion * cosine / sine, tension = p->tension < apex ? p->tension : apex;
    const double start[3] = DRUCKER_PRAGER_START(p);
    const struct drucker_prager law = {
        .elastic = hencky_of(p->E, p->nu),
        .bulk = wide_set((real)(p->E / (3 * (1 - 2 * p->nu)))),
        .friction = wide_set((real)M),
        .dilation = wide_set((real)D),
        .strength = wide_set((real)(M * apex)),
        .tension = wide_set((real)tension),
        .corner = wide_set((real)(M * (apex - tension))),
        .given = wide_set((real)p->tension),
        .cone = (int)p->cone,
        .table = strength_table_of(start, &p->table_strain_1),
    };
    return law;
}

/* The law with the strength at a plastic strain. */
NOINLINE void drucker_prager_harden(const struct drucker_prager *law, wide strain, struct drucker_prager *now)
{
    const wide one = wide_set(1), three = wide_set(3), six = wide_set(6), ninth = wide_set((real)(1.0 / 9));
    const wide third = wide_set((real)(1.0 / 3));
    const struct strength strength = strength_at(&law->table, wide_max(strain, wide_set(0)));
    wide s, cosine, d, unused, M, D;
    strength_sine_cosine(strength.friction, &s, &cosine);
    strength_sine_cosine(strength.dilation, &d, &unused);
    if (law->cone == 2) { /* as drucker_prager_cone */
        D = wide_set((real)1.7320508075688772) * d / wide_sqrt(wide_fma(third * d, d, one));
        const wide a = wide_sqrt(third * wide_fnma(ninth * D, D, one));
        M = s / wide_fma(ninth * D, s, a);
    } else {
        const wide sign = wide_set((real)(law->cone == 0 ? -1 : 1));
        M = six * s / wide_fma(sign, s, three);
        D = six * d / wide_fma(sign, d, three);
    }
    const wide apex = strength.cohesion * cosine / s, tension = wide_min(law->given, apex);
    *now = *law;
    now->friction = M;
    now->dilation = D;
    now->strength = M * apex;
    now->tension = tension;
    now->corner = M * (apex - tension);
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the fault stays visible. */
INLINE mask drucker_prager_return_map(const struct drucker_prager *law, struct law_state *state, wide dt,
                                      matrix velocity_gradient)
{
    (void)dt, (void)velocity_gradient;
    struct drucker_prager now;
    if (law->table.points) {
        drucker_prager_harden(law, state->history[DRUCKER_PRAGER_STRAIN], &now);
        law = &now;
    }
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
    const wide flowed = wide_select(slides, (one - keep) * t.length, zero);
    const wide strain = state->history[DRUCKER_PRAGER_STRAIN];
    state->history[DRUCKER_PRAGER_STRAIN] = wide_fma(wide_set(PLASTIC_SHEAR), flowed, strain);
    return limited;
}

INLINE struct law_evaluation drucker_prager_evaluate(const struct drucker_prager *law, struct law_state state,
                                                     matrix velocity_gradient)
{
    (void)velocity_gradient;
    return hencky_flow_evaluate(&law->elastic, state.F, state.history[DRUCKER_PRAGER_FZZ]);
}

INLINE struct law_tangent drucker_prager_tangent(const struct drucker_prager *law, const wide stretch[DIM],
                                                 const struct law_state *state, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), mu = law->elastic.mu, K = law->bulk, three_mu = wide_set(3) * mu;
    struct flow_trial t = flow_trial_of(stretch, state, 3, flow_zz(state, DRUCKER_PRAGER_FZZ));
    const struct law_evaluation mapped = flow_map(MPM_DRUCKER_PRAGER, law, &t.state, dt);
    struct drucker_prager now;
    if (law->table.points) {
        drucker_prager_harden(law, state->history[DRUCKER_PRAGER_STRAIN], &now);
        law = &now;
    }
    const wide per_L = wide_set(FLOW_SHEAR) * mu, q = per_L * t.length;
    const wide p = -K * (t.trace + wide_log_any(state->history[DRUCKER_PRAGER_GAP]));
    const wide over = q - wide_fma(law->friction, p, law->strength);
    const mask flat = wide_less(p, -law->tension) & wide_less_equal(q, law->corner);
    const mask slides = t.strained & mask_not(flat) & wide_less(zero, over);
    const wide per_flow = one / wide_fma(K * law->friction, law->dilation, three_mu), gain = over * per_flow;
    const mask corner = slides & wide_less(wide_fma(K * law->dilation, gain, p), -law->tension);
    const wide whole = wide_select(slides, q, one), some = K * law->dilation * per_flow;
    const struct flow_slopes elastic = flow_elastic(K);
    const struct flow_slopes sliding = {
        .keep = wide_fnma(three_mu, gain, q) / whole, .by_length = one - three_mu * per_flow,
        .by_trace = -K * three_mu * law->friction * per_flow / per_L, .mean_by_length = -some * per_L,
        .mean_by_trace = K * wide_fnma(some, law->friction, one)};
    const struct flow_slopes torn = {one, one, zero, zero, zero};
    const struct flow_slopes both = {law->corner / whole, zero, zero, zero, zero};
    struct flow_slopes flow = flow_select(slides, flow_select(corner, both, sliding), elastic);
    flow = flow_select(flat, torn, flow);
    return flow_definite(flow_radial_tangent(&t, &mapped, mu, 3, &flow));
}
#endif
