/* SPDX-License-Identifier: MIT
 *
 * The halo exchange: copies of blocks that several processes reach. Sweeps note what they have scattered; the next
 * pass over the nodes first exchanges all of it, in one message per neighbour. A simulation without a team does nothing
 * here.
 */
#pragma once
#include "mpm/state.h"

/** Finds the part of the process in a grid and makes room for its messages. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_halo_fit(const mpm_simulation *simulation, const mpm_grid *grid, struct halo *halo);
void mpm_halo_clear(struct halo *halo, const mpm_allocator *allocator);

/** The operation has scattered to copies of own tasks. */
void mpm_halo_note(mpm_simulation *simulation, mpm_operation operation, const mpm_arguments *arguments);

/** Brings the copies of other tasks to where a pass over the nodes reads them. */
void mpm_halo_exchange(mpm_simulation *simulation);

/** The status of the team as of the last reduction, which is OK again; MPM_OK without a team. */
mpm_status mpm_halo_status(mpm_simulation *simulation);

/** The status of the team after all have told theirs; without a team, `status`. */
mpm_status mpm_halo_agree(mpm_simulation *simulation, mpm_status status);
