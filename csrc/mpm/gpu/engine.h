/* SPDX-License-Identifier: MIT
 *
 * The state of a simulation on a GPU, and the launches of its kernels: what mpm/gpu_backend.c needs of this folder. The
 * structs that kernels get depend on precision and dimension (launch.h), so every variant has a table of
 * functions of its own.
 *
 * The first failure of a driver ends all launches that follow; functions without a status leave it in `failure`.
 */
#pragma once
#include <stdatomic.h>

#include "mpm/gpu/driver.h"
#include "mpm/kernels/kernels.h"

/** Memory of the device. */
typedef struct mpm_gpu_array {
    void *at;
    size_t bytes;
} mpm_gpu_array;

/** Columns of the particles, [component][particle]. */
typedef struct mpm_gpu_columns {
    mpm_gpu_array x, v, C, F, history, mass, volume, key, row;
} mpm_gpu_columns;

/** Where the particles are: blocks with particles, by material, blocks whose nodes they reach, the first particle of
 *  each cell. The two tables of blocks number those in the domain (`number`, by key), and list them (`key_of`). Where
 *  there are several materials, `listed` has the places of one after those of another. */
typedef struct mpm_gpu_tables {
    mpm_gpu_array place_of, place_key, room_of, room_key, start, listed;
    int places, rooms;
    int *first; /* of the host: the first place in the list of each material, and the end */
} mpm_gpu_tables;

/** A material on the device. */
typedef struct mpm_gpu_material {
    mpm_gpu_driver *driver;       /* that has the image of its law */
    mpm_gpu_array law;            /* its prepared parameters; where they vary, [row of the user] */
    double J_low, J_high;
    bool keeps_J;
    unsigned scales_volume;       /* by which components of its history, one bit each */
    int components;               /* of its history, with its parameters that vary behind */
    int history[MPM_LAW_HISTORY]; /* which of the device's each of these is */
} mpm_gpu_material;

/** Whose books of colliders: those of sweeps, for particles, or of passes, for nodes. */
typedef enum mpm_gpu_finder { MPM_GPU_SWEEPS, MPM_GPU_PASSES, MPM_GPU_FINDERS } mpm_gpu_finder;

/** The colliders (gpu_boundary.h). */
typedef struct mpm_gpu_boundary {
    mpm_gpu_array packed;      /* pack.h */
    mpm_gpu_array books;       /* of a launch, [CTA][collider] */
    mpm_collider *posed;       /* the first part of `packed`, as the device has it */
    mpm_collider_book *found[MPM_GPU_FINDERS]; /* by the last launch, [collider] */
    size_t count, revision;    /* of the boundary that the device has */
} mpm_gpu_boundary;

/** Whose report: that of sweeps, over particles, or of passes, over nodes. */
typedef mpm_gpu_finder mpm_gpu_reporter;

/** What launches report, in one piece, so that one copy brings all of it: a report of the last sweep and one of the
 *  last pass, then their books, [finder][collider]. */
typedef struct mpm_gpu_said {
    mpm_gpu_array there;
    void *here;    /* the host's copy */
    size_t books;  /* where they begin [bytes] */
    size_t colliders;
} mpm_gpu_said;

typedef struct mpm_gpu_engine mpm_gpu_engine;

/** A sweep. `x`, `new_x`, `nodes`: which of two arrays. */
typedef struct mpm_gpu_launch {
    mpm_gpu_kernel kernel;
    int x, new_x, nodes;
    bool probes; /* MPM_GPU_SYNCHRONIZE: v and C are left in `next`, without colliders */
    bool couples; /* MPM_GPU_PUSH: loads have some */
    double dt, next_dt;
    const mpm_scheme *scheme;
    const mpm_leave *on_leave;      /* [face] */
    const mpm_colliders *colliders; /* that hold particles in the step that ends */
    bool corrects;                  /* the density of fluids; fill_nodes has found how full nodes are */
    const mpm_material *materials;  /* fill_volume: those that `has_volumes` */
    double fluid_volume;            /* likewise, as of an mpm_sweep */
} mpm_gpu_launch;

typedef struct mpm_gpu_variant {
    size_t node_bytes, report_bytes; /* of the nodes of a block; of a report */
    /** What the law's functions get of a material, in the form of one lane. False: there is not enough room, or the law
     *  is none of the package. */
    bool (*prepare)(const mpm_material *material, void *prepared, size_t room);
    void (*sweep)(mpm_gpu_engine *engine, const mpm_gpu_launch *launch);
    void (*pass)(mpm_gpu_engine *engine, const mpm_grid_pass *pass, int nodes);
    /** How full nodes are, for fluids: sums of volumes, after fill_volume where that is due, and then the shares. */
    void (*volumes)(mpm_gpu_engine *engine, const mpm_grid_pass *pass);
    void (*fill)(mpm_gpu_engine *engine, const mpm_grid_pass *pass, int nodes);
    /** What the last sweep has reported. These three read the host's copy of what launches have said. */
    void (*measured)(const mpm_gpu_engine *engine, mpm_measure *measure);
    /** The sum of m b of the last push [N]. */
    void (*pushed)(const mpm_gpu_engine *engine, double force[3]);
    /** What the last pass has reported. */
    void (*passed)(const mpm_gpu_engine *engine, mpm_block_report *report);
    /** Makes the coming tables for a sort of the particles, whose positions are in array `x`. Errors:
     *  MPM_OUT_OF_MEMORY, MPM_TOO_LARGE. */
    mpm_status (*find)(mpm_gpu_engine *engine, int x);
    /** Moves the particles accordingly, positions to the other array. `nodes` >= 0: in mid step; v and C stay behind,
     *  and the other array takes over these velocities. */
    void (*move)(mpm_gpu_engine *engine, int x, int nodes);
    /** Makes the tables, the coming ones and those of now, for particles that lie place by place: `key` of each, and
     *  `end`, its last particle and 1. Errors: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE. */
    mpm_status (*lay)(mpm_gpu_engine *engine, int places, const int *key, const int *end);
    /** Positions as users see them, into `shown`, of those in array `x`. Errors: MPM_OUT_OF_MEMORY. */
    mpm_status (*show)(mpm_gpu_engine *engine, int x);
} mpm_gpu_variant;

struct mpm_gpu_engine {
    const mpm_gpu_variant *variant;
    mpm_gpu_driver *driver;  /* has the memory */
    mpm_gpu_driver *kernels; /* launches what no law takes part in */
    const mpm_allocator *allocator;
    mpm_status failure;
    const mpm_gpu_driver *failed; /* whose failure it is */
    int dim, strains, history; /* reals of F or J, and of the histories of all materials */
    size_t real_size;
    int64_t cells[3];
    double lower[3], dx, allowed;
    mpm_gpu_material *material;
    int materials;             /* at least 1 */
    mpm_symmetry symmetry[3];  /* of the faces */
    int blocks[3];             /* in the table of all */
    int count, stride;         /* of particles */
    mpm_gpu_columns now, next; /* positions of `now`: array 0, of `next`: array 1 */
    mpm_gpu_tables tables, coming;
    mpm_gpu_array nodes[2], tiles, reports[2];
    mpm_gpu_array acceleration; /* of a body force, with loads, [row][dim] doubles */
    mpm_gpu_array couple;       /* of loads, [row][dim][dim] doubles */
    mpm_gpu_array v_before, force_tiles; /* of FLIP and AFLIP: v^n at nodes; dt f */
    bool corrects;             /* the density of fluids, for which these are: */
    mpm_gpu_array volume, volume_tiles, filled[2]; /* how full nodes are; in front of a sort, and room for it */
    mpm_gpu_boundary boundary;
    mpm_gpu_said said;
    mpm_gpu_array shown;       /* positions for users */
    atomic_int lent;           /* how many arrays others hold: until they return them, none is freed */
    void **kept;               /* those that would have been */
    size_t kept_count, kept_capacity;
    mpm_gpu_array block_count, mark[2], key, cell_of, cell_count, order, before[3], all[3]; /* scratch of a sort */
    void *staged;              /* room of the host for copies: MPM_GPU_STAGED reals */
};

enum { MPM_GPU_STAGED = 1 << 16 };

extern const mpm_gpu_variant mpm_engine_float2_variant, mpm_engine_float3_variant, mpm_engine_double2_variant,
    mpm_engine_double3_variant;

/** Makes an array hold `bytes`; what it held is lost. Errors: MPM_OUT_OF_MEMORY, and it is empty. */
mpm_status mpm_engine_hold(mpm_gpu_engine *engine, mpm_gpu_array *array, size_t bytes);

/** Frees an array, which is empty then. */
void mpm_engine_drop(mpm_gpu_engine *engine, mpm_gpu_array *array);

/** Makes the columns hold `count` particles; what they held is lost. */
mpm_status mpm_engine_hold_particles(mpm_gpu_engine *engine, ptrdiff_t count);

/** Copies `count` components of all particles, from the `first` one of an array of the device on, from or to the first
 *  ones of `width` reals per particle. */
void mpm_engine_write(mpm_gpu_engine *engine, const mpm_gpu_array *to, int first, int count, int width,
                      const void *from);
void mpm_engine_read(mpm_gpu_engine *engine, const mpm_gpu_array *from, int first, int count, int width, void *to);

/** Copies bytes from the device, or to the beginning of an array. */
void mpm_engine_get(mpm_gpu_engine *engine, void *to, const void *from, size_t bytes);
void mpm_engine_put(mpm_gpu_engine *engine, const mpm_gpu_array *to, const void *from, size_t bytes);

/** Makes room for what launches say. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_engine_hold_said(mpm_gpu_engine *engine, size_t colliders);

/** Waits for all launches, and brings what they have said to the host. */
void mpm_engine_hear(mpm_gpu_engine *engine);

/** The books of a finder, [collider], on the device or in the host's copy. */
mpm_collider_book *mpm_engine_books(const mpm_gpu_engine *engine, mpm_gpu_finder finder, bool there);

/** Begins with new materials, without parameters, of which there is one at least; those before end. On error
 *  (MPM_OUT_OF_MEMORY) there are none. */
mpm_status mpm_engine_begin_materials(mpm_gpu_engine *engine, size_t count);

/** The key of a block with a material. */
static inline int mpm_engine_pair_key(const mpm_gpu_engine *engine, int block, int material)
{
    return block * engine->materials + material;
}

/** Lists the places of every material, whose keys these are, where there are several. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_engine_list_places(mpm_gpu_engine *engine, mpm_gpu_tables *tables, const int *key);

/** What the driver says that has failed. */
const char *mpm_engine_words(const mpm_gpu_engine *engine);

/** Frees all but the drivers and the colliders. */
void mpm_engine_clear(mpm_gpu_engine *engine);
