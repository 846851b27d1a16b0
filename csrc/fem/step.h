/* SPDX-License-Identifier: MIT
 *
 * The steps of a run, as functions of the method (run/run.h).
 */
#pragma once
#include "fem/state.h"

mpm_status mpm_fem_step_refresh(void *self);
void mpm_fem_step_plan(void *self, mpm_step *step);
mpm_status mpm_fem_step_attempt(void *self, const mpm_step *step, mpm_reason *reason);
bool mpm_fem_step_may_retry(const void *self, const mpm_step *step, mpm_reason reason);
mpm_status mpm_fem_step_report(void *self, mpm_reason reason, const mpm_step *step);
mpm_status mpm_fem_step_commit(void *self, const mpm_step *step);
void mpm_fem_step_finish(void *self, mpm_status status, bool moved);
