/* SPDX-License-Identifier: MIT
 *
 * Joints of rigid bodies to the world. A joint prescribes the velocity of a point of the body along directions, and
 * its spin about some axes: a hinge, a slider, a socket, a fixed axis; a joint that is driven moves along its last one.
 *
 * Joints are eliminated, not iterated. With rows J u = w and the inverse mass matrix W of a body, the body answers
 * to all else with W - W J^T (J W J^T)^-1 J W.
 *
 * In the middle of the step, a row's velocity is that which a step of constant spin gives a point that rests before and
 * after it: -dt/2 d . w x (w x r). So the velocity at the end of the step is the prescribed one, and the joint does no
 * work. The motion that moves the body takes back how far the point has come off.
 */
#pragma once
#include "rigid/rows.h"

/** Finds the rows of a body's joint and their velocities, in the middle of the step. */
void mpm_joints_find(mpm_rigid_state *body, const mpm_rigid_world *world);

/** Lets the joint hold a body whose inverse mass matrix is W, and which moves with u without the joint, in pass 0 or 1.
 *  `reaction`: the impulse, and its moment about the centre of mass; NULL: not wanted. */
void mpm_joints_hold(double W[6][6], double u[6], double reaction[6], const mpm_rigid_state *body, int pass);
