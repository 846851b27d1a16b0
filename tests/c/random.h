/* SPDX-License-Identifier: MIT
 *
 * Random numbers that are the same in every run and on every machine: xorshift64*, from `random_state`.
 */
#pragma once
#include <math.h>
#include <stdint.h>

static uint64_t random_state = 1;

static inline uint64_t random_bits(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1dull;
}

static inline double uniform(double low, double high)
{
    return low + (high - low) * ldexp((double)(random_bits() >> 11), -53);
}
