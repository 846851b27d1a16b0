/* SPDX-License-Identifier: MIT
 *
 * Has the back end launch the kernels on a simulation: sweeps over particles by task, passes over the grid by block.
 * Reductions of what tasks and blocks report know no order, so that no thread count changes a bit.
 */
#include "mpm/sweeps.h"

#include <math.h>
#include <string.h>

#include "mpm/describe.h"
#include "mpm/halo.h"
#include "mpm/heat_state.h"
#include "mpm/state.h"

static void free_reports(struct reports *reports, mpm_device *device)
{
    mpm_device_free(device, reports->measures);
    mpm_device_free(device, reports->blocks);
    mpm_device_free(device, reports->rigid_sums);
    mpm_device_free(device, reports->block_books);
    mpm_device_free(device, reports->task_books);
    mpm_device_free(device, reports->hold_impulses);
    mpm_device_free(device, reports->pair_books);
    mpm_device_free(device, reports->heat_books);
    mpm_device_free(device, reports->heat_sums);
    mpm_memory_free(&device->allocator, reports->pair_counting);
    mpm_memory_free(&device->allocator, reports->pair_labels);
    mpm_halo_clear(&reports->halo, &device->allocator);
    mpm_collider_book *kept_books = reports->kept_books; /* of no grid */
    *reports = (struct reports){.kept_books = kept_books};
}

mpm_status mpm_sweeps_begin(mpm_simulation *simulation)
{
    mpm_backend *backend = simulation->backend;
    mpm_status status = backend->begin(backend, simulation->run.pool);
    simulation->reports.kept_books = mpm_memory_new(&simulation->run.allocator, simulation->boundary.count,
                                                    sizeof *simulation->reports.kept_books);
    if (status || !simulation->reports.kept_books)
        status = mpm_halo_agree(simulation, status ? status : MPM_OUT_OF_MEMORY);
    else
        status = mpm_sweeps_fit(simulation, &simulation->grid);
    if (status)
        mpm_sweeps_end(simulation);
    return status;
}

mpm_status mpm_sweeps_ready(mpm_simulation *simulation)
{
    mpm_backend *backend = simulation->backend;
    return backend->ready ? backend->ready(backend) : MPM_OK;
}

mpm_status mpm_sweeps_status(mpm_simulation *simulation)
{
    mpm_backend *backend = simulation->backend;
    return backend->status ? backend->status(backend) : MPM_OK;
}

void mpm_sweeps_end(mpm_simulation *simulation)
{
    mpm_backend *backend = simulation->backend;
    backend->end(backend);
    backend->partition = NULL;
    free_reports(&simulation->reports, &backend->device);
    mpm_memory_free(&simulation->run.allocator, simulation->reports.kept_books);
    simulation->reports.kept_books = NULL;
}

/* Some reductions, whose numbers travel together. */
static void reduce_few(const mpm_simulation *simulation, const mpm_reduction *reductions, void *const *results,
                       size_t count)
{
    mpm_backend *backend = simulation->backend;
    mpm_accumulator accumulators[MPM_TEAM_NUMBERS], *at = accumulators;
    for (size_t k = 0; k < count; at += mpm_reduction_numbers(&reductions[k++]))
        backend->reduce(backend, &reductions[k], at);
    if (simulation->team)
        mpm_team_reduce(simulation->team, reductions, count, accumulators);
    at = accumulators;
    for (size_t k = 0; k < count; at += mpm_reduction_numbers(&reductions[k++]))
        mpm_reduction_finish(&reductions[k], at, results[k]);
}

/* The same, with as many at a time as fit. */
static void reduce_all(const mpm_simulation *simulation, const mpm_reduction *reductions, void *const *results,
                       size_t count)
{
    for (size_t first = 0, few; first < count; first += few) {
        int numbers = mpm_reduction_numbers(&reductions[first]);
        for (few = 1; first + few < count; few++)
            if ((numbers += mpm_reduction_numbers(&reductions[first + few])) > MPM_TEAM_NUMBERS)
                break;
        reduce_few(simulation, reductions + first, results + first, few);
    }
}

void mpm_sweeps_reduce(const mpm_simulation *simulation, const mpm_reduction *reduction, void *result)
{
    reduce_few(simulation, reduction, &result, 1);
}

/* Leaves the parts of own tasks. */
static mpm_reduction of_tasks(const mpm_simulation *simulation, mpm_reduction reduction)
{
    const mpm_partition *partition = &simulation->reports.halo.partition;
    reduction.count = simulation->grid.task_count;
    if (simulation->team) {
        reduction.parts = (const char *)reduction.parts + partition->first_task * reduction.stride;
        reduction.count = partition->end_task - partition->first_task;
    }
    return reduction;
}

mpm_reduction mpm_sweeps_of_blocks(const mpm_simulation *simulation, mpm_reduction reduction)
{
    reduction.count = simulation->grid.block_count;
    if (simulation->team) {
        reduction.labels = simulation->reports.halo.partition.counting;
        reduction.wanted = simulation->team->transport.own;
    }
    return reduction;
}

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

enum {
    BOOKS = 4, /* colliders whose books travel together, those of tasks and of blocks */
    PAIRS = 16 /* pairs of layers, likewise */
};

/* How the books of collider `k` over the tasks, or the blocks, become one; its speed alone, unless `all`. */
static mpm_reduction of_books(const mpm_simulation *simulation, bool tasks, size_t k, bool all)
{
#define OF(name, rule) MPM_MEMBER(mpm_collider_book, name, MPM_REDUCE_##rule)
    static const mpm_member members[] = {OF(speed, MOST), OF(impulse, SUM), OF(torque, SUM)};
#undef OF
    const struct reports *reports = &simulation->reports;
    mpm_reduction reduction = {.stride = simulation->boundary.count * sizeof(mpm_collider_book), .members = members,
                               .member_count = all ? COUNT_OF(members) : 1};
    reduction.parts = (tasks ? reports->task_books : reports->block_books) + k;
    return tasks ? of_tasks(simulation, reduction) : mpm_sweeps_of_blocks(simulation, reduction);
}

/* Adds the books of all blocks to `sums`, one book per collider in memory of the host; then `kept`, and those of all
 * tasks, unless it is NULL. */
static void add_books(const mpm_simulation *simulation, mpm_collider_book *sums, const mpm_collider_book *kept)
{
    const size_t colliders = simulation->boundary.count;
    for (size_t first = 0; first < colliders; first += BOOKS) {
        mpm_collider_book books[2 * BOOKS];
        mpm_reduction reductions[2 * BOOKS];
        void *results[2 * BOOKS];
        const size_t some = colliders - first < BOOKS ? colliders - first : BOOKS, count = kept ? 2 * some : some;
        for (size_t k = 0; k < count; k++) {
            books[k] = (mpm_collider_book){0};
            reductions[k] = of_books(simulation, k >= some, first + k % some, true);
            results[k] = &books[k];
        }
        reduce_all(simulation, reductions, results, count);
        mpm_collider_add_books(sums + first, books, 1, some);
        if (kept) {
            mpm_collider_add_books(sums + first, kept + first, 1, some);
            mpm_collider_add_books(sums + first, books + some, 1, some);
        }
    }
}

/* Labels every pair of layers at a place by its number among the pairs with columns, -1 without any, or if another
 * process counts it; and by the process that counts it. */
static void label_pairs(const mpm_simulation *simulation, const mpm_grid *grid, const struct reports *reports)
{
    const mpm_layers *pairs = &simulation->layers;
    const mpm_partition *partition = &reports->halo.partition;
    for (size_t p = 0; p < grid->place_count; p++) {
        const mpm_place *place = &grid->places[p];
        const mpm_node_block *blocks = &grid->blocks[place->first];
        const int32_t counting = reports->pair_counting ? partition->counting[place->first] : partition->own;
        int32_t pair = place->first_pair;
        for (int32_t i = 0; i < place->count; i++)
            for (int32_t j = i + 1; j < place->count; j++, pair++) {
                const mpm_layer_pair *found = mpm_layers_find(pairs, blocks[i].layer, blocks[j].layer);
                if (reports->pair_counting)
                    reports->pair_counting[pair] = counting;
                reports->pair_labels[pair] = -1;
                for (size_t k = 0; found && counting == partition->own && k < pairs->named_count; k++)
                    if (found == &pairs->list[pairs->named[k]])
                        reports->pair_labels[pair] = (int32_t)k;
            }
    }
}

mpm_status mpm_sweeps_fit(void *context, const mpm_grid *grid)
{
    mpm_simulation *simulation = context;
    mpm_device *device = &simulation->backend->device;
    const size_t blocks = grid->block_count + 1, tasks = grid->task_count + 1, count = simulation->boundary.count;
    struct reports fresh = {
        .measures = mpm_device_new(device, tasks, sizeof *fresh.measures),
        .blocks = mpm_device_new(device, blocks, sizeof *fresh.blocks),
        .block_books = mpm_device_new(device, blocks, count * sizeof *fresh.block_books),
        .task_books = mpm_device_new(device, tasks, count * sizeof *fresh.task_books),
    };
    const size_t groups = grid->task_count ? (size_t)grid->task_group[grid->task_count] : 0;
    if (simulation->has_rigid)
        fresh.rigid_sums = mpm_device_new(device, groups + 1, sizeof *fresh.rigid_sums);
    const size_t loads = simulation->run.loads.count;
    const bool contact = simulation->settings.contact;
    if (loads)
        fresh.hold_impulses = mpm_device_new(device, blocks, loads * sizeof *fresh.hold_impulses);
    if (contact) {
        fresh.pair_books = mpm_device_new(device, grid->pair_count + 1, sizeof *fresh.pair_books);
        fresh.pair_labels = mpm_memory_new(&device->allocator, grid->pair_count + 1, sizeof *fresh.pair_labels);
        if (simulation->team)
            fresh.pair_counting =
                mpm_memory_new(&device->allocator, grid->pair_count + 1, sizeof *fresh.pair_counting);
    }
    const bool heat = simulation->settings.heat;
    const bool solves_heat = simulation->settings.conduction == MPM_CONDUCTION_IMPLICIT;
    if (heat)
        fresh.heat_books = mpm_device_new(device, blocks, sizeof *fresh.heat_books);
    if (solves_heat)
        fresh.heat_sums = mpm_device_new(device, blocks, sizeof *fresh.heat_sums);
    const bool lost = mpm_halo_fit(simulation, grid, &fresh.halo);
    const bool failed =
        lost || !fresh.measures || !fresh.blocks || !fresh.block_books || !fresh.task_books ||
        (simulation->has_rigid && !fresh.rigid_sums) || (loads && !fresh.hold_impulses) ||
        (contact && (!fresh.pair_books || !fresh.pair_labels || (simulation->team && !fresh.pair_counting))) ||
        (heat && !fresh.heat_books) || (solves_heat && !fresh.heat_sums);
    const mpm_status status = mpm_halo_agree(simulation, failed ? MPM_OUT_OF_MEMORY : MPM_OK);
    if (status) {
        free_reports(&fresh, device);
        return status;
    }
    if (contact)
        label_pairs(simulation, grid, &fresh);
    struct reports *old = &simulation->reports;
    if (old->block_books) /* in mid step, the grid pass has already filled them */
        add_books(simulation, old->kept_books, NULL);
    fresh.kept_books = old->kept_books;
    free_reports(old, device);
    *old = fresh;
    simulation->backend->partition = simulation->team ? &old->halo.partition : NULL;
    return MPM_OK;
}

/* ---- sweeps ----------------------------------------------------------------------------------------------------- */

/* One operation on `particles`. */
static void sweep_over(mpm_simulation *simulation, const mpm_particles *particles, mpm_operation operation,
                       const mpm_arguments arguments)
{
    mpm_backend *backend = simulation->backend;
    mpm_sweep sweep = mpm_describe_sweep(simulation);
    sweep.particles = particles;
    if (operation == MPM_G2P || operation == MPM_G2P2G) {
        sweep.volume_change = simulation->grid.field[MPM_GRID_VOLUME_CHANGE]; /* NULL without F-bar */
        sweep.fill = simulation->grid.field[MPM_GRID_FILL]; /* NULL without the correction */
    }
    const double start = mpm_clock_seconds();
    backend->sweep(backend, &sweep, operation, &arguments);
    mpm_halo_note(simulation, operation, &arguments);
    mpm_run_spend(&simulation->run, MPM_PHASE_SWEEPS, start);
}

static void sweep(mpm_simulation *simulation, mpm_operation operation, const mpm_arguments arguments)
{
    sweep_over(simulation, &simulation->particles, operation, arguments);
}

#define OF(name, rule) MPM_MEMBER(mpm_measure, name, MPM_REDUCE_##rule)
static const mpm_member of_measures[] = {
    OF(mass, SUM), OF(momentum, SUM), OF(mass_moment, SUM), OF(angular_momentum, SUM), OF(kinetic, SUM),
    OF(elastic, SUM), OF(dissipation, SUM),
    OF(rate2, MOST), OF(wave2, MOST), OF(speed, MOST), OF(gradient2, MOST),
    OF(advection_speed, MOST),
    OF(outside, COUNT), OF(clamped, COUNT), OF(frozen, COUNT), OF(out_of_range, COUNT), OF(clipped, COUNT),
};
static const mpm_member of_dry_runs[] = {OF(advection_speed, MOST), OF(least_det, LEAST)};
static const mpm_member of_body_forces[] = {OF(force, SUM)};
static const mpm_member of_solves[] = {OF(elastic, SUM)};
static const mpm_member of_heat[] = {OF(heat, SUM), OF(diffusivity, MOST), OF(out_of_range, COUNT)};
#undef OF

/* What the last sweep has measured. */
static mpm_measure reduce_measures(const mpm_simulation *simulation, const mpm_member *members, int member_count)
{
    mpm_measure measure = {.least_det = 1};
    const mpm_reduction reduction =
        of_tasks(simulation, (mpm_reduction){.parts = simulation->reports.measures, .stride = sizeof measure,
                                             .members = members, .member_count = member_count});
    mpm_sweeps_reduce(simulation, &reduction, &measure);
    return measure;
}

static mpm_measure measure_state(const mpm_simulation *simulation)
{
    return reduce_measures(simulation, of_measures, COUNT_OF(of_measures));
}

void mpm_sweeps_p2g(mpm_simulation *simulation, double dt)
{
    sweep(simulation, MPM_P2G, (mpm_arguments){.p2g = {dt}});
}

void mpm_sweeps_g2p(mpm_simulation *simulation, double dt)
{
    sweep(simulation, MPM_G2P, (mpm_arguments){.g2p = {dt}});
}

void mpm_sweeps_g2p2g(mpm_simulation *simulation, double dt, double next_dt)
{
    sweep(simulation, MPM_G2P2G, (mpm_arguments){.g2p2g = {dt, next_dt}});
}

mpm_measure mpm_sweeps_measured(const mpm_simulation *simulation)
{
    return measure_state(simulation);
}

void mpm_sweeps_rigid_sums(mpm_simulation *simulation, double dt)
{
    const double *force = dt > 0 ? simulation->run.forcing.body_force : NULL;
    sweep(simulation, MPM_RIGID_SUMS, (mpm_arguments){.rigid_sums = {dt, force}});
}

mpm_measure mpm_sweeps_rigid_place(mpm_simulation *simulation, bool ends_step)
{
    sweep(simulation, MPM_RIGID_PLACE, (mpm_arguments){.rigid_place = {ends_step}});
    return measure_state(simulation);
}

mpm_measure mpm_sweeps_measure(mpm_simulation *simulation)
{
    sweep(simulation, MPM_MEASURE, (mpm_arguments){0});
    return measure_state(simulation);
}

mpm_measure mpm_sweeps_dry_run(mpm_simulation *simulation, double dt, const mpm_block_report *blocks, double enough)
{
    sweep(simulation, MPM_DRY_RUN, (mpm_arguments){.dry_run = {dt, blocks, enough}});
    return reduce_measures(simulation, of_dry_runs, COUNT_OF(of_dry_runs));
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
    const mpm_forcing *forcing = &simulation->run.forcing;
    if (!forcing->body_force)
        return;
    const mpm_arguments arguments = {.body_force = {dt, forcing}};
    sweep(simulation, MPM_BODY_FORCE, arguments);
    const mpm_measure sum = reduce_measures(simulation, of_body_forces, COUNT_OF(of_body_forces));
    memcpy(simulation->force, sum.force, sizeof simulation->force);
}

void mpm_sweeps_load_power(mpm_simulation *simulation, double dt)
{
    const mpm_arguments arguments = {.load_power = {dt, &simulation->run.forcing, simulation->load_power}};
    sweep(simulation, MPM_LOAD_POWER, arguments);
}

void mpm_sweeps_mark_holds(mpm_simulation *simulation, int first, bool begins)
{
    const mpm_forcing *forcing = &simulation->run.forcing;
    const int left = (int)simulation->run.loads.count - first, dim = simulation->settings.dim;
    const mpm_hold_pass holds = {&simulation->grid, forcing, first, left < dim ? left : dim, begins};
    sweep(simulation, MPM_SHARE, (mpm_arguments){.share = {forcing, first}});
    const mpm_pass means = {.kind = MPM_PASS_MEANS, .joins = true, .grid = &simulation->grid,
                            .field = MPM_GRID_SHARES};
    mpm_sweeps_pass(simulation, &means);
    const mpm_pass marks = {.kind = MPM_PASS_MARK_HOLDS, .grid = &simulation->grid, .holds = &holds};
    mpm_sweeps_pass(simulation, &marks);
}

void mpm_sweeps_hold_impulses(mpm_simulation *simulation)
{
    static const mpm_member of_impulse[] = {{0, 3, MPM_REDUCE_SUM}};
    mpm_loads *loads = &simulation->run.loads;
    mpm_reduction reductions[MPM_MOST_LOADS];
    void *results[MPM_MOST_LOADS];
    for (size_t k = 0; k < loads->count; k++) {
        results[k] = loads->impulse[k];
        reductions[k] = mpm_sweeps_of_blocks(
            simulation, (mpm_reduction){.parts = simulation->reports.hold_impulses + k,
                                        .stride = loads->count * sizeof *loads->impulse, .members = of_impulse,
                                        .member_count = 1});
    }
    reduce_all(simulation, reductions, results, loads->count);
}

void mpm_sweeps_faces(mpm_simulation *simulation)
{
    if (!simulation->settings.scheme.faces)
        return;
    const mpm_pass damage = {.kind = MPM_PASS_DAMAGE, .grid = &simulation->grid};
    const mpm_pass axes = {.kind = MPM_PASS_AXES, .grid = &simulation->grid};
    sweep(simulation, MPM_DAMAGE, (mpm_arguments){0});
    mpm_sweeps_pass(simulation, &damage);
    sweep(simulation, MPM_AXES, (mpm_arguments){0});
    mpm_sweeps_pass(simulation, &axes);
}

void mpm_sweeps_moments(mpm_simulation *simulation)
{
    const bool faces = simulation->settings.scheme.faces;
    if (simulation->settings.contact && simulation->grid.shared_copy_count)
        sweep(simulation, faces ? MPM_FACE_MOMENTS : MPM_MOMENTS, (mpm_arguments){0});
}

double mpm_sweeps_solve(mpm_simulation *simulation, mpm_operation operation, const mpm_arguments *arguments)
{
    sweep(simulation, operation, *arguments);
    return reduce_measures(simulation, of_solves, COUNT_OF(of_solves)).elastic;
}

mpm_measure mpm_sweeps_heat(mpm_simulation *simulation, const mpm_heat_arguments *arguments)
{
    sweep(simulation, MPM_HEAT, (mpm_arguments){.heat = *arguments});
    return reduce_measures(simulation, of_heat, COUNT_OF(of_heat));
}

/* ---- passes ----------------------------------------------------------------------------------------------------- */

void mpm_sweeps_pass(mpm_simulation *simulation, const mpm_pass *pass)
{
    mpm_backend *backend = simulation->backend;
    const double start = mpm_clock_seconds();
    mpm_halo_exchange(simulation);
    backend->pass(backend, pass);
    mpm_run_spend(&simulation->run, MPM_PHASE_GRID, start);
}

mpm_heat_book mpm_sweeps_heat_book(const mpm_simulation *simulation)
{
    static const mpm_member of_blocks[] = {MPM_MEMBER(mpm_heat_book, wall, MPM_REDUCE_SUM),
                                           MPM_MEMBER(mpm_heat_book, collider, MPM_REDUCE_SUM)};
    const mpm_reduction reduction = mpm_sweeps_of_blocks(
        simulation, (mpm_reduction){.parts = simulation->reports.heat_books, .stride = sizeof(mpm_heat_book),
                                    .members = of_blocks, .member_count = COUNT_OF(of_blocks)});
    mpm_heat_book sum = {0};
    mpm_sweeps_reduce(simulation, &reduction, &sum);
    return sum;
}

double mpm_sweeps_heat_sum(const mpm_simulation *simulation)
{
    static const mpm_member of_blocks[] = {{0, 1, MPM_REDUCE_SUM}};
    const mpm_reduction reduction = mpm_sweeps_of_blocks(
        simulation, (mpm_reduction){.parts = simulation->reports.heat_sums, .stride = sizeof(double),
                                    .members = of_blocks, .member_count = 1});
    double sum = 0;
    mpm_sweeps_reduce(simulation, &reduction, &sum);
    return sum;
}

mpm_grid_pass mpm_sweeps_describe_grid(const mpm_simulation *simulation, mpm_grid_stage stage, double dt)
{
    const mpm_settings *settings = &simulation->settings;
    mpm_grid_pass pass = {.grid = &simulation->grid, .dt = dt, .scheme = settings->scheme, .stage = stage,
                          .reports = simulation->reports.blocks};
    memcpy(pass.cells, settings->cells, sizeof pass.cells);
    memcpy(pass.gravity, settings->gravity, sizeof pass.gravity);
    memcpy(pass.walls, settings->walls, sizeof pass.walls);
    if (stage == MPM_GRID_STEP) {
        pass.damps = simulation->damps;
        pass.damping = settings->damping;
        pass.dx = settings->dx;
    }
    if (stage != MPM_GRID_DENSITY)
        pass.colliders = mpm_describe_colliders(simulation, simulation->reports.block_books);
    if (simulation->run.forcing.holds && stage != MPM_GRID_DENSITY) {
        pass.forcing = &simulation->run.forcing;
        pass.loads = simulation->run.loads.count;
        pass.hold_impulses = simulation->reports.hold_impulses;
    }
    pass.rubs = (stage == MPM_GRID_STEP || stage == MPM_GRID_FREE) && mpm_heat_rubs(simulation);
    if (stage == MPM_GRID_STEP && settings->contact) {
        pass.layers = &simulation->layers;
        pass.pair_books = simulation->reports.pair_books;
    }
    return pass;
}

/* What bodies did to each other in the pass: all of them, and those of every pair with columns. */
static void sum_pairs(mpm_simulation *simulation)
{
#define OF(name) MPM_MEMBER(mpm_layer_book, name, MPM_REDUCE_SUM)
    static const mpm_member of_pairs[] = {OF(friction_work), OF(adhesion_work)}, of_pair[] = {OF(impulse)};
#undef OF
    const mpm_grid *grid = &simulation->grid;
    const struct reports *reports = &simulation->reports;
    mpm_layers *pairs = &simulation->layers;
    mpm_layer_book book = {0};
    mpm_reduction reduction = {reports->pair_books, grid->shared_copy_count ? grid->pair_count : 0, sizeof book,
                               of_pairs, .member_count = COUNT_OF(of_pairs), .labels = reports->pair_counting,
                               .wanted = simulation->team ? simulation->team->transport.own : 0};
    mpm_sweeps_reduce(simulation, &reduction, &book);
    simulation->stage.friction_work = book.friction_work;
    simulation->stage.adhesion_work = book.adhesion_work;
    reduction.members = of_pair;
    reduction.member_count = COUNT_OF(of_pair);
    reduction.labels = reports->pair_labels;
    for (size_t first = 0; first < pairs->named_count; first += PAIRS) {
        mpm_layer_book books[PAIRS];
        mpm_reduction reductions[PAIRS];
        void *results[PAIRS];
        size_t count = 0;
        for (; count < PAIRS && first + count < pairs->named_count; count++) {
            reduction.wanted = (int32_t)(first + count);
            books[count] = (mpm_layer_book){0};
            reductions[count] = reduction;
            results[count] = &books[count];
        }
        reduce_all(simulation, reductions, results, count);
        for (size_t k = 0; k < count; k++)
            memcpy(pairs->list[pairs->named[first + k]].coming, books[k].impulse, sizeof books[k].impulse);
    }
}

/* Books that belong to no block begin anew with the grid pass of a step. */
static void clear_kept(mpm_simulation *simulation)
{
    memset(simulation->reports.kept_books, 0, simulation->boundary.count * sizeof *simulation->reports.kept_books);
    memset(simulation->stage.wall_impulse, 0, sizeof simulation->stage.wall_impulse);
}

static void grid_pass(mpm_simulation *simulation, mpm_grid_stage stage, double dt, int filter_step)
{
    mpm_grid_pass described = mpm_sweeps_describe_grid(simulation, stage, dt);
    described.filter_step = filter_step;
    const mpm_pass pass = {.kind = MPM_PASS_GRID, .joins = stage != MPM_GRID_FINISH, .grid = &simulation->grid,
                           .stage = &described};
    mpm_sweeps_pass(simulation, &pass);
}

void mpm_sweeps_density(mpm_simulation *simulation)
{
    grid_pass(simulation, MPM_GRID_DENSITY, 0, 0);
}

mpm_block_report mpm_sweeps_sum_reports(const mpm_simulation *simulation)
{
#define OF(name, rule) MPM_MEMBER(mpm_block_report, name, MPM_REDUCE_##rule)
    static const mpm_member of_reports[] = {OF(speed, MOST), OF(speed_before, MOST), OF(lowest, LEAST),
                                            OF(highest, MOST), OF(impulse, SUM), OF(approach, MOST),
                                            OF(drag, SUM), OF(friction_heat, SUM)};
#undef OF
    const int spared = mpm_heat_is_heat(simulation) ? 0 : simulation->damps ? 1 : 2; /* the last ones */
    const double most = (double)INFINITY;
    mpm_block_report report = {.lowest = {most, most, most}, .highest = {-most, -most, -most}};
    const mpm_reduction reduction = mpm_sweeps_of_blocks(
        simulation, (mpm_reduction){.parts = simulation->reports.blocks, .stride = sizeof report,
                                    .members = of_reports, .member_count = COUNT_OF(of_reports) - spared});
    mpm_sweeps_reduce(simulation, &reduction, &report);
    for (int a = 0; a < 3; a++)
        report.impulse[a] += simulation->stage.wall_impulse[a];
    return report;
}

mpm_block_report mpm_sweeps_grid(mpm_simulation *simulation, double dt)
{
    mpm_boundary_pose(&simulation->boundary, simulation->run.time, dt);
    clear_kept(simulation);
    grid_pass(simulation, MPM_GRID_STEP, dt, 0);
    if (simulation->settings.contact)
        sum_pairs(simulation);
    return mpm_sweeps_sum_reports(simulation);
}

void mpm_sweeps_foresee(mpm_simulation *simulation, double time, double dt, double present_dt)
{
    mpm_backend *backend = simulation->backend;
    if (!backend->foresee || !mpm_scheme_recomputes_velocity(&simulation->settings.scheme))
        return;
    mpm_boundary_pose(&simulation->boundary, time, dt);
    const mpm_grid_pass described = mpm_sweeps_describe_grid(simulation, MPM_GRID_STEP, dt);
    backend->foresee(backend, &(mpm_pass){.kind = MPM_PASS_GRID, .joins = true, .grid = &simulation->grid,
                                          .stage = &described});
    mpm_boundary_pose(&simulation->boundary, simulation->run.time, present_dt);
}

void mpm_sweeps_grid_free(mpm_simulation *simulation, double dt, double forces_dt)
{
    mpm_boundary_pose(&simulation->boundary, simulation->run.time, dt);
    clear_kept(simulation);
    grid_pass(simulation, MPM_GRID_FREE, forces_dt, 0);
}

mpm_block_report mpm_sweeps_grid_finish(mpm_simulation *simulation, double dt)
{
    grid_pass(simulation, MPM_GRID_FINISH, dt, 0);
    return mpm_sweeps_sum_reports(simulation);
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
    *report = mpm_sweeps_sum_reports(simulation);
    report->approach = approach;
}

void mpm_sweeps_fill(mpm_simulation *simulation, const mpm_heat_arguments *heat)
{
    mpm_grid_pass described = mpm_sweeps_describe_grid(simulation, MPM_GRID_STEP, 0);
    for (size_t m = 0; m < simulation->material_count; m++)
        described.has_volumes |= simulation->materials[m].has_volumes;
    described.fluid_volume = simulation->fluid_volume;
    if (described.has_volumes)
        sweep(simulation, MPM_VOLUME, (mpm_arguments){.heat = *heat});
    const mpm_pass volumes = {.kind = MPM_PASS_VOLUMES, .joins = true, .grid = &simulation->grid,
                              .stage = &described};
    const mpm_pass fill = {.kind = MPM_PASS_FILL, .grid = &simulation->grid, .stage = &described};
    mpm_sweeps_pass(simulation, &volumes);
    mpm_sweeps_pass(simulation, &fill);
}

void mpm_sweeps_f_bar(mpm_simulation *simulation, double dt)
{
    if (!simulation->settings.scheme.f_bar)
        return;
    const double h = simulation->settings.dx, rate2 = simulation->measure.rate2;
    sweep(simulation, MPM_AVERAGE, (mpm_arguments){.average = {dt, rate2 > 0 ? 1 / (h * h * rate2) : 0}});
    const mpm_pass pass = {.kind = MPM_PASS_MEANS, .joins = true, .grid = &simulation->grid,
                           .field = MPM_GRID_VOLUME_CHANGE};
    mpm_sweeps_pass(simulation, &pass);
}

const mpm_collider *mpm_sweeps_fastest(const mpm_simulation *simulation, double *speed)
{
    const mpm_collider *fastest = simulation->boundary.colliders;
    *speed = 0;
    for (size_t first = 0; first < simulation->boundary.count; first += 2 * BOOKS) {
        mpm_collider_book books[2 * BOOKS];
        mpm_reduction reductions[2 * BOOKS];
        void *results[2 * BOOKS];
        size_t count = 0;
        for (; count < 2 * BOOKS && first + count < simulation->boundary.count; count++) {
            books[count] = (mpm_collider_book){0};
            reductions[count] = of_books(simulation, false, first + count, false);
            results[count] = &books[count];
        }
        reduce_all(simulation, reductions, results, count);
        for (size_t k = 0; k < count; k++)
            if (books[k].speed > *speed) {
                *speed = books[k].speed;
                fastest = &simulation->boundary.colliders[first + k];
            }
    }
    return fastest;
}

void mpm_sweeps_add_books(const mpm_simulation *simulation, mpm_collider_book *sums)
{
    add_books(simulation, sums, simulation->reports.kept_books);
}
