/* SPDX-License-Identifier: MIT
 *
 * A store of rows: the field table, the ids and the views of users. Fields that are kept by row (MPM_BY_ROW) are plain
 * arrays in the store. A method that keeps other fields, in tiles for example, supplies functions that read them in and
 * write them out. Where a field by row is MPM_STATE_OF_OWNERS, the rows that hold NaN have none.
 *
 * When the state changes, every view becomes stale. A stale view with a live array is written out at once, any other on
 * request. A view is read in only if it may have been written since it was written out, and then only the rows that
 * differ. So looking never changes a run.
 *
 * Where memory is distributed, all processes look and write together. A view has all rows, and is dropped rather than
 * stale, so that its memory is there only as long as somebody looks. The ids are dealt out evenly, row by row, whoever
 * has the particles; no other field is kept by row.
 */
#pragma once
#include "run/run.h"
#include "run/view.h"

/** The flaw of a row whose fields break a condition on several of them; it continues `enum mpm_flaw`. */
enum { MPM_NOT_TOGETHER = MPM_NOT_STATE + 1 };

/** The functions that a method supplies for fields that are not kept by row; without `lay_out` all are, and only
 *  `inspect_together` is called. `rows` is an array [row][component]. */
typedef struct mpm_store_method {
    /** Assigns columns to `count` more fields of laws and users. On error (MPM_OUT_OF_MEMORY, MPM_TOO_LARGE) nothing
     *  has changed. */
    mpm_status (*lay_out)(void *self, mpm_field *fields, int count);
    bool (*is_writable)(const void *self, const mpm_field *field);
    void (*write_out)(void *self, int field, void *rows);
    /** Counts the rows that differ from what `write_out` would write, and flags their flaws (enum mpm_flaw); changes
     *  nothing. */
    int64_t (*inspect)(void *self, int field, void *rows, uint8_t *flaws);
    /** Reads in the `differing` rows, none of which has a flaw. Fields come in the order of the table. Only the first
     *  field may fail, and then nothing has changed. `rows` is NULL if only other processes have written some. */
    mpm_status (*read_in)(void *self, int field, void *rows, int64_t differing);
    /** Flags rows (MPM_NOT_TOGETHER) whose fields break a condition on several of them, and puts it into `words`;
     *  changes nothing. `written` has the rows of each written field, NULL for others. Errors: MPM_OUT_OF_MEMORY. */
    mpm_status (*inspect_together)(void *self, void *const *written, uint8_t *flaws, const char **words);
} mpm_store_method;

/** Room to deal ids out anew, where memory is distributed. */
struct mpm_deal {
    int64_t *ids;
    size_t capacity;
    ptrdiff_t *first;      /* per process: the row of its first id; one more at the end */
    struct mpm_message *messages; /* per process */
};

typedef struct mpm_store {
    mpm_run *run;                   /* its `self` is the argument of the functions */
    const mpm_store_method *method; /* NULL: all fields are kept by row */
    struct mpm_team *team;          /* every process has some of the rows, and takes what is written to those; NULL:
                                     * this one has all */
    const char *row;                /* what a row is, in messages; NULL: what the run's method says */
    size_t real_size;               /* 4 or 8 */
    mpm_fields fields;
    ptrdiff_t count;                /* rows */
    int64_t next_id;                /* id of the next new row */
    void *rows[MPM_MOST_FIELDS];    /* of a field that is kept by row: [row][component]; with a team, the share of
                                     * the process (mpm_team_cut) of the ids, and no other field */
    size_t capacity[MPM_MOST_FIELDS];
    struct mpm_deal deal;           /* scratch */
    mpm_view *views[MPM_MOST_FIELDS]; /* NULL until requested */
} mpm_store;

/** Frees all. */
void mpm_store_clear(mpm_store *store);

/** Adds fields. Errors: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE if the table is full; then nothing has changed. */
mpm_status mpm_store_add_fields(mpm_store *store, mpm_field *fields, int count);

/** Names a row that is about to be added. Errors: MPM_TOO_LARGE if the name or the unit is too long. */
mpm_status mpm_store_name(mpm_field *row, const char *name, const char *unit);

/** Adds a field of users, which no step reads or changes. All present and later rows begin with `initial` (of a tensor:
 *  the diagonal). Errors: as above; MPM_TOO_LARGE if the name or the unit is too long; MPM_BAD_ARGUMENT if one of them
 *  is missing, the name is taken, or the rank does not exist. */
mpm_status mpm_store_add_field(mpm_store *store, const char *name, const char *unit, mpm_rank rank, double initial);

/** Makes room for `extra` more rows of the fields that are kept by row, or to keep fewer. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_store_reserve(mpm_store *store, ptrdiff_t extra);

/** Appends rows to the reserved room, with new ids and initial values. Views are made anew. */
void mpm_store_add_rows(mpm_store *store, ptrdiff_t extra);

/** Appends rows that the reserved room has already, ids included. Views are made anew. */
void mpm_store_admit_rows(mpm_store *store, ptrdiff_t extra);

/** Keeps the rows with new_row[row] >= 0, in their order, and fills in their new numbers. Views are made anew. */
void mpm_store_keep_rows(mpm_store *store, int32_t *new_row);

/** Copies the ids of all rows; all processes call it together. */
void mpm_store_ids(const mpm_store *store, int64_t *ids);

/** The view of a field (borrowed), up to date; F and J take in what was written to the other one. Errors:
 *  MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT: no such field; MPM_BAD_STATE: what was written to the other one is invalid. */
mpm_status mpm_store_get(mpm_store *store, int field, mpm_view **view);

/** Reads in what was written to views, after inspecting all of it. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_STATE and
 *  MPM_ESCAPED for invalid values, which the run's error describes; the views keep them. */
mpm_status mpm_store_read_in(mpm_store *store);

/** Marks the view of a field stale, after something else has changed the field. */
void mpm_store_outdate(mpm_store *store, int field);

/** Marks the views of all fields stale after steps; those of lasting fields only if `all`. */
void mpm_store_outdate_all(mpm_store *store, bool all);

/** Writes out the stale views that have live arrays. */
void mpm_store_refresh(mpm_store *store);

/** Drops the views. Their arrays keep their memory and become stale. */
void mpm_store_forget(mpm_store *store);

/** Bytes of one row of a field. */
size_t mpm_store_row_bytes(const mpm_store *store, int field);

/** Counts the bytes of the rows and of the views. */
void mpm_store_bytes(const mpm_store *store, size_t *rows, size_t *views);
