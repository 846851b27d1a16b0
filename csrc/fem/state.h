/* SPDX-License-Identifier: MIT
 *
 * The internals of a run by finite elements, private to this folder.
 */
#pragma once
#include "fem/fem.h"
#include "fem/kernels/kernels.h"

/** What is measured of a state. */
struct fem_measure {
    mpm_sums sums;
    double rate2; /* the bound of omega^2 [1/s2] */
    double speed; /* [m/s] */
    double beyond; /* see mpm_fem_report */
    int64_t out_of_range;
    int64_t stiffened; /* of the new state: see mpm_fem_found */
    bool finite;
};

/** Source of the history columns of finite elements alone. */
struct fem_books {
    double damping_impulse[3]; /* of mass-proportional damping, from the last record [N s] */
};

enum { MPM_FEM_VECTORS = 5, MPM_FEM_NAME = 64 };

/** What implicit steps need besides. */
struct fem_solver {
    void *vector[MPM_FEM_VECTORS]; /* reals [row][4] */
    void *blocks, *tangent;
    ptrdiff_t tangent_reals; /* of an element */
    double (*sums)[2];
    mpm_constrained_node *constrained;
    size_t constrained_capacity;
    int32_t *constrained_first; /* [chunks + 1] */
    double residual;     /* of the last solve */
    bool used_up;        /* it took as many products as it may */
};

/** The parameters of elements that vary. */
struct fem_parameters {
    mpm_store store;      /* a row for each element, in the order of users; empty where no material varies */
    int32_t *element_row; /* [tiles][lanes]: the row of an element */
    void *prepared;       /* [tiles][prepared_bytes] */
    size_t prepared_bytes;
    bool current;         /* `prepared` belongs to the rows */
};

/** What the nodes report of a step that is tried. */
struct fem_motion {
    double speed, approach, collider_speed;
    double wall_impulse[3], force[3], drag[3];
};

struct mpm_fem {
    mpm_run run;
    mpm_store store;
    struct fem_parameters parameters;
    mpm_fem_settings settings;
    const mpm_fem_kernels *kernels;
    mpm_boundary boundary;
    mpm_material *materials;
    bool has_kink; /* the stress of one has a kink */
    size_t material_count, material_capacity;
    mpm_fem_mesh mesh; /* without elements until it is given */

    /* The present state: rows of the store, forces and measure. They belong together if `settled`. */
    bool settled;
    void *force; /* reals [row][4] */
    void *modulus; /* reals [tile][lanes] */
    struct fem_measure measure;
    /* The state at the end of a step, until it is committed; then the arrays change places. */
    void *next_x, *next_v, *next_force, *next_modulus;
    struct fem_measure next;

    struct fem_motion motion;
    double approach;    /* of the last step, see mpm_fem_report [m/s] */
    mpm_books books;
    struct fem_books own;
    double *dashpots; /* [row][dim] [kg/s]; NULL: none */

    /* what the kernels write */
    void *copies;
    mpm_fem_found *found;
    mpm_fem_report *reports; /* per chunk */
    ptrdiff_t chunks;
    mpm_collider_book *contact_books; /* [chunk][collider] */
    double (*hold_impulses)[3];       /* [chunk][load] */
    double *load_power;               /* per entry of the forcing [W] */
    size_t contact_capacity, hold_capacity, load_capacity;
    void **workspaces;
    int workspace_count;
    struct fem_solver solver;
    char element[MPM_FEM_NAME]; /* the first one at fault */
};
