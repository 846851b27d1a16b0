/* SPDX-License-Identifier: MIT
 *
 * The backward Euler step and its linear model. The other implicit steppers are made of them.
 */
#pragma once
#include "ode/march.h"

/** Solves v' = v + dt M^-1 f(x', v', t), x' = x + dt v' by Newton's method and conjugate gradients, to rounding; x and
 *  v of the march become x' and v'. Errors: MPM_NO_CONVERGENCE, those of the system; x and v are unchanged. */
mpm_status mpm_backward_step(mpm_march *march, double t, double dt);

/** The same with f linear about (x, v), for which one linear system is the whole solution:
 *
 *      (M - dt^2 K - dt D) (v' - v) = dt (f + dt K v),  K = df/dx, D = df/dv
 *
 *  D. Baraff, A. Witkin, Large steps in cloth simulation, SIGGRAPH 1998, 43-54. doi:10.1145/280814.280821 */
mpm_status mpm_backward_linear_step(mpm_march *march, double t, double dt);
