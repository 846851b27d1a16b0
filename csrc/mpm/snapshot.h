/* SPDX-License-Identifier: MIT
 *
 * The snapshot of a simulation (run/snapshot.h). A restored simulation continues with the same bits. Particles are in
 * the order of the tiles (by group, then by cell), without padding, so that a snapshot is valid for any instruction
 * set; positions are in cells from the first node of the group's block, and J is the first number of F.
 */
#pragma once
#include "mpm/kernels/kernels.h"
#include "mpm/simulation.h"
#include "run/snapshot.h"

/* Columns of the table of groups: block (3), material, number of particles, first and last node that they may touch (3
 * each, see mpm_group). Columns of a collider's book: impulse (3), torque (3). The books of a simulation with contact
 * between bodies go on with the work of friction and adhesion since the beginning, and an impulse (3) for every pair
 * that has columns. Numbers of the motion of a rigid body: see mpm_rigid_motion; those of all rigid materials, in their
 * order. A mass of 0 lets the motion follow from the particles. */
enum {
    MPM_SNAPSHOT_GROUP = 11,
    MPM_SNAPSHOT_BOOK = 6,
    MPM_SNAPSHOT_MOTION = sizeof(mpm_rigid_motion) / sizeof(double)
};

extern const mpm_snapshot_method mpm_snapshot_of_particles;

/** Names of the entries of `numbers` and of `counters`; NULL beyond the last. */
const char *mpm_snapshot_number(int index);
const char *mpm_snapshot_counter(int index);
