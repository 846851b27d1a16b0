/* SPDX-License-Identifier: MIT
 *
 * A run of any method: clock, goal, history, health, error, threads. A method is a struct that contains an `mpm_run`,
 * and a table of functions; the Material Point Method is the first (mpm/simulation.c).
 */
#pragma once
#include "base/clock.h"
#include "base/pool.h"
#include "run/books.h"
#include "run/history.h"
#include "run/limit.h"
#include "run/loads.h"
#include "run/options.h"
#include "run/error.h"

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

/** The step that a run is taking. */
typedef struct mpm_step {
    const mpm_goal *goal;
    double natural;  /* dt of an automatic step, without the end of the run [s]; 0: the step is fixed */
    double dt, time; /* of the step [s]; when it ends */
    bool last;       /* the run ends with it */
} mpm_step;

struct mpm_material;
struct mpm_alteration;
struct mpm_snapshot_method;

/** What a method supplies: names, and functions of its struct `self`. */
typedef struct mpm_method {
    const char *row, *size;      /* in messages: what a row is, and what resolves the domain */
    const char *const *reasons;  /* names of its own reasons for errors, from MPM_REASONS on */
    const char *const *counters; /* names of the counters of its health; NULL after the last */
    int refused;                 /* the counter of refused steps */
    const char *const *phases;   /* names of the phases whose seconds it counts; NULL after the last */
    mpm_history_section (*section)(const void *self, int index); /* see mpm_history */
    void (*free)(void *self);

    /* What is simulated. Called between runs. */
    mpm_status (*add_material)(void *self, const struct mpm_material *material);
    int (*materials)(const void *self); /* their number */
    mpm_status (*add_collider)(void *self, const mpm_collider *collider);
    bool loads; /* does it have loads and held regions? */
    /** Changes what is simulated (run/alter.h). NULL: nothing can. */
    mpm_status (*alter)(void *self, const struct mpm_alteration *change);
    mpm_status (*remove)(void *self, const uint8_t *mask); /* the rows that are not 0; NULL: rows stay */
    mpm_status (*totals)(void *self, mpm_totals *totals);
    mpm_status (*stable_dt)(void *self, mpm_stable_dt *bound);
    const struct mpm_snapshot_method *snapshot; /* how its state is kept; NULL: it is not */
    /** For mpm_kept_snapshot, state in other places than rows, run and colliders: span `index`, all finite numbers, any
     *  of which is safe; NULL beyond the last. The first `lengths` of them are not negative. */
    double *(*numbers)(void *self, int index, size_t *count);
    size_t lengths;

    /* A run. The frame of its steps is run/march.c. */
    /** The status of all processes that run this together, after each has told its own. NULL: the process is alone. */
    mpm_status (*agree)(void *self, mpm_status status);
    /** Notes the own status, which `commit` tells the others and returns as `agree` does. NULL: none. */
    void (*note)(void *self, mpm_status status);
    /** Brings the state up to date and reports what is wrong with it. Called before the steps, with threads. */
    mpm_status (*refresh)(void *self);
    /** Does all that may fail before a step and does not depend on its size. NULL: nothing. */
    mpm_status (*begin)(void *self);
    /** Sets `natural` and `dt` of an automatic step. */
    void (*plan)(void *self, mpm_step *step);
    /** The bound of a fixed step [s]. */
    double (*bound)(const void *self);
    /** Tries the step without touching the present state: may it be taken? Errors: MPM_OUT_OF_MEMORY. */
    mpm_status (*attempt)(void *self, const mpm_step *step, mpm_reason *reason);
    /** May half the step succeed where this one was refused? NULL: it may. */
    bool (*may_retry)(const void *self, const mpm_step *step, mpm_reason reason);
    /** Notes the error of a refused step and returns its status. */
    mpm_status (*report)(void *self, mpm_reason reason, const mpm_step *step);
    /** Makes the step that was tried the present state: rows, books, clock (mpm_march_tick), record. On errors, the
     *  step is taken all the same. */
    mpm_status (*commit)(void *self, const mpm_step *step);
    /** Appends a record of the present state to the history, for which there is room, if one is due. */
    void (*record)(void *self);
    /** Called after the steps, also after errors and a failed refresh. `moved`: was any step taken? */
    void (*finish)(void *self, mpm_status status, bool moved);
    /** Called after `finish`, without threads; returns the status of the run. NULL: nothing is left to do. */
    mpm_status (*clean_up)(void *self, mpm_status status, bool paused);
} mpm_method;

enum { MPM_MOST_COUNTERS = 8, MPM_MOST_PHASES = 8 };

typedef struct mpm_run {
    const mpm_method *method;
    void *self; /* the argument of the method's functions */
    const mpm_common *settings; /* of the method */
    const mpm_boundary *boundary; /* of the method: domain with walls, colliders as they were added; NULL: none */
    mpm_allocator allocator;
    int threads;    /* of later runs, at least 1 */
    mpm_pool *pool; /* during a call */
    double time;    /* current time [s] */
    double dt;      /* of the last step [s]; 0 before the first */
    double began;   /* time at which the last step began [s] */
    double natural_dt; /* of the last automatic step, or of the next one if the method has planned it, without the end
                        * of the run [s]; 0: not planned yet */
    mpm_loads loads;       /* of methods that have them */
    mpm_forcing forcing;   /* of a forced step; else nothing acts */
    int64_t steps;  /* taken */
    bool suspect;   /* the last step left an error, which a run must report before it continues */
    double next_poll; /* [s] of mpm_clock_seconds */
    mpm_history history;
    int64_t health[MPM_MOST_COUNTERS]; /* counters, in the order of their names */
    double seconds[MPM_MOST_PHASES];   /* wall time of all runs in each phase */
    mpm_error error;
} mpm_run;

/** A run that has not begun. The settings and the boundary of the method must outlive it. */
mpm_run mpm_run_of(const mpm_method *method, void *self, const mpm_allocator *allocator, const mpm_common *settings,
                   const mpm_boundary *boundary);

/** Frees what a run holds. */
void mpm_run_clear(mpm_run *run);

/** Starts the threads of a call; mpm_run_end ends them. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_run_begin(mpm_run *run, int threads);
void mpm_run_end(mpm_run *run);

/** Takes `steps` whole steps (`end` infinite), or as many as reach the time `end` exactly (`steps` INT64_MAX). Returns
 *  early, with MPM_OK, after the first step that reaches the time `pause`. A new call with the remaining steps, the
 *  same `end` and a later `pause` continues with the same bits, provided that nothing wrote to the state. Does nothing,
 *  not even a refresh, if the goal is reached already. The first run records the state at the start; if not even one
 *  step is taken, that record is gone, too. `poll` may be NULL. Errors: MPM_OUT_OF_MEMORY, MPM_BAD_STATE, MPM_UNSTABLE,
 *  MPM_ESCAPED, MPM_NO_CONVERGENCE, MPM_INTERRUPTED. */
mpm_status mpm_run_advance(mpm_run *run, int64_t steps, double end, double pause, mpm_poll poll, void *context);

/** Adds a load between runs, before colliders: its columns of the history come before theirs. What a load does, the
 *  forcing of each step tells. Errors: as mpm_loads_add; MPM_BAD_ARGUMENT if the method has no loads. */
mpm_status mpm_run_add_load(mpm_run *run, const char *name);

/** Takes one whole step, to the time `end` at most, under `forcing`, whose arrays fit the rows and loads of the run.
 *  The bound of the time step does not include its forces; a step in which they move rows too far is refused like any
 *  other. */
mpm_status mpm_run_step_forced(mpm_run *run, const mpm_forcing *forcing, double end);

/** Adds a material between runs; it gets the next index. Errors: MPM_OUT_OF_MEMORY; MPM_TOO_LARGE if there is no room
 *  for its fields; MPM_BAD_ARGUMENT if the method cannot use its law, or a parameter cannot vary. */
static inline mpm_status mpm_run_add_material(mpm_run *run, const struct mpm_material *material)
{
    return run->method->add_material(run->self, material);
}

/** Their number. */
static inline int mpm_run_materials(const mpm_run *run)
{
    return run->method->materials(run->self);
}

/** Adds a collider (copied) between runs; third components are 0 in 2-D. Errors: as mpm_boundary_add; MPM_BAD_ARGUMENT
 *  and MPM_TOO_LARGE if the method cannot have it. */
static inline mpm_status mpm_run_add_collider(mpm_run *run, const mpm_collider *collider)
{
    return run->method->add_collider(run->self, collider);
}

/** Changes what is simulated, between runs; the state stays as it is. Errors: as mpm_alter_scene; MPM_BAD_ARGUMENT if
 *  the method cannot change it, or has no such material. On error nothing has changed. */
static inline mpm_status mpm_run_alter(mpm_run *run, const struct mpm_alteration *change)
{
    return run->method->alter ? run->method->alter(run->self, change) : MPM_BAD_ARGUMENT;
}

/** Removes the rows with `mask[row] != 0`; the others keep their order and id. Errors: MPM_OUT_OF_MEMORY;
 *  MPM_BAD_ARGUMENT if rows stay. */
static inline mpm_status mpm_run_remove(mpm_run *run, const uint8_t *mask)
{
    return run->method->remove ? run->method->remove(run->self, mask) : MPM_BAD_ARGUMENT;
}

/** Totals of the present state, and the bound of its time step with the row that sets it, after views are read in. */
static inline mpm_status mpm_run_totals(mpm_run *run, mpm_totals *totals)
{
    return run->method->totals(run->self, totals);
}

static inline mpm_status mpm_run_stable_dt(mpm_run *run, mpm_stable_dt *bound)
{
    return run->method->stable_dt(run->self, bound);
}

/** What the processes make of the own status: see mpm_method. */
static inline mpm_status mpm_run_agree(mpm_run *run, mpm_status status)
{
    return run->method->agree ? run->method->agree(run->self, status) : status;
}

/** Adds the time since `start` to a phase. */
static inline void mpm_run_spend(mpm_run *run, int phase, double start)
{
    run->seconds[phase] += mpm_clock_seconds() - start;
}
