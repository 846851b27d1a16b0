/* SPDX-License-Identifier: MIT
 *
 * The sums of mpm_sph_interpolate, for settled rows. They need the pool.
 */
#pragma once
#include "sph/state.h"

void mpm_sph_sums_at(const mpm_sph *sph, ptrdiff_t count, const double *x, mpm_rank rank, bool is_velocity,
                     const double *quantity, double *result);
