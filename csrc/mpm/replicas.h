/* SPDX-License-Identifier: MIT
 *
 * Processes of which each has room for all particles and sweeps its own tasks alone. At a binning, particles migrate
 * with their tasks (memory/migration.h), and so do the velocities of nodes that they gather from. At the end of a run,
 * and where the host looks for rows, all processes get all particles and nodes from those who have moved them. They
 * save time and no memory.
 *
 * Where memory is distributed, no process ever has the particles of others. Rows are those of all: what the host does
 * by row, each process does for its own ones, and the arrays are joined.
 */
#pragma once
#include "mpm/state.h"
#include "mpm/simulation.h"

/** Lets a simulation run with others in the same state, which have the other processes of `transport`, until
 *  mpm_replicas_leave. Errors: MPM_BAD_ARGUMENT if it has rigid bodies, or runs with others already. */
mpm_status mpm_replicas_join(mpm_simulation *simulation, const mpm_transport *transport);
bool mpm_replicas_leave(mpm_simulation *simulation); /* false: it cannot, because memory is distributed */

/** Distributes the memory of a simulation that has joined others and has no particles yet: every process has room for
 *  the particles of its own tasks alone. It can leave no more. Errors: MPM_BAD_ARGUMENT. */
mpm_status mpm_replicas_distribute(mpm_simulation *simulation);

/** Where memory is distributed: the status of the team after all have told theirs; otherwise, `status`. */
mpm_status mpm_replicas_agree(mpm_simulation *simulation, mpm_status status);

/** Where memory is distributed: gives all processes an array by row, of which each has written the bytes of its own
 *  rows, and zeros elsewhere. */
void mpm_replicas_join_rows(const mpm_simulation *simulation, void *rows, size_t bytes);

/** Brings the particles and the velocities of nodes up to date, where processes have room for them; errors are told to
 *  the team. */
void mpm_replicas_share(mpm_simulation *simulation);

/** Where memory is distributed: gives all processes the velocities of all nodes. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_replicas_share_grid(mpm_simulation *simulation);

/** The slots of all tiles that this process has, padding included. */
size_t mpm_replicas_slots(const mpm_particles *particles);

/** The process that moves the particle of a row, after mpm_replicas_share; -1: none. */
int32_t mpm_replicas_holder(const mpm_simulation *simulation, int32_t row);

/** The material of the particle of a row; where memory is distributed, all processes ask together. */
int32_t mpm_replicas_material(const mpm_simulation *simulation, int32_t row);

/** After a binning in mid step: brings the velocities of nodes to the processes that have got particles there. */
void mpm_replicas_move_nodes(mpm_simulation *simulation);
