/* SPDX-License-Identifier: MIT
 *
 * The energy that laws dissipate in a step, per rest volume, for simulations that keep it.
 *
 *     return map   D = Psi' - Psi - 1/2 (tau' - tau) : e       trial state ': after F <- (I + A) F, A = dt grad v
 *     viscosity    D = dt tau_v : grad v                       tau_v = tau(grad v) - tau(0), minus q I of a shock
 *
 * with e = sym ln(I + A) = sym (A - A^2/2), or sym A for Cayley's update, whose logarithm is A. Psi' - Psi is what the
 * return map takes away. But the work of the step is done by the stress after the return map of the step before, not
 * by one that rises to its trial value: the trapezoidal rule gives 1/2 (tau_n + tau) : e, and Psi' - Psi_n is
 * 1/2 (tau_n + tau') : e to third order. The difference is the last term, so that D is that work less the change of
 * Psi: tau : e in steady flow, whatever e is. It is 0 to the bit where the return map changes nothing.
 */
#pragma once
#include "mpm/kernels/particle_update.h"

/* Sums of a group, by lane [J, in 2-D J/m]. */
struct dissipation {
    wide sum[MPM_DISSIPATIONS];
};

INLINE void dissipation_begin(struct dissipation *d)
{
    UNROLL for (int i = 0; i < MPM_DISSIPATIONS; i++)
        d->sum[i] = wide_set(0);
}

/* The energy that the return map of the step dissipates, from the trial state to that of the tile. `still` is the
 * evaluation of the latter without a velocity gradient. */
INLINE wide dissipation_by_return(const mpm_material *material, const union law_parameters *parameters,
                                  const struct law_state *trial, const struct law_evaluation *still, matrix A,
                                  const mpm_f_update f_update)
{
    const wide half = wide_set((real)0.5);
    const matrix e = f_update == MPM_F_CAYLEY ? A : matrix_add(A, matrix_scale(-half, matrix_multiply(A, A)));
    const struct law_evaluation before =
        evaluate_law(mpm_material_kernel_law(material), parameters, *trial, matrix_scale(wide_set(0), A));
    const matrix fall = matrix_add(before.tau, matrix_scale(wide_set(-1), still->tau));
    return wide_fnma(half, matrix_dot(fall, e), before.energy - still->energy);
}

/* Adds to the fields of a tile what its particles dissipate in the step. `evaluation` is that of the new state. NaN of
 * a user's law ends the run, and the fields keep what they held. */
NOINLINE void dissipate(const mpm_sweep *sweep, const mpm_material *material, const struct constants *k,
                        const union law_parameters *parameters, const struct law_state *trial,
                        const struct tile *tile, const matrix *gradient, const struct law_evaluation *evaluation,
                        ptrdiff_t t)
{
    const mpm_law *row = k->row;
    const matrix A = matrix_scale(k->gather_dt, *gradient);
    const bool shocked = ANY_SCHEME && mpm_scheme_is_viscous(&sweep->scheme);
    wide gained[2] = {wide_set(0), wide_set(0)};
    struct law_evaluation still = *evaluation;
    if (row->viscous) {
        still = evaluate_law(mpm_material_kernel_law(material), parameters, tile->state, matrix_scale(wide_set(0), A));
        const matrix viscous = matrix_add(evaluation->tau, matrix_scale(wide_set(-1), still.tau));
        gained[MPM_DISSIPATION_VISCOUS] = matrix_dot(viscous, A);
    }
    if (shocked)
        gained[MPM_DISSIPATION_VISCOUS] -= shock_of(&sweep->scheme, k->h, tile, evaluation).pressure * matrix_trace(A);
    if (mpm_laws_inelastic(material->law))
        gained[row->relaxes ? MPM_DISSIPATION_VISCOUS : MPM_DISSIPATION_PLASTIC] +=
            dissipation_by_return(material, parameters, trial, &still, A,
                                  ANY_SCHEME ? sweep->scheme.f_update : MPM_F_LINEAR);
    for (int i = 0; i < 2; i++) {
        real *column = tile_scalar(sweep->particles, material->dissipation[i], t);
        if (mpm_material_kernel_law(material) == MPM_USER)
            gained[i] = wide_select(is_finite(gained[i]), gained[i], wide_set(0));
        wide_store(column, wide_load(column) + gained[i]);
    }
}

/* The trial state that the return map gets, with its J. */
INLINE struct law_state dissipation_trial(const struct tile *tile, const bool keeps_J)
{
    struct law_state trial = tile->state;
    if (!keeps_J)
        trial.J = matrix_det(trial.F);
    return trial;
}

/* The same on copies: the originals can stay in registers because their address is not taken. */
INLINE void dissipate_copies(const mpm_sweep *sweep, const mpm_material *material, const struct constants *k,
                             const union law_parameters *parameters, struct law_state trial, struct tile tile,
                             matrix gradient, struct law_evaluation evaluation, ptrdiff_t t)
{
    dissipate(sweep, material, k, parameters, &trial, &tile, &gradient, &evaluation, t);
}

/* The value of a parameter, which may vary. */
INLINE wide parameter_of(const mpm_material *material, const struct law_state *state, int parameter)
{
    for (int v = 0; v < material->varying; v++)
        if (material->parameter[v] == parameter)
            return state->history[mpm_law_history(mpm_material_law(material), DIM) + v];
    return wide_set((real)material->values[parameter]);
}

/* The heat per rest volume since the initial temperature, of laws that keep a temperature; else 0. */
NOINLINE wide heat_of(const mpm_material *material, const mpm_law *row, const struct law_state *state)
{
    wide heat = wide_set(0);
    int component = 0;
    for (int f = 0; f < row->fields; f++) {
        const mpm_history_field *field = &row->field[f];
        if (field->heat_capacity)
            heat = parameter_of(material, state, field->heat_capacity - 1) *
                   (state->history[component] - parameter_of(material, state, field->initial_parameter - 1));
        component += mpm_rank_components(field->rank, DIM);
    }
    return heat;
}

/* Adds a tile to the sums. */
INLINE void dissipation_add_tile(const mpm_sweep *sweep, const mpm_material *material, const mpm_law *row,
                                 struct tile tile, ptrdiff_t t, struct dissipation *d)
{
    const mask there = wide_less(wide_set(0), tile.volume); /* parameters of padding are NaN */
    const wide heat = wide_select(there, heat_of(material, row, &tile.state), wide_set(0));
    for (int i = 0; i < 2; i++)
        d->sum[i] = wide_fma(tile.volume, wide_load(tile_scalar(sweep->particles, material->dissipation[i], t)),
                             d->sum[i]);
    d->sum[MPM_DISSIPATION_HEAT] = wide_fma(tile.volume, heat, d->sum[MPM_DISSIPATION_HEAT]);
}

INLINE void dissipation_add_group(mpm_measure *measure, struct dissipation *d)
{
    for (int i = 0; i < MPM_DISSIPATIONS; i++)
        measure->dissipation[i] += wide_sum(d->sum[i]);
    dissipation_begin(d);
}
