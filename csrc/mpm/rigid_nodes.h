/* SPDX-License-Identifier: MIT
 *
 * The nodes that rigid bodies touch.
 *
 * Deformable material lies at a node as far as its front: with the volume Omega = sum w J V0 at the node over that of a
 * cell, the front of a half space of material is f cells from the node, B(f) = Omega, where B is the distribution
 * function of the kernel. So the gap between a body and the material at a node is phi(x_i) - h f.
 */
#pragma once
#include "mpm/state.h"

/* Lists the nodes that the bodies of the world may touch in the step. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_rigid_nodes_find(mpm_simulation *simulation);

/* Gives the nodes their impulses, which become those that rounding lets them take; walls and colliders follow. */
void mpm_rigid_nodes_push(mpm_simulation *simulation);
