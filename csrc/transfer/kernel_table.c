/* SPDX-License-Identifier: MIT
 *
 * The kernels of one (instruction set, dimension, precision), as a table.
 */
#include "base/simd.h"
#include "transfer/kernels.h"

#define MPM_STRING2(a) #a
#define MPM_STRING(a) MPM_STRING2(a)

extern const size_t MPM_KERNEL(sweep_any_workspace);
void MPM_KERNEL(sweep_task)(const mpm_sweep *sweep, ptrdiff_t task, int thread);
void MPM_KERNEL(sweep_any_task)(const mpm_sweep *sweep, ptrdiff_t task, int thread);
int32_t MPM_KERNEL(sweep_find_limit)(const mpm_sweep *sweep, int which);
int32_t MPM_KERNEL(sweep_any_find_limit)(const mpm_sweep *sweep, int which);
void MPM_KERNEL(sweep_find_trouble)(const mpm_sweep *sweep, uint8_t *flags);
void MPM_KERNEL(law_calls_evaluate)(const mpm_evaluation *evaluation);
void MPM_KERNEL(law_calls_return_map)(const mpm_return_map *states);
void MPM_KERNEL(grid_pass_block)(const mpm_grid_pass *pass, ptrdiff_t block);
void MPM_KERNEL(grid_pass_fold)(const mpm_grid_pass *pass, ptrdiff_t fold);
void MPM_KERNEL(exchange_write_out)(const mpm_exchange *exchange);
void MPM_KERNEL(exchange_inspect)(mpm_exchange *exchange);
void MPM_KERNEL(exchange_read_in)(mpm_exchange *exchange);
void MPM_KERNEL(exchange_freeze_outside)(const mpm_exchange *exchange);
void MPM_KERNEL(exchange_wrap)(mpm_exchange *exchange, const mpm_placement *placed, size_t placed_count);
void MPM_KERNEL(exchange_arrive)(const mpm_arrivals *arrivals);
void MPM_KERNEL(exchange_locate)(const mpm_particles *particles, ptrdiff_t g, uint8_t *cell, uint8_t *shift);
extern const mpm_kernels MPM_KERNEL(kernel_table);

const mpm_kernels MPM_KERNEL(kernel_table) = {
    .isa = MPM_STRING(MPM_ISA),
    .dim = DIM,
    .lanes = WIDTH,
    .real_size = sizeof(real),
    .evaluate = MPM_KERNEL(law_calls_evaluate),
    .return_map = MPM_KERNEL(law_calls_return_map),
#ifndef MPM_LAWS_ONLY /* setup.py: for the tests of laws, which take no step */
    .workspace_bytes = &MPM_KERNEL(sweep_any_workspace),
    .sweep_task = MPM_KERNEL(sweep_task),
    .sweep_any_task = MPM_KERNEL(sweep_any_task),
    .grid_block = MPM_KERNEL(grid_pass_block),
    .grid_fold = MPM_KERNEL(grid_pass_fold),
    .locate = MPM_KERNEL(exchange_locate),
    .write_out = MPM_KERNEL(exchange_write_out),
    .inspect = MPM_KERNEL(exchange_inspect),
    .read_in = MPM_KERNEL(exchange_read_in),
    .freeze_outside = MPM_KERNEL(exchange_freeze_outside),
    .wrap = MPM_KERNEL(exchange_wrap),
    .arrive = MPM_KERNEL(exchange_arrive),
    .find_limit = MPM_KERNEL(sweep_find_limit),
    .find_limit_any = MPM_KERNEL(sweep_any_find_limit),
    .find_trouble = MPM_KERNEL(sweep_find_trouble),
#endif
};
