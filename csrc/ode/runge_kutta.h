/* SPDX-License-Identifier: MIT
 *
 * Explicit steps of any flow dy/dt = r(y, t): those that advect particles, and those of systems whose state is
 * y = [x, v]. `scratch`: three arrays of `flow->count` numbers, one behind the other.
 */
#pragma once
#include "ode/system.h"

/** y' = y + dt r(y, t). */
mpm_status mpm_runge_kutta_euler(const mpm_flow *flow, double *y, double t, double dt, double *scratch);

/** Heun: y' = y + dt/2 (r + r1), r1 at the whole Euler step: r(y + dt r, t + dt). */
mpm_status mpm_runge_kutta_trapezoidal(const mpm_flow *flow, double *y, double t, double dt, double *scratch);

/** y' = y + dt r(y + dt/2 r, t + dt/2). */
mpm_status mpm_runge_kutta_midpoint(const mpm_flow *flow, double *y, double t, double dt, double *scratch);
