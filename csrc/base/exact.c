/* SPDX-License-Identifier: MIT */
#include "base/exact.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const int64_t BASE = INT64_C(1) << 32;

enum { LEAST_EXPONENT = 1074 }; /* 2^-1074 is the least positive double */

/* Takes the digits from `first` to `end` into use. */
static void widen(mpm_exact *sum, int first, int end)
{
    if (sum->first == sum->end)
        sum->first = sum->end = first;
    while (sum->first > first)
        sum->digit[--sum->first] = 0;
    while (sum->end < end)
        sum->digit[sum->end++] = 0;
}

/* digit += sign * value, at one place */
static void add_digit(mpm_exact *sum, int place, uint64_t value, bool negative)
{
    sum->digit[place] += negative ? -(int64_t)value : (int64_t)value;
}

static void add_to_digits(mpm_exact *sum, double term)
{
    uint64_t bits;
    if (!isfinite(term)) {
        sum->other += term;
        return;
    }
    memcpy(&bits, &term, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent)
        mantissa |= UINT64_C(1) << 52;
    const int power = exponent ? exponent - 1 : 0; /* term = mantissa 2^(power - 1074) */
    const int place = power / 32, shift = power % 32;
    const uint64_t low = (mantissa & 0xffffffff) << shift, high = (mantissa >> 32) << shift;
    const bool negative = bits >> 63;
    widen(sum, place, place + 3);
    add_digit(sum, place, low & 0xffffffff, negative);
    add_digit(sum, place + 1, (low >> 32) + (high & 0xffffffff), negative);
    add_digit(sum, place + 2, high >> 32, negative);
}

void mpm_exact_add_digits(mpm_exact *sum, double term)
{
    for (; sum->terms > 0; sum->terms--)
        add_to_digits(sum, sum->term[sum->terms - 1]);
    add_to_digits(sum, term);
}

/* The digits of `sign` times the sum, all in 0 ... 2^32 - 1 but for the last one, which has the sign. Returns the place
 * after it. */
static int carry(const mpm_exact *sum, int sign, int64_t digit[MPM_EXACT_DIGITS])
{
    int64_t over = 0;
    for (int k = sum->first; k < sum->end; k++) {
        const int64_t value = sign * sum->digit[k] + over;
        over = value >> 32; /* towards -infinity */
        digit[k] = value - over * BASE;
    }
    digit[sum->end] = over;
    return sum->end + 1;
}

/* Rounds digits that are not negative; the one at `last` is not 0. A double gets the leading 64 bits, where the last
 * one also stands for all that follow: the conversion rounds them as it would round all. */
static double round_digits(const int64_t *digit, int first, int last)
{
    const int zeros = __builtin_clz((unsigned)digit[last]);
    const uint64_t second = last > first ? (uint64_t)digit[last - 1] : 0;
    const uint64_t third = last > first + 1 ? (uint64_t)digit[last - 2] : 0;
    uint64_t leading = (uint64_t)digit[last] << (32 + zeros) | second << zeros | third >> (32 - zeros);
    bool more = (third << zeros & 0xffffffff) != 0;
    for (int k = first; k < last - 2; k++)
        more |= digit[k] != 0;
    return ldexp((double)(leading | more), 32 * (last - 1) - zeros - LEAST_EXPONENT);
}

double mpm_exact_round_digits(const mpm_exact *sum)
{
    int64_t digit[MPM_EXACT_DIGITS];
    if (sum->other != 0) /* NaN, too */
        return sum->other;
    if (sum->first == sum->end)
        return 0;
    int end = carry(sum, 1, digit);
    const bool negative = digit[end - 1] < 0;
    if (negative)
        carry(sum, -1, digit);
    while (end > sum->first && digit[end - 1] == 0)
        end--;
    const double magnitude = end > sum->first ? round_digits(digit, sum->first, end - 1) : 0;
    return negative ? -magnitude : magnitude;
}

void mpm_exact_write(const mpm_exact *sum, int64_t row[MPM_EXACT_INTEGERS])
{
    mpm_exact all = *sum;
    if (all.terms)
        mpm_exact_add_digits(&all, 0);
    memset(row, 0, MPM_EXACT_INTEGERS * sizeof *row);
    if (all.first < all.end)
        memcpy(row + all.first, all.digit + all.first, (size_t)(all.end - all.first) * sizeof *row);
    row[MPM_EXACT_DIGITS] = isinf(all.other) && all.other > 0;
    row[MPM_EXACT_DIGITS + 1] = isinf(all.other) && all.other < 0;
    row[MPM_EXACT_DIGITS + 2] = isnan(all.other);
}

void mpm_exact_read(mpm_exact *sum, const int64_t row[MPM_EXACT_INTEGERS])
{
    const bool more = row[MPM_EXACT_DIGITS], less = row[MPM_EXACT_DIGITS + 1], none = row[MPM_EXACT_DIGITS + 2];
    mpm_exact_clear(sum);
    memcpy(sum->digit, row, sizeof sum->digit);
    sum->end = MPM_EXACT_DIGITS - 1; /* the last one is room for a sign */
    sum->other = none || (more && less) ? (double)NAN : more ? (double)INFINITY : less ? -(double)INFINITY : 0;
}

double mpm_exact_sum(const double *first, size_t count, size_t stride)
{
    const char *at = (const char *)first;
    mpm_exact sum;
    mpm_exact_clear(&sum);
    for (size_t k = 0; k < count; k++, at += stride)
        mpm_exact_add(&sum, *(const double *)(const void *)at);
    return mpm_exact_round(&sum);
}
