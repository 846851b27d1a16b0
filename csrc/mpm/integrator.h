/* SPDX-License-Identifier: MIT
 *
 * The registry of integrators, which differ in how a step finds the velocities of the nodes. To add an integrator,
 * write its file, an enumerator here, a row in integrator.c and its name in settings.c. A simulation knows an
 * integrator by its row alone.
 */
#pragma once
#include "mpm/simulation.h"

typedef struct mpm_integrator {
    /** Implicit methods: finds the velocities of the nodes, as mpm_implicit_solve; NULL: the grid pass does. */
    mpm_status (*solve)(mpm_simulation *simulation, double dt, mpm_block_report *report);
    bool linear;   /* solves the linear model about the beginning of the step alone, with the settings' `beta` */
    bool midpoint; /* evaluates forces in the middle of the step */
    /** The `column_count` columns that the integrator adds to the history, after those of the material. They are read
     *  from the struct that `recorded` returns, at any time. */
    const mpm_history_entry *columns;
    int column_count;
    const void *(*recorded)(const mpm_simulation *simulation);
    const char *reference;
} mpm_integrator;

enum { MPM_EXPLICIT, MPM_SEMI_IMPLICIT, MPM_IMPLICIT_EULER, MPM_IMPLICIT_MIDPOINT, MPM_INTEGRATOR_COUNT };

/** Row `index` of the registry; NULL if there is none. */
const mpm_integrator *mpm_integrator_get(int index);
