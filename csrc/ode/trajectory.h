/* SPDX-License-Identifier: MIT
 *
 * Many steps with one stepper: the clock, records of the state, and the end of a run that goes wrong.
 */
#pragma once
#include <stdint.h>

#include "ode/steppers.h"

/** Called every 50 ms; a non-zero result ends the run after a whole step. */
typedef int (*mpm_trajectory_poll)(void *context);

typedef struct mpm_trajectory {
    int64_t steps, every; /* a record at the start, and after every `every` steps */
    const double *dt;     /* [s], > 0; of each step, or one for all */
    bool changing;        /* `dt` has one number per step */
    mpm_trajectory_poll poll; /* NULL: no poll */
    void *context;            /* of `poll` */
    /* Arrays with one row per record, steps/every + 1 of them. The first rows of x and v are the start. */
    double *times, *x, *v, *energy; /* [s], [m], [m/s], [J]; a flow has x alone */
    /* How it went. */
    int64_t taken;     /* whole steps */
    double time;       /* [s] after them */
    double failed_dt;  /* [s] of the step that failed; 0 if none did, but the energy of the last state */
    mpm_newton newton; /* of the last implicit step, where it failed */
} mpm_trajectory;

/** Errors: MPM_UNSTABLE: a number of the state is not finite; MPM_NO_CONVERGENCE; MPM_INTERRUPTED by the poll;
 *  MPM_OUT_OF_MEMORY; those of the system. Records before the failed step are whole. */
mpm_status mpm_trajectory_integrate(mpm_trajectory *trajectory, const mpm_allocator *allocator,
                                    const mpm_stepper *stepper, const mpm_system *system);

/** The same for a flow, with a stepper that has `advect`. */
mpm_status mpm_trajectory_advect(mpm_trajectory *trajectory, const mpm_allocator *allocator, const mpm_stepper *stepper,
                                 const mpm_flow *flow);
