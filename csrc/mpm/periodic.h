/* SPDX-License-Identifier: MIT
 *
 * At every binning, particles beyond a periodic face enter at the opposite face.
 */
#pragma once
#include "mpm/state.h"

typedef struct mpm_periodic_wrap {
    mpm_placement *placements; /* the given ones and those of the wrapped particles; NULL: none was wrapped */
    size_t count;              /* wrapped particles */
    mpm_placement *wrapped;    /* of them alone */
    void *saved;               /* [wrapped][dim] their old positions */
} mpm_periodic_wrap;

/* Of the own particles of a process of `team`, or of all without one. */
mpm_status mpm_periodic_begin(mpm_simulation *simulation, const mpm_team *team, const mpm_placement *placed,
                              size_t placed_count, mpm_periodic_wrap *wrap);
/* Frees the lists. If the binning has failed, restores the positions bit for bit. */
void mpm_periodic_end(mpm_simulation *simulation, mpm_periodic_wrap *wrap, mpm_status binning);
