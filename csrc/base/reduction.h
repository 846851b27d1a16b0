/* SPDX-License-Identifier: MIT
 *
 * Reductions of reports, which are arrays of structs: what of each part becomes one number of all, and by which rule.
 * Every number has eight bytes.
 */
#pragma once
#include "base/exact.h"

/** How the numbers of all parts become one. */
typedef enum mpm_reduce {
    MPM_REDUCE_SUM,   /* exact (base/exact.h) */
    MPM_REDUCE_LEAST, /* of what the result begins with, and of all parts; NaN is left out */
    MPM_REDUCE_MOST,
    MPM_REDUCE_COUNT  /* a sum of int64_t, added to what the result begins with */
} mpm_reduce;

/** Some consecutive numbers of a part. */
typedef struct mpm_member {
    size_t offset;
    int numbers;
    mpm_reduce rule;
} mpm_member;

#define MPM_MEMBER(type, name, rule) {offsetof(type, name), sizeof(((type *)0)->name) / 8, rule}

/** A report of `count` parts that lie `stride` bytes apart, and what of it is reduced. */
typedef struct mpm_reduction {
    const void *parts;
    size_t count, stride;
    const mpm_member *members;
    int member_count;
    const int32_t *labels; /* per part; NULL: all parts count */
    int32_t wanted;        /* the label of the parts that count */
} mpm_reduction;

/** A number of a reduction before it is rounded. Some parts may be found elsewhere and join before that. */
typedef union mpm_accumulator {
    mpm_exact sum;
    double extreme;
    int64_t count;
} mpm_accumulator;

enum { MPM_MOST_ACCUMULATORS = 32 }; /* numbers of all members of a reduction */

/** Reduces the members of all parts that count. `accumulators` has one entry per number, in the order of members. */
void mpm_reduction_accumulate(const mpm_reduction *reduction, mpm_accumulator *accumulators);

/** Rounds sums, joins extremes and counts to those that `result` begins with, a struct as each part is one. */
void mpm_reduction_finish(const mpm_reduction *reduction, const mpm_accumulator *accumulators, void *result);

/** The number of `accumulators`. */
int mpm_reduction_numbers(const mpm_reduction *reduction);
