/* SPDX-License-Identifier: MIT
 *
 * Colliders (contact/collider.h) as nodes and particles meet them: in double whatever the precision, since few do.
 */
#pragma once
#include "transfer/arena.h"
#include "transfer/tile.h"

/** The nodes of block `b`, whose velocities are known but for contact. Begins the block's books. Returns a bound of
 *  the speed of the near colliders [m/s], -1 if none is near. */
double MPM_KERNEL(collide_nodes)(const mpm_colliders *colliders, const mpm_node_block *block, ptrdiff_t b, double dt,
                                 real *node);

/** Can the particles of a group, which have drifted since they were binned, touch a collider? Marks those in
 *  `books`. */
bool MPM_KERNEL(collide_reaches)(const mpm_colliders *colliders, const mpm_group *group, double dt,
                                 mpm_collider_book *books);

/** The particles of a tile, about to move with `v`; `mass` is what they carry with that velocity. Raises `*pushed`
 *  to the largest |v_a| [m/s] that a collider has left. */
void MPM_KERNEL(collide_tile)(const mpm_colliders *colliders, const mpm_group *group, const struct tile *tile,
                              wide mass, wide v[DIM], mpm_collider_book *books, double *pushed);
