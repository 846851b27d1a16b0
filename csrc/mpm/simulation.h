/* SPDX-License-Identifier: MIT
 *
 * A simulation: particles, grid, clock and books, and the functions that make, query and advance it.
 *
 * No call may overlap another on the same simulation; different simulations share nothing. A call that fails leaves the
 * last whole state.
 */
#pragma once
#include "contact/layers.h"
#include "mpm/kernels/kernels.h"
#include "rigid/body.h"
#include "run/books.h"
#include "run/limit.h"
#include "run/options.h"
#include "run/store.h"

/** The diagonal matrix that preconditions the solves of implicit steps. */
typedef enum mpm_preconditioner {
    MPM_BY_MASS,      /* of the nodes: momentum is conserved to round-off at any tolerance */
    MPM_BY_STIFFNESS, /* mass, plus dt^2 times an estimate of the stiffness at the nodes */
    MPM_PRECONDITIONER_COUNT
} mpm_preconditioner;

/** What the linear solve of a semi-implicit step makes of the derivative of the forces. */
typedef enum mpm_projection {
    MPM_PROJECTION_SEMIDEFINITE, /* that of each particle positive semi-definite: the solve has a solution at any dt */
    MPM_PROJECTION_NONE,         /* as it is */
    MPM_PROJECTION_COUNT
} mpm_projection;

/** How conduction advances time. */
typedef enum mpm_conduction {
    MPM_CONDUCTION_EXPLICIT, /* in sub-steps */
    MPM_CONDUCTION_IMPLICIT  /* by one step of backward Euler where more than one sub-step would be necessary */
} mpm_conduction;

/** What the user chooses once. A 2-D simulation ignores the third axis. */
typedef struct mpm_settings {
    MPM_COMMON;
    int64_t cells[3];  /* of the domain, per axis, at least 1, and 4 where it is periodic */
    double dx;         /* cell size [m] */
    mpm_scheme scheme;
    mpm_particle_collisions particle_collisions;
    double damping;    /* a of the force -a m v on nodes [1/s]; explicit steps only */
    bool dissipation;  /* keep what laws dissipate: two fields, three columns of the history; explicit steps only */
    bool contact;      /* bodies of different layers touch; two more columns of the history; explicit steps only */
    bool heat;         /* materials conduct heat: two fields, two columns of the history */
    mpm_conduction conduction; /* with heat */
    bool pore;         /* with `heat`: it is pore water instead; explicit steps only */
    bool solute;       /* with `heat`: it is a solute instead */
    int integrator;    /* row of integrator.h */
    double beta;       /* semi-implicit: factor of the tangent, 0.5 .. 1; 0 is the explicit method */
    double tolerance;  /* implicit: residual over that of v^n + dt g */
    int max_iterations; /* implicit: Newton iterations */
    mpm_preconditioner preconditioner; /* implicit */
    mpm_projection projection; /* semi-implicit */
    double load;       /* implicit Euler and midpoint: the force, in the norm of M^-1 [N/kg^1/2], whose impulse in a
                        * step counts as a residual of 1; 0: the tolerance is relative to the first residual */
} mpm_settings;

/** The rows of the settings; settings.c has their ranges. */
extern const mpm_options mpm_settings_options;

/** Valid settings: a box of 32 cells of 1/32 m per axis, from the origin; slip walls, no gravity, the standard scheme
 *  in double precision, automatic dt, one thread, the fastest instruction set. */
mpm_settings mpm_settings_default(int dim);

/** The name of the first setting that is out of its range, NULL if there is none. */
const char *mpm_settings_flaw(const mpm_settings *settings);

/** Why a step was refused or a run ended, in addition to the reasons that all methods share (run/error.h). */
enum {
    MPM_GRID_NOT_FINITE = MPM_REASONS, /* node velocities overflowed; `name` and the rows: MPM_RESPONSE_NOT_FINITE */
    MPM_MOVES_TOO_FAR,                 /* a node would move a cell or more in one step */
    MPM_WOULD_INVERT,                  /* a particle's strain increment would turn it inside out */
    MPM_BODY_TOO_LONG,                 /* a rigid body has at least half the length of a periodic axis: `kind` is its
                                        * material */
    MPM_TEMPERATURE_LEFT_RANGE,        /* conduction gives the rows temperatures that are not positive or overflow;
                                        * value[0] is the least [K], `kind`: 1 if there is a flux through a face,
                                        * 2 if it is the pressure of pore water, 3 if a concentration */
    MPM_BODY_NO_POSE                   /* `name`, x or F of the particles of a rigid body, fit no pose: `kind` is its
                                        * material, `value` how far they are from one, and the most allowed */
};

/** Counters of the run's health. */
enum {
    MPM_HEALTH_LEFT_DOMAIN, MPM_HEALTH_CLAMPED, MPM_HEALTH_DELETED,
    MPM_HEALTH_CLIPPED, /* history was held within limits */
    MPM_HEALTH_REFUSED, /* steps begun again with a smaller dt */
    MPM_HEALTH_BINNINGS,
    MPM_HEALTH_STAGNATED /* implicit steps whose residual rounding kept above the tolerance */
};

/** The phases of a run, by which its time is counted. The rest is control: plans, reports, history. */
enum {
    MPM_PHASE_SWEEPS, /* over particles: transfers, laws, motion, totals */
    MPM_PHASE_GRID,   /* over nodes: sums of copies, gravity, colliders, walls */
    MPM_PHASE_BINNING,
    MPM_PHASE_VIEWS /* arrays of users, read in and written out */
};

/** Is a wall absorbing? */
bool mpm_settings_absorb(const mpm_settings *settings);

typedef struct mpm_simulation mpm_simulation;

/** Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if the settings have a flaw. On error `*simulation` is NULL. */
mpm_status mpm_simulation_new(mpm_simulation **simulation, const mpm_allocator *allocator,
                              const mpm_settings *settings);
void mpm_simulation_free(mpm_simulation *simulation);

/** Adds `count` particles of `material`. Every value is finite, positions are in the domain, and mass, volume, det F >
 *  0. `C` and `F` may be NULL: 0 and the identity. A volume of 0 means m h^d over the mass of the grid around the
 *  particle, computed at the next refresh. Errors: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE; MPM_BAD_ARGUMENT if the material
 *  is not registered, `count` < 0, or an array is missing. */
mpm_status mpm_simulation_add(mpm_simulation *simulation, ptrdiff_t count, const double *x, const double *v,
                              const double *C, const double *F, const double *volume, const double *mass, int material);

/** The same for a piece of a body, so that a caller need not hold all of its values: `left` particles of it follow in
 *  further calls, in the order of their rows. None of them is there before the last call, whose `left` is 0. Another
 *  call between them, or an error, drops what came before. Where memory is distributed, all processes have the same
 *  piece, and each keeps its share of it at once. */
mpm_status mpm_simulation_add_piece(mpm_simulation *simulation, ptrdiff_t count, ptrdiff_t left, const double *x,
                                    const double *v, const double *C, const double *F, const double *volume,
                                    const double *mass, int material);

/** Where memory is distributed: adds the particles that each process has of a body, in the order of the processes.
 *  `before` and `after` are those of others beside the own ones; their sum with `count` and `left` are the same in all.
 *  What has come is there after every call; `left` tells which one ends the body, which counts as one binning. */
mpm_status mpm_simulation_add_share(mpm_simulation *simulation, ptrdiff_t count, ptrdiff_t before, ptrdiff_t after,
                                    ptrdiff_t left, const double *x, const double *v, const double *C,
                                    const double *F, const double *volume, const double *mass, int material);

/** Gives a rigid material, which is a body, its shape and the points of its surface; without them it touches nothing.
 *  The form is copied, and replaces an earlier one. Errors: MPM_OUT_OF_MEMORY, and nothing has changed. */
mpm_status mpm_simulation_form(mpm_simulation *simulation, int material, const mpm_rigid_form *form);

/** Gives the history columns of the impulse and torque of the joint of a rigid material; bodies of one name, which come
 *  after each other, share them. Errors: MPM_OUT_OF_MEMORY, MPM_BAD_ARGUMENT. */
mpm_status mpm_simulation_name_joint(mpm_simulation *simulation, int material, const char *name);

/** What a rigid body meets: a face of the domain, a collider, another rigid material, nodes, its joint. */
typedef enum mpm_rigid_partner {
    MPM_RIGID_WALL, MPM_RIGID_COLLIDER, MPM_RIGID_BODY, MPM_RIGID_NODES, MPM_RIGID_ITS_JOINT
} mpm_rigid_partner;

/** What partner `index` of a kind does to a rigid material in the last step [N], and about its centre of mass [N m]. */
typedef struct mpm_rigid_force {
    int material;
    mpm_rigid_partner kind;
    int index;
    double force[3], torque[3];
} mpm_rigid_force;

/** The forces on all rigid bodies in the last step that this simulation has taken; none before. */
const mpm_rigid_force *mpm_simulation_rigid_forces(const mpm_simulation *simulation, size_t *count);

/** Lets a material conduct, with k >= 0, c, T, density > 0, an expansion a >= 0 with a T < 1, and a heating from 0 to
 *  1, which needs the setting `dissipation`; if it melts, with L, Tm, c > 0 and k >= 0 of the liquid, and without
 *  implicit conduction. The stretch of the liquid is > 0. Parameters that follow the temperature must vary. Errors:
 *  MPM_BAD_ARGUMENT if there is no heat, no such material, or one that is rigid or has had particles, or a value is out
 *  of range. */
mpm_status mpm_simulation_thermal(mpm_simulation *simulation, int material, const mpm_thermal *thermal);

/** How a material holds pore water. */
typedef struct mpm_pore {
    double mobility;      /* k/mu [m2/(Pa s)] */
    double storage;       /* 1/M [1/Pa] */
    double biot;          /* 0 < a <= 1 */
    double density;       /* of the saturated material at rest, the least of it [kg/m3] */
    double water_density; /* the same for all materials [kg/m3] */
    double pressure;      /* of new particles [Pa] */
    mpm_pore_surface surface; /* the same for all materials */
} mpm_pore;

/** Lets a material hold pore water; once it has particles, only the mobility may change. Errors: as of
 *  mpm_simulation_thermal; MPM_BAD_ARGUMENT if the setting `pore` is false, the material does not keep F, or another
 *  one has another density of the water or another surface. */
mpm_status mpm_simulation_pore(mpm_simulation *simulation, int material, const mpm_pore *pore);

/** Lets a material hold a solute, with D >= 0; the swelling is >= 0, or a table of stretches > 0, and what follows the
 *  concentration must vary. Errors: as of mpm_simulation_thermal; MPM_BAD_ARGUMENT if the setting `solute` is false. */
mpm_status mpm_simulation_solute(mpm_simulation *simulation, int material, const mpm_solute *solute);

/** What face 0 .. 2 dim - 1 of the domain does to heat; all are insulated at first. Errors: MPM_BAD_ARGUMENT if there
 *  is no heat or no such face, if it is periodic or, with a flux or transfer, a mirror, if a value is out of range, or
 *  if the axis has fewer than MPM_FEWEST_PERIODIC_CELLS; MPM_BAD_STATE for another kind after the first particles.
 *  To pore water, a temperature is the pressure `value` [Pa] at the height `coefficient` [m] against gravity, and
 *  hydrostatic elsewhere on the face; there is nothing else. To a solute, temperatures are concentrations [mol/m3],
 *  which may have any sign, fluxes are in mol/(m2 s) and coefficients of transfers in m/s. */
mpm_status mpm_simulation_heat_wall(mpm_simulation *simulation, int face, const mpm_heat_surface *wall);

/** What a collider does to heat; all are insulated at first. Errors: MPM_BAD_ARGUMENT if there is no heat or no such
 *  collider, or if a value is out of range; MPM_OUT_OF_MEMORY. */
mpm_status mpm_simulation_heat_collider(mpm_simulation *simulation, int collider, const mpm_heat_surface *surface);

/** Puts a material into a layer of bodies, >= 0; all are in layer 0 at first. Errors: MPM_BAD_ARGUMENT if there is no
 *  contact or no such material, or if the simulation has had particles of it. */
mpm_status mpm_simulation_layer(mpm_simulation *simulation, int material, int32_t layer);

/** How the pairs of layers touch that have no rule of their own; at first it is MPM_SEPARATE without friction. Errors:
 *  MPM_BAD_ARGUMENT if there is no contact, or if the rule is out of range. */
mpm_status mpm_simulation_contact(mpm_simulation *simulation, const mpm_layer_rule *rule);

/** The same for one pair (contact/layers.h), with a column in the history if `name` is not NULL, which must come before
 *  those of colliders. Errors: MPM_OUT_OF_MEMORY, MPM_BAD_ARGUMENT. */
mpm_status mpm_simulation_pair(mpm_simulation *simulation, int32_t a, int32_t b, const mpm_layer_rule *rule,
                               const char *name);

/** The particles as rows, with the table of fields and the views (run/store.h). The fields of a law's history exist as
 *  soon as its first material is registered. */
mpm_store *mpm_simulation_get_store(mpm_simulation *simulation);

/** The run: materials, colliders, steps, totals; clock, history, health and error (run/run.h). It refuses materials
 *  without a tangent in implicit steps, and MAPPED ones in a linear solve. Removal also takes particles that have left
 *  the domain, and so does the end of a run. */
mpm_run *mpm_simulation_get_run(mpm_simulation *simulation);
const mpm_settings *mpm_simulation_settings(const mpm_simulation *simulation);
void mpm_simulation_memory(const mpm_simulation *simulation, size_t *particles, size_t *grid, size_t *views,
                           size_t *colliders);

/** What the last implicit step did. */
const struct mpm_solution *mpm_simulation_solution(const mpm_simulation *simulation);

/** Where memory is distributed: brings the nodes of the last step together, which all processes do before they look.
 *  Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_simulation_share_grid(mpm_simulation *simulation);

/** Active nodes of the last step. Call with NULL to get their number m, then with arrays of (m, d) doubles, (m,) and
 *  (m, d) reals. There are none before the first step and after particles were added or deleted. */
size_t mpm_simulation_grid(const mpm_simulation *simulation, double *x, void *mass, void *v);
