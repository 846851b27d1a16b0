/* SPDX-License-Identifier: MIT
 *
 * Cholesky's method for symmetric positive definite matrices of up to 6 rows: A = L L^T.
 */
#pragma once
#include <math.h>

/** Replaces the lower triangle of A, of n rows, by L. */
static inline void mpm_cholesky_factor(double A[6][6], int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = A[i][j];
            for (int k = 0; k < j; k++)
                sum -= A[i][k] * A[j][k];
            A[i][j] = i == j ? sqrt(sum) : sum / A[j][j];
        }
}

/** Replaces x by the solution of L L^T y = x. */
static inline void mpm_cholesky_solve(const double L[6][6], double x[6], int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= L[i][k] * x[k];
        x[i] /= L[i][i];
    }
    for (int i = n; i-- > 0;) {
        for (int k = i + 1; k < n; k++)
            x[i] -= L[k][i] * x[k];
        x[i] /= L[i][i];
    }
}
