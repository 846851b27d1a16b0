/* SPDX-License-Identifier: MIT
 *
 * Values on a lattice of nodes, d-linear between them.
 *
 * A lattice is described by nine numbers: its first node, the spacing, the numbers of nodes along x, y and z (1 along
 * z in 2-D), the faces at which the shape of which it holds the distances ends (bits 1, 2 the lower and the upper face
 * of x, 4, 8 those of y, 16, 32 those of z: no value there is <= 0), and how steep its distances are at most. Arrays of
 * values have the last axis fastest.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MPM_LATTICE_HEADER = 9, MPM_LATTICE_FACES = 7, MPM_LATTICE_STEEPNESS = 8 };

/** A point in a lattice: its cell, and how far beyond the rim it is. */
typedef struct mpm_lattice_place {
    int dim;
    double spacing, fraction[3];
    bool beyond[3];      /* is it beyond the rim along the axis? */
    double gap[3], gap2; /* how far, where the shape ends there [m], and the square of it all */
    ptrdiff_t first, stride[3];
} mpm_lattice_place;

/** Number of nodes, -1 if the numbers make no sense. */
int64_t mpm_lattice_nodes(const double *header, int dim);

mpm_lattice_place mpm_lattice_find(const double *header, int dim, const double x[3]);

/** Signed distance and its gradient, of any length. Beyond a face at which the shape ends it is farther away the farther
 *  one goes; beyond any other it goes on as it is at the rim. */
double mpm_lattice_distance(const mpm_lattice_place *place, const double *values, double gradient[3]);

/** Vectors of d components; constant beyond the lattice. The third is 0 in 2-D. */
void mpm_lattice_vector(const mpm_lattice_place *place, const double *values, double vector[3]);
