/* SPDX-License-Identifier: MIT
 *
 * The rows of contacts: how fast bodies approach along their directions, what impulses do, and projected Gauss-Seidel.
 * The motions are `u` of the bodies.
 */
#pragma once
#include "rigid/touch.h"

#include <string.h>

/** (d, arm x d): what an impulse along d at `arm` does to (P, L). */
static inline void mpm_rows_wrench(double out[6], const double d[3], const double arm[3])
{
    memcpy(out, d, 3 * sizeof *d);
    mpm_cross3(out + 3, arm, d);
}

static inline double mpm_rows_dot6(const double a[6], const double b[6])
{
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += a[i] * b[i];
    return sum;
}

static inline void mpm_rows_multiply6(double out[6], const double A[6][6], const double v[6])
{
    for (int i = 0; i < 6; i++)
        out[i] = mpm_rows_dot6(A[i], v);
}

/** Finds the directions and arms of a contact. */
void mpm_rows_prepare(mpm_rigid_contact *contact, const mpm_rigid_world *world);

/** What impulses of a contact do to the motions, with the present mass matrices. */
void mpm_rows_respond(mpm_rigid_contact *contact, const mpm_rigid_state *body);

/** The relative velocity of a contact along direction d: the normal, then the tangents. */
double mpm_rows_approach(const mpm_rigid_contact *contact, int d, const mpm_rigid_state *body);

/** Finds `before`, `slip` and `wander` of all contacts; the motions become the free ones. */
void mpm_rows_find_velocities(mpm_rigid_world *world);

/** The gap of a contact at the beginning of the step. */
double mpm_rows_gap_before(const mpm_rigid_world *world, const mpm_rigid_contact *contact);

/** The motions that the present impulses of all contacts give. */
void mpm_rows_begin(mpm_rigid_world *world);

/** Finds impulses and motions of a pass, until motions change by less than `tolerance` in a round. */
void mpm_rows_iterate(mpm_rigid_world *world, int pass, double tolerance);
