/* SPDX-License-Identifier: MIT
 *
 * Weakly compressible fluid with optional Newtonian viscosity. The only state is J, the volume ratio.
 *
 *     p(J)   = K/gamma (J^-gamma - 1)                                                      pressure [Pa]
 *     Psi(J) = K/gamma ((J^(1-gamma) - 1)/(gamma - 1) + J - 1),  gamma = 1: K (J - 1 - ln J)   [J/m3]
 *     tau    = -p J I + 2 eta J dev D,   D = sym grad v,   dev with a third of the trace in both dimensions
 *
 * Tait's equation as in Monaghan, J. Comput. Phys. 110 (1994) 399; J-based MPM as in Tampubolon et al., ACM TOG
 * 36(4) (2017) 105. No decomposition, and no F.
 */
#pragma once
#include "materials/law.h"

struct fluid {
    wide bulk_modulus, gamma; /* K [Pa], exponent */
    wide viscosity;           /* eta [Pa s] */
    bool linear;              /* gamma = 1: the energy needs the logarithm itself */
    int whole_power;          /* gamma - 1 where that is 0, 1 .. 7, so that products do; else -1 */
};

INLINE struct fluid fluid_prepare(const double *values)
{
    const double power = values[1] - 1;
    const int whole = power >= 0 && power < 8 ? (int)power : -1;
    return (struct fluid){wide_set((real)values[0]), wide_set((real)values[1]), wide_set((real)values[2]),
                          power == 0, whole == power ? whole : -1};
}

/** J^(1 - gamma) */
INLINE wide fluid_power(const struct fluid *law, wide J)
{
    const wide one = wide_set(1);
    if (law->whole_power < 0)
        return wide_exp((one - law->gamma) * wide_log(J));
    const wide inverse = one / J;
    wide power = one;
    for (int k = 0; k < law->whole_power; k++)
        power *= inverse;
    return power;
}

INLINE struct law_response fluid_respond(const struct fluid *law, struct law_state state,
                                         matrix velocity_gradient)
{
    const wide one = wide_set(1), J = state.J, K = law->bulk_modulus, gamma = law->gamma;
    const wide J_power = fluid_power(law, J);
    const wide K_gamma = K / gamma;

    struct law_response r;
    const wide minus_pJ = K_gamma * (J - J_power); /* -p J */
    if (law->linear)
        r.energy = K * (J - one - wide_log(J));
    else
        r.energy = K_gamma * ((J_power - one) / (gamma - one) + (J - one));

    const wide eta_J = law->viscosity * J;
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
