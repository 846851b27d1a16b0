/* SPDX-License-Identifier: MIT
 *
 * Colliders (contact/collider.h) applied to nodes and particles, always in double: few nodes and particles need it.
 */
#pragma once
#include "contact/contacts.h"
#include "mpm/kernels/arena.h"
#include "mpm/kernels/tile.h"

/** Marks the colliders that can touch nodes of block `b`, or their images, in its books. Returns a bound of
 *  their speed [m/s], -1 if there are none. */
double MPM_KERNEL(collide_begin_nodes)(const mpm_colliders *colliders, const mpm_node_block *block, ptrdiff_t b,
                                       double dt);

/** The faces of the domain, before a node tells which of them hold it. */
mpm_faces MPM_KERNEL(collide_faces)(const mpm_colliders *colliders, const mpm_wall walls[6], const int64_t cells[3]);

/** Applies colliders, and the faces that hold the node beside them, to a node of block `b`. The node has coordinates
 *  `own` and is the image of the node at `at`, or is that node (`image` may be NULL). `v`: the velocity at `at` before
 *  contact, 0 across planes of symmetry, where it becomes the change that the colliders cause. Adds the impulse of the
 *  walls, at `own`, to `wall`, and the heat of friction [J/kg] to `heat`, if that is not NULL. Returns false, with
 *  nothing done, if no collider holds the node. */
bool MPM_KERNEL(collide_node)(const mpm_colliders *colliders, ptrdiff_t b, const int64_t at[DIM],
                              const int64_t own[DIM], const mpm_image_node *image, const mpm_faces *faces, real mass,
                              real v[DIM], double wall[3], double *heat);

/** Can a collider hold the particles of a group, wherever they drifted since the binning? Marks it in `books`. */
bool MPM_KERNEL(collide_reaches)(const mpm_colliders *colliders, const mpm_group *group, double dt,
                                 mpm_collider_book *books);

/** Applies colliders to the particles of a tile, which are about to move with `v`; `mass` has that velocity. Colliders
 *  hold particles from `depth` [m] on (mpm_collider_find_holders). */
void MPM_KERNEL(collide_tile)(const mpm_colliders *colliders, const mpm_group *group, const struct tile *tile,
                              wide mass, double depth, wide v[DIM], mpm_collider_book *books);
