/* SPDX-License-Identifier: MIT */
#include "mpm/cpu_backend.h"

#include <string.h>

#include "base/clock.h"

enum { BLOCKS_PER_ITEM = 16 };

struct cpu {
    mpm_backend backend; /* the first member */
    const mpm_kernels *kernels;
    mpm_binning_loop loop;
    mpm_pool *pool;
    void **workspaces; /* per thread */
    int threads;
};

/* ---- runs ------------------------------------------------------------------------------------------------------- */

static void end(mpm_backend *backend)
{
    struct cpu *cpu = (struct cpu *)backend;
    const mpm_allocator *allocator = &backend->device.allocator;
    for (int t = 0; cpu->workspaces && t < cpu->threads; t++)
        mpm_memory_free(allocator, cpu->workspaces[t]);
    mpm_memory_free(allocator, cpu->workspaces);
    cpu->workspaces = NULL;
    cpu->pool = NULL;
}

static mpm_status begin(mpm_backend *backend, mpm_pool *pool)
{
    struct cpu *cpu = (struct cpu *)backend;
    const mpm_allocator *allocator = &backend->device.allocator;
    cpu->pool = pool;
    cpu->threads = mpm_pool_threads(pool);
    cpu->workspaces = mpm_memory_new(allocator, (size_t)cpu->threads, sizeof(void *));
    bool failed = !cpu->workspaces;
    for (int t = 0; !failed && t < cpu->threads; t++)
        failed = !(cpu->workspaces[t] = mpm_memory_new(allocator, 1, *cpu->kernels->workspace_bytes));
    if (failed)
        end(backend);
    return failed ? MPM_OUT_OF_MEMORY : MPM_OK;
}

static void clean(mpm_backend *backend)
{
    const struct cpu *cpu = (struct cpu *)backend;
    for (int t = 0; t < cpu->threads; t++)
        memset(cpu->workspaces[t], 0, *cpu->kernels->workspace_bytes);
}

static void free_cpu(mpm_backend *backend)
{
    const mpm_allocator allocator = backend->device.allocator;
    mpm_memory_free(&allocator, backend);
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

struct sweep_call {
    mpm_sweep sweep;
    const mpm_arguments *arguments;
    mpm_sweep_task *task;
    ptrdiff_t first;
    int64_t *spent; /* per task; NULL: nobody asks */
};

static void sweep_item(void *context, ptrdiff_t item, int thread)
{
    const struct sweep_call *call = context;
    const int64_t start = call->spent ? mpm_clock_of_thread() : 0;
    call->task(&call->sweep, call->arguments, call->first + item, thread);
    if (call->spent)
        call->spent[call->first + item] += mpm_clock_of_thread() - start;
}

static void sweep(mpm_backend *backend, const mpm_sweep *of, mpm_operation operation, const mpm_arguments *arguments)
{
    const struct cpu *cpu = (struct cpu *)backend;
    const mpm_partition *partition = backend->partition;
    const ptrdiff_t first = partition ? (ptrdiff_t)partition->first_task : 0;
    struct sweep_call call = {*of, arguments, cpu->kernels->operation[operation][mpm_kernels_family(&of->scheme)],
                              first, partition ? partition->spent : NULL};
    call.sweep.workspaces = cpu->workspaces;
    const size_t end = partition ? partition->end_task : of->grid->task_count;
    cpu->loop(cpu->pool, sweep_item, &call, (ptrdiff_t)end - first);
}

struct pass_call {
    const mpm_kernels *kernels;
    const mpm_pass *pass;
    const uint8_t *reach; /* per block (mpm_reach); NULL: all are finished */
    ptrdiff_t count;
};

static void visit_block(const mpm_kernels *kernels, const mpm_pass *pass, ptrdiff_t b)
{
    switch (pass->kind) {
    case MPM_PASS_GRID:
        kernels->grid_block(pass->stage, b);
        break;
    case MPM_PASS_MEANS:
        kernels->means_block(pass->grid, pass->field, b);
        break;
    case MPM_PASS_VOLUMES:
        kernels->volumes_block(pass->stage, b);
        break;
    case MPM_PASS_FILL:
        kernels->fill_block(pass->stage, b);
        break;
    case MPM_PASS_DAMAGE:
        kernels->damage_block(pass->grid, b);
        break;
    case MPM_PASS_AXES:
        kernels->axes_block(pass->grid, b);
        break;
    case MPM_PASS_VECTORS:
        kernels->nodes_block(pass->vectors, b);
        break;
    case MPM_PASS_COUNT_CONSTRAINED:
        pass->constrained->count[b] = kernels->constrained_room(pass->stage, b);
        break;
    case MPM_PASS_FIND_CONSTRAINED:
        kernels->constrained_find(pass->stage, pass->constrained, b);
        break;
    case MPM_PASS_REVISE_CONSTRAINED:
        pass->sums[b][0] = kernels->constrained_revise(pass->stage, pass->constrained, b, pass->tolerance);
        break;
    case MPM_PASS_ENTER_CONSTRAINED:
        kernels->constrained_enter(pass->stage, pass->constrained, b);
        break;
    case MPM_PASS_MARK_HOLDS:
        kernels->hold_mark(pass->holds, b);
        break;
    case MPM_PASS_HEAT:
        kernels->heat_block(pass->heat, b);
        break;
    }
}

/* The first block of `join_blocks`. */
static ptrdiff_t joined_block(const mpm_pass *pass, ptrdiff_t i)
{
    return pass->kind == MPM_PASS_GRID   ? pass->grid->places[i].first
           : pass->kind == MPM_PASS_HEAT ? i
                                         : pass->grid->images.blocks[i];
}

/* Place, or block, `i`: of those that wait for others. */
static void join_blocks(const mpm_kernels *kernels, const mpm_pass *pass, ptrdiff_t i)
{
    if (pass->kind == MPM_PASS_GRID)
        kernels->grid_place(pass->stage, i);
    else if (pass->kind == MPM_PASS_VOLUMES)
        kernels->volumes_fold(pass->stage, i);
    else if (pass->kind == MPM_PASS_MEANS)
        kernels->means_fold(pass->grid, pass->field, i);
    else if (pass->kind == MPM_PASS_HEAT)
        kernels->heat_fold(pass->heat, i);
    else
        kernels->nodes_fold(pass->vectors, i);
}

static void blocks_item(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    const struct pass_call *call = context;
    const ptrdiff_t first = item * BLOCKS_PER_ITEM;
    for (ptrdiff_t b = first; b < first + BLOCKS_PER_ITEM && b < call->count; b++)
        if (!call->reach || call->reach[b] != MPM_BEYOND)
            visit_block(call->kernels, call->pass, b);
        else if (call->pass->kind == MPM_PASS_COUNT_CONSTRAINED)
            call->pass->constrained->count[b] = 0;
}

static void joins_item(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    const struct pass_call *call = context;
    const ptrdiff_t first = item * BLOCKS_PER_ITEM;
    for (ptrdiff_t i = first; i < first + BLOCKS_PER_ITEM && i < call->count; i++)
        if (!call->reach || call->reach[joined_block(call->pass, i)] == MPM_FINISHED)
            join_blocks(call->kernels, call->pass, i);
}

static void visit(const struct cpu *cpu, const mpm_pass *of, mpm_pool_item item, size_t count)
{
    const mpm_partition *partition = cpu->backend.partition;
    struct pass_call call = {cpu->kernels, of, partition ? partition->reach : NULL, (ptrdiff_t)count};
    cpu->loop(cpu->pool, item, &call, (call.count + BLOCKS_PER_ITEM - 1) / BLOCKS_PER_ITEM);
}

static void pass(mpm_backend *backend, const mpm_pass *of)
{
    const struct cpu *cpu = (struct cpu *)backend;
    visit(cpu, of, blocks_item, of->grid->block_count);
    if (of->joins)
        visit(cpu, of, joins_item,
              of->kind == MPM_PASS_GRID   ? of->grid->place_count
              : of->kind == MPM_PASS_HEAT ? of->grid->block_count
                                          : of->grid->images.block_count);
}

static mpm_status bin(mpm_backend *backend, mpm_team *team, const mpm_binning *request, const mpm_arrivals *arrivals,
                      mpm_particles *particles, mpm_grid *grid)
{
    const struct cpu *cpu = (struct cpu *)backend;
    mpm_binning binning = *request;
    binning.pool = cpu->pool;
    binning.loop = cpu->loop;
    const int64_t *spent = backend->partition ? backend->partition->spent : NULL;
    return team ? mpm_migration_run(team, &binning, arrivals, spent, particles, grid)
                : mpm_binning_run(&binning, arrivals, particles, grid);
}

static void reduce(mpm_backend *backend, const mpm_reduction *reduction, mpm_accumulator *accumulators)
{
    (void)backend;
    mpm_reduction_accumulate(reduction, accumulators);
}

mpm_status mpm_cpu_backend_new(mpm_backend **backend, const mpm_allocator *allocator, const mpm_kernels *kernels,
                               mpm_binning_loop loop)
{
    struct cpu *cpu = mpm_memory_new(allocator, 1, sizeof *cpu);
    *backend = (mpm_backend *)cpu;
    if (!cpu)
        return MPM_OUT_OF_MEMORY;
    *cpu = (struct cpu){
        .backend = {.device = mpm_device_of_host(allocator), .free = free_cpu, .begin = begin, .end = end,
                    .sweep = sweep, .pass = pass, .bin = bin, .reduce = reduce, .clean = clean},
        .kernels = kernels, .loop = loop,
    };
    return MPM_OK;
}
