/* SPDX-License-Identifier: MIT
 *
 * Shapes as signed distances: phi(x) < 0 inside, and the unit normal out of the shape.
 *
 * A shape is a list of nodes in postfix order: leaves push their distance, set operations join what was pushed.
 *
 *     union         min(phi_a, phi_b)         intersection  max(phi_a, phi_b)         complement  -phi
 *
 * so a difference is `a ~b &`. Joined distances keep sign and zero set; away from the surface they are bounds of the
 * distance, and the normal is that of the part that decides. Maps are pushed down to the leaves: a leaf under
 * x -> A x + b is evaluated at A^-1 (x - b) and scaled by the least singular value of A, exact for similarities and
 * a bound otherwise. 2-D shapes have z = 0 everywhere.
 *
 * Every phi changes by at most `steepness` per metre (1 but for lattices of numbers that are no distances), so one
 * value answers for a neighbourhood.
 *
 * Numbers of the leaves, three per point whatever the dimension:
 *
 *     half_space  point, normal        solid on the side away from the unit normal
 *     box         lower, upper         along the axes
 *     ball        center, radius
 *     capsule     a, b, radius         all points nearer than radius to the line from a to b
 *     cylinder    a, b, radius         flat ends; in 2-D a rectangle 2 radius wide
 *     polygon     x_0, y_0, x_1, ...   2-D, counter-clockwise
 *     lattice     lower, spacing, nodes along x, y, z, whether no value at its rim is <= 0, steepness; then one
 *                 value per node, the last axis fastest
 *
 * phi of a lattice is d-linear between nodes. Beyond it, a shape that ends within is farther away the farther one
 * goes, any other goes on as it is at the rim.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

/** Kinds of nodes: (enumerator, name). */
#define MPM_SHAPE_KINDS(X) \
    X(MPM_HALF_SPACE, half_space) \
    X(MPM_BOX, box) \
    X(MPM_BALL, ball) \
    X(MPM_CAPSULE, capsule) \
    X(MPM_CYLINDER, cylinder) \
    X(MPM_POLYGON, polygon) \
    X(MPM_LATTICE, lattice) \
    X(MPM_UNION, union) \
    X(MPM_INTERSECTION, intersection) \
    X(MPM_COMPLEMENT, complement)

typedef enum mpm_shape_kind {
#define ENUMERATOR(enumerator, name) enumerator,
    MPM_SHAPE_KINDS(ENUMERATOR)
#undef ENUMERATOR
    MPM_SHAPE_KIND_COUNT
} mpm_shape_kind;

enum {
    MPM_SHAPE_MAP = 13,   /* numbers of a map, before those of its leaf: A^-1 (9), b (3), least singular value */
    MPM_SHAPE_DEPTH = 32, /* distances that may be waiting to be joined */
    MPM_LATTICE_VALUES = 9 /* numbers of a lattice before its values */
};

typedef struct mpm_shape_node {
    int32_t kind, mapped;
    int64_t size; /* numbers of it, those of its map among them */
} mpm_shape_node;

typedef struct mpm_shape {
    int dim;
    size_t node_count, number_count;
    mpm_shape_node *nodes;
    double *numbers; /* of all leaves, in their order */
    double steepness;
} mpm_shape;

/** The name of a kind, NULL beyond the last. */
const char *mpm_shape_kind_name(int kind);

/** What is wrong with a description: NULL if every node has the numbers it needs and exactly one distance remains. */
const char *mpm_shape_flaw(const mpm_shape *shape);

/** A copy of its own of a shape without flaw. Errors: MPM_OUT_OF_MEMORY, and `*copy` is empty. */
mpm_status mpm_shape_copy(mpm_shape *copy, const mpm_allocator *allocator, const mpm_shape *shape);

/** Frees a copy. */
void mpm_shape_clear(mpm_shape *shape, const mpm_allocator *allocator);

/** phi at x [m], and the unit normal there, always of length 1 (where it is not defined, any direction, always the
 *  same). */
double mpm_shape_distance(const mpm_shape *shape, const double x[3], double normal[3]);
