/* SPDX-License-Identifier: MIT
 *
 * The rigid bodies of a simulation (rigid/body.h). All particles of a rigid material are one body.
 */
#pragma once
#include "mpm/state.h"

mpm_status mpm_rigid_reserve(mpm_simulation *simulation); /* room for one more material */
mpm_status mpm_rigid_set_form(mpm_simulation *simulation, int material, const mpm_rigid_form *form);
mpm_status mpm_rigid_name_joint(mpm_simulation *simulation, int material, const char *name);
void mpm_rigid_end(mpm_simulation *simulation);           /* frees all that this file has allocated */
int mpm_rigid_too_long(const mpm_simulation *simulation); /* the material of the body that had a step refused */

/* After the grid pass: lets the bodies meet each other, walls, colliders and the nodes, whose velocities change.
 * `reason`: why the step cannot be taken. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_rigid_meet(mpm_simulation *simulation, double dt, mpm_reason *reason);

/* Enters what the bodies have done in a step that is taken. */
void mpm_rigid_keep_books(mpm_simulation *simulation, double dt);

/* Finds how the bodies move in the step, before G2P, and raises `travel`. Returns why the step cannot be taken. */
mpm_reason mpm_rigid_move(mpm_simulation *simulation, double dt, double *travel);

/* Moves the bodies at the end of a step that is taken, and adds them to the measure of the new state. Particles follow
 * where one of them may have left the domain, otherwise by `mpm_rigid_motion_place`. */
void mpm_rigid_advance(mpm_simulation *simulation, double dt, mpm_measure *measure);
