/* SPDX-License-Identifier: MIT
 *
 * The metal of johnson_cook.h that fractures. Plastic strain uses up the strain to failure of Johnson and Cook, and
 * damage (ductile.h) begins where D = 1:
 *
 *     dD = d ep/e_f,  e_f = (D1 + D2 exp(D3 m/q)) (1 + D4 ln max(r, 1)) (1 + D5 H)
 *
 * with the mean stress m, q = sqrt(3/2) |dev tau|, and r and H as in the yield stress. An e_f below 1e-6 counts as
 * 1e-6. G. R. Johnson & W. H. Cook, Eng. Fract. Mech. 21 (1985) 31. Heat is that of the stress with the damage.
 *
 * The tension of damage is that of the whole pressure, with the heat's: it begins at x_0, where p_H(x_0) = c,
 * c = -Gamma rho0 c (T - T_i), and its energy is that of p_H(x) - c from there on.
 */
#pragma once
#include "materials/ductile.h"
#include "materials/johnson_cook.h"

#define JOHNSON_COOK_FRACTURE_PARAMETERS(P) \
    JOHNSON_COOK_OWN(P) \
    P(D1, "1", ANY_NUMBER, "strain to failure under pressure") \
    P(D2, "1", ANY_NUMBER, "growth of the strain to failure without mean stress") \
    P(D3, "1", ANY_NUMBER, "exponent of the mean stress over the equivalent stress; negative: tension embrittles") \
    P(D4, "1", ANY_NUMBER, "growth of the strain to failure with the logarithm of the strain rate") \
    P(D5, "1", ANY_NUMBER, "growth of the strain to failure with temperature") \
    CRACK_BAND(P, NOT_NEGATIVE) \
    DENSITY(P)

struct johnson_cook_fracture_parameters { JOHNSON_COOK_FRACTURE_PARAMETERS(MPM_MEMBER) };

static inline const char *johnson_cook_fracture_unfit(const double *values)
{
    const struct johnson_cook_fracture_parameters *p = MPM_VALUES(johnson_cook_fracture, values);
    if (p->fracture_energy > 0 && !(6 * p->shear_modulus * p->fracture_energy > p->crack_band * p->A * p->A))
        return "crack_band must be < 6 shear_modulus fracture_energy/A^2";
    return johnson_cook_unfit(values);
}

MPM_ROW(johnson_cook_fracture,
    .name = "johnson_cook_fracture", .variant_of = "johnson_cook", .kinked = true, .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(johnson_cook_fracture, JOHNSON_COOK_FRACTURE_PARAMETERS),
    .unfit = MPM_OUTSIDE_KERNELS(johnson_cook_fracture_unfit),
    .fields = 5,
    .field = {
        JOHNSON_COOK_FIELDS, DAMAGE,
        {"failure", "1", MPM_SCALAR, .low = 0, .high = 1, .closed = true,
         .meaning = "share of the strain to failure that plastic strain has used up"},
    },
    .reference = "G. R. Johnson, W. H. Cook, Fracture characteristics of three metals subjected to various strains, "
                 "strain rates, temperatures and pressures, Engineering Fracture Mechanics 21 (1985) 31-48. "
                 "doi:10.1016/0013-7944(85)90052-9")

#ifdef MPM_DIM /* for kernels */
enum { JOHNSON_COOK_DAMAGE = JOHNSON_COOK_TEMPERATURE + 1, JOHNSON_COOK_FAILURE }; /* index in the history */

struct johnson_cook_fracture {
    struct johnson_cook metal;
    wide D[5];
    wide toughness; /* G_f/l_c [J/m3] */
};

INLINE struct johnson_cook_fracture johnson_cook_fracture_prepare(const struct johnson_cook_fracture_parameters *p)
{
    const struct johnson_cook_fracture law = {
        .metal = johnson_cook_prepare(MPM_VALUES(johnson_cook, p)), /* which are the first */
        .D = {wide_set((real)p->D1), wide_set((real)p->D2), wide_set((real)p->D3), wide_set((real)p->D4),
              wide_set((real)p->D5)},
        .toughness = wide_set((real)(p->fracture_energy / p->crack_band)),
    };
    return law;
}

/* The energy of the tension at a volume ratio and a temperature. */
INLINE wide johnson_cook_tension(const struct johnson_cook *metal, wide J, wide temperature, wide mean)
{
    const wide zero = wide_set(0), two = wide_set(2), K = metal->bulk, s = metal->slope;
    const wide c = metal->thermal * (metal->initial - temperature), cs = wide_max(c, zero) * s;
    /* c (1 - s x)^2 = K x, in the form without cancellation */
    const wide root = two * c / (wide_fma(two, cs, K) + wide_sqrt(K * wide_fma(wide_set(4), cs, K)));
    const wide x0 = wide_select(wide_less(zero, c), root, c / K), x = wide_set(1) - J;
    const struct johnson_cook_cold at = johnson_cook_compress(metal, x), rest = johnson_cook_compress(metal, x0);
    const wide energy = wide_fnma(c, x - x0, at.energy - rest.energy);
    return wide_select(wide_less(zero, mean), wide_max(energy, zero), zero);
}

/* The strain to failure. */
INLINE wide johnson_cook_strain_to_failure(const struct johnson_cook_fracture *law, const struct ductile_load *load,
                                           wide ln_rate, wide temperature)
{
    const wide zero = wide_set(0), one = wide_set(1), most = wide_set(1000);
    const wide tiny = wide_set((real)(REAL_IS_FLOAT ? 1e-30 : 1e-200));
    const struct johnson_cook *metal = &law->metal;
    const wide ratio = wide_max(wide_min(load->mean / wide_max(load->q, tiny), most), -most);
    const wide grown = wide_exp(wide_max(wide_min(law->D[2] * ratio, wide_set(80)), wide_set(-80)));
    const wide H = wide_min(wide_max((temperature - metal->reference) * metal->inverse_range, zero), one);
    const wide strain = wide_fma(law->D[1], grown, law->D[0]) * wide_fma(law->D[3], ln_rate, one) *
                        wide_fma(law->D[4], H, one);
    return wide_max(strain, wide_set((real)1e-6));
}

NOINLINE void johnson_cook_break(const struct johnson_cook_fracture *law, struct law_state *state, wide grown, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), tiny = wide_set((real)(REAL_IS_FLOAT ? 1e-30 : 1e-200));
    const matrix still = matrix_scale(zero, state->F);
    state->J = matrix_det(state->F);
    struct law_evaluation whole;
    LAW_EVALUATE(MPM_JOHNSON_COOK, johnson_cook, &law->metal, state, &still, &whole);
    const struct ductile_load load = ductile_load_of(&whole, law->metal.mu);
    const wide J = johnson_cook_volume(state->J, state->history[JOHNSON_COOK_FZZ]);
    const wide T = state->history[JOHNSON_COOK_TEMPERATURE], used = state->history[JOHNSON_COOK_FAILURE];
    const mask flows = wide_less(zero, grown);
    const wide rate = grown * law->metal.inverse_rate / wide_max(dt, tiny);
    const wide ln_rate = wide_max(wide_log_any(wide_max(rate, one)), zero);
    const wide strain = johnson_cook_strain_to_failure(law, &load, ln_rate, T);
    const wide failure = wide_fma(grown, one / strain, used);
    const wide beyond = wide_select(flows, wide_min(wide_max((failure - one) * strain, zero), grown), zero);
    const wide tension = johnson_cook_tension(&law->metal, J, T, load.mean);
    wide *damage = &state->history[JOHNSON_COOK_DAMAGE];
    ductile_break(&load, law->toughness, tension, beyond, J, &state->F, damage);
    state->history[JOHNSON_COOK_FAILURE] = wide_select(flows, wide_min(failure, one), used);
}

INLINE mask johnson_cook_fracture_return_map(const struct johnson_cook_fracture *law, struct law_state *state, wide dt,
                                             matrix velocity_gradient)
{
    const wide zero = wide_set(0), one = wide_set(1);
    const wide before = wide_max(state->history[JOHNSON_COOK_STRAIN], zero);
    struct johnson_cook metal = law->metal;
    metal.heating *= one - state->history[JOHNSON_COOK_DAMAGE];
    mask limited;
    LAW_RETURN_MAP(MPM_JOHNSON_COOK, johnson_cook, &metal, state, dt, &velocity_gradient, &limited);
    const wide grown = state->history[JOHNSON_COOK_STRAIN] - before;
    if (mask_any(wide_less(zero, grown) | wide_less_equal(one, state->history[JOHNSON_COOK_DAMAGE])))
        johnson_cook_break(law, state, grown, dt);
    return limited;
}

INLINE struct law_evaluation johnson_cook_fracture_evaluate(const struct johnson_cook_fracture *law,
                                                            struct law_state state, matrix velocity_gradient)
{
    struct law_evaluation r;
    LAW_EVALUATE(MPM_JOHNSON_COOK, johnson_cook, &law->metal, &state, &velocity_gradient, &r);
    const wide damage = state.history[JOHNSON_COOK_DAMAGE];
    if (mask_any(wide_less(wide_set(0), damage))) {
        const struct ductile_load load = ductile_load_of(&r, law->metal.mu);
        const wide J = johnson_cook_volume(state.J, state.history[JOHNSON_COOK_FZZ]);
        const wide T = state.history[JOHNSON_COOK_TEMPERATURE];
        ductile_respond(&r, law->metal.mu, damage, johnson_cook_tension(&law->metal, J, T, load.mean));
    }
    return r;
}
#endif
