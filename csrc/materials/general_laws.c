/* SPDX-License-Identifier: MIT
 *
 * Every law of the registry, the laws of users, and any law whose parameters vary. Like the files of kernels/, it is
 * compiled for each kernel set.
 */
#include <string.h>

#include "materials/law_switch.h"
#include "materials/prepared.h"

void MPM_KERNEL(general_laws_prepare)(int law, union law_parameters *parameters, const mpm_material *material)
{
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        parameters->name = name##_prepare(MPM_VALUES(name, material->values)); \
        return;
        MPM_LAWS(CASE)
#undef CASE
    case MPM_USER:
        parameters->user = user_prepare(material);
        return;
    case MPM_VARYING:
        parameters->varying = (struct varying){material};
    }
}

/* ---- parameters that vary ---------------------------------------------------------------------------------------- */

/* Copies one lane of an object that consists of `wide` members, and of others that are the same for all lanes. */
static void copy_lane(void *to, const void *from, size_t size, int lane)
{
    for (size_t at = (size_t)lane * sizeof(real); at < size; at += sizeof(wide))
        memcpy((char *)to + at, (const char *)from + at, sizeof(real));
}

size_t MPM_KERNEL(general_laws_size)(int law)
{
    enum { ALIGN = _Alignof(union law_parameters) }; /* rounded up to it, those of tiles may follow each other */
    static const size_t sizes[MPM_LAW_COUNT] = {
#define SIZE(enumerator, name, kind, speed, tangent, piola) \
    [enumerator] = (sizeof(struct name) + ALIGN - 1) / ALIGN * ALIGN,
        MPM_LAWS(SIZE)
#undef SIZE
    };
    return sizes[law];
}

void MPM_KERNEL(general_laws_prepare_lane)(const mpm_material *material, void *parameters, int lane)
{
    union law_parameters own = {0};
    prepare_law(material->law, &own, material);
    copy_lane(parameters, &own, MPM_KERNEL(general_laws_size)(material->law), lane);
}

/* The values of a lane's particle; padding, whose values are NaN, has those of lane 0. */
static void read_values(const mpm_material *material, const struct law_state *state, int lane, double *values)
{
    const wide *varying = &state->history[law_history(material->law, material)];
    memcpy(values, material->values, sizeof material->values);
    for (int k = 0; k < material->varying; k++) {
        const double own = (double)wide_lane(varying[k], lane);
        values[material->parameter[k]] = own == own ? own : (double)wide_lane(varying[k], 0);
    }
}

/* Does the code of the law take the same branches for both? */
static bool agree(const mpm_material *material, const double *a, const double *b)
{
    for (int k = 0; k < material->varying; k++) {
        const int p = material->parameter[k];
        const mpm_branches branches = law_row(material->law)->parameter[p].branches;
        const double special = branches == MPM_BRANCHES_AT_1;
        if (branches == MPM_BRANCHES ? a[p] != b[p] : branches && (a[p] == special) != (b[p] == special))
            return false;
    }
    return true;
}

/* Prepares the law for the lanes that take the branches of lane `first`, each with its own values; all others have
 * those of lane `first`. Returns the lanes. */
static unsigned prepare_lanes(const mpm_material *material, const struct law_state *state, int first,
                              union law_parameters *parameters)
{
    mpm_material one = *material;
    double leading[MPM_LAW_PARAMETERS];
    unsigned lanes = 0;
    read_values(material, state, first, leading);
    memcpy(one.values, leading, sizeof leading);
    prepare_law(one.law, parameters, &one);
    for (int q = 0; q < WIDTH; q++) {
        read_values(material, state, q, one.values);
        if (!agree(material, leading, one.values))
            continue;
        lanes |= 1u << q;
        MPM_KERNEL(general_laws_prepare_lane)(&one, parameters, q);
    }
    return lanes;
}

enum { ALL_LANES = (int)((1ull << WIDTH) - 1) };

NOINLINE void evaluate_varying(const mpm_material *material, const struct law_state *state, const matrix *C,
                             struct law_evaluation *evaluation)
{
    unsigned left = ALL_LANES;
    while (left) {
        union law_parameters parameters = {0};
        const unsigned lanes = prepare_lanes(material, state, __builtin_ctz(left), &parameters) & left;
        const struct law_evaluation found = evaluate_law(material->law, &parameters, *state, *C);
        if (lanes == ALL_LANES)
            *evaluation = found;
        for (int q = 0; q < WIDTH && lanes != ALL_LANES; q++)
            if (lanes >> q & 1)
                copy_lane(evaluation, &found, sizeof found, q);
        left &= ~lanes;
    }
}

NOINLINE void map_varying(const mpm_material *material, struct law_state *state, wide dt, const matrix *C,
                          mask *limited)
{
    const struct law_state trial = *state;
    wide is_limited = wide_set(0);
    unsigned left = ALL_LANES;
    while (left) {
        union law_parameters parameters = {0};
        const unsigned lanes = prepare_lanes(material, &trial, __builtin_ctz(left), &parameters) & left;
        struct law_state mapped = trial;
        const wide found =
            wide_select(return_map(material->law, &parameters, &mapped, dt, *C), wide_set(1), wide_set(0));
        for (int q = 0; q < WIDTH; q++)
            if (lanes >> q & 1) {
                copy_lane(state, &mapped, sizeof mapped, q);
                copy_lane(&is_limited, &found, sizeof found, q);
            }
        left &= ~lanes;
    }
    *limited = wide_less(wide_set(0), is_limited);
}

NOINLINE void tangent_varying(const mpm_material *material, const wide stretch[DIM], const struct law_state *state,
                              wide dt, struct law_tangent *tangent)
{
    unsigned left = ALL_LANES;
    while (left) {
        union law_parameters parameters = {0};
        const unsigned lanes = prepare_lanes(material, state, __builtin_ctz(left), &parameters) & left;
        const struct law_tangent found = law_tangent_at(material->law, &parameters, stretch, state, dt);
        for (int q = 0; q < WIDTH; q++)
            if (lanes >> q & 1)
                copy_lane(tangent, &found, sizeof found, q);
        left &= ~lanes;
    }
}

NOINLINE void moduli_varying(const mpm_material *material, const struct law_trial *trial, struct law_moduli *moduli)
{
    unsigned left = ALL_LANES;
    while (left) {
        union law_parameters parameters = {0};
        struct law_moduli found;
        const unsigned lanes = prepare_lanes(material, trial->begin, __builtin_ctz(left), &parameters) & left;
        MPM_KERNEL(general_laws_moduli)(material->law, &parameters, trial, &found);
        for (int q = 0; q < WIDTH; q++)
            if (lanes >> q & 1)
                copy_lane(moduli, &found, sizeof found, q);
        left &= ~lanes;
    }
}

/* ---- all laws ---------------------------------------------------------------------------------------------------- */

/* Each law is a function of its own: the time to compile one grows faster than its length. */
#define ELASTIC(name)
#define INELASTIC(name) \
    NOINLINE void name##_call_return_map(const union law_parameters *parameters, struct law_state *state, wide dt, \
                                         const matrix *C, mask *limited) \
    { \
        *limited = name##_return_map(&parameters->name, state, dt, *C); \
    }
#define NO_TANGENT(name)
#define MODULI(name)
#define TANGENT(name) \
    NOINLINE void name##_call_tangent(const union law_parameters *parameters, const wide *stretch, \
                                      const struct law_state *state, wide dt, struct law_tangent *tangent) \
    { \
        (void)dt; \
        *tangent = name##_tangent(&parameters->name, stretch, state); \
    }
#define MAPPED(name) \
    NOINLINE void name##_call_tangent(const union law_parameters *parameters, const wide *stretch, \
                                      const struct law_state *state, wide dt, struct law_tangent *tangent) \
    { \
        *tangent = name##_tangent(&parameters->name, stretch, state, dt); \
    }
#define MAPPED_OR_MODULI MAPPED
#define CALLS(enumerator, name, kind, speed, tangent, piola) \
    NOINLINE void name##_call_evaluate(const union law_parameters *parameters, const struct law_state *state, \
                                       const matrix *C, struct law_evaluation *evaluation) \
    { \
        *evaluation = name##_evaluate(&parameters->name, *state, *C); \
    } \
    kind(name) \
    tangent(name)
MPM_LAWS(CALLS)
#undef ELASTIC
#undef INELASTIC
#undef NO_TANGENT
#undef MODULI
#undef TANGENT
#undef MAPPED
#undef MAPPED_OR_MODULI
#undef CALLS

void MPM_KERNEL(general_laws_evaluate)(int law, const union law_parameters *parameters, const struct law_state *state,
                                       const matrix *C, struct law_evaluation *evaluation)
{
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        name##_call_evaluate(parameters, state, C, evaluation); \
        return;
        MPM_LAWS(CASE)
#undef CASE
    case MPM_USER:
        *evaluation = user_evaluate(&parameters->user, state);
        return;
    case MPM_VARYING:
        evaluate_varying(parameters->varying.material, state, C, evaluation);
    }
}

void MPM_KERNEL(general_laws_return_map)(int law, const union law_parameters *parameters, struct law_state *state,
                                         wide dt, const matrix *C, mask *limited)
{
#define CALL_ELASTIC(name) break
#define CALL_INELASTIC(name) \
    name##_call_return_map(parameters, state, dt, C, limited); \
    return
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        CALL_##kind(name);
        MPM_LAWS(CASE)
#undef CASE
    case MPM_USER:
        user_return_map(&parameters->user, state, dt, *C);
        break;
    case MPM_VARYING:
        map_varying(parameters->varying.material, state, dt, C, limited);
        return;
    }
    *limited = wide_less(wide_set(1), wide_set(0)); /* no lane */
}

void MPM_KERNEL(general_laws_tangent)(int law, const union law_parameters *parameters, const wide *stretch,
                                      const struct law_state *state, wide dt, struct law_tangent *tangent)
{
#define CALL_NO_TANGENT(name) break
#define CALL_TANGENT(name) \
    name##_call_tangent(parameters, stretch, state, dt, tangent); \
    return
#define CALL_MAPPED CALL_TANGENT
#define CALL_MAPPED_OR_MODULI CALL_TANGENT
#define CALL_MODULI CALL_NO_TANGENT
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        CALL_##tangent(name);
        MPM_LAWS(CASE)
#undef CASE
    case MPM_VARYING:
        tangent_varying(parameters->varying.material, stretch, state, dt, tangent);
        return;
    }
    __builtin_unreachable();
}

void MPM_KERNEL(general_laws_moduli)(int law, const union law_parameters *parameters, const struct law_trial *trial,
                                     struct law_moduli *moduli)
{
    *moduli = (struct law_moduli){0};
#define FIND_NO_TANGENT(name) break
#define FIND_TANGENT FIND_NO_TANGENT
#define FIND_MAPPED FIND_NO_TANGENT
#define FIND_MODULI(name) \
    name##_moduli(&parameters->name, trial, moduli); \
    return
#define FIND_MAPPED_OR_MODULI FIND_MODULI
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        FIND_##tangent(name);
        MPM_LAWS(CASE)
#undef CASE
    case MPM_VARYING:
        moduli_varying(parameters->varying.material, trial, moduli);
        return;
    }
    __builtin_unreachable();
}
