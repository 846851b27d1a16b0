/* SPDX-License-Identifier: MIT
 *
 * Calls the kernels on a simulation, in parallel: sweeps over particles by task, passes over the grid by block. Reports
 * are added in the order of tasks and blocks, so that no thread count changes a bit.
 */
#include "mpm/sweeps.h"

#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "mpm/describe.h"
#include "mpm/state.h"

static void free_reports(struct reports *reports, const mpm_allocator *allocator)
{
    mpm_memory_free(allocator, reports->measures);
    mpm_memory_free(allocator, reports->blocks);
    mpm_memory_free(allocator, reports->rigid_sums);
    mpm_memory_free(allocator, reports->block_books);
    mpm_memory_free(allocator, reports->task_books);
    *reports = (struct reports){0};
}

mpm_status mpm_sweeps_begin(mpm_simulation *simulation)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    simulation->workspace_count = mpm_pool_threads(simulation->run.pool);
    simulation->workspaces = mpm_memory_new(allocator, (size_t)simulation->workspace_count, sizeof(void *));
    int failed = !simulation->workspaces;
    for (int t = 0; !failed && t < simulation->workspace_count; t++)
        failed = !(simulation->workspaces[t] = mpm_memory_new(allocator, 1, *simulation->kernels->workspace_bytes));
    if (failed || mpm_sweeps_fit(simulation, &simulation->grid)) {
        mpm_sweeps_end(simulation);
        return MPM_OUT_OF_MEMORY;
    }
    return MPM_OK;
}

void mpm_sweeps_end(mpm_simulation *simulation)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    for (int t = 0; simulation->workspaces && t < simulation->workspace_count; t++)
        mpm_memory_free(allocator, simulation->workspaces[t]);
    mpm_memory_free(allocator, simulation->workspaces);
    simulation->workspaces = NULL;
    free_reports(&simulation->reports, allocator);
}

mpm_status mpm_sweeps_fit(void *context, const mpm_grid *grid)
{
    mpm_simulation *simulation = context;
    const mpm_allocator *allocator = &simulation->run.allocator;
    const size_t blocks = grid->block_count + 1, tasks = grid->task_count + 1, count = simulation->boundary.count;
    struct reports fresh = {
        .measures = mpm_memory_new(allocator, tasks, sizeof *fresh.measures),
        .blocks = mpm_memory_new(allocator, blocks, sizeof *fresh.blocks),
        .block_books = mpm_memory_new(allocator, blocks, count * sizeof *fresh.block_books),
        .task_books = mpm_memory_new(allocator, tasks, count * sizeof *fresh.task_books),
    };
    const size_t groups = grid->task_count ? (size_t)grid->task_group[grid->task_count] : 0;
    if (simulation->has_rigid)
        fresh.rigid_sums = mpm_memory_new(allocator, groups + 1, sizeof *fresh.rigid_sums);
    if (!fresh.measures || !fresh.blocks || !fresh.block_books || !fresh.task_books ||
        (simulation->has_rigid && !fresh.rigid_sums)) {
        free_reports(&fresh, allocator);
        return MPM_OUT_OF_MEMORY;
    }
    /* In mid step, the grid pass has already filled the books: the first block keeps their sum. */
    struct reports *old = &simulation->reports;
    if (old->block_books)
        mpm_collider_add_books(fresh.block_books, old->block_books, simulation->grid.block_count, count);
    free_reports(old, allocator);
    *old = fresh;
    return MPM_OK;
}

struct sweep_call {
    mpm_sweep sweep;
    const mpm_arguments *arguments;
    mpm_sweep_task *task;
};

static void sweep_item(void *context, ptrdiff_t task, int thread)
{
    const struct sweep_call *call = context;
    call->task(&call->sweep, call->arguments, task, thread);
}

static void add_sums(mpm_measure *sum, const mpm_measure *parts, size_t count)
{
    for (int a = 0; a < 3; a++) {
        sum->momentum[a] = MPM_EXACT_SUM(parts, count, momentum[a]);
        sum->mass_moment[a] = MPM_EXACT_SUM(parts, count, mass_moment[a]);
        sum->angular_momentum[a] = MPM_EXACT_SUM(parts, count, angular_momentum[a]);
        sum->force[a] = MPM_EXACT_SUM(parts, count, force[a]);
    }
    for (int i = 0; i < MPM_DISSIPATIONS; i++)
        sum->dissipation[i] = MPM_EXACT_SUM(parts, count, dissipation[i]);
    sum->mass = MPM_EXACT_SUM(parts, count, mass);
    sum->kinetic = MPM_EXACT_SUM(parts, count, kinetic);
    sum->elastic = MPM_EXACT_SUM(parts, count, elastic);
}

static void add_extremes(mpm_measure *sum, const mpm_measure *part)
{
    sum->rate2 = fmax(sum->rate2, part->rate2);
    sum->wave2 = fmax(sum->wave2, part->wave2);
    sum->speed = fmax(sum->speed, part->speed);
    sum->gradient2 = fmax(sum->gradient2, part->gradient2);
    sum->rigid_speed = fmax(sum->rigid_speed, part->rigid_speed);
    sum->density = fmax(sum->density, part->density);
    sum->rigid_lightness = fmax(sum->rigid_lightness, part->rigid_lightness);
    sum->advection_speed = fmax(sum->advection_speed, part->advection_speed);
    sum->least_det = fmin(sum->least_det, part->least_det);
    sum->outside += part->outside;
    sum->clamped += part->clamped;
    sum->frozen += part->frozen;
    sum->out_of_range += part->out_of_range;
    sum->clipped += part->clipped;
}

/* One operation on `particles`. */
static mpm_measure sweep_over(mpm_simulation *simulation, const mpm_particles *particles, mpm_operation operation,
                              const mpm_arguments arguments)
{
    const mpm_family family = mpm_kernels_family(&simulation->settings.scheme);
    struct sweep_call call = {mpm_describe_sweep(simulation), &arguments,
                              simulation->kernels->operation[operation][family]};
    call.sweep.particles = particles;
    if (operation == MPM_G2P || operation == MPM_G2P2G)
        call.sweep.volume_change = simulation->grid.field[MPM_GRID_VOLUME_CHANGE]; /* NULL without F-bar */
    const double start = mpm_clock_seconds();
    mpm_pool_for(simulation->run.pool, sweep_item, &call, (ptrdiff_t)simulation->grid.task_count);
    mpm_measure sum = {.least_det = 1};
    add_sums(&sum, simulation->reports.measures, simulation->grid.task_count);
    for (size_t t = 0; t < simulation->grid.task_count; t++)
        add_extremes(&sum, &simulation->reports.measures[t]);
    mpm_run_spend(&simulation->run, MPM_PHASE_SWEEPS, start);
    return sum;
}

static mpm_measure sweep(mpm_simulation *simulation, mpm_operation operation, const mpm_arguments arguments)
{
    return sweep_over(simulation, &simulation->particles, operation, arguments);
}

void mpm_sweeps_p2g(mpm_simulation *simulation, double dt)
{
    sweep(simulation, MPM_P2G, (mpm_arguments){.p2g = {dt}});
}

mpm_measure mpm_sweeps_g2p(mpm_simulation *simulation, double dt)
{
    return sweep(simulation, MPM_G2P, (mpm_arguments){.g2p = {dt}});
}

mpm_measure mpm_sweeps_g2p2g(mpm_simulation *simulation, double dt, double next_dt)
{
    return sweep(simulation, MPM_G2P2G, (mpm_arguments){.g2p2g = {dt, next_dt}});
}

void mpm_sweeps_rigid_sums(mpm_simulation *simulation, double dt)
{
    const size_t count = simulation->boundary.count;
    sweep(simulation, MPM_RIGID_SUMS, (mpm_arguments){.rigid_sums = {dt}});
    /* The G2P will overwrite these books, so the first block keeps them. */
    mpm_collider_add_books(simulation->reports.block_books, simulation->reports.task_books,
                           simulation->grid.task_count, count);
}

mpm_measure mpm_sweeps_measure(mpm_simulation *simulation)
{
    return sweep(simulation, MPM_MEASURE, (mpm_arguments){0});
}

mpm_measure mpm_sweeps_dry_run(mpm_simulation *simulation, double dt, const mpm_block_report *blocks, double enough)
{
    return sweep(simulation, MPM_DRY_RUN, (mpm_arguments){.dry_run = {dt, blocks, enough}});
}

void mpm_sweeps_synchronize(mpm_simulation *simulation, const mpm_particles *before, double time, double dt)
{
    mpm_boundary_pose(&simulation->boundary, time, dt);
    sweep_over(simulation, before, MPM_SYNCHRONIZE, (mpm_arguments){.synchronize = {dt}});
}

void mpm_sweeps_rest_volume(mpm_simulation *simulation)
{
    sweep(simulation, MPM_REST_VOLUME, (mpm_arguments){0});
}

void mpm_sweeps_body_force(mpm_simulation *simulation, double dt)
{
    if (!simulation->run.body_force)
        return;
    const mpm_arguments arguments = {.body_force = {dt, simulation->run.body_force}};
    const mpm_measure sum = sweep(simulation, MPM_BODY_FORCE, arguments);
    memcpy(simulation->force, sum.force, sizeof simulation->force);
}

mpm_measure mpm_sweeps_solve(mpm_simulation *simulation, mpm_operation operation, const mpm_arguments *arguments)
{
    return sweep(simulation, operation, *arguments);
}

struct grid_call {
    const mpm_simulation *simulation;
    mpm_grid_pass pass;
};

enum { BLOCKS_PER_ITEM = 16 };

static void grid_item(void *context, ptrdiff_t block, int thread)
{
    (void)thread;
    const struct grid_call *call = context;
    call->simulation->kernels->grid_block(&call->pass, block);
}

static void place_item(void *context, ptrdiff_t place, int thread)
{
    (void)thread;
    const struct grid_call *call = context;
    call->simulation->kernels->grid_place(&call->pass, place);
}

struct blocks_call {
    mpm_pool_item item;
    void *context;
    ptrdiff_t count;
};

static void visit_blocks(void *context, ptrdiff_t item, int thread)
{
    const struct blocks_call *call = context;
    const ptrdiff_t first = item * BLOCKS_PER_ITEM;
    for (ptrdiff_t b = first; b < first + BLOCKS_PER_ITEM && b < call->count; b++)
        call->item(call->context, b, thread);
}

void mpm_sweeps_blocks(mpm_simulation *simulation, mpm_pool_item item, void *context, size_t count)
{
    struct blocks_call call = {item, context, (ptrdiff_t)count};
    mpm_pool_for(simulation->run.pool, visit_blocks, &call, (call.count + BLOCKS_PER_ITEM - 1) / BLOCKS_PER_ITEM);
}

mpm_grid_pass mpm_sweeps_describe_grid(const mpm_simulation *simulation, mpm_grid_stage stage, double dt)
{
    const mpm_settings *settings = &simulation->settings;
    mpm_grid_pass pass = {.grid = &simulation->grid, .dt = dt, .scheme = settings->scheme, .stage = stage,
                          .reports = simulation->reports.blocks};
    memcpy(pass.cells, settings->cells, sizeof pass.cells);
    memcpy(pass.gravity, settings->gravity, sizeof pass.gravity);
    memcpy(pass.walls, settings->walls, sizeof pass.walls);
    if (stage != MPM_GRID_DENSITY)
        pass.colliders = mpm_describe_colliders(simulation, simulation->reports.block_books);
    return pass;
}

static void grid_pass(mpm_simulation *simulation, mpm_grid_stage stage, double dt, int filter_step)
{
    const double start = mpm_clock_seconds();
    struct grid_call call = {simulation, mpm_sweeps_describe_grid(simulation, stage, dt)};
    call.pass.filter_step = filter_step;
    mpm_sweeps_blocks(simulation, grid_item, &call, simulation->grid.block_count);
    if (stage != MPM_GRID_FINISH)
        mpm_sweeps_blocks(simulation, place_item, &call, simulation->grid.place_count);
    mpm_run_spend(&simulation->run, MPM_PHASE_GRID, start);
}

void mpm_sweeps_density(mpm_simulation *simulation)
{
    grid_pass(simulation, MPM_GRID_DENSITY, 0, 0);
}

static mpm_block_report sum_reports(const mpm_simulation *simulation)
{
    const ptrdiff_t blocks = (ptrdiff_t)simulation->grid.block_count;
    const double most = (double)INFINITY;
    mpm_block_report sum = {.lowest = {most, most, most}, .highest = {-most, -most, -most}};
    for (ptrdiff_t b = 0; b < blocks; b++) {
        const mpm_block_report *part = &simulation->reports.blocks[b];
        sum.speed = fmax(sum.speed, part->speed);
        sum.speed_before = fmax(sum.speed_before, part->speed_before);
        sum.approach = fmax(sum.approach, part->approach);
        for (int a = 0; a < 3; a++) {
            sum.lowest[a] = fmin(sum.lowest[a], part->lowest[a]);
            sum.highest[a] = fmax(sum.highest[a], part->highest[a]);
        }
    }
    for (int a = 0; a < 3; a++)
        sum.impulse[a] = MPM_EXACT_SUM(simulation->reports.blocks, blocks, impulse[a]);
    return sum;
}

mpm_block_report mpm_sweeps_grid(mpm_simulation *simulation, double dt)
{
    mpm_boundary_pose(&simulation->boundary, simulation->run.time, dt);
    grid_pass(simulation, MPM_GRID_STEP, dt, 0);
    return sum_reports(simulation);
}

void mpm_sweeps_grid_free(mpm_simulation *simulation, double dt, double forces_dt)
{
    mpm_boundary_pose(&simulation->boundary, simulation->run.time, dt);
    grid_pass(simulation, MPM_GRID_FREE, forces_dt, 0);
}

mpm_block_report mpm_sweeps_grid_finish(mpm_simulation *simulation, double dt)
{
    grid_pass(simulation, MPM_GRID_FINISH, dt, 0);
    return sum_reports(simulation);
}

void mpm_sweeps_filter(mpm_simulation *simulation, mpm_block_report *report)
{
    if (simulation->settings.scheme.transfer != MPM_XPIC)
        return;
    const double approach = report->approach;
    for (int k = 1; k < simulation->settings.scheme.xpic_order; k++) {
        sweep(simulation, MPM_FILTER, (mpm_arguments){0});
        grid_pass(simulation, MPM_GRID_FILTER, 0, k);
    }
    *report = sum_reports(simulation);
    report->approach = approach;
}

static void average_item(void *context, ptrdiff_t block, int thread)
{
    (void)thread;
    const mpm_simulation *simulation = context;
    simulation->kernels->means_block(&simulation->grid, MPM_GRID_VOLUME_CHANGE, block);
}

static void average_fold_item(void *context, ptrdiff_t fold, int thread)
{
    (void)thread;
    const mpm_simulation *simulation = context;
    simulation->kernels->means_fold(&simulation->grid, MPM_GRID_VOLUME_CHANGE, fold);
}

void mpm_sweeps_f_bar(mpm_simulation *simulation, double dt)
{
    if (!simulation->settings.scheme.f_bar)
        return;
    const double h = simulation->settings.dx, rate2 = simulation->measure.rate2;
    sweep(simulation, MPM_AVERAGE, (mpm_arguments){.average = {dt, rate2 > 0 ? 1 / (h * h * rate2) : 0}});
    const double start = mpm_clock_seconds();
    mpm_sweeps_blocks(simulation, average_item, simulation, simulation->grid.block_count);
    mpm_sweeps_blocks(simulation, average_fold_item, simulation, simulation->grid.images.block_count);
    mpm_run_spend(&simulation->run, MPM_PHASE_GRID, start);
}

void mpm_sweeps_add_books(const mpm_simulation *simulation, mpm_collider_book *sums)
{
    const size_t count = simulation->boundary.count;
    mpm_collider_add_books(sums, simulation->reports.block_books, simulation->grid.block_count, count);
    mpm_collider_add_books(sums, simulation->reports.task_books, simulation->grid.task_count, count);
}
