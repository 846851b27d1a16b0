/* SPDX-License-Identifier: MIT */
#include "run/run.h"

#include <math.h>

#include "run/march.h"

mpm_run mpm_run_of(const mpm_method *method, void *self, const mpm_allocator *allocator, const mpm_common *settings,
                   const mpm_boundary *boundary)
{
    return (mpm_run){
        .method = method, .self = self, .allocator = *allocator, .settings = settings, .boundary = boundary,
        .threads = settings->threads,
        .history = {.dim = settings->dim, .every = settings->history, .section = method->section, .method = self}};
}

void mpm_run_clear(mpm_run *run)
{
    mpm_memory_free(&run->allocator, run->history.records);
    mpm_loads_clear(&run->loads, &run->allocator);
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

/* The first record of a history is the state before the first step. If that step is refused, the record goes: the state
 * may be another at the next attempt. */
static mpm_status march(mpm_run *run, const mpm_goal *goal)
{
    const bool begins = run->steps == 0 && run->history.count == 0 && run->history.every > 0;
    if (begins) {
        const mpm_status status = mpm_run_agree(run, mpm_history_reserve(&run->history, &run->allocator));
        if (status)
            return status;
        run->method->record(run->self);
    }
    const mpm_status status = mpm_march_towards(run, goal);
    if (begins && run->steps == 0)
        run->history.count = 0;
    return status;
}

static bool is_over(const mpm_run *run, const mpm_goal *goal)
{
    return run->steps >= goal->last_step || !(run->time < goal->end);
}

mpm_status mpm_run_advance(mpm_run *run, int64_t steps, double end, double pause, mpm_poll poll, void *context)
{
    const int64_t before = run->steps, last_step = steps > INT64_MAX - before ? INT64_MAX : before + steps;
    const mpm_goal goal = {last_step, end, pause, poll, context};
    mpm_status status = MPM_OK;
    if (run->suspect || !is_over(run, &goal)) {
        if ((status = mpm_run_agree(run, mpm_run_begin(run, run->threads)))) {
            mpm_run_end(run);
            return status;
        }
        mpm_march_begin_polls(run);
        if (!(status = run->method->refresh(run->self)) && !is_over(run, &goal))
            status = march(run, &goal);
        run->method->finish(run->self, status, run->steps > before);
        mpm_run_end(run);
    }
    return run->method->clean_up ? run->method->clean_up(run->self, status, !is_over(run, &goal)) : status;
}

mpm_status mpm_run_add_load(mpm_run *run, const char *name)
{
    return run->method->loads ? mpm_loads_add(&run->loads, &run->allocator, &run->history, name) : MPM_BAD_ARGUMENT;
}

mpm_status mpm_run_step_forced(mpm_run *run, const mpm_forcing *forcing, double end)
{
    run->forcing = *forcing;
    const mpm_status status = mpm_run_advance(run, 1, end, INFINITY, NULL, NULL);
    run->forcing = (mpm_forcing){0};
    return status;
}
