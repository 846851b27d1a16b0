/* SPDX-License-Identifier: MIT
 *
 * The kernels of linear finite elements, compiled once per (instruction set, dimension, precision), and how to call
 * them. Elements are triangles in 2-D, in plane strain, and tetrahedra in 3-D.
 *
 * Lanes are elements. A task is about MPM_FEM_TASK elements; it reads its nodes into a small array, and adds forces to
 * a *copy* of each of its nodes. Then the copies of every node are summed in task order. So no thread count changes a
 * bit, and no colours and no atomics are needed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contact/boundary.h"
#include "contact/constraint.h"
#include "materials/laws.h"
#include "run/loads.h"

enum { MPM_FEM_TASK = 4096, MPM_FEM_CHUNK = 1024 }; /* elements of a task, nodes of a chunk */

/** Tiles of elements of one material. A tile is as many elements as there are lanes. */
typedef struct mpm_fem_strip {
    int32_t first, end; /* tiles */
    int32_t material;
} mpm_fem_strip;

/** The mesh, which no step changes. Element k of a tile is in lane lane_of(k) (base/simd.h). */
typedef struct mpm_fem_mesh {
    int dim, lanes;
    ptrdiff_t nodes, elements, tiles, copies;
    int32_t tasks, most_nodes; /* of one task */
    int32_t *task_strip;  /* [tasks + 1]: first strip of each task */
    mpm_fem_strip *strips;
    int32_t *task_copy;   /* [tasks + 1]: first copy of each task */
    int32_t *copy_row;    /* [copies]: whose copy it is */
    int32_t *node_copy;   /* [nodes + 1]: where the copies of each node begin in the next array */
    int32_t *copies_of;   /* [copies]: by node, in task order */
    int32_t *tile_nodes;  /* [tiles][dim + 1][lanes], counted from the first node of the task */
    void *shapes;         /* reals [tiles][dim^2 + 1][lanes]: D_m^-1, row by row, and the volume */
    int32_t *slot;        /* [elements]: tile lanes + k */
} mpm_fem_mesh;

/** The reals of an element in `shapes`. */
#define MPM_FEM_SHAPE(dim) ((dim) * (dim) + 1)

/** What a task finds. */
typedef struct mpm_fem_found {
    double elastic;       /* energy [J] */
    int64_t out_of_range; /* elements whose J has left the range of their law */
    int64_t stiffened;    /* elements whose modulus has changed by more than the factor `most_change` */
    bool finite;
} mpm_fem_found;

/** The reals of an element for products with K: R, mu and lambda; the moduli of a law with axes of its own. */
#define MPM_FEM_TANGENT(dim) ((dim) * (dim) + 2)
#define MPM_FEM_MODULI(dim) ((dim) * (dim) * ((dim) * (dim) + 1) / 2)

/** A sweep over the elements. */
typedef struct mpm_fem_sweep {
    const mpm_fem_mesh *mesh;
    const mpm_material *materials;
    const void *x, *v;      /* reals [row][dim] */
    double damping;         /* b of D = a M + b K [s] */
    void *copies;           /* out: reals [copy][4]: force [N], sum of V M |grad N|^2 [N/m] */
    void *const *workspaces; /* per thread: 8 reals for each of `most_nodes` */
    mpm_fem_found *found;   /* out: per task */
    void *modulus;          /* out: reals [tile][lanes], `modulus` of law_piola [Pa] */
    const void *modulus_before; /* of the state before the step; NULL: there is none to compare with */
    double most_change;
    void *const *parameters; /* of elements: of every field of theirs, reals [row] */
    const int32_t *element_row; /* [tiles][lanes]: the row of an element; NULL: no material varies */
    void *prepared;         /* [tiles][prepared_bytes]: the laws of elements whose parameters vary */
    size_t prepared_bytes;
    void *tangent;          /* reals [tiles][tangent_reals][lanes] */
    ptrdiff_t tangent_reals; /* the most that any law needs */
    const void *p;          /* reals [row][4]: what K is multiplied with */
} mpm_fem_sweep;

/** What a pass over the nodes finds in a chunk. */
typedef struct mpm_fem_report {
    double mass, momentum[3], mass_moment[3], angular_momentum[3], kinetic;
    double rate2;         /* the largest bound of omega^2 [1/s2] */
    double speed;         /* the largest |v_a| [m/s]; infinite if one is not finite */
    double beyond;        /* how far a node is beyond a face, at most [m] */
    double wall_impulse[3], force[3], drag[3]; /* of a step: of walls; sums of m b and of -a m v */
    double approach;      /* speed plus that of the near colliders [m/s], 0 if none is near */
    double collider_speed; /* -1: none is near */
} mpm_fem_report;

/** A pass over the nodes. */
typedef struct mpm_fem_pass {
    const mpm_fem_mesh *mesh;
    const mpm_boundary *boundary;
    double lower[3], upper[3]; /* of the domain [m] */
    double dt, gravity[3], drag; /* [s], [m/s2], a of D = a M + b K [1/s] */
    double local_damping;
    const double *dashpots;    /* [row][dim] [kg/s], or NULL */
    const double *body_force;  /* [row][dim] [m/s2], or NULL */
    const mpm_forcing *forcing; /* of held regions, or NULL */
    size_t loads;
    double (*hold_impulses)[3]; /* [chunk][load] [N s] */
    const void *x, *v, *mass;  /* reals [row][dim], [row] */
    const void *copies;
    void *force;               /* reals [row][4]: the sum of the copies */
    void *next_x, *next_v;
    mpm_collider_book *books;  /* [chunk][collider] */
    mpm_fem_report *reports;   /* [chunk] */
} mpm_fem_pass;

/** The reals of a node that keep its block of the preconditioner: xx, yy, zz, xy, xz, yz. */
enum { MPM_FEM_BLOCK = 6 };

/** A pass over the node vectors of an implicit step (vectors.c). Vectors are reals [row][4]. */
typedef struct mpm_fem_solve {
    const mpm_fem_mesh *mesh;
    double dt, gravity[3], drag; /* as in mpm_fem_pass */
    double inertia, stiffness;   /* A = inertia M + stiffness K */
    const double *body_force;
    const void *position, *v, *mass, *force; /* of the beginning of the step */
    const void *copies;
    const mpm_constrained_node *constrained; /* ascending; their `node` is a row */
    const int32_t *constrained_first; /* [chunks + 1] */
    void *w, *r, *p, *q, *x;     /* velocity, residual, direction, A p, what is added to w */
    void *blocks;                /* reals [row][MPM_FEM_BLOCK] */
    bool beside;
    double factor;
    double (*sums)[2];           /* [chunk] */
    void *next_x, *next_v;
    mpm_fem_report *reports;     /* [chunk] */
} mpm_fem_solve;

typedef void mpm_fem_task(const mpm_fem_sweep *sweep, ptrdiff_t task, int thread);
typedef void mpm_fem_vectors(const mpm_fem_solve *solve, ptrdiff_t chunk);

typedef struct mpm_fem_kernels {
    const char *isa;
    int dim, lanes;
    size_t real_size;
    /** Bytes of a tile of a prepared law. */
    size_t (*law_size)(int law);
    /** Prepares the laws of elements whose parameters vary. */
    mpm_fem_task *prepare;
    /** Forces of the elements: F, stress, energy, and the bound of the frequency. */
    mpm_fem_task *forces;
    /** Sums the copies, and measures the state. */
    void (*sum)(const mpm_fem_pass *pass, ptrdiff_t chunk);
    /** Velocities and positions at the end of an explicit step, into `next_v` and `next_x`. */
    void (*move)(const mpm_fem_pass *pass, ptrdiff_t chunk);
    mpm_fem_task *linearize, *beside, *product;                  /* stiffness.c */
    mpm_fem_vectors *blocks, *guess, *begin, *multiply, *advance, *redirect, *add, *contact, *finish; /* vectors.c */
} mpm_fem_kernels;
