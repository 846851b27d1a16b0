/* SPDX-License-Identifier: MIT
 *
 * The kernels of one (instruction set, dimension, precision), as a table.
 */
#include "base/simd.h"
#include "mpm/kernels/kernels.h"

#define MPM_STRING2(a) #a
#define MPM_STRING(a) MPM_STRING2(a)

#define DECLARE(enumerator, name, standard, any) mpm_sweep_task MPM_KERNEL(standard##_##name), MPM_KERNEL(any##_##name);
MPM_OPERATIONS(DECLARE)
extern const size_t MPM_KERNEL(sweep_any_workspace);
int32_t MPM_KERNEL(search_limit)(const mpm_sweep *sweep, mpm_maximum maximum, double least);
void MPM_KERNEL(search_faults)(const mpm_sweep *sweep, uint8_t *flags);
void MPM_KERNEL(law_calls_evaluate)(const mpm_evaluation *evaluation);
void MPM_KERNEL(law_calls_return_map)(const mpm_return_map *states);
void MPM_KERNEL(grid_pass_block)(const mpm_grid_pass *pass, ptrdiff_t block);
void MPM_KERNEL(grid_pass_place)(const mpm_grid_pass *pass, ptrdiff_t place);
void MPM_KERNEL(node_means_block)(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t block);
void MPM_KERNEL(node_means_fold)(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t fold);
void MPM_KERNEL(fill_sum)(const mpm_grid_pass *pass, ptrdiff_t block);
void MPM_KERNEL(fill_fold)(const mpm_grid_pass *pass, ptrdiff_t fold);
void MPM_KERNEL(fill_block)(const mpm_grid_pass *pass, ptrdiff_t block);
void MPM_KERNEL(faces_damage_block)(const mpm_grid *grid, ptrdiff_t block);
void MPM_KERNEL(faces_axes_block)(const mpm_grid *grid, ptrdiff_t block);
void MPM_KERNEL(node_vectors_block)(const mpm_node_pass *pass, ptrdiff_t block);
void MPM_KERNEL(node_vectors_fold)(const mpm_node_pass *pass, ptrdiff_t fold);
int32_t MPM_KERNEL(constrained_nodes_room)(const mpm_grid_pass *pass, ptrdiff_t block);
void MPM_KERNEL(constrained_nodes_find)(const mpm_grid_pass *pass, const mpm_constrained_nodes *list, ptrdiff_t block);
int32_t MPM_KERNEL(constrained_nodes_revise)(const mpm_grid_pass *pass, const mpm_constrained_nodes *list,
                                             ptrdiff_t block, double tolerance);
void MPM_KERNEL(constrained_nodes_enter)(const mpm_grid_pass *pass, const mpm_constrained_nodes *list, ptrdiff_t block);
void MPM_KERNEL(hold_nodes_mark)(const mpm_hold_pass *pass, ptrdiff_t block);
void MPM_KERNEL(heat_nodes_block)(const mpm_heat_pass *pass, ptrdiff_t block);
void MPM_KERNEL(heat_nodes_fold)(const mpm_heat_pass *pass, ptrdiff_t block);
void MPM_KERNEL(exchange_write_out)(const mpm_exchange *exchange);
void MPM_KERNEL(exchange_inspect)(mpm_exchange *exchange);
void MPM_KERNEL(exchange_read_in)(mpm_exchange *exchange);
void MPM_KERNEL(exchange_freeze_outside)(const mpm_exchange *exchange);
void MPM_KERNEL(exchange_wrap)(mpm_exchange *exchange, const mpm_placement *placed, size_t placed_count);
void MPM_KERNEL(exchange_insert)(const mpm_insertion *insertion);
void MPM_KERNEL(exchange_locate)(const mpm_particles *particles, ptrdiff_t g, uint8_t *cell, uint8_t *shift);
extern const mpm_kernels MPM_KERNEL(kernel_table);

const mpm_kernels MPM_KERNEL(kernel_table) = {
    .isa = MPM_STRING(MPM_ISA),
    .dim = DIM,
    .lanes = WIDTH,
    .real_size = sizeof(real),
    .evaluate = MPM_KERNEL(law_calls_evaluate),
    .return_map = MPM_KERNEL(law_calls_return_map),
#ifndef MPM_LAWS_ONLY /* set by setup.py for the tests of laws, which take no step */
    .workspace_bytes = &MPM_KERNEL(sweep_any_workspace),
#define ENTRY(enumerator, name, standard, any) [enumerator] = {MPM_KERNEL(standard##_##name), MPM_KERNEL(any##_##name)},
    .operation = {MPM_OPERATIONS(ENTRY)},
    .grid_block = MPM_KERNEL(grid_pass_block),
    .grid_place = MPM_KERNEL(grid_pass_place),
    .means_block = MPM_KERNEL(node_means_block),
    .means_fold = MPM_KERNEL(node_means_fold),
    .volumes_block = MPM_KERNEL(fill_sum),
    .volumes_fold = MPM_KERNEL(fill_fold),
    .fill_block = MPM_KERNEL(fill_block),
    .damage_block = MPM_KERNEL(faces_damage_block),
    .axes_block = MPM_KERNEL(faces_axes_block),
    .nodes_block = MPM_KERNEL(node_vectors_block),
    .nodes_fold = MPM_KERNEL(node_vectors_fold),
    .constrained_room = MPM_KERNEL(constrained_nodes_room),
    .constrained_find = MPM_KERNEL(constrained_nodes_find),
    .constrained_revise = MPM_KERNEL(constrained_nodes_revise),
    .constrained_enter = MPM_KERNEL(constrained_nodes_enter),
    .hold_mark = MPM_KERNEL(hold_nodes_mark),
    .heat_block = MPM_KERNEL(heat_nodes_block),
    .heat_fold = MPM_KERNEL(heat_nodes_fold),
    .locate = MPM_KERNEL(exchange_locate),
    .write_out = MPM_KERNEL(exchange_write_out),
    .inspect = MPM_KERNEL(exchange_inspect),
    .read_in = MPM_KERNEL(exchange_read_in),
    .freeze_outside = MPM_KERNEL(exchange_freeze_outside),
    .wrap = MPM_KERNEL(exchange_wrap),
    .insert = MPM_KERNEL(exchange_insert),
    .find_limit = MPM_KERNEL(search_limit),
    .find_faults = MPM_KERNEL(search_faults),
#endif
};
