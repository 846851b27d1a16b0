/* SPDX-License-Identifier: MIT */
#pragma once
#include "mpm/rigid_motion.h"

/* Lets the body of the material rebound from the walls and colliders with a restitution that it is about to touch.
 * `motion` has its sums. Adds the impulses to the body, and to `impulse` or the books of the colliders, which have the
 * pose of the step. */
void mpm_rigid_impacts_apply(const mpm_simulation *simulation, size_t material, const mpm_rigid_body *motion,
                             mpm_body *body, double dt, double impulse[3]);
