/* SPDX-License-Identifier: MIT
 *
 * A run, whatever the method: clock, goal, history, health, trouble, threads. A method is a struct with an `mpm_run` in
 * it and a table of a few functions; the Material Point Method is the first (integrate/simulation.c).
 */
#pragma once
#include "base/clock.h"
#include "base/pool.h"
#include "run/history.h"
#include "run/trouble.h"

/** Asked every 50 ms of a run; non-zero ends it after a whole step. */
typedef int (*mpm_poll)(void *context);

/** Where a run is to get: whichever of the three comes first. */
typedef struct mpm_goal {
    int64_t last_step; /* the number of the step to end with */
    double end;        /* [s], reached exactly */
    double pause;      /* [s]: the first step that reaches it is the last, but is no smaller for it */
    mpm_poll poll;     /* NULL: nobody asks to stop */
    void *context;     /* of `poll` */
} mpm_goal;

/** What a method supplies. */
typedef struct mpm_method {
    const char *const *counters; /* names of the counters of its health; NULL after the last */
    const char *const *phases;   /* names of the phases whose seconds it counts; the same */
    mpm_history_section (*section)(const void *self, int index); /* see mpm_history */
    /** Before the steps, with threads: brings the state up to date and names what is wrong with it. */
    mpm_status (*refresh)(void *self);
    /** Takes whole steps until the goal is reached, one at least. After each: clock, history, trouble. */
    mpm_status (*advance)(void *self, const mpm_goal *goal);
    /** After the steps, whatever ended them, a failed refresh too: `moved` says whether there were any. */
    void (*finish)(void *self, mpm_status status, bool moved);
} mpm_method;

enum { MPM_MOST_COUNTERS = 8, MPM_MOST_PHASES = 8 };

typedef struct mpm_run {
    const mpm_method *method;
    void *self; /* of the method's functions */
    mpm_allocator allocator;
    int threads;    /* of the runs to come, at least 1 */
    mpm_pool *pool; /* during a call */
    double time;    /* now [s] */
    double dt;      /* of the last step [s]; 0 before the first */
    double began;   /* the last step [s] */
    int64_t steps;  /* taken */
    bool suspect;   /* the last step left trouble that a run must name before it goes on */
    double next_poll; /* [s] by the clock */
    mpm_history history;
    int64_t health[MPM_MOST_COUNTERS]; /* counters, in the order of their names */
    double seconds[MPM_MOST_PHASES];   /* by the clock that all runs together have spent in a phase */
    mpm_trouble trouble;
} mpm_run;

/** A run that has not begun, of a method in `dim` dimensions that records every so many steps (0: never). */
mpm_run mpm_run_of(const mpm_method *method, void *self, const mpm_allocator *allocator, int dim, int every,
                   int threads);

/** Frees what a run holds. */
void mpm_run_clear(mpm_run *run);

/** Starts and ends threads. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_run_begin(mpm_run *run, int threads);
void mpm_run_end(mpm_run *run);

/** Runs towards a goal: nothing happens, not even a refresh, where it is reached already. Errors: the method's. */
mpm_status mpm_run_towards(mpm_run *run, const mpm_goal *goal);

/** Has the run reached its goal, and not just a pause? */
bool mpm_run_is_over(const mpm_run *run, const mpm_goal *goal);

/** The goal that is `steps` steps away, or the time `end`. */
mpm_goal mpm_run_goal(const mpm_run *run, int64_t steps, double end);

/* ---- for a method's `advance` ----------------------------------------------------------------------------------- */

/** The size of a step from `time` on: as planned, but ending exactly at `end`, without a tiny last step. Where the rest
 *  is one step but for the round-off of times, it is one step. */
double mpm_run_fit_dt(double planned, double time, double end);

/** When a step of size dt from now on ends. */
double mpm_run_end_of_step(const mpm_run *run, const mpm_goal *goal, double dt);

/** Is the next step, which ends at `time`, the last? */
bool mpm_run_is_last(const mpm_run *run, const mpm_goal *goal, double time);

/** The clock after a step of size dt that has ended at `time`. */
void mpm_run_tick(mpm_run *run, double dt, double time);

/** Asks whether to stop, where that is due: MPM_INTERRUPTED. */
mpm_status mpm_run_poll(mpm_run *run, const mpm_goal *goal);

/** Counts the time since `start` for a phase. */
static inline void mpm_run_spend(mpm_run *run, int phase, double start)
{
    run->seconds[phase] += mpm_clock_seconds() - start;
}
