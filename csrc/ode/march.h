/* SPDX-License-Identifier: MIT
 *
 * The state of a system between two steps, and the arrays that steppers work in.
 */
#pragma once
#include <stdbool.h>

#include "base/memory.h"
#include "math/newton.h"
#include "ode/system.h"

enum { MPM_MARCH_SCRATCH = 10 };

typedef struct mpm_march {
    const mpm_system *system;
    mpm_allocator allocator;
    double time;    /* [s] */
    double *x, *v;  /* one behind the other: y = [x, v] */
    double *moved;  /* Verlet: x less x at the beginning of the last step */
    double *a;      /* Verlet: dv/dt at x */
    double last_dt; /* Verlet: of the last step [s]; 0: `moved` and `a` are not set */
    double *scratch[MPM_MARCH_SCRATCH]; /* `count` numbers each, one behind the other */
    mpm_newton newton;                   /* of the last implicit step */
} mpm_march;

/** The system at time 0, with x and v zero: set them. Errors: MPM_OUT_OF_MEMORY. Clear it in any case. */
mpm_status mpm_march_start(mpm_march *march, const mpm_allocator *allocator, const mpm_system *system);
void mpm_march_clear(mpm_march *march);

/** dv/dt at a state. */
mpm_status mpm_march_accelerate(const mpm_march *march, const double *x, const double *v, double t, double *a);

/** The flow of y = [x, v]: dy/dt = [v, M^-1 f]. It refers to the march. */
mpm_flow mpm_march_flow(mpm_march *march);

/** Kinetic and potential energy [J]. */
mpm_status mpm_march_energy(const mpm_march *march, double *energy);

/** Are all numbers finite? */
bool mpm_march_is_finite(const double *numbers, ptrdiff_t count);
