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

mpm_status mpm_history_reserve(mpm_history *history, const mpm_allocator *allocator)
{
    return mpm_memory_grow(allocator, (void **)&history->records, &history->capacity, history->count, history->count + 1,
                           (size_t)mpm_history_length(history) * sizeof(double))
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
