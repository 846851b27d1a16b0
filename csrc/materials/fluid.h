/* SPDX-License-Identifier: MIT
 *
 * Weakly compressible fluid with optional Newtonian viscosity. The only state is J, the volume ratio.
 *
 *     p(J)   = K/gamma (J^-gamma - 1)                                                      pressure [Pa]
 *     Psi(J) = K/gamma ((J^(1-gamma) - 1)/(gamma - 1) + J - 1),  gamma = 1: K (J - 1 - ln J)   [J/m3]
 *     gamma = -1: p = K (1 - J),  Psi = K/2 (J - 1)^2
 *     tau    = -p J I + 2 eta J dev D,   D = sym grad v,   dev with a third of the trace in both dimensions
 *
 * Tait's equation as in Monaghan, J. Comput. Phys. 110 (1994) 399; J-based MPM as in Tampubolon et al., ACM TOG
 * 36(4) (2017) 105. No decomposition, and no F. A fluid without tension has the pressure and the energy of min(J, 1):
 * it parts without resistance, and presses again at its old volume.
 */
#pragma once
#include "materials/row.h"

#define FLUID_PARAMETERS(P) \
    P(bulk_modulus, "Pa", POSITIVE, "stiffness K = rho c^2 at rest") \
    P(gamma, "1", -1, 20, false, false, "exponent of the pressure law; -1 or at least 1", .branches = MPM_BRANCHES) \
    P(viscosity, "Pa s", NOT_NEGATIVE, "dynamic viscosity") \
    P(tension, "flag", 0, 1, false, false, "1: stretched fluid pulls; 0: it tears without resistance", \
      .branches = MPM_BRANCHES) \
    DENSITY(P)

struct fluid_parameters { FLUID_PARAMETERS(MPM_MEMBER) };

static inline const char *fluid_unfit(const double *values)
{
    const struct fluid_parameters *p = MPM_VALUES(fluid, values);
    return p->gamma == -1 || p->gamma >= 1 ? NULL : "gamma must be -1 or >= 1";
}

/* K = -J dp/dJ ~ J^-gamma */
static inline double fluid_stiffening(const double *values)
{
    return MPM_VALUES(fluid, values)->gamma;
}

MPM_ROW(fluid,
    .name = "fluid", .strain = MPM_KEEPS_J, .viscous = true, .J_low = 1e-2, .J_high = 1e6,
    MPM_ROW_PARAMETERS(fluid, FLUID_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(fluid_unfit),
    .stiffening = MPM_OUTSIDE_KERNELS(fluid_stiffening),
    .reference = "J. J. Monaghan, Simulating free surface flows with SPH, Journal of Computational Physics "
                 "110 (1994) 399-406 (equation of state); A. P. Tampubolon et al., Multi-species simulation "
                 "of porous sand and water mixtures, ACM Transactions on Graphics 36(4) (2017) 105.")

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"

struct fluid {
    wide bulk_modulus, gamma; /* K [Pa], exponent */
    wide viscosity;           /* eta [Pa s] */
    int whole_power;          /* n = gamma - 1 if it is -2, 0, 1 .. 7, so that products suffice; else -1 */
    bool tears;               /* no tension */
};

INLINE struct fluid fluid_prepare(const struct fluid_parameters *p)
{
    const double power = p->gamma - 1;
    const int whole = power == -2 || (power >= 0 && power < 8) ? (int)power : -1;
    const struct fluid law = {
        wide_set((real)p->bulk_modulus), wide_set((real)p->gamma), wide_set((real)p->viscosity),
        whole == power ? whole : -1, p->tension == 0};
    return law;
}

/** J^(1 - gamma), with gamma Psi/K and J - J^(1 - gamma) = -gamma p J/K. Near J = 1, the energy is of second order and
 *  the pressure of first, but their terms are larger and cancel. With u = 1/J, e = u - 1, S_k = 1 + u + ... + u^(k - 1)
 *  they equal e^2 (S_0 + ... + S_(n-1) + n J)/n and (J - 1)(1 + u S_n), because u^n - 1 = e S_n. */
INLINE wide fluid_power(const struct fluid *law, wide J, wide *energy, wide *pull)
{
    const wide one = wide_set(1), gained = J - one;
    if (law->whole_power == -2) {
        *energy = wide_set((real)-0.5) * gained * gained;
        *pull = -gained * J;
        return J * J;
    }
    if (law->whole_power < 0) {
        const wide exponent = (one - law->gamma) * wide_log(J), power = wide_exp(exponent);
        *energy = wide_log_excess(J) - wide_exp_excess(exponent, power) / (one - law->gamma);
        *pull = gained - wide_expm1(exponent);
        return power;
    }
    if (law->whole_power == 0) {
        *energy = wide_log_excess(J);
        *pull = gained;
        return one;
    }
    /* of inverted J, powers of both signs are added: they must be finite */
    const wide bound = wide_set((real)(REAL_IS_FLOAT ? 1e4 : 1e40));
    const wide inverse = wide_max(-bound, wide_min(bound, one / J));
    const wide e = -gained * inverse, n = wide_set((real)law->whole_power);
    wide power = one, sum = wide_set(0), sums = n * J;
    for (int k = 0; k < law->whole_power; k++) {
        sums += sum;
        sum += power;
        power *= inverse;
    }
    *energy = e * e * sums / n;
    *pull = gained * wide_fma(inverse, sum, one);
    return power;
}

INLINE struct law_evaluation fluid_evaluate(const struct fluid *law, struct law_state state,
                                         matrix velocity_gradient)
{
    const wide J = law->tears ? wide_min(wide_set(1), state.J) : state.J; /* NaN stays */
    const wide K = law->bulk_modulus, K_gamma = K / law->gamma;
    struct law_evaluation r;
    wide pull;
    const wide J_power = fluid_power(law, J, &r.energy, &pull);
    const wide minus_pJ = K_gamma * pull; /* -p J; 0 where it tears */
    r.energy *= K_gamma;

    const wide eta_J = law->viscosity * state.J;
    const wide third_trace = matrix_trace(velocity_gradient) * wide_set((real)(1.0 / 3));
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++) {
            wide D = (velocity_gradient.m[i][j] + velocity_gradient.m[j][i]) * wide_set((real)0.5);
            if (i == j)
                r.tau.m[i][j] = wide_fma(eta_J + eta_J, D - third_trace, minus_pJ);
            else
                r.tau.m[i][j] = (eta_J + eta_J) * D;
        }
    r.tau = matrix_symmetric(r.tau);
    r.tau_zz = wide_fnma(eta_J + eta_J, third_trace, minus_pJ);
    /* s_i^2 Psi_ii = J^2 Psi'' = K J^(1-gamma);  s_i s_j Psi_ij = J^2 Psi'' + J Psi' */
    r.wave = K * J_power;
    r.isolated = law_isolated_modulus(r.wave, r.wave + minus_pJ);
    r.damping = wide_set(2 * DIM) * eta_J;
    return r;
}

INLINE struct law_tangent fluid_tangent(const struct fluid *law, const wide e[DIM], const struct law_state *state)
{
    const wide one = wide_set(1), zero = wide_set(0), K = law->bulk_modulus, K_gamma = K / law->gamma;
    const struct law_volume volume = law_volume_of(e);
    const mask proper = wide_less(wide_set((real)(REAL_IS_FLOAT ? 1e-4 : 1e-8)), volume.J);
    const wide kept = wide_select(proper, volume.J, one), J = law->tears ? wide_min(one, kept) : kept;
    const wide inverse = one / J, stiff = law->tears ? wide_select(wide_less(one, kept), zero, K) : K;
    struct law_tangent t = {.viscosity = law->viscosity * state->J};
    wide pull;
    const wide power = fluid_power(law, J, &t.energy, &pull);
    t.energy = wide_select(proper, t.energy * K_gamma, wide_set((real)__builtin_inf()));
    law_add_volumetric(&t, &volume, K_gamma * pull * inverse, stiff * power * inverse * inverse);
    return t;
}
#endif
