/* SPDX-License-Identifier: MIT
 *
 * Colliders (contact/collider.h) as nodes and particles meet them: in double whatever the precision, since few do.
 */
#pragma once
#include "transfer/arena.h"
#include "transfer/tile.h"

/** Begins the books of block `b`: which colliders can touch its nodes or their images. Returns a bound of the speed of
 *  those [m/s], -1 if there are none. */
double MPM_KERNEL(collide_begin_nodes)(const mpm_colliders *colliders, const mpm_node_block *block, ptrdiff_t b,
                                       double dt);

/** A node of block `b` that is, or is the image of, the one at coordinates `at`, whose velocity is known but for
 *  contact; its own are `own`, and `flips` the axes along which it has the opposite sign. */
void MPM_KERNEL(collide_node)(const mpm_colliders *colliders, ptrdiff_t b, const int64_t at[DIM], const int64_t own[DIM],
                              unsigned flips, real mass, real v[DIM]);

/** Can the particles of a group, which have drifted since they were binned, touch a collider? Marks those in
 *  `books`. */
bool MPM_KERNEL(collide_reaches)(const mpm_colliders *colliders, const mpm_group *group, double dt,
                                 mpm_collider_book *books);

/** The particles of a tile, about to move with `v`; `mass` is what they carry with that velocity. */
void MPM_KERNEL(collide_tile)(const mpm_colliders *colliders, const mpm_group *group, const struct tile *tile,
                              wide mass, wide v[DIM], mpm_collider_book *books);
