/* SPDX-License-Identifier: MIT
 *
 * Totals of the state, the bound of the time step, and the columns of the history.
 */
#pragma once
#include "fem/state.h"

mpm_stable_dt mpm_fem_totals_bound(const mpm_fem *fem); /* without the row */
int32_t mpm_fem_totals_row(const mpm_fem *fem, mpm_limit limit); /* the first node that sets the bound; -1 */
double mpm_fem_totals_automatic_dt(const mpm_fem *fem);
mpm_totals mpm_fem_totals_of(const mpm_fem *fem);
mpm_history_section mpm_fem_totals_section(const void *self, int index);
void mpm_fem_totals_record(void *fem);
