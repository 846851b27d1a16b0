/* SPDX-License-Identifier: MIT */
/* sources:  */
/* variants: -DMPM_REAL=float | -DMPM_REAL=double */
/* Logarithm and exponential over their whole range, compared with those of the C library in long double. */
#define MPM_DIM 3
#define MPM_ISA_SCALAR 1
#include "check.h"
#include "random.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "math/elementary.h"

static real from_bits(uint64_t bits)
{
    union { float f; uint32_t bits; } narrow = {.bits = (uint32_t)bits};
    union { double d; uint64_t bits; } whole = {.bits = bits};
    return REAL_IS_FLOAT ? (real)narrow.f : (real)whole.d;
}

/* Distance of `value` from `exact` in units of the last place of `exact`. */
static double ulps(real value, long double exact)
{
    int exponent;
    frexpl(exact, &exponent);
    const int digits = REAL_IS_FLOAT ? FLT_MANT_DIG : DBL_MANT_DIG;
    return (double)fabsl(((long double)value - exact) * ldexpl(1, digits - exponent));
}

static void note(double *worst, double error)
{
    assert(error == error);
    *worst = error > *worst ? error : *worst;
}

static void test_logarithm(double limit)
{
    double worst = 0;
    for (int i = 0; i < 600000; i++) {
        real a = from_bits(random_bits() & (REAL_IS_FLOAT ? 0x7fffffff : 0x7fffffffffffffff)); /* any exponent */
        if (i % 2)
            a = (real)(1 + ldexp((double)(random_bits() >> 11), -53 - i % 40) * (i % 4 == 1 ? 1 : -1)); /* near 1 */
        if (a < (REAL_IS_FLOAT ? (real)FLT_MIN : (real)DBL_MIN) || a - a != 0 || a == 1)
            continue;
        note(&worst, ulps(wide_lane(wide_log(wide_set(a)), 0), logl((long double)a)));
    }
    assert(wide_lane(wide_log(wide_set(1)), 0) == 0);
    printf("logarithm   %.2f ulp\n", worst);
    assert(worst < limit);
}

/* a - 1 - log a, by its series where the difference would lose digits. */
static long double exact_excess(long double a)
{
    const long double f = a - 1;
    long double sum = 0;
    if (fabsl(f) > 0.1L)
        return f - logl(a);
    for (int k = 24; k >= 2; k--)
        sum = 1 / (long double)k - f * sum;
    return f * f * sum;
}

/* The error is relative to the value, which near 1 is many powers of ten smaller than the argument. */
static void test_logarithmic_excess(double near, double limit)
{
    double worst_near = 0, worst = 0;
    for (int i = 0; i < 600000; i++) {
        real a = from_bits(random_bits() & (REAL_IS_FLOAT ? 0x7fffffff : 0x7fffffffffffffff));
        if (i % 2)
            a = (real)(1 + ldexp((double)(random_bits() >> 11), -53 - i % 20) * (i % 4 == 1 ? 0.41 : -0.29));
        if (a < (REAL_IS_FLOAT ? (real)FLT_MIN : (real)DBL_MIN) || a - a != 0 || a == 1)
            continue;
        note(i % 2 ? &worst_near : &worst,
             ulps(wide_lane(wide_log_excess(wide_set(a)), 0), exact_excess((long double)a)));
    }
    assert(wide_lane(wide_log_excess(wide_set(1)), 0) == 0);
    printf("excess      %.2f ulp near 1, %.2f ulp\n", worst_near, worst);
    assert(worst_near < near && worst < limit);
}

/* The logarithm of 1 + f and its excess, relative to their own size, where 1 + f has rounded. */
static void test_logarithm_near(double limit)
{
    double worst = 0, worst_excess = 0;
    for (int i = 0; i < 300000; i++) {
        const real f = (real)(ldexp((double)(random_bits() >> 11), -53 - i % 40) * (i % 2 ? 0.41 : -0.29));
        if (f == 0)
            continue;
        wide excess;
        const mask near = wide_less(wide_set(0), wide_set(1));
        const wide ln = wide_log_near(wide_set(1 + f), wide_set(f), near, &excess);
        long double sum = 0; /* exact_excess(1 + f), of an f that 1 + f does not hold */
        for (int k = 60; k >= 2; k--)
            sum = 1 / (long double)k - (long double)f * sum;
        note(&worst, ulps(wide_lane(ln, 0), log1pl((long double)f)));
        note(&worst_excess, ulps(wide_lane(excess, 0), (long double)f * (long double)f * sum));
    }
    printf("near        %.2f ulp, excess %.2f ulp\n", worst, worst_excess);
    assert(worst < limit && worst_excess < limit);
}

/* e^a - 1 - a, relative to its own size. */
static void test_exponential_excess(double limit)
{
    double worst = 0;
    for (int i = 0; i < 300000; i++) {
        const double fraction = ldexp((double)(random_bits() >> 11), -53);
        const real a = i % 2 ? (real)(4 * fraction - 2) : (real)ldexp(2 * fraction - 1, -(i % 30));
        long double sum = 0;
        for (int k = 40; k > 2; k--)
            sum = (sum + 1) * (long double)a / (long double)k;
        const wide found = wide_exp_excess(wide_set(a), wide_exp(wide_set(a)));
        if (a != 0)
            note(&worst, ulps(wide_lane(found, 0), (long double)a * (long double)a / 2 * (1 + sum)));
    }
    printf("exp. excess %.2f ulp\n", worst);
    assert(worst < limit);
}

static void test_exponential(double limit)
{
    const double low = REAL_IS_FLOAT ? -87 : -708, high = REAL_IS_FLOAT ? 88 : 709;
    double worst = 0;
    for (int i = 0; i < 300000; i++) {
        const double fraction = ldexp((double)(random_bits() >> 11), -53);
        const real a = i % 2 ? (real)(low + (high - low) * fraction) : (real)ldexp(2 * fraction - 1, -(i % 60));
        note(&worst, ulps(wide_lane(wide_exp(wide_set(a)), 0), expl((long double)a)));
    }
    assert(wide_lane(wide_exp(wide_set(0)), 0) == 1);
    assert(wide_lane(wide_exp(wide_set((real)1e6)), 0) < (real)INFINITY); /* clamped, as documented */
    assert(wide_lane(wide_exp(wide_set((real)-1e6)), 0) > 0);
    printf("exponential %.2f ulp\n", worst);
    assert(worst < limit);
}

/* Also where e^a is 1 up to rounding. */
static void test_exponential_less_one(double limit)
{
    double worst = 0;
    for (int i = 0; i < 300000; i++) {
        const double fraction = ldexp((double)(random_bits() >> 11), -53);
        const real a = i % 2 ? (real)(2 * fraction - 1) : (real)ldexp(2 * fraction - 1, -(i % 60));
        if (a != 0)
            note(&worst, ulps(wide_lane(wide_expm1(wide_set(a)), 0), expm1l((long double)a)));
    }
    assert(wide_lane(wide_expm1(wide_set(0)), 0) == 0);
    assert(wide_lane(wide_expm1(wide_set((real)-1e6)), 0) == -1);
    assert(wide_lane(wide_expm1(wide_set((real)1e6)), 0) < (real)INFINITY);
    printf("less one    %.2f ulp\n", worst);
    assert(worst < limit);
}

int main(void)
{
    test_logarithm(2); /* measured 0.9 in float, 1.1 in double; with fused operations the same */
    test_logarithmic_excess(4, 16); /* measured 2.7 and 5.3, 2.8 and 7.9 */
    test_logarithm_near(4); /* measured 0.7 and 3.1 */
    test_exponential_excess(12); /* measured 5.9 and 5.8 */
    test_exponential(2); /* measured 1.2 and 1.1 */
    test_exponential_less_one(6); /* measured 4.0 and 4.3 */
    return 0;
}
