/* SPDX-License-Identifier: MIT
 *
 * The laws of the registry, the laws of users, and varying parameters: compiled once per kernel set, in general_laws.c.
 * A call costs a few per cent of a step, and an inlined law seconds of compilation. So FAST laws are inlined, too, but
 * only in the sweeps of a run's steps, which ask for it (`inlined_evaluate`, `inlined_return_map`). */
#pragma once
#include "materials/law.h"

union law_parameters;

void MPM_KERNEL(general_laws_prepare)(int law, union law_parameters *parameters, const mpm_material *material);
void MPM_KERNEL(general_laws_evaluate)(int law, const union law_parameters *parameters, const struct law_state *state,
                                       const matrix *C, struct law_evaluation *evaluation);
void MPM_KERNEL(general_laws_return_map)(int law, const union law_parameters *parameters, struct law_state *state,
                                         wide dt, const matrix *C, mask *limited);
void MPM_KERNEL(general_laws_tangent)(int law, const union law_parameters *parameters, const wide *stretch,
                                      const struct law_state *state, wide dt, struct law_tangent *tangent);

/* How a law calls another one that it adds to (`.variant_of`), by a pointer to the prepared parameters of that one:
 * writes *evaluation or *limited. Kernels call the one function that there is of it; a GPU, whose image has no other
 * laws, inlines it. */
#ifdef MPM_ISA_CUDA
#define LAW_EVALUATE(enumerator, name, law, state, C, evaluation) \
    (*(evaluation) = name##_evaluate(law, *(state), *(C)))
#define LAW_RETURN_MAP(enumerator, name, law, state, dt, C, limited) \
    (*(limited) = name##_return_map(law, state, dt, *(C)))
#else
#define LAW_EVALUATE(enumerator, name, law, state, C, evaluation) \
    MPM_KERNEL(general_laws_evaluate)(enumerator, (const union law_parameters *)(const void *)(law), state, C, \
                                      evaluation)
#define LAW_RETURN_MAP(enumerator, name, law, state, dt, C, limited) \
    MPM_KERNEL(general_laws_return_map)(enumerator, (const union law_parameters *)(const void *)(law), state, dt, C, \
                                        limited)
#endif
