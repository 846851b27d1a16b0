/* SPDX-License-Identifier: MIT
 *
 * Hencky's solid: quadratic in the logarithmic strain (math/hencky.h). Sand and metals are elastic in this way.
 *
 *     Psi(F) = mu e:e + lambda/2 (tr e)^2,  e = 1/2 ln F F^T        energy per rest volume [J/m3]
 *     tau(F) = 2 mu e + lambda tr e I                               Kirchhoff stress [Pa]
 *
 * H. Hencky, Z. Techn. Phys. 9 (1928) 215; L. Anand, J. Appl. Mech. 46 (1979) 78.
 */
#pragma once
#include "materials/row.h"

struct hencky_parameters { ELASTIC_PARAMETERS(MPM_MEMBER) };

MPM_ROW(hencky,
    .name = "hencky", .J_low = 1e-3, .J_high = 1e3, MPM_ROW_PARAMETERS(hencky, ELASTIC_PARAMETERS),
    .reference = "L. Anand, On H. Hencky's approximate strain-energy function for moderate deformations, "
                 "Journal of Applied Mechanics 46 (1979) 78-82. doi:10.1115/1.3424532")

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"
#include "math/hencky.h"

struct hencky {
    wide mu, lambda; /* Lame parameters [Pa] */
};

INLINE struct hencky hencky_with(wide mu, wide lambda)
{
    const struct hencky law = {mu, lambda};
    return law;
}

INLINE struct hencky hencky_of(double E, double nu)
{
    return hencky_with(lame_mu(E, nu), lame_lambda(E, nu));
}

INLINE struct hencky hencky_prepare(const struct hencky_parameters *p)
{
    return hencky_of(p->E, p->nu);
}

/* The response to a strain, with the elastic strain out of plane where `zz` is not NULL. The moduli are those along
 * principal directions: enough where the deviator is small against 1, as plastic flow leaves it. */
INLINE struct law_evaluation hencky_respond(const struct hencky *law, matrix strain, const wide *zz)
{
    const wide two_mu = law->mu + law->mu, half = wide_set((real)0.5);
    wide trace = matrix_trace(strain);
    struct law_evaluation r;
    if (zz)
        trace += *zz;
    r.tau_zz = law->lambda * trace;
    r.tau = matrix_add_diagonal(matrix_scale(two_mu, strain), r.tau_zz);
    r.energy = wide_fma(law->mu, matrix_dot(strain, strain), half * r.tau_zz * trace);
    if (zz) {
        r.energy = wide_fma(law->mu * *zz, *zz, r.energy);
        r.tau_zz = wide_fma(two_mu, *zz, r.tau_zz);
    }
    /* along principal directions: 2 mu + lambda - tau_i and lambda */
    const wide pressed = matrix_largest_eigenvalue_bound(matrix_scale(wide_set(-1), r.tau));
    r.wave = two_mu + law->lambda + wide_max(pressed, wide_set(0));
    r.isolated = law_isolated_modulus(r.wave, law->lambda);
    r.damping = wide_set(0);
    return r;
}

/* Two stretches with logarithms e_i - e_j = x > 0 shear with the matrix gamma 1 1^T + diag(tau_j, tau_i), which acts on
 * (A_ij, A_ji), with gamma = 2 mu x/(e^2x - 1) - tau_j. So no curvature exceeds 2 mu x coth x - tau_j or tau_i, and no
 * rank-one A has more than lambda above the former or 2 mu x/(1 - e^-2x). x coth x <= sqrt(1 + x^2), and
 * x/(1 - e^-2x) <= x + 1/2. Sets `wave` by the strain and tau; returns the former curvature, and a bound of tau_i. */
INLINE wide hencky_bound_wave(const struct hencky *law, matrix strain, struct law_evaluation *r, wide *largest)
{
    const wide zero = wide_set(0), one = wide_set(1), two_mu = law->mu + law->mu, share = wide_set((real)(1.0 / DIM));
    const matrix deviator = matrix_add_diagonal(strain, -share * matrix_trace(strain));
    const wide spread2 = wide_set(2) * matrix_dot(deviator, deviator), spread = wide_sqrt(spread2); /* at least x */
    /* the principal tau_i lie within sqrt((d - 1)/d) |dev tau| of their mean, and dev tau = 2 mu dev e */
    const wide mean = share * matrix_trace(r->tau);
    const wide reach = two_mu * spread * wide_set((real)(DIM == 3 ? 0.57735026918962573 : 0.5));
    const wide principal = two_mu + law->lambda + wide_max(reach - mean, zero);
    const wide longitudinal = wide_fma(two_mu, wide_sqrt(one + spread2) - one, principal);
    *largest = mean + reach;
    r->wave = wide_max(longitudinal, wide_fma(two_mu, spread, law->mu));
    return longitudinal;
}

INLINE void hencky_bound_shear(const struct hencky *law, matrix strain, struct law_evaluation *r)
{
    wide largest;
    const wide longitudinal = hencky_bound_wave(law, strain, r, &largest);
    r->isolated = wide_max(law_isolated_modulus(longitudinal, law->lambda), largest);
}

INLINE struct law_evaluation hencky_evaluate(const struct hencky *law, struct law_state state, matrix velocity_gradient)
{
    (void)velocity_gradient;
    mask far;
    const matrix strain = hencky_strain(state.F, &far);
    struct law_evaluation r = hencky_respond(law, strain, NULL);
    hencky_bound_shear(law, strain, &r);
    return r;
}

/* The tangent, with the strain out of plane where `zz` is not NULL. */
INLINE struct law_tangent hencky_tangent_with(const struct hencky *law, const wide e[DIM], const wide *zz)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), two_mu = law->mu + law->mu;
    const wide least = wide_set((real)(REAL_IS_FLOAT ? 1e-18 : 1e-100));
    mask proper = wide_less(zero, one);
    UNROLL for (int i = 0; i < DIM; i++)
        proper &= wide_less(least, e[i]);
    wide s[DIM], strain[DIM], inverse[DIM], trace = zero, square = zero;
    UNROLL for (int i = 0; i < DIM; i++) {
        s[i] = wide_select(proper, e[i], one);
        strain[i] = wide_log(s[i]);
        inverse[i] = one / s[i];
        trace += strain[i];
        square = wide_fma(strain[i], strain[i], square);
    }
    if (zz) {
        trace += *zz;
        square = wide_fma(*zz, *zz, square);
    }
    const wide pull = law->lambda * trace;
    struct law_tangent t = {.viscosity = zero};
    t.energy = wide_select(proper, wide_fma(law->mu, square, half * pull * trace), wide_set((real)__builtin_inf()));
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide tau = wide_fma(two_mu, strain[i], pull);
        t.first[i] = tau * inverse[i];
        t.second[i][i] = (two_mu + law->lambda - tau) * inverse[i] * inverse[i];
        UNROLL for (int j = i + 1; j < DIM; j++) {
            t.second[i][j] = t.second[j][i] = law->lambda * inverse[i] * inverse[j];
            const wide other = wide_fma(two_mu, strain[j], pull) * inverse[j];
            t.minus[LAW_PAIR(i, j)] = wide_fma(two_mu, hencky_slope(s[i], s[j]), -other) * inverse[i];
            t.plus[LAW_PAIR(i, j)] = (t.first[i] + other) / (s[i] + s[j]);
        }
    }
    return t;
}

INLINE struct law_tangent hencky_tangent(const struct hencky *law, const wide e[DIM], const struct law_state *state)
{
    (void)state;
    return hencky_tangent_with(law, e, NULL);
}
#endif
