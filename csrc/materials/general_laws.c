/* SPDX-License-Identifier: MIT
 *
 * The GENERAL laws of the registry, out of line. Like the files of transfer/, it is compiled for each kernel set.
 */
#include "materials/law_switch.h"

#define IF_FAST(...)

void MPM_KERNEL(general_laws_prepare)(int law, union law_parameters *parameters, const mpm_material *material)
{
#define IF_GENERAL(enumerator, name, kind) \
    case enumerator: \
        parameters->name = name##_prepare(material->values); \
        return;
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent) IF_##speed(enumerator, name, kind)
        MPM_LAWS(CASE)
    case MPM_USER:
        parameters->user = user_prepare(material);
#undef IF_GENERAL
    }
}

void MPM_KERNEL(general_laws_evaluate)(int law, const union law_parameters *parameters, const struct law_state *state,
                                       const matrix *C, struct law_evaluation *evaluation)
{
#define IF_GENERAL(enumerator, name, kind) \
    case enumerator: \
        *evaluation = name##_evaluate(&parameters->name, *state, *C); \
        return;
    switch (law) {
        MPM_LAWS(CASE)
    case MPM_USER:
        *evaluation = user_evaluate(&parameters->user, state);
#undef IF_GENERAL
    }
}

void MPM_KERNEL(general_laws_return_map)(int law, const union law_parameters *parameters, struct law_state *state,
                                         wide dt, const matrix *C, mask *limited)
{
#define MAP_ELASTIC(name) break
#define MAP_INELASTIC(name) \
    *limited = name##_return_map(&parameters->name, state, dt, *C); \
    return
#define IF_GENERAL(enumerator, name, kind) \
    case enumerator: \
        MAP_##kind(name);
    switch (law) {
        MPM_LAWS(CASE)
    case MPM_USER:
        user_return_map(&parameters->user, state, dt, *C);
#undef IF_GENERAL
    }
    *limited = wide_less(wide_set(1), wide_set(0)); /* no lane */
}
