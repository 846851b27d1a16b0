/* SPDX-License-Identifier: MIT
 *
 * The mesh in the order of the kernels: tiles of elements, and the nodes that they share.
 */
#pragma once
#include "fem/state.h"

mpm_status mpm_fem_mesh_build(mpm_fem_mesh *mesh, const mpm_allocator *allocator, size_t real_size, const double *rest,
                              const int32_t *cells, const int32_t *material);
void mpm_fem_mesh_clear(mpm_fem_mesh *mesh, const mpm_allocator *allocator);
