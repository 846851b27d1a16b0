/* SPDX-License-Identifier: MIT
 *
 * Deferred stores of v and C.
 */
#pragma once
#include "mpm/state.h"

void mpm_synchronize_defer(mpm_simulation *simulation, bool fused); /* after G2P, or G2P2G */
void mpm_synchronize_particles(mpm_simulation *simulation);
