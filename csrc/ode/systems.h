/* SPDX-License-Identifier: MIT
 *
 * Systems and flows with closed forms, to try steppers on.
 */
#pragma once
#include <stdint.h>

#include "ode/system.h"

/** Every number on a spring of its own: x'' = -omega^2 x - damping x'. */
typedef struct mpm_oscillator {
    ptrdiff_t count;
    double omega, damping; /* [rad/s], [1/s] */
} mpm_oscillator;

/** Two bodies, by their indices, that pull at each other with the force
 *
 *      stiffness (l - length) + damping dl/dt + attraction/l^2,  l: their distance
 */
typedef struct mpm_pair {
    int32_t i, j;
    double stiffness, length, damping; /* of a spring [N/m], [m], and a damper along it [N s/m] */
    double attraction;                 /* G m_i m_j of gravitation [N m^2] */
} mpm_pair;

/** How the force of a pair grows with its distance, across it, and with dl/dt. */
typedef struct mpm_pair_slope {
    double along[3], stretch, turn, damping; /* unit vector from i to j; [N/m], [N/m], [N s/m] */
} mpm_pair_slope;

typedef struct mpm_pairs {
    ptrdiff_t bodies, count; /* number of bodies, of pairs */
    int dim;                 /* 1, 2 or 3 */
    const mpm_pair *pairs;
    const double *mass;    /* (bodies) [kg] */
    double gravity[3];     /* [m/s^2] */
    mpm_pair_slope *slope; /* (count), for `linearize` to fill */
} mpm_pairs;

/** The functions for these structs; the caller has set the inverse masses. The structs stay where they are. */
mpm_system mpm_systems_oscillator(mpm_oscillator *oscillator, const double *inverse_mass);
mpm_system mpm_systems_pairs(mpm_pairs *pairs, const double *inverse_mass);

/** A velocity field of points in the plane. */
typedef struct mpm_plane_field {
    ptrdiff_t points;
    double number[3]; /* as the row says */
} mpm_plane_field;

typedef struct mpm_plane_field_row {
    const char *name;
    mpm_status (*rate)(void *field, const double *x, double t, double *v); /* as in mpm_flow */
} mpm_plane_field_row;

/** "rotation": {omega, center}, v = omega e_z x (x - center).
 *  "shear": {rate}, v = (rate y, 0).
 *  "vortex-pair": {circulation, distance, core}: vortices of circulation +- at (U t, +-distance/2), which carry each
 *  other along x with U. Each turns the fluid about it with circulation/2 pi r/(r^2 + core^2).
 *  Row `index`; NULL if there is none. */
const mpm_plane_field_row *mpm_systems_plane_field(int index);
