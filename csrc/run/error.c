/* SPDX-License-Identifier: MIT */
#include "run/error.h"

static const char *const reasons[MPM_REASONS] = {
    [MPM_NO_REASON] = "no_reason", [MPM_DT_TOO_SMALL] = "dt_too_small", [MPM_DT_ABOVE_BOUND] = "dt_above_bound",
    [MPM_COLLIDER_TOO_FAST] = "collider_too_fast", [MPM_NOT_CONVERGED] = "not_converged",
    [MPM_LEFT_RANGE] = "left_range", [MPM_STATE_NOT_FINITE] = "state_not_finite",
    [MPM_RESPONSE_NOT_FINITE] = "response_not_finite", [MPM_LEFT_DOMAIN] = "left_domain",
    [MPM_WRITTEN_NOT_FINITE] = "written_not_finite", [MPM_WRITTEN_INVERTED] = "written_inverted",
    [MPM_WRITTEN_OUTSIDE] = "written_outside", [MPM_WRITTEN_NOT_STATE] = "written_not_state",
    [MPM_WRITTEN_TOGETHER] = "written_together", [MPM_DEVICE_ENDED] = "device_ended"};

const char *mpm_error_reason(mpm_reason reason, const char *const *own)
{
    return reason < MPM_REASONS ? reasons[reason] : own[reason - MPM_REASONS];
}

mpm_status mpm_error_note(mpm_error *error, mpm_status status, mpm_reason reason, double dt)
{
    *error = (mpm_error){.reason = reason, .dt = dt};
    return status;
}

void mpm_error_add_rows(mpm_error *error, const uint8_t *flags, ptrdiff_t rows, int flag)
{
    for (ptrdiff_t row = 0; row < rows; row++)
        if (flags[row] == flag) {
            if (error->row_count < MPM_MOST_ERROR_ROWS)
                error->rows[error->row_count++] = (int32_t)row;
            error->count++;
        }
}
