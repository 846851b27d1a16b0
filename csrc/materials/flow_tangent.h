/* SPDX-License-Identifier: MIT
 *
 * The derivatives of the stress after an isotropic return map, mostly one in logarithmic strain (J. C. Simo, Comput.
 * Methods Appl. Mech. Eng. 99 (1992) 61-112). In principal axes, the map takes trial strains e_i = ln s_i to stresses
 * tau_i:
 *
 *     tau_i = 2 mu L' n_i + m,  n = dev e/L,  L = |dev e|,  t = tr e       mostly; L', m: functions of L and t
 *     D_ij = dtau_i/de_j = 2 mu L'/L (dev - n n) + 2 mu n (dL'/dL n + dL'/dt 1) + 1 (dm/dL n + dm/dt 1)
 *     P = U diag(tau_i/s_i) V^T:  Psi_i = tau_i/s_i,  Psi_ij = (D_ij - delta_ij tau_i)/(s_i s_j)
 *
 * D is that of the return map itself, not of its limit of short steps, and includes the rate in a step of size dt.
 * Where flow is not associated it has a skew part, which conjugate gradients cannot solve with: its symmetric part is
 * kept. That of grains, whose shear stress follows the pressure but not the other way round, is indefinite, and is made
 * positive semi-definite.
 */
#pragma once
#include "materials/general_laws.h"
#include "materials/hencky.h"
#include "materials/tangent.h"

/* A trial state in principal axes. In plane strain, laws with an elastic strain out of plane have a third axis. */
struct flow_trial {
    struct law_state state; /* F = diag(s); what is not proper has s = 1 */
    wide s[DIM], n[DIM];    /* stretches; direction of the deviator, 0 without one */
    wide length, trace;     /* L, t */
    mask proper, strained;  /* all stretches are positive; L > 0 */
};

/* `axes` is the dimension of traces and deviators: DIM, or 3, in plane strain with the strain `zz`. */
INLINE struct flow_trial flow_trial_of(const wide stretch[DIM], const struct law_state *state, int axes, wide zz)
{
    const wide zero = wide_set(0), one = wide_set(1), least = wide_set((real)(REAL_IS_FLOAT ? 1e-18 : 1e-100));
    struct flow_trial t = {.state = *state, .trace = zero, .proper = wide_less(zero, one)};
    UNROLL for (int i = 0; i < DIM; i++)
        t.proper &= wide_less(least, stretch[i]);
    wide strain[DIM];
    t.state.F = matrix_scale(zero, matrix_identity());
    UNROLL for (int i = 0; i < DIM; i++) {
        t.s[i] = t.state.F.m[i][i] = wide_select(t.proper, stretch[i], one);
        strain[i] = wide_log(t.s[i]);
        t.trace += strain[i];
    }
    if (axes > DIM)
        t.trace += zz;
    t.state.J = matrix_det(t.state.F);
    const wide mean = t.trace * wide_set((real)(1.0 / axes));
    wide square = zero;
    if (axes > DIM)
        square = (zz - mean) * (zz - mean);
    UNROLL for (int i = 0; i < DIM; i++)
        square = wide_fma(strain[i] - mean, strain[i] - mean, square);
    t.length = wide_sqrt(square);
    const wide inverse = wide_select(wide_less(zero, t.length), one / t.length, zero);
    UNROLL for (int i = 0; i < DIM; i++)
        t.n[i] = (strain[i] - mean) * inverse;
    t.strained = wide_less(zero, t.length);
    return t;
}

/* What a return map does to a trial state. */
struct flow_slopes {
    wide keep;             /* L'/L */
    wide by_length, by_trace; /* dL'/dL, dL'/dt */
    wide mean_by_length, mean_by_trace; /* dm/dL, dm/dt [Pa] */
};

/* That of a state within the yield surface; K is dm/dt. */
INLINE struct flow_slopes flow_elastic(wide K)
{
    const wide zero = wide_set(0), one = wide_set(1);
    const struct flow_slopes slopes = {one, one, zero, zero, K};
    return slopes;
}

INLINE struct flow_slopes flow_select(mask flows, struct flow_slopes a, struct flow_slopes b)
{
    const struct flow_slopes slopes = {
        wide_select(flows, a.keep, b.keep), wide_select(flows, a.by_length, b.by_length),
        wide_select(flows, a.by_trace, b.by_trace), wide_select(flows, a.mean_by_length, b.mean_by_length),
        wide_select(flows, a.mean_by_trace, b.mean_by_trace)};
    return slopes;
}

/* The tangent, from the response of the law to the mapped state, from D, and from (tau_i - tau_j)/(e_i - e_j). */
INLINE struct law_tangent flow_tangent(const struct flow_trial *t, const struct law_evaluation *mapped,
                                       const wide D[DIM][DIM], const wide shear[LAW_PAIRS])
{
    const wide half = wide_set((real)0.5);
    struct law_tangent r = {.viscosity = wide_set(0)};
    wide inverse[DIM];
    r.energy = wide_select(t->proper, mapped->energy, wide_set((real)__builtin_inf()));
    UNROLL for (int i = 0; i < DIM; i++)
        inverse[i] = wide_set(1) / t->s[i];
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide tau = mapped->tau.m[i][i];
        r.first[i] = tau * inverse[i];
        r.second[i][i] = (D[i][i] - tau) * inverse[i] * inverse[i];
        UNROLL for (int j = i + 1; j < DIM; j++) {
            const int k = LAW_PAIR(i, j);
            const wide other = mapped->tau.m[j][j] * inverse[j];
            r.second[i][j] = r.second[j][i] = half * (D[i][j] + D[j][i]) * inverse[i] * inverse[j];
            r.minus[k] = wide_fma(shear[k], hencky_slope(t->s[i], t->s[j]), -other) * inverse[i];
            r.plus[k] = (r.first[i] + other) / (t->s[i] + t->s[j]);
        }
    }
    return r;
}

/* The same for a return map along the deviator. */
INLINE struct law_tangent flow_radial_tangent(const struct flow_trial *t, const struct law_evaluation *mapped, wide mu,
                                              int axes, const struct flow_slopes *flow)
{
    const wide two_mu = mu + mu, shortened = two_mu * flow->keep, third = wide_set((real)(1.0 / axes));
    wide D[DIM][DIM], shear[LAW_PAIRS];
    UNROLL for (int k = 0; k < LAW_PAIRS; k++)
        shear[k] = shortened;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++) {
            const wide along = wide_fma(flow->by_length - flow->keep, t->n[j], flow->by_trace);
            D[i][j] = wide_fma(two_mu * t->n[i], along, wide_fma(flow->mean_by_length, t->n[j], flow->mean_by_trace)) -
                      third * shortened;
            if (i == j)
                D[i][j] += shortened;
        }
    return flow_tangent(t, mapped, D, shear);
}

/* 2 mu L = q/sqrt(3/2); the bulk modulus of three dimensions. */
#define FLOW_SHEAR ((real)2.4494897427831781) /* 2 sqrt(3/2): q = FLOW_SHEAR mu L */

INLINE wide flow_bulk(const struct hencky *elastic)
{
    return wide_fma(wide_set((real)(2.0 / 3)), elastic->mu, elastic->lambda);
}

/* The strain out of plane, of laws that keep its stretch. */
INLINE wide flow_zz(const struct law_state *state, int fzz)
{
    return DIM == 2 ? wide_log_any(state->history[fzz]) : wide_set(0);
}

/* Maps a trial state and evaluates the result, by the functions that every kernel set has: inlined here once more, they
 * were a fifth of all laws. `parameters` are those of a law within a union law_parameters. */
INLINE struct law_evaluation flow_map(const int law, const void *parameters, struct law_state *state, wide dt)
{
    const union law_parameters *const of_law = (const union law_parameters *)parameters;
    const matrix still = matrix_scale(wide_set(0), matrix_identity());
    struct law_evaluation mapped;
    mask limited;
    MPM_KERNEL(general_laws_return_map)(law, of_law, state, dt, &still, &limited);
    state->J = matrix_det(state->F);
    MPM_KERNEL(general_laws_evaluate)(law, of_law, state, &still, &mapped);
    return mapped;
}

/* That of grains. */
INLINE struct law_tangent flow_definite(struct law_tangent t)
{
    law_tangent_project(&t);
    return t;
}
