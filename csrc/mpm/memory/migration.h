/* SPDX-License-Identifier: MIT
 *
 * Migration: a binning of several processes. Each plans for the particles that it has. All tell all which new groups
 * these form, and how many particles come to each: so every process knows all groups, and with them the grid, the tasks
 * and the new cut. Then particles go to the process of their new group, and wait there behind the old ones.
 */
#pragma once
#include "mpm/memory/binning.h"
#include "ranks/team.h"

/** mpm_binning_run of the processes of `team`, each of which has the particles of its tasks of `grid` alone, and then
 *  those of its tasks of the new one: the slots of others hold anything. All have the new particles, unless memory is
 *  distributed. `spent`: per own task [ns]; the new cut follows it; NULL: unknown. The team agrees on errors; those of
 *  messages are told by the next agreement, so `prepare` has to ask for one. */
mpm_status mpm_migration_run(mpm_team *team, const mpm_binning *binning, const mpm_arrivals *arrivals,
                             const int64_t *spent, mpm_particles *particles, mpm_grid *grid);
