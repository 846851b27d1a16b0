/* SPDX-License-Identifier: MIT
 *
 * The solve of a linearly implicit step.
 */
#pragma once
#include "fem/state.h"

mpm_status mpm_fem_implicit_reserve(mpm_fem *fem);
mpm_status mpm_fem_implicit_move(mpm_fem *fem, double dt, struct fem_motion *motion);
mpm_status mpm_fem_implicit_report(mpm_fem *fem, double dt);
void mpm_fem_implicit_clear(mpm_fem *fem);
