/* SPDX-License-Identifier: MIT
 *
 * Calls a law of the registry by its index.
 */
#pragma once
#include "materials/each_law.h"
#include "materials/general_laws.h"
#include "materials/law_rows.h"
#include "materials/user.h"

/* The row of a law: constants where the index is one, elsewhere the core's, or each kernel would hold all rows. */
INLINE const mpm_law *law_row(const int law)
{
    return __builtin_constant_p(law) ? law_rows[law] : mpm_laws_get(law);
}

/* Any law whose parameters vary over the particles. It keeps the law that it has prepared last, so that the evaluation
 * of a tile need not prepare what its return map has, where parameters and law are few enough. */
enum { VARYING_KEY = 4, VARYING_LAW = 18 };

struct varying {
    const mpm_material *material;
    int ready;             /* it keeps a law for all lanes */
    wide key[VARYING_KEY]; /* the parameters that vary */
    wide law[VARYING_LAW]; /* the law prepared with them */
};

union law_parameters {
#define MEMBER(enumerator, name, kind, speed, tangent, piola) struct name name;
    MPM_LAWS(MEMBER)
#undef MEMBER
    struct user user;
    struct varying varying;
};

INLINE void prepare_law(const int law, union law_parameters *parameters, const mpm_material *material)
{
    MPM_KERNEL(general_laws_prepare)(law, parameters, material);
}

/* The components of a material's history, with its varying parameters behind; `law` is the one by which kernels call
 * it, where that is a constant. */
INLINE int law_history(const int law, const mpm_material *material)
{
    if (law == MPM_VARYING)
        return mpm_law_history(law_row(material->law), DIM) + material->varying;
    return mpm_law_history(law == MPM_USER ? &material->user->row : law_row(law), DIM);
}

/* Copies what a law keeps, so that the original stays in registers. */
INLINE void copy_law_state(const int law, const union law_parameters *parameters, const struct law_state *from,
                           struct law_state *to)
{
    /* All of it where parameters vary: the number would be read from memory for every tile, whatever the law. */
    const int components = law == MPM_VARYING ? MPM_LAW_HISTORY
                           : law == MPM_USER  ? user_components(&parameters->user)
                                              : mpm_law_history(law_row(law), DIM);
    to->F = from->F;
    to->J = from->J;
    for (int c = 0; c < components; c++)
        to->history[c] = from->history[c];
}

INLINE struct law_evaluation evaluate_law(const int law, const union law_parameters *parameters, struct law_state state,
                                          matrix C)
{
    struct law_state copy;
    const matrix gradient = C;
    struct law_evaluation evaluation;
    copy_law_state(law, parameters, &state, &copy);
    MPM_KERNEL(general_laws_evaluate)(law, parameters, &copy, &gradient, &evaluation);
    return evaluation;
}

INLINE struct law_evaluation inlined_evaluate(const int law, const union law_parameters *parameters,
                                              struct law_state state, matrix C)
{
#define IF_FAST(enumerator, name) \
    case enumerator: \
        return name##_evaluate(&parameters->name, state, C);
#define IF_GENERAL(enumerator, name)
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent, piola) IF_##speed(enumerator, name)
        MPM_LAWS(CASE)
#undef CASE
#undef IF_FAST
#undef IF_GENERAL
    }
    return evaluate_law(law, parameters, state, C);
}

/* Does the law keep J instead of F? */
INLINE bool law_keeps_J(const int law)
{
    return law_row(law)->strain == MPM_KEEPS_J;
}

/* The whole volume ratio over det F: the volume that was gained or lost inelastically. */
INLINE wide law_volume_scale(const mpm_law *row, const struct law_state *state)
{
    wide scale = wide_set(1);
    int component = 0;
    for (int f = 0; f < row->fields; f++) {
        if (row->field[f].scales_volume)
            scale *= state->history[component];
        component += mpm_rank_components(row->field[f].rank, DIM);
    }
    return scale;
}

/* The return map of an inelastic law. Returns the lanes whose history it limited. */
INLINE mask return_map(const int law, const union law_parameters *parameters, struct law_state *state, wide dt,
                       matrix C)
{
    struct law_state copy;
    const matrix gradient = C;
    mask limited;
    copy_law_state(law, parameters, state, &copy);
    MPM_KERNEL(general_laws_return_map)(law, parameters, &copy, dt, &gradient, &limited);
    copy_law_state(law, parameters, &copy, state);
    return limited;
}

INLINE mask inlined_return_map(const int law, const union law_parameters *parameters, struct law_state *state, wide dt,
                               matrix C)
{
#define CALL_ELASTIC(name) __builtin_unreachable()
#define CALL_INELASTIC(name) return name##_return_map(&parameters->name, state, dt, C)
#define IF_FAST(enumerator, name, kind) \
    case enumerator: \
        CALL_##kind(name);
#define IF_GENERAL(enumerator, name, kind)
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent, piola) IF_##speed(enumerator, name, kind)
        MPM_LAWS(CASE)
#undef CASE
#undef IF_FAST
#undef IF_GENERAL
#undef CALL_ELASTIC
#undef CALL_INELASTIC
    }
    return return_map(law, parameters, state, dt, C);
}

/* The derivatives by the principal stretches of a trial F, of a law with a tangent, in a step of size dt. */
INLINE struct law_tangent law_tangent_at(const int law, const union law_parameters *parameters, const wide stretch[DIM],
                                         const struct law_state *state, wide dt)
{
    struct law_state copy;
    wide value[DIM];
    struct law_tangent tangent;
    copy_law_state(law, parameters, state, &copy);
    UNROLL for (int i = 0; i < DIM; i++)
        value[i] = stretch[i];
    MPM_KERNEL(general_laws_tangent)(law, parameters, value, &copy, dt, &tangent);
    return tangent;
}

/* P(F) of an elastic law that keeps F. Where a law has no formula for it, P = tau F^-T, and `modulus` bounds that of
 * its waves by the largest |F^-T g|. */
INLINE struct law_piola law_piola_at(const int law, const union law_parameters *parameters, matrix F)
{
#define CALL_NO_PIOLA(name) break
#define CALL_PIOLA(name) return name##_piola(&parameters->name, F)
#define CALL_INVERTS CALL_PIOLA
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        CALL_##piola(name);
        MPM_LAWS(CASE)
#undef CASE
#undef CALL_NO_PIOLA
#undef CALL_PIOLA
#undef CALL_INVERTS
    }
    const matrix cofactor = matrix_cofactor(F);
    const struct law_state state = {.F = F, .J = matrix_det_from(F, cofactor)};
    const wide inverse = wide_set(1) / state.J;
    const struct law_evaluation e = evaluate_law(law, parameters, state, matrix_scale(wide_set(0), F));
    const wide largest2 = matrix_largest_eigenvalue_bound(matrix_multiply_transposed(cofactor, cofactor));
    return (struct law_piola){.P = matrix_scale(inverse, matrix_multiply(e.tau, cofactor)), .energy = e.energy,
                              .modulus = e.wave * largest2 * (inverse * inverse)};
}

/* Lame's parameters of an elastic law with a tangent, at rest. */
INLINE void law_lame_at_rest(const int law, const union law_parameters *parameters, wide *mu, wide *lambda)
{
    const struct law_state state = {.F = matrix_identity(), .J = wide_set(1)};
    wide stretch[DIM];
    UNROLL for (int i = 0; i < DIM; i++)
        stretch[i] = wide_set(1);
    const struct law_tangent tangent = law_tangent_at(law, parameters, stretch, &state, wide_set(0));
    *lambda = tangent.second[0][1];
    *mu = (tangent.second[0][0] - *lambda) * wide_set((real)0.5);
}
