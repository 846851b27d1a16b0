/* SPDX-License-Identifier: MIT
 *
 * The rows of particles that left the domain or the range of their law.
 */
#pragma once
#include "mpm/state.h"

mpm_status mpm_strays_find(mpm_simulation *simulation); /* are particles outside the domain, or out of range? */
mpm_status mpm_strays_of_law(mpm_simulation *simulation); /* adds the rows that a law spoils to the error noted */
