/* SPDX-License-Identifier: MIT
 *
 * Values on a lattice of nodes, d-linear between them.
 *
 * Nine numbers describe a lattice: its first node (3), the spacing, the numbers of nodes along x, y and z (1 along z in
 * 2-D), the faces at which its shape ends (bits 1, 2: the lower and upper face of x; 4, 8: of y; 16, 32: of z; all
 * values on them are > 0), and the largest slope of its distances. The last axis of arrays is fastest.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MPM_LATTICE_HEADER = 9, MPM_LATTICE_FACES = 7, MPM_LATTICE_STEEPNESS = 8 };

/** A point relative to a lattice: its cell, and its distance beyond the rim. */
typedef struct mpm_lattice_place {
    int dim;
    double spacing, fraction[3];
    bool beyond[3];      /* is the point beyond the rim along the axis? */
    double gap[3], gap2; /* distance beyond faces at which the shape ends [m], and its squared length */
    ptrdiff_t first, stride[3];
} mpm_lattice_place;

/** Number of nodes, -1 if the header is invalid. */
int64_t mpm_lattice_nodes(const double *header, int dim);

mpm_lattice_place mpm_lattice_find(const double *header, int dim, const double x[3]);

/** Signed distance and its gradient, which may have any length. Beyond a face at which the shape ends, the distance
 *  grows with the distance from the face; beyond other faces it keeps the value of the rim. */
double mpm_lattice_distance(const mpm_lattice_place *place, const double *values, double gradient[3]);

/** Interpolates vectors of d components, constant beyond the lattice. In 2-D the third component is 0. */
void mpm_lattice_vector(const mpm_lattice_place *place, const double *values, double vector[3]);
