/* SPDX-License-Identifier: MIT
 *
 * The columns of the history: one record of doubles per recorded step. Those of the whole material come first, then
 * those of the integrator, then two for every collider.
 */
#pragma once
#include "integrate/simulation.h"

/** One number, a vector, or an angular momentum: one number in 2-D. */
typedef enum mpm_history_rank { MPM_HISTORY_NUMBER, MPM_HISTORY_VECTOR, MPM_HISTORY_TURNING } mpm_history_rank;

/** A column as it is declared: what it is read from. */
typedef struct mpm_history_entry {
    const char *name;
    mpm_history_rank rank;
    size_t offset; /* of its doubles in the struct that they are read from: 1 or 3, of which 2-D uses its own */
} mpm_history_entry;

typedef struct mpm_history_column {
    const char *name; /* "impulse", "torque": of the collider `collider` */
    int offset, width; /* in doubles */
    int collider;      /* -1: of the whole material */
} mpm_history_column;

/** Doubles in a record. */
int mpm_history_length(const mpm_simulation *simulation);

/** Column `index` of the history, counted from 0; its width is 0 beyond the last. */
mpm_history_column mpm_history_get(const mpm_simulation *simulation, int index);
