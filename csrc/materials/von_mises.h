/* SPDX-License-Identifier: MIT
 *
 * Metal: elastic in its logarithmic strain (materials/hencky.h), and flowing at constant volume where the deviatoric
 * stress reaches its yield surface (von Mises), which grows and moves with plastic strain.
 *
 *     F = F_E F_P,  det F_P = 1,  e = 1/2 ln F_E F_E^T                              F_E is the particle's F
 *     |xi| <= sqrt(2/3) (sigma_y + H ep),  xi = dev tau - beta                      yield: Kirchhoff stress [Pa]
 *     e -> e - g N,  N = xi/|xi|,  ep -> ep + sqrt(2/3) g,  beta -> beta + 2/3 K g N   radial return
 *     g = (|xi| - sqrt(2/3) (sigma_y + H ep))/(2 mu + 2/3 (H + K) + 2 eta/dt)
 *
 * H is isotropic, K kinematic hardening. With the viscosity eta (Perzyna) the stress exceeds the surface by 2 eta times
 * the plastic strain rate, so that steady shear needs sigma_y/sqrt(3) + eta times its rate. Deviators are those of
 * three dimensions. F_E = V R keeps its rotation R in the return map. The history keeps R^T beta R: beta turns with R.
 *
 * In plane strain F_E has the stretch 1/F_P,zz out of plane, which is det F_P in the plane: Jp. Then det F_E in the
 * plane times Jp is the whole volume ratio. In 3-D Jp stays 1. J. C. Simo & T. J. R. Hughes, Computational Inelasticity
 * (1998), sections 2.6, 2.7 and 3.3; the logarithmic strain as in J. C. Simo, Comput. Methods Appl. Mech. Eng. 99
 * (1992) 61.
 */
#pragma once
#include "materials/hencky.h"

enum { VON_MISES_JP, VON_MISES_STRAIN, VON_MISES_BACKSTRESS }; /* index in the history */

struct von_mises {
    struct hencky elastic;
    wide yield, hardening;  /* radius of the surface: yield + hardening ep, both times sqrt(2/3) */
    wide kinematic;         /* 2/3 K */
    wide stiffness;         /* 2 mu + 2/3 (H + K) */
    wide twice_viscosity;   /* 2 eta */
    bool moves, is_viscous; /* K > 0, eta > 0 */
};

INLINE struct von_mises von_mises_prepare(const double *values)
{
    const double mu = values[0] / (2 * (1 + values[1])), root = 0.81649658092772603;
    return (struct von_mises){
        .elastic = hencky_prepare(values),
        .yield = wide_set((real)(root * values[2])),
        .hardening = wide_set((real)(root * values[3])),
        .kinematic = wide_set((real)(2 * values[4] / 3)),
        .stiffness = wide_set((real)(2 * mu + 2 * (values[3] + values[4]) / 3)),
        .twice_viscosity = wide_set((real)(2 * values[5])),
        .moves = values[4] > 0,
        .is_viscous = values[5] > 0,
    };
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
 * F keep theirs too, so that the trouble stays visible. */
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
    const wide excess = length - wide_fma(law->hardening, before, law->yield);
    const mask sound = wide_less(zero, J) & wide_less_equal(J, wide_set(REAL_LARGEST));
    const mask yields = sound & wide_less(zero, excess) & wide_less_equal(length, wide_set(REAL_LARGEST));
    if (!mask_any(yields))
        return wide_less(one, zero);

    wide stiffness = law->stiffness;
    if (law->is_viscous)
        stiffness += law->twice_viscosity / dt;
    const wide flow = excess / stiffness, part = flow / wide_select(yields, length, one); /* g, g/|xi| */
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
    const wide strained = wide_fma(wide_set((real)0.81649658092772603), flow, before);
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
