/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdint.h>
#include <time.h>

/** Seconds of a monotonic clock, from an arbitrary start. */
static inline double mpm_clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/** Nanoseconds for which the calling thread has run, without those in which it waited. */
static inline int64_t mpm_clock_of_thread(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
