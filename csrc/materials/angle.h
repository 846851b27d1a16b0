/* SPDX-License-Identifier: MIT
 *
 * Angles of friction and dilation, for rows and kernels.
 */
#pragma once

/* Sine and cosine by their series, because those of the C library differ between machines. 0 <= angle <= pi/2 */
static inline void angle_sine_cosine(double angle, double *sine, double *cosine)
{
    double term = 1, part[4] = {0};
    for (int n = 0; n < 28; n++) {
        part[n % 4] += term;
        term *= angle / (n + 1);
    }
    *cosine = part[0] - part[2];
    *sine = part[1] - part[3];
}
