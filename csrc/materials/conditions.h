/* SPDX-License-Identifier: MIT
 *
 * Conditions that parameters of a law must meet together, besides the range that each has in its row (law_rows.h).
 */
#pragma once
#include "materials/laws.h"

/** The first condition that the parameters of a law break, in words; NULL if they meet all. `values` are those of its
 *  row without the density, each within its range. */
const char *mpm_conditions_broken(int law, const double *values);
