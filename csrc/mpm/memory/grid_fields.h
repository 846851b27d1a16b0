/* SPDX-License-Identifier: MIT
 *
 * What nodes carry: the table of the grid's fields. A field has one vec4 per node: a vector and its mass, or up to
 * three scalars and their weight. A grid has the fields that were requested, as a set of bits 1 << field; the table
 * tells mpm/memory/grid.c which arrays each has, and the passes how it folds at images.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/** How the four reals of a node fold at images (images.h): bit a of `odd[c]` is set if real c changes its sign across a
 *  plane of symmetry normal to axis a. Such a real is 0 on the plane. */
typedef struct mpm_fold_rule {
    uint8_t odd[4];
} mpm_fold_rule;

#define MPM_FOLD(x, y, z, w) {{x, y, z, w}}
#define MPM_FOLD_VECTOR MPM_FOLD(1, 2, 4, 0) /* each component is normal to the planes of one axis; the mass is even */
#define MPM_FOLD_EVEN MPM_FOLD(0, 0, 0, 0)   /* scalars without a flux through planes of symmetry */
#define MPM_FOLD_ODD MPM_FOLD(7, 7, 7, 0)    /* scalars that are 0 on these planes, and their weight */

/** X(field, fold, nodes, copies, raw, needed): every field of the grid.
 *
 *  fold    its rule
 *  nodes   does it have an array of nodes, [block][node][4]? Otherwise, only its sums are kept.
 *  copies  the field in whose private copies the tasks collect it: itself, another one that has been summed before, or
 *          MPM_GRID_NONE where no sweep scatters it. Copies are added in the order of tasks.
 *  raw     the same for the sums of blocks with images before they are folded
 *  needed  which simulations have it: an expression of `scheme`, `solves` (are steps implicit?), `by_stiffness` (the
 *          preconditioner of their solves), `holds` (may regions be held?), `contact` (can bodies touch?), `heat`
 *          (is it conducted?), `solves_heat` (by implicit steps?), `melts` (may bodies?), `surfaces` (may they give
 *          it?), `heaters` (may colliders?), `fills` (is the density of fluids corrected?) and `dim`, by mpm/describe.c
 *
 *  Every block of nodes belongs to one layer of bodies, and so do its fields. */
#define MPM_GRID_FIELDS(X) \
    /* momentum and mass while they are collected, then the velocity after forces and contact */ \
    X(MPM_GRID_VELOCITY, MPM_FOLD_VECTOR, true, MPM_GRID_VELOCITY, MPM_GRID_VELOCITY, true) \
    /* the velocity at the end of the last step */ \
    X(MPM_GRID_PREVIOUS, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_NONE, mpm_scheme_recomputes_velocity(scheme)) \
    /* the velocity v^n before forces; its momentum comes from the copies of the velocity */ \
    X(MPM_GRID_BEFORE, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_BEFORE, mpm_scheme_is_split(scheme)) \
    /* {dt f, 0}, apart from the momentum where v^n is kept */ \
    X(MPM_GRID_IMPULSE, MPM_FOLD_VECTOR, false, MPM_GRID_IMPULSE, MPM_GRID_NONE, mpm_scheme_is_split(scheme)) \
    /* the series v_k of XPIC */ \
    X(MPM_GRID_FILTERED, MPM_FOLD_VECTOR, true, MPM_GRID_VELOCITY, MPM_GRID_BEFORE, scheme->transfer == MPM_XPIC) \
    /* the velocity in mid step, which moves and strains particles */ \
    X(MPM_GRID_MIDPOINT, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_NONE, scheme->midpoint) \
    /* F-bar: the volume change of the step, averaged; a scalar */ \
    X(MPM_GRID_VOLUME_CHANGE, MPM_FOLD_EVEN, true, MPM_GRID_VELOCITY, MPM_GRID_VELOCITY, scheme->f_bar) \
    /* of a solve (mpm_node_operation in mpm/kernels/kernels.h); the first one is what its sweeps scatter. Implicit \
     * conduction has its own in the residual, {change, residual, product, diagonal} */ \
    X(MPM_GRID_FORCES, MPM_FOLD_VECTOR, false, MPM_GRID_VELOCITY, MPM_GRID_FORCES, solves) \
    X(MPM_GRID_GUESS, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_NONE, solves) \
    X(MPM_GRID_TRIAL, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_NONE, solves) \
    X(MPM_GRID_RESIDUAL, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_NONE, solves || solves_heat) \
    X(MPM_GRID_DIRECTION, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_NONE, solves) \
    X(MPM_GRID_PRODUCT, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_NONE, solves) \
    X(MPM_GRID_CORRECTION, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_NONE, solves) \
    X(MPM_GRID_DIAGONAL, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_NONE, solves && by_stiffness) \
    /* the shares of held regions in the mass of a node; then the region that holds each component, counted from 1 */ \
    X(MPM_GRID_SHARES, MPM_FOLD_EVEN, true, MPM_GRID_VELOCITY, MPM_GRID_SHARES, holds) \
    X(MPM_GRID_HOLDS, MPM_FOLD_EVEN, true, MPM_GRID_NONE, MPM_GRID_NONE, holds) \
    /* contact between layers: the moments of contact/layers.h, {s, W}, {S_yy, S_zz, S_xx, S_xy}, in 3-D {S_yz, S_xz};
     * in 2-D the third real is S_xx, which no reflection across z changes */ \
    X(MPM_GRID_MOMENTS_0, MPM_FOLD_VECTOR, false, MPM_GRID_MOMENTS_0, MPM_GRID_MOMENTS_0, contact) \
    X(MPM_GRID_MOMENTS_1, MPM_FOLD(0, 0, 0, 3), false, MPM_GRID_MOMENTS_1, MPM_GRID_MOMENTS_1, contact) \
    X(MPM_GRID_MOMENTS_2, MPM_FOLD(6, 5, 0, 0), false, MPM_GRID_MOMENTS_2, MPM_GRID_MOMENTS_2, contact && dim == 3) \
    /* conduction of heat (kernels/heat.c), whose images are those of heat_nodes.c: sums {C T, B S, B, C}; temperatures
     * {T, pull + dT, T', S}, and before them heat of friction per mass; heat that has come {Q}; sums of V grad w, for
     * fluxes through surfaces; what colliders do to a node, {T or 0, sum h A, sum (h T + q) A} */ \
    X(MPM_GRID_HEAT, MPM_FOLD_EVEN, true, MPM_GRID_VELOCITY, MPM_GRID_NONE, heat) \
    X(MPM_GRID_TEMPERATURE, MPM_FOLD_EVEN, true, MPM_GRID_NONE, MPM_GRID_NONE, heat) \
    X(MPM_GRID_HEAT_FLOW, MPM_FOLD_EVEN, true, MPM_GRID_VELOCITY, MPM_GRID_NONE, heat) \
    X(MPM_GRID_HEAT_AREAS, MPM_FOLD_VECTOR, true, MPM_GRID_VELOCITY, MPM_GRID_NONE, heat && surfaces) \
    /* of implicit steps, where bodies melt: latent heat that the node may take and give, its melting temperature, and \
     * whether it is solid, melts or is liquid; then the shares of both that it has taken and given */ \
    X(MPM_GRID_HEAT_LATENT, MPM_FOLD_EVEN, true, MPM_GRID_VELOCITY, MPM_GRID_NONE, solves_heat && melts) \
    X(MPM_GRID_HEAT_COLLIDERS, MPM_FOLD_EVEN, true, MPM_GRID_NONE, MPM_GRID_NONE, heat && heaters) \
    /* {0, 0, 0, volume of the material}, for fluids; then the velocity, and how full the node is in place of the mass \
     * (mpm/kernels/fill.c) */ \
    X(MPM_GRID_VOLUME, MPM_FOLD_EVEN, true, MPM_GRID_VELOCITY, MPM_GRID_VOLUME, fills) \
    X(MPM_GRID_FILL, MPM_FOLD_VECTOR, true, MPM_GRID_NONE, MPM_GRID_NONE, fills) \
    /* faces of cracks (kernels/faces.c): the means {damage, share that is broken} by rest volume, and 1 in a block \
     * with any; the axis along which sides are told, 0 where all are one. Its sums take the copies of moments, which \
     * come later: {T_xx, T_yy, T_xy, T_zz}, in 3-D {T_yz, T_xz} */ \
    X(MPM_GRID_DAMAGE, MPM_FOLD_EVEN, true, MPM_GRID_VELOCITY, MPM_GRID_NONE, scheme->faces) \
    X(MPM_GRID_AXIS, MPM_FOLD_EVEN, true, MPM_GRID_NONE, MPM_GRID_NONE, scheme->faces) \
    MPM_MORE_GRID_FIELDS(X)

/* A test adds rows. */
#ifndef MPM_MORE_GRID_FIELDS
#define MPM_MORE_GRID_FIELDS(X)
#endif

#define MPM_GRID_ENUMERATOR(field, fold, nodes, copies, raw, needed) field,
typedef enum mpm_grid_field {
    MPM_GRID_FIELDS(MPM_GRID_ENUMERATOR) MPM_GRID_FIELD_COUNT,
    MPM_GRID_NONE = MPM_GRID_FIELD_COUNT
} mpm_grid_field;
#undef MPM_GRID_ENUMERATOR

_Static_assert(MPM_GRID_FIELD_COUNT <= 32, "sets of fields are bits of an unsigned");

/** The fields that only blocks of places with several layers have: their copies are numbered by
 *  mpm_grid.shared_copy. */
enum {
    MPM_GRID_AT_SHARED = 1 << MPM_GRID_MOMENTS_0 | 1 << MPM_GRID_MOMENTS_1 | 1 << MPM_GRID_MOMENTS_2
};

typedef struct mpm_grid_row {
    mpm_fold_rule fold;
    bool nodes;
    mpm_grid_field copies, raw;
} mpm_grid_row;

/** The rows, by field. */
extern const mpm_grid_row mpm_grid_rows[MPM_GRID_FIELD_COUNT];
