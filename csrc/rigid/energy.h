/* SPDX-License-Identifier: MIT
 *
 * The energy of islands: of the bodies that contacts connect.
 */
#pragma once
#include "rigid/impulses.h"

void mpm_energy_find_islands(mpm_rigid_world *world);

/** What the pushes lift the bodies of each island by [J], beside the motions that they keep. */
void mpm_energy_find_lifts(mpm_rigid_world *world);

/** The work of the present impulses of each island, in work[k], by the mean of the motions before and after them; adds
 *  the size of its terms to `scale`. */
void mpm_energy_find_work(mpm_rigid_world *world, int k, double *scale);

/** Where the contacts of an island have done work, lets those whose friction did it turn their slip v round, v+ = -v-
 *  instead of the motion of a contact that sticks: then T.(v- + v+) <= 0 whether it sticks or slides. Are there any? */
bool mpm_energy_turn_slips(mpm_rigid_world *world, const mpm_rigid_node *nodes, size_t count);

/** The share of a rebound at which contacts do no work, which is quadratic in the share; from that at 0, 1/2 and 1. */
double mpm_energy_share(const double work[3]);

/** Finds the works of the world, and shortens the pushes so that they lift an island by no more than its contacts have
 *  dissipated: no step adds energy. What lies on nodes or has a joint is pushed in any case. */
void mpm_energy_balance(mpm_rigid_world *world, const mpm_rigid_node *nodes, size_t count);
