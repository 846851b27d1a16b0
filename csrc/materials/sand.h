/* SPDX-License-Identifier: MIT
 *
 * Sand: a solid that is elastic in its logarithmic strain (Saint Venant-Kirchhoff with Hencky's measure) and slides
 * where shear exceeds friction and cohesion (Drucker and Prager). It does not resist expansion.
 *
 *     F = F_E F_P,  J_P = det F_P,  F_E = U S V^T,  e = ln S                      F_E is the particle's F
 *     Psi(F_E) = mu e:e + lambda/2 (tr e)^2                                       per rest volume [J/m3]
 *     tau = U (2 mu e + lambda tr e I) U^T
 *     |dev tau| <= alpha (d c cot phi - tr tau)                                   yield: c cohesion, phi friction angle
 *
 * The return map uses t = tr e + ln J_P: grains that separated must lose the gained volume before they press on each
 * other again.
 *
 *     t >= t_tip                       grains part: F_E = e^(t_tip/d) U V^T, J_P takes the rest of the volume
 *     |dev e| <= slope (t_tip - t)     elastic, J_P = 1
 *     else                             sliding at constant volume: |dev e| = slope (t_tip - t), J_P = 1
 *     t_tip = d c cot phi/(2 mu + d lambda),  slope = alpha (2 mu + d lambda)/(2 mu)
 *
 * None of the cases changes J J_P, the whole volume ratio. Klar, Gast, Pradhana, Fu, Schroeder, Jiang & Teran,
 * Drucker-Prager elastoplasticity for sand animation, ACM TOG 35(4) (2016) 103, without its hardening; the volume as in
 * Tampubolon et al., ACM TOG 36(4) (2017) 105.
 *
 * In 3-D alpha = sqrt(2/3) 2 sin phi/(3 - sin phi): the cone around the Mohr-Coulomb pyramid, which it touches in
 * triaxial compression. In 2-D alpha = sin phi/sqrt(2), the Mohr-Coulomb criterion for the stresses in the plane.
 */
#pragma once
#include "materials/row.h"

#define SAND_PARAMETERS(P) \
    ELASTIC_MODULI(P) \
    FRICTION_ANGLE(P) \
    P(cohesion, "Pa", NOT_NEGATIVE, "shear strength without pressure") \
    DENSITY(P)

struct sand_parameters { SAND_PARAMETERS(MPM_MEMBER) };

MPM_ROW(sand,
    .name = "sand", .J_low = 1e-3, .J_high = 1e3, MPM_ROW_PARAMETERS(sand, SAND_PARAMETERS),
    .fields = 2, .field = {PLASTIC_VOLUME_RATIO, PLASTIC_STRAIN},
    .reference = "G. Klar, T. Gast, A. Pradhana, C. Fu, C. Schroeder, C. Jiang, J. Teran, Drucker-Prager "
                 "elastoplasticity for sand animation, ACM Transactions on Graphics 35(4) (2016) 103. "
                 "doi:10.1145/2897824.2925906")

#ifdef MPM_DIM /* for kernels */
#include "materials/angle.h"
#include "materials/flow_tangent.h"
#include "materials/hencky.h"

enum { SAND_JP, SAND_STRAIN }; /* index in the history */

#define SAND_LARGEST_JP ((real)1e6)

struct sand {
    struct hencky elastic;
    wide slope;         /* of the yield surface: |dev e| over t_tip - t */
    wide tip, shrink;   /* t_tip, e^(-t_tip) */
};

INLINE struct sand sand_prepare(const struct sand_parameters *p)
{
    const double E = p->E, nu = p->nu, mu = E / (2 * (1 + nu)), lambda = E * nu / ((1 + nu) * (1 - 2 * nu));
    const double bulk = 2 * mu + DIM * lambda; /* tr tau over tr e */
    double sine, cosine;
    angle_sine_cosine(p->friction_angle_deg * (3.14159265358979323846 / 180), &sine, &cosine);
    const double alpha = DIM == 3 ? 0.81649658092772603 * 2 * sine / (3 - sine) : 0.70710678118654752 * sine;
    const wide tip = wide_set((real)(DIM * p->cohesion * cosine / (sine * bulk)));
    const struct sand law = {
        .elastic = {wide_set((real)mu), wide_set((real)lambda)},
        .slope = wide_set((real)(alpha * bulk / (2 * mu))),
        .tip = tip,
        .shrink = wide_exp(-tip),
    };
    return law;
}

/* For large strains: puts F with principal stretches e^(mean + keep (their deviator)) into the lanes of `far`. */
NOINLINE void sand_move_far(const matrix *F, matrix *moved, wide mean, wide keep, mask far)
{
    const struct singular s = singular_decompose(*F);
    wide strain[DIM], sum = wide_set(0), value[DIM];
    UNROLL for (int i = 0; i < DIM; i++) {
        strain[i] = wide_log_any(s.value[i]);
        sum += strain[i];
    }
    UNROLL for (int i = 0; i < DIM; i++)
        value[i] = wide_exp(wide_fma(keep, wide_fnma(wide_set((real)(1.0 / DIM)), sum, strain[i]), mean));
    *moved = matrix_select(far, singular_compose(&s, value), *moved);
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the fault stays visible. */
INLINE mask sand_return_map(const struct sand *law, struct law_state *state, wide dt, matrix velocity_gradient)
{
    (void)dt, (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), share = wide_set((real)(1.0 / DIM));
    const wide J = matrix_det(state->F), before = state->history[SAND_JP];
    mask far;
    matrix strain = hencky_strain(state->F, &far);
    const wide sum = matrix_trace(strain), volume = sum + wide_log_any(before);
    strain = matrix_add_diagonal(strain, -share * sum); /* the deviator from here on */
    const wide length = wide_sqrt(matrix_dot(strain, strain)), allowed = law->slope * (law->tip - volume);
    const mask sound = wide_less(zero, J) & wide_less_equal(J, wide_set(REAL_LARGEST));
    const mask part = sound & wide_less_equal(law->tip, volume), press = sound & wide_less(volume, law->tip);
    const mask slide = press & wide_less(allowed, length);
    const mask changes = part | slide | (press & (wide_less(one, before) | wide_less(before, one)));

    const wide keep = wide_select(part, zero, wide_select(slide, allowed / wide_select(slide, length, one), one));
    const wide mean = share * wide_min(volume, law->tip);
    if (mask_any(changes)) {
        const matrix change = matrix_scale(keep - one, strain);
        matrix F = matrix_scale(wide_exp(wide_fnma(share, sum, mean)), hencky_move(change, state->F));
        if (__builtin_expect(mask_any(changes & far), 0)) {
            const matrix copy = state->F; /* a copy in memory, so that the original stays in registers */
            matrix moved = F;
            sand_move_far(&copy, &moved, mean, keep, far);
            F = moved;
        }
        state->F = matrix_select(changes, F, state->F);
    }
    const wide gained = before * J * law->shrink, most = wide_set(SAND_LARGEST_JP);
    const wide flowed = wide_select(part | slide, (one - keep) * length, zero);
    state->history[SAND_STRAIN] = wide_fma(wide_set(PLASTIC_SHEAR), flowed, state->history[SAND_STRAIN]);
    state->history[SAND_JP] = wide_select(press, one, wide_select(part, wide_min(gained, most), before));
    return part & wide_less(most, gained);
}

INLINE struct law_evaluation sand_evaluate(const struct sand *law, struct law_state state, matrix velocity_gradient)
{
    (void)velocity_gradient;
    mask far;
    return hencky_respond(&law->elastic, hencky_strain(state.F, &far), NULL);
}

INLINE struct law_tangent sand_tangent(const struct sand *law, const wide stretch[DIM], const struct law_state *state,
                                       wide dt)
{
    const wide zero = wide_set(0), mu = law->elastic.mu;
    struct flow_trial t = flow_trial_of(stretch, state, DIM, zero);
    const struct law_evaluation mapped = flow_map(MPM_SAND, law, &t.state, dt);
    const wide volume = t.trace + wide_log_any(state->history[SAND_JP]), allowed = law->slope * (law->tip - volume);
    const mask press = wide_less(volume, law->tip), slide = t.strained & wide_less(allowed, t.length);
    const wide bulk = wide_fma(wide_set((real)(2.0 / DIM)), mu, law->elastic.lambda);
    const struct flow_slopes sliding = {.keep = allowed / wide_select(slide, t.length, wide_set(1)), .by_length = zero,
                                        .by_trace = -law->slope, .mean_by_length = zero, .mean_by_trace = bulk};
    const struct flow_slopes parted = {zero, zero, zero, zero, zero};
    const struct flow_slopes flow = flow_select(press, flow_select(slide, sliding, flow_elastic(bulk)), parted);
    return flow_definite(flow_radial_tangent(&t, &mapped, mu, DIM, &flow));
}
#endif
