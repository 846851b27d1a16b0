/* SPDX-License-Identifier: MIT
 *
 * Parameters of laws that vary over the elements.
 */
#pragma once
#include "fem/state.h"

mpm_status mpm_fem_parameters_begin(mpm_fem *fem);
mpm_status mpm_fem_parameters_add(mpm_fem *fem, mpm_material *material);
bool mpm_fem_parameters_missing(const mpm_fem *fem); /* a material varies, and its values have not been given */
mpm_status mpm_fem_parameters_read_in(mpm_fem *fem);
void mpm_fem_parameters_clear(mpm_fem *fem);
