/* SPDX-License-Identifier: MIT */
#include "base/reduction.h"

#include <math.h>
#include <stdbool.h>

enum { PARTS_PER_ROUND = 64 };

static double *number_at(const void *part, size_t offset)
{
    return (double *)(void *)((char *)part + offset);
}

static int64_t *count_at(const void *part, size_t offset)
{
    return (int64_t *)(void *)((char *)part + offset);
}

static bool counts(const mpm_reduction *of, size_t part)
{
    return !of->labels || of->labels[part] == of->wanted;
}

static void begin(const mpm_reduction *of, mpm_accumulator *at)
{
    for (const mpm_member *member = of->members; member < of->members + of->member_count; member++)
        for (int k = 0; k < member->numbers; k++, at++) {
            if (member->rule == MPM_REDUCE_SUM)
                mpm_exact_clear(&at->sum);
            else if (member->rule == MPM_REDUCE_COUNT)
                at->count = 0;
            else
                at->extreme = member->rule == MPM_REDUCE_LEAST ? (double)INFINITY : -(double)INFINITY;
        }
}

/* One number, over parts first .. end - 1. */
static void reduce_number(const mpm_reduction *of, mpm_reduce rule, size_t offset, size_t first, size_t end,
                          mpm_accumulator *at)
{
    const size_t stride = of->stride;
    const char *number = (const char *)of->parts + first * stride + offset;
    switch (rule) {
    case MPM_REDUCE_SUM:
        for (size_t i = first; i < end; i++, number += stride)
            if (counts(of, i))
                mpm_exact_add(&at->sum, *number_at(number, 0));
        break;
    case MPM_REDUCE_LEAST:
        for (size_t i = first; i < end; i++, number += stride)
            if (counts(of, i))
                at->extreme = fmin(at->extreme, *number_at(number, 0));
        break;
    case MPM_REDUCE_MOST:
        for (size_t i = first; i < end; i++, number += stride)
            if (counts(of, i))
                at->extreme = fmax(at->extreme, *number_at(number, 0));
        break;
    case MPM_REDUCE_COUNT:
        for (size_t i = first; i < end; i++, number += stride)
            if (counts(of, i))
                at->count += *count_at(number, 0);
        break;
    }
}

/* A few parts at a time, which stay in the first cache. */
void mpm_reduction_accumulate(const mpm_reduction *of, mpm_accumulator *accumulators)
{
    begin(of, accumulators);
    for (size_t first = 0; first < of->count; first += PARTS_PER_ROUND) {
        const size_t end = first + PARTS_PER_ROUND < of->count ? first + PARTS_PER_ROUND : of->count;
        mpm_accumulator *at = accumulators;
        for (const mpm_member *member = of->members; member < of->members + of->member_count; member++)
            for (int k = 0; k < member->numbers; k++, at++)
                reduce_number(of, member->rule, member->offset + (size_t)k * sizeof(double), first, end, at);
    }
}

void mpm_reduction_finish(const mpm_reduction *of, const mpm_accumulator *at, void *result)
{
    for (const mpm_member *member = of->members; member < of->members + of->member_count; member++)
        for (int k = 0; k < member->numbers; k++, at++) {
            double *number = number_at(result, member->offset + (size_t)k * sizeof *number);
            if (member->rule == MPM_REDUCE_SUM)
                *number = mpm_exact_round(&at->sum);
            else if (member->rule == MPM_REDUCE_LEAST)
                *number = fmin(*number, at->extreme);
            else if (member->rule == MPM_REDUCE_MOST)
                *number = fmax(*number, at->extreme);
            else
                *count_at(number, 0) += at->count;
        }
}

int mpm_reduction_numbers(const mpm_reduction *of)
{
    int numbers = 0;
    for (int m = 0; m < of->member_count; m++)
        numbers += of->members[m].numbers;
    return numbers;
}
