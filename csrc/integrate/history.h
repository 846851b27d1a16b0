/* SPDX-License-Identifier: MIT
 *
 * The columns of the history: one record of doubles per recorded step. Those of the whole material come first, then
 * two for every collider.
 */
#pragma once

typedef struct mpm_history_column {
    const char *name; /* "impulse", "torque": of the collider `collider` */
    int offset, width; /* in doubles */
    int collider;      /* -1: of the whole material */
} mpm_history_column;

/** Doubles in a record. */
int mpm_history_length(int dim, int colliders);

/** Column `index` of the history, counted from 0; its width is 0 beyond the last. */
mpm_history_column mpm_history_get(int dim, int colliders, int index);
