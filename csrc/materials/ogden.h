/* SPDX-License-Identifier: MIT
 *
 * Compressible Ogden solid of one to three terms, for rubber at large strain.
 *
 *     Psi(F) = sum_p mu_p/alpha_p (sum_i s_i^alpha_p - 3 - alpha_p ln J) + lambda/4 (J^2 - 1 - 2 ln J)     [J/m3]
 *     tau_i  = sum_p mu_p (s_i^alpha_p - 1) + lambda/2 (J^2 - 1)                                           [Pa]
 *
 * s_i are the principal stretches; in plane strain s_3 = 1. Every mu_p alpha_p >= 0. At rest mu = sum mu_p alpha_p/2,
 * lambda = K - 2/3 mu. The term mu_p with alpha = 2 alone is Mooney-Rivlin's solid with C01 = 0.
 * R. W. Ogden, Proc. R. Soc. Lond. A 326 (1972) 565; 328 (1972) 567 (compressible).
 */
#pragma once
#include "materials/row.h"

#define OGDEN_PARAMETERS(P) \
    P(mu_1, "Pa", ANY_NUMBER, "modulus of the first term; mu_1 alpha_1 > 0", .branches = MPM_BRANCHES_AT_0) \
    P(alpha_1, "1", -50, 50, false, false, "exponent of the first term") \
    P(mu_2, "Pa", ANY_NUMBER, "modulus of the second term; mu_2 alpha_2 >= 0", .branches = MPM_BRANCHES_AT_0) \
    P(alpha_2, "1", -50, 50, false, false, "exponent of the second term") \
    P(mu_3, "Pa", ANY_NUMBER, "modulus of the third term; mu_3 alpha_3 >= 0", .branches = MPM_BRANCHES_AT_0) \
    P(alpha_3, "1", -50, 50, false, false, "exponent of the third term") \
    P(bulk_modulus, "Pa", POSITIVE, "bulk modulus at rest") \
    DENSITY(P)

struct ogden_parameters { OGDEN_PARAMETERS(MPM_MEMBER) };

static inline const char *ogden_unfit(const double *values)
{
    const struct ogden_parameters *p = MPM_VALUES(ogden, values);
    const double slack = 1 - 1e-12; /* rounding, where a limit is computed from other parameters */
    const double first = p->mu_1 * p->alpha_1, second = p->mu_2 * p->alpha_2, third = p->mu_3 * p->alpha_3;
    if (!(first > 0 && (second > 0 || p->mu_2 == 0) && (third > 0 || p->mu_3 == 0)))
        return "mu_1 alpha_1 must be > 0, and those of other terms > 0 or their modulus 0";
    return p->bulk_modulus >= (first + second + third) / 3 * slack ? NULL
                                                                   : "bulk_modulus must be >= 2/3 of the shear modulus";
}

/* Stretches to negative powers grow where it is compressed. */
static inline double ogden_stiffening(const double *values)
{
    const struct ogden_parameters *p = MPM_VALUES(ogden, values);
    const double least = p->alpha_1 < p->alpha_2 ? p->alpha_1 : p->alpha_2;
    return -(least < p->alpha_3 ? least : p->alpha_3);
}

MPM_ROW(ogden,
    .name = "ogden", .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(ogden, OGDEN_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(ogden_unfit),
    .stiffening = MPM_OUTSIDE_KERNELS(ogden_stiffening),
    .reference = "R. W. Ogden, Large deformation isotropic elasticity: on the correlation of theory and experiment "
                 "for compressible rubberlike solids, Proceedings of the Royal Society of London A 328 (1972) "
                 "567-583. doi:10.1098/rspa.1972.0096")

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"
#include "math/hencky.h"
#include "math/singular.h"
#include "math/strain.h"

enum { OGDEN_TERMS = 3 };

struct ogden {
    wide mu[OGDEN_TERMS], alpha[OGDEN_TERMS]; /* [Pa], 1 */
    wide lambda;                              /* [Pa] */
    int terms;                                /* those that are not 0 */
};

INLINE struct ogden ogden_prepare(const struct ogden_parameters *p)
{
    const double mu[] = {p->mu_1, p->mu_2, p->mu_3}, alpha[] = {p->alpha_1, p->alpha_2, p->alpha_3};
    struct ogden law = {.terms = 0};
    double shear = 0;
    for (int k = 0; k < OGDEN_TERMS; k++) {
        shear += 0.5 * mu[k] * alpha[k];
        if (mu[k] == 0)
            continue;
        law.mu[law.terms] = wide_set((real)mu[k]);
        law.alpha[law.terms++] = wide_set((real)alpha[k]);
    }
    law.lambda = wide_set((real)(p->bulk_modulus - 2 * shear / 3));
    return law;
}

/* A bound of the curvature of one term along F <- (I + s A) F, |A| = 1, from the least and largest s^alpha. Diagonal A
 * have mu ((alpha - 1) s^alpha + 1). Two stretches shear with gamma 1 1^T + diag(tau_j, tau_i), which acts on
 * (A_ij, A_ji): s_i > s_j, r = s_i^2/s_j^2, gamma = mu (1 - s_j^alpha (r - r^(alpha/2))/(r - 1)). The fraction lies
 * between 1 - alpha/2 and 1 for 0 < alpha < 2, below -(alpha/2 - 1) r^(alpha/2) for alpha > 2, and the matrix below
 * max(1 - alpha, 2) s_j^alpha |mu| - |mu| for alpha < 0. */
INLINE wide ogden_curvature(wide mu, wide alpha, wide least, wide largest)
{
    const wide zero = wide_set(0), one = wide_set(1), two = wide_set(2);
    const wide high = wide_fma(alpha - one, largest, one);
    const wide middle = wide_max(wide_fma(alpha - two, least, two), zero) + (largest - one);
    const wide low = wide_max(wide_fma(wide_max(one - alpha, two), largest, -one), one - least);
    const wide positive = wide_select(wide_less(alpha, two), middle, high);
    return wide_abs(mu) * wide_select(wide_less(alpha, zero), low, positive);
}

/* Energy, moduli and principal stresses, from logarithms of the principal stretches; `square` is J^2 - 1, and `excess`
 * J^2 - 1 - 2 ln J. */
INLINE void ogden_respond(const struct ogden *law, const wide logarithm[DIM], wide J, wide square, wide excess,
                          wide tau[DIM], struct law_evaluation *r)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), half_lambda = half * law->lambda;
    const wide pull = law_bounded(half_lambda * square);
    wide energy = half * half_lambda * excess, terms = zero;
    UNROLL for (int i = 0; i < DIM; i++)
        tau[i] = pull;
    for (int p = 0; p < law->terms; p++) {
        wide least = wide_set((real)__builtin_inf()), largest = zero, sum = zero;
        UNROLL for (int i = 0; i < DIM; i++) {
            const wide exponent = law->alpha[p] * logarithm[i], power = wide_exp(exponent);
            const wide excess_of = wide_exp_excess(exponent, power); /* near 0 it has the digits of power - 1 */
            const mask close = wide_less(wide_abs(exponent), half);
            least = wide_min(power, least);
            largest = wide_max(power, largest);
            tau[i] = wide_fma(law->mu[p], wide_select(close, exponent + excess_of, power - one), tau[i]);
            sum += excess_of;
        }
        energy = wide_fma(law->mu[p] / law->alpha[p], sum, energy);
        terms += ogden_curvature(law->mu[p], law->alpha[p], least, largest);
    }
    UNROLL for (int i = 0; i < DIM; i++)
        tau[i] = law_bounded(tau[i]);
    r->tau_zz = pull;
    r->energy = energy;
    /* of the volume: s_i s_j Psi_ij = lambda/2 (J^2 + 1) for i = j, lambda J^2 otherwise */
    r->wave = terms + half_lambda * wide_fma(J, J, one);
    r->isolated = law_isolated_modulus(r->wave, law->lambda * J * J);
    r->damping = zero;
}

/* For large strains: puts the evaluation at F into the lanes of `far`. */
NOINLINE void ogden_evaluate_far(const struct ogden *law, const matrix *F, wide J, struct law_evaluation *r, mask far)
{
    const struct singular s = singular_decompose(*F);
    const wide one = wide_set(1), square = (J - one) * (J + one), ln_J = wide_log(J);
    struct law_evaluation found;
    wide logarithm[DIM], tau[DIM];
    UNROLL for (int i = 0; i < DIM; i++)
        logarithm[i] = wide_log_any(s.value[i]);
    ogden_respond(law, logarithm, J, square, square - ln_J - ln_J, tau, &found);
    r->tau = matrix_select(far, matrix_symmetric(singular_spread(&s, tau)), r->tau);
    r->tau_zz = wide_select(far, found.tau_zz, r->tau_zz);
    r->energy = wide_select(far, found.energy, r->energy);
    r->wave = wide_select(far, found.wave, r->wave);
    r->isolated = wide_select(far, found.isolated, r->isolated);
}

INLINE struct law_evaluation ogden_evaluate(const struct ogden *law, struct law_state state, matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide one = wide_set(1), half = wide_set((real)0.5), J = state.J;
    const struct strain s = strain_of(state.F, J, NULL);
    const struct spectrum b = spectrum_of(s.e); /* less 1 */
    wide logarithm[DIM], tau[DIM], excess;
    UNROLL for (int i = 0; i < DIM; i++)
        logarithm[i] = half * wide_log_near(wide_select(s.near, one + b.value[i], one), b.value[i], s.near, &excess);
    struct law_evaluation r;
    ogden_respond(law, logarithm, J, s.gained * (J + one), wide_fma(s.gained, s.gained, s.excess + s.excess), tau, &r);
    r.tau = spectrum_spread(&b, tau);
    const mask far = mask_not(s.near);
    if (__builtin_expect(mask_any(far), 0)) {
        const matrix F = state.F; /* copies in memory, so that the originals stay in registers */
        struct law_evaluation found = r;
        ogden_evaluate_far(law, &F, J, &found, far);
        r = found;
    }
    return r;
}

INLINE struct law_tangent ogden_tangent(const struct ogden *law, const wide e[DIM], const struct law_state *state)
{
    (void)state;
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), lambda = law->lambda;
    const wide least = wide_set((real)(REAL_IS_FLOAT ? 1e-12 : 1e-100));
    mask proper = wide_less(zero, one);
    wide s[DIM], logarithm[DIM];
    UNROLL for (int i = 0; i < DIM; i++)
        proper &= wide_less(least, e[i]);
    UNROLL for (int i = 0; i < DIM; i++) {
        s[i] = wide_select(proper, e[i], one);
        logarithm[i] = wide_log(s[i]);
    }
    const struct law_volume volume = law_volume_of(s);
    const wide J = volume.J, inverse = one / J, square = (J - one) * (J + one);
    const wide volumetric = wide_fma(half * (J - one), J - one, wide_log_excess(J)); /* (J^2 - 1)/2 - ln J */
    struct law_tangent t = {.energy = half * lambda * volumetric, .viscosity = zero};
    wide pull = zero; /* sum of mu_p, of the parts -mu_p ln J */
    for (int p = 0; p < law->terms; p++) {
        const wide mu = law->mu[p], alpha = law->alpha[p], beta = alpha - one;
        wide first[DIM], sum = zero;
        pull += mu;
        UNROLL for (int i = 0; i < DIM; i++) {
            const wide exponent = alpha * logarithm[i], power = wide_exp(exponent);
            sum += wide_exp_excess(exponent, power);
            first[i] = mu * power / s[i];
            t.first[i] += first[i];
            t.second[i][i] = wide_fma(beta, first[i] / s[i], t.second[i][i]);
        }
        t.energy = wide_fma(mu / alpha, sum, t.energy);
        UNROLL for (int i = 0; i < DIM; i++)
            UNROLL for (int j = i + 1; j < DIM; j++) {
                /* s_i^b - s_j^b = 2 (s_i s_j)^(b/2) sinh w, w = b (ln s_i - ln s_j)/2: no cancellation at small w */
                const wide gap = s[i] - s[j], slope = hencky_slope(s[i], s[j]), w = half * beta * slope * gap;
                const wide middle = wide_exp(half * beta * (logarithm[i] + logarithm[j]));
                const wide close = mu * beta * middle * wide_sinhc(w, wide_exp(w)) * slope;
                const mask apart = wide_less(half, wide_abs(w));
                const wide quotient = (first[i] - first[j]) / wide_select(apart, gap, one);
                t.minus[LAW_PAIR(i, j)] += wide_select(apart, quotient, close);
                t.plus[LAW_PAIR(i, j)] += (first[i] + first[j]) / (s[i] + s[j]);
            }
    }
    law_add_volumetric(&t, &volume, half * lambda * square * inverse - pull * inverse,
                       (half * lambda * wide_fma(J, J, one) + pull) * inverse * inverse);
    t.energy = wide_select(proper, t.energy, wide_set((real)__builtin_inf()));
    return t;
}
#endif
