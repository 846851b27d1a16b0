/* SPDX-License-Identifier: MIT
 *
 * Fixed corotated solid: finite under inversion, robust in large deformation.
 *
 *     Psi(F) = mu |F - R|^2 + lambda/2 (J - 1)^2         energy per rest volume [J/m3]
 *     tau(F) = 2 mu (F - R) F^T + lambda (J - 1) J I      Kirchhoff stress [Pa]
 *
 * R is the rotation of F (math/polar.h), J = det F. Stomakhin, Howes, Schroeder & Teran, Energetically consistent
 * invertible elasticity, SCA 2012.
 */
#pragma once
#include "materials/row.h"

struct fixed_corotated_parameters { ELASTIC_PARAMETERS(MPM_MEMBER) };

MPM_ROW(fixed_corotated,
    .name = "fixed_corotated", .J_low = 1e-4, .J_high = 1e4, MPM_ROW_PARAMETERS(fixed_corotated, ELASTIC_PARAMETERS),
    .reference = "A. Stomakhin, R. Howes, C. Schroeder, J. M. Teran, Energetically consistent invertible "
                 "elasticity, Eurographics/ACM SIGGRAPH Symposium on Computer Animation (2012) 25-32.")

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"
#include "math/strain.h"

struct fixed_corotated {
    wide mu, lambda; /* Lame parameters [Pa] */
};

INLINE struct fixed_corotated fixed_corotated_of(double E, double nu)
{
    const struct fixed_corotated law = {lame_mu(E, nu), lame_lambda(E, nu)};
    return law;
}

INLINE struct fixed_corotated fixed_corotated_prepare(const struct fixed_corotated_parameters *p)
{
    return fixed_corotated_of(p->E, p->nu);
}

INLINE struct law_evaluation fixed_corotated_evaluate(const struct fixed_corotated *law, struct law_state state,
                                                   matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide one = wide_set(1), two = wide_set(2);
    const wide J = state.J, lambda = law->lambda, two_mu = two * law->mu;
    const struct stretch s = strain_stretch(state.F, NULL); /* F - R = (V - I) R */

    struct law_evaluation r;
    r.tau_zz = lambda * s.gained * J;
    r.tau = matrix_add_diagonal(matrix_scale(two_mu, s.product), r.tau_zz);
    r.energy = wide_fma(law->mu, s.size2, wide_set((real)0.5) * lambda * s.gained * s.gained);
    /* s_i^2 Psi_ii = 2 mu s_i^2 + lambda J^2;  s_i s_j Psi_ij = lambda (2 J - 1) J */
    wide largest_stretch2 = matrix_largest_eigenvalue_bound(s.e) + one;
    r.wave = wide_fma(two_mu, largest_stretch2, lambda * J * J);
    r.isolated = law_isolated_modulus(r.wave, lambda * (two * J - one) * J);
    r.damping = wide_set(0);
    return r;
}

/* A direction u g^T, u and g unit vectors, changes J by u (cof F) g, and the second derivative of J along it is 0. */
INLINE struct law_piola fixed_corotated_piola(const struct fixed_corotated *law, matrix F)
{
    const wide two_mu = law->mu + law->mu;
    const matrix R = polar_rotation(F), cofactor = matrix_cofactor(F);
    const struct stretch s = strain_stretch(F, &R);
    const wide gained = s.gained, pressure = law->lambda * gained;
    struct law_piola r;
    r.P = matrix_add(matrix_scale(two_mu, matrix_multiply(s.strain, R)), matrix_scale(pressure, cofactor));
    const wide largest2 = matrix_largest_eigenvalue_bound(matrix_multiply_transposed(cofactor, cofactor));
    r.energy = wide_fma(law->mu, s.size2, wide_set((real)0.5) * pressure * gained);
    r.modulus = wide_fma(wide_max(law->lambda, wide_set(0)), largest2, two_mu);
    return r;
}

INLINE struct law_tangent fixed_corotated_tangent(const struct fixed_corotated *law, const wide e[DIM],
                                                  const struct law_state *state)
{
    (void)state;
    const wide one = wide_set(1), zero = wide_set(0), half = wide_set((real)0.5), two_mu = law->mu + law->mu;
    const wide least = wide_set((real)(REAL_IS_FLOAT ? 1e-6 : 1e-12)); /* of e_i + e_j, which is not negative */
    const struct law_volume volume = law_volume_of(e);
    const wide gained = volume.J - one;
    struct law_tangent t = {.energy = half * law->lambda * gained * gained, .viscosity = zero};
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide strain = e[i] - one;
        t.energy = wide_fma(law->mu * strain, strain, t.energy);
        t.first[i] = two_mu * strain;
        t.second[i][i] = two_mu;
        UNROLL for (int j = i + 1; j < DIM; j++) {
            t.minus[LAW_PAIR(i, j)] = two_mu;
            t.plus[LAW_PAIR(i, j)] = wide_fnma(two_mu + two_mu, one / wide_max(e[i] + e[j], least), two_mu);
        }
    }
    law_add_volumetric(&t, &volume, law->lambda * gained, law->lambda);
    return t;
}
#endif
