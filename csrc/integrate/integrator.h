/* SPDX-License-Identifier: MIT
 *
 * The registry of integrators: ways to take a simulation from one whole state to the next. Adding one: its own file, a
 * number here, its row in integrator.c. A run knows an integrator by its row alone.
 */
#pragma once
#include "integrate/history.h"

/** Where a run is to get: whichever of the three comes first, after one step at least. */
typedef struct mpm_goal {
    int64_t last_step; /* the number of the step to end with */
    double end;        /* [s], reached exactly */
    double pause;      /* [s]: the first step that reaches it is the last, but is no smaller for it */
    mpm_poll poll;     /* NULL: nobody asks to stop */
    void *context;     /* of `poll` */
} mpm_goal;

typedef struct mpm_integrator {
    const char *name;
    /** Takes whole steps until the goal is reached, within a pool, from a state that is refreshed and has no trouble.
     *  After each: clock, books, history, and the search for trouble. */
    mpm_status (*advance)(mpm_simulation *simulation, const mpm_goal *goal);
    /** The bound of the time step in the present state, and what sets it. */
    mpm_stable_dt (*bound)(const mpm_simulation *simulation);
    /** What it adds to the history: `column_count` columns after those of the material, read from what `recorded`
     *  returns after each recorded step. */
    const mpm_history_entry *columns;
    int column_count;
    const void *(*recorded)(const mpm_simulation *simulation);
    const char *reference;
} mpm_integrator;

enum { MPM_EXPLICIT, MPM_INTEGRATOR_COUNT };

/** Row `index` of the registry; NULL if there is none. */
const mpm_integrator *mpm_integrator_get(int index);
