/* SPDX-License-Identifier: MIT
 *
 * The registry of constitutive laws. Adding a law: its own file, one line here, its row in laws.c, its
 * include in transfer/law_switch.h, its test.
 */
#pragma once
#include <stdbool.h>

enum { MPM_LAW_PARAMETERS = 8 };

/** One parameter a user gives. Limits are exclusive where `..._open`; infinite where there is none. */
typedef struct mpm_parameter {
    const char *name, *unit;
    double low, high;
    bool low_open, high_open;
    double fallback; /* default value; NaN: must be given */
    const char *meaning;
} mpm_parameter;

typedef struct mpm_law {
    const char *name;
    bool fluid;       /* the state is J alone; F is not followed */
    double J_low, J_high; /* the range of J beyond which a step is called unstable */
    int parameters;       /* the density comes last and is not handed to the law */
    mpm_parameter parameter[MPM_LAW_PARAMETERS];
    const char *reference;
} mpm_law;

/** X(enumerator, name): every law, in the order of its index. */
#define MPM_LAWS(X) \
    X(MPM_FIXED_COROTATED, fixed_corotated) \
    X(MPM_NEO_HOOKEAN, neo_hookean) \
    X(MPM_FLUID, fluid) \
    X(MPM_SNOW, snow) \
    X(MPM_SAND, sand)

/** Those of them that have a return map, and with it a plastic state. */
#define MPM_PLASTIC_LAWS(X) \
    X(MPM_SNOW, snow) \
    X(MPM_SAND, sand)

#define MPM_LAW_ENUMERATOR(enumerator, name) enumerator,
enum { MPM_LAWS(MPM_LAW_ENUMERATOR) MPM_LAW_COUNT };
#undef MPM_LAW_ENUMERATOR

/** Has law `index` a return map? Known when compiling where `index` is. */
static inline bool mpm_laws_plastic(int index)
{
    switch (index) {
#define MPM_LAW_CASE(enumerator, name) case enumerator:
        MPM_PLASTIC_LAWS(MPM_LAW_CASE)
#undef MPM_LAW_CASE
        return true;
    default:
        return false;
    }
}

/** Row `index` of the registry, 0 <= index < MPM_LAW_COUNT. */
const mpm_law *mpm_laws_get(int index);
