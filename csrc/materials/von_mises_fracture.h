/* SPDX-License-Identifier: MIT
 *
 * The metal of von_mises.h that fractures. Its damage (ductile.h) begins at a plastic strain, whatever the pressure.
 */
#pragma once
#include "materials/ductile.h"
#include "materials/von_mises.h"

#define VON_MISES_FRACTURE_PARAMETERS(P) \
    VON_MISES_OWN(P) \
    P(fracture_strain, "1", NOT_NEGATIVE, "plastic strain at which damage begins") \
    CRACK_BAND(P, NOT_NEGATIVE) \
    DENSITY(P)

struct von_mises_fracture_parameters { VON_MISES_FRACTURE_PARAMETERS(MPM_MEMBER) };

static inline const char *von_mises_fracture_unfit(const double *values)
{
    const struct von_mises_fracture_parameters *p = MPM_VALUES(von_mises_fracture, values);
    const struct hardening_parameters hardening = HARDENING_OF(p);
    const char *broken = hardening_unfit(p->yield_stress, &hardening);
    const double Y = p->yield_stress + p->hardening * p->fracture_strain;
    if (!broken && p->fracture_energy > 0 && !(2 * p->E * p->fracture_energy > p->crack_band * Y * Y))
        return "crack_band must be < 2 E fracture_energy/(yield_stress + hardening fracture_strain)^2";
    return broken;
}

MPM_ROW(von_mises_fracture,
    .name = "von_mises_fracture", .variant_of = "von_mises", .kinked = true, .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(von_mises_fracture, VON_MISES_FRACTURE_PARAMETERS),
    .unfit = MPM_OUTSIDE_KERNELS(von_mises_fracture_unfit),
    .fields = 4, .field = {VON_MISES_FIELDS, DAMAGE}, .reference = VON_MISES_REFERENCE)

#ifdef MPM_DIM /* for kernels */
enum { VON_MISES_DAMAGE = VON_MISES_BACKSTRESS + DIM * (DIM + 1) / 2 }; /* index in the history */

struct von_mises_fracture {
    struct von_mises metal;
    wide bulk;      /* K [Pa] */
    wide onset;     /* plastic strain */
    wide toughness; /* G_f/l_c [J/m3] */
};

INLINE struct von_mises_fracture von_mises_fracture_prepare(const struct von_mises_fracture_parameters *p)
{
    const struct von_mises_fracture law = {
        .metal = von_mises_prepare(MPM_VALUES(von_mises, p)), /* which are the first */
        .bulk = wide_set((real)(p->E / (3 * (1 - 2 * p->nu)))),
        .onset = wide_set((real)p->fracture_strain),
        .toughness = wide_set((real)(p->fracture_energy / p->crack_band)),
    };
    return law;
}

INLINE wide von_mises_tension(const struct von_mises_fracture *law, wide mean)
{
    const wide pull = wide_max(mean, wide_set(0));
    return wide_set((real)0.5) * pull * pull / law->bulk;
}

NOINLINE void von_mises_break(const struct von_mises_fracture *law, struct law_state *state, wide beyond)
{
    const matrix still = matrix_scale(wide_set(0), state->F);
    struct law_evaluation whole;
    LAW_EVALUATE(MPM_VON_MISES, von_mises, &law->metal, state, &still, &whole);
    const struct ductile_load load = ductile_load_of(&whole, law->metal.elastic.mu);
    wide J = matrix_det(state->F);
    if (DIM == 2)
        J *= state->history[VON_MISES_JP];
    wide *damage = &state->history[VON_MISES_DAMAGE];
    ductile_break(&load, law->toughness, von_mises_tension(law, load.mean), beyond, J, &state->F, damage);
}

INLINE mask von_mises_fracture_return_map(const struct von_mises_fracture *law, struct law_state *state, wide dt,
                                          matrix velocity_gradient)
{
    const wide zero = wide_set(0), one = wide_set(1);
    const wide before = wide_max(state->history[VON_MISES_STRAIN], law->onset);
    mask limited;
    LAW_RETURN_MAP(MPM_VON_MISES, von_mises, &law->metal, state, dt, &velocity_gradient, &limited);
    const wide beyond = state->history[VON_MISES_STRAIN] - before, damage = state->history[VON_MISES_DAMAGE];
    if (mask_any(wide_less(zero, beyond) | wide_less_equal(one, damage)))
        von_mises_break(law, state, beyond);
    return limited;
}

INLINE struct law_evaluation von_mises_fracture_evaluate(const struct von_mises_fracture *law, struct law_state state,
                                                         matrix velocity_gradient)
{
    struct law_evaluation r;
    LAW_EVALUATE(MPM_VON_MISES, von_mises, &law->metal, &state, &velocity_gradient, &r);
    const wide damage = state.history[VON_MISES_DAMAGE];
    if (mask_any(wide_less(wide_set(0), damage))) {
        const struct ductile_load load = ductile_load_of(&r, law->metal.elastic.mu);
        ductile_respond(&r, law->metal.elastic.mu, damage, von_mises_tension(law, load.mean));
    }
    return r;
}
#endif
