/* SPDX-License-Identifier: MIT
 *
 * Passes over the elements and the nodes. They need the pool.
 */
#pragma once
#include "fem/state.h"

mpm_status mpm_fem_sweeps_reserve(mpm_fem *fem);
mpm_fem_sweep mpm_fem_sweeps_describe(const mpm_fem *fem);
void mpm_fem_sweeps_prepare(mpm_fem *fem); /* the laws of elements whose parameters vary */
void mpm_fem_sweeps_forces(mpm_fem *fem);     /* of the present state */
void mpm_fem_sweeps_try_forces(mpm_fem *fem); /* of the next one */
struct fem_motion mpm_fem_sweeps_move(mpm_fem *fem, double dt);
void mpm_fem_sweeps_enter_loads(mpm_fem *fem, double dt, double sum[3]); /* before the next state is the present one */
void mpm_fem_sweeps_clear(mpm_fem *fem);
