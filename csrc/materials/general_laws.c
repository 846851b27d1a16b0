/* SPDX-License-Identifier: MIT
 *
 * Every law of the registry, the laws of users, and any law whose parameters vary. Like the files of kernels/, it is
 * compiled for each kernel set.
 */
#include <stdint.h>
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
        parameters->varying.material = material;
        parameters->varying.ready = 0;
    }
}

/* ---- parameters that vary ---------------------------------------------------------------------------------------- */

/* Copies one lane of an object that consists of `wide` members, and of others that are the same for all lanes, to
 * another lane. */
static void move_lane(void *to, int to_lane, const void *from, int from_lane, size_t size)
{
    for (size_t at = 0; at + sizeof(wide) <= size; at += sizeof(wide))
        memcpy((char *)to + at + (size_t)to_lane * sizeof(real),
               (const char *)from + at + (size_t)from_lane * sizeof(real), sizeof(real));
}

static void copy_lane(void *to, const void *from, size_t size, int lane)
{
    move_lane(to, lane, from, lane, size);
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

static const wide *varying_columns(const mpm_material *material, const struct law_state *state)
{
    return &state->history[law_history(material->law, material)];
}

/* The values that vary of a lane's particle; padding, whose values are NaN, has those of lane 0. */
static void read_values(const mpm_material *material, const wide *varying, int lane, double *values)
{
    for (int k = 0; k < material->varying; k++) {
        const double own = (double)wide_lane(varying[k], lane);
        values[k] = own == own ? own : (double)wide_lane(varying[k], 0);
    }
}

/* Does the code of the law take the same branches for both? */
static bool agree(const mpm_material *material, const double *a, const double *b)
{
    const mpm_law *row = mpm_laws_get(material->law);
    for (int k = 0; k < material->varying; k++) {
        const mpm_branches branches = row->parameter[material->parameter[k]].branches;
        const double special = branches == MPM_BRANCHES_AT_1;
        if (branches == MPM_BRANCHES ? a[k] != b[k] : branches && (a[k] == special) != (b[k] == special))
            return false;
    }
    return true;
}

static bool same(const mpm_material *material, const double *a, const double *b)
{
    return !memcmp(a, b, (size_t)material->varying * sizeof *a);
}

/* Prepares the law for the lanes that take the branches of lane `first`, each with its own values; all others have
 * those of lane `first`. Returns the lanes. Neighbours often have the same values: one preparation serves them. */
static unsigned prepare_lanes(const mpm_material *material, const struct law_state *state, int first,
                              union law_parameters *parameters)
{
    const size_t size = MPM_KERNEL(general_laws_size)(material->law);
    const wide *varying = varying_columns(material, state);
    mpm_material one = *material;
    double leading[MPM_LAW_HISTORY], last[MPM_LAW_HISTORY], own[MPM_LAW_HISTORY];
    unsigned lanes = 0;
    int ready = first; /* the lane with the values `last` */
    read_values(material, varying, first, leading);
    memcpy(last, leading, (size_t)material->varying * sizeof *last);
    for (int k = 0; k < material->varying; k++)
        one.values[material->parameter[k]] = leading[k];
    prepare_law(one.law, parameters, &one);
    for (int q = 0; q < WIDTH; q++) {
        read_values(material, varying, q, own);
        if (!agree(material, leading, own))
            continue;
        lanes |= 1u << q;
        if (same(material, leading, own))
            continue;
        if (same(material, last, own)) {
            move_lane(parameters, q, parameters, ready, size);
            continue;
        }
        for (int k = 0; k < material->varying; k++)
            one.values[material->parameter[k]] = last[k] = own[k];
        MPM_KERNEL(general_laws_prepare_lane)(&one, parameters, q);
        ready = q;
    }
    return lanes;
}

enum { ALL_LANES = (int)((1ull << WIDTH) - 1) };

/* The law prepared for the first of the lanes that are `left`, and for others; takes these from `left`, and returns
 * them. The law is in `own`, or kept for the next call in the object of `parameters`, which is no constant. */
static unsigned prepare_some(const union law_parameters *parameters, const struct law_state *state, unsigned *left,
                             union law_parameters *own, const union law_parameters **law)
{
    struct varying *kept = (struct varying *)(uintptr_t)&parameters->varying;
    const mpm_material *material = kept->material;
    const size_t size = MPM_KERNEL(general_laws_size)(material->law);
    /* A single float is less aligned than the numbers that some laws have in double precision. */
    const bool fits = size <= sizeof kept->law && (uintptr_t)kept->law % _Alignof(union law_parameters) == 0;
    const bool keeps = *left == ALL_LANES && material->varying <= VARYING_KEY && fits;
    const size_t bytes = (size_t)material->varying * sizeof(wide);
    unsigned lanes = ALL_LANES;
    if (keeps) {
        *law = (const union law_parameters *)(const void *)kept->law;
        if (!kept->ready || memcmp(kept->key, varying_columns(material, state), bytes)) {
            lanes = prepare_lanes(material, state, 0, (union law_parameters *)(void *)kept->law);
            kept->ready = lanes == ALL_LANES;
            memcpy(kept->key, varying_columns(material, state), bytes);
        }
    } else {
        memset(own, 0, size);
        lanes = prepare_lanes(material, state, __builtin_ctz(*left), own) & *left;
        *law = own;
    }
    *left &= ~lanes;
    return lanes;
}

NOINLINE void evaluate_varying(const union law_parameters *parameters, const struct law_state *state, const matrix *C,
                             struct law_evaluation *evaluation)
{
    unsigned left = ALL_LANES;
    while (left) {
        union law_parameters own;
        const union law_parameters *law;
        const unsigned lanes = prepare_some(parameters, state, &left, &own, &law);
        const struct law_evaluation found = evaluate_law(parameters->varying.material->law, law, *state, *C);
        if (lanes == ALL_LANES)
            *evaluation = found;
        for (int q = 0; q < WIDTH && lanes != ALL_LANES; q++)
            if (lanes >> q & 1)
                copy_lane(evaluation, &found, sizeof found, q);
    }
}

NOINLINE void map_varying(const union law_parameters *parameters, struct law_state *state, wide dt, const matrix *C,
                          mask *limited)
{
    const struct law_state trial = *state;
    wide is_limited = wide_set(0);
    unsigned left = ALL_LANES;
    while (left) {
        union law_parameters own;
        const union law_parameters *law;
        const unsigned lanes = prepare_some(parameters, &trial, &left, &own, &law);
        struct law_state mapped = trial;
        const mask changed = return_map(parameters->varying.material->law, law, &mapped, dt, *C);
        const wide found = wide_select(changed, wide_set(1), wide_set(0));
        for (int q = 0; q < WIDTH; q++)
            if (lanes >> q & 1) {
                copy_lane(state, &mapped, sizeof mapped, q);
                copy_lane(&is_limited, &found, sizeof found, q);
            }
    }
    *limited = wide_less(wide_set(0), is_limited);
}

NOINLINE void tangent_varying(const union law_parameters *parameters, const wide stretch[DIM],
                              const struct law_state *state, wide dt, struct law_tangent *tangent)
{
    unsigned left = ALL_LANES;
    while (left) {
        union law_parameters own;
        const union law_parameters *law;
        const unsigned lanes = prepare_some(parameters, state, &left, &own, &law);
        const int index = parameters->varying.material->law;
        const struct law_tangent found = law_tangent_at(index, law, stretch, state, dt);
        for (int q = 0; q < WIDTH; q++)
            if (lanes >> q & 1)
                copy_lane(tangent, &found, sizeof found, q);
    }
}

NOINLINE void moduli_varying(const union law_parameters *parameters, const struct law_trial *trial,
                             struct law_moduli *moduli)
{
    unsigned left = ALL_LANES;
    while (left) {
        union law_parameters own;
        const union law_parameters *law;
        struct law_moduli found;
        const unsigned lanes = prepare_some(parameters, trial->begin, &left, &own, &law);
        MPM_KERNEL(general_laws_moduli)(parameters->varying.material->law, law, trial, &found);
        for (int q = 0; q < WIDTH; q++)
            if (lanes >> q & 1)
                copy_lane(moduli, &found, sizeof found, q);
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
        evaluate_varying(parameters, state, C, evaluation);
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
        map_varying(parameters, state, dt, C, limited);
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
        tangent_varying(parameters, stretch, state, dt, tangent);
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
        moduli_varying(parameters, trial, moduli);
        return;
    }
    __builtin_unreachable();
}
