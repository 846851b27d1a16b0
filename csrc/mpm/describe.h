/* SPDX-License-Identifier: MIT
 *
 * Describes a simulation to the kernels and the grid.
 */
#pragma once
#include "mpm/state.h"

unsigned mpm_describe_vectors(const mpm_simulation *simulation); /* what nodes keep (mpm_grid_vector) */
mpm_grid_vector mpm_describe_preconditioner(const mpm_simulation *simulation); /* of a solve */
mpm_colliders mpm_describe_colliders(const mpm_simulation *simulation, mpm_collider_book *books);
mpm_sweep mpm_describe_sweep(const mpm_simulation *simulation);
mpm_exchange mpm_describe_exchange(mpm_simulation *simulation, int field, void *rows);
