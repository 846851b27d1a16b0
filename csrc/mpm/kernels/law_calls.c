/* SPDX-License-Identifier: MIT
 *
 * Laws evaluated for arrays of states, outside of any step: `material.stress(F)` and similar calls in Python.
 */
#include "materials/law_switch.h"
#include "mpm/kernels/kernels.h"

/* Loads `lanes` matrices, beginning at row `first`; NULL: zeros. */
INLINE matrix matrix_from_rows(const real *rows, ptrdiff_t first, int lanes)
{
    matrix m = matrix_scale(wide_set(0), matrix_identity());
    for (int q = 0; rows && q < lanes; q++)
        for (int e = 0; e < DIM * DIM; e++)
            ((real *)&m.m[e / DIM][e % DIM])[q] = rows[(first + q) * DIM * DIM + e];
    return m;
}

/* Loads `lanes` states from the arrays, beginning at row `first`; without `history`, the initial values of the law. A
 * history ends with the values of varying parameters. */
INLINE struct law_state state_from_rows(const mpm_material *material, const real *F, const real *history,
                                        ptrdiff_t first, int lanes)
{
    const mpm_law *row = mpm_material_law(material);
    const int own = mpm_law_history(row, DIM), components = own + material->varying;
    struct law_state state = {.F = matrix_identity()};
    for (int f = 0, c = 0; f < row->fields; f++) {
        const mpm_history_field *field = &row->field[f];
        for (int k = 0; k < mpm_rank_components(field->rank, DIM); k++, c++)
            state.history[c] = wide_set((real)mpm_fields_initial(field->rank, DIM, k, field->initial));
    }
    for (int k = 0; k < material->varying; k++) /* of lanes without a state */
        state.history[own + k] = wide_set((real)__builtin_nan(""));
    for (int q = 0; q < lanes; q++) {
        for (int e = 0; e < DIM * DIM; e++)
            ((real *)&state.F.m[e / DIM][e % DIM])[q] = F[(first + q) * DIM * DIM + e];
        for (int c = 0; history && c < components; c++)
            ((real *)&state.history[c])[q] = history[(first + q) * components + c];
    }
    return state;
}

void MPM_KERNEL(law_calls_evaluate)(const mpm_evaluation *evaluation)
{
    const int law = mpm_material_kernel_law(&evaluation->material);
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, &evaluation->material);
    for (ptrdiff_t first = 0; first < evaluation->count; first += WIDTH) {
        const int lanes = evaluation->count - first < WIDTH ? (int)(evaluation->count - first) : WIDTH;
        struct law_state state =
            state_from_rows(&evaluation->material, evaluation->F, evaluation->history, first, lanes);
        state.J = matrix_det(state.F);
        const matrix gradient = matrix_from_rows(evaluation->velocity_gradient, first, lanes);
        const struct law_evaluation r = evaluate_law(law, &parameters, state, gradient);
        for (int q = 0; q < lanes; q++) {
            for (int e = 0; e < DIM * DIM; e++)
                ((real *)evaluation->tau)[(first + q) * DIM * DIM + e] = wide_lane(r.tau.m[e / DIM][e % DIM], q);
            ((real *)evaluation->energy)[first + q] = wide_lane(r.energy, q);
            ((real *)evaluation->tau_zz)[first + q] = DIM == 2 ? wide_lane(r.tau_zz, q) : 0;
            ((real *)evaluation->isolated)[first + q] = wide_lane(r.isolated, q);
            ((real *)evaluation->wave)[first + q] = wide_lane(r.wave, q);
        }
    }
}

void MPM_KERNEL(law_calls_return_map)(const mpm_return_map *states)
{
    const int law = mpm_material_kernel_law(&states->material), components = law_history(law, &states->material);
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, &states->material);
    real *F = states->F, *history = states->history;
    for (ptrdiff_t first = 0; first < states->count; first += WIDTH) {
        const int lanes = states->count - first < WIDTH ? (int)(states->count - first) : WIDTH;
        struct law_state state = state_from_rows(&states->material, F, history, first, lanes);
        const wide trial = state.J = matrix_det(state.F);
        const matrix gradient = matrix_from_rows(states->velocity_gradient, first, lanes);
        return_map(law, &parameters, &state, wide_set((real)states->dt), gradient);
        for (int j = 0; law_keeps_J(states->material.law) && j < DIM; j++)
            state.F.m[0][j] *= state.J / trial;
        for (int q = 0; q < lanes; q++) {
            for (int e = 0; e < DIM * DIM; e++)
                F[(first + q) * DIM * DIM + e] = wide_lane(state.F.m[e / DIM][e % DIM], q);
            for (int c = 0; c < components; c++)
                history[(first + q) * components + c] = wide_lane(state.history[c], q);
        }
    }
}
