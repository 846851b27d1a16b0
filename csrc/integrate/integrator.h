/* SPDX-License-Identifier: MIT
 *
 * The registry of integrators: ways to take a simulation from one whole state to the next. Adding one: its own file, a
 * number here, its row in integrator.c. A simulation knows an integrator by its row alone.
 */
#pragma once
#include "integrate/simulation.h"

typedef struct mpm_integrator {
    const char *name;
    /** As mpm_method has it, from a state that is refreshed and has no trouble. */
    mpm_status (*advance)(mpm_simulation *simulation, const mpm_goal *goal);
    /** The bound of the time step in the present state, and what sets it. */
    mpm_stable_dt (*bound)(const mpm_simulation *simulation);
    /** What it adds to the history: `column_count` columns after those of the material, read from what `recorded`
     *  returns, which is asked at any time. */
    const mpm_history_entry *columns;
    int column_count;
    const void *(*recorded)(const mpm_simulation *simulation);
    const char *reference;
} mpm_integrator;

enum { MPM_EXPLICIT, MPM_INTEGRATOR_COUNT };

/** Row `index` of the registry; NULL if there is none. */
const mpm_integrator *mpm_integrator_get(int index);
