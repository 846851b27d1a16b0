/* SPDX-License-Identifier: MIT
 *
 * Metal: elastic in its logarithmic strain (materials/hencky.h), and flowing at constant volume where the deviatoric
 * stress reaches its yield surface (von Mises), which grows and moves with plastic strain.
 *
 *     F = F_E F_P,  det F_P = 1,  e = 1/2 ln F_E F_E^T                              F_E is the particle's F
 *     |xi| <= sqrt(2/3) Y(ep),  xi = dev tau - beta                                 yield: Kirchhoff stress [Pa]
 *     e -> e - g N,  N = xi/|xi|,  ep -> ep + sqrt(2/3) g,  beta -> beta + 2/3 K g N   radial return
 *     |xi| - sqrt(2/3) Y(ep + sqrt(2/3) g) = (2 mu + 2/3 K + 2 eta/dt) g
 *
 * Y is isotropic hardening (hardening.h): g has a formula where Y = sigma_y + H ep. K is kinematic hardening. With the
 * viscosity eta (Perzyna) the stress exceeds the surface by 2 eta times the plastic strain rate, so that steady shear
 * needs sigma_y/sqrt(3) + eta times its rate. Deviators are those of three dimensions. F_E = V R keeps its rotation R
 * in the return map. The history keeps R^T beta R: beta turns with R.
 *
 * In plane strain F_E has the stretch 1/F_P,zz out of plane, which is det F_P in the plane: Jp. Then det F_E in the
 * plane times Jp is the whole volume ratio. In 3-D Jp stays 1. J. C. Simo & T. J. R. Hughes, Computational Inelasticity
 * (1998), sections 2.6, 2.7 and 3.3; the logarithmic strain as in J. C. Simo, Comput. Methods Appl. Mech. Eng. 99
 * (1992) 61.
 */
#pragma once
#include "materials/hardening.h"
#include "materials/row.h"

/* Without the density, which is the last of a row. */
#define VON_MISES_OWN(P) \
    ELASTIC_MODULI(P) \
    P(yield_stress, "Pa", POSITIVE, "sigma_y: uniaxial stress at which flow begins") \
    P(hardening, "Pa", NOT_NEGATIVE, "H: growth of the yield stress with plastic strain") \
    P(kinematic_hardening, "Pa", NOT_NEGATIVE, "K: shift of the surface with plastic strain", \
      .branches = MPM_BRANCHES_AT_0, .turns_axes = true) \
    P(viscosity, "Pa s", NOT_NEGATIVE, "eta: resistance to the rate of plastic flow", .branches = MPM_BRANCHES_AT_0) \
    HARDENING_PARAMETERS(P)

#define VON_MISES_PARAMETERS(P) \
    VON_MISES_OWN(P) \
    DENSITY(P)

#define VON_MISES_FIELDS \
    PLASTIC_VOLUME_RATIO, PLASTIC_STRAIN, \
        {"backstress", "Pa", MPM_SYMMETRIC, .low = -INFINITY, .high = INFINITY, \
         .meaning = "centre of the yield surface, turned back by the rotation of F"}

#define VON_MISES_REFERENCE \
    "J. C. Simo, Algorithms for static and dynamic multiplicative plasticity that preserve the classical return " \
    "mapping schemes of the infinitesimal theory, Computer Methods in Applied Mechanics and Engineering 99 (1992) " \
    "61-112. doi:10.1016/0045-7825(92)90123-2"

struct von_mises_parameters { VON_MISES_PARAMETERS(MPM_MEMBER) };

static inline const char *von_mises_unfit(const double *values)
{
    const struct von_mises_parameters *p = MPM_VALUES(von_mises, values);
    const struct hardening_parameters hardening = HARDENING_OF(p);
    return hardening_unfit(p->yield_stress, &hardening);
}

MPM_ROW(von_mises,
    .name = "von_mises", .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(von_mises, VON_MISES_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(von_mises_unfit),
    .fields = 3, .field = {VON_MISES_FIELDS}, .reference = VON_MISES_REFERENCE)

#ifdef MPM_DIM /* for kernels */
#include "materials/flow_tangent.h"
#include "materials/hencky.h"
#include "materials/moduli.h"

enum { VON_MISES_JP, VON_MISES_STRAIN, VON_MISES_BACKSTRESS }; /* index in the history */

struct von_mises {
    struct hencky elastic;
    struct hardening hardening;
    wide kinematic;         /* 2/3 K */
    wide stiffness;         /* 2 mu + 2/3 (H + K) */
    wide twice_viscosity;   /* 2 eta */
    bool moves, is_viscous; /* K > 0, eta > 0 */
};

NOINLINE struct von_mises von_mises_prepare(const struct von_mises_parameters *p)
{
    const double mu = p->E / (2 * (1 + p->nu));
    const struct hardening_parameters hardening = HARDENING_OF(p);
    const struct von_mises law = {
        .elastic = hencky_of(p->E, p->nu),
        .hardening = hardening_of(p->yield_stress, p->hardening, &hardening),
        .kinematic = wide_set((real)(2 * p->kinematic_hardening / 3)),
        .stiffness = wide_set((real)(2 * mu + 2 * (p->hardening + p->kinematic_hardening) / 3)),
        .twice_viscosity = wide_set((real)(2 * p->viscosity)),
        .moves = p->kinematic_hardening > 0,
        .is_viscous = p->viscosity > 0,
    };
    return law;
}

/* The elastic strain out of plane. */
INLINE wide von_mises_strain_zz(const struct law_state *state)
{
#if DIM == 2
    return wide_log_any(state->history[VON_MISES_JP]);
#else
    (void)state;
    return wide_set(0);
#endif
}

/* By how much stress exceeds the yield surface, given |xi| and the plastic strain before the step. */
INLINE wide von_mises_excess(const struct von_mises *law, wide length, wide before)
{
    return length - hardening_radius(&law->hardening, before);
}

/* The flow g of a step, and by how much the excess falls per g at its end. */
INLINE wide von_mises_flow(const struct von_mises *law, wide excess, wide before, wide dt, wide *stiffness)
{
    wide fall = law->stiffness;
    if (law->is_viscous)
        fall += law->twice_viscosity / dt;
    wide flow = excess / fall;
    if (__builtin_expect(law->hardening.is_curved, 0)) {
        wide end = fall, found; /* in memory, as for all calls */
        hardening_solve(&law->hardening, before, excess, &end, &found);
        fall = end;
        flow = found;
    }
    *stiffness = fall;
    return flow;
}

/* For large strains: puts F with principal strains keep e + shift into the lanes of `far`. */
NOINLINE void von_mises_move_far(const matrix *F, matrix *moved, wide keep, wide shift, mask far)
{
    const struct singular s = singular_decompose(*F);
    wide value[DIM];
    UNROLL for (int i = 0; i < DIM; i++)
        value[i] = wide_exp(wide_fma(keep, wide_log_any(s.value[i]), shift));
    *moved = matrix_select(far, singular_compose(&s, value), *moved);
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the fault stays visible. */
INLINE mask von_mises_return_map(const struct von_mises *law, struct law_state *state, wide dt,
                                 matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), two_mu = law->elastic.mu + law->elastic.mu;
    const wide J = matrix_det(state->F), before = state->history[VON_MISES_STRAIN];
    mask far;
    const matrix strain = hencky_strain(state->F, &far);
    const wide zz = von_mises_strain_zz(state);
    const wide mean = (matrix_trace(strain) + zz) * wide_set((real)(1.0 / 3));
    matrix xi = matrix_scale(two_mu, matrix_add_diagonal(strain, -mean)), R = matrix_identity(), kept = xi;
    wide xi_zz = two_mu * (zz - mean) * wide_set(DIM == 2);
    if (law->moves) {
        kept = law_symmetric(&state->history[VON_MISES_BACKSTRESS]);
        R = polar_rotation(state->F);
        const matrix beta = matrix_symmetric(matrix_multiply_transposed(matrix_multiply(R, kept), R));
        xi = matrix_add(xi, matrix_scale(-one, beta));
        xi_zz += matrix_trace(kept) * wide_set(DIM == 2); /* beta has no trace in three dimensions */
    }
    const wide length = wide_sqrt(wide_fma(xi_zz, xi_zz, matrix_dot(xi, xi)));
    const wide excess = von_mises_excess(law, length, before);
    const mask sound = wide_less(zero, J) & wide_less_equal(J, wide_set(REAL_LARGEST));
    const mask yields = sound & wide_less(zero, excess) & wide_less_equal(length, wide_set(REAL_LARGEST));
    if (!mask_any(yields))
        return wide_less(one, zero);

    wide stiffness;
    const wide flow = von_mises_flow(law, excess, before, dt, &stiffness);
    const wide part = flow / wide_select(yields, length, one); /* g/|xi| */
    const matrix change = matrix_scale(-part, xi);
    matrix F;
    if (law->moves) {
        const matrix copy = R, after = matrix_add(strain, change); /* in memory, as for all calls */
        hencky_move_any(&after, &copy, &F);
        const matrix turned = matrix_multiply(matrix_multiply_left_transposed(R, change), R);
        const matrix backstress = matrix_add(kept, matrix_symmetric(matrix_scale(-law->kinematic, turned)));
        law_keep_symmetric(&state->history[VON_MISES_BACKSTRESS], matrix_select(yields, backstress, kept));
    } else {
        F = hencky_move(change, state->F);
        far |= wide_less(wide_set(HENCKY_SHORT2), matrix_dot(change, change));
        if (__builtin_expect(mask_any(yields & far), 0)) {
            const matrix copy = state->F;
            matrix moved = F;
            const wide keep = wide_fnma(two_mu, part, one);
            von_mises_move_far(&copy, &moved, keep, (one - keep) * mean, far);
            F = moved;
        }
    }
    state->F = matrix_select(yields, F, state->F);
    const wide strained = wide_fma(wide_set((real)HARDENING_ROOT), flow, before);
    state->history[VON_MISES_STRAIN] = wide_select(yields, strained, before);
    if (DIM == 2) {
        const wide Jp = state->history[VON_MISES_JP];
        state->history[VON_MISES_JP] = wide_select(yields, Jp * wide_exp(-part * xi_zz), Jp);
    }
    return wide_less(one, zero);
}

INLINE struct law_evaluation von_mises_evaluate(const struct von_mises *law, struct law_state state,
                                                matrix velocity_gradient)
{
    (void)velocity_gradient;
    mask far;
    const matrix strain = hencky_strain(state.F, &far);
    const wide zz = von_mises_strain_zz(&state);
    struct law_evaluation r = hencky_respond(&law->elastic, strain, DIM == 2 ? &zz : NULL);
    hencky_bound_shear(&law->elastic, strain, &r);
    return r;
}

/* Without kinematic hardening, whose backstress need not share the axes of the strain. */
INLINE struct law_tangent von_mises_tangent(const struct von_mises *law, const wide stretch[DIM],
                                            const struct law_state *state, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), two_mu = law->elastic.mu + law->elastic.mu;
    const wide before = state->history[VON_MISES_STRAIN];
    struct flow_trial t = flow_trial_of(stretch, state, 3, von_mises_strain_zz(state));
    const struct law_evaluation mapped = flow_map(MPM_VON_MISES, law, &t.state, dt);
    const wide length = two_mu * t.length, excess = von_mises_excess(law, length, before);
    const mask flows = t.strained & wide_less(zero, excess);
    wide stiffness;
    const wide flowed = von_mises_flow(law, excess, before, dt, &stiffness);
    struct flow_slopes flow = flow_elastic(flow_bulk(&law->elastic));
    flow.keep = wide_select(flows, one - flowed / wide_select(flows, t.length, one), one);
    flow.by_length = wide_select(flows, one - two_mu / stiffness, one);
    return flow_radial_tangent(&t, &mapped, law->elastic.mu, 3, &flow);
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
    const wide before = trial->begin->history[VON_MISES_STRAIN], excess = von_mises_excess(law, length, before);
    const mask yields = proper & wide_less(zero, excess);
    wide stiffness;
    const wide flow = von_mises_flow(law, excess, before, trial->dt, &stiffness);
    const wide per_length = one / wide_select(yields, length, one);
    const wide part = wide_select(yields, flow * per_length, zero);
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
#endif
