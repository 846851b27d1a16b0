/* SPDX-License-Identifier: MIT
 *
 * A snapshot: the complete state of a run besides its settings, materials and colliders, as plain arrays, for files and
 * copies. The fields of particles, by far the most of it, come and go in pieces, so that they need not be in memory
 * twice. A method says which other arrays it has (mpm_snapshot_method).
 */
#pragma once
#include "run/store.h"

enum { MPM_SNAPSHOT_ARRAYS = 10 }; /* at most, beside the fields */

/** The arrays belong to the caller. A method has some of them. */
typedef struct mpm_snapshot {
    size_t groups, particles, records; /* records of the history */
    double *times;                     /* of the clock [s] */
    double *numbers;                   /* of the method */
    int64_t *counters;
    int32_t *group;  /* the table of groups */
    int32_t *row;    /* [particles] */
    int64_t *id;     /* [row] */
    double *history; /* [records][mpm_history_length] */
    double *books;   /* of colliders, since the last record */
    double *loads;   /* [load][MPM_LOAD_BOOK] since the last record */
    double *bodies;  /* [rigid material][MPM_SNAPSHOT_MOTION] */
} mpm_snapshot;

/** An array of a snapshot beside the fields. */
typedef struct mpm_snapshot_array {
    const char *name; /* NULL beyond the last */
    size_t pointer;   /* where an mpm_snapshot has it: offsetof */
    size_t bytes;     /* of an entry */
    enum { MPM_PER_RUN, MPM_PER_GROUP, MPM_PER_PARTICLE, MPM_PER_RECORD } per; /* entries; per run: one */
} mpm_snapshot_array;

/** Where the fields of a snapshot come from, [particles][components] each. */
typedef struct mpm_snapshot_source {
    /** Gives the next particles of row `field` of the field table, `*count` of them, at least 1 and at most `most`.
     *  They are read before the next call. NULL: it cannot. */
    const void *(*next)(void *context, int field, size_t most, size_t *count);
    void *context;
} mpm_snapshot_source;

/** What a method supplies. */
typedef struct mpm_snapshot_method {
    mpm_snapshot_array (*array)(const mpm_store *store, int index); /* beside the fields */
    /** Bytes of a particle in row `field` of the field table; 0: the field follows from others, or is an array. */
    size_t (*row_bytes)(const mpm_store *store, int field);
    /** Counts groups, particles and records; does not touch the arrays. */
    void (*measure)(const mpm_store *store, mpm_snapshot *snapshot);
    /** Fills the arrays, which have the sizes from `measure`. The run must be up to date. */
    void (*take)(const mpm_store *store, const mpm_snapshot *snapshot);
    /** Copies a field of `count` particles from number `first` on, both within their number. */
    void (*take_field)(const mpm_store *store, int field, size_t first, size_t count, void *out);
    /** Restores a snapshot in a new run of the same settings, materials and colliders, without particles or steps.
     *  Checks all values first, as if a stranger had made them. Errors: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE; MPM_BAD_STATE
     *  if the snapshot does not fit, and `*flaw` says why, or is NULL where the source has failed. On error nothing has
     *  changed. */
    mpm_status (*restore)(mpm_store *store, const mpm_snapshot *snapshot, const mpm_snapshot_source *source,
                          const char **flaw);
} mpm_snapshot_method;
