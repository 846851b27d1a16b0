/* SPDX-License-Identifier: MIT
 *
 * Slots, lists, densities and measure of the current rows.
 */
#pragma once
#include "sph/state.h"

mpm_status mpm_sph_settle_rows(mpm_sph *sph);
void mpm_sph_settle_J(mpm_sph *sph); /* J to the rows */
