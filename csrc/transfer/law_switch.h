/* SPDX-License-Identifier: MIT
 *
 * The laws of the registry, called by their index.
 */
#pragma once
#include "materials/fixed_corotated.h"
#include "materials/fluid.h"
#include "materials/laws.h"
#include "materials/neo_hookean.h"
#include "materials/sand.h"
#include "materials/snow.h"

union law_parameters {
#define MEMBER(enumerator, name) struct name name;
    MPM_LAWS(MEMBER)
#undef MEMBER
};

/* `law` is a constant wherever these are inlined, so that the switch disappears. */
INLINE void prepare_law(const int law, union law_parameters *parameters, const double *values)
{
    switch (law) {
#define CASE(enumerator, name) \
    case enumerator: \
        parameters->name = name##_prepare(values); \
        break;
        MPM_LAWS(CASE)
#undef CASE
    }
}

INLINE struct law_response respond(const int law, const union law_parameters *parameters, struct law_state state,
                                   matrix C)
{
    switch (law) {
#define CASE(enumerator, name) \
    case enumerator: \
        return name##_respond(&parameters->name, state, C);
        MPM_LAWS(CASE)
#undef CASE
    }
    __builtin_unreachable();
}

/* Returns the lanes whose plastic state had to be held within its limits. */
INLINE mask return_map(const int law, const union law_parameters *parameters, struct law_state *state)
{
    switch (law) {
#define CASE(enumerator, name) \
    case enumerator: \
        return name##_return_map(&parameters->name, state);
        MPM_PLASTIC_LAWS(CASE)
#undef CASE
    }
    __builtin_unreachable();
}
