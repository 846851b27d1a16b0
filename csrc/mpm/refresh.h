/* SPDX-License-Identifier: MIT
 *
 * Brings the state up to date before anybody looks at it.
 */
#pragma once
#include "mpm/state.h"

mpm_status mpm_refresh_state(mpm_simulation *simulation); /* views read in, bins fresh, state measured */
