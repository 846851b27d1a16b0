/* SPDX-License-Identifier: MIT */
#include "base/reduction.h"

#include <math.h>
#include <stdint.h>

#include "base/exact.h"

enum { PARTS_PER_ROUND = 64 };

static double *number_at(const void *part, size_t offset)
{
    return (double *)(void *)((char *)part + offset);
}

static int64_t *count_at(const void *part, size_t offset)
{
    return (int64_t *)(void *)((char *)part + offset);
}

/* An extreme or a count, over parts first .. end - 1. */
static void reduce_number(const mpm_reduction *of, mpm_reduce rule, size_t offset, size_t first, size_t end,
                          void *result)
{
    const char *parts = of->parts;
    double *extreme = number_at(result, offset);
    int64_t *count = count_at(result, offset);
    switch (rule) {
    case MPM_REDUCE_LEAST:
        for (size_t i = first; i < end; i++)
            *extreme = fmin(*extreme, *number_at(parts + i * of->stride, offset));
        break;
    case MPM_REDUCE_MOST:
        for (size_t i = first; i < end; i++)
            *extreme = fmax(*extreme, *number_at(parts + i * of->stride, offset));
        break;
    default:
        for (size_t i = first; i < end; i++)
            *count += *count_at(parts + i * of->stride, offset);
        break;
    }
}

/* Sums go over all parts at once, extremes and counts over a few parts at a time, which stay in the first cache. */
void mpm_reduction_run(const mpm_reduction *of, void *result)
{
    for (const mpm_member *member = of->members; member < of->members + of->member_count; member++)
        for (int k = 0; k < member->numbers && member->rule == MPM_REDUCE_SUM; k++) {
            const size_t offset = member->offset + (size_t)k * sizeof(double);
            *number_at(result, offset) = mpm_exact_sum(number_at(of->parts, offset), of->count, of->stride);
        }
    for (size_t first = 0; first < of->count; first += PARTS_PER_ROUND) {
        const size_t end = first + PARTS_PER_ROUND < of->count ? first + PARTS_PER_ROUND : of->count;
        for (const mpm_member *member = of->members; member < of->members + of->member_count; member++)
            for (int k = 0; k < member->numbers && member->rule != MPM_REDUCE_SUM; k++)
                reduce_number(of, member->rule, member->offset + (size_t)k * sizeof(double), first, end, result);
    }
}
