/* SPDX-License-Identifier: MIT
 *
 * The steps of a run, as functions of the method.
 */
#pragma once
#include "sph/state.h"

mpm_status mpm_sph_step_refresh(void *sph); /* views read in, rows settled */
mpm_status mpm_sph_step_advance(void *sph, const mpm_goal *goal);
void mpm_sph_step_finish(void *sph, mpm_status status, bool moved);
