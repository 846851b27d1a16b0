/* SPDX-License-Identifier: MIT
 *
 * Processes of which each has room for all particles and sweeps its own tasks alone. At a binning, particles migrate
 * with their tasks (memory/migration.h), and so do the velocities of nodes that they gather from. At the end of a run,
 * and where the host looks for rows, all processes get all particles and nodes from those who have moved them. They
 * save time and no memory.
 */
#pragma once
#include "mpm/state.h"
#include "mpm/simulation.h"

/** Lets a simulation run with others in the same state, which have the other processes of `transport`, until
 *  mpm_replicas_leave. Errors: MPM_BAD_ARGUMENT if it has rigid bodies, or runs with others already. */
mpm_status mpm_replicas_join(mpm_simulation *simulation, const mpm_transport *transport);
void mpm_replicas_leave(mpm_simulation *simulation);

/** Brings the particles and the velocities of nodes up to date; errors are told to the team. */
void mpm_replicas_share(mpm_simulation *simulation);

/** The process that moves the particle of a row, after mpm_replicas_share; -1: none. */
int32_t mpm_replicas_holder(const mpm_simulation *simulation, int32_t row);

/** After a binning in mid step: brings the velocities of nodes to the processes that have got particles there. */
void mpm_replicas_move_nodes(mpm_simulation *simulation);
