/* SPDX-License-Identifier: MIT
 *
 * The kernels of one (instruction set, dimension, precision), as a table.
 */
#include "base/simd.h"
#include "fem/kernels.h"

#define MPM_STRING2(a) #a
#define MPM_STRING(a) MPM_STRING2(a)

void MPM_KERNEL(forces_task)(const mpm_fem_sweep *sweep, ptrdiff_t task, int thread);
void MPM_KERNEL(nodes_sum)(const mpm_fem_pass *pass, ptrdiff_t chunk);
void MPM_KERNEL(nodes_move)(const mpm_fem_pass *pass, ptrdiff_t chunk);
extern const mpm_fem_kernels MPM_KERNEL(fem_table);

const mpm_fem_kernels MPM_KERNEL(fem_table) = {
    .isa = MPM_STRING(MPM_ISA),
    .dim = DIM,
    .lanes = WIDTH,
    .real_size = sizeof(real),
    .forces = MPM_KERNEL(forces_task),
    .sum = MPM_KERNEL(nodes_sum),
    .move = MPM_KERNEL(nodes_move),
};
