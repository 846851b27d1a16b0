/* SPDX-License-Identifier: MIT
 *
 * Prepares laws lane by lane, where parameters vary. Include it after the instruction set (base/simd.h).
 */
#pragma once
#include "materials/law.h"

/** Bytes of the prepared parameters of a law of the registry. */
size_t MPM_KERNEL(general_laws_size)(int law);

/** Prepares the law with the values of one lane, and puts the result into that lane of `parameters`. */
void MPM_KERNEL(general_laws_prepare_lane)(const mpm_material *material, void *parameters, int lane);

/** The moduli of a law at a trial F. */
union law_parameters;
void MPM_KERNEL(general_laws_moduli)(int law, const union law_parameters *parameters, const struct law_trial *trial,
                                     struct law_moduli *moduli);
