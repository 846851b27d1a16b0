/* SPDX-License-Identifier: MIT
 *
 * The history of a run: one record of doubles per recorded step. A method declares the columns in sections; each
 * section is read from one struct of the method.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

/** One number, a vector, or an angular momentum: one number in 2-D. */
typedef enum mpm_history_rank { MPM_HISTORY_NUMBER, MPM_HISTORY_VECTOR, MPM_HISTORY_TURNING } mpm_history_rank;

/** The declaration of a column. */
typedef struct mpm_history_entry {
    const char *name;
    mpm_history_rank rank;
    size_t offset; /* of its doubles in the source: 1 or 3, of which 2-D uses the first 2, or the last of TURNING */
} mpm_history_entry;

typedef struct mpm_history_section {
    const mpm_history_entry *entries;
    int count;
    const void *source; /* the struct with the current values */
    const char *owner;  /* the owner of the columns, such as a collider; NULL: the whole system */
} mpm_history_section;

typedef struct mpm_history_column {
    const char *name, *owner;
    int offset, width; /* in doubles */
} mpm_history_column;

typedef struct mpm_history {
    int dim;
    int every; /* steps from record to record; 0: no records */
    /** Section `index`, counted from 0, of `method`; its entries are NULL beyond the last. */
    mpm_history_section (*section)(const void *method, int index);
    const void *method;
    double *records; /* [count][mpm_history_length] */
    size_t count, capacity;
} mpm_history;

/** Doubles in a record. */
int mpm_history_length(const mpm_history *history);

/** Column `index` of the history, counted from 0; its width is 0 beyond the last. */
mpm_history_column mpm_history_get(const mpm_history *history, int index);

/** Fits records of `before` doubles to the present columns, of which the last ones are new, or are gone. New columns
 *  are 0 in earlier records. Errors: MPM_OUT_OF_MEMORY, with the records as they were; never where columns are gone. */
mpm_status mpm_history_fit(mpm_history *history, const mpm_allocator *allocator, int before);

/** The same where the new columns come after the first `at` doubles of a record. */
mpm_status mpm_history_insert(mpm_history *history, const mpm_allocator *allocator, int before, int at);

/** Makes room for one more record. A step calls it before it begins, so that recording a whole step cannot fail. */
mpm_status mpm_history_reserve(mpm_history *history, const mpm_allocator *allocator);

/** Is this step to be recorded? */
bool mpm_history_is_due(const mpm_history *history, int64_t step);

/** Appends a record of the current values to the reserved room. */
void mpm_history_record(mpm_history *history);
