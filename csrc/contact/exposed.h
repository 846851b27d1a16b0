/* SPDX-License-Identifier: MIT
 *
 * Surfaces that material can reach. The point y of a body's surface that is nearest to a node may lie on a face that is
 * none: where parts of one floor meet or overlap, be they colliders or pieces of one, and where a body ends at the end
 * of the domain. Something else covers the body above y, and the distance of the parts knows nothing of it. Such a node
 * belongs to the nearest face that is not covered.
 *
 * In a groove, the sides cover each other below the edge, and hold the node together. There, two surfaces that are not
 * parallel pass through a point e that nothing else covers, and both stay.
 */
#pragma once
#include "contact/collider.h"

/** The faces of the domain. */
typedef struct mpm_faces {
    const mpm_wall *walls;     /* may be NULL where none holds */
    double lower[3], upper[3]; /* [m]; equal along axes that there are not */
    unsigned held;             /* the faces that hold a point: bit 2 axis, and that + 1 for the upper one */
    unsigned periodic;         /* bits: axes */
} mpm_faces;

/** A piece of a collider (collider.h). */
typedef struct mpm_piece {
    const mpm_collider *collider;
    size_t index;
} mpm_piece;

/** Reads all of a piece at x [m]. */
static inline mpm_shape_reading mpm_exposed_read(mpm_piece piece, const double x[3])
{
    return mpm_collider_read_piece(piece.collider, x, piece.index, UINT64_MAX);
}

/** What surrounds a point x [m] that colliders hold. */
typedef struct mpm_surroundings {
    const mpm_collider *colliders;
    size_t count;
    const mpm_collider_book *books; /* one each; tells those that are beside the point */
    const mpm_faces *faces;         /* NULL: unknown */
    double cell;                    /* of the grid or the mesh, or the spacing of particles [m] */
    double x[3];
} mpm_surroundings;

/** Given the reading `at` of a piece at x and the nearest point y of its surface. If y is covered, and not in a groove,
 *  takes the nearest face of the piece that is not covered, if there is one. Returns whether it did. */
bool mpm_exposed_find(const mpm_surroundings *around, mpm_piece own, mpm_shape_reading *at, double y[3]);

/** A collider that ends with the domain goes on beyond it. Where faces hold a point that no collider holds, lists the
 *  pieces that would hold it at the end of the domain, and moves x there. Returns how many. */
int mpm_exposed_extend(mpm_surroundings *around, mpm_holder holders[MPM_MOST_HOLDERS], int found);
