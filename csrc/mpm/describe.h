/* SPDX-License-Identifier: MIT
 *
 * Describes a simulation to the kernels and the grid.
 */
#pragma once
#include "mpm/state.h"

unsigned mpm_describe_fields(const mpm_simulation *simulation); /* what nodes carry (mpm_grid_field) */
mpm_grid_field mpm_describe_preconditioner(const mpm_simulation *simulation); /* of a solve */
mpm_colliders mpm_describe_colliders(const mpm_simulation *simulation, mpm_collider_book *books);
mpm_sweep mpm_describe_sweep(const mpm_simulation *simulation);
/* `particles`: mapped. */
mpm_exchange mpm_describe_exchange(const mpm_simulation *simulation, mpm_particles *particles, int field, void *rows);
