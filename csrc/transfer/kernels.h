/* SPDX-License-Identifier: MIT
 *
 * The kernels: what is compiled once per (instruction set, dimension, precision), and how it is called.
 *
 * A step is one sweep over the groups and one pass over the grid:
 *
 *     sweep   GATHER  grid -> particles of the step that ends: v, C, F, x
 *             MEASURE totals, time-step limits and troubles of that state
 *             SCATTER particles -> grid of the step that begins: mass, momentum, stress
 *     grid    sum of the private copies, momentum -> velocity, gravity, colliders, walls, motion limits
 *
 * GATHER | MEASURE | SCATTER in one sweep is the fused step; the same inlined pieces run alone at the ends of a
 * run, with the same bits. The standard scheme (scheme.h) has sweeps of its own; all others share one that asks.
 */
#pragma once
#include "base/pool.h"
#include "contact/collider.h"
#include "contact/walls.h"
#include "materials/laws.h"
#include "state/binning.h"
#include "transfer/scheme.h"

enum mpm_sweep_mode {
    MPM_GATHER = 1,
    MPM_MEASURE = 2,
    MPM_SCATTER = 4,
    MPM_PROBE = 8,  /* alone: gathers without writing, to see how far particles would move and be strained */
    MPM_RECALL = 16, /* alone: v and C as the last fused sweep found them and did not store them (mpm_sweep_is_lean) */
    MPM_FILTER = 32, /* alone, XPIC: grid -> particles -> grid, of the velocities v_k */
    MPM_VOLUME = 64, /* alone: rest volumes that are 0 from the mass of the nodes around */
    MPM_PUSH = 128   /* alone, after SCATTER: a body force on the particles, to the grid */
};

typedef enum mpm_leave { MPM_LEAVE_RAISE, MPM_LEAVE_CLAMP, MPM_LEAVE_DELETE } mpm_leave;

/** The colliders during one step. Books are one per collider and block of nodes, or task. */
typedef struct mpm_colliders {
    const mpm_collider *list;
    size_t count;
    double lower[3], dx; /* of the grid [m] */
    mpm_symmetry symmetry[3]; /* beyond its faces */
    mpm_collider_book *books;
} mpm_colliders;

/** What MEASURE finds: sums over particles, maxima, counts. Lengths in m, times in s. */
typedef struct mpm_measure {
    double mass, momentum[3], moment[3] /* sum m x */, angular_momentum[3] /* 2-D: [2] only */, kinetic, elastic;
    double rate2;     /* largest 1/dt^2 of the isolated (and viscous) bound [1/s2] */
    double wave2;     /* largest squared wave speed [m2/s2] */
    double speed;     /* largest |v_a| [m/s] */
    double gradient2; /* largest |C|^2 [1/s2] */
    double least_det; /* PROBE: smallest det(I + dt grad v) */
    double moved;     /* GATHER, PROBE: largest |component| of the velocity that particles move with [m/s] */
    double force[3];  /* PUSH: sum of m b [N] */
    int64_t outside;  /* particles outside the domain after GATHER */
    int64_t out_of_range; /* particles whose J left the law's range, or is not a number */
    int64_t clipped;  /* GATHER: particles whose history was held within limits */
} mpm_measure;

/** What the grid pass finds in one block. */
typedef struct mpm_block_report {
    double speed;             /* largest |v_a| [m/s]; infinite if one is not finite */
    double speed_before;      /* the same of v^n, where the scheme needs it */
    double lowest[3], highest[3]; /* extremes of the components [m/s], and 0 */
    double impulse[3];        /* sum of m (v after - v before) the walls [N s] */
    double approach;          /* speed and that of the near colliders together [m/s], 0 if none is near */
} mpm_block_report;

/** One sweep. `measures` and `workspaces` have one entry per task and per thread. */
typedef struct mpm_sweep {
    const mpm_particles *particles;
    const mpm_grid *grid;
    const mpm_material *materials;
    mpm_scheme scheme;
    unsigned mode;
    mpm_leave on_leave;
    int64_t cells[3]; /* of the domain */
    int64_t period[3]; /* mpm_walls_period */
    double lower[3], dx;
    double gather_dt, scatter_dt; /* of the step that ends and of the one that begins [s] */
    mpm_colliders colliders; /* during the step that ends; books per task */
    const double *body_force; /* PUSH: b, [row][dim] [m/s2] */
    const mpm_block_report *inversion; /* PROBE: reports of the blocks, if only strain is asked for; else NULL */
    mpm_measure *measures;
    void **workspaces;
} mpm_sweep;

/** Velocities [m/s] that differ by `range` along the axes at most, whichever nodes they are of: can dt grad v turn a
 *  particle inside out? Not where |dt C_ab| <= range_a dt/h, as for the quadratic kernel, is small. */
static inline bool mpm_sweep_may_invert(const double range[3], double dt_per_dx, int dim)
{
    double sum = 0;
    for (int a = 0; a < dim; a++)
        sum += dim * (range[a] * dt_per_dx) * (range[a] * dt_per_dx);
    return !(sum < 0.25);
}

/** Is this sweep a lean one? Where the scheme forgets v and C, the next step finds them anew, so a fused sweep stores only
 *  positions, into `spare_vector`, and strain. What it gathered from stays: the positions before, and the velocities of
 *  nodes (mpm_grid_records.previous). */
static inline bool mpm_sweep_is_lean(const mpm_scheme *scheme, unsigned mode)
{
    return mpm_scheme_forgets(scheme) && (mode & MPM_GATHER) && (mode & MPM_SCATTER);
}

typedef struct mpm_grid_pass {
    const mpm_grid *grid;
    int64_t cells[3];
    double dt, gravity[3];
    mpm_wall walls[6]; /* x-, x+, y-, ... */
    mpm_colliders colliders; /* books per block */
    mpm_scheme scheme;
    bool for_density;  /* nodes at mirrors and periodic faces keep the mass of all their images, not their own */
    int filter_step;   /* 0: the grid pass of a step; k >= 1: v_k of XPIC from the copies of a FILTER sweep */
    mpm_block_report *reports; /* per block */
} mpm_grid_pass;

/** Between tiles and rows. `rows` is the user's array of `field`: [row][components] reals. */
typedef struct mpm_exchange {
    mpm_particles *particles;
    const mpm_material *materials;
    int64_t cells[3], period[3];
    double lower[3], dx;
    const mpm_field *field;
    void *rows;
    uint8_t *flaws;             /* reading in: [row], enum mpm_flaw of rows that differ */
    mpm_placement *placements;  /* reading in x, wrap: where moved particles go; room for all of them */
    size_t placement_count;
    void *saved;                /* wrap: [placement][dim] reals, the positions before */
    int64_t differing;          /* reading in: rows that differ from what was written out */
    mpm_leave on_leave;         /* reading in x: what becomes of positions outside the domain */
    int64_t outside;            /* ... and how many there were */
} mpm_exchange;

/** New particles, row by row in double, on their way into the waiting tiles that begin at slot `first_slot`. */
typedef struct mpm_arrivals {
    mpm_particles *particles;
    int64_t period[3]; /* mpm_walls_period */
    double lower[3], dx;
    ptrdiff_t count, first_slot;
    int32_t first_row, material;
    bool keeps_J;
    double initial[MPM_MOST_COLUMNS]; /* of the columns of laws and users */
    const double *x, *v;         /* (count, d) */
    const double *C, *F;         /* (count, d, d); NULL: 0, identity */
    const double *volume, *mass; /* (count,) */
    mpm_placement *placements;               /* filled: one per particle, ascending in slot */
} mpm_arrivals;

/** Responses of a law at given states, arrays of reals. */
typedef struct mpm_evaluation {
    mpm_material material;
    ptrdiff_t count;
    const void *F, *history; /* [count][components]; history NULL: what the row of the law begins with */
    void *tau, *energy, *tau_zz, *isolated, *wave;
} mpm_evaluation;

/** The return map of a law at given trial states, arrays of reals that are overwritten. */
typedef struct mpm_return_map {
    mpm_material material; /* of an inelastic law */
    ptrdiff_t count;
    double dt; /* [s]; velocities rest */
    void *F, *history; /* [count][components] */
} mpm_return_map;

typedef struct mpm_kernels {
    const char *isa;
    int dim, lanes;
    size_t real_size;
    const size_t *workspace_bytes; /* per thread, for any scheme */
    /** For the standard scheme, and for any. */
    void (*sweep_task)(const mpm_sweep *sweep, ptrdiff_t task, int thread);
    void (*sweep_any_task)(const mpm_sweep *sweep, ptrdiff_t task, int thread);
    void (*grid_block)(const mpm_grid_pass *pass, ptrdiff_t block);
    /** The second pass over the blocks with images, after the first over all blocks. */
    void (*grid_fold)(const mpm_grid_pass *pass, ptrdiff_t fold);
    mpm_binning_locate locate;
    /** Writes `field` out into `rows`. */
    void (*write_out)(const mpm_exchange *exchange);
    /** Finds the rows whose bits differ from what write_out would write, and their flaws; changes no particle. */
    void (*inspect)(mpm_exchange *exchange);
    /** Takes those rows in (all must be fine). */
    void (*read_in)(mpm_exchange *exchange);
    /** Takes mass and motion from the particles whose written positions are outside the domain. */
    void (*freeze_outside)(const mpm_exchange *exchange);
    /** Moves the particles that lie beyond a periodic face by a period, and lists where they go; those of `placed`
     *  (ascending in slot) were moved already and are passed over. Without `placements` they are only counted. */
    void (*wrap)(mpm_exchange *exchange, const mpm_placement *placed, size_t placed_count);
    /** Fills the waiting tiles. */
    void (*arrive)(const mpm_arrivals *arrivals);
    /** First row (lowest number) at or above the limit of `sweep->measures[0]`, -1 if none: rate2 if
     *  `which` is 0, wave2 1, speed 2, gradient2 3. Used by stable_dt, not by steps. */
    int32_t (*find_limit)(const mpm_sweep *sweep, int which);
    int32_t (*find_limit_any)(const mpm_sweep *sweep, int which);
    /** Flags the rows that are outside (MPM_OUTSIDE) or out of the law's range (MPM_INVERTED). */
    void (*find_trouble)(const mpm_sweep *sweep, uint8_t *flags);
    void (*evaluate)(const mpm_evaluation *evaluation);
    void (*return_map)(const mpm_return_map *states);
} mpm_kernels;
