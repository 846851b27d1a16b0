/* SPDX-License-Identifier: MIT
 *
 * What a run keeps whose fields are all kept by row, as plain arrays: for files and copies. A method adds its own
 * numbers, such as the impulses since the last record.
 */
#pragma once
#include "run/store.h"

enum { MPM_KEPT_TIMES = 3, MPM_KEPT_COUNTERS = 3 + MPM_MOST_COUNTERS };

typedef struct mpm_kept {
    double times[MPM_KEPT_TIMES];         /* time, dt, began [s] */
    int64_t counters[MPM_KEPT_COUNTERS];  /* steps, next id, suspect; those of health */
    const double *records;                /* of the history */
    size_t record_count, rows;
    const void *field[MPM_MOST_FIELDS];   /* [row][component], in the order of the table */
} mpm_kept;

/** The state, after views are read in. The arrays are borrowed. */
mpm_kept mpm_kept_take(const mpm_store *store);

/** Restores a state in a store without rows, of the same method with the same fields and history. `materials` is their
 *  number. Checks all values first, as if a stranger had made them. Errors: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE;
 *  MPM_BAD_STATE with `*flaw`, and nothing has changed. */
mpm_status mpm_kept_restore(mpm_store *store, const mpm_kept *kept, int materials, const char **flaw);
