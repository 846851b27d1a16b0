/* SPDX-License-Identifier: MIT
 *
 * Totals of the state, and the columns of the history that record them.
 */
#pragma once
#include "mpm/state.h"

mpm_totals mpm_totals_of(const mpm_simulation *simulation);
mpm_history_section mpm_totals_section(const void *simulation, int index); /* the columns of the history */
int mpm_totals_width(const mpm_simulation *simulation); /* doubles of a record before those of colliders */
void mpm_totals_record(void *simulation); /* in the history, where that is due */
