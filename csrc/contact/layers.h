/* SPDX-License-Identifier: MIT
 *
 * Contact between deformable bodies, at a node where several of them have mass. Each has a velocity of its own there,
 * after forces and before walls. With the moments of the volume V around the node, in cells,
 *
 *     W = sum w V,  s = sum w V r,  S = sum w V r r^T,  r = (x_p - x_i)/h,  all over h^d,
 *
 * a pair a, b touches as follows:
 *
 *     normal   n from a to b: the axis of Fisher's linear discriminant of the two (Ann. Eugenics 7 (1936) 179), less
 *              its error at a plane under the B-spline
 *     gap      the layer r <= u <= f along n that has the volume and the first moment of a body under the B-spline
 *              tells its front f:  gap = -h (f_a + f_b)
 *     impulse  n . (v_a - v_b) <= max(gap, 0)/dt after it: bodies approach until they touch; Coulomb friction
 *
 * Impulses are equal and opposite at one point, so that momentum and angular momentum are kept. More than two bodies
 * take turns in the order of layers (projected Gauss-Seidel).
 *
 * S. G. Bardenhagen, J. U. Brackbill, D. Sulsky, Comput. Methods Appl. Mech. Eng. 187 (2000) 529; S. G. Bardenhagen,
 * J. E. Guilkey, K. M. Roessig, J. U. Brackbill, W. M. Witzel, J. C. Foster, CMES 2 (2001) 509: one velocity per body.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "contact/walls.h"

/** How two bodies touch. Bodies that are bonded share a layer, and are no pair. */
typedef struct mpm_layer_rule {
    mpm_contact contact; /* MPM_SEPARATE, or MPM_SLIP: bodies that touch never part */
    double friction;     /* Coulomb's coefficient, at least 0 */
    double adhesion;     /* traction that holds bodies together [Pa], at least 0; MPM_SEPARATE alone */
} mpm_layer_rule;

/** A pair of layers, first < second, with a rule of its own or with columns in the history. */
typedef struct mpm_layer_pair {
    int32_t layer[2];
    bool has_rule;
    mpm_layer_rule rule;
    char *name; /* of its columns; NULL: it has none */
    double impulse[3]; /* of the first on the second since the last record [N s] */
    double coming[3];  /* the same of the step that has not been committed */
} mpm_layer_pair;

/** The rules between layers. */
typedef struct mpm_layers {
    mpm_layer_rule rule; /* of all pairs without one of their own */
    mpm_layer_pair *list;     /* sorted by layers */
    size_t count, capacity;
    size_t *named;      /* of those with columns, in the order in which they were added */
    size_t named_count, named_capacity;
} mpm_layers;

/** The pair of two layers in either order; NULL if it is not listed. */
mpm_layer_pair *mpm_layers_find(const mpm_layers *pairs, int32_t a, int32_t b);

/** Lists a pair. `rule` and `name` may be NULL: as it was. A name is copied, and adds columns to the pair. Errors:
 *  MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if a = b, or if the pair has columns already. */
mpm_status mpm_layers_set(mpm_layers *pairs, const mpm_allocator *allocator, int32_t a, int32_t b,
                         const mpm_layer_rule *rule, const char *name);

/** Takes the columns from the pair that got them last. */
void mpm_layers_drop_name(mpm_layers *pairs, const mpm_allocator *allocator);

void mpm_layers_clear(mpm_layers *pairs, const mpm_allocator *allocator);

enum { MPM_MOST_AT_NODE = 16 }; /* bodies; of more at one node, the others touch none there */

/** A body at a node. */
typedef struct mpm_layer_body {
    int32_t layer, index; /* `index` is the caller's */
    double mass, v[3];
    double volume, offset[3], square[6]; /* W, s, S: xx, yy, zz, yz, xz, xy */
} mpm_layer_body;

/** What the bodies of a pair did to each other. */
typedef struct mpm_layer_touch {
    int a, b;          /* places in the list of bodies */
    double impulse[3]; /* of a on b [N s] */
    double friction_work, adhesion_work; /* traction times slip and opening of the step [J] */
} mpm_layer_touch;

/** The place of contact. */
typedef struct mpm_layer_node {
    int dim, degree; /* of the kernel */
    double h, dt;
    double room[3];  /* the share of the kernel along each axis that is within the walls */
    double part;     /* the share of the node's mass that a mirror leaves it: its moments are those of the whole */
} mpm_layer_node;

/** Changes the velocities of `count` bodies, and fills `touches`, one per pair that touches. Returns their number. */
int mpm_layers_solve(const mpm_layers *pairs, const mpm_layer_node *node, mpm_layer_body *bodies, int count,
                    mpm_layer_touch touches[MPM_MOST_AT_NODE * (MPM_MOST_AT_NODE - 1) / 2]);

/** B(u): the integral of the B-spline of `degree` up to u cells from the node. */
double mpm_layers_share(int degree, double u);
