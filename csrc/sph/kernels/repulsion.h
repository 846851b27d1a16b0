/* SPDX-License-Identifier: MIT
 *
 * The repulsion of pairs that are too close.
 */
#pragma once
#include "sph/kernels/smoothing.h"

/** Adds the accelerations of the particles of a tile by `count` neighbours. */
void MPM_KERNEL(repulsion_add)(const mpm_sph_pass *pass, const wide *x, const int32_t *list, size_t count, wide *force);
/** Their share of the energy of the pairs [J]; of lanes where `valid` is 1, others are 0. */
double MPM_KERNEL(repulsion_energy)(const mpm_sph_pass *pass, const wide *x, wide valid, const int32_t *list,
                                    size_t count);
