/* SPDX-License-Identifier: MIT
 *
 * New particles in the binning: they wait in tiles behind the groups, and it sorts them in.
 */
#pragma once
#include "mpm/memory/binning.h"

/** New particles of one block and material in `count` consecutive slots of waiting tiles. Their resident positions are
 *  already relative to `block`. */
typedef struct mpm_arrival {
    int32_t block[3];
    int32_t material;
    int32_t slot, count;
} mpm_arrival;

typedef struct mpm_arrivals {
    const mpm_arrival *list; /* ascending in `slot`; waiting particles that are not in it leave */
    size_t count;
    const uint8_t *cell; /* of their base nodes, by slot from the first waiting one on */
} mpm_arrivals;

/** mpm_binning_run with new particles. */
mpm_status mpm_binning_run_with(const mpm_binning *binning, const mpm_arrivals *arrivals, mpm_particles *particles,
                                mpm_grid *grid);
