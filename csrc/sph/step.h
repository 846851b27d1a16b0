/* SPDX-License-Identifier: MIT
 *
 * The steps of a run, as functions of the method (run/run.h).
 */
#pragma once
#include "sph/state.h"

mpm_status mpm_sph_step_refresh(void *sph); /* views read in, rows settled */
mpm_status mpm_sph_step_begin(void *sph);
void mpm_sph_step_plan(void *sph, mpm_step *step);
mpm_status mpm_sph_step_attempt(void *sph, const mpm_step *step, mpm_reason *reason);
mpm_status mpm_sph_step_report(void *sph, mpm_reason reason, const mpm_step *step);
mpm_status mpm_sph_step_commit(void *sph, const mpm_step *step);
void mpm_sph_step_finish(void *sph, mpm_status status, bool moved);
