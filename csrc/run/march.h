/* SPDX-License-Identifier: MIT
 *
 * The frame of the steps of any method, and its clock.
 */
#pragma once
#include "run/run.h"

/** Takes whole steps, at least one, until the goal is reached. Updates clock, history and error after each. */
mpm_status mpm_march_towards(mpm_run *run, const mpm_goal *goal);

/** Sets the time of the clock [s] from which on a poll is due. */
void mpm_march_begin_polls(mpm_run *run);

/** Polls if a poll is due. Errors: MPM_INTERRUPTED if the poll asks to stop. */
mpm_status mpm_march_poll(mpm_run *run, const mpm_goal *goal);

/* ---- for methods ------------------------------------------------------------------------------------------------ */

/** The automatic step of a method that conserves energy as long as dt stays the same, such as symplectic Euler: a dt
 *  that follows the vibrations of the material makes them grow. The last step is held until the limit falls below it,
 *  or has doubled; then dt is set with room to spare. `held` is 0 at first. */
double mpm_march_hold_dt(double held, double limit);

/** The size of a step that begins at `time`: as planned, but the last step ends exactly at `end` and is not tiny. A
 *  rest that exceeds one step only by round-off becomes one step. */
double mpm_march_fit_dt(double planned, double time, double end);

/** Advances the clock at the end of a step. */
void mpm_march_tick(mpm_run *run, const mpm_step *step);

/** Notes that a fixed step exceeds a bound. Returns MPM_UNSTABLE. */
mpm_status mpm_march_note_bound(mpm_run *run, double dt, mpm_stable_dt bound);
