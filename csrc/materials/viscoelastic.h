/* SPDX-License-Identifier: MIT
 *
 * Viscoelastic solid: a spring beside two Maxwell branches (a Prony series) and a dashpot (Kelvin and Voigt). All
 * springs are quadratic in a logarithmic strain (materials/hencky.h); only deviators relax.
 *
 *     e = 1/2 ln F F^T,  e_k = 1/2 ln F C_k F^T,  C_k = (F_vk^T F_vk)^-1,  det C_k = 1
 *     Psi = K/2 (tr e)^2 + g_0 mu |dev e|^2 + sum g_k mu |dev e_k|^2,  g_0 = 1 - g_1 - g_2       [J/m3]
 *     tau = K tr e I + 2 g_0 mu dev e + sum 2 g_k mu dev e_k + 2 eta J dev D,  D = sym grad v    [Pa]
 *
 * E and nu are those of fast deformation. At a constant F, dev e_k falls by e^(-dt/tau_k); the return map does so
 * exactly, with F_k = V_k R_k, where V_k^2 = F C_k F^T:  C_k -> F^-1 V_k'^2 F^-T. S. Reese & S. Govindjee, Int. J.
 * Solids Structures 35 (1998) 3455. Deviators are those of three dimensions; in plane strain C_k,zz = 1/det C_k in the
 * plane.
 */
#pragma once
#include "materials/hencky_flow.h"

enum { VISCOELASTIC_BRANCHES = 2 };

struct viscoelastic {
    struct hencky spring;                       /* g_0 mu, K - 2/3 g_0 mu */
    struct hencky branch[VISCOELASTIC_BRANCHES]; /* g_k mu, -2/3 g_k mu */
    wide rate[VISCOELASTIC_BRANCHES];           /* 1/tau_k */
    wide lambda;                                /* of fast deformation */
    wide viscosity;                             /* eta */
    bool is_used[VISCOELASTIC_BRANCHES];        /* g_k > 0 */
};

INLINE struct viscoelastic viscoelastic_prepare(const double *values)
{
    const double E = values[0], nu = values[1], mu = E / (2 * (1 + nu)), bulk = E / (3 * (1 - 2 * nu));
    double rest = 1;
    struct viscoelastic law = {.lambda = lame_lambda(E, nu), .viscosity = wide_set((real)values[6])};
    UNROLL for (int k = 0; k < VISCOELASTIC_BRANCHES; k++) {
        const double share = values[2 + 2 * k];
        rest -= share;
        law.branch[k] = (struct hencky){wide_set((real)(share * mu)), wide_set((real)(share * mu * (-2.0 / 3)))};
        law.rate[k] = wide_set((real)(1 / values[3 + 2 * k]));
        law.is_used[k] = share > 0;
    }
    law.spring = (struct hencky){wide_set((real)(rest * mu)), wide_set((real)(bulk - rest * mu * (2.0 / 3)))};
    return law;
}

enum { VISCOELASTIC_COMPONENTS = DIM * (DIM + 1) / 2 };

/* C_k, and its zz in plane strain */
INLINE matrix viscoelastic_metric(const struct law_state *state, int k, wide *zz)
{
    matrix C;
    int c = k * VISCOELASTIC_COMPONENTS;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++)
            C.m[i][j] = C.m[j][i] = state->history[c++];
    *zz = wide_set(1);
    if (DIM == 2)
        *zz /= matrix_det(C);
    return C;
}

/* The strain of a branch, and that out of plane. */
INLINE matrix viscoelastic_strain(const struct law_state *state, int k, matrix *C, wide *zz)
{
    *C = viscoelastic_metric(state, k, zz);
    const matrix b = matrix_symmetric(matrix_multiply_transposed(matrix_multiply(state->F, *C), state->F));
    matrix strain;
    hencky_half_log(&b, &strain);
    *zz = wide_set((real)(DIM == 2 ? 0.5 : 0)) * wide_log_any(*zz);
    return strain;
}

/* Lanes with a NaN or an inverted F keep their history, so that the trouble stays visible. */
INLINE mask viscoelastic_return_map(const struct viscoelastic *law, struct law_state *state, wide dt,
                                    matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1);
    const matrix cofactor = matrix_cofactor(state->F);
    const wide J = matrix_det_from(state->F, cofactor);
    const mask sound = wide_less(zero, J) & wide_less_equal(J, wide_set(REAL_LARGEST));
    UNROLL for (int k = 0; k < VISCOELASTIC_BRANCHES; k++) {
        if (!law->is_used[k])
            continue;
        wide zz;
        matrix C;
        const matrix strain = viscoelastic_strain(state, k, &C, &zz);
        const wide mean = (matrix_trace(strain) + zz) * wide_set((real)(1.0 / 3));
        const wide less = wide_exp(-dt * law->rate[k]) - one;
        const matrix change = matrix_scale(less, matrix_add_diagonal(strain, -mean)), F = state->F;
        matrix moved;
        hencky_move_any(&change, &F, &moved);
        /* C' = (I + D) C (I + D^T) with D = F^-1 (e^change - I) F, F^-1 = cofactor^T/J: no change, no rounding */
        const matrix gained = matrix_add(moved, matrix_scale(-one, F));
        const matrix D = matrix_scale(one / J, matrix_multiply_left_transposed(cofactor, gained));
        const matrix DC = matrix_multiply(D, C), square = matrix_multiply_transposed(DC, D);
        matrix after;
        UNROLL for (int i = 0; i < DIM; i++)
            UNROLL for (int j = i; j < DIM; j++)
                after.m[i][j] = C.m[i][j] + (DC.m[i][j] + DC.m[j][i] + square.m[i][j]);
        int c = k * VISCOELASTIC_COMPONENTS;
        UNROLL for (int i = 0; i < DIM; i++)
            UNROLL for (int j = i; j < DIM; j++) {
                const mask good = sound & wide_less_equal(wide_abs(after.m[i][j]), wide_set(REAL_LARGEST));
                state->history[c] = wide_select(good, after.m[i][j], state->history[c]);
                c++;
            }
    }
    return wide_less(one, zero);
}

/* Adds a spring: its largest curvatures are those of its own axes, but for the volume, which all springs share. */
INLINE wide viscoelastic_add(const struct hencky *spring, matrix strain, const wide *zz, struct law_evaluation *sum)
{
    struct law_evaluation r = hencky_respond(spring, strain, zz);
    const wide own = hencky_bound_wave(spring, strain, &r) - spring->lambda;
    sum->tau = matrix_add(sum->tau, r.tau);
    sum->tau_zz += r.tau_zz;
    sum->energy += r.energy;
    sum->wave += r.wave;
    return wide_max(own, matrix_largest_eigenvalue_bound(r.tau));
}

INLINE struct law_evaluation viscoelastic_evaluate(const struct viscoelastic *law, struct law_state state,
                                                   matrix velocity_gradient)
{
    const wide zero = wide_set(0), half = wide_set((real)0.5), third = wide_set((real)(1.0 / 3));
    mask far;
    const matrix strain = hencky_strain(state.F, &far);
    struct law_evaluation r = {.tau = matrix_scale(zero, matrix_identity())};
    r.tau_zz = r.energy = r.wave = zero;
    r.isolated = viscoelastic_add(&law->spring, strain, NULL, &r) + wide_max(wide_set(DIM) * law->lambda, zero);
    UNROLL for (int k = 0; k < VISCOELASTIC_BRANCHES; k++)
        if (law->is_used[k]) {
            wide zz;
            matrix C;
            const matrix own = viscoelastic_strain(&state, k, &C, &zz);
            r.isolated += viscoelastic_add(&law->branch[k], own, DIM == 2 ? &zz : NULL, &r);
        }
    const wide eta_J = law->viscosity * state.J, rate = third * matrix_trace(velocity_gradient);
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++) {
            wide D = half * (velocity_gradient.m[i][j] + velocity_gradient.m[j][i]);
            if (i == j)
                D -= rate;
            r.tau.m[i][j] = wide_fma(eta_J + eta_J, D, r.tau.m[i][j]);
        }
    r.tau_zz = wide_fnma(eta_J + eta_J, rate, r.tau_zz);
    r.damping = wide_set(2 * DIM) * eta_J;
    return r;
}
