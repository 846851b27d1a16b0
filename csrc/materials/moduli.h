/* SPDX-License-Identifier: MIT
 *
 * The derivatives of the stress of laws with axes of their own: of fibres, of flow that has hardened in a direction, or
 * of a strain that has relaxed. In the principal frame of F their derivative has no simple form, so it is kept as the
 * symmetric matrix of its components. Column e is the change for a gradient G with 1 at component e, and 0 elsewhere.
 *
 * Some of these laws are sums of parts that are isotropic in F H, with an H that stays as it is during the step. The
 * derivative of a part is that of tangent.h, with F H and F^n H for F and F^n. Each part is projected by itself, since
 * the sum of positive semi-definite matrices is positive semi-definite.
 */
#pragma once
#include "materials/law_switch.h"
#include "materials/tangent.h"

/* The gradient with 1 at component e. */
INLINE matrix moduli_unit(int e)
{
    matrix unit = {0};
    unit.m[e / DIM][e % DIM] = wide_set(1);
    return unit;
}

/* Adds the symmetric part of column e. */
INLINE void moduli_add_column(struct law_moduli *m, int e, const matrix *column)
{
    const wide half = wide_set((real)0.5);
    for (int f = 0; f < DIM * DIM; f++) {
        wide *entry = &m->packed[f < e ? LAW_MODULUS(e, f) : LAW_MODULUS(f, e)];
        *entry = wide_fma(e == f ? wide_set(1) : half, column->m[f / DIM][f % DIM], *entry);
    }
}

/* Adds a part that is isotropic in the F H that led to the frames of `t`. */
INLINE void moduli_add(struct law_moduli *m, const struct law_trial *trial, struct tangent *t, struct law_tangent *part)
{
    m->energy += part->energy;
    m->force = matrix_add(m->force, tangent_force(t, part));
    t->viscosity = wide_set(0);
    tangent_fill(t, part, wide_set(1), trial->projects);
    for (int e = 0; trial->derives && e < DIM * DIM; e++) {
        const matrix column = tangent_apply(t, moduli_unit(e));
        moduli_add_column(m, e, &column);
    }
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

/* The lower triangular L with L L^T = a, of a symmetric positive definite `a`. */
INLINE matrix moduli_cholesky(matrix a)
{
    const wide least = wide_set((real)(REAL_IS_FLOAT ? 1.2e-38 : 2.3e-308));
    matrix L = {0};
    UNROLL for (int j = 0; j < DIM; j++)
        UNROLL for (int i = j; i < DIM; i++) {
            wide rest = a.m[i][j];
            UNROLL for (int k = 0; k < j; k++)
                rest = wide_fnma(L.m[i][k], L.m[j][k], rest);
            if (i == j)
                L.m[j][j] = wide_sqrt(wide_max(rest, least));
            else
                L.m[i][j] = rest / L.m[j][j];
        }
    return L;
}

/* Within a step, a branch is a solid with the energy g_k mu e^(-dt/tau_k) |dev e_k|^2, e_k = 1/2 ln (F H) (F H)^T with
 * H H^T = C_k: it has the stress after the return map, which multiplies dev e_k by e^(-dt/tau_k). */
INLINE void viscoelastic_moduli(const struct viscoelastic *law, const struct law_trial *trial, struct law_moduli *m)
{
    const wide one = wide_set(1), half = wide_set((real)0.5);
    m->viscosity = law->viscosity * trial->begin->J;
    for (int k = -1; k < VISCOELASTIC_BRANCHES; k++) {
        struct hencky spring = law->spring;
        matrix H = matrix_identity();
        wide zz = wide_set(0), stretch[DIM];
        if (k >= 0) {
            if (!law->is_used[k])
                continue;
            const wide kept = one + wide_expm1(-trial->dt * law->rate[k]);
            spring = (struct hencky){kept * law->branch[k].mu, kept * law->branch[k].lambda};
            H = moduli_cholesky(viscoelastic_metric(trial->begin, k, &zz));
            zz = half * wide_log_any(zz);
        }
        struct tangent t;
        tangent_frames(&t, matrix_multiply(trial->F, H), matrix_multiply(trial->begin->F, H), stretch);
        struct law_tangent part = hencky_tangent_with(&spring, stretch, DIM == 2 ? &zz : NULL);
        moduli_add(m, trial, &t, &part);
    }
}

/* With E = ln U of the trial F = R U and T = R^T tau R, the return map is that of small strains (J. C. Simo & T. J. R.
 * Hughes, Computational Inelasticity (1998), section 3.3.2), in axes that turn with R:
 *
 *     dT = lambda tr dE I + 2 mu (dE - 2 mu a dev dE) - 4 mu^2 (1/S - a) (n : dE) n,  a = g/|xi|,  S = d|xi|/dg
 *
 * In the principal frame of F, with X = U^T dF V, s the stretches, and hats left out,
 *
 *     dE_ij = L_ij (s_i X_ij + s_j X_ji),  L_ij = (ln s_i - ln s_j)/(s_i^2 - s_j^2),  w_ij = (X_ij - X_ji)/(s_i + s_j)
 *     dP = (dT + w T - T w - T s^-1 X^T) s^-1
 *
 * The projection keeps 2 s_i L_ij dT_ij alone, the part that dT has by itself, which is never negative. The rest is of
 * the size of the stress. */
INLINE void von_mises_moduli(const struct von_mises *law, const struct law_trial *trial, struct law_moduli *m)
{
    const wide zero = wide_set(0), one = wide_set(1), two_mu = law->elastic.mu + law->elastic.mu;
    const wide least = wide_set((real)(REAL_IS_FLOAT ? 1e-18 : 1e-100)), zz = von_mises_strain_zz(trial->begin);
    struct tangent t;
    wide s[DIM], inverse[DIM], trace = zz, L[DIM][DIM];
    const matrix V = tangent_frames(&t, trial->F, trial->begin->F, s);
    const matrix kept = law_symmetric(&trial->begin->history[VON_MISES_BACKSTRESS]);
    matrix strain = {0}, xi = matrix_multiply_left_transposed(V, matrix_multiply(kept, V)), n;
    mask proper = wide_less(zero, one);
    UNROLL for (int i = 0; i < DIM; i++)
        proper &= wide_less(least, s[i]);
    UNROLL for (int i = 0; i < DIM; i++) {
        s[i] = wide_select(proper, s[i], one);
        inverse[i] = one / s[i];
        strain.m[i][i] = wide_log(s[i]);
        trace += strain.m[i][i];
    }
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            L[i][j] = hencky_slope(s[i], s[j]) / (s[i] + s[j]);

    /* the return map */
    const wide mean = trace * wide_set((real)(1.0 / 3));
    const wide xi_zz = wide_fma(two_mu, zz - mean, matrix_trace(kept)) * wide_set(DIM == 2);
    xi = matrix_add(matrix_scale(two_mu, matrix_add_diagonal(strain, -mean)), matrix_scale(-one, matrix_symmetric(xi)));
    const wide length = wide_sqrt(wide_fma(xi_zz, xi_zz, matrix_dot(xi, xi)));
    const wide excess = length - wide_fma(law->hardening, trial->begin->history[VON_MISES_STRAIN], law->yield);
    const mask yields = proper & wide_less(zero, excess);
    wide stiffness = law->stiffness;
    if (law->is_viscous)
        stiffness += law->twice_viscosity / trial->dt;
    const wide per_length = one / wide_select(yields, length, one);
    const wide part = wide_select(yields, excess / stiffness * per_length, zero);
    const wide turn = wide_select(yields, two_mu * two_mu * (one / stiffness - part), zero);
    n = matrix_scale(per_length, xi);
    strain = matrix_add(strain, matrix_scale(-part, xi));
    const wide mapped_zz = wide_fnma(part, xi_zz, zz);
    const struct law_evaluation mapped = hencky_respond(&law->elastic, strain, DIM == 2 ? &mapped_zz : NULL);
    const matrix T = mapped.tau;
    m->energy = wide_select(proper, mapped.energy, wide_set((real)__builtin_inf()));
    matrix stress;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            stress.m[i][j] = T.m[i][j] * inverse[j];
    m->force = matrix_multiply_transposed(matrix_multiply(t.U, stress), t.W);

    for (int e = 0; trial->derives && e < DIM * DIM; e++) {
        matrix X, dE, w, Y;
        UNROLL for (int i = 0; i < DIM; i++)
            UNROLL for (int j = 0; j < DIM; j++)
                X.m[i][j] = t.U.m[e / DIM][i] * t.W.m[e % DIM][j];
        UNROLL for (int i = 0; i < DIM; i++)
            UNROLL for (int j = 0; j < DIM; j++) {
                dE.m[i][j] = L[i][j] * wide_fma(s[i], X.m[i][j], s[j] * X.m[j][i]);
                w.m[i][j] = (X.m[i][j] - X.m[j][i]) / (s[i] + s[j]);
            }
        const wide swell = matrix_trace(dE), shortened = two_mu * two_mu * part;
        matrix dT = matrix_scale(two_mu - shortened, dE);
        dT = matrix_add_diagonal(dT, wide_fma(shortened, wide_set((real)(1.0 / 3)), law->elastic.lambda) * swell);
        dT = matrix_add(dT, matrix_scale(-turn * matrix_dot(n, dE), n));
        if (trial->projects) {
            UNROLL for (int i = 0; i < DIM; i++)
                UNROLL for (int j = 0; j < DIM; j++)
                    Y.m[i][j] = wide_set(2) * s[i] * L[i][j] * dT.m[i][j];
        } else {
            const matrix wT = matrix_multiply(w, T), turned = matrix_multiply_transposed(stress, X);
            UNROLL for (int i = 0; i < DIM; i++)
                UNROLL for (int j = 0; j < DIM; j++) /* w T - T w is symmetric: T w = -(w T)^T */
                    Y.m[i][j] = (dT.m[i][j] + wT.m[i][j] + wT.m[j][i] - turned.m[i][j]) * inverse[j];
        }
        const matrix column = matrix_multiply_transposed(matrix_multiply(t.U, Y), t.W);
        moduli_add_column(m, e, &column);
    }
}
