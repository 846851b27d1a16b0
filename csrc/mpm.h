/* SPDX-License-Identifier: MIT
 *
 * The C interface of mpm, from the ground up:
 *
 *     base/status.h             the status that functions return
 *     base/memory.h             where memory comes from
 *     materials/laws.h          the constitutive laws and their parameters
 *     contact/walls.h           contact conditions of the domain's faces
 *     contact/shape.h           shapes as signed distances
 *     contact/motion.h          prescribed motion
 *     contact/collider.h        bodies with prescribed motion
 *     contact/boundary.h        the domain with its walls, and the colliders
 *     run/run.h                 clock, history, health and error of a run of any method
 *     run/limit.h               bounds of the time step
 *     run/store.h               the rows of a run: fields, ids, and the views of users
 *     run/snapshot.h            the complete state of a run as plain arrays, and back
 *     run/kept.h                the same of methods whose fields are kept by row
 *     run/books.h               totals and impulses of any method
 *     run/variants.h            the instruction sets of this build and processor
 *     mpm/simulation.h          settings; make a simulation, add particles, run, query
 *     fem/fem.h                 finite elements: settings, nodes, mesh, run
 *     mpm/integrator.h          the registry of integrators
 *     sph/sph.h                 smoothed particle hydrodynamics of one fluid
 *     mpm/snapshot.h            the same of particles in tiles
 *     ode/system.h              systems of ordinary differential equations, as functions to fill in
 *     ode/systems.h             a few of them
 *     ode/steppers.h            the registry of the formulas that step them
 *     ode/trajectory.h          many steps, recorded
 *
 * A simulation in C, two particles that fall:
 *
 *     #include <math.h>
 *     #include <stdio.h>
 *
 *     #include "mpm.h"
 *
 *     int main(void)
 *     {
 *         const double x[] = {0.50, 0.5, 0.52, 0.5}, v[4] = {0}, volume[] = {4e-4, 4e-4}, mass[] = {0.4, 0.4};
 *         const mpm_material jelly = {.law = MPM_NEO_HOOKEAN, .values = {1e5, 0.3}};
 *         const mpm_allocator memory = mpm_memory_default();
 *         mpm_settings settings = mpm_settings_default(2);
 *         settings.gravity[1] = -9.81;
 *         mpm_simulation *simulation;
 *         mpm_totals totals = {0};
 *         mpm_status status = mpm_simulation_new(&simulation, &memory, &settings);
 *         if (!status)
 *             status = mpm_run_add_material(mpm_simulation_get_run(simulation), &jelly);
 *         if (!status)
 *             status = mpm_simulation_add(simulation, 2, x, v, NULL, NULL, volume, mass, 0);
 *         if (!status)
 *             status = mpm_run_advance(mpm_simulation_get_run(simulation), INT64_MAX, 0.1, INFINITY, NULL, NULL);
 *         if (!status)
 *             status = mpm_run_totals(mpm_simulation_get_run(simulation), &totals);
 *         printf("at %g s: %g m\n", totals.time, totals.center_of_mass[1]);
 *         mpm_simulation_free(simulation);
 *         return status;
 *     }
 */
#pragma once
#include "base/memory.h"
#include "base/status.h"
#include "contact/boundary.h"
#include "contact/collider.h"
#include "contact/rules.h"
#include "contact/walls.h"
#include "fem/fem.h"
#include "materials/laws.h"
#include "mpm/dispatch.h"
#include "mpm/integrator.h"
#include "mpm/simulation.h"
#include "mpm/snapshot.h"
#include "ode/steppers.h"
#include "ode/system.h"
#include "ode/systems.h"
#include "ode/trajectory.h"
#include "run/books.h"
#include "run/kept.h"
#include "run/limit.h"
#include "run/options.h"
#include "run/run.h"
#include "run/snapshot.h"
#include "run/store.h"
#include "run/variants.h"
#include "sph/sph.h"
