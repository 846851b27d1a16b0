/* SPDX-License-Identifier: MIT
 *
 * The kernels, compiled once per (instruction set, dimension, precision), and how to call them.
 *
 * Operations on particles are sweeps over the groups, task by task; operations on nodes are passes over the blocks of
 * the grid. A step is P2G, a grid pass and G2P. G2P2G fuses G2P with the P2G of the next step, from the same inlined
 * pieces and so with the same bits. The standard scheme (scheme.h) has sweeps of its own; all other schemes share a
 * family of sweeps that reads the scheme at run time.
 */
#pragma once
#include <math.h>

#include "base/pool.h"
#include "contact/collider.h"
#include "contact/constraint.h"
#include "contact/walls.h"
#include "materials/laws.h"
#include "mpm/kernels/heat.h"
#include "mpm/kernels/scheme.h"
#include "mpm/memory/binning.h"
#include "run/loads.h"

/** X(enumerator, name, standard, any): every operation on particles, with the files of its sweep for the standard
 *  scheme and for any other scheme. */
#define MPM_OPERATIONS(X) \
    X(MPM_P2G, p2g, sweep, sweep_any)                 /* mass and momentum with the stress of the step, to the grid */ \
    X(MPM_G2P, g2p, sweep, sweep_any)                 /* v, C, F, x of the step that ends; MEASURE of the new state */ \
    X(MPM_G2P2G, g2p2g, sweep, sweep_any)             /* G2P and the P2G of the step that begins, in one sweep */ \
    X(MPM_MEASURE, measure, sweep, sweep_any)         /* totals, time-step limits and errors of the present state */ \
    X(MPM_DRY_RUN, dry_run, sweep, sweep_any)         /* how far G2P would move, strain particles; writes nothing */ \
    X(MPM_SYNCHRONIZE, synchronize, sweep, sweep_any) /* v and C whose stores the last G2P2G has deferred */ \
    X(MPM_FILTER, filter, sweep_any, sweep_any)       /* XPIC: the velocities v_k to particles and back to the grid */ \
    X(MPM_REST_VOLUME, rest_volume, sweep_any, sweep_any) /* volumes that are 0, from the density of the grid */ \
    X(MPM_BODY_FORCE, body_force, sweep_any, sweep_any)   /* after P2G: a force on the particles, to the grid */ \
    X(MPM_RIGID_SUMS, rigid_sums, sweep, sweep_any)   /* sums over the particles of rigid bodies; writes none */ \
    X(MPM_RIGID_PLACE, rigid_place, sweep, sweep_any) /* x, v, C, F of the particles of rigid bodies, from these */ \
    X(MPM_AVERAGE, average, f_bar, f_bar)             /* F-bar: the volume change of the step, to the grid */ \
    X(MPM_MOMENTS, moments, contact, contact)         /* after P2G: moments of the volume, where layers meet */ \
    X(MPM_DAMAGE, damage, faces, faces)               /* before P2G: damage, to the grid */ \
    X(MPM_AXES, axes, faces, faces)                   /* then: the gradient of the damage, squared, to the grid */ \
    X(MPM_FACE_MOMENTS, moments, faces, faces)        /* as MPM_MOMENTS, of the sides of cracks */ \
    X(MPM_VOLUME, volume, fill, fill)                 /* of materials whose mass does not tell it, to the grid */ \
    X(MPM_LINEARIZE, linearize, tangent, tangent_any) /* as MPM_TANGENT, with dt f linear about F^n */ \
    X(MPM_TANGENT, tangent, tangent, tangent_any)     /* as MPM_RESIDUAL; keeps the tangent, scatters its diagonal */ \
    X(MPM_RESIDUAL, residual, tangent, tangent_any)   /* dt f and the energy of a trial velocity */ \
    X(MPM_PRODUCT, product, tangent, tangent_any)     /* dt^2 H times a node vector, by the tangent that was kept */ \
    X(MPM_LOAD_POWER, load_power, sweep_any, sweep_any) /* after the grid pass: what the forces of loads do */ \
    X(MPM_SHARE, share, sweep_any, sweep_any)         /* before P2G: the shares of held regions, to the grid */ \
    X(MPM_HEAT, heat, heat, heat)                     /* before G2P: conduction, by the sweeps of heat.h */

#define MPM_OPERATION_ENUMERATOR(enumerator, name, standard, any) enumerator,
typedef enum mpm_operation { MPM_OPERATIONS(MPM_OPERATION_ENUMERATOR) MPM_OPERATION_COUNT } mpm_operation;
#undef MPM_OPERATION_ENUMERATOR

/** Each operation has one sweep for the standard scheme and one for any scheme. */
typedef enum mpm_family { MPM_STANDARD_SCHEME, MPM_ANY_SCHEME, MPM_FAMILY_COUNT } mpm_family;

static inline mpm_family mpm_kernels_family(const mpm_scheme *scheme)
{
    return mpm_scheme_is_standard(scheme) ? MPM_STANDARD_SCHEME : MPM_ANY_SCHEME;
}

/** The colliders during one step. There is one book per collider and block of nodes, or per collider and task. */
typedef struct mpm_colliders {
    const mpm_collider *list;
    size_t count;
    double lower[3], dx; /* of the grid [m] */
    mpm_symmetry symmetry[3]; /* beyond its faces */
    mpm_collider_book *books;
    mpm_particle_collisions particles;
} mpm_colliders;

/** What a sweep measures: sums over particles, maxima, counts. Lengths in m, times in s. */
typedef struct mpm_measure {
    double mass, momentum[3], mass_moment[3] /* sum m x */, angular_momentum[3] /* 2-D: [2] only */, kinetic, elastic;
    double rate2;     /* largest 1/dt^2 of the isolated (and viscous) bound [1/s2] */
    double wave2;     /* largest squared wave speed [m2/s2] */
    double speed;     /* largest |v_a| [m/s] */
    double gradient2; /* largest |C|^2 [1/s2] */
    double least_det; /* dry run: smallest det(I + dt grad v) */
    double advection_speed; /* G2P, dry run: largest |component| of the velocity that moves particles [m/s] */
    double force[3];  /* body force: sum of m b [N] */
    double dissipation[MPM_DISSIPATIONS]; /* where materials keep it [J] */
    double heat, diffusivity; /* of MPM_HEAT_SUM: sum m c T, of BEGIN, TAKE: from sources [J]; largest [m2/s] */
    int64_t outside;  /* particles outside the domain after G2P */
    int64_t clamped, frozen; /* those of them that were put back onto a face, or wait for their deletion */
    int64_t out_of_range; /* particles whose J left the law's range or is NaN, or whose user's law is not finite */
    int64_t clipped;  /* G2P: particles whose history was held within limits */
} mpm_measure;

/** The maxima that limit the time step. */
typedef enum mpm_maximum { MPM_RATE2, MPM_WAVE2, MPM_SPEED, MPM_GRADIENT2 } mpm_maximum;

/** What the grid pass measures in one block. */
typedef struct mpm_block_report {
    double speed;             /* largest |v_a| [m/s]; infinite if one is not finite */
    double speed_before;      /* the same for v^n, where the scheme needs it */
    double lowest[3], highest[3]; /* extremes of the components at nodes with mass [m/s]; infinite without any */
    double impulse[3];        /* of the walls: sum of m (v after - v before) [N s] */
    double drag[3];           /* of damping, likewise; where the pass damps */
    double friction_heat;     /* of walls and colliders [J]; where the pass rubs */
    double approach;          /* speed plus the speed of the near colliders [m/s], 0 if none is near */
} mpm_block_report;

/** What two layers did to each other at one place. */
typedef struct mpm_layer_book {
    double impulse[3]; /* of the first on the second [N s] */
    double friction_work, adhesion_work; /* [J] */
} mpm_layer_book;

/** A sum in twice the precision: `low` gathers what rounding takes from `high`. A body finds its velocity anew in every
 *  step, as a sum over a sum, so their rounding, always the same, would add up. */
typedef struct mpm_sum {
    double high, low;
} mpm_sum;

static inline void mpm_sum_add(mpm_sum *sum, double term)
{
    const double high = sum->high + term, added = high - sum->high;
    sum->low += (sum->high - (high - added)) + (term - added); /* exact: Knuth's two-sum */
    sum->high = high;
}

static inline void mpm_sum_add_sum(mpm_sum *sum, const mpm_sum *part)
{
    mpm_sum_add(sum, part->high);
    sum->low += part->low;
}

static inline double mpm_sum_value(const mpm_sum *sum)
{
    return sum->high + sum->low;
}

/** Sums over the particles of a rigid body, or of those in one group. Positions count in metres from the body's origin,
 *  angular momentum is about it. Vectors and tensors have three dimensions; in 2-D the body lies in the plane z = 0. */
typedef struct mpm_rigid_sums {
    mpm_sum mass, mass_moment[3], momentum[3], angular_momentum[3]; /* sum m, m x, m v, m x cross v */
    mpm_sum rest_moment[3], spin[3]; /* sum m X, X being the place in the rest frame; sum m times the spin of C */
    mpm_sum second_moment[3][3];  /* sum m x x^T [kg m2] */
    double lowest[3], highest[3]; /* a box around the particles [m]; infinite and empty without any */
} mpm_rigid_sums;

/** The state of a rigid body. Its particles are at x = centre + rotation (X - rest), and move with the velocities
 *  v = velocity + spin cross (x - centre). */
typedef struct mpm_rigid_motion {
    double mass;                   /* [kg]; 0: no particle is left */
    double inertia[3][3], rest[3]; /* about the centre of mass [kg m2], and that [m], in the rest frame */
    double centre[3], rotation[3][3]; /* in the domain [m] */
    double velocity[3], spin[3];      /* [m/s], [rad/s] */
} mpm_rigid_motion;

/** A rigid body. */
typedef struct mpm_rigid_body {
    mpm_rigid_motion motion;
    double lowest[3], highest[3]; /* a box around it [m] */
    double reach, speed;          /* from the centre of mass without points of the surface [m]; largest |v_a| [m/s] */
    double shift[3], turn[3][3];  /* of the step: displacement of the centre [m], rotation less 1 */
    size_t points;                /* of its surface */
    double (*force)[3]; /* of the contacts there: of particles, after MPM_RIGID_SUMS; for MPM_RIGID_PLACE [N] */
    /* Of the particles when they were last added up */
    int32_t block[3]; /* of the origin, the place of one of its particles; particles count as their nearest images */
    double place[3];  /* of the origin, from the first node of the block [cells] */
    double rotation[3][3]; /* F of that particle */
    size_t first_group, end_group; /* its groups are among these; 0, 0: it has no particles */
    mpm_rigid_sums sums;
} mpm_rigid_body;

/** What every sweep needs. `measures` and `workspaces` have one entry per task and per thread. */
typedef struct mpm_sweep {
    const mpm_particles *particles;
    const mpm_grid *grid;
    const mpm_material *materials;
    mpm_scheme scheme;
    mpm_leave on_leave[6];
    int64_t cells[3]; /* of the domain */
    int64_t period[3]; /* mpm_walls_period */
    double lower[3], dx;
    mpm_colliders colliders; /* during the step that ends; books per task */
    mpm_rigid_sums *rigid_sums; /* per group, of rigid materials; written by MPM_RIGID_SUMS */
    const mpm_rigid_body *rigid; /* per material */
    const void *volume_change; /* F-bar, in G2P: the averages as grid->field; else NULL */
    const void *fill; /* G2P: how full the nodes are, as grid->field; NULL: the density of fluids is not corrected */
    double fluid_volume; /* per mass of the fluid whose masses tell volumes [m3/kg]; 0: there is none */
    mpm_measure *measures;
    void **workspaces;
} mpm_sweep;

/** What one operation needs besides mpm_sweep; `dt` is the size of its step [s]. */
typedef union mpm_arguments {
    struct {
        double dt;
    } p2g, g2p, synchronize;
    struct {
        double dt;
        const double *b; /* v of the sums is that of this body force, [row][dim] [m/s2]; NULL: v is that of particles */
    } rigid_sums;
    struct {
        bool ends_step; /* particles outside meet their fate */
    } rigid_place;
    struct {
        double dt;
        double scale; /* of V0 K, to about the mass of the stiffest particle [s2/m2] */
    } average;
    struct {
        double dt, next_dt; /* of the step that ends and of the one that begins */
    } g2p2g;
    struct {
        double dt;
        const mpm_block_report *blocks; /* leaves out groups whose determinants exceed `enough`; NULL: none */
        double enough;
    } dry_run;
    struct {
        double dt;
        const mpm_forcing *forcing; /* its body force and couples */
    } body_force;
    struct {
        double dt;
        const mpm_forcing *forcing;
        double *power; /* [entry] [W] */
    } load_power;
    struct {
        const mpm_forcing *forcing;
        int first; /* of the regions, one for each dimension */
    } share;
    mpm_heat_arguments heat;
    struct {
        double dt;
        const void *nodes; /* the trial velocity, or the vector to multiply: as grid->field */
        void *tangent;     /* [tile][reals][lanes] */
        int reals;         /* room for MPM_TANGENT_REALS */
        double beta;       /* factor of the tangent; 1 but in semi-implicit steps */
        bool projects;     /* makes the tangent positive semi-definite (linearize, tangent) */
    } solve;
} mpm_arguments;

/** The reals of a particle that keep its tangent; `moduli`: of a law with axes of its own. */
#define MPM_TANGENT_REALS(dim, moduli) ((dim) == 2 ? 10 : (moduli) ? 45 : 31)

typedef void mpm_sweep_task(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread);

/** A lower bound of det(I + dt C) where node velocities [m/s] differ by at most `range` along the axes, and those of
 *  neighbours along an axis approach each other by at most `approach`, which `range` bounds; 0 along the third axis in
 *  2-D. With r = range dt/h and s = approach dt/h, |dt C_ab| < r_a and dt C_aa > -s_a, so the principal minors of dt C
 *  are at least -max(s_a r_b, s_b r_a) - r_a r_b, and its determinant is at least -4 r_x r_y r_z. */
static inline double mpm_kernels_least_det(const double range[3], const double approach[3], double dt_per_dx)
{
    double least = 1, product = 1;
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3;
        const double r = range[a] * dt_per_dx, next = range[b] * dt_per_dx;
        const double s = approach[a] * dt_per_dx, next_s = approach[b] * dt_per_dx;
        least -= s + (s * next > next_s * r ? s * next : next_s * r) + r * next;
        product *= r;
    }
    return least - 4 * product;
}

/** What a grid pass does. An explicit step is one pass; an implicit step solves between two. */
typedef enum mpm_grid_stage {
    MPM_GRID_STEP,   /* velocities after forces, gravity, colliders and walls */
    MPM_GRID_FREE,   /* velocities after gravity, without contact; marks the colliders near each block */
    MPM_GRID_FINISH, /* reports of the velocities that were solved for */
    MPM_GRID_FILTER, /* v_k of XPIC from the copies of a filter sweep */
    MPM_GRID_DENSITY /* masses; nodes at mirrors and periodic faces get the mass of all their images, not their own */
} mpm_grid_stage;

typedef struct mpm_grid_pass {
    const mpm_grid *grid;
    int64_t cells[3];
    double dt, gravity[3];
    mpm_wall walls[6]; /* x-, x+, y-, ... */
    mpm_colliders colliders; /* books per block */
    mpm_scheme scheme;
    mpm_grid_stage stage;
    int filter_step;   /* k >= 1 of MPM_GRID_FILTER */
    bool damps;        /* has damping, or absorbing walls or colliders */
    double damping;    /* a of the force -a m v [1/s] */
    bool rubs;         /* friction gives nodes heat per mass, the first real of MPM_GRID_TEMPERATURE */
    double dx;
    const mpm_forcing *forcing; /* of held regions, whose nodes are marked; NULL: none is held */
    size_t loads;
    double (*hold_impulses)[3]; /* [block][load]: of held regions [N s] */
    double fluid_volume; /* of the fill, as in mpm_sweep */
    bool has_volumes;    /* likewise: MPM_VOLUME has collected some in the copies of the velocity */
    mpm_block_report *reports; /* per block */
    const struct mpm_layers *layers; /* how bodies touch (contact/layers.h); NULL: they do not */
    mpm_layer_book *pair_books; /* as mpm_place.first_pair numbers them */
} mpm_grid_pass;

/** Marks nodes that regions hold, from the shares of `regions` of them, from `first` on, in the mass of the nodes. */
typedef struct mpm_hold_pass {
    const mpm_grid *grid;
    const mpm_forcing *forcing;
    int first, regions;
    bool begins; /* forgets earlier marks */
} mpm_hold_pass;

/** The nodes at contacts: those of block b are `nodes[first[b]]` and the `count[b] - 1` after it. */
typedef struct mpm_constrained_nodes {
    mpm_constrained_node *nodes;
    int32_t *first, *count; /* per block */
} mpm_constrained_nodes;

/** What a pass over the node vectors of a solve does. v is the velocity, u the trial velocity, v^ the velocity before
 *  the solve, M the mass of a node with all its images, D the preconditioner, S the projection onto the directions that
 *  no contact holds, and `copies` the sums of the last sweep. */
typedef enum mpm_node_operation {
    MPM_NODES_BEGIN,    /* guess = {v^, M}; v gets the given velocities */
    MPM_NODES_GIVE,     /* v gets the given velocities */
    MPM_NODES_RESIDUAL, /* r = S [M (u - v^) - copies]; shares the rest among contacts. Sums: r M^-1 r, and
                         * M |u - v^|^2/2, or r x if `along` */
    MPM_NODES_SYSTEM,   /* the same, after a sweep that keeps the tangent; D; r = -r, p = D^-1 r, x = 0. Sums as
                         * ADVANCE */
    MPM_NODES_PRODUCT,  /* q = S [M p + copies]. Sum: p q */
    MPM_NODES_ADVANCE,  /* x += a p, r -= a q. Sums: r M^-1 r, r D^-1 r */
    MPM_NODES_REDIRECT, /* p = D^-1 r + a p */
    MPM_NODES_TRY,      /* u = v + a x */
    MPM_NODES_EXTRAPOLATE /* v is that in mid step, and becomes 2 v - v^n; directions that contacts hold keep v */
} mpm_node_operation;

typedef struct mpm_node_pass {
    const mpm_grid *grid;
    const mpm_constrained_nodes *constrained;
    mpm_node_operation operation;
    mpm_grid_field trial; /* the vector of u */
    mpm_grid_field preconditioner; /* whose fourth component is D: MPM_GRID_DIAGONAL, or MPM_GRID_GUESS for the mass */
    bool along;
    double factor;         /* a */
    double (*sums)[2];     /* per block */
} mpm_node_pass;

/** Exchange between tiles and rows. `rows` is the user's array of `field`: [row][components] reals. */
typedef struct mpm_exchange {
    mpm_particles *particles;
    const mpm_material *materials;
    int64_t cells[3], period[3];
    double lower[3], dx;
    const mpm_field *field;
    void *rows;
    uint8_t *flaws;             /* reading in: [row], enum mpm_flaw of rows that differ */
    mpm_placement *placements;  /* reading in x, wrap: where moved particles go; has room for all particles */
    size_t placement_count;
    void *saved;                /* wrap: [placement][dim] reals, the positions before */
    int64_t differing;          /* reading in: rows that differ from what was written out */
    mpm_leave on_leave[6];      /* reading in x: what happens to positions outside the domain */
    int64_t outside, clamped;   /* reading in x: how many were outside, and how many of them were put back */
} mpm_exchange;

/** New particles, row by row in double, for the reserved tiles that begin at slot `first_slot`. */
typedef struct mpm_insertion {
    mpm_particles *particles;
    int64_t period[3]; /* mpm_walls_period */
    double lower[3], dx;
    ptrdiff_t count, first_slot;
    int32_t first_row, material;
    bool keeps_J;
    double initial[MPM_MOST_COLUMNS]; /* for the columns of laws and users */
    const double *x, *v;         /* (count, d) */
    const double *C, *F;         /* (count, d, d); NULL: 0, identity */
    const double *volume, *mass; /* (count,) */
    mpm_placement *placements;               /* filled: one per particle, ascending in slot */
} mpm_insertion;

/** Evaluations of a law at given states, arrays of reals. */
typedef struct mpm_evaluation {
    mpm_material material;
    ptrdiff_t count;
    const void *F, *history; /* [count][components]; history NULL: the initial values in the row of the law */
    const void *velocity_gradient; /* [count][d][d] [1/s]; NULL: 0 */
    void *tau, *energy, *tau_zz, *isolated, *wave;
} mpm_evaluation;

/** The return map of a law at given trial states, arrays of reals that are overwritten. */
typedef struct mpm_return_map {
    mpm_material material; /* of an inelastic law */
    ptrdiff_t count;
    double dt; /* [s] */
    const void *velocity_gradient; /* [count][d][d] [1/s]; NULL: 0 */
    void *F, *history; /* [count][components]; a law that keeps J: det F is J */
} mpm_return_map;

typedef struct mpm_kernels {
    const char *isa;
    int dim, lanes;
    size_t real_size;
    const size_t *workspace_bytes; /* per thread, for any scheme */
    mpm_sweep_task *operation[MPM_OPERATION_COUNT][MPM_FAMILY_COUNT];
    void (*grid_block)(const mpm_grid_pass *pass, ptrdiff_t block);
    /** The second pass, over the places whose blocks wait for others, after the first pass over all blocks. */
    void (*grid_place)(const mpm_grid_pass *pass, ptrdiff_t place);
    /** Two passes for a field whose sums become means {q, sum w}, after MPM_AVERAGE: over all blocks, then over those
     *  with images. */
    void (*means_block)(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t block);
    void (*means_fold)(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t fold);
    /** Two passes for MPM_GRID_VOLUME, after the contacts and MPM_VOLUME: over all blocks, then over those with images.
     *  A third one, over all blocks, for MPM_GRID_FILL. */
    void (*volumes_block)(const mpm_grid_pass *pass, ptrdiff_t block);
    void (*volumes_fold)(const mpm_grid_pass *pass, ptrdiff_t fold);
    void (*fill_block)(const mpm_grid_pass *pass, ptrdiff_t block);
    /** Passes over all blocks after MPM_DAMAGE and after MPM_AXES. */
    void (*damage_block)(const mpm_grid *grid, ptrdiff_t block);
    void (*axes_block)(const mpm_grid *grid, ptrdiff_t block);
    /** The two of node means for the vectors of a solve; only operations with `copies` need the second one. */
    void (*nodes_block)(const mpm_node_pass *pass, ptrdiff_t block);
    void (*nodes_fold)(const mpm_node_pass *pass, ptrdiff_t fold);
    /** An upper bound of the nodes of a block at contacts, after MPM_GRID_FREE. */
    int32_t (*constrained_room)(const mpm_grid_pass *pass, ptrdiff_t block);
    /** Finds them; `list` has room. */
    void (*constrained_find)(const mpm_grid_pass *pass, const mpm_constrained_nodes *list, ptrdiff_t block);
    /** Revises the contacts after a solve. Returns how many have changed. */
    int32_t (*constrained_revise)(const mpm_grid_pass *pass, const mpm_constrained_nodes *list, ptrdiff_t block,
                           double tolerance);
    /** Enters the impulses of the contacts in the reports of walls and the books of colliders. */
    void (*constrained_enter)(const mpm_grid_pass *pass, const mpm_constrained_nodes *list, ptrdiff_t block);
    /** Marks the nodes of a block that regions hold, after MPM_SHARE and its means. */
    void (*hold_mark)(const mpm_hold_pass *pass, ptrdiff_t block);
    /** Two passes of conduction, after its sweeps: over all blocks, then, where any has images, over all again. */
    void (*heat_block)(const mpm_heat_pass *pass, ptrdiff_t block);
    void (*heat_fold)(const mpm_heat_pass *pass, ptrdiff_t block);
    mpm_binning_locate locate;
    /** Writes `field` to `rows`. */
    void (*write_out)(const mpm_exchange *exchange);
    /** Finds the rows whose bits differ from what write_out would write, and their flaws; changes no particle. */
    void (*inspect)(mpm_exchange *exchange);
    /** Reads in the rows that differ; none may have a flaw. */
    void (*read_in)(mpm_exchange *exchange);
    /** Freezes the particles to delete, whose written positions are outside the domain: no mass, no motion. */
    void (*freeze_outside)(const mpm_exchange *exchange);
    /** Moves the particles beyond a periodic face by one period, and lists where they go. Skips those of `placed`
     *  (ascending in slot), which have already been moved. Without `placements`, only counts the particles. */
    void (*wrap)(mpm_exchange *exchange, const mpm_placement *placed, size_t placed_count);
    /** Fills the reserved tiles. */
    void (*insert)(const mpm_insertion *insertion);
    /** The lowest row whose value of `maximum` is at least `least`, -1 if there is none. For stable_dt only. */
    int32_t (*find_limit)(const mpm_sweep *sweep, mpm_maximum maximum, double least);
    /** Flags rows for the history of a user's law (MPM_NOT_FINITE), J beyond its law's range (MPM_INVERTED), the place
     *  (MPM_OUTSIDE), numbers of the law that are not finite (MPM_BAD_RESPONSE): the first that holds. */
    void (*find_faults)(const mpm_sweep *sweep, uint8_t *flags);
    void (*evaluate)(const mpm_evaluation *evaluation);
    void (*return_map)(const mpm_return_map *states);
} mpm_kernels;
