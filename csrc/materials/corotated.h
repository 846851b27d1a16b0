/* SPDX-License-Identifier: MIT
 *
 * Corotated linear elasticity: the linear law, applied to the stretch S = R^T F that is left when the rotation is taken
 * out of F. Finite under inversion.
 *
 *     Psi(F) = mu |F - R|^2 + lambda/2 tr^2(S - I)             energy per rest volume [J/m3]
 *     P(F)   = R (2 mu (S - I) + lambda tr(S - I) I)           first Piola-Kirchhoff stress [Pa]
 *     tau(F) = P F^T
 *
 * R is the rotation of F (math/polar.h). M. Mueller, M. Gross, Interactive virtual materials, Graphics Interface (2004)
 * 239-246.
 */
#pragma once
#include "materials/row.h"

struct corotated_parameters { ELASTIC_PARAMETERS(MPM_MEMBER) };

MPM_ROW(corotated,
    .name = "corotated", .J_low = 1e-4, .J_high = 1e4, MPM_ROW_PARAMETERS(corotated, ELASTIC_PARAMETERS),
    .reference = "M. Mueller, M. Gross, Interactive virtual materials, Proceedings of Graphics Interface (2004) "
                 "239-246.")

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"
#include "math/strain.h"

struct corotated {
    wide mu, lambda; /* Lame parameters [Pa] */
};

INLINE struct corotated corotated_prepare(const struct corotated_parameters *p)
{
    const struct corotated law = {lame_mu(p->E, p->nu), lame_lambda(p->E, p->nu)};
    return law;
}

INLINE struct law_evaluation corotated_evaluate(const struct corotated *law, struct law_state state,
                                                matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), two_mu = law->mu + law->mu;
    const matrix F = state.F;
    const struct stretch s = strain_stretch(F, NULL);
    const wide growth = matrix_trace(s.strain); /* that of S - I */
    struct law_evaluation r;
    r.tau_zz = law->lambda * growth;
    /* 2 mu V (V - I) + lambda tr(V - I) V */
    r.tau = matrix_add(matrix_scale(two_mu, s.product),
                       matrix_scale(r.tau_zz, matrix_add_diagonal(s.strain, wide_set(1))));
    r.energy = wide_fma(law->mu, s.size2, wide_set((real)0.5) * law->lambda * growth * growth);
    /* s_i s_j Psi_ij = (2 mu delta_ij + lambda) s_i s_j, the matrix 2 mu diag(s^2) + lambda s s^T */
    const wide largest2 = matrix_largest_eigenvalue_bound(s.e) + wide_set(1);
    r.wave = (two_mu + law->lambda) * largest2;
    r.isolated = wide_fma(two_mu, largest2, wide_max(law->lambda, zero) * matrix_dot(F, F));
    r.damping = zero;
    return r;
}

/* A direction u g^T, u and g unit vectors, changes the stretch by lambda (u R g)^2 at most, and the rotation by
 * (lambda tr(S - I) - 2 mu)/(s_i + s_j). */
INLINE struct law_piola corotated_piola(const struct corotated *law, matrix F)
{
    const wide zero = wide_set(0), two_mu = law->mu + law->mu, least = wide_set((real)0.1);
    const matrix R = polar_rotation(F);
    const struct stretch s = strain_stretch(F, &R);
    const wide growth = matrix_trace(s.strain), stretch = growth + wide_set(DIM), square = s.size2;
    wide pair = stretch; /* the smallest s_i + s_j */
    struct law_piola r;
    r.P = matrix_multiply(matrix_add_diagonal(matrix_scale(two_mu, s.strain), law->lambda * growth), R);
#if DIM == 3
    /* s_max <= mean + sqrt(2/3 |deviator|^2), |S|^2 = |F - R|^2 + 2 tr S - 3 */
    const wide mean = stretch * wide_set((real)(1.0 / 3));
    const wide deviator = wide_max(square + stretch + stretch - wide_set(3) - stretch * mean, zero);
    pair -= mean + wide_sqrt(deviator * wide_set((real)(2.0 / 3)));
#endif
    r.energy = wide_fma(law->mu, square, wide_set((real)0.5) * law->lambda * growth * growth);
    r.modulus = two_mu + wide_max(law->lambda, zero) +
                wide_max(wide_fma(law->lambda, growth, -two_mu), zero) / wide_max(pair, least);
    return r;
}

INLINE struct law_tangent corotated_tangent(const struct corotated *law, const wide e[DIM],
                                            const struct law_state *state)
{
    (void)state;
    const wide one = wide_set(1), zero = wide_set(0), half = wide_set((real)0.5), two_mu = law->mu + law->mu;
    const wide least = wide_set((real)(REAL_IS_FLOAT ? 1e-6 : 1e-12)); /* of e_i + e_j, which is not negative */
    wide growth = zero;
    UNROLL for (int i = 0; i < DIM; i++)
        growth += e[i] - one;
    const wide pressure = law->lambda * growth;
    struct law_tangent t = {.energy = half * pressure * growth, .viscosity = zero};
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide strain = e[i] - one;
        t.energy = wide_fma(law->mu * strain, strain, t.energy);
        t.first[i] = wide_fma(two_mu, strain, pressure);
        UNROLL for (int j = 0; j < DIM; j++)
            t.second[i][j] = law->lambda + (i == j ? two_mu : zero);
        UNROLL for (int j = i + 1; j < DIM; j++) {
            t.minus[LAW_PAIR(i, j)] = two_mu;
            t.plus[LAW_PAIR(i, j)] =
                wide_fma(pressure + pressure - two_mu - two_mu, one / wide_max(e[i] + e[j], least), two_mu);
        }
    }
    return t;
}
#endif
