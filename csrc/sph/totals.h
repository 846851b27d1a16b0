/* SPDX-License-Identifier: MIT
 *
 * Totals of the state, the bound of the time step, and the columns of the history.
 */
#pragma once
#include "sph/state.h"

mpm_totals mpm_sph_totals_of(const mpm_sph *sph);
mpm_history_section mpm_sph_totals_section(const void *sph, int index);
void mpm_sph_totals_record(void *sph); /* in the history, where that is due */
void mpm_sph_totals_limit_colliders(mpm_sph *sph); /* finds collider_dt of a settled state */
mpm_stable_dt mpm_sph_totals_bound(const mpm_sph *sph);
double mpm_sph_totals_tolerance(const mpm_sph *sph); /* of the error of an automatic step [J] */
double mpm_sph_totals_error(const mpm_sph *sph, double dt); /* by sph->errors [J] */
double mpm_sph_totals_most_error(const mpm_sph *sph, double dt); /* no misfit is needed for this bound of it [J] */
double mpm_sph_totals_automatic_dt(const mpm_sph *sph);
int32_t mpm_sph_totals_limiting_row(const mpm_sph *sph, mpm_limit limit);
