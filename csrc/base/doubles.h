/* SPDX-License-Identifier: MIT
 *
 * The lanes of a `wide` as doubles, where a real is too short: one vector of doubles, or two halves of a vector of
 * floats. Arithmetic uses the ordinary operators.
 */
#pragma once
#include "base/simd.h"

enum { HALVES = REAL_IS_FLOAT && WIDTH > 1 ? 2 : 1, HALF = WIDTH / HALVES };

typedef double doubles __attribute__((vector_size(HALF * sizeof(double))));
typedef int64_t doubles_mask __attribute__((vector_size(HALF * sizeof(double)))); /* of a comparison: -1 or 0 */
typedef real half_lanes __attribute__((vector_size(HALF * sizeof(real))));

/** Lanes HALF half and on of `a`. */
INLINE doubles doubles_load(const wide *a, int half)
{
    half_lanes lanes;
    memcpy(&lanes, (const real *)a + half * HALF, sizeof lanes);
    return __builtin_convertvector(lanes, doubles);
}

/** Rounds `b` to these lanes of `a`. */
INLINE void doubles_store(wide *a, int half, doubles b)
{
    const half_lanes lanes = __builtin_convertvector(b, half_lanes);
    memcpy((real *)a + half * HALF, &lanes, sizeof lanes);
}

INLINE doubles doubles_select(doubles_mask m, doubles a, doubles b)
{
    return (doubles)((m & (doubles_mask)a) | (~m & (doubles_mask)b));
}

/** The nearest multiple of `unit`, a power of 2, for |a| < 2^51 unit. */
INLINE doubles doubles_round(doubles a, double unit)
{
    return (a + 0x1.8p52 * unit) - 0x1.8p52 * unit;
}
