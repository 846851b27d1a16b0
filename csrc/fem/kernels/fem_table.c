/* SPDX-License-Identifier: MIT
 *
 * The kernels of one (instruction set, dimension, precision), as a table.
 */
#include "base/simd.h"
#include "fem/kernels/kernels.h"
#include "materials/prepared.h"

#define MPM_STRING2(a) #a
#define MPM_STRING(a) MPM_STRING2(a)

mpm_fem_task MPM_KERNEL(parameters_prepare), MPM_KERNEL(forces_task), MPM_KERNEL(stiffness_linearize),
    MPM_KERNEL(stiffness_beside), MPM_KERNEL(stiffness_product);
mpm_fem_vectors MPM_KERNEL(vectors_blocks), MPM_KERNEL(vectors_guess), MPM_KERNEL(vectors_begin),
    MPM_KERNEL(vectors_product), MPM_KERNEL(vectors_advance), MPM_KERNEL(vectors_redirect), MPM_KERNEL(vectors_add),
    MPM_KERNEL(vectors_contact), MPM_KERNEL(vectors_finish);
void MPM_KERNEL(nodes_sum)(const mpm_fem_pass *pass, ptrdiff_t chunk);
void MPM_KERNEL(nodes_move)(const mpm_fem_pass *pass, ptrdiff_t chunk);
extern const mpm_fem_kernels MPM_KERNEL(fem_table);

const mpm_fem_kernels MPM_KERNEL(fem_table) = {
    .isa = MPM_STRING(MPM_ISA),
    .dim = DIM,
    .lanes = WIDTH,
    .real_size = sizeof(real),
    .law_size = MPM_KERNEL(general_laws_size),
    .prepare = MPM_KERNEL(parameters_prepare),
    .forces = MPM_KERNEL(forces_task),
    .sum = MPM_KERNEL(nodes_sum),
    .move = MPM_KERNEL(nodes_move),
    .linearize = MPM_KERNEL(stiffness_linearize),
    .beside = MPM_KERNEL(stiffness_beside),
    .product = MPM_KERNEL(stiffness_product),
    .blocks = MPM_KERNEL(vectors_blocks),
    .guess = MPM_KERNEL(vectors_guess),
    .begin = MPM_KERNEL(vectors_begin),
    .multiply = MPM_KERNEL(vectors_product),
    .advance = MPM_KERNEL(vectors_advance),
    .redirect = MPM_KERNEL(vectors_redirect),
    .add = MPM_KERNEL(vectors_add),
    .contact = MPM_KERNEL(vectors_contact),
    .finish = MPM_KERNEL(vectors_finish),
};
