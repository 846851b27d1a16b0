/* SPDX-License-Identifier: MIT
 *
 * The law of each tile of a strip: one for all, or one for each tile where parameters vary.
 *
 * Laws with axes of their own (materials/moduli.h) have no two moduli at rest. With F^n = I their moduli are dP/dF.
 */
#pragma once
#include "fem/kernels/tiles.h"
#include "materials/law_switch.h"
#include "materials/prepared.h"

struct laws {
    const mpm_material *material;
    const char *first; /* parameters of tile 0 */
    size_t bytes;      /* from tile to tile; 0: all have the same */
    wide mu, lambda;   /* at rest, if all have the same and no axes of their own */
};

/* `parameters` is filled where one law serves all. */
INLINE struct laws laws_of(const mpm_fem_sweep *sweep, const mpm_material *material, union law_parameters *parameters)
{
    if (material->varying)
        return (struct laws){material, sweep->prepared, sweep->prepared_bytes, wide_set(0), wide_set(0)};
    struct laws laws = {.material = material, .first = (const char *)parameters};
    prepare_law(material->law, parameters, material);
    if (!material->has_moduli)
        law_lame_at_rest(material->law, parameters, &laws.mu, &laws.lambda);
    return laws;
}

INLINE const union law_parameters *laws_at(const struct laws *laws, ptrdiff_t tile)
{
    return (const union law_parameters *)(const void *)(laws->first + (size_t)tile * laws->bytes);
}

/* Lame's parameters at rest. */
INLINE void laws_lame(const struct laws *laws, ptrdiff_t tile, wide *mu, wide *lambda)
{
    *mu = laws->mu;
    *lambda = laws->lambda;
    if (laws->bytes)
        law_lame_at_rest(laws->material->law, laws_at(laws, tile), mu, lambda);
}

/* dP/dF of a law with axes of its own, made positive semi-definite. */
INLINE struct law_moduli laws_moduli(const struct laws *laws, ptrdiff_t tile, matrix F)
{
    const struct law_state rest = {.F = matrix_identity(), .J = wide_set(1)};
    const struct law_trial trial = {F, &rest, wide_set(0), true, true};
    struct law_moduli moduli;
    MPM_KERNEL(general_laws_moduli)(laws->material->law, laws_at(laws, tile), &trial, &moduli);
    return moduli;
}
