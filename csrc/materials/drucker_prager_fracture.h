/* SPDX-License-Identifier: MIT
 *
 * The soil of drucker_prager.h that cracks. As grains part, damage w takes the share w of sigma_t and k, so that an
 * open crack has no strength, and a closed one its friction alone. The work of the parting, and of shear beside it,
 * dissipates the fracture energy over the band (crack_band.h). Strength is that of the beginning of a step.
 */
#pragma once
#include "materials/crack_band.h"
#include "materials/drucker_prager.h"

#define DRUCKER_PRAGER_FRACTURE_PARAMETERS(P) \
    DRUCKER_PRAGER_OWN(P) \
    CRACK_BAND(P, POSITIVE) \
    DENSITY(P)

struct drucker_prager_fracture_parameters { DRUCKER_PRAGER_FRACTURE_PARAMETERS(MPM_MEMBER) };

static inline const char *drucker_prager_fracture_unfit(const double *values)
{
    const struct drucker_prager_fracture_parameters *p = MPM_VALUES(drucker_prager_fracture, values);
    double sine, cosine;
    angle_sine_cosine(p->friction_angle_deg * (3.14159265358979323846 / 180), &sine, &cosine);
    const double apex = p->cohesion * cosine / sine, tension = p->tension < apex ? p->tension : apex;
    const double K = p->E / (3 * (1 - 2 * p->nu));
    const char *broken = drucker_prager_unfit(values);
    if (!broken && !(tension > 0))
        return "fracture_energy needs a tension and a cohesion > 0";
    if (!broken && !(K * p->fracture_energy > p->crack_band * tension * tension))
        return "crack_band must be < E fracture_energy/(3 (1 - 2 nu) tension^2)";
    return broken;
}

MPM_ROW(drucker_prager_fracture,
    .name = "drucker_prager_fracture", .variant_of = "drucker_prager", .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(drucker_prager_fracture, DRUCKER_PRAGER_FRACTURE_PARAMETERS),
    .unfit = MPM_OUTSIDE_KERNELS(drucker_prager_fracture_unfit),
    .fields = 5, .field = {DRUCKER_PRAGER_FIELDS, DAMAGE}, .reference = DRUCKER_PRAGER_REFERENCE)

#ifdef MPM_DIM /* for kernels */
enum { DRUCKER_PRAGER_DAMAGE = DRUCKER_PRAGER_STRAIN + 1 }; /* index in the history */

struct drucker_prager_fracture {
    struct drucker_prager soil;
    wide toughness; /* G_f/l_c [J/m3] */
};

INLINE struct drucker_prager_fracture drucker_prager_fracture_prepare(
    const struct drucker_prager_fracture_parameters *p)
{
    const struct drucker_prager_fracture law = {
        .soil = drucker_prager_prepare(MPM_VALUES(drucker_prager, p)), /* which are the first */
        .toughness = wide_set((real)(p->fracture_energy / p->crack_band)),
    };
    return law;
}

INLINE mask drucker_prager_fracture_return_map(const struct drucker_prager_fracture *law, struct law_state *state,
                                               wide dt, matrix velocity_gradient)
{
    const wide zero = wide_set(0), one = wide_set(1), kept = one - state->history[DRUCKER_PRAGER_DAMAGE];
    const wide before = state->history[DRUCKER_PRAGER_STRAIN], gap = state->history[DRUCKER_PRAGER_GAP];
    struct drucker_prager now = law->soil;
    if (law->soil.table.points)
        drucker_prager_harden(&law->soil, before, &now);
    const wide tension = now.tension, corner = now.corner;
    now.tension *= kept;
    now.corner *= kept;
    now.strength *= kept;
    now.table.points = 0; /* that is the strength of the step */
    mask limited;
    LAW_RETURN_MAP(MPM_DRUCKER_PRAGER, drucker_prager, &now, state, dt, &velocity_gradient, &limited);
    const wide wider = state->history[DRUCKER_PRAGER_GAP] / gap;
    const mask parts = wide_less(one, wider) & wide_less(zero, kept);
    if (mask_any(parts)) { /* the work at the whole strength */
        const wide sheared = state->history[DRUCKER_PRAGER_STRAIN] - before;
        const wide opened = wide_fma(now.dilation, sheared, wide_log_any(wider)); /* volume */
        const wide work = wide_fma(tension, opened, corner * sheared);
        const wide left = crack_band_soften(law->toughness, kept, wide_select(parts, work, zero), zero, 0);
        const wide damage = state->history[DRUCKER_PRAGER_DAMAGE];
        state->history[DRUCKER_PRAGER_DAMAGE] = wide_select(parts, wide_max(one - left, damage), damage);
    }
    return limited;
}

INLINE struct law_evaluation drucker_prager_fracture_evaluate(const struct drucker_prager_fracture *law,
                                                              struct law_state state, matrix velocity_gradient)
{
    struct law_evaluation r;
    LAW_EVALUATE(MPM_DRUCKER_PRAGER, drucker_prager, &law->soil, &state, &velocity_gradient, &r);
    return r;
}
#endif
