/* SPDX-License-Identifier: MIT
 *
 * The steps of a run, as functions of the method (run/run.h).
 */
#pragma once
#include "mpm/state.h"

mpm_status mpm_step_begin(void *simulation);
void mpm_step_plan(void *simulation, mpm_step *step);
mpm_status mpm_step_attempt(void *simulation, const mpm_step *step, mpm_reason *reason);
bool mpm_step_may_retry(const void *simulation, const mpm_step *step, mpm_reason reason);
mpm_status mpm_step_report(void *simulation, mpm_reason reason, const mpm_step *step);
mpm_status mpm_step_commit(void *simulation, const mpm_step *step);
