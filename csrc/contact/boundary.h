/* SPDX-License-Identifier: MIT
 *
 * The boundary of the material, for any method: the domain with its walls, and the colliders with their books.
 */
#pragma once
#include "contact/collider.h"
#include "contact/walls.h"

typedef struct mpm_boundary {
    int dim;
    double lower[3], dx; /* position of node 0, cell size [m] */
    int64_t cells[3];    /* of the domain, per axis */
    mpm_wall walls[6];   /* x-, x+, y-, ... */
    mpm_collider *colliders;
    size_t count, capacity;   /* colliders */
    size_t revision;          /* counts how often some came, went or took the place of others */
    mpm_collider_book *books; /* per collider, since they were last cleared */
} mpm_boundary;

/** Frees the colliders. */
void mpm_boundary_clear(mpm_boundary *boundary, const mpm_allocator *allocator);

/** Adds a copy of a collider, with an empty book. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if it has no name, if its
 *  shape has a flaw or the wrong dimension, or if its contact or motion is invalid for colliders. */
mpm_status mpm_boundary_add(mpm_boundary *boundary, const mpm_allocator *allocator, const mpm_collider *collider);

/** Puts a copy of a collider in the place of that of its name, with the same contact; its book goes on. Errors: as
 *  mpm_boundary_add; MPM_BAD_ARGUMENT if there is no such collider. On error nothing has changed. */
mpm_status mpm_boundary_replace(mpm_boundary *boundary, const mpm_allocator *allocator, const mpm_collider *collider);

/** Takes the last collider away. */
void mpm_boundary_drop(mpm_boundary *boundary, const mpm_allocator *allocator);

/** Sets the state `now` of all colliders for a step of size dt that begins at `time`. */
void mpm_boundary_pose(mpm_boundary *boundary, double time, double dt);

/** The name of the nearest collider that contains x at `time`, or is less than a cell from it; NULL if there is
 *  none. */
const char *mpm_boundary_touched(const mpm_boundary *boundary, double time, const double x[3]);

void mpm_boundary_clear_books(mpm_boundary *boundary);

/** Bytes of the colliders. */
size_t mpm_boundary_bytes(const mpm_boundary *boundary);

/** The symmetry that the walls impose on an axis. */
mpm_symmetry mpm_boundary_symmetry(const mpm_boundary *boundary, int axis);

/** Is any axis periodic? */
bool mpm_boundary_is_periodic(const mpm_boundary *boundary);
