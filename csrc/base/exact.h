/* SPDX-License-Identifier: MIT
 *
 * Sums that know no order: doubles are added as integers, without rounding, and the sum is rounded once. So the parts
 * that tasks, blocks or groups find may be added in any order and in any grouping.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { MPM_EXACT_DIGITS = 68 };

/** A sum of at most 2^29 doubles. All zeros are the sum of nothing. */
typedef struct mpm_exact {
    int64_t digit[MPM_EXACT_DIGITS]; /* of 2^(32 k - 1074), with signs of their own */
    double other;                    /* the sum of NaN and infinities */
    int first, end;                  /* digits that may not be 0 */
} mpm_exact;

void mpm_exact_add(mpm_exact *sum, double term);

/** The double nearest to the sum; ties go to the even one. */
double mpm_exact_round(const mpm_exact *sum);

/** The rounded sum of `count` doubles that lie `stride` bytes apart. */
double mpm_exact_sum(const double *first, size_t count, size_t stride);

/** The sum of a member over an array of `count` structs. */
#define MPM_EXACT_SUM(parts, count, member) mpm_exact_sum(&(parts)->member, (size_t)(count), sizeof *(parts))
