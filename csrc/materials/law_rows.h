/* SPDX-License-Identifier: MIT
 *
 * The rows of the registry (laws.h), in the order of the list. Each is in the file of its law.
 */
#pragma once
#include "materials/each_law.h"

#define FITS(enumerator, name, kind, speed, tangent, piola) \
    _Static_assert(sizeof(struct name##_parameters) <= MPM_LAW_PARAMETERS * sizeof(double), "too many parameters");
MPM_LAWS(FITS)
#undef FITS

static const mpm_law user_row = {.name = "user"}; /* keeps F; the rest is in the material */

static const mpm_law *const law_rows[MPM_LAW_COUNT + 1] = {
#define ROW(enumerator, name, kind, speed, tangent, piola) [enumerator] = &name##_row,
    MPM_LAWS(ROW)
#undef ROW
    [MPM_USER] = &user_row,
};
