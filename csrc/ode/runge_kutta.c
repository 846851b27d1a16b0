/* SPDX-License-Identifier: MIT */
#include "ode/runge_kutta.h"

/* out = y + dt rate. */
static void move(const mpm_flow *flow, const double *y, double dt, const double *rate, double *out)
{
    for (ptrdiff_t i = 0; i < flow->count; i++)
        out[i] = y[i] + dt * rate[i];
}

mpm_status mpm_runge_kutta_euler(const mpm_flow *flow, double *y, double t, double dt, double *scratch)
{
    const mpm_status status = flow->rate(flow->self, y, t, scratch);
    if (!status)
        move(flow, y, dt, scratch, y);
    return status;
}

mpm_status mpm_runge_kutta_trapezoidal(const mpm_flow *flow, double *y, double t, double dt, double *scratch)
{
    double *first = scratch, *second = scratch + flow->count, *stage = scratch + 2 * flow->count;
    mpm_status status = flow->rate(flow->self, y, t, first);
    if (status)
        return status;
    move(flow, y, dt, first, stage);
    if ((status = flow->rate(flow->self, stage, t + dt, second)))
        return status;
    for (ptrdiff_t i = 0; i < flow->count; i++)
        y[i] += dt / 2 * (first[i] + second[i]);
    return MPM_OK;
}

mpm_status mpm_runge_kutta_midpoint(const mpm_flow *flow, double *y, double t, double dt, double *scratch)
{
    double *rate = scratch, *stage = scratch + flow->count;
    mpm_status status = flow->rate(flow->self, y, t, rate);
    if (status)
        return status;
    move(flow, y, dt / 2, rate, stage);
    if ((status = flow->rate(flow->self, stage, t + dt / 2, rate)))
        return status;
    move(flow, y, dt, rate, y);
    return MPM_OK;
}
