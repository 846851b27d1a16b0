/* SPDX-License-Identifier: MIT
 *
 * Laws called on rows of states, outside of any step: what `material.stress(F)` and its kin in Python answer with.
 */
#include "transfer/kernels.h"
#include "transfer/law_switch.h"

/* States from rows `first` to `first + lanes` of arrays; `plastic` may be NULL. */
static struct law_state state_from_rows(const real *F, const real *plastic, ptrdiff_t first, int lanes)
{
    struct law_state state = {.F = matrix_identity(), .plastic = wide_set(1)};
    for (int q = 0; q < lanes; q++) {
        for (int e = 0; e < DIM * DIM; e++)
            ((real *)&state.F.m[e / DIM][e % DIM])[q] = F[(first + q) * DIM * DIM + e];
        if (plastic)
            ((real *)&state.plastic)[q] = plastic[first + q];
    }
    return state;
}

void MPM_KERNEL(law_calls_evaluate)(const mpm_evaluation *evaluation)
{
    const int law = evaluation->material.law;
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, evaluation->material.values);
    matrix rest = matrix_scale(wide_set(0), matrix_identity());
    for (ptrdiff_t first = 0; first < evaluation->count; first += WIDTH) {
        const int lanes = evaluation->count - first < WIDTH ? (int)(evaluation->count - first) : WIDTH;
        struct law_state state = state_from_rows(evaluation->F, evaluation->plastic, first, lanes);
        state.J = matrix_det(state.F);
        const struct law_response r = respond(law, &parameters, state, rest);
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

INLINE void return_map_rows(const mpm_return_map *states, const int law)
{
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, states->material.values);
    real *F = states->F, *plastic = states->plastic;
    for (ptrdiff_t first = 0; first < states->count; first += WIDTH) {
        const int lanes = states->count - first < WIDTH ? (int)(states->count - first) : WIDTH;
        struct law_state state = state_from_rows(F, plastic, first, lanes);
        return_map(law, &parameters, &state);
        for (int q = 0; q < lanes; q++) {
            for (int e = 0; e < DIM * DIM; e++)
                F[(first + q) * DIM * DIM + e] = wide_lane(state.F.m[e / DIM][e % DIM], q);
            plastic[first + q] = wide_lane(state.plastic, q);
        }
    }
}

void MPM_KERNEL(law_calls_return_map)(const mpm_return_map *states)
{
    switch (states->material.law) {
#define CASE(enumerator, name) \
    case enumerator: \
        return_map_rows(states, enumerator); \
        break;
        MPM_PLASTIC_LAWS(CASE)
#undef CASE
    }
}
