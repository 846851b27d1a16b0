/* SPDX-License-Identifier: MIT
 *
 * Shapes as signed distances: phi(x) < 0 inside, and the unit normal out of the shape.
 *
 * A shape is a list of nodes in postfix order: leaves push their distance, set operations combine the pushed distances.
 *
 *     union         min(phi_a, phi_b)         intersection  max(phi_a, phi_b)         complement  -phi
 *
 * A difference is therefore `a ~b &`. Combined distances have the right sign and zero set; away from the surface they
 * are bounds of the distance. The normal is that of the deciding part. Maps are applied at the leaves: a leaf under x
 * -> A x + b is evaluated at A^-1 (x - b) and scaled by the least singular value of A, which is exact for similarities
 * and a bound otherwise. 2-D shapes have z = 0 everywhere.
 *
 * Every phi changes by at most `steepness` per metre (1, except for lattices whose values are not distances), so one
 * value bounds phi in a neighbourhood.
 *
 * Numbers of the leaves, three per point whatever the dimension:
 *
 *     half_space  point, normal        solid on the side away from the unit normal
 *     box         lower, upper         along the axes
 *     ball        center, radius
 *     capsule     a, b, radius         all points nearer than radius to the segment from a to b
 *     cylinder    a, b, radius         flat ends; in 2-D a rectangle 2 radius wide
 *     polygon     x_0, y_0, x_1, ...   2-D, counter-clockwise
 *     lattice     header of lattice.h, one distance per node
 *     deforming   header of lattice.h, number of frames (>= 2); the time of every frame; the largest surface speed in
 *                 every interval between frames; the distances of every frame; for every interval the surface
 *                 velocities at its beginning and at its end, d per node
 *
 * Between two frames, a deforming shape blends both, each moved to the current time along the velocity (Stomakhin et
 * al., ACM Trans. Graph. 32 (2013) 102, section 8). With the elapsed share g of the interval delta and
 * w = (1 - g) v_0(x) + g v_1(x),
 *
 *     phi = (1 - g) phi_0(x - g delta w) + g phi_1(x + (1 - g) delta w)        and likewise the velocity.
 *
 * Before the first frame and after the last, the shape rests.
 *
 * A copied shape is a union of intersections of leaves and complements of leaves: operators are distributed over each
 * other (disjunctive normal form; where that needs several times the leaves, an intersection stays as described). If
 * several shapes are united, they are the shape's parts: (a | b) - c has the parts a - c and b - c. Otherwise the parts
 * are those that are intersected. Within a ball, only the parts of an intersection can decide whose phi at the centre
 * differs from the deciding phi by no more than the ball's width; parts of a union are asked one by one (collider.h).
 * The set of parts is found once for many points, as for the tapes of Keeter, ACM Trans. Graph. 39 (2020) 141. It gives
 * the same bits as all parts.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "contact/lattice.h"

/** Kinds of nodes: (enumerator, name). */
#define MPM_SHAPE_KINDS(X) \
    X(MPM_HALF_SPACE, half_space) \
    X(MPM_BOX, box) \
    X(MPM_BALL, ball) \
    X(MPM_CAPSULE, capsule) \
    X(MPM_CYLINDER, cylinder) \
    X(MPM_POLYGON, polygon) \
    X(MPM_LATTICE, lattice) \
    X(MPM_DEFORMING, deforming) \
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
    MPM_SHAPE_MAP = 23,   /* numbers of a map, which precede its leaf's: A (9), A^-1 (9), b (3), least and largest
                           * singular value */
    MPM_SHAPE_DEPTH = 32, /* the most distances on the stack */
    MPM_SHAPE_BITS = 64,  /* of a set of parts; if there are more parts, neighbours share a bit */
};

typedef struct mpm_shape_node {
    int32_t kind, mapped;
    int64_t size; /* how many numbers it has, including those of its map */
} mpm_shape_node;

/** What parts intersect: the nodes from `first` to `end`, of which a leaf is one, with the first of their numbers, and
 *  whether their complement is meant. */
typedef struct mpm_shape_factor {
    size_t first, end, number;
    bool turned;
} mpm_shape_factor;

/** A part: the factors from `first` to `end`. */
typedef struct mpm_shape_part {
    size_t first, end;
    double steepness;
} mpm_shape_part;

typedef struct mpm_shape {
    int dim;
    size_t node_count, number_count;
    mpm_shape_node *nodes;
    double *numbers; /* of all leaves, in their order */

    /* Found when a shape is copied */
    double steepness;
    mpm_shape_factor *factors;
    mpm_shape_part *parts;
    size_t factor_count, part_count;
    bool intersects; /* are parts intersected rather than united? */
} mpm_shape;

/** A shape evaluated at a point. */
typedef struct mpm_shape_reading {
    double phi;         /* [m] */
    double normal[3];   /* of length 1; where it is undefined, some fixed direction */
    double velocity[3]; /* of the surface of a deforming shape [m/s] */
} mpm_shape_reading;

/** The name of a kind, NULL beyond the last. */
const char *mpm_shape_kind_name(int kind);

/** The flaw of a description; NULL if every node has the numbers that it needs and exactly one distance remains. */
const char *mpm_shape_flaw(const mpm_shape *shape);

/** Makes a deep copy of a shape without flaw. Errors: MPM_OUT_OF_MEMORY, and `*copy` is empty. */
mpm_status mpm_shape_copy(mpm_shape *copy, const mpm_allocator *allocator, const mpm_shape *shape);

/** Frees a copy. */
void mpm_shape_clear(mpm_shape *shape, const mpm_allocator *allocator);

/** Evaluates the shape at x [m] and `time` [s]. */
mpm_shape_reading mpm_shape_read(const mpm_shape *shape, double time, const double x[3]);

/** The bit of a part in sets of parts. */
static inline size_t mpm_shape_bit(const mpm_shape *shape, size_t part)
{
    return shape->part_count <= MPM_SHAPE_BITS ? part : part * MPM_SHAPE_BITS / shape->part_count;
}

/** phi of a copied shape at x; adds the parts that can decide within `radius` [m] of x to the set. */
double mpm_shape_find_parts(const mpm_shape *shape, double time, const double x[3], double radius, uint64_t *parts);

/** Evaluates one part of a copied shape at x [m] and `time` [s]. */
mpm_shape_reading mpm_shape_read_part(const mpm_shape *shape, double time, const double x[3], size_t part);

/** Evaluates a copied shape at a point where one of the `parts` (not empty) decides. */
mpm_shape_reading mpm_shape_read_parts(const mpm_shape *shape, double time, const double x[3], uint64_t parts);

/** A bound of the surface speed of a deforming shape [m/s] from `time` to `time` + `dt` [s]. */
double mpm_shape_speed(const mpm_shape *shape, double time, double dt);
