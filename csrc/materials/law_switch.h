/* SPDX-License-Identifier: MIT
 *
 * Calls a law of the registry by its index.
 */
#pragma once
#include "materials/cam_clay.h"
#include "materials/drucker_prager.h"
#include "materials/fixed_corotated.h"
#include "materials/fluid.h"
#include "materials/hencky.h"
#include "materials/herschel_bulkley.h"
#include "materials/law_rows.h"
#include "materials/mohr_coulomb.h"
#include "materials/mooney_rivlin.h"
#include "materials/mu_i.h"
#include "materials/nacc.h"
#include "materials/neo_hookean.h"
#include "materials/saint_venant_kirchhoff.h"
#include "materials/sand.h"
#include "materials/snow.h"
#include "materials/viscoelastic.h"
#include "materials/von_mises.h"

union law_parameters {
#define MEMBER(enumerator, name, kind, speed, tangent) struct name name;
    MPM_LAWS(MEMBER)
#undef MEMBER
};

/* The functions are inlined; where `law` is a constant, the switch disappears. */
INLINE void prepare_law(const int law, union law_parameters *parameters, const double *values)
{
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent) \
    case enumerator: \
        parameters->name = name##_prepare(values); \
        break;
        MPM_LAWS(CASE)
#undef CASE
    }
}

INLINE struct law_evaluation evaluate_law(const int law, const union law_parameters *parameters, struct law_state state,
                                   matrix C)
{
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent) \
    case enumerator: \
        return name##_evaluate(&parameters->name, state, C);
        MPM_LAWS(CASE)
#undef CASE
    }
    __builtin_unreachable();
}

/* Does the law keep J instead of F? */
INLINE bool law_keeps_J(const int law)
{
    return law_rows[law].strain == MPM_KEEPS_J;
}

INLINE int law_history(const int law)
{
    return mpm_law_history(&law_rows[law], DIM);
}

/* The whole volume ratio over det F: the volume that was gained or lost inelastically. */
INLINE wide law_volume_scale(const int law, const struct law_state *state)
{
    wide scale = wide_set(1);
    int component = 0;
    for (int f = 0; f < law_rows[law].fields; f++) {
        if (law_rows[law].field[f].scales_volume)
            scale *= state->history[component];
        component += mpm_rank_components(law_rows[law].field[f].rank, DIM);
    }
    return scale;
}

/* The return map of an inelastic law. Returns the lanes whose history it limited. */
INLINE mask return_map(const int law, const union law_parameters *parameters, struct law_state *state, wide dt,
                       matrix C)
{
#define CALL_ELASTIC(name) __builtin_unreachable()
#define CALL_INELASTIC(name) return name##_return_map(&parameters->name, state, dt, C)
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent) \
    case enumerator: \
        CALL_##kind(name);
        MPM_LAWS(CASE)
#undef CASE
#undef CALL_ELASTIC
#undef CALL_INELASTIC
    }
    __builtin_unreachable();
}

/* The derivatives of the energy of a law with a tangent, by the principal stretches of a trial F. */
INLINE struct law_tangent law_tangent_at(const int law, const union law_parameters *parameters, const wide stretch[DIM],
                                         const struct law_state *state)
{
#define CALL_NO_TANGENT(name) __builtin_unreachable()
#define CALL_TANGENT(name) return name##_tangent(&parameters->name, stretch, state)
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent) \
    case enumerator: \
        CALL_##tangent(name);
        MPM_LAWS(CASE)
#undef CASE
#undef CALL_TANGENT
#undef CALL_NO_TANGENT
    }
    __builtin_unreachable();
}
