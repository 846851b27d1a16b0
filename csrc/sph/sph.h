/* SPDX-License-Identifier: MIT
 *
 * Smoothed particle hydrodynamics of one weakly compressible fluid: a method beside the Material Point Method, on the
 * same run, store and boundary.
 *
 * No call may overlap another on the same object. A call that fails leaves the last whole state, which is the rows and
 * the clock alone: order, lists, densities and the automatic step follow from them.
 */
#pragma once
#include "run/books.h"
#include "run/limit.h"
#include "run/options.h"
#include "run/store.h"
#include "sph/kernels/kernels.h"

/** Where the repulsion of pairs ends, over the spacing: particles keep 0.75 and more by their pressure. */
#define MPM_SPH_APART 0.7

/** What the user chooses once. Walls have no friction. No step moves a particle out of the domain: `on_leave` is the
 *  fate of positions that are written outside it. */
typedef struct mpm_sph_settings {
    MPM_COMMON;
    int64_t cells[3];  /* the domain's size in spacings, per axis; at least 4 smoothing */
    double spacing;    /* of the lattice at rest [m] */
    double smoothing;  /* h over the spacing */
    double density;    /* of the fluid at rest [kg/m^d] */
    mpm_sph_kernel kernel;
    mpm_sph_viscosity viscosity;
    bool kinematic;    /* the kinematic viscosity, that at rest, is constant, and not the dynamic one */
    double alpha, xsph; /* artificial viscosity; share of the neighbours' velocity in motion */
    double repulsion;  /* of pairs closer than MPM_SPH_APART spacings: eps */
    bool tension;      /* stretched fluid pulls */
} mpm_sph_settings;

/** The rows of the settings, with their ranges. */
extern const mpm_options mpm_sph_options;

/** Valid settings: a box of 32 spacings of 1/32 m per axis, from the origin; slip walls, the cubic spline. */
mpm_sph_settings mpm_sph_settings_default(int dim);

/** The name of the first setting that is out of its range, NULL if there is none. */
const char *mpm_sph_settings_flaw(const mpm_sph_settings *settings);

/** Fields, in the order of the table; those of users follow. */
enum { MPM_SPH_X, MPM_SPH_V, MPM_SPH_J, MPM_SPH_MASS, MPM_SPH_VOLUME, MPM_SPH_MATERIAL, MPM_SPH_ID, MPM_SPH_FIELDS };

/** The bound of the step, with the largest speed |v|, the largest wave speed c and the kinematic viscosity nu (with the
 *  artificial one, alpha c h/(2 (d + 2))):
 *
 *      wave 1.7 h/c       viscosity 0.1 h^2/nu       motion h/(2 |v|)       acceleration sqrt(h/|g|)
 *
 *  The wave limit of the lattice is between 1.72 and 1.90 h/c for both kernels and all h/spacing. */

/** Why a step was refused, in addition to the reasons that all methods share (run/error.h). */
enum {
    MPM_SPH_NOT_FINITE = MPM_REASONS, /* forces overflowed */
    MPM_SPH_MOVES_TOO_FAR             /* a particle would move more than half of h in one step */
};

/** Counters of the run's health. */
enum { MPM_SPH_HEALTH_LEFT, MPM_SPH_HEALTH_CLAMPED, MPM_SPH_HEALTH_DELETED, MPM_SPH_HEALTH_REFUSED };

/** The phases of a run, by which its time is counted. */
enum { MPM_SPH_PHASE_SORT, MPM_SPH_PHASE_DENSITY, MPM_SPH_PHASE_FORCE, MPM_SPH_PHASE_MOTION, MPM_SPH_PHASE_VIEWS };

typedef struct mpm_sph mpm_sph;

/** Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if the settings have a flaw. On error `*sph` is NULL. */
mpm_status mpm_sph_new(mpm_sph **sph, const mpm_allocator *allocator, const mpm_sph_settings *settings);
void mpm_sph_free(mpm_sph *sph);

/** The mass of a particle over density times spacing^dim: that with which the density of a full lattice is exact. */
double mpm_sph_calibration(const mpm_sph_settings *settings);

/** Takes the last collider away. There must be one. */
void mpm_sph_drop_collider(mpm_sph *sph);

/** Gives a collider its particles: the points of the fluid's lattice that are within it at t = 0, up to 2h below its
 *  surface, and in the box from `low` to `high` of its own space (where it is as described). Errors: MPM_OUT_OF_MEMORY;
 *  MPM_TOO_LARGE: too many points, or points too far away; MPM_BAD_ARGUMENT: no such collider, or it has particles
 *  already; MPM_INTERRUPTED by `poll`, which may be NULL, and then it has none. */
mpm_status mpm_sph_fill_collider(mpm_sph *sph, size_t index, const double low[3], const double high[3], mpm_poll poll,
                                 void *context);
/** How many it has got. */
ptrdiff_t mpm_sph_collider_particles(const mpm_sph *sph, size_t index);

/** Adds `count` particles at x, in the domain. Errors: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE; MPM_BAD_ARGUMENT without a
 *  material. */
mpm_status mpm_sph_add(mpm_sph *sph, ptrdiff_t count, const double *x, const double *v);

mpm_store *mpm_sph_get_store(mpm_sph *sph);
/** The run: the fluid, colliders, steps, totals; clock, history, health and error (run/run.h). It takes one material,
 *  an MPM_FLUID, before the first particle, and colliders that have no friction and do not deform. */
mpm_run *mpm_sph_get_run(mpm_sph *sph);
const mpm_sph_settings *mpm_sph_get_settings(const mpm_sph *sph);

/** Bytes of the rows, of what is sorted and summed, of views, and of colliders. */
void mpm_sph_memory(const mpm_sph *sph, size_t *particles, size_t *lists, size_t *views, size_t *colliders);

/** A(x) = sum_j m/rho_j A_j W(x - x_j) at `count` points x (count, dim), for the quantity A (rows, components), to
 *  `result` (count, components). Images of walls take part: vectors and tensors (`rank`) are mirrored, velocities
 *  (`is_velocity`) are turned round at sticky walls. */
mpm_status mpm_sph_interpolate(mpm_sph *sph, ptrdiff_t count, const double *x, mpm_rank rank, bool is_velocity,
                               const double *quantity, double *result);
