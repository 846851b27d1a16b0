/* SPDX-License-Identifier: MIT */
#include "run/run.h"

#include <math.h>

static const double POLL_INTERVAL = 0.05; /* [s] */

mpm_run mpm_run_of(const mpm_method *method, void *self, const mpm_allocator *allocator, int dim, int every,
                   int threads)
{
    return (mpm_run){.method = method, .self = self, .allocator = *allocator, .threads = threads,
                     .history = {.dim = dim, .every = every, .section = method->section, .method = self}};
}

void mpm_run_clear(mpm_run *run)
{
    mpm_memory_free(&run->allocator, run->history.records);
}

mpm_status mpm_run_begin(mpm_run *run, int threads)
{
    return mpm_pool_start(&run->pool, &run->allocator, threads);
}

void mpm_run_end(mpm_run *run)
{
    mpm_pool_stop(run->pool);
    run->pool = NULL;
}

mpm_goal mpm_run_goal(const mpm_run *run, int64_t steps, double end)
{
    const int64_t last_step = steps > INT64_MAX - run->steps ? INT64_MAX : run->steps + steps;
    return (mpm_goal){.last_step = last_step, .end = end, .pause = INFINITY};
}

bool mpm_run_is_over(const mpm_run *run, const mpm_goal *goal)
{
    return run->steps >= goal->last_step || !(run->time < goal->end);
}

/* The first record of a history is the state before the first step. If that step is refused, the record goes: the state
 * may be another at the next attempt. */
static mpm_status advance(mpm_run *run, const mpm_goal *goal)
{
    const bool begins = run->steps == 0 && run->history.count == 0 && run->history.every > 0;
    if (begins) {
        const mpm_status status = mpm_history_reserve(&run->history, &run->allocator);
        if (status)
            return status;
        run->method->record(run->self);
    }
    const mpm_status status = run->method->advance(run->self, goal);
    if (begins && run->steps == 0)
        run->history.count = 0;
    return status;
}

mpm_status mpm_run_towards(mpm_run *run, const mpm_goal *goal)
{
    if (!run->suspect && mpm_run_is_over(run, goal))
        return MPM_OK; /* the goal is reached already: not even a refresh */
    const int64_t before = run->steps;
    mpm_status status = mpm_run_begin(run, run->threads);
    if (status)
        return status;
    run->next_poll = mpm_clock_seconds() + POLL_INTERVAL;
    if (!(status = run->method->refresh(run->self)) && !mpm_run_is_over(run, goal))
        status = advance(run, goal);
    run->method->finish(run->self, status, run->steps > before);
    mpm_run_end(run);
    return status;
}

double mpm_run_fit_dt(double planned, double time, double end)
{
    const double left = end - time;
    return planned * (1 + 1e-6) >= left ? left : 2 * planned > left ? left / 2 : planned;
}

double mpm_run_hold_dt(double held, double limit)
{
    if (held > 0 && held <= limit && limit < 2 * held)
        return held;
    return held > 0 ? fmin(0.9 * limit, 2 * held) : 0.9 * limit;
}

double mpm_run_end_of_step(const mpm_run *run, const mpm_goal *goal, double dt)
{
    return dt == goal->end - run->time ? goal->end : run->time + dt;
}

bool mpm_run_is_last(const mpm_run *run, const mpm_goal *goal, double time)
{
    return run->steps + 1 >= goal->last_step || time >= goal->end || time >= goal->pause;
}

void mpm_run_tick(mpm_run *run, double dt, double time)
{
    run->began = run->time;
    run->dt = dt;
    run->time = time;
    run->steps++;
}

mpm_status mpm_run_poll(mpm_run *run, const mpm_goal *goal)
{
    if (!goal->poll || mpm_clock_seconds() < run->next_poll)
        return MPM_OK;
    const int stop = goal->poll(goal->context);
    run->next_poll = mpm_clock_seconds() + POLL_INTERVAL;
    return stop ? MPM_INTERRUPTED : MPM_OK;
}
