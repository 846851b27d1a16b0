/* SPDX-License-Identifier: MIT
 *
 * Snow: a fixed corotated solid that yields beyond critical principal stretches and hardens under compaction.
 *
 *     F = F_E F_P,   J_P = det F_P                                              F_E is the particle's F
 *     Psi(F_E, J_P) = mu |F_E - R|^2 + lambda/2 (J_E - 1)^2                     per rest volume [J/m3]
 *     mu, lambda = (mu_0, lambda_0) e^(xi (1 - J_P))                            hardening
 *     F_E = U S V^T -> U clamp(S, 1 - theta_c, 1 + theta_s) V^T                 return map; F_E F_P stays
 *     J_P -> J_P prod S / prod clamp(S)
 *
 * Stomakhin, Schroeder, Chai, Teran & Selle, A material point method for snow simulation, ACM TOG 32(4) (2013) 102,
 * sections 5 to 7. Of F_P, only J_P matters and is kept. The user may limit J_P, by default to [0.6, 20], as in other
 * implementations: with more compaction, snow stiffens until no time step is small enough; at 20 it has long lost all
 * stiffness. The paper has no limits.
 */
#pragma once
#include "materials/row.h"

#define SNOW_PARAMETERS(P) \
    P(E, "Pa", POSITIVE, "Young's modulus before hardening") \
    POISSONS_RATIO(P) \
    P(critical_compression, "1", 0, 1, true, true, "elastic down to the stretch 1 - theta_c", .is_yield_strain = true) \
    P(critical_stretch, "1", 0, 1e6, true, false, "elastic up to the stretch 1 + theta_s", .is_yield_strain = true) \
    P(hardening, "1", NOT_NEGATIVE, "xi: moduli grow by e^(xi (1 - Jp))") \
    P(least_Jp, "1", 0, 1, false, false, "lower limit of Jp") \
    P(largest_Jp, "1", 1, INFINITY, false, false, "upper limit of Jp") \
    DENSITY(P)

struct snow_parameters { SNOW_PARAMETERS(MPM_MEMBER) };

MPM_ROW(snow,
    .name = "snow", .J_low = 1e-4, .J_high = 1e4, MPM_ROW_PARAMETERS(snow, SNOW_PARAMETERS),
    .fields = 2, .field = {PLASTIC_VOLUME_RATIO, PLASTIC_STRAIN},
    .reference = "A. Stomakhin, C. Schroeder, L. Chai, J. Teran, A. Selle, A material point method for snow "
                 "simulation, ACM Transactions on Graphics 32(4) (2013) 102. doi:10.1145/2461912.2461948")

#ifdef MPM_DIM /* for kernels */
#include "materials/fixed_corotated.h"
#include "math/singular.h"

enum { SNOW_JP, SNOW_STRAIN }; /* index in the history */

struct snow {
    struct fixed_corotated elastic; /* at J_P = 1 */
    wide shortest, longest;         /* range of the principal stretches of an elastic F_E */
    wide elastic_strain2;           /* below this |F_E^T F_E - I|^2, F_E is surely elastic if det F_E > 0 */
    wide hardening;                 /* xi */
    wide least_Jp, largest_Jp;
};

INLINE struct snow snow_prepare(const struct snow_parameters *p)
{
    const double shortest = 1 - p->critical_compression, longest = 1 + p->critical_stretch;
    const double compression = 1 - shortest * shortest, stretch = longest * longest - 1;
    const double strain = compression < stretch ? compression : stretch;
    const struct snow law = {fixed_corotated_of(p->E, p->nu), wide_set((real)shortest), wide_set((real)longest),
                         wide_set((real)(strain * strain)), wide_set((real)p->hardening),
                         wide_set((real)p->least_Jp), wide_set((real)p->largest_Jp)};
    return law;
}

/* The return map for a tile in which some lane may yield. Lanes that do not yield keep their bits, so that their
 * neighbours do not affect them. Lanes with a NaN keep theirs too, so that the fault stays visible. */
NOINLINE void snow_yield(const struct snow *law, matrix *F, wide *Jp, wide *plastic, mask may_yield)
{
    const struct singular trial = singular_decompose(*F);
    wide clamped[DIM], share[DIM], ratio = wide_set(1), trace = wide_set(0), square = wide_set(0);
    mask yields = wide_less(wide_set(1), wide_set(0)); /* none so far */
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide value = trial.value[i];
        clamped[i] = wide_min(wide_max(value, law->shortest), law->longest);
        yields |= wide_less(value, law->shortest) | wide_less(law->longest, value);
        share[i] = value / clamped[i];
        ratio *= share[i];
    }
    yields &= may_yield;
    if (!mask_any(yields))
        return;
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide flowed = wide_log_any(share[i]);
        trace += flowed;
        square = wide_fma(flowed, flowed, square);
    }
    *F = matrix_select(yields, singular_compose(&trial, clamped), *F);
    *Jp = wide_select(yields, *Jp * ratio, *Jp);
    const wide length2 = wide_max(wide_fnma(trace * trace, wide_set((real)(1.0 / 3)), square), wide_set(0));
    *plastic = wide_select(yields, wide_fma(wide_set(PLASTIC_SHEAR), wide_sqrt(length2), *plastic), *plastic);
}

INLINE mask snow_return_map(const struct snow *law, struct law_state *state, wide dt, matrix velocity_gradient)
{
    (void)dt, (void)velocity_gradient;
    const wide one = wide_set(1);
    wide strain2 = wide_set(0);
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++) {
            wide c = state->F.m[0][i] * state->F.m[0][j];
            UNROLL for (int k = 1; k < DIM; k++)
                c = wide_fma(state->F.m[k][i], state->F.m[k][j], c);
            strain2 = i == j ? wide_fma(c - one, c - one, strain2) : wide_fma(c + c, c, strain2);
        }
    const mask elastic = wide_less_equal(strain2, law->elastic_strain2) & wide_less(wide_set(0), matrix_det(state->F));
    const mask may_yield = mask_not(elastic);
    if (mask_any(may_yield)) {
        matrix F = state->F; /* a copy in memory, so that the state stays in registers */
        wide Jp = state->history[SNOW_JP], plastic = state->history[SNOW_STRAIN];
        snow_yield(law, &F, &Jp, &plastic, may_yield);
        state->F = F;
        state->history[SNOW_JP] = Jp;
        state->history[SNOW_STRAIN] = plastic;
    }
    const wide trial = state->history[SNOW_JP];
    const wide held = wide_min(wide_max(trial, law->least_Jp), law->largest_Jp);
    state->history[SNOW_JP] = held;
    return wide_less(trial, held) | wide_less(held, trial);
}

/* The elastic law, hardened or softened by J_P. */
INLINE struct fixed_corotated snow_hardened(const struct snow *law, const struct law_state *state)
{
    const wide factor = wide_exp(law->hardening * (wide_set(1) - state->history[SNOW_JP]));
    const struct fixed_corotated elastic = {law->elastic.mu * factor, law->elastic.lambda * factor};
    return elastic;
}

INLINE struct law_evaluation snow_evaluate(const struct snow *law, struct law_state state, matrix velocity_gradient)
{
    const struct fixed_corotated hardened = snow_hardened(law, &state);
    return fixed_corotated_evaluate(&hardened, state, velocity_gradient);
}

INLINE struct law_tangent snow_tangent(const struct snow *law, const wide e[DIM], const struct law_state *state)
{
    const struct fixed_corotated hardened = snow_hardened(law, state);
    return fixed_corotated_tangent(&hardened, e, state);
}
#endif
