/* SPDX-License-Identifier: MIT
 *
 * The status that functions of the core return. `struct mpm_error` (run/error.h) describes numerical errors.
 */
#pragma once

typedef enum mpm_status {
    MPM_OK = 0,
    MPM_OUT_OF_MEMORY,  /* nothing was changed */
    MPM_TOO_LARGE,      /* a count or a size does not fit its type; nothing was changed */
    MPM_BAD_STATE,      /* non-finite, inverted or outside values were written through a view */
    MPM_UNSTABLE,       /* a step was refused, or a law left its range */
    MPM_NO_CONVERGENCE, /* an implicit step was not solved */
    MPM_ESCAPED,        /* a particle left the domain under on_leave="raise" */
    MPM_INTERRUPTED,    /* the poll callback asked to stop */
    MPM_BAD_ARGUMENT,   /* an argument names nothing that exists, or is out of its range; nothing was changed */
    MPM_DEVICE_FAILED   /* a GPU or its driver failed: the state of its simulation is lost */
} mpm_status;
