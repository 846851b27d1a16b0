/* SPDX-License-Identifier: MIT
 *
 * The rigid bodies of a simulation.
 */
#pragma once
#include "mpm/state.h"

mpm_status mpm_rigid_reserve(mpm_simulation *simulation); /* room for one more material */
int mpm_rigid_too_long(const mpm_simulation *simulation); /* the material of the body that had a step refused */
/* Finds the motion of every rigid body in the step, before G2P. Adds the impulses of the walls, and raises `travel`.
 * Returns why the step cannot be taken. */
mpm_reason mpm_rigid_find(mpm_simulation *simulation, double dt, double impulse[3], double *travel);
