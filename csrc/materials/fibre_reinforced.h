/* SPDX-License-Identifier: MIT
 *
 * Neo-Hookean solid with one family of fibres along the unit vector a, which bear tension alone: tissue, cord rubber.
 *
 *     Psi(F) = Psi_NH(F) + k1/(2 k2) (exp(k2 e^2) - 1),  e = max(|F a|^2 - 1, 0)      energy per rest volume [J/m3]
 *     tau(F) = tau_NH(F) + 2 k1 e exp(k2 e^2) (F a)(F a)^T                            Kirchhoff stress [Pa]
 *
 * k2 = 0: k1/2 e^2, standard reinforcing model. In plane strain, (F a)_z = a_z, and families at a_z and -a_z balance
 * the shear out of plane.
 * G. A. Holzapfel, T. C. Gasser, R. W. Ogden, J. Elasticity 61 (2000) 1; neo_hookean.h.
 */
#pragma once
#include <math.h>

#include "materials/neo_hookean.h"

struct fibre_reinforced {
    struct neo_hookean matrix;
    wide k1, k2;   /* [Pa], 1 */
    wide along[3]; /* a */
};

INLINE struct fibre_reinforced fibre_reinforced_prepare(const double *values)
{
    const double *a = &values[4], length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    struct fibre_reinforced law = {.matrix = neo_hookean_prepare(values), .k1 = wide_set((real)values[2]),
                                   .k2 = wide_set((real)values[3])};
    for (int i = 0; i < 3; i++)
        law.along[i] = wide_set((real)(a[i] / length));
    return law;
}

INLINE struct law_evaluation fibre_reinforced_evaluate(const struct fibre_reinforced *law, struct law_state state,
                                                       matrix velocity_gradient)
{
    const wide zero = wide_set(0), one = wide_set(1), two = wide_set(2), half = wide_set((real)0.5), *a = law->along;
    struct law_evaluation r = neo_hookean_evaluate(&law->matrix, state, velocity_gradient);
    wide w[DIM], square = wide_set(DIM == 2) * a[2] * a[2]; /* F a and its square */
    UNROLL for (int i = 0; i < DIM; i++) {
        w[i] = state.F.m[i][0] * a[0];
        UNROLL for (int j = 1; j < DIM; j++)
            w[i] = wide_fma(state.F.m[i][j], a[j], w[i]);
        square = wide_fma(w[i], w[i], square);
    }
    /* the rounding of |a|^2 - 1 pulls no fibre */
    const wide excess = square - one, slack = wide_set(4 * REAL_EPSILON);
    const wide e = wide_select(wide_less(slack, excess), excess, zero), exponent = law->k2 * e * e;
    const wide stiff = law->k1 * wide_exp(exponent), slope = stiff * e;
    const mask small = wide_less(exponent, wide_set((real)(REAL_IS_FLOAT ? 1e-3 : 1e-6)));
    /* (exp(x) - 1)/x, without the quotient where x is small */
    const wide mean = wide_select(small, wide_fma(exponent, wide_fma(exponent, wide_set((real)(1.0 / 6)), half), one),
                                  (wide_exp(exponent) - one) / wide_select(small, one, exponent));
    r.energy = wide_fma(half * law->k1 * e * e, mean, r.energy);
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            r.tau.m[i][j] = wide_fma(two * slope, w[i] * w[j], r.tau.m[i][j]);
    r.tau = matrix_symmetric(r.tau);
    r.tau_zz = wide_fma(two * slope, a[2] * a[2], r.tau_zz);
    /* 4 Psi'' (w.A w)^2 + 2 Psi' |A w|^2, by e; a slack fibre may be taut after the step */
    const wide curvature = two * square * wide_fma(two * stiff * square, wide_fma(two, exponent, one), slope);
    r.wave += curvature;
    r.isolated += curvature;
    return r;
}
