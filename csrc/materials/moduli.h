/* SPDX-License-Identifier: MIT
 *
 * The derivatives of the stress of laws with axes of their own: of fibres, of flow that has hardened in a direction, or
 * of a strain that has relaxed. In the principal frame of F their derivative has no simple form, so it is kept as the
 * symmetric matrix of its components. Column e is the change for a gradient G with 1 at component e, and 0 elsewhere.
 *
 * Some of these laws are sums of parts that are isotropic in F H, with an H that stays as it is during the step. The
 * derivative of a part is that of tangent.h, with F H and F^n H for F and F^n. Each part is projected by itself, since
 * the sum of positive semi-definite matrices is positive semi-definite.
 */
#pragma once
#include "materials/tangent.h"

/* The gradient with 1 at component e. */
INLINE matrix moduli_unit(int e)
{
    matrix unit = {0};
    unit.m[e / DIM][e % DIM] = wide_set(1);
    return unit;
}

/* Adds the symmetric part of column e. */
INLINE void moduli_add_column(struct law_moduli *m, int e, const matrix *column)
{
    const wide half = wide_set((real)0.5);
    for (int f = 0; f < DIM * DIM; f++) {
        wide *entry = &m->packed[f < e ? LAW_MODULUS(e, f) : LAW_MODULUS(f, e)];
        *entry = wide_fma(e == f ? wide_set(1) : half, column->m[f / DIM][f % DIM], *entry);
    }
}

/* Adds a part that is isotropic in the F H that led to the frames of `t`. */
INLINE void moduli_add(struct law_moduli *m, const struct law_trial *trial, struct tangent *t, struct law_tangent *part)
{
    m->energy += part->energy;
    m->force = matrix_add(m->force, tangent_force(t, part));
    t->viscosity = wide_set(0);
    tangent_fill(t, part, wide_set(1), trial->projects);
    for (int e = 0; trial->derives && e < DIM * DIM; e++) {
        const matrix column = tangent_apply(t, moduli_unit(e));
        moduli_add_column(m, e, &column);
    }
}
