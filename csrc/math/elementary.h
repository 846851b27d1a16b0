/* SPDX-License-Identifier: MIT
 *
 * Logarithm and exponential, lane by lane, without libm: the same operations for every lane count.
 * Errors are below 2 ulp over the normal range, where nothing else is said (tests/c/test_elementary.c).
 */
#pragma once
#include "base/simd.h"

/* f - log(1 + f) for m = 1 + f in [sqrt(1/2), sqrt(2)). With s = f/(m + 1), |s| <= 0.1716, log m = 2 artanh s is
 * f - s (f - 2 s^2 p), p = 1/3 + s^2/5 + ..., which falls by 34 per term: nothing cancels. */
INLINE wide log_defect(wide f, wide m)
{
    const wide s = f / (m + wide_set(1)), s2 = s * s;
    wide p = wide_set(0);
    const int terms = REAL_IS_FLOAT ? 5 : 11;
    UNROLL for (int k = terms; k > 0; k--)
        p = wide_fma(p, s2, wide_set((real)(1.0 / (2 * k + 1))));
    return s * (f - wide_set(2) * s2 * p);
}

/* a = 2^e m with m in [sqrt(1/2), sqrt(2)) */
struct log_parts {
    wide e, m;
};

INLINE struct log_parts log_parts_of(wide a)
{
    const real_int sqrt_half = REAL_IS_FLOAT ? (real_int)0x3f3504f3 : (real_int)0x3fe6a09e667f3bcd;
    const real_int one = (real_int)EXPONENT_BIAS << MANTISSA_BITS;
    wide_int shifted = wide_int_subtract(wide_as_int(a), wide_int_set(sqrt_half - one));
    wide_int exponent = (shifted >> MANTISSA_BITS) - wide_int_set(EXPONENT_BIAS);
    wide m = wide_as_real(wide_int_subtract(wide_as_int(a), wide_int_shift_left(exponent, MANTISSA_BITS)));
    const struct log_parts parts = {wide_from_int(exponent), m};
    return parts;
}

/* e ln 2 + log_m */
INLINE wide log_sum(wide e, wide log_m)
{
    const real ln2_high = (real)(REAL_IS_FLOAT ? 0.693145751953125 : 0.6931471803691238);
    const real ln2_low = (real)(REAL_IS_FLOAT ? 1.42860682030941723e-6 : 1.9082149292705877e-10);
    return wide_fma(e, wide_set(ln2_high), wide_fma(e, wide_set(ln2_low), log_m));
}

/** Natural logarithm of a positive normal number; for other arguments, an arbitrary number or NaN.
 *
 *  The leading term m - 1 of log m is exact. */
INLINE wide wide_log(wide a)
{
    const struct log_parts p = log_parts_of(a);
    const wide f = p.m - wide_set(1);
    return log_sum(p.e, f - log_defect(f, p.m));
}

/** The same, and a - 1 - ln a in `excess`. In the lanes of `near`, where a is between sqrt(1/2) and sqrt(2), `f` is
 *  a - 1 before a was rounded. */
INLINE wide wide_log_near(wide a, wide f, mask near, wide *excess)
{
    const struct log_parts p = log_parts_of(a);
    const wide one = wide_set(1), precise = wide_select(near, f, p.m - one), defect = log_defect(precise, p.m);
    const wide ln = log_sum(p.e, precise - defect);
    *excess = wide_select(near, defect, a - one - ln);
    return ln;
}

/** The same for any argument; the least positive normal number replaces any that is not a positive normal number. */
INLINE wide wide_log_any(wide a)
{
    return wide_log(wide_max(a, wide_set((real)(REAL_IS_FLOAT ? 1.2e-38 : 2.3e-308))));
}

/** a - 1 - log a >= 0 for positive normal arguments. The error is within 4 ulp near a = 1, where the plain difference
 *  would lose all digits, and within 16 ulp elsewhere. */
INLINE wide wide_log_excess(wide a)
{
    const wide f = a - wide_set(1), near = log_defect(f, a);
    const mask far = mask_not(wide_less(wide_set((real)0.7072), a) & wide_less(a, wide_set((real)1.4142)));
    if (__builtin_expect(mask_any(far), 0))
        return wide_select(far, f - wide_log(a), near);
    return near;
}

/** Exponential. The argument is clamped so that the result is a normal number.
 *
 *  a = n ln 2 + r, |r| <= ln(2)/2; the series of e^r, then the exponent is added as bits. */
INLINE wide wide_exp(wide a)
{
    a = wide_min(wide_max(a, wide_set((real)(REAL_IS_FLOAT ? -87.0 : -708.0))),
                 wide_set((real)(REAL_IS_FLOAT ? 88.0 : 709.0)));
    wide n = wide_round(a * wide_set((real)1.4426950408889634));
    const real ln2_high = (real)(REAL_IS_FLOAT ? 0.693145751953125 : 0.6931471803691238);
    const real ln2_low = (real)(REAL_IS_FLOAT ? 1.42860682030941723e-6 : 1.9082149292705877e-10);
    wide r = wide_fnma(n, wide_set(ln2_low), wide_fnma(n, wide_set(ln2_high), a));
    static const double inverse_factorial[14] = {
        1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
        1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    const int degree = REAL_IS_FLOAT ? 7 : 13;
    wide p = wide_set((real)inverse_factorial[degree]);
    UNROLL for (int k = degree - 1; k >= 0; k--)
        p = wide_fma(p, r, wide_set((real)inverse_factorial[k]));
    return wide_as_real(wide_as_int(p) + wide_int_shift_left(wide_to_int(n), MANTISSA_BITS));
}

/** sinh(w)/w, given e^w. The series ends below rounding for |w| < 1/2. */
INLINE wide wide_sinhc(wide w, wide grown)
{
    const wide half = wide_set((real)0.5), w2 = w * w;
    wide series = wide_set(1);
    UNROLL for (int k = REAL_IS_FLOAT ? 4 : 7; k > 0; k--)
        series = wide_fma(series * w2, wide_set((real)(1.0 / (2 * k * (2 * k + 1)))), wide_set(1));
    const mask near = wide_less(wide_abs(w), half);
    return wide_select(near, series, half * (grown - wide_set(1) / grown) / wide_select(near, wide_set(1), w));
}

/** e^a - 1 - a, given e^a: the series where that is small, so that nothing cancels. */
INLINE wide wide_exp_excess(wide a, wide grown)
{
    const wide one = wide_set(1), half = wide_set((real)0.5);
    wide series = one;
    UNROLL for (int k = REAL_IS_FLOAT ? 8 : 14; k > 2; k--)
        series = wide_fma(series * a, wide_set((real)(1.0 / k)), one);
    return wide_select(wide_less(wide_abs(a), half), half * a * a * series, grown - one - a);
}

/** e^a - 1, to 6 ulp also where the exponential is near 1. */
INLINE wide wide_expm1(wide a)
{
    const int degree = REAL_IS_FLOAT ? 7 : 13;
    const mask near = wide_less_equal(wide_abs(a), wide_set((real)0.34));
    const wide r = wide_select(near, a, wide_set(0));
    wide p = wide_set(1);
    UNROLL for (int k = degree; k > 1; k--)
        p = wide_fma(p * r, wide_set((real)(1.0 / k)), wide_set(1));
    return wide_select(near, p * r, wide_exp(a) - wide_set(1));
}
