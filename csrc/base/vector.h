/* SPDX-License-Identifier: MIT */
#pragma once

/** a . b */
static inline double mpm_dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/** out = a x b; out is neither */
static inline void mpm_cross3(double out[3], const double a[3], const double b[3])
{
    for (int c = 0; c < 3; c++)
        out[c] = a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
}

/** out = A v; out is not v */
static inline void mpm_multiply3(double out[3], const double A[3][3], const double v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = mpm_dot3(A[i], v);
}
