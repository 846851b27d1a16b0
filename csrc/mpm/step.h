/* SPDX-License-Identifier: MIT
 *
 * The steps of a run.
 */
#pragma once
#include "mpm/state.h"

mpm_status mpm_step_advance(mpm_simulation *simulation, const mpm_goal *goal);
