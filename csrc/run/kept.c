/* SPDX-License-Identifier: MIT */
#include "run/kept.h"

#include <math.h>
#include <string.h>

#include "base/real.h"

enum { STEPS, NEXT_ID, SUSPECT, HEALTH };
enum { TIME, DT, BEGAN };

mpm_kept mpm_kept_take(const mpm_store *store)
{
    const mpm_run *run = store->run;
    mpm_kept kept = {.times = {run->time, run->dt, run->began}, .counters = {run->steps, store->next_id, run->suspect},
                     .records = run->history.records, .record_count = run->history.count, .rows = (size_t)store->count};
    memcpy(kept.counters + HEALTH, run->health, sizeof run->health);
    for (int f = 0; f < store->fields.count; f++)
        kept.field[f] = store->rows[f];
    return kept;
}

static bool is_clock(const mpm_kept *kept)
{
    for (int k = 0; k < MPM_KEPT_TIMES; k++)
        if (!isfinite(kept->times[k]) || kept->times[k] < 0)
            return false;
    for (int k = 0; k < MPM_KEPT_COUNTERS; k++)
        if (kept->counters[k] < 0 || kept->counters[k] > INT64_MAX / 2) /* they go on counting */
            return false;
    return kept->times[BEGAN] <= kept->times[TIME] && kept->counters[SUSPECT] <= 1;
}

/* Are all values finite, and those that no step changes in their range? The next run finds a state that is not. */
static bool are_reals(const mpm_store *store, int field, const void *values, size_t rows)
{
    const mpm_field *row = &store->fields.row[field];
    const size_t count = rows * (size_t)mpm_rank_components(row->rank, store->fields.dim);
    for (size_t i = 0; i < count; i++) {
        const double value = mpm_real_at(values, i, store->real_size);
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

static const char *find_flaw(const mpm_store *store, const mpm_kept *kept, int materials)
{
    if (store->count || store->run->steps || store->next_id)
        return "the simulation is not new";
    if (!is_clock(kept))
        return "the clock or a counter is out of range";
    for (int f = 0; f < store->fields.count; f++) {
        const mpm_type type = store->fields.row[f].type;
        if (type == MPM_TYPE_INT32 && !are_indices(kept->field[f], kept->rows, materials))
            return "a material does not exist";
        if (type == MPM_TYPE_INT64 && !are_ids(kept->field[f], kept->rows, kept->counters[NEXT_ID]))
            return "numbers of particles do not ascend";
        if (type == MPM_TYPE_REAL && !are_reals(store, f, kept->field[f], kept->rows))
            return "a value of a particle is out of range";
    }
    return NULL;
}

static void restore_rows(mpm_store *store, const mpm_kept *kept)
{
    mpm_store_add_rows(store, (ptrdiff_t)kept->rows);
    for (int f = 0; f < store->fields.count; f++)
        if (kept->rows)
            memcpy(store->rows[f], kept->field[f], kept->rows * mpm_store_row_bytes(store, f));
    store->next_id = kept->counters[NEXT_ID];
}

static void restore_run(mpm_run *run, const mpm_kept *kept)
{
    mpm_history *history = &run->history;
    history->count = kept->record_count;
    if (history->count)
        memcpy(history->records, kept->records,
               history->count * (size_t)mpm_history_length(history) * sizeof *history->records);
    run->time = kept->times[TIME];
    run->dt = kept->times[DT];
    run->began = kept->times[BEGAN];
    run->steps = kept->counters[STEPS];
    run->suspect = kept->counters[SUSPECT];
    memcpy(run->health, kept->counters + HEALTH, sizeof run->health);
}

mpm_status mpm_kept_restore(mpm_store *store, const mpm_kept *kept, int materials, const char **flaw)
{
    mpm_history *history = &store->run->history;
    *flaw = NULL;
    if (kept->rows > INT32_MAX / 2)
        return MPM_TOO_LARGE;
    if ((*flaw = find_flaw(store, kept, materials)))
        return MPM_BAD_STATE;
    if (mpm_memory_grow(&store->run->allocator, (void **)&history->records, &history->capacity, 0, kept->record_count,
                        (size_t)mpm_history_length(history) * sizeof *history->records))
        return MPM_OUT_OF_MEMORY;
    const mpm_status status = mpm_store_reserve(store, (ptrdiff_t)kept->rows);
    if (status)
        return status;
    restore_rows(store, kept);
    restore_run(store->run, kept);
    return MPM_OK;
}
