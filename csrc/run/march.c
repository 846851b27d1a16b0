/* SPDX-License-Identifier: MIT
 *
 * The frame of a step, for any method:
 *
 *     begin    all that may fail before it
 *     plan     its size: fixed, or automatic, and cut to end with the run
 *     attempt  may it be taken? No row has been written yet. An automatic step that is refused begins again with half
 *              its size, as often as needed
 *     commit   the new state; clock, books, history
 */
#include "run/march.h"

#include <math.h>

static const double POLL_INTERVAL = 0.05; /* [s] */

enum { MOST_RETRIES = 12 };

double mpm_march_fit_dt(double planned, double time, double end)
{
    const double left = end - time;
    return planned * (1 + 1e-6) >= left ? left : 2 * planned > left ? left / 2 : planned;
}

double mpm_march_hold_dt(double held, double limit)
{
    if (held > 0 && held <= limit && limit < 2 * held)
        return held;
    return held > 0 ? fmin(0.9 * limit, 2 * held) : 0.9 * limit;
}

void mpm_march_tick(mpm_run *run, const mpm_step *step)
{
    run->began = run->time;
    run->dt = step->dt;
    run->time = step->time;
    run->steps++;
}

mpm_status mpm_march_note_bound(mpm_run *run, double dt, mpm_stable_dt bound)
{
    mpm_error_note(&run->error, MPM_UNSTABLE, MPM_DT_ABOVE_BOUND, dt);
    run->error.kind = (int)bound.limit;
    run->error.value[0] = bound.dt;
    return MPM_UNSTABLE;
}

/* ---- a step ----------------------------------------------------------------------------------------------------- */

/* Finds when the step ends, and whether it is the last one. */
static void set_end(const mpm_run *run, mpm_step *step)
{
    const mpm_goal *goal = step->goal;
    step->time = step->dt == goal->end - run->time ? goal->end : run->time + step->dt;
    step->last = run->steps + 1 >= goal->last_step || step->time >= goal->end || step->time >= goal->pause;
}

static void plan(mpm_run *run, mpm_step *step)
{
    step->natural = 0;
    step->dt = run->settings->dt;
    if (!(step->dt > 0))
        run->method->plan(run->self, step);
    step->dt = mpm_march_fit_dt(step->dt, run->time, step->goal->end);
    set_end(run, step);
}

static mpm_status check_size(mpm_run *run, const mpm_step *step)
{
    const mpm_method *method = run->method;
    const mpm_common *settings = run->settings;
    if (settings->dt > 0 && !settings->allow_unstable && !(step->dt <= method->bound(run->self) * (1 + 1e-12)))
        return method->report(run->self, MPM_DT_ABOVE_BOUND, step);
    if (!(run->time + step->dt > run->time)) /* a run would never end */
        return mpm_error_note(&run->error, MPM_UNSTABLE, MPM_DT_TOO_SMALL, step->dt);
    return MPM_OK;
}

static void halve(mpm_run *run, mpm_step *step)
{
    run->health[run->method->refused]++;
    step->dt /= 2;
    step->natural = fmin(step->natural, step->dt);
    set_end(run, step);
}

static mpm_status attempt(mpm_run *run, mpm_step *step)
{
    const mpm_method *method = run->method;
    for (int retries = 0;; retries++) {
        mpm_reason reason = MPM_NO_REASON;
        const mpm_status status = method->attempt(run->self, step, &reason);
        if (status || reason == MPM_NO_REASON)
            return status;
        const bool may_retry = !method->may_retry || method->may_retry(run->self, step, reason);
        if (run->settings->dt > 0 || retries == MOST_RETRIES || !may_retry)
            return method->report(run->self, reason, step);
        halve(run, step);
    }
}

/* Makes the step the present state, and finds what speaks against another one: processes tell each other by what they
 * reduce in the commit anyway. */
static mpm_status commit(mpm_run *run, const mpm_step *step)
{
    mpm_status later = step->last ? MPM_OK : mpm_march_poll(run, step->goal);
    if (!step->last && !later)
        later = mpm_history_reserve(&run->history, &run->allocator);
    if (run->method->note)
        run->method->note(run->self, later);
    const mpm_status status = run->method->commit(run->self, step);
    return status ? status : later;
}

static mpm_status take_step(mpm_run *run, mpm_step *step)
{
    mpm_status status = run->method->begin ? run->method->begin(run->self) : MPM_OK;
    if (status)
        return status;
    plan(run, step);
    if ((status = check_size(run, step)) || (status = attempt(run, step)))
        return status;
    run->natural_dt = step->natural;
    return commit(run, step);
}

/* ---- many ------------------------------------------------------------------------------------------------------- */

void mpm_march_begin_polls(mpm_run *run)
{
    run->next_poll = mpm_clock_seconds() + POLL_INTERVAL;
}

mpm_status mpm_march_poll(mpm_run *run, const mpm_goal *goal)
{
    if (!goal->poll || mpm_clock_seconds() < run->next_poll)
        return MPM_OK;
    const int stop = goal->poll(goal->context);
    mpm_march_begin_polls(run);
    return stop ? MPM_INTERRUPTED : MPM_OK;
}

mpm_status mpm_march_towards(mpm_run *run, const mpm_goal *goal)
{
    mpm_step step = {.goal = goal};
    mpm_status status = mpm_run_agree(run, mpm_history_reserve(&run->history, &run->allocator));
    while (!status && !step.last)
        status = take_step(run, &step);
    return status;
}
