/* SPDX-License-Identifier: MIT
 *
 * The C interface of mpm, from the ground up:
 *
 *     base/status.h             what a call can answer
 *     base/memory.h             where memory comes from
 *     materials/laws.h          the constitutive laws and their parameters
 *     contact/walls.h           contact conditions of the domain's faces
 *     contact/shape.h           shapes as signed distances
 *     contact/motion.h          prescribed motion
 *     contact/collider.h        bodies that push material and are not pushed back
 *     integrate/dispatch.h      instruction sets and their kernels
 *     integrate/simulation.h    make a simulation, add particles, run, look
 *     integrate/integrator.h    ways to advance it
 *     integrate/history.h       what is recorded at every step
 *     integrate/snapshot.h      the complete state as plain arrays, and back
 *
 * A simulation in C:
 *
 *     mpm_allocator memory = mpm_memory_default();
 *     mpm_settings settings = {.dim = 3, .real_size = sizeof(double), .dx = 0.02, ...};
 *     mpm_simulation *simulation;
 *     mpm_simulation_new(&simulation, &memory, &settings);
 *     mpm_simulation_add_material(simulation, &(mpm_material){MPM_NEO_HOOKEAN, {1e5, 0.3}});
 *     mpm_simulation_add(simulation, n, x, v, C, F, volume, mass, 0);
 *     mpm_simulation_run(simulation, 100, INFINITY, INFINITY, NULL, NULL);
 *     mpm_simulation_free(simulation);
 */
#pragma once
#include "base/memory.h"
#include "base/status.h"
#include "contact/collider.h"
#include "contact/walls.h"
#include "integrate/dispatch.h"
#include "integrate/history.h"
#include "integrate/integrator.h"
#include "integrate/simulation.h"
#include "integrate/snapshot.h"
#include "materials/laws.h"
