/* SPDX-License-Identifier: MIT
 *
 * The motions of rigid bodies, from their particles and back to them. Motions go from step to step; particles show
 * them, rounded, where somebody looks.
 */
#pragma once
#include "mpm/state.h"

/* Adds up the groups of every body; `dt` > 0: what the body force of such a step gives them. */
void mpm_rigid_motion_sum(mpm_simulation *simulation, double dt);

/* Finds the motions of the bodies from their particles, if any have come, gone or been changed. */
void mpm_rigid_motion_find(mpm_simulation *simulation);

/* Before particles are written: notes what they show of the motions of their bodies. As long as they show the same, a
 * write changes no motion. */
void mpm_rigid_motion_note(mpm_simulation *simulation);

/* Gives the particles the places and velocities that their bodies have, before somebody looks. */
void mpm_rigid_motion_place(mpm_simulation *simulation);

/* The same in any case. Returns what has become of those outside the domain, at the end of a step. */
mpm_measure mpm_rigid_motion_show(mpm_simulation *simulation, bool ends_step);

/* Finds the box around a body, and how fast its surface moves. */
void mpm_rigid_motion_extent(const mpm_rigid_form *form, mpm_rigid_body *body);

/* Keeps the forces at the points of a body, as particles store them. */
void mpm_rigid_motion_keep_forces(const mpm_simulation *simulation, const struct rigid_form *form, double (*to)[3],
                                  double (*from)[3]);

/* B = Q A Q^T */
void mpm_rigid_motion_turn(double B[3][3], const double Q[3][3], const double A[3][3]);

/* Adds the bodies to a measure of the other particles. */
void mpm_rigid_motion_measure(const mpm_simulation *simulation, mpm_measure *measure);
