/* SPDX-License-Identifier: MIT
 *
 * Saint Venant-Kirchhoff solid: quadratic in Green's strain E = (F^T F - I)/2. It softens under compression and does
 * not resist inversion.
 *
 *     Psi(F) = mu E:E + lambda/2 (tr E)^2              energy per rest volume [J/m3]
 *     tau(F) = mu b (b - I) + lambda tr E b,  b = F F^T   Kirchhoff stress [Pa]
 *
 * Bonet & Wood, Nonlinear Continuum Mechanics for Finite Element Analysis, 2nd ed. (2008), chapter 6.
 * It needs products only.
 */
#pragma once
#include "materials/row.h"

struct saint_venant_kirchhoff_parameters { ELASTIC_PARAMETERS(MPM_MEMBER) };

MPM_ROW(saint_venant_kirchhoff,
    .name = "saint_venant_kirchhoff", .J_low = 1e-4, .J_high = 1e4,
    MPM_ROW_PARAMETERS(saint_venant_kirchhoff, ELASTIC_PARAMETERS),
    .reference = "J. Bonet, R. D. Wood, Nonlinear Continuum Mechanics for Finite Element Analysis, 2nd ed., "
                 "Cambridge University Press (2008), chapter 6.")

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"
#include "math/strain.h"

struct saint_venant_kirchhoff {
    wide mu, lambda; /* Lame parameters [Pa] */
};

INLINE struct saint_venant_kirchhoff saint_venant_kirchhoff_prepare(const struct saint_venant_kirchhoff_parameters *p)
{
    const struct saint_venant_kirchhoff law = {lame_mu(p->E, p->nu), lame_lambda(p->E, p->nu)};
    return law;
}

INLINE struct law_evaluation saint_venant_kirchhoff_evaluate(const struct saint_venant_kirchhoff *law,
                                                             struct law_state state, matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), half = wide_set((real)0.5), mu = law->mu, lambda = law->lambda;
    const matrix b = matrix_symmetric(matrix_multiply_transposed(state.F, state.F));
    const matrix twice = strain_left(state.F); /* twice the strain, in the turned frame */
    const wide trace = half * matrix_trace(twice), pull = lambda * trace;

    struct law_evaluation r;
    r.tau_zz = pull;
    r.tau = matrix_symmetric(matrix_add(matrix_scale(mu, matrix_multiply(b, twice)), matrix_scale(pull, b)));
    r.energy = half * wide_fma(half * mu, matrix_dot(twice, twice), pull * trace);
    /* The curvature along A is tau:A^T A + 2 mu |F^T sym(A) F|^2 + lambda (b:A)^2. With w the largest stretch squared,
     * no stress exceeds w (mu (w - 1) + lambda tr E) or 0, because stress is convex in the stretch squared. */
    const wide w = matrix_largest_eigenvalue_bound(b), w2 = w * w;
    const wide tensile = wide_max(w * wide_fma(mu, w - wide_set(1), pull), zero);
    r.wave = wide_fma(mu + mu + lambda, w2, tensile);
    r.isolated = wide_fma(wide_max(lambda, zero), matrix_dot(b, b), wide_fma(mu + mu, w2, tensile));
    r.damping = zero;
    return r;
}

/* P = F (2 mu E + lambda tr E I), E = (F^T F - I)/2. A direction u g^T, u and g unit vectors, has a
 * strain of at most |F^T u|, and the stress along g. */
INLINE struct law_piola saint_venant_kirchhoff_piola(const struct saint_venant_kirchhoff *law, matrix F)
{
    const wide zero = wide_set(0), half = wide_set((real)0.5), mu = law->mu, lambda = law->lambda;
    const matrix twice = strain_right(F), C = matrix_add_diagonal(twice, wide_set(1));
    const wide trace = half * matrix_trace(twice), pull = lambda * trace;
    const wide w = matrix_largest_eigenvalue_bound(C);
    struct law_piola r;
    r.P = matrix_multiply(F, matrix_add_diagonal(matrix_scale(mu, twice), pull));
    r.energy = half * wide_fma(half * mu, matrix_dot(twice, twice), pull * trace);
    r.modulus = wide_fma(mu + mu + wide_max(lambda, zero), w, wide_max(wide_fma(mu, w - wide_set(1), pull), zero));
    return r;
}

INLINE struct law_tangent saint_venant_kirchhoff_tangent(const struct saint_venant_kirchhoff *law, const wide e[DIM],
                                                         const struct law_state *state)
{
    (void)state;
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), mu = law->mu, lambda = law->lambda;
    wide trace = zero, square = zero;
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide strain = half * (e[i] - one) * (e[i] + one);
        trace += strain;
        square = wide_fma(strain, strain, square);
    }
    const wide pull = lambda * trace;
    struct law_tangent t = {.energy = wide_fma(mu, square, half * pull * trace), .viscosity = zero};
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide own = wide_fma(mu, wide_fma(e[i], e[i], -one), pull);
        t.first[i] = e[i] * own;
        t.second[i][i] = wide_fma((mu + mu + lambda) * e[i], e[i], own);
        UNROLL for (int j = i + 1; j < DIM; j++) {
            const wide product = mu * e[i] * e[j], sum = wide_fma(mu * e[j], e[j], own);
            t.second[i][j] = t.second[j][i] = lambda * e[i] * e[j];
            t.minus[LAW_PAIR(i, j)] = sum + product;
            t.plus[LAW_PAIR(i, j)] = sum - product;
        }
    }
    return t;
}
#endif
