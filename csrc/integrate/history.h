/* SPDX-License-Identifier: MIT
 *
 * The columns of the history: one record of doubles per recorded step.
 */
#pragma once

typedef struct mpm_history_column {
    const char *name;
    int offset, width; /* in doubles; width 0 ends the table */
} mpm_history_column;

enum { MPM_HISTORY_MOST_COLUMNS = 24 };

/** The table for `dim`, and the length of a record. */
const mpm_history_column *mpm_history_columns(int dim, int *length);
