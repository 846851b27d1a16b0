/* SPDX-License-Identifier: MIT
 *
 * The bound of the time step, and the plan of the next one.
 */
#pragma once
#include "mpm/state.h"

mpm_stable_dt mpm_timestep_limit(const mpm_simulation *simulation); /* the bound, and the particle that sets it */
double mpm_timestep_bound(const void *simulation); /* the bound alone */
double mpm_timestep_next(const mpm_simulation *simulation, const mpm_step *step); /* the planned dt of the one after */
void mpm_timestep_foresee(mpm_simulation *simulation); /* plans the automatic step from the last measured state */
bool mpm_timestep_revise(mpm_simulation *simulation);  /* shrinks the plan to a new state's bound; did it change? */
