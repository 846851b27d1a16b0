/* SPDX-License-Identifier: MIT
 *
 * Arrays whose precision is known only at run time, number by number.
 */
#pragma once
#include <stddef.h>

/** Number `at` of an array of reals of `size` bytes, 4 or 8. */
static inline double mpm_real_at(const void *array, size_t at, size_t size)
{
    return size == sizeof(float) ? (double)((const float *)array)[at] : ((const double *)array)[at];
}

static inline void mpm_real_set(void *array, size_t at, double value, size_t size)
{
    if (size == sizeof(float))
        ((float *)array)[at] = (float)value;
    else
        ((double *)array)[at] = value;
}
