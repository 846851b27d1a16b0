/* SPDX-License-Identifier: MIT
 *
 * A run of any method: clock, goal, history, health, trouble, threads. A method is a struct that contains an `mpm_run`,
 * and a table of a few functions; the Material Point Method is the first (mpm/simulation.c).
 */
#pragma once
#include "base/clock.h"
#include "base/pool.h"
#include "run/history.h"
#include "run/trouble.h"

/** A run calls this every 50 ms; a non-zero result ends the run after a whole step. */
typedef int (*mpm_poll)(void *context);

/** The goal of a run: whichever of the first three members is reached first. */
typedef struct mpm_goal {
    int64_t last_step; /* the number of the step to end with */
    double end;        /* [s], reached exactly */
    double pause;      /* [s]: the run stops after the first step that reaches it; that step is not shortened */
    mpm_poll poll;     /* NULL: no poll */
    void *context;     /* of `poll` */
} mpm_goal;

/** The functions and names that a method supplies. */
typedef struct mpm_method {
    const char *const *counters; /* names of the counters of its health; NULL after the last */
    const char *const *phases;   /* names of the phases whose seconds it counts; NULL after the last */
    mpm_history_section (*section)(const void *self, int index); /* see mpm_history */
    /** Brings the state up to date and reports what is wrong with it. Called before the steps, with threads. */
    mpm_status (*refresh)(void *self);
    /** Takes whole steps, at least one, until the goal is reached. Updates clock, history and trouble after each. */
    mpm_status (*advance)(void *self, const mpm_goal *goal);
    /** Appends a record of the present state to the history, for which there is room, if one is due. */
    void (*record)(void *self);
    /** Called after the steps, also after errors and a failed refresh. `moved`: was any step taken? */
    void (*finish)(void *self, mpm_status status, bool moved);
} mpm_method;

enum { MPM_MOST_COUNTERS = 8, MPM_MOST_PHASES = 8 };

typedef struct mpm_run {
    const mpm_method *method;
    void *self; /* the argument of the method's functions */
    mpm_allocator allocator;
    int threads;    /* of later runs, at least 1 */
    mpm_pool *pool; /* during a call */
    double time;    /* current time [s] */
    double dt;      /* of the last step [s]; 0 before the first */
    double began;   /* time at which the last step began [s] */
    int64_t steps;  /* taken */
    bool suspect;   /* the last step left trouble, which a run must report before it continues */
    double next_poll; /* [s] of mpm_clock_seconds */
    mpm_history history;
    int64_t health[MPM_MOST_COUNTERS]; /* counters, in the order of their names */
    double seconds[MPM_MOST_PHASES];   /* wall time of all runs in each phase */
    mpm_trouble trouble;
} mpm_run;

/** A run that has not begun, for a method in `dim` dimensions, with a record every `every` steps (0: no history). */
mpm_run mpm_run_of(const mpm_method *method, void *self, const mpm_allocator *allocator, int dim, int every,
                   int threads);

/** Frees what a run holds. */
void mpm_run_clear(mpm_run *run);

/** Starts the threads of a call; mpm_run_end ends them. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_run_begin(mpm_run *run, int threads);
void mpm_run_end(mpm_run *run);

/** Runs towards a goal. Does nothing, not even a refresh, if the goal is reached already. The first run records the
 *  state at the start; if not even one step is taken, that record is gone, too. Errors: MPM_OUT_OF_MEMORY, the
 *  method's. */
mpm_status mpm_run_towards(mpm_run *run, const mpm_goal *goal);

/** Has the run reached its goal, and not just a pause? */
bool mpm_run_is_over(const mpm_run *run, const mpm_goal *goal);

/** The goal: `steps` more steps, or the time `end`. */
mpm_goal mpm_run_goal(const mpm_run *run, int64_t steps, double end);

/* ---- for a method's `advance` ----------------------------------------------------------------------------------- */

/** The automatic step of a method that conserves energy as long as dt stays the same, such as symplectic Euler: a dt
 *  that follows the vibrations of the material makes them grow. The last step is held until the limit falls below it,
 *  or has doubled; then dt is set with room to spare. `held` is 0 at first. */
double mpm_run_hold_dt(double held, double limit);

/** The size of a step that begins at `time`: as planned, but the last step ends exactly at `end` and is not tiny. A
 *  rest that exceeds one step only by round-off becomes one step. */
double mpm_run_fit_dt(double planned, double time, double end);

/** The time at which a step of size dt ends that begins now. */
double mpm_run_end_of_step(const mpm_run *run, const mpm_goal *goal, double dt);

/** Is the next step the last, given that it ends at `time`? */
bool mpm_run_is_last(const mpm_run *run, const mpm_goal *goal, double time);

/** Advances the clock after a step of size dt that has ended at `time`. */
void mpm_run_tick(mpm_run *run, double dt, double time);

/** Polls if a poll is due. Errors: MPM_INTERRUPTED if the poll asks to stop. */
mpm_status mpm_run_poll(mpm_run *run, const mpm_goal *goal);

/** Adds the time since `start` to a phase. */
static inline void mpm_run_spend(mpm_run *run, int phase, double start)
{
    run->seconds[phase] += mpm_clock_seconds() - start;
}
