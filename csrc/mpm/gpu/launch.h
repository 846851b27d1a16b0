/* SPDX-License-Identifier: MIT
 *
 * What the host hands to the kernels of a GPU: the same text for both. `real`, DIM and ALIGN_VEC4 are defined before.
 *
 * A block has 64 cells, 4^3 or 8^2. The cell of a particle is that of the lowest node of its stencil, as for a group
 * of the processors' kernels (mpm/memory/particles.h). Blocks have three kinds of numbers:
 *
 *     key     x slowest, in a table of all blocks that the domain and GPU_MARGIN around it can have
 *     place   counts the blocks that have particles, in the order of keys; where there are several materials, the
 *             pairs of a block and a material (`pair_key`)
 *     room    counts the blocks with particles and those around them, whose nodes they can reach
 */
#pragma once
#include "contact/collider.h"
#include "materials/laws.h"

enum {
    GPU_SIDE = DIM == 3 ? 4 : 8,          /* cells of a block along an axis */
    GPU_CELLS = 64,                       /* of a block; as many nodes */
    GPU_TILE_SIDE = GPU_SIDE + 4,         /* nodes that particles of a block reach along an axis: -1 .. side + 2 */
    GPU_TILE = GPU_TILE_SIDE * GPU_TILE_SIDE * (DIM == 3 ? GPU_TILE_SIDE : 1),
    GPU_MARGIN = 2,                       /* blocks in front of the domain and behind it */
    GPU_SORT_THREADS = 256,               /* per CTA: of what treats particles or cells one by one, and of reports */
    GPU_SCAN_THREADS = 1024
};

/** A node: {p, m} or {v, m}. */
struct ALIGN_VEC4 gpu_vec4 {
    real c[4];
};

/** The table of blocks: how many there are along each axis. */
struct gpu_blocks {
    int count[3];  /* 2-D: the third is 1 */
    int period[3]; /* in cells; 0: the axis is not periodic */
    int materials; /* of the simulation, at least 1 */
};

/** The particles, sorted by block, material and cell. Component c of number p of a field is at [c * stride + p]. */
struct gpu_particles {
    int count, stride;
    real *x;              /* from the first node of the block [cells] */
    real *v, *C;          /* m/s, 1/s; v and C of a fused sweep are not stored */
    real *F;              /* J alone where the law keeps that */
    real *history;        /* of all materials; which components a material has, a sweep is told */
    real *mass, *volume;  /* kg, m^d */
    int *key;             /* of the block and the material, at the last sort */
    int *row;             /* of the user */
};

/** The domain, for those who see it from outside. */
struct gpu_frame {
    double lower[3], dx; /* [m] */
};

/* What is measured: by a sweep, per block in x from its first node, then of the domain; by a pass over the nodes. */
enum {
    GPU_MASS, GPU_MOMENTUM, GPU_MASS_MOMENT = GPU_MOMENTUM + 3, GPU_ANGULAR_MOMENTUM = GPU_MASS_MOMENT + 3,
    GPU_KINETIC = GPU_ANGULAR_MOMENTUM + 3, GPU_ELASTIC, GPU_OUTSIDE, GPU_OUT_OF_RANGE, GPU_CLIPPED,
    GPU_CLAMPED, GPU_FROZEN, /* of those outside: put back onto a face; left without mass, to be deleted */
    GPU_SUMS,
    GPU_IMPULSE = 0, /* of the walls [N s] */
    GPU_FORCE = GPU_ELASTIC /* of a push: m b, in three places that are no totals then [N] */
};
enum {
    GPU_RATE2, GPU_WAVE2, GPU_SPEED, GPU_GRADIENT2, /* as of an mpm_measure */
    GPU_ADVECTION, /* likewise, of FLIP and AFLIP: other particles move with the velocity that they get */
    GPU_LOSS = 0, /* of a dry run, beside the speed: 1 - det(I + dt grad v), if > 0 */
    GPU_NODE_SPEED = 0, GPU_HIGHEST, GPU_FALLEST = GPU_HIGHEST + 3, /* largest |v_a|, v_a, -v_a of nodes with mass */
    GPU_APPROACH = GPU_FALLEST + 3, /* largest |v_a| of a room plus the speed of colliders near it, 0 without these */
    GPU_SPEED_BEFORE, /* largest |v_a| of v^n, 0 where the scheme does not keep it */
    GPU_MAXIMA
};

/** Added in fixed orders, so that bits repeat. */
struct gpu_report {
    double sum[GPU_SUMS], most[GPU_MAXIMA];
};

enum { GPU_BOOK = 6 }; /* sums of an mpm_collider_book: impulse, torque */

/** Colliders, posed for the step (mpm_boundary_pose). `list` lies in the device's memory with all that it points to
 *  (pack.h). */
struct gpu_colliders {
    const mpm_collider *list;
    int count;                /* 0: there are none, and nothing else is read */
    mpm_collider_book *books; /* [CTA][collider]: what a launch finds, for add_books */
    mpm_symmetry symmetry[3]; /* of the walls */
    double lower[3], dx, dt;  /* of the domain [m]; of the step that ends [s] */
    double depth;             /* how far particles may be below a surface [m]; negative: colliders let them pass */
};

/** A sweep over the particles of a material: a CTA of GPU_SWEEP_THREADS for each of its places. */
struct gpu_sweep {
    struct gpu_particles particles;
    const int *places;                /* of the CTAs; NULL: all, in their order */
    int history[MPM_LAW_HISTORY];     /* which of all components those of the law are */
    real *new_x;                      /* where G2P stores positions */
    struct gpu_blocks blocks;
    const int *key_of, *start;        /* per place; first particle of each cell, and the end */
    const int *room_of;               /* per key, of the nodes that G2P reads; -1: a block has none */
    const struct gpu_vec4 *velocity;  /* [room][GPU_CELLS] */
    struct gpu_vec4 *tiles;           /* [place][GPU_TILE]: what P2G gives to nodes */
    const void *law;                  /* its prepared parameters; where they vary, those of each row of the user */
    struct gpu_report *reports;       /* per place, of G2P */
    long long cells[3];               /* of the domain */
    double dx, lower[3], allowed;     /* [m], and how far particles may be beyond a face [cells] */
    real dt, dt_cells;                /* of the step that ends: dt, dt/h */
    real h, affine, spin, isolated;   /* h, 4/h, h/4, 1/h^2 */
    real stress;                      /* -4 dt/h of the step that begins */
    real J_low, J_high;
    struct gpu_colliders colliders;   /* that hold particles; where the sweep is compiled with GPU_COLLIDES */
    struct gpu_vec4 *force_tiles;     /* FLIP and AFLIP: as `tiles`, dt f alone, which these leave out */
    const struct gpu_vec4 *before;    /* FLIP and AFLIP: as `velocity`, v^n, before forces */
    real flip_ratio;                  /* share of the particle's own velocity */
    const double *acceleration;       /* push: [row][DIM] [m/s2] */
    const double *couple;             /* push: of loads, [row][DIM][DIM] [N m]; NULL: there are none */
    double push;                      /* push: dt of the step that begins */
    mpm_leave on_leave[6];            /* what becomes of particles beyond a face */
    int advect_particle;              /* FLIP and AFLIP: do particles move with their new velocity? */
    /* The density of fluids (mpm/kernels/fill.c). G2P: kappa dt, and the fourth reals of `velocity` are how full nodes
     * are; 0: nothing is corrected. fill_volume: volume per mass of the first fluid [m3/kg], and the components of the
     * law's history by which a volume counts, one bit each. */
    real per_shear, fluid_volume;
    unsigned scales_volume;
};

/** A pass over the nodes of every room: a CTA each, of GPU_CELLS threads. */
struct gpu_pass {
    struct gpu_blocks blocks;
    const int *key_of, *place_of;     /* per room; per pair of block and material, of the tiles, -1: no particles */
    const struct gpu_vec4 *tiles;
    struct gpu_vec4 *velocity;
    struct gpu_report *reports;       /* per room */
    long long cells[3];
    double dt, gravity[3];
    mpm_wall walls[6];
    mpm_symmetry symmetry[3];         /* of the walls; meet_nodes */
    struct gpu_colliders colliders;   /* meet_nodes */
    const struct gpu_vec4 *force_tiles; /* of FLIP and AFLIP, which take meet_nodes; NULL: `tiles` have the forces */
    struct gpu_vec4 *before;          /* v^n, which these read */
    double flip_ratio;
    /* How full nodes are, for fluids: sum_volumes, fill_nodes. */
    const int *room_of;               /* per key of a block; -1: it has no room */
    real *volume;                     /* [room][GPU_CELLS], with those of images [m^d] */
    struct gpu_vec4 *fill;            /* [room][GPU_CELLS]: velocity, and how full */
    double volume_per_mass;           /* of what is in the fourth reals of `tiles` */
    int adds;                         /* to the volumes that are there */
};
