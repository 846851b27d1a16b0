/* SPDX-License-Identifier: MIT
 *
 * A store of rows: the table of fields, the ids, and the views that users have of them. Fields that are kept by row
 * (MPM_BY_ROW) lie in the store, as plain arrays; those of a method that keeps them otherwise, in tiles say, go in and
 * out by its functions.
 *
 * One rule says what becomes of a view. When the state moves on, it is marked stale; it is written out anew at once if
 * an array of it is alive, otherwise when somebody asks for it. It is read in only if it could have been written since
 * it was written out, and then only the rows that differ: so looking never changes a run.
 */
#pragma once
#include "run/run.h"
#include "run/view.h"

/** What a method supplies for the fields that are not kept by row. `rows` is an array [row][component]. */
typedef struct mpm_store_method {
    /** Decides where `count` more fields of laws and users are kept: fills in their columns. Errors: MPM_OUT_OF_MEMORY,
     *  MPM_TOO_LARGE, and nothing has changed. */
    mpm_status (*lay_out)(void *self, mpm_field *fields, int count);
    bool (*is_writable)(const void *self, const mpm_field *field);
    void (*write_out)(void *self, int field, void *rows);
    /** Counts the rows that differ from what `write_out` would write, and flags their flaws (enum mpm_flaw); changes
     *  nothing. */
    int64_t (*inspect)(void *self, int field, void *rows, uint8_t *flaws);
    /** Takes in the `differing` rows, all of them fine. Fields come in the order of the table; only the first, if any,
     *  may fail, and then nothing has changed. */
    mpm_status (*read_in)(void *self, int field, void *rows, int64_t differing);
} mpm_store_method;

typedef struct mpm_store {
    mpm_run *run;                   /* whose `self` the functions are called with */
    const mpm_store_method *method; /* NULL: all fields are kept by row */
    size_t real_size;               /* 4 or 8 */
    mpm_fields fields;
    ptrdiff_t count;                /* rows */
    int64_t next_id;                /* of the next row that is added */
    void *rows[MPM_MOST_FIELDS];    /* of a field that is kept by row: [row][component] */
    size_t capacity[MPM_MOST_FIELDS];
    mpm_view *views[MPM_MOST_FIELDS]; /* NULL: nobody has asked yet */
} mpm_store;

/** Frees all. */
void mpm_store_clear(mpm_store *store);

/** Adds fields; on error nothing has changed: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE if the table is full. */
mpm_status mpm_store_add_fields(mpm_store *store, mpm_field *fields, int count);

/** Names a row that is about to be added. Errors: MPM_TOO_LARGE if the name or the unit is too long. */
mpm_status mpm_store_name(mpm_field *row, const char *name, const char *unit);

/** Adds a field of users, which no step reads or changes. All rows, those to come too, begin with `initial`, a tensor with
 *  that diagonal. Errors: as above; MPM_TOO_LARGE if the name or the unit is too long; MPM_BAD_ARGUMENT if one of them is
 *  missing, the name is taken, or the rank does not exist. */
mpm_status mpm_store_add_field(mpm_store *store, const char *name, const char *unit, mpm_rank rank, double initial);

/** Room for `extra` more rows of the fields that are kept by row. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_store_reserve(mpm_store *store, ptrdiff_t extra);

/** Appends rows, for which there is room: ids, and what fields begin with. Views are made anew. */
void mpm_store_add_rows(mpm_store *store, ptrdiff_t extra);

/** Keeps the rows with new_row[row] >= 0, in their order, and fills in their new numbers. Views are made anew. */
void mpm_store_keep_rows(mpm_store *store, int32_t *new_row);

/** The view of a field (borrowed), up to date. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if there is no such field. */
mpm_status mpm_store_get(mpm_store *store, int field, mpm_view **view);

/** Reads in what was written to views; all of it is inspected first. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_STATE and
 *  MPM_ESCAPED for values that cannot be taken, which the run's trouble names; the views keep them. */
mpm_status mpm_store_read_in(mpm_store *store);

/** Something other than a view has changed a field. */
void mpm_store_outdate(mpm_store *store, int field);

/** Steps have changed all fields but those that last; or `all`. */
void mpm_store_outdate_all(mpm_store *store, bool all);

/** Writes out what is stale and being looked at. */
void mpm_store_refresh(mpm_store *store);

/** Lets go of the views: arrays of them keep their memory and go stale. */
void mpm_store_forget(mpm_store *store);

/** Bytes of the rows, and of the views. */
void mpm_store_bytes(const mpm_store *store, size_t *rows, size_t *views);
