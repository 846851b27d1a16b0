/* SPDX-License-Identifier: MIT */
#pragma once
#include <time.h>

/** Seconds of a monotonic clock, from an arbitrary start. */
static inline double mpm_clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
