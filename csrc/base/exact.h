/* SPDX-License-Identifier: MIT
 *
 * Sums that know no order: doubles are added as integers, without rounding, and the sum is rounded once. So the parts
 * that tasks, blocks or groups find may be added in any order and in any grouping.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { MPM_EXACT_DIGITS = 67 }; /* from the least double to the largest, and a sign */

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

/** Adds the terms that wait, and one that is not 0, to the digits. */
void mpm_exact_add_digits(mpm_exact *sum, double term);

static inline void mpm_exact_add(mpm_exact *sum, double term)
{
    if (term == 0)
        return;
    if (sum->terms < 2 && sum->first == sum->end && sum->other == 0)
        sum->term[sum->terms++] = term;
    else
        mpm_exact_add_digits(sum, term);
}

/** The sum of the digits, rounded. */
double mpm_exact_round_digits(const mpm_exact *sum);

/** The double nearest to the sum; ties go to the even one. */
static inline double mpm_exact_round(const mpm_exact *sum)
{
    return sum->terms ? sum->term[0] + (sum->terms > 1 ? sum->term[1] : 0) : mpm_exact_round_digits(sum);
}

/** A sum as integers, of which the sums of several such rows are the row of the whole sum, whatever the digits in
 *  use. The last three count +inf, -inf and NaN. */
enum { MPM_EXACT_INTEGERS = MPM_EXACT_DIGITS + 3 };
void mpm_exact_write(const mpm_exact *sum, int64_t row[MPM_EXACT_INTEGERS]);
void mpm_exact_read(mpm_exact *sum, const int64_t row[MPM_EXACT_INTEGERS]);

/** The rounded sum of `count` doubles that lie `stride` bytes apart. */
double mpm_exact_sum(const double *first, size_t count, size_t stride);

/** The sum of a member over an array of `count` structs. */
#define MPM_EXACT_SUM(parts, count, member) mpm_exact_sum(&(parts)->member, (size_t)(count), sizeof *(parts))
