/* SPDX-License-Identifier: MIT
 *
 * The steps of a run, as functions of the method.
 */
#pragma once
#include "fem/state.h"

mpm_status mpm_fem_step_refresh(void *self);
mpm_status mpm_fem_step_advance(void *self, const mpm_goal *goal);
void mpm_fem_step_finish(void *self, mpm_status status, bool moved);
