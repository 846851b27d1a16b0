/* SPDX-License-Identifier: MIT */
#include "run/store.h"

#include <math.h>
#include <string.h>

#include "base/real.h"
#include "ranks/team.h"

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static size_t element_of(const mpm_store *store, int field)
{
    const size_t sizes[] = {[MPM_TYPE_REAL] = store->real_size, [MPM_TYPE_INT32] = sizeof(int32_t),
                            [MPM_TYPE_INT64] = sizeof(int64_t)};
    return sizes[store->fields.row[field].type];
}

static int components_of(const mpm_store *store, int field)
{
    return mpm_rank_components(store->fields.row[field].rank, store->fields.dim);
}

size_t mpm_store_row_bytes(const mpm_store *store, int field)
{
    return element_of(store, field) * (size_t)components_of(store, field);
}

static bool is_by_row(const mpm_store *store, int field)
{
    return store->fields.row[field].column == MPM_BY_ROW;
}

/* ---- ids, where memory is distributed --------------------------------------------------------------------------- */

/* The first of `count` rows whose ids a process has. */
static ptrdiff_t first_of(const mpm_store *store, ptrdiff_t count, int32_t process)
{
    return (ptrdiff_t)mpm_team_cut((size_t)count, store->team->transport.processes, process);
}

static void clear_deal(mpm_store *store)
{
    const mpm_allocator *allocator = &store->run->allocator;
    mpm_memory_free(allocator, store->deal.ids);
    mpm_memory_free(allocator, store->deal.first);
    mpm_memory_free(allocator, store->deal.messages);
    store->deal = (struct mpm_deal){0};
}

/* Makes room for the own ids of up to `rows` rows. */
static mpm_status reserve_deal(mpm_store *store, ptrdiff_t rows)
{
    const mpm_allocator *allocator = &store->run->allocator;
    const int32_t processes = store->team->transport.processes, own = store->team->transport.own;
    const size_t most = (size_t)(first_of(store, rows, own + 1) - first_of(store, rows, own)) + 1; /* of fewer, too */
    if (store->deal.capacity >= most)
        return MPM_OK;
    clear_deal(store);
    store->deal = (struct mpm_deal){
        .ids = mpm_memory_new_unset(allocator, most, sizeof *store->deal.ids),
        .capacity = most,
        .first = mpm_memory_new(allocator, (size_t)processes + 1, sizeof *store->deal.first),
        .messages = mpm_memory_new(allocator, (size_t)processes, sizeof *store->deal.messages),
    };
    if (store->deal.ids && store->deal.first && store->deal.messages)
        return MPM_OK;
    clear_deal(store);
    return MPM_OUT_OF_MEMORY;
}

/* A range of rows, from `first` to before `end`. */
struct range {
    ptrdiff_t first, end;
};

static struct range common(struct range a, struct range b)
{
    const struct range both = {a.first > b.first ? a.first : b.first, a.end < b.end ? a.end : b.end};
    return both.first < both.end ? both : (struct range){0};
}

/* The ids of a range, in the array of those from row `first` on. */
static mpm_message message_of(int32_t process, const int64_t *out, ptrdiff_t out_first, struct range going, int64_t *in,
                              ptrdiff_t in_first, struct range coming)
{
    const size_t size = sizeof *in;
    return (mpm_message){process, out + (going.end > going.first ? going.first - out_first : 0),
                         in + (coming.end > coming.first ? coming.first - in_first : 0),
                         (size_t)(going.end - going.first) * size, (size_t)(coming.end - coming.first) * size};
}

/* Deals the ids of `count` rows out. Process r has those of the rows deal.first[r] to before deal.first[r + 1]; the
 * last rows are new. */
static void deal_out(mpm_store *store, ptrdiff_t count)
{
    const int32_t processes = store->team->transport.processes, own = store->team->transport.own;
    struct mpm_deal *deal = &store->deal;
    const ptrdiff_t *first = deal->first;
    const struct range here = {first[own], first[own + 1]};
    const struct range wanted = {first_of(store, count, own), first_of(store, count, own + 1)};
    size_t used = 0;
    for (int32_t r = 0; r < processes; r++) {
        const struct range other = {first_of(store, count, r), first_of(store, count, r + 1)};
        const mpm_message message =
            message_of(r, store->rows[MPM_FIELD_ID], here.first, common(here, other), deal->ids, wanted.first,
                       common(wanted, (struct range){first[r], first[r + 1]}));
        if (r != own && (message.out_bytes || message.in_bytes))
            deal->messages[used++] = message;
        else if (message.out_bytes)
            memcpy(message.in, message.out, message.out_bytes);
    }
    mpm_team_exchange(store->team, deal->messages, used);
    for (ptrdiff_t row = wanted.first > first[processes] ? wanted.first : first[processes]; row < wanted.end; row++)
        deal->ids[row - wanted.first] = store->next_id + row - first[processes];
    mpm_memory_free(&store->run->allocator, store->rows[MPM_FIELD_ID]);
    store->rows[MPM_FIELD_ID] = deal->ids;
    store->capacity[MPM_FIELD_ID] = deal->capacity;
    deal->ids = NULL;
    clear_deal(store);
}

/* Keeps the own ids of the rows with new_row[row] >= 0. */
static void keep_ids(mpm_store *store, const int32_t *new_row, ptrdiff_t kept)
{
    const int32_t processes = store->team->transport.processes, own = store->team->transport.own;
    const ptrdiff_t first = first_of(store, store->count, own), end = first_of(store, store->count, own + 1);
    int64_t *ids = store->rows[MPM_FIELD_ID];
    ptrdiff_t before = 0, here = 0;
    int32_t process = 0;
    for (ptrdiff_t row = 0; row <= store->count; row++) {
        while (process <= processes && first_of(store, store->count, process) == row)
            store->deal.first[process++] = before;
        before += row < store->count && new_row[row] >= 0;
    }
    for (ptrdiff_t row = first; row < end; row++)
        if (new_row[row] >= 0)
            ids[here++] = ids[row - first];
    deal_out(store, kept);
}

void mpm_store_ids(const mpm_store *store, int64_t *ids)
{
    const size_t count = (size_t)store->count, size = sizeof *ids;
    const ptrdiff_t first = store->team ? first_of(store, store->count, store->team->transport.own) : 0;
    const ptrdiff_t end = store->team ? first_of(store, store->count, store->team->transport.own + 1) : store->count;
    if (store->team)
        memset(ids, 0, count * size);
    if (end > first)
        memcpy(ids + first, store->rows[MPM_FIELD_ID], (size_t)(end - first) * size);
    if (store->team)
        mpm_team_join(store->team, ids, count * size);
}

/* ---- rows that come and go -------------------------------------------------------------------------------------- */

static mpm_status grow(mpm_store *store, int field, ptrdiff_t rows)
{
    const size_t used = store->rows[field] ? (size_t)store->count : 0;
    return mpm_memory_grow(&store->run->allocator, &store->rows[field], &store->capacity[field], used, (size_t)rows,
                           mpm_store_row_bytes(store, field))
               ? MPM_OUT_OF_MEMORY
               : MPM_OK;
}

/* Fills rows first .. end - 1 with initial values. */
static void fill(mpm_store *store, int field, ptrdiff_t first, ptrdiff_t end)
{
    const mpm_field *row = &store->fields.row[field];
    const int components = components_of(store, field);
    for (ptrdiff_t i = first; i < end; i++)
        for (int c = 0; c < components; c++) {
            const ptrdiff_t at = i * components + c;
            const double initial = mpm_fields_initial(row->rank, store->fields.dim, c, row->initial);
            if (row->type == MPM_TYPE_INT64)
                ((int64_t *)store->rows[field])[at] = store->next_id + i - first;
            else if (row->type == MPM_TYPE_INT32)
                ((int32_t *)store->rows[field])[at] = (int32_t)initial;
            else
                mpm_real_set(store->rows[field], (size_t)at, initial, store->real_size);
        }
}

void mpm_store_clear(mpm_store *store)
{
    mpm_store_forget(store);
    clear_deal(store);
    for (int field = 0; field < store->fields.count; field++)
        mpm_memory_free(&store->run->allocator, store->rows[field]);
}

mpm_status mpm_store_add_fields(mpm_store *store, mpm_field *fields, int count)
{
    mpm_fields *table = &store->fields;
    const int first = table->count;
    if (first + count > MPM_MOST_FIELDS)
        return MPM_TOO_LARGE;
    const bool in_tiles = store->method && store->method->lay_out;
    mpm_status status = in_tiles ? store->method->lay_out(store->run->self, fields, count) : MPM_OK;
    for (int f = first; f < first + count && !status; f++) {
        table->row[f] = fields[f - first];
        if (in_tiles)
            continue;
        table->row[f].column = MPM_BY_ROW;
        if (!(status = grow(store, f, store->count)))
            fill(store, f, 0, store->count);
    }
    for (int f = first; f < first + count && status; f++) {
        mpm_memory_free(&store->run->allocator, store->rows[f]);
        store->rows[f] = NULL;
        store->capacity[f] = 0;
    }
    table->count += status ? 0 : count;
    return status;
}

mpm_status mpm_store_name(mpm_field *row, const char *name, const char *unit)
{
    if (strlen(name) >= sizeof row->name || strlen(unit) >= sizeof row->unit)
        return MPM_TOO_LARGE;
    strcpy(row->name, name);
    strcpy(row->unit, unit);
    return MPM_OK;
}

mpm_status mpm_store_add_field(mpm_store *store, const char *name, const char *unit, mpm_rank rank, double initial)
{
    mpm_field field = {.rank = rank, .owner = MPM_OWNER_USER, .state_of = MPM_STATE_OF_ALL, .low = -INFINITY,
                       .high = INFINITY, .initial = initial};
    if (!name || !unit || (unsigned)rank >= MPM_RANKS || mpm_fields_find(&store->fields, name) >= 0)
        return MPM_BAD_ARGUMENT;
    const mpm_status status = mpm_store_name(&field, name, unit);
    return status ? status : mpm_store_add_fields(store, &field, 1);
}

mpm_status mpm_store_reserve(mpm_store *store, ptrdiff_t extra)
{
    mpm_status status = MPM_OK;
    if (store->team)
        return reserve_deal(store, store->count + extra);
    for (int field = 0; field < store->fields.count && !status; field++)
        if (is_by_row(store, field))
            status = grow(store, field, store->count + extra);
    return status;
}

void mpm_store_add_rows(mpm_store *store, ptrdiff_t extra)
{
    for (int32_t r = 0; store->team && r <= store->team->transport.processes; r++)
        store->deal.first[r] = first_of(store, store->count, r);
    if (store->team)
        deal_out(store, store->count + extra);
    for (int field = 0; field < store->fields.count && !store->team; field++)
        if (is_by_row(store, field))
            fill(store, field, store->count, store->count + extra);
    store->next_id += extra;
    mpm_store_admit_rows(store, extra);
}

void mpm_store_admit_rows(mpm_store *store, ptrdiff_t extra)
{
    store->count += extra;
    mpm_store_forget(store);
}

void mpm_store_keep_rows(mpm_store *store, int32_t *new_row)
{
    int32_t next = 0;
    for (ptrdiff_t row = 0; row < store->count; row++)
        if (new_row[row] >= 0)
            new_row[row] = next++;
    if (store->team)
        keep_ids(store, new_row, next);
    for (int field = 0; field < store->fields.count && !store->team; field++) {
        const size_t bytes = is_by_row(store, field) ? mpm_store_row_bytes(store, field) : 0;
        for (ptrdiff_t row = 0; bytes && row < store->count; row++)
            if (new_row[row] >= 0)
                memmove((char *)store->rows[field] + (size_t)new_row[row] * bytes,
                        (char *)store->rows[field] + (size_t)row * bytes, bytes);
    }
    store->count = next;
    mpm_store_forget(store);
}

/* ---- fields that are kept by row -------------------------------------------------------------------------------- */

static double determinant(const double *m, int dim)
{
    if (dim == 2)
        return m[0] * m[3] - m[1] * m[2];
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
           m[2] * (m[3] * m[7] - m[4] * m[6]);
}

static enum mpm_flaw flaw_of(const mpm_store *store, int field, const void *rows, ptrdiff_t row)
{
    const mpm_field *of = &store->fields.row[field];
    const int components = components_of(store, field);
    double values[9];
    bool inside = true;
    if (of->state_of == MPM_STATE_OF_OWNERS && isnan(mpm_real_at(store->rows[field], (size_t)row, store->real_size)))
        return MPM_NOT_STATE;
    for (int c = 0; c < components; c++) {
        values[c] = mpm_real_at(rows, (size_t)(row * components + c), store->real_size);
        if (!isfinite(values[c]))
            return MPM_NOT_FINITE;
        inside &= mpm_field_allows(of, values[c]);
    }
    if (of->check == MPM_CHECK_DET)
        inside = determinant(values, store->fields.dim) > 0;
    return inside ? MPM_FINE : MPM_INVERTED;
}

static int64_t inspect_rows(const mpm_store *store, int field, const void *rows, uint8_t *flaws)
{
    const size_t bytes = mpm_store_row_bytes(store, field);
    int64_t differing = 0;
    const char *now = store->rows[field], *written = rows;
    for (ptrdiff_t row = 0; row < store->count; row++, now += bytes, written += bytes)
        if (memcmp(written, now, bytes)) {
            flaws[row] = (uint8_t)flaw_of(store, field, rows, row);
            differing++;
        }
    return differing;
}

/* ---- views ------------------------------------------------------------------------------------------------------ */

static void write_out(mpm_store *store, int field)
{
    mpm_view *view = store->views[field];
    view->stale = false;
    if (!is_by_row(store, field))
        store->method->write_out(store->run->self, field, view->data);
    else if (field == MPM_FIELD_ID && store->team)
        mpm_store_ids(store, view->data);
    else if (store->count)
        memcpy(view->data, store->rows[field], (size_t)store->count * mpm_store_row_bytes(store, field));
}

static mpm_status read_in(mpm_store *store, int field, void *rows, int64_t differing)
{
    if (!is_by_row(store, field))
        return store->method->read_in(store->run->self, field, rows, differing);
    memcpy(store->rows[field], rows, (size_t)store->count * mpm_store_row_bytes(store, field));
    return MPM_OK;
}

/* A copy of what users may have written, because other threads may continue to write to the views. */
struct written {
    void *rows[MPM_MOST_FIELDS]; /* NULL: nothing to read in */
    int64_t differing[MPM_MOST_FIELDS];
    int64_t of_all[MPM_MOST_FIELDS]; /* where memory is distributed: of all processes */
};

static mpm_status agree(const mpm_store *store, mpm_status status)
{
    return store->team ? mpm_team_agree(store->team, status) : status;
}

static void add(const mpm_store *store, int64_t *numbers, size_t count)
{
    if (store->team)
        mpm_team_add(store->team, numbers, count);
}

static void forget_written(const mpm_store *store, struct written *written, int field)
{
    mpm_memory_free(&store->run->allocator, written->rows[field]);
    written->rows[field] = NULL;
}

/* Reports the flaw of the first flawed row, and all rows with the same flaw. */
static mpm_status name_flaws(mpm_store *store, int field, const uint8_t *flaws)
{
    static const mpm_reason reasons[] = {
        [MPM_NOT_FINITE] = MPM_WRITTEN_NOT_FINITE, [MPM_INVERTED] = MPM_WRITTEN_INVERTED,
        [MPM_OUTSIDE] = MPM_WRITTEN_OUTSIDE, [MPM_NOT_STATE] = MPM_WRITTEN_NOT_STATE};
    mpm_error *error = &store->run->error;
    ptrdiff_t row = 0;
    while (row < store->count && flaws[row] == MPM_FINE)
        row++;
    if (row == store->count)
        return MPM_OK;
    mpm_error_note(error, MPM_BAD_STATE, reasons[flaws[row]], 0);
    error->field = &store->fields.row[field];
    error->row = store->row;
    mpm_error_add_rows(error, flaws, store->count, flaws[row]);
    return flaws[row] == MPM_OUTSIDE ? MPM_ESCAPED : MPM_BAD_STATE;
}

/* Copies a view that may have been written, and counts the rows that differ. */
static mpm_status inspect(mpm_store *store, int field, struct written *written)
{
    const mpm_allocator *allocator = &store->run->allocator;
    const size_t rows = (size_t)store->count, bytes = mpm_store_row_bytes(store, field);
    const bool here = mpm_view_may_be_written(store->views[field]);
    uint8_t *flaws = mpm_memory_new(allocator, rows, 1);
    void *copy = written->rows[field] = here ? mpm_memory_new(allocator, rows, bytes) : NULL;
    mpm_status status = agree(store, flaws && (copy || !here) ? MPM_OK : MPM_OUT_OF_MEMORY);
    if (!status && here) {
        memcpy(copy, store->views[field]->data, rows * bytes);
        written->differing[field] = is_by_row(store, field)
                                        ? inspect_rows(store, field, copy, flaws)
                                        : store->method->inspect(store->run->self, field, copy, flaws);
    }
    if (!status && store->team)
        mpm_team_join(store->team, flaws, rows);
    if (!status)
        status = name_flaws(store, field, flaws);
    if (!written->differing[field])
        forget_written(store, written, field);
    mpm_memory_free(allocator, flaws);
    return status;
}

/* Values that are valid one by one may contradict each other. */
static mpm_status inspect_together(mpm_store *store, const struct written *written)
{
    bool any = false;
    for (int field = 0; field < store->fields.count; field++)
        any |= written->rows[field] && store->fields.row[field].owner == MPM_OWNER_LAW;
    if (!any || !store->method)
        return MPM_OK;
    const char *words = NULL;
    uint8_t *flaws = mpm_memory_new(&store->run->allocator, (size_t)store->count, 1);
    mpm_status status = flaws ? store->method->inspect_together(store->run->self, written->rows, flaws, &words)
                              : MPM_OUT_OF_MEMORY;
    if (!status && words) {
        status = mpm_error_note(&store->run->error, MPM_BAD_STATE, MPM_WRITTEN_TOGETHER, 0);
        store->run->error.name = words;
        store->run->error.row = store->row;
        mpm_error_add_rows(&store->run->error, flaws, store->count, MPM_NOT_TOGETHER);
    }
    mpm_memory_free(&store->run->allocator, flaws);
    return status;
}

/* Reads in the fields from `first` to `end` - 1. */
static mpm_status read_in_fields(mpm_store *store, int first, int end)
{
    struct written written = {0};
    mpm_status status = MPM_OK;
    const int fields = store->fields.count;
    for (int field = first; field < end; field++)
        written.of_all[field] = mpm_view_may_be_written(store->views[field]);
    add(store, written.of_all, (size_t)fields);
    for (int field = 0; field < fields && !status; field++)
        if (written.of_all[field])
            status = inspect(store, field, &written);
    if (!status) {
        memcpy(written.of_all, written.differing, sizeof written.of_all);
        add(store, written.of_all, (size_t)fields);
        status = agree(store, inspect_together(store, &written));
    }
    for (int field = 0; field < fields; field++) {
        if (written.of_all[field] && !status)
            status = read_in(store, field, written.rows[field], written.differing[field]);
        forget_written(store, &written, field);
    }
    if (status)
        return status;
    for (int field = first; field < end; field++)
        if (store->views[field]) {
            store->views[field]->read_in |= mpm_view_may_be_written(store->views[field]);
            store->views[field]->touched = false;
        }
    mpm_store_refresh(store);
    return MPM_OK;
}

mpm_status mpm_store_read_in(mpm_store *store)
{
    return read_in_fields(store, 0, store->fields.count);
}

/* F and J show one state: takes in what was written to the other one. */
static mpm_status read_in_twin(mpm_store *store, int field)
{
    const mpm_state_of of = store->fields.row[field].state_of;
    const mpm_state_of other = of == MPM_STATE_OF_F_LAWS ? MPM_STATE_OF_J_LAWS : MPM_STATE_OF_F_LAWS;
    mpm_status status = MPM_OK;
    for (int twin = 0; (of == MPM_STATE_OF_F_LAWS || of == MPM_STATE_OF_J_LAWS) && twin < store->fields.count; twin++)
        if (store->fields.row[twin].state_of == other && !status)
            status = read_in_fields(store, twin, twin + 1);
    return status;
}

static bool is_writable(const mpm_store *store, int field)
{
    const mpm_field *row = &store->fields.row[field];
    return is_by_row(store, field) ? row->state_of != MPM_STATE_OF_NONE && row->type == MPM_TYPE_REAL
                                   : store->method->is_writable(store->run->self, row);
}

mpm_status mpm_store_get(mpm_store *store, int field, mpm_view **view)
{
    if (field < 0 || field >= store->fields.count || !view)
        return MPM_BAD_ARGUMENT;
    mpm_status status = read_in_twin(store, field);
    if (status)
        return status;
    const bool integer = store->fields.row[field].type != MPM_TYPE_REAL;
    if (!store->views[field])
        store->views[field] = mpm_view_new(&store->run->allocator, store->count, components_of(store, field),
                                           element_of(store, field), integer, !is_writable(store, field));
    status = agree(store, store->views[field] ? MPM_OK : MPM_OUT_OF_MEMORY);
    if (status)
        return status;
    if (store->views[field]->stale) {
        write_out(store, field);
        if ((status = agree(store, MPM_OK))) { /* what others have may not have come */
            mpm_store_outdate(store, field);
            return status;
        }
    }
    *view = store->views[field];
    return MPM_OK;
}

void mpm_store_outdate(mpm_store *store, int field)
{
    mpm_view *view = store->views[field];
    if (!view)
        return;
    view->stale = true;
    if (store->team) {
        mpm_view_release(view);
        store->views[field] = NULL;
    }
}

void mpm_store_outdate_all(mpm_store *store, bool all)
{
    for (int field = 0; field < store->fields.count; field++)
        if (all || !store->fields.row[field].lasting)
            mpm_store_outdate(store, field);
}

void mpm_store_refresh(mpm_store *store)
{
    for (int field = 0; field < store->fields.count; field++)
        if (store->views[field] && store->views[field]->stale && store->views[field]->exports > 0)
            write_out(store, field);
}

void mpm_store_forget(mpm_store *store)
{
    for (int field = 0; field < store->fields.count; field++) {
        mpm_view_release(store->views[field]);
        store->views[field] = NULL;
    }
}

void mpm_store_bytes(const mpm_store *store, size_t *rows, size_t *views)
{
    *rows = *views = 0;
    for (int field = 0; field < store->fields.count; field++) {
        *rows += store->capacity[field] * mpm_store_row_bytes(store, field);
        *views += store->views[field] ? (size_t)store->views[field]->rows * mpm_store_row_bytes(store, field) : 0;
    }
}
