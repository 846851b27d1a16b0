/* SPDX-License-Identifier: MIT
 *
 * A back end for tests, as odd as the interface allows. It runs tasks, blocks and groups from the last to the first.
 * Its memory is scrambled except while kernels run. Mapping copies a piece to another place, and unmapping spoils that
 * place. So a host that uses a pointer of the device, keeps a mapped one for too long, or writes without unmapping
 * computes other bits.
 */
#pragma once
#include "mpm/simulation.h"

/** Gives the back end to a new simulation. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if it has had particles. */
mpm_status mpm_odd_backend_use(mpm_simulation *simulation);
