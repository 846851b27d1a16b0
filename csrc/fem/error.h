/* SPDX-License-Identifier: MIT
 *
 * The rows that an error names.
 */
#pragma once
#include "fem/state.h"

mpm_status mpm_fem_error_elements(mpm_fem *fem, const void *x, mpm_reason reason, double dt);
mpm_status mpm_fem_error_outside(mpm_fem *fem, const void *x);
double mpm_fem_error_room(const mpm_fem *fem); /* how far nodes may be beyond a face [m] */
