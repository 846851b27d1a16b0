/* SPDX-License-Identifier: MIT
 *
 * The registry of steppers: formulas that advance a system by one step. To add one, write its functions and a row in
 * steppers.c.
 */
#pragma once
#include "ode/march.h"

typedef struct mpm_stepper {
    const char *name;
    const char *formula; /* h: the step; a(x, v, t) = M^-1 f; x*: x one step earlier; a prime: after the step */
    int order;
    double limit;    /* of h omega, up to which an undamped oscillator stays bounded; 0: none does */
    bool symplectic; /* keeps areas of phase space, for every potential */
    bool implicit;   /* solves for the new state */
    /** One step of any flow, as in runge_kutta.h; NULL: the stepper tells positions from velocities. */
    mpm_status (*advect)(const mpm_flow *flow, double *y, double t, double dt, double *scratch);
    /** One step of a system from the march's time; NULL: `advect` does it. The clock is left alone. */
    mpm_status (*step)(mpm_march *march, double dt);
    const char *reference;
} mpm_stepper;

/** Row `index` of the registry; NULL if there is none. */
const mpm_stepper *mpm_steppers_get(int index);

/** One step of a system. After an error x and v are not to be used. */
mpm_status mpm_steppers_step(const mpm_stepper *stepper, mpm_march *march, double dt);
