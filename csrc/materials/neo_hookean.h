/* SPDX-License-Identifier: MIT
 *
 * Compressible neo-Hookean solid.
 *
 *     Psi(F) = mu/2 (tr F F^T - d) - mu ln J + lambda/2 ln^2 J      energy per rest volume [J/m3]
 *     tau(F) = mu (F F^T - I) + lambda ln J I                       Kirchhoff stress [Pa]
 *
 * Bonet & Wood, Nonlinear Continuum Mechanics for Finite Element Analysis, 2nd ed. (2008), chapter 6.
 * It needs one determinant, one logarithm, no decomposition, and J > 0.
 */
#pragma once
#include "materials/row.h"

struct neo_hookean_parameters { ELASTIC_PARAMETERS(MPM_MEMBER) };

MPM_ROW(neo_hookean,
    .name = "neo_hookean", .J_low = 1e-3, .J_high = 1e3, MPM_ROW_PARAMETERS(neo_hookean, ELASTIC_PARAMETERS),
    .reference = "J. Bonet, R. D. Wood, Nonlinear Continuum Mechanics for Finite Element Analysis, 2nd ed., "
                 "Cambridge University Press (2008), chapter 6.")

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"
#include "math/strain.h"

struct neo_hookean {
    wide mu, lambda; /* Lame parameters [Pa] */
};

INLINE struct neo_hookean neo_hookean_of(double E, double nu)
{
    const struct neo_hookean law = {lame_mu(E, nu), lame_lambda(E, nu)};
    return law;
}

INLINE struct neo_hookean neo_hookean_prepare(const struct neo_hookean_parameters *p)
{
    return neo_hookean_of(p->E, p->nu);
}

INLINE struct law_evaluation neo_hookean_evaluate(const struct neo_hookean *law, struct law_state state,
                                               matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide one = wide_set(1), half = wide_set((real)0.5), two = wide_set(2), zero = wide_set(0);
    const wide mu = law->mu, lambda = law->lambda;
    const struct strain s = strain_of(state.F, state.J, NULL);

    struct law_evaluation r;
    r.tau_zz = lambda * s.ln_J;
    r.tau = matrix_add_diagonal(matrix_scale(mu, s.e), r.tau_zz);
    r.energy = wide_fma(half * r.tau_zz, s.ln_J, mu * s.shear);
    /* s_i^2 Psi_ii = mu (s_i^2 + 1) + lambda (1 - ln J);  s_i s_j Psi_ij = lambda */
    r.wave = wide_max(wide_fma(mu, matrix_largest_eigenvalue_bound(s.e) + two, lambda * (one - s.ln_J)), zero);
    r.isolated = law_isolated_modulus(r.wave, lambda);
    r.damping = zero;
    return r;
}

/* P = (mu (b - I) + lambda ln J I) F^-T. A direction u g^T, u and g unit vectors, has the curvature
 * mu + (mu + lambda (1 - ln J)) q^2, q = u F^-T g. */
INLINE struct law_piola neo_hookean_piola(const struct neo_hookean *law, matrix F)
{
    const wide one = wide_set(1), half = wide_set((real)0.5), zero = wide_set(0);
    const wide mu = law->mu, lambda = law->lambda;
    const matrix cofactor = matrix_cofactor(F);
    const wide J = matrix_det_from(F, cofactor), inverse = one / J;
    const struct strain s = strain_of(F, J, NULL);
    const wide pull = lambda * s.ln_J;
    struct law_piola r;
    r.P = matrix_scale(inverse, matrix_multiply(matrix_add_diagonal(matrix_scale(mu, s.e), pull), cofactor));
    const wide largest2 =
        matrix_largest_eigenvalue_bound(matrix_multiply_transposed(cofactor, cofactor)) * (inverse * inverse);
    r.energy = wide_fma(half * pull, s.ln_J, mu * s.shear);
    r.modulus = wide_fma(wide_max(wide_fnma(lambda, s.ln_J, mu + lambda), zero), largest2, mu);
    return r;
}

INLINE struct law_tangent neo_hookean_tangent(const struct neo_hookean *law, const wide e[DIM],
                                              const struct law_state *state)
{
    (void)state;
    const wide one = wide_set(1), zero = wide_set(0), half = wide_set((real)0.5), mu = law->mu, lambda = law->lambda;
    const struct law_volume volume = law_volume_of(e);
    const mask proper = wide_less(wide_set((real)(REAL_IS_FLOAT ? 1e-18 : 1e-100)), volume.J);
    const wide J = wide_select(proper, volume.J, one), ln_J = wide_log(J), inverse = one / J;
    struct law_tangent t = {.energy = half * lambda * ln_J * ln_J, .viscosity = zero};
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide stretch = wide_select(proper, e[i], one), gained = stretch - one; /* (e^2 - 1)/2 - ln e */
        t.energy = wide_fma(mu, wide_fma(half * gained, gained, wide_log_excess(stretch)), t.energy);
        t.first[i] = mu * e[i];
        t.second[i][i] = mu;
    }
    UNROLL for (int k = 0; k < LAW_PAIRS; k++)
        t.minus[k] = t.plus[k] = mu;
    law_add_volumetric(&t, &volume, wide_fma(lambda, ln_J, -mu) * inverse,
                       (lambda + mu - lambda * ln_J) * inverse * inverse);
    t.energy = wide_select(proper, t.energy, wide_set((real)__builtin_inf()));
    return t;
}
#endif
