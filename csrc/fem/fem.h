/* SPDX-License-Identifier: MIT
 *
 * Linear finite elements for elastic bodies: triangles in 2-D (plane strain), tetrahedra in 3-D. The rows are the
 * nodes, with lumped masses. The mesh is given once, before the first step, and its elements keep their nodes for ever.
 */
#pragma once
#include "contact/boundary.h"
#include "materials/laws.h"
#include "run/books.h"
#include "run/limit.h"
#include "run/options.h"
#include "run/store.h"

typedef struct mpm_fem mpm_fem;

/** The rows of the field table. */
enum { MPM_FEM_X, MPM_FEM_V, MPM_FEM_MASS, MPM_FEM_VOLUME, MPM_FEM_MATERIAL, MPM_FEM_ID, MPM_FEM_FIELDS };

/** Counters of health. */
enum { MPM_FEM_HEALTH_REFUSED, MPM_FEM_HEALTH_PRODUCTS, MPM_FEM_HEALTH_COUNT };

/** By which factor an automatic explicit step may change the modulus of an element: that of a neo-Hookean one, which is
 *  compressed by a fifth. With 1.6 and with 2, balls that hit a floor at up to the wave speed gain no energy. */
#define MPM_FEM_MOST_CHANGE 1.6

/** How steps advance time. */
typedef enum mpm_fem_integrator {
    MPM_FEM_SYMPLECTIC_EULER,
    MPM_FEM_LINEARLY_IMPLICIT,
    MPM_FEM_INTEGRATORS
} mpm_fem_integrator;

/** Phases whose seconds are counted. */
enum { MPM_FEM_PHASE_ELEMENTS, MPM_FEM_PHASE_NODES, MPM_FEM_PHASE_VIEWS, MPM_FEM_PHASE_COUNT };

/** Reasons to refuse a step. Where elements are the reason, `rows` are their nodes, `name` has the nodes of the first
 *  one in words; value[0] tells whether dt is fixed, value[1] is MPM_FEM_MOST_CHANGE. */
enum {
    MPM_FEM_NOT_FINITE = MPM_REASONS, /* velocities or energies are not finite */
    MPM_FEM_MOVES_TOO_FAR,            /* a node would move by more than `dx` */
    MPM_FEM_WOULD_INVERT,             /* an element would leave the range of its law */
    MPM_FEM_WOULD_STIFFEN,            /* an element would become too much stiffer or softer (automatic dt) */
    MPM_FEM_OUT_OF_RANGE,             /* the same before a step, by what was written */
    MPM_FEM_OUTSIDE,                  /* nodes are beyond a face by more than `dx`; the rows are those */
    MPM_FEM_REASONS
};

/** What the user chooses once. Walls are not periodic and have no restitution; nothing leaves (`on_leave`: raise). */
typedef struct mpm_fem_settings {
    MPM_COMMON;
    double upper[3];           /* of the domain [m] */
    double dx;                 /* no node moves farther in one step [m]; the size of a cell */
    double damping[2];         /* a [1/s] and b [s] of D = a M + b K */
    double local_damping;      /* share of the force out of balance that nodes lose, 0 .. 1; explicit steps only */
    mpm_fem_integrator integrator;
    double tolerance;          /* of an implicit step: the residual, relative to that of the velocities v */
    int max_iterations;        /* of its solve */
} mpm_fem_settings;

/** The rows of the settings, with their ranges. */
extern const mpm_options mpm_fem_options;

/** The name of a setting that is out of range, or NULL. */
const char *mpm_fem_settings_flaw(const mpm_fem_settings *settings);

/** A simulation without nodes. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if a setting has a flaw. */
mpm_status mpm_fem_new(mpm_fem **fem, const mpm_allocator *allocator, const mpm_fem_settings *settings);

/** Frees all; NULL is allowed. */
void mpm_fem_free(mpm_fem *fem);

/** Adds nodes: x, v [count][dim], mass, volume, material [count], all of them finite, mass and volume > 0. Errors:
 *  MPM_OUT_OF_MEMORY, MPM_TOO_LARGE; MPM_BAD_ARGUMENT if there is a mesh already or a material does not exist. */
mpm_status mpm_fem_add_nodes(mpm_fem *fem, ptrdiff_t count, const double *x, const double *v, const double *mass,
                             const double *volume, const int32_t *material);

/** Gives the mesh: positions of all nodes at rest [count][dim], and elements with dim + 1 nodes each and a material.
 *  Elements that follow each other should be neighbours. Errors: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE; MPM_BAD_ARGUMENT if
 *  there is a mesh already, if a node or a material does not exist, if an element has no volume or a negative one, or
 *  if a node has no element. */
mpm_status mpm_fem_set_mesh(mpm_fem *fem, const double *rest, ptrdiff_t elements, const int32_t *nodes,
                            const int32_t *material);

/** Elements of the mesh. */
ptrdiff_t mpm_fem_elements(const mpm_fem *fem);

/** Gives the elements the parameters that vary, once, after the mesh: for every element of the mesh its row [elements],
 *  and by row a value for every such parameter, in the order of `mpm_fem_parameters_get` [elements][parameters], of
 *  which those of materials that do not vary in it are not read. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if no
 *  parameter varies, two elements have one row, or values are out of range or do not go together (mpm_laws_unfit). */
mpm_status mpm_fem_parameters_set(mpm_fem *fem, const int32_t *row, const double *values);

/** Gives the nodes the dashpots of absorbing walls, once, after the mesh: coefficients [count][dim] [kg/s], at least 0.
 *  Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if there is no mesh, or they are there already. */
mpm_status mpm_fem_set_dashpots(mpm_fem *fem, const double *dashpots);

/** The residual at the end of the last solve of an implicit step, relative to the first. */
double mpm_fem_residual(const mpm_fem *fem);

/** Copies the forces of the elements on the nodes [count][dim] [N], those of explicit damping included. Errors:
 *  MPM_OUT_OF_MEMORY, MPM_BAD_STATE, MPM_UNSTABLE. */
mpm_status mpm_fem_forces(mpm_fem *fem, double *forces);

mpm_store *mpm_fem_get_store(mpm_fem *fem);

/** The rows are elements: the first field is the index of their material, then come the parameters that vary. */
mpm_store *mpm_fem_parameters_get(mpm_fem *fem);

/** The run: materials, colliders, steps, totals; clock, history, health and error (run/run.h). It takes elastic
 *  materials that keep F. Rows stay. */
mpm_run *mpm_fem_get_run(mpm_fem *fem);
const mpm_fem_settings *mpm_fem_get_settings(const mpm_fem *fem);

/** Bytes of rows, views, mesh and colliders. */
void mpm_fem_memory(const mpm_fem *fem, size_t *rows, size_t *views, size_t *mesh, size_t *colliders);
