/* SPDX-License-Identifier: MIT */
/* sources: base/exact.c */
/* Sums that know no order. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "random.h"

enum { MOST = 300 };

static double sum_of(const double *terms, size_t count)
{
    mpm_exact sum;
    mpm_exact_clear(&sum);
    for (size_t k = 0; k < count; k++)
        mpm_exact_add(&sum, terms[k]);
    return mpm_exact_round(&sum);
}

static bool same(double a, double b)
{
    return !memcmp(&a, &b, sizeof a);
}

/* Sums whose exact value is known, at the ends of the range and at ties. */
static void known_sums(void)
{
    const double tie = 1 + DBL_EPSILON, half = DBL_EPSILON / 2;
    const struct {
        double terms[5], sum;
    } cases[] = {
        {{1e300, 1, -1e300}, 1},
        {{DBL_TRUE_MIN, DBL_MIN, -DBL_MIN}, DBL_TRUE_MIN},
        {{-DBL_TRUE_MIN, -DBL_TRUE_MIN, 3 * DBL_TRUE_MIN}, DBL_TRUE_MIN},
        {{DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX, -1}, -1},
        {{DBL_MAX, DBL_MAX / 2}, INFINITY},
        {{1, half}, 1},                            /* a tie goes to the even one */
        {{tie, half}, tie + DBL_EPSILON},          /* upwards, too */
        {{1, half, DBL_TRUE_MIN}, 1 + DBL_EPSILON}, /* no tie any more */
        {{1, half, -DBL_TRUE_MIN}, 1},
        {{-1, -half, -DBL_TRUE_MIN}, -1 - DBL_EPSILON},
        {{4294967296, -1, -4294967295}, 0},
        {{INFINITY, 1, 2}, INFINITY},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert(same(sum_of(cases[c].terms, 5), cases[c].sum));
    assert(isnan(sum_of((double[]){INFINITY, 1, -INFINITY}, 3)) && isnan(sum_of((double[]){1, NAN}, 2)));
    assert(same(sum_of(NULL, 0), 0) && same(sum_of((double[]){-0.0}, 1), 0));
}

/* Integers of up to 2^90 times a power of 2, beside the sum of integers. */
static void sums_of_integers(void)
{
    for (int round = 0; round < 2000; round++) {
        const int exponent = (int)(200 * uniform(0, 1)) - 100;
        double terms[40];
        __int128 expected = 0;
        for (int k = 0; k < 40; k++) {
            const __int128 value = (__int128)(uniform(-1, 1) * 0x1p61) * (1 << (int)(28 * uniform(0, 1)));
            terms[k] = ldexp((double)value, exponent);
            expected += (__int128)ldexp(terms[k], -exponent);
        }
        assert(same(sum_of(terms, 40), ldexp((double)expected, exponent) + 0));
    }
}

/* One or two terms wait for others; more of them, which cancel, send them to the digits. */
static void waiting_terms_change_nothing(const double *terms, size_t few)
{
    double more[6] = {0x1p1000, -0x1p1000};
    for (size_t k = 0; k < few; k++)
        more[2 + k] = terms[k];
    assert(same(sum_of(more, 2 + few), sum_of(terms, few)));
}

/* Terms of all sizes: no order and no grouping changes a bit; a plain loop does. */
static void no_order_matters(void)
{
    int plain = 0;
    for (int round = 0; round < 500; round++) {
        double terms[MOST], ordinary[2] = {0};
        const size_t count = 3 + (size_t)((MOST - 3) * uniform(0, 1));
        const size_t few = (size_t)(4 * uniform(0, 1));
        for (size_t k = 0; k < count; k++)
            terms[k] = ldexp(uniform(-0.5, 0.5), (int)(60 * uniform(0, 1) * (round % 3)));
        const double expected = sum_of(terms, count);
        waiting_terms_change_nothing(terms, few);
        for (size_t k = 0; k < count; k++)
            ordinary[0] += terms[k];
        for (size_t k = count - 1; k > 0; k--) {
            const size_t other = (size_t)((double)(k + 1) * uniform(0, 1));
            const double kept = terms[k];
            terms[k] = terms[other];
            terms[other] = kept;
        }
        for (size_t k = 0; k < count; k++)
            ordinary[1] += terms[k];
        plain += !same(ordinary[0], ordinary[1]);
        assert(same(sum_of(terms, count), expected) && same(mpm_exact_sum(terms, count, sizeof *terms), expected));
    }
    assert(plain > 100); /* the terms are a test */
}

int main(void)
{
    known_sums();
    sums_of_integers();
    no_order_matters();
    return 0;
}
