/* SPDX-License-Identifier: MIT
 *
 * Whether a step can be taken. `travel` is how far particles would move at most, in cells.
 */
#pragma once
#include "mpm/state.h"

mpm_reason mpm_refusal_find(mpm_simulation *simulation, mpm_block_report *report, double dt, double *travel);
mpm_status mpm_refusal_report(mpm_simulation *simulation, mpm_reason reason, const mpm_block_report *report, double dt);

double mpm_refusal_travel(const mpm_simulation *simulation); /* the largest accepted motion in one step, in cells */
