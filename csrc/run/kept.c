/* SPDX-License-Identifier: MIT */
#include "run/kept.h"

#include <math.h>
#include <string.h>

#include "base/real.h"

enum { TIME, DT, BEGAN, TIMES };
enum { STEPS, NEXT_ID, SUSPECT, HEALTH, COUNTERS = HEALTH + MPM_MOST_COUNTERS };
enum { BOOK = sizeof(mpm_collider_book) };
_Static_assert(BOOK % sizeof(double) == 0, "a book is made of doubles");

/* Copies the method's own numbers to `out` or from `in`, either of which may be NULL; their number. */
static size_t copy_numbers(const mpm_run *run, double *out, const double *in)
{
    size_t sum = 0, count = 0;
    double *span;
    for (int k = 0; run->method->numbers && (span = run->method->numbers(run->self, k, &count)); k++, sum += count) {
        if (out)
            memcpy(out + sum, span, count * sizeof *out);
        if (in)
            memcpy(span, in + sum, count * sizeof *in);
    }
    return sum;
}

static mpm_snapshot_array array(const mpm_store *store, int index)
{
    const mpm_run *run = store->run;
    const size_t record = (size_t)mpm_history_length(&run->history);
    const mpm_snapshot_array arrays[] = {
        {"times", offsetof(mpm_snapshot, times), TIMES * sizeof(double), MPM_PER_RUN},
        {"counters", offsetof(mpm_snapshot, counters), COUNTERS * sizeof(int64_t), MPM_PER_RUN},
        {"history", offsetof(mpm_snapshot, history), record * sizeof(double), MPM_PER_RECORD},
        {"books", offsetof(mpm_snapshot, books), run->boundary->count * BOOK, MPM_PER_RUN},
        {"numbers", offsetof(mpm_snapshot, numbers), copy_numbers(run, NULL, NULL) * sizeof(double), MPM_PER_RUN},
        {"id", offsetof(mpm_snapshot, id), sizeof(int64_t), MPM_PER_PARTICLE},
    };
    return (size_t)index < sizeof arrays / sizeof *arrays ? arrays[index] : (mpm_snapshot_array){0};
}

static size_t row_bytes(const mpm_store *store, int field)
{
    return store->fields.row[field].type == MPM_TYPE_INT64 ? 0 : mpm_store_row_bytes(store, field);
}

static void measure(const mpm_store *store, mpm_snapshot *snapshot)
{
    snapshot->particles = (size_t)store->count;
    snapshot->records = store->run->history.count;
}

/* The row of the table that has the ids. */
static int ids_of(const mpm_store *store)
{
    int field = 0;
    while (store->fields.row[field].type != MPM_TYPE_INT64)
        field++;
    return field;
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes)
        memcpy(to, from, bytes);
}

static void take(const mpm_store *store, const mpm_snapshot *snapshot)
{
    const mpm_run *run = store->run;
    memcpy(snapshot->times, (double[]){run->time, run->dt, run->began}, TIMES * sizeof(double));
    memcpy(snapshot->counters, (int64_t[]){run->steps, store->next_id, run->suspect}, HEALTH * sizeof(int64_t));
    memcpy(snapshot->counters + HEALTH, run->health, sizeof run->health);
    copy(snapshot->history, run->history.records,
         snapshot->records * (size_t)mpm_history_length(&run->history) * sizeof(double));
    copy(snapshot->books, run->boundary->books, run->boundary->count * BOOK);
    copy_numbers(run, snapshot->numbers, NULL);
    copy(snapshot->id, store->rows[ids_of(store)], snapshot->particles * sizeof *snapshot->id);
}

/* Where particle `first` of a field is. */
static char *place_of(const mpm_store *store, int field, size_t first)
{
    return (char *)store->rows[field] + first * row_bytes(store, field);
}

static void take_field(const mpm_store *store, int field, size_t first, size_t count, void *out)
{
    copy(out, place_of(store, field, first), count * row_bytes(store, field));
}

/* ---- what a snapshot must be ------------------------------------------------------------------------------------ */

static bool is_clock(const mpm_snapshot *snapshot)
{
    for (int k = 0; k < TIMES; k++)
        if (!isfinite(snapshot->times[k]) || snapshot->times[k] < 0)
            return false;
    for (int k = 0; k < COUNTERS; k++)
        if (snapshot->counters[k] < 0 || snapshot->counters[k] > INT64_MAX / 2) /* they go on counting */
            return false;
    return snapshot->times[BEGAN] <= snapshot->times[TIME] && snapshot->counters[SUSPECT] <= 1;
}

/* Are all numbers finite, and the first ones not negative? */
static bool are_numbers(const double *values, size_t count, size_t lengths)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]) || (i < lengths && values[i] < 0))
            return false;
    return true;
}

/* Are all values finite, and those that no step changes in their range? The next run finds a state that is not. */
static bool are_reals(const mpm_store *store, int field, size_t rows)
{
    const mpm_field *row = &store->fields.row[field];
    const size_t count = rows * (size_t)mpm_rank_components(row->rank, store->fields.dim);
    for (size_t i = 0; i < count; i++) {
        const double value = mpm_real_at(store->rows[field], i, store->real_size);
        if (!isfinite(value) || (row->lasting && !(value > row->low && value < row->high)))
            return false;
    }
    return true;
}

static bool are_indices(const int32_t *values, size_t rows, int materials)
{
    for (size_t i = 0; i < rows; i++)
        if (values[i] < 0 || values[i] >= materials)
            return false;
    return true;
}

static bool are_ids(const int64_t *ids, size_t rows, int64_t next)
{
    for (size_t i = 0; i < rows; i++)
        if (ids[i] < (i ? ids[i - 1] + 1 : 0) || ids[i] >= next)
            return false;
    return true;
}

static const char *find_flaw(const mpm_store *store, const mpm_snapshot *snapshot)
{
    const mpm_run *run = store->run;
    if (store->count || run->steps || store->next_id)
        return "the simulation is not new";
    if (!is_clock(snapshot))
        return "the clock or a counter is out of range";
    if (!are_numbers(snapshot->books, run->boundary->count * BOOK / sizeof(double), 0) ||
        !are_numbers(snapshot->numbers, copy_numbers(run, NULL, NULL), run->method->lengths))
        return "a number of the method is out of range";
    if (!are_ids(snapshot->id, snapshot->particles, snapshot->counters[NEXT_ID]))
        return "numbers of particles do not ascend";
    return NULL;
}

/* Looks for a flaw in a field whose rows have been filled. */
static const char *find_flaw_of_field(const mpm_store *store, int field, size_t rows)
{
    switch (store->fields.row[field].type) {
    case MPM_TYPE_INT32:
        return are_indices(store->rows[field], rows, mpm_run_materials(store->run)) ? NULL
                                                                                    : "a material does not exist";
    case MPM_TYPE_REAL:
        return are_reals(store, field, rows) ? NULL : "a value of a particle is out of range";
    default:
        return NULL;
    }
}

/* ---- restoring -------------------------------------------------------------------------------------------------- */

/* Fills the first rows of the reserved room. Unused room does no harm, so this may precede checks. */
static mpm_status fill_rows(mpm_store *store, const mpm_snapshot *snapshot, const mpm_snapshot_source *source,
                            const char **flaw)
{
    for (int f = 0; f < store->fields.count && !*flaw; f++) {
        size_t count = 0;
        for (size_t first = 0; row_bytes(store, f) && first < snapshot->particles; first += count) {
            const void *values = source->next(source->context, f, snapshot->particles - first, &count);
            if (!values)
                return MPM_BAD_STATE;
            memcpy(place_of(store, f, first), values, count * row_bytes(store, f));
        }
        *flaw = find_flaw_of_field(store, f, snapshot->particles);
    }
    return *flaw ? MPM_BAD_STATE : MPM_OK;
}

/* Takes the sums of a book. What it says about nearness is of a step alone. */
static void restore_books(mpm_collider_book *books, size_t count, const double *from)
{
    for (size_t k = 0; k < count; k++) {
        memcpy(&books[k], (const char *)from + k * BOOK, BOOK);
        books[k].near = false;
        books[k].parts = books[k].beside = 0;
    }
}

static void restore_run(mpm_run *run, const mpm_snapshot *snapshot)
{
    mpm_history *history = &run->history;
    history->count = snapshot->records;
    copy(history->records, snapshot->history,
         history->count * (size_t)mpm_history_length(history) * sizeof *history->records);
    run->time = snapshot->times[TIME];
    run->dt = snapshot->times[DT];
    run->began = snapshot->times[BEGAN];
    run->steps = snapshot->counters[STEPS];
    run->suspect = snapshot->counters[SUSPECT];
    memcpy(run->health, snapshot->counters + HEALTH, sizeof run->health);
    copy_numbers(run, NULL, snapshot->numbers);
    restore_books(run->boundary->books, run->boundary->count, snapshot->books);
}

static mpm_status restore(mpm_store *store, const mpm_snapshot *snapshot, const mpm_snapshot_source *source,
                          const char **flaw)
{
    mpm_history *history = &store->run->history;
    mpm_status status = MPM_OK;
    *flaw = NULL;
    if (snapshot->particles > INT32_MAX / 2)
        return MPM_TOO_LARGE;
    if ((*flaw = find_flaw(store, snapshot)))
        return MPM_BAD_STATE;
    if (mpm_memory_grow(&store->run->allocator, (void **)&history->records, &history->capacity, 0, snapshot->records,
                        (size_t)mpm_history_length(history) * sizeof *history->records))
        return MPM_OUT_OF_MEMORY;
    if ((status = mpm_store_reserve(store, (ptrdiff_t)snapshot->particles)) ||
        (status = fill_rows(store, snapshot, source, flaw)))
        return status;
    copy(store->rows[ids_of(store)], snapshot->id, snapshot->particles * sizeof *snapshot->id);
    mpm_store_admit_rows(store, (ptrdiff_t)snapshot->particles);
    store->next_id = snapshot->counters[NEXT_ID];
    restore_run(store->run, snapshot);
    return MPM_OK;
}

const mpm_snapshot_method mpm_kept_snapshot = {
    .array = array, .row_bytes = row_bytes, .measure = measure, .take = take, .take_field = take_field,
    .restore = restore,
};
