/* SPDX-License-Identifier: MIT
 *
 * Sums that know no order: doubles are added as integers, without rounding, and the sum is rounded once. So the parts
 * that tasks, blocks or groups find may be added in any order and in any grouping.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { MPM_EXACT_DIGITS = 68 };

/** A sum of at most 2^29 doubles. */
typedef struct mpm_exact {
    double other;                    /* the sum of NaN and infinities */
    double term[2];                  /* the first terms wait here: one addition rounds the sum of two once */
    int terms;
    int first, end;                  /* the digits in use; the others mean nothing */
    int64_t digit[MPM_EXACT_DIGITS]; /* of 2^(32 k - 1074), with signs of their own */
} mpm_exact;

/** The sum of nothing. */
static inline void mpm_exact_clear(mpm_exact *sum)
{
    sum->other = 0;
    sum->terms = sum->first = sum->end = 0;
}

void mpm_exact_add(mpm_exact *sum, double term);

/** Adds `count` doubles that lie `stride` bytes apart. */
void mpm_exact_add_all(mpm_exact *sum, const double *first, size_t count, size_t stride);

/** The double nearest to the sum; ties go to the even one. */
double mpm_exact_round(const mpm_exact *sum);

/** The rounded sum of `count` doubles that lie `stride` bytes apart. */
double mpm_exact_sum(const double *first, size_t count, size_t stride);

/** The sum of a member over an array of `count` structs. */
#define MPM_EXACT_SUM(parts, count, member) mpm_exact_sum(&(parts)->member, (size_t)(count), sizeof *(parts))
