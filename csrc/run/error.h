/* SPDX-License-Identifier: MIT
 *
 * Error: the details of a failed call, for the error message.
 */
#pragma once
#include <stdint.h>

#include "base/status.h"
#include "run/fields.h"

enum { MPM_MOST_ERROR_ROWS = 1000 };

/** Why a step was refused or a run ended. A method numbers its own reasons from MPM_REASONS on. */
typedef int mpm_reason;
enum {
    MPM_NO_REASON,
    MPM_DT_TOO_SMALL,       /* the step would not advance the clock */
    MPM_DT_ABOVE_BOUND,     /* the fixed dt exceeds the bound of the state: `kind` is the mpm_limit, value[0] the bound
                             * [s] */
    MPM_COLLIDER_TOO_FAST,  /* a collider near material would move too far: `name`, value[0] a bound of its speed there
                             * [m/s], value[1] the largest dt for it [s], 0 if none was found */
    MPM_NOT_CONVERGED,      /* an implicit step was not solved: `kind` has the bits of mpm_unsolved, value[0] the least
                             * residual, value[1] the tolerance */
    MPM_LEFT_RANGE,         /* J left the range of the law `name`, or NULL */
    MPM_STATE_NOT_FINITE,   /* F or the history, after the return map of the user's law `name` */
    MPM_RESPONSE_NOT_FINITE, /* a stress, an energy or a modulus, by the law `name` */
    MPM_LEFT_DOMAIN,        /* `name` is the collider that the first row touches, or NULL */
    MPM_WRITTEN_NOT_FINITE, /* through a view: NaN or infinite */
    MPM_WRITTEN_INVERTED,   /* through a view: det F <= 0, or beyond the range of the field */
    MPM_WRITTEN_OUTSIDE,    /* through a view: a position outside the domain */
    MPM_WRITTEN_NOT_STATE,  /* through a view: J of a solid, F of a fluid, or the history of another law */
    MPM_WRITTEN_TOGETHER,   /* through views: values that break a condition together, which `name` has in words */
    MPM_DEVICE_ENDED,       /* of a GPU, whose driver says `name` */
    MPM_REASONS
};

/** What is known of an implicit step that was not solved. */
enum mpm_unsolved {
    MPM_UNSOLVED_AUTOMATIC = 1,  /* dt had been halved as often as it may */
    MPM_UNSOLVED_ITERATIONS = 2, /* the iterations were used up, and there may be more */
    MPM_UNSOLVED_ROUNDING = 4,   /* of what was left, rounding hides the energy */
    MPM_UNSOLVED_INDEFINITE = 8  /* the system was not positive definite, and a setting projects it */
};

/** Set by a call that returns MPM_BAD_STATE, MPM_UNSTABLE or MPM_ESCAPED. */
typedef struct mpm_error {
    mpm_reason reason;
    double dt;              /* of the failed step [s] */
    const mpm_field *field; /* MPM_WRITTEN_...: the field that was written */
    const char *row;        /* the same: what a row is; NULL: what the method says */
    const char *name;       /* subject of the message; with `kind` and `value`, as the method's reason defines */
    int kind;
    double value[2];
    int64_t count; /* number of rows at fault */
    int row_count; /* number of rows listed, in ascending order */
    int32_t rows[MPM_MOST_ERROR_ROWS];
} mpm_error;

/** The name of a reason, as in "dt_too_small"; `own`: those of the method's reasons. */
const char *mpm_error_reason(mpm_reason reason, const char *const *own);

/** Begins a new error with its reason and the step, and returns `status`. */
mpm_status mpm_error_note(mpm_error *error, mpm_status status, mpm_reason reason, double dt);

/** Adds the rows whose flag is `flag`. */
void mpm_error_add_rows(mpm_error *error, const uint8_t *flags, ptrdiff_t rows, int flag);
