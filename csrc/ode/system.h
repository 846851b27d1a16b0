/* SPDX-License-Identifier: MIT
 *
 * What steppers advance: systems of ordinary differential equations. A stepper sees arrays of numbers alone; whoever
 * fills a struct below with functions can be stepped.
 */
#pragma once
#include <stddef.h>

#include "base/status.h"

/** dy/dt = rate(y, t). */
typedef struct mpm_flow {
    void *self;      /* the argument of the function */
    ptrdiff_t count; /* numbers in y */
    /** The rate at y and the time t [s]. Anything but MPM_OK ends the run. */
    mpm_status (*rate)(void *self, const double *y, double t, double *rate);
} mpm_flow;

/** M dv/dt = f(x, v, t), dx/dt = v. Every function may fail: anything but MPM_OK ends the run. */
typedef struct mpm_system {
    void *self;                 /* the argument of the functions */
    ptrdiff_t count;            /* numbers in x, v and f: bodies times dimensions */
    const double *inverse_mass; /* of every number [1/kg]; 0: it does not move */
    /** The force [N]. */
    mpm_status (*force)(void *self, const double *x, const double *v, double t, double *f);
    /** Begins products at a state. Implicit steppers alone ask for them. */
    mpm_status (*linearize)(void *self, const double *x, const double *v, double t);
    /** q = (a df/dx + b df/dv) p at that state. The derivatives are symmetric matrices. */
    mpm_status (*multiply)(void *self, double a, double b, const double *p, double *q);
    /** The potential energy [J]. */
    mpm_status (*potential)(void *self, const double *x, double t, double *energy);
} mpm_system;
