/* SPDX-License-Identifier: MIT */
#pragma once
#include "mpm/rigid_motion.h"

/* Keeps the body of the material within the walls: adds the impulses of the walls to the body and to `impulse`, and
 * finds the motion that follows. They add no energy. If none are found, the body stands still. */
void mpm_rigid_walls_move(const mpm_simulation *simulation, size_t material, mpm_body *body, double dt,
                          double impulse[3]);
