/* SPDX-License-Identifier: MIT */
#include "run/history.h"

#include <string.h>

static int width_of(mpm_history_rank rank, int dim)
{
    return rank == MPM_HISTORY_NUMBER ? 1 : rank == MPM_HISTORY_VECTOR ? dim : dim == 2 ? 1 : 3;
}

mpm_history_column mpm_history_get(const mpm_history *history, int index)
{
    mpm_history_column column = {0};
    mpm_history_section section;
    for (int s = 0, k = 0; (section = history->section(history->method, s)).entries; s++)
        for (int c = 0; c < section.count; c++, k++) {
            const mpm_history_entry *entry = &section.entries[c];
            const int width = width_of(entry->rank, history->dim);
            if (k == index)
                return (mpm_history_column){entry->name, section.owner, column.offset, width};
            column.offset += width;
        }
    return column;
}

int mpm_history_length(const mpm_history *history)
{
    return mpm_history_get(history, -1).offset;
}

static void move_records(double *to, int length, const double *from, int before, size_t count)
{
    const int kept = length < before ? length : before;
    for (size_t k = 0; k < count; k++)
        memmove(to + k * (size_t)length, from + k * (size_t)before, (size_t)kept * sizeof *to);
}

mpm_status mpm_history_fit(mpm_history *history, const mpm_allocator *allocator, int before)
{
    const int length = mpm_history_length(history);
    if (length <= before) {
        move_records(history->records, length, history->records, before, history->count);
        return MPM_OK;
    }
    double *records = mpm_memory_new(allocator, history->count, (size_t)length * sizeof *records);
    if (!records)
        return MPM_OUT_OF_MEMORY;
    move_records(records, length, history->records, before, history->count);
    mpm_memory_free(allocator, history->records);
    history->records = records;
    history->capacity = history->count;
    return MPM_OK;
}

mpm_status mpm_history_insert(mpm_history *history, const mpm_allocator *allocator, int before, int at)
{
    const mpm_status status = mpm_history_fit(history, allocator, before);
    const int added = mpm_history_length(history) - before;
    for (size_t k = 0; !status && k < history->count; k++) {
        double *record = history->records + k * (size_t)(before + added) + at;
        memmove(record + added, record, (size_t)(before - at) * sizeof *record);
        memset(record, 0, (size_t)added * sizeof *record);
    }
    return status;
}

/* Room for two: a step reserves that of the next one before it makes its own. */
mpm_status mpm_history_reserve(mpm_history *history, const mpm_allocator *allocator)
{
    return mpm_memory_grow(allocator, (void **)&history->records, &history->capacity, history->count,
                           history->count + 2, (size_t)mpm_history_length(history) * sizeof(double))
               ? MPM_OUT_OF_MEMORY
               : MPM_OK;
}

bool mpm_history_is_due(const mpm_history *history, int64_t step)
{
    return history->every > 0 && step % history->every == 0;
}

void mpm_history_record(mpm_history *history)
{
    double *record = history->records + history->count++ * (size_t)mpm_history_length(history);
    mpm_history_section section;
    for (int s = 0; (section = history->section(history->method, s)).entries; s++)
        for (int c = 0; c < section.count; c++) {
            const mpm_history_entry *entry = &section.entries[c];
            const int width = width_of(entry->rank, history->dim);
            const double *values = (const double *)((const char *)section.source + entry->offset);
            const bool about_z = entry->rank == MPM_HISTORY_TURNING && width == 1;
            memcpy(record, about_z ? values + 2 : values, (size_t)width * sizeof *record);
            record += width;
        }
}
