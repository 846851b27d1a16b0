/* SPDX-License-Identifier: MIT
 *
 * Conjugate gradients with a diagonal preconditioner, for any method. The solver sees numbers alone; the vectors belong
 * to the method:
 *
 *     A x = b,  r = b - A x,  p: search direction,  q = A p,  M: preconditioner
 *
 * M. R. Hestenes, E. Stiefel, Methods of conjugate gradients for solving linear systems, Journal of Research of the
 * National Bureau of Standards 49 (1952) 409-436.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/** The size of r. */
typedef struct mpm_krylov_residual {
    double norm2;          /* |r|^2, in the norm that decides on the end of a solve */
    double preconditioned; /* r M^-1 r */
} mpm_krylov_residual;

typedef struct mpm_linear_system {
    void *self; /* the argument of the functions */
    /** q = A p. Returns p q. */
    double (*multiply)(void *self);
    /** x += a p, r -= a q. */
    mpm_krylov_residual (*advance)(void *self, double a);
    /** p = M^-1 r + b p. */
    void (*redirect)(void *self, double b);
} mpm_linear_system;

typedef struct mpm_krylov {
    mpm_krylov_residual residual; /* at the end */
    int64_t products;
    bool indefinite;   /* stopped at a direction along which A is not positive */
} mpm_krylov;

/** Solves until |r|^2 <= `target2`, at most `most` products. The caller has set x = 0, r = b, p = M^-1 r, and gives the
 *  size of r. If A is not positive along the first direction already, x is that direction. */
mpm_krylov mpm_krylov_solve(const mpm_linear_system *system, mpm_krylov_residual residual, double target2,
                            int64_t most);
