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
#include "materials/row.h"

#define FIBRE_REINFORCED_PARAMETERS(P) \
    P(E, "Pa", POSITIVE, "Young's modulus without fibres") \
    P(nu, "1", -1, 0.5, true, true, "Poisson's ratio without fibres") \
    P(k_1, "Pa", NOT_NEGATIVE, "stiffness of the fibres") \
    P(k_2, "1", NOT_NEGATIVE, "growth of this stiffness with the stretch; 0: none") \
    P(direction_x, "1", ANY_NUMBER, "of the fibres, a vector of any length") \
    P(direction_y, "1", ANY_NUMBER, "likewise") \
    P(direction_z, "1", ANY_NUMBER, "likewise") \
    DENSITY(P)

struct fibre_reinforced_parameters { FIBRE_REINFORCED_PARAMETERS(MPM_MEMBER) };

MPM_ROW(fibre_reinforced,
    .name = "fibre_reinforced", .kinked = true, .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(fibre_reinforced, FIBRE_REINFORCED_PARAMETERS),
    .reference = "G. A. Holzapfel, T. C. Gasser, R. W. Ogden, A new constitutive framework for arterial wall "
                 "mechanics and a comparative study of material models, Journal of Elasticity 61 (2000) 1-48. "
                 "doi:10.1023/A:1010835316564")

#ifdef MPM_DIM /* for kernels */
#include "materials/moduli.h"
#include "materials/neo_hookean.h"

struct fibre_reinforced {
    struct neo_hookean matrix;
    wide k1, k2;   /* [Pa], 1 */
    wide along[3]; /* a */
};

INLINE struct fibre_reinforced fibre_reinforced_prepare(const struct fibre_reinforced_parameters *p)
{
    const double a[] = {p->direction_x, p->direction_y, p->direction_z};
    const double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    struct fibre_reinforced law = {.matrix = neo_hookean_of(p->E, p->nu), .k1 = wide_set((real)p->k_1),
                                   .k2 = wide_set((real)p->k_2)};
    for (int i = 0; i < 3; i++)
        law.along[i] = wide_set((real)(a[i] / length));
    return law;
}

/* The fibres at F: w = F a, and the energy with its derivatives by e. */
struct fibre_reinforced_pull {
    wide w[DIM], square;           /* square: |F a|^2, its zz component in plane strain included */
    wide energy, slope, curvature; /* [J/m3], [Pa], [Pa]; the curvature is that of e > 0, if e is 0 */
    mask taut;                     /* or at rest, where any pull makes them taut */
};

INLINE struct fibre_reinforced_pull fibre_reinforced_pull_of(const struct fibre_reinforced *law, matrix F)
{
    const wide zero = wide_set(0), one = wide_set(1), two = wide_set(2), half = wide_set((real)0.5), *a = law->along;
    /* |F a|^2 - 1 = (2 a + G a) G a, G = F - I: |a| rounds */
    const matrix G = matrix_add_diagonal(F, -one);
    wide excess = zero, slack = zero; /* slack: what rounding makes of the excess */
    struct fibre_reinforced_pull r;
    UNROLL for (int i = 0; i < DIM; i++) {
        wide change = G.m[i][0] * a[0], size = wide_abs(change);
        UNROLL for (int j = 1; j < DIM; j++) {
            change = wide_fma(G.m[i][j], a[j], change);
            size += wide_abs(G.m[i][j] * a[j]);
        }
        r.w[i] = a[i] + change;
        slack = wide_fma(wide_abs(r.w[i] + a[i]), size, slack);
        excess = wide_fma(r.w[i] + a[i], change, excess);
    }
    r.square = excess + one;
    slack *= wide_set(4 * REAL_EPSILON);
    const wide e = wide_select(wide_less(slack, excess), excess, zero), exponent = law->k2 * e * e;
    const wide stiff = law->k1 * wide_exp(exponent);
    const mask small = wide_less(exponent, wide_set((real)(REAL_IS_FLOAT ? 1e-3 : 1e-6)));
    /* (exp(x) - 1)/x, without the quotient where x is small */
    const wide mean = wide_select(small, wide_fma(exponent, wide_fma(exponent, wide_set((real)(1.0 / 6)), half), one),
                                  (wide_exp(exponent) - one) / wide_select(small, one, exponent));
    r.taut = wide_less_equal(-(slack + wide_set(4 * REAL_EPSILON)), excess); /* F of a state at rest rounds, too */
    r.energy = half * law->k1 * e * e * mean;
    r.slope = law_bounded(stiff * e);
    r.curvature = stiff * wide_fma(two, exponent, one);
    return r;
}

INLINE struct law_evaluation fibre_reinforced_evaluate(const struct fibre_reinforced *law, struct law_state state,
                                                       matrix velocity_gradient)
{
    const wide two = wide_set(2), *a = law->along;
    struct law_evaluation r = neo_hookean_evaluate(&law->matrix, state, velocity_gradient);
    const struct fibre_reinforced_pull pull = fibre_reinforced_pull_of(law, state.F);
    r.energy += pull.energy;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            r.tau.m[i][j] = wide_fma(two * pull.slope, pull.w[i] * pull.w[j], r.tau.m[i][j]);
    r.tau = matrix_symmetric(r.tau);
    r.tau_zz = wide_fma(two * pull.slope, a[2] * a[2], r.tau_zz);
    /* 4 Psi'' (w.A w)^2 + 2 Psi' |A w|^2, by e; slack fibres may be taut after the step */
    const wide curvature = two * pull.square * wide_fma(two * pull.square, pull.curvature, pull.slope);
    r.wave += curvature;
    r.isolated += curvature;
    return r;
}

/* With w^n = F^n a: fibres add P F^nT = 2 Psi' w w^nT, and 2 Psi' (G w^n) w^nT + 4 Psi'' (w . G w^n) w w^nT, both never
 * negative. */
INLINE void fibre_reinforced_moduli(const struct fibre_reinforced *law, const struct law_trial *trial,
                                    struct law_moduli *m)
{
    const wide two = wide_set(2);
    struct tangent t;
    wide stretch[DIM];
    tangent_frames(&t, trial->F, trial->begin->F, stretch);
    struct law_tangent solid = neo_hookean_tangent(&law->matrix, stretch, trial->begin);
    moduli_add(m, trial, &t, &solid);
    const struct fibre_reinforced_pull now = fibre_reinforced_pull_of(law, trial->F);
    const struct fibre_reinforced_pull begin = fibre_reinforced_pull_of(law, trial->begin->F);
    const wide slope = two * now.slope, bend = wide_select(now.taut, two * two * now.curvature, wide_set(0));
    m->energy += now.energy;
    for (int e = 0; e < DIM * DIM; e++) {
        const int a = e / DIM, b = e % DIM;
        m->force.m[a][b] = wide_fma(slope * now.w[a], begin.w[b], m->force.m[a][b]);
        for (int f = 0; f <= e; f++) {
            const int c = f / DIM, d = f % DIM;
            const wide along = bend * now.w[a] * now.w[c] + (a == c ? slope : wide_set(0));
            m->packed[LAW_MODULUS(e, f)] = wide_fma(along * begin.w[b], begin.w[d], m->packed[LAW_MODULUS(e, f)]);
        }
    }
}
#endif
