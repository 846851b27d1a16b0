/* SPDX-License-Identifier: MIT */
#include "mpm/gpu_backend.h"

#include <string.h>

#include "mpm/cpu_backend.h"
#include "mpm/gpu/gpu_boundary.h"
#include "mpm/gpu_loads.h"
#include "mpm/state.h"

enum {
    BLOCK_CELLS = 64, MARGIN = 2, /* as in mpm/gpu/launch.h */
    ROWS = MPM_MOST_COLUMNS       /* among the columns: the number of the rows */
};

struct gpu {
    mpm_backend backend; /* the first member */
    mpm_backend *cpu;    /* bins where particles come and go */
    mpm_simulation *simulation;
    mpm_gpu_engine engine;
    bool resident;       /* the device has the state of all particles */
    /* Of each column, and at the end of the rows: the device has newer values, or the host has. */
    bool stale[ROWS + 1], written[ROWS + 1];
    void *x[2], *nodes[2]; /* which pointers of the host name the device's arrays of positions and velocities */
    const void *measures, *blocks; /* whose reports the device has, of the last sweep and pass */
    const mpm_collider_book *books[MPM_GPU_FINDERS]; /* whose books it has */
    mpm_measure measure;
    mpm_block_report report;
    /* What the host has not read of them. `unheard`: a launch has said something since it last did. */
    enum { NOTHING, A_MEASURE, A_FORCE } sweep_due;
    bool pass_due, unheard;
    struct {
        bool launched; /* the pass of the next step, into these nodes */
        int nodes;
        double dt;
    } ahead;
    mpm_gpu_laws laws;
    uint64_t changes; /* of what the device's columns show */
    mpm_gpu_loads loads;
};

/* ---- reports ----------------------------------------------------------------------------------------------------- */

static void take_books(struct gpu *gpu, mpm_gpu_finder finder)
{
    const mpm_gpu_boundary *boundary = &gpu->engine.boundary;
    if (boundary->count)
        memcpy(boundary->found[finder], mpm_engine_books(&gpu->engine, finder, false),
               boundary->count * sizeof(mpm_collider_book));
}

/* Reads what the host has to know of launches: the only place where a step waits for the device, once as a rule. */
static void hear(struct gpu *gpu)
{
    mpm_gpu_engine *engine = &gpu->engine;
    if (gpu->unheard && (gpu->sweep_due || gpu->pass_due)) {
        mpm_engine_hear(engine);
        gpu->unheard = false;
    }
    if (gpu->sweep_due == A_FORCE)
        engine->variant->pushed(engine, gpu->measure.force);
    if (gpu->sweep_due == A_MEASURE) {
        engine->variant->measured(engine, &gpu->measure);
        take_books(gpu, MPM_GPU_SWEEPS);
    }
    if (gpu->sweep_due == A_MEASURE && gpu->measure.frozen)
        gpu->stale[MPM_COLUMN_MASS] = gpu->stale[MPM_COLUMN_VOLUME] = true;
    if (gpu->pass_due) {
        engine->variant->passed(engine, &gpu->report);
        take_books(gpu, MPM_GPU_PASSES);
    }
    gpu->sweep_due = NOTHING;
    gpu->pass_due = false;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* Where the device has a column of the host: `width` components of an array, from `first` on. */
struct place {
    mpm_gpu_array *array;
    int first, width;
};

static int x_of(const struct gpu *gpu, const void *name)
{
    return name == gpu->x[1];
}

static struct place place_of(struct gpu *gpu, int column)
{
    mpm_gpu_engine *engine = &gpu->engine;
    mpm_gpu_columns *now = &engine->now;
    const int d = engine->dim, F = mpm_fields_F(d);
    if (column == ROWS)
        return (struct place){&now->row, 0, 1};
    if (column == MPM_COLUMN_X) {
        const int x = x_of(gpu, gpu->simulation->particles.column[column]);
        return (struct place){x ? &engine->next.x : &now->x, 0, d};
    }
    if (column == MPM_COLUMN_V)
        return (struct place){&now->v, 0, d};
    if (column >= MPM_COLUMN_C && column < F)
        return (struct place){&now->C, (column - MPM_COLUMN_C) * d, d};
    if (column >= F && column < F + d)
        return (struct place){&now->F, (column - F) * d, d};
    if (column == MPM_COLUMN_MASS || column == MPM_COLUMN_VOLUME)
        return (struct place){column == MPM_COLUMN_MASS ? &now->mass : &now->volume, 0, 1};
    const int k = gpu->laws.row[column];
    return (struct place){k >= 0 ? &now->history : NULL, k, 1};
}

/* The column of the particles at an address of the host; -1: it is something else. */
static int column_at(const struct gpu *gpu, const void *memory)
{
    const mpm_particles *particles = &gpu->simulation->particles;
    if (memory == particles->row)
        return ROWS;
    for (int c = 0; c < particles->columns; c++)
        if (memory == particles->column[c])
            return c;
    return -1;
}

static void *host_of(const struct gpu *gpu, int column)
{
    const mpm_particles *particles = &gpu->simulation->particles;
    return column == ROWS ? (void *)particles->row : particles->column[column];
}

static void copy_column(struct gpu *gpu, int column, bool to_device)
{
    mpm_gpu_engine *engine = &gpu->engine;
    const struct place place = place_of(gpu, column);
    void *host = host_of(gpu, column);
    const size_t bytes = (size_t)engine->count * sizeof(int32_t);
    int count = place.width;
    if (place.array == &engine->now.F && place.first + count > engine->strains) /* J is the first of F, and alone */
        count = engine->strains - place.first;
    if (!place.array || !engine->count || count <= 0)
        return;
    gpu->changes += to_device;
    if (column != ROWS && to_device)
        mpm_engine_write(engine, place.array, place.first, count, place.width, host);
    else if (column != ROWS)
        mpm_engine_read(engine, place.array, place.first, count, place.width, host);
    else if (to_device)
        mpm_engine_put(engine, place.array, host, bytes);
    else
        mpm_engine_get(engine, host, place.array->at, bytes);
}

static void look_at(struct gpu *gpu, int column)
{
    if (gpu->resident && gpu->stale[column])
        copy_column(gpu, column, false);
    gpu->stale[column] = false;
}

/* The device has no state any more, nor velocities of nodes. */
static void forget(struct gpu *gpu)
{
    gpu->simulation->grid_valid &= !gpu->resident;
    gpu->changes++;
    gpu->resident = false;
}

/* The host has the state; the device is forgotten. */
static void take_back(struct gpu *gpu)
{
    hear(gpu);
    for (int c = 0; c <= ROWS; c++) {
        if (c < gpu->simulation->particles.columns || c == ROWS)
            look_at(gpu, c);
        gpu->written[c] = false;
    }
    forget(gpu);
}

/* Brings what the host has written to the device. */
static void give(struct gpu *gpu)
{
    for (int c = 0; c <= ROWS && gpu->resident; c++) {
        if (gpu->written[c])
            copy_column(gpu, c, true);
        if (gpu->written[c])
            mpm_gpu_laws_note(&gpu->laws, gpu->engine.dim, gpu->simulation->materials, c);
        gpu->written[c] = false;
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void *allocate(mpm_device *device, size_t bytes, bool cleared)
{
    return cleared ? mpm_memory_new(&device->allocator, bytes, 1) : mpm_memory_new_unset(&device->allocator, bytes, 1);
}

static void release(mpm_device *device, void *memory)
{
    struct gpu *gpu = (struct gpu *)device;
    if (memory == gpu->simulation->particles.row) { /* they end, or a wider copy of all columns takes their place */
        forget(gpu);
        memset(gpu->stale, 0, sizeof gpu->stale);
    }
    for (int k = 0; k < MPM_GPU_FINDERS; k++)
        gpu->books[k] = memory == gpu->books[k] ? NULL : gpu->books[k];
    mpm_memory_free(&device->allocator, memory);
}

static void *map(mpm_device *device, void *memory, mpm_access access)
{
    struct gpu *gpu = (struct gpu *)device;
    const int column = column_at(gpu, memory);
    hear(gpu);
    if (column >= 0) {
        look_at(gpu, column);
        gpu->written[column] |= access == MPM_WRITE;
    }
    for (int k = 0; k < 2 && gpu->resident; k++)
        if (memory == gpu->nodes[k])
            mpm_engine_get(&gpu->engine, memory, gpu->engine.nodes[k].at,
                           (size_t)gpu->engine.tables.rooms * gpu->engine.variant->node_bytes);
    return memory;
}

static void unmap(mpm_device *device, void *memory)
{
    (void)device, (void)memory;
}

/* ---- groups and grid ------------------------------------------------------------------------------------------- */

/* The coordinates of a block by its key. */
static void block_at(const mpm_gpu_engine *engine, int key, int32_t block[3])
{
    const int at[3] = {key / engine->blocks[2] / engine->blocks[1], key / engine->blocks[2] % engine->blocks[1],
                       key % engine->blocks[2]};
    for (int a = 0; a < 3; a++)
        block[a] = a < engine->dim ? at[a] - MARGIN : 0;
}

static int key_of(const mpm_gpu_engine *engine, const int32_t block[3])
{
    int key = 0;
    for (int a = 0; a < 3; a++)
        key = key * engine->blocks[a] + (a < engine->dim ? block[a] + MARGIN : 0);
    return key;
}

/* The groups of places, whose particles may touch all nodes of their tiles. */
static mpm_status find_groups(struct gpu *gpu, const mpm_gpu_tables *tables, mpm_group **found)
{
    mpm_gpu_engine *engine = &gpu->engine;
    const mpm_allocator *allocator = &gpu->backend.device.allocator;
    const size_t places = (size_t)tables->places, starts = places * BLOCK_CELLS + 1;
    int *key = mpm_memory_new(allocator, places, sizeof *key);
    int *start = mpm_memory_new(allocator, starts, sizeof *start);
    mpm_group *groups = mpm_memory_new(allocator, places, sizeof *groups);
    const bool failed = !key || !start || !groups;
    if (!failed) {
        mpm_engine_get(engine, key, tables->place_key.at, places * sizeof *key);
        mpm_engine_get(engine, start, tables->start.at, starts * sizeof *start);
    }
    for (size_t g = 0; !failed && g < places; g++) {
        mpm_group *group = &groups[g];
        block_at(engine, key[g] / engine->materials, group->block);
        group->material = key[g] % engine->materials;
        group->first_tile = start[g * BLOCK_CELLS];
        group->count = group->tiles = start[(g + 1) * BLOCK_CELLS] - start[g * BLOCK_CELLS];
        for (int a = 0; a < engine->dim; a++)
            group->last_node[a] = mpm_block_side(engine->dim) + gpu->simulation->particles.degree + 1;
    }
    mpm_memory_free(allocator, key);
    mpm_memory_free(allocator, start);
    if (failed || engine->failure) {
        mpm_memory_free(allocator, groups);
        return engine->failure ? engine->failure : MPM_OUT_OF_MEMORY;
    }
    *found = groups;
    return MPM_OK;
}

/* The grid of the rooms, for the host. */
static mpm_status find_grid(struct gpu *gpu, const mpm_gpu_tables *tables, mpm_grid *grid)
{
    mpm_gpu_engine *engine = &gpu->engine;
    mpm_device *device = &gpu->backend.device;
    const mpm_allocator *allocator = &device->allocator;
    const size_t rooms = (size_t)tables->rooms;
    int *key = mpm_memory_new(allocator, rooms, sizeof *key);
    *grid = (mpm_grid){.block_count = rooms, .task_count = 1};
    grid->blocks = mpm_memory_new(allocator, rooms, sizeof *grid->blocks);
    grid->task_group = mpm_memory_new(allocator, 2, sizeof *grid->task_group);
    grid->field[MPM_GRID_VELOCITY] = mpm_device_new(device, rooms, engine->variant->node_bytes);
    grid->field[MPM_GRID_PREVIOUS] = mpm_device_new(device, rooms, engine->variant->node_bytes);
    if (engine->corrects) /* the host asks whether there is one, and reads none */
        grid->field[MPM_GRID_FILL] = mpm_device_new(device, 1, 1);
    const bool failed = !key || !grid->blocks || !grid->task_group || !grid->field[MPM_GRID_VELOCITY] ||
                        !grid->field[MPM_GRID_PREVIOUS] || (engine->corrects && !grid->field[MPM_GRID_FILL]);
    if (!failed)
        mpm_engine_get(engine, key, tables->room_key.at, rooms * sizeof *key);
    for (size_t b = 0; !failed && b < rooms; b++) {
        block_at(engine, key[b], grid->blocks[b].block);
        grid->blocks[b].fold = -1;
    }
    mpm_memory_free(allocator, key);
    if (failed || engine->failure) {
        mpm_grid_clear(grid, device);
        return engine->failure ? engine->failure : MPM_OUT_OF_MEMORY;
    }
    grid->task_group[1] = (int32_t)tables->places;
    grid->bytes = rooms * (2 * engine->variant->node_bytes + sizeof *grid->blocks);
    return MPM_OK;
}

/* Replaces a grid. `nodes`: the array with its velocities. */
static void take_grid(struct gpu *gpu, mpm_grid *grid, const mpm_grid *fresh, int nodes)
{
    mpm_grid_clear(grid, &gpu->backend.device);
    *grid = *fresh;
    gpu->nodes[nodes] = grid->field[MPM_GRID_VELOCITY];
    gpu->nodes[1 - nodes] = grid->field[MPM_GRID_PREVIOUS];
}

/* ---- the state moves to the device ------------------------------------------------------------------------------- */

/* Keys of the groups, and of their particles. */
static mpm_status lay_out(struct gpu *gpu)
{
    mpm_gpu_engine *engine = &gpu->engine;
    const mpm_allocator *allocator = &gpu->backend.device.allocator;
    const mpm_particles *particles = &gpu->simulation->particles;
    const size_t groups = particles->group_count;
    int *key = mpm_memory_new(allocator, groups, sizeof *key), *end = mpm_memory_new(allocator, groups, sizeof *end);
    int *keys = mpm_memory_new(allocator, (size_t)particles->count, sizeof *keys);
    mpm_status status = key && end && keys ? MPM_OK : MPM_OUT_OF_MEMORY;
    int count = 0;
    for (size_t g = 0; g < groups && !status; g++) {
        key[g] = mpm_engine_pair_key(engine, key_of(engine, particles->groups[g].block),
                                     particles->groups[g].material);
        for (int p = 0; p < particles->groups[g].count; p++)
            keys[count++] = key[g];
        end[g] = count;
    }
    if (!status)
        status = engine->variant->lay(engine, (int)groups, key, end);
    if (!status) {
        mpm_engine_put(engine, &engine->now.key, keys, (size_t)count * sizeof *keys);
        status = engine->failure;
    }
    mpm_memory_free(allocator, key);
    mpm_memory_free(allocator, end);
    mpm_memory_free(allocator, keys);
    return status;
}

static mpm_status move_in(struct gpu *gpu)
{
    mpm_simulation *simulation = gpu->simulation;
    mpm_gpu_engine *engine = &gpu->engine;
    const mpm_particles *particles = &simulation->particles;
    mpm_grid grid;
    mpm_status status = mpm_engine_hold_particles(engine, particles->count);
    if (status || (status = lay_out(gpu)) || (status = find_grid(gpu, &engine->tables, &grid)))
        return status;
    take_grid(gpu, &simulation->grid, &grid, 0);
    gpu->x[0] = particles->column[MPM_COLUMN_X];
    gpu->x[1] = particles->spare_vector;
    gpu->resident = true;
    memset(gpu->stale, 0, sizeof gpu->stale);
    for (int c = 0; c <= ROWS; c++)
        gpu->written[c] = c < particles->columns || c == ROWS;
    give(gpu);
    return engine->failure;
}

/* The failure of the device so far, for the message of the run. */
static mpm_status status_of(mpm_backend *backend)
{
    const struct gpu *gpu = (struct gpu *)backend;
    const mpm_gpu_engine *engine = &gpu->engine;
    mpm_error *error = &gpu->simulation->run.error;
    if (engine->failure == MPM_DEVICE_FAILED) {
        mpm_error_note(error, MPM_DEVICE_FAILED, MPM_DEVICE_ENDED, gpu->simulation->run.dt);
        error->name = mpm_engine_words(engine);
    }
    return engine->failure;
}

/* Lays out the device anew where materials have been added. */
static mpm_status take_materials(struct gpu *gpu)
{
    const mpm_simulation *simulation = gpu->simulation;
    if (gpu->laws.begun && gpu->laws.materials == simulation->material_count)
        return MPM_OK;
    take_back(gpu);
    gpu->engine.corrects = simulation->has_fluid && simulation->settings.scheme.density_correction > 0;
    return gpu->engine.failure ? gpu->engine.failure
                               : mpm_gpu_laws_begin(&gpu->laws, &gpu->engine, simulation->materials,
                                                    simulation->material_count);
}

/* Brings parameters to the device that it does not have. Those that vary are in columns. */
static mpm_status give_parameters(struct gpu *gpu)
{
    const mpm_material *materials = gpu->simulation->materials;
    for (size_t m = 0; m < gpu->laws.materials; m++)
        if (mpm_gpu_laws_lacks(&gpu->laws, &gpu->engine, materials, m)) {
            look_at(gpu, ROWS);
            for (int k = 0; k < gpu->engine.material[m].components; k++)
                look_at(gpu, materials[m].column[k]);
        }
    return mpm_gpu_laws_give(&gpu->laws, &gpu->engine, materials, &gpu->simulation->particles);
}

/* ---- ready ------------------------------------------------------------------------------------------------------- */

/* Everything that launches need, with all that may fail. */
static mpm_status prepare(struct gpu *gpu)
{
    mpm_gpu_engine *engine = &gpu->engine;
    if (engine->failure)
        return engine->failure;
    mpm_status status = take_materials(gpu);
    if (!status && !gpu->resident)
        status = move_in(gpu);
    if (status)
        return status;
    give(gpu);
    if ((status = mpm_gpu_boundary_take(engine, &gpu->simulation->boundary)))
        return status;
    status = mpm_gpu_loads_hold(&gpu->loads, engine, &gpu->simulation->run.forcing);
    return status ? status : give_parameters(gpu);
}

static mpm_status ready(mpm_backend *backend)
{
    const mpm_status status = prepare((struct gpu *)backend), failure = status_of(backend);
    return failure ? failure : status;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static void refuse(struct gpu *gpu)
{
    if (!gpu->engine.failure)
        gpu->engine.failure = MPM_BAD_ARGUMENT;
}

/* Are these the colliders of the device, and does its image know any? */
static bool knows(const struct gpu *gpu, const mpm_colliders *colliders)
{
    return !colliders->count || (gpu->engine.kernels->image.collides && colliders->count == gpu->engine.boundary.count);
}

/* Gives the device the body force and the loads of a step. */
static void give_forces(struct gpu *gpu, const mpm_forcing *forcing)
{
    if (!gpu->engine.kernels->image.pushes || forcing->holds || forcing->heat)
        refuse(gpu);
    mpm_gpu_loads_give(&gpu->loads, &gpu->engine, forcing);
}

/* The columns that an operation has written. */
static void outdate(struct gpu *gpu, mpm_operation operation)
{
    const mpm_particles *particles = &gpu->simulation->particles;
    const int F = mpm_fields_F(gpu->engine.dim), core = mpm_fields_core_columns(gpu->engine.dim);
    const bool gathers = operation == MPM_G2P || operation == MPM_G2P2G;
    const bool moves = operation == MPM_G2P || operation == MPM_SYNCHRONIZE ||
                       (gathers && !mpm_scheme_recomputes_velocity(&gpu->simulation->settings.scheme));
    for (int c = 0; c < particles->columns; c++)
        if ((gathers && (c == MPM_COLUMN_X || (c >= F && c < F + gpu->engine.dim) || c >= core)) ||
            (moves && (c == MPM_COLUMN_V || (c >= MPM_COLUMN_C && c < F))))
            gpu->stale[c] = true;
}

/* Is the state on the device? If that is full, the host measures, so that particles may be deleted, or saved. */
static bool can_measure(struct gpu *gpu, const mpm_sweep *of, const mpm_arguments *arguments)
{
    const mpm_status status = prepare(gpu);
    if (!status)
        return true;
    if (status == MPM_OUT_OF_MEMORY)
        gpu->cpu->sweep(gpu->cpu, of, MPM_MEASURE, arguments);
    else if (!gpu->engine.failure)
        gpu->engine.failure = status;
    gpu->measures = NULL;
    return false;
}

static void sweep(mpm_backend *backend, const mpm_sweep *of, mpm_operation operation, const mpm_arguments *arguments)
{
    struct gpu *gpu = (struct gpu *)backend;
    mpm_gpu_engine *engine = &gpu->engine;
    hear(gpu);
    gpu->ahead.launched = false;
    if (operation == MPM_MEASURE && !can_measure(gpu, of, arguments))
        return;
    mpm_gpu_launch launch = {.x = x_of(gpu, of->particles->column[MPM_COLUMN_X]),
                             .nodes = of->grid->field[MPM_GRID_VELOCITY] == gpu->nodes[1]};
    launch.new_x = launch.x;
    launch.scheme = &of->scheme;
    launch.on_leave = of->on_leave;
    launch.colliders = &of->colliders;
    launch.corrects = of->fill;
    if ((!gpu->resident && !engine->failure) || !knows(gpu, &of->colliders)) /* `ready` comes before */
        refuse(gpu);
    switch (operation) {
    case MPM_P2G:
        launch.kernel = MPM_GPU_P2G, launch.next_dt = arguments->p2g.dt;
        break;
    case MPM_G2P:
        launch.kernel = MPM_GPU_G2P, launch.dt = arguments->g2p.dt;
        break;
    case MPM_G2P2G:
        launch.kernel = MPM_GPU_G2P2G;
        if (mpm_scheme_recomputes_velocity(&of->scheme)) /* v and C are deferred (mpm/synchronize.c) */
            launch.new_x = 1 - launch.x;
        launch.dt = arguments->g2p2g.dt, launch.next_dt = arguments->g2p2g.next_dt;
        break;
    case MPM_SYNCHRONIZE:
        launch.kernel = MPM_GPU_SYNCHRONIZE, launch.dt = arguments->synchronize.dt;
        break;
    case MPM_MEASURE:
        launch.kernel = MPM_GPU_MEASURE;
        break;
    case MPM_DRY_RUN:
        launch.kernel = MPM_GPU_DRY_RUN, launch.dt = arguments->dry_run.dt;
        break;
    case MPM_BODY_FORCE:
        launch.kernel = MPM_GPU_PUSH, launch.next_dt = arguments->body_force.dt;
        launch.couples = arguments->body_force.forcing->couple;
        give_forces(gpu, arguments->body_force.forcing);
        break;
    case MPM_LOAD_POWER:
        launch.kernel = MPM_GPU_SYNCHRONIZE, launch.probes = true;
        break;
    case MPM_VOLUME:
        launch.kernel = MPM_GPU_FILL_VOLUME, launch.materials = of->materials, launch.fluid_volume = of->fluid_volume;
        break;
    default:
        refuse(gpu);
    }
    if (engine->failure)
        return;
    engine->variant->sweep(engine, &launch);
    if (operation == MPM_LOAD_POWER) {
        look_at(gpu, ROWS);
        mpm_gpu_loads_find_power(&gpu->loads, engine, arguments->load_power.forcing, of->particles->row,
                                 arguments->load_power.power);
        return;
    }
    if (operation == MPM_G2P || operation == MPM_G2P2G)
        gpu->books[MPM_GPU_SWEEPS] = of->colliders.books;
    outdate(gpu, operation);
    gpu->changes += operation != MPM_MEASURE && operation != MPM_DRY_RUN;
    if (operation == MPM_P2G || operation == MPM_SYNCHRONIZE || operation == MPM_VOLUME)
        return;
    gpu->measures = of->measures;
    gpu->measure = (mpm_measure){.least_det = 1};
    gpu->unheard = true;
    if (engine->tables.places)
        gpu->sweep_due = operation == MPM_BODY_FORCE ? A_FORCE : A_MEASURE;
}

/* Which array of velocities of the device is that of the grid? */
static int nodes_of(const struct gpu *gpu, const mpm_grid *grid)
{
    return grid->field[MPM_GRID_VELOCITY] == gpu->nodes[1];
}

/* A pass of a step that the kernels have. */
static bool is_step(const struct gpu *gpu, const mpm_pass *of)
{
    return of->kind == MPM_PASS_GRID && of->stage->stage == MPM_GRID_STEP && knows(gpu, &of->stage->colliders) &&
           !of->stage->damps && !of->stage->layers && !of->stage->forcing;
}

static void foresee(mpm_backend *backend, const mpm_pass *of)
{
    struct gpu *gpu = (struct gpu *)backend;
    if (gpu->engine.failure || !is_step(gpu, of))
        return;
    gpu->ahead.launched = true;
    gpu->ahead.nodes = nodes_of(gpu, of->grid);
    gpu->ahead.dt = of->stage->dt;
    gpu->engine.variant->pass(&gpu->engine, of->stage, gpu->ahead.nodes);
}

/* Has the pass been launched before, as it is now? */
static bool was_foreseen(struct gpu *gpu, const mpm_pass *of)
{
    const bool same = gpu->ahead.launched && gpu->ahead.dt == of->stage->dt &&
                      gpu->ahead.nodes == nodes_of(gpu, of->grid);
    gpu->ahead.launched = false;
    return same && !(of->stage->colliders.count && mpm_gpu_boundary_pose(&gpu->engine, of->stage->colliders.list));
}

static void pass(mpm_backend *backend, const mpm_pass *of)
{
    struct gpu *gpu = (struct gpu *)backend;
    mpm_gpu_engine *engine = &gpu->engine;
    const double most = (double)INFINITY;
    const int nodes = nodes_of(gpu, of->grid);
    const bool fills = of->kind == MPM_PASS_VOLUMES || of->kind == MPM_PASS_FILL;
    if (!fills && !is_step(gpu, of))
        refuse(gpu);
    if (engine->failure)
        return;
    if (of->kind == MPM_PASS_VOLUMES)
        engine->variant->volumes(engine, of->stage);
    if (of->kind == MPM_PASS_FILL)
        engine->variant->fill(engine, of->stage, nodes);
    if (fills)
        return;
    if (!was_foreseen(gpu, of)) {
        engine->variant->pass(engine, of->stage, nodes);
        gpu->unheard = true;
    }
    gpu->blocks = of->stage->reports;
    gpu->books[MPM_GPU_PASSES] = of->stage->colliders.books;
    gpu->report = (mpm_block_report){.lowest = {most, most, most}, .highest = {-most, -most, -most}};
    gpu->pass_due = engine->tables.rooms;
}

/* Columns that the device does not have, while it sorts: where each row was, and room for a column. */
struct others {
    int32_t *slot;
    char *column;
};

static bool has_others(struct gpu *gpu)
{
    for (int c = 0; c < gpu->simulation->particles.columns; c++)
        if (!place_of(gpu, c).array)
            return true;
    return false;
}

static mpm_status find_others(struct gpu *gpu, struct others *others)
{
    const mpm_allocator *allocator = &gpu->backend.device.allocator;
    const mpm_particles *particles = &gpu->simulation->particles;
    *others = (struct others){0};
    if (!has_others(gpu))
        return MPM_OK;
    others->slot = mpm_memory_new(allocator, (size_t)particles->count, sizeof *others->slot);
    others->column = mpm_memory_new(allocator, (size_t)particles->count, particles->real_size);
    if (!others->slot || !others->column)
        return MPM_OUT_OF_MEMORY;
    look_at(gpu, ROWS);
    for (ptrdiff_t p = 0; p < particles->count; p++)
        others->slot[particles->row[p]] = (int32_t)p;
    return MPM_OK;
}

/* Brings them into the order of the device. */
static void move_others(struct gpu *gpu, const struct others *others)
{
    const mpm_particles *particles = &gpu->simulation->particles;
    const size_t size = particles->real_size;
    if (!others->slot)
        return;
    look_at(gpu, ROWS);
    for (int c = 0; c < particles->columns && !gpu->engine.failure; c++) {
        char *column = particles->column[c];
        if (place_of(gpu, c).array)
            continue;
        for (ptrdiff_t p = 0; p < particles->count; p++)
            memcpy(others->column + (size_t)p * size, column + (size_t)others->slot[particles->row[p]] * size, size);
        memcpy(column, others->column, (size_t)particles->count * size);
    }
}

static void end_others(struct gpu *gpu, struct others *others)
{
    mpm_memory_free(&gpu->backend.device.allocator, others->slot);
    mpm_memory_free(&gpu->backend.device.allocator, others->column);
}

/* Particles lie where they are: they are sorted on the device. */
static mpm_status sort(struct gpu *gpu, const mpm_binning *binning, mpm_particles *particles, mpm_grid *grid)
{
    mpm_gpu_engine *engine = &gpu->engine;
    const int x = x_of(gpu, particles->column[MPM_COLUMN_X]);
    const int nodes = nodes_of(gpu, grid);
    mpm_group *groups = NULL;
    mpm_grid fresh = {0};
    struct others others;
    mpm_status status = find_others(gpu, &others);
    give(gpu);
    if (!status && !(status = engine->variant->find(engine, x)) &&
        !(status = find_groups(gpu, &engine->coming, &groups)) &&
        !(status = find_grid(gpu, &engine->coming, &fresh)) && binning->prepare)
        status = binning->prepare(binning->context, &fresh);
    if (status) {
        end_others(gpu, &others);
        mpm_memory_free(&gpu->backend.device.allocator, groups);
        mpm_grid_clear(&fresh, &gpu->backend.device);
        return status;
    }
    /* Nothing can fail from here on, but the device. */
    engine->variant->move(engine, x, binning->mid_step ? nodes : -1);
    gpu->changes++;
    void *const kept = gpu->x[0];
    gpu->x[0] = gpu->x[1];
    gpu->x[1] = kept;
    gpu->stale[ROWS] = true;
    for (int c = 0; c < particles->columns; c++)
        gpu->stale[c] = place_of(gpu, c).array;
    move_others(gpu, &others);
    end_others(gpu, &others);
    mpm_memory_free(&gpu->backend.device.allocator, particles->groups);
    particles->groups = groups;
    particles->group_count = (size_t)engine->tables.places;
    take_grid(gpu, grid, &fresh, 1 - nodes);
    return engine->failure;
}

static mpm_status bin(mpm_backend *backend, mpm_team *team, const mpm_binning *binning, const mpm_arrivals *arrivals,
                      mpm_particles *particles, mpm_grid *grid)
{
    struct gpu *gpu = (struct gpu *)backend;
    gpu->ahead.launched = false;
    const bool moves_alone = !team && !binning->placement_count && !arrivals->count && !binning->drop_massless;
    mpm_status status = status_of(backend);
    if (!status && gpu->resident && moves_alone) {
        status = sort(gpu, binning, particles, grid);
        return status_of(backend) ? status_of(backend) : status;
    }
    take_back(gpu);
    if ((status = status_of(backend)))
        return status;
    mpm_binning tables = *binning;
    tables.fields = 0;
    return gpu->cpu->bin(gpu->cpu, team, &tables, arrivals, particles, grid);
}

/* What launches have found about the collider whose books begin at `parts`; NULL: these are other reports. */
static const mpm_collider_book *book_at(const struct gpu *gpu, const void *parts)
{
    const mpm_gpu_boundary *boundary = &gpu->engine.boundary;
    for (int f = 0; f < MPM_GPU_FINDERS; f++)
        for (size_t k = 0; gpu->books[f] && k < boundary->count; k++)
            if (parts == gpu->books[f] + k)
                return boundary->found[f] + k;
    return NULL;
}

/* The device has added up what its CTAs have reported: one part. */
static void reduce(mpm_backend *backend, const mpm_reduction *of, mpm_accumulator *accumulators)
{
    struct gpu *gpu = (struct gpu *)backend;
    mpm_reduction one = *of;
    hear(gpu);
    const void *parts = of->parts == gpu->measures ? (const void *)&gpu->measure
                        : of->parts == gpu->blocks ? (const void *)&gpu->report
                                                   : book_at(gpu, of->parts);
    if (parts) {
        one.parts = parts;
        one.count = 1;
        one.labels = NULL;
    }
    mpm_reduction_accumulate(&one, accumulators);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static mpm_status begin(mpm_backend *backend, mpm_pool *pool)
{
    struct gpu *gpu = (struct gpu *)backend;
    const mpm_status status = status_of(backend);
    return status ? status : gpu->cpu->begin(gpu->cpu, pool);
}

static void end(mpm_backend *backend)
{
    struct gpu *gpu = (struct gpu *)backend;
    gpu->cpu->end(gpu->cpu);
    gpu->measures = gpu->blocks = NULL; /* reports of a run end with it */
    gpu->sweep_due = NOTHING;
    gpu->pass_due = gpu->ahead.launched = false;
    memset(gpu->books, 0, sizeof gpu->books);
}

static void clean(mpm_backend *backend)
{
    (void)backend;
}

static void free_gpu(mpm_backend *backend)
{
    struct gpu *gpu = (struct gpu *)backend;
    const mpm_allocator allocator = backend->device.allocator;
    mpm_gpu_loads_clear(&gpu->loads, &allocator);
    mpm_gpu_boundary_clear(&gpu->engine);
    mpm_engine_clear(&gpu->engine);
    mpm_gpu_laws_free(&gpu->laws, &allocator);
    gpu->cpu->free(gpu->cpu);
    mpm_memory_free(&allocator, gpu);
}

/* The functions for an image; NULL: there are none. */
static const mpm_gpu_variant *variant_of(const mpm_gpu_image *image)
{
    const bool narrow = image->real_size == sizeof(float);
    if ((image->dim != 2 && image->dim != 3) || (!narrow && image->real_size != sizeof(double)))
        return NULL;
    return image->dim == 2 ? narrow ? &mpm_engine_float2_variant : &mpm_engine_double2_variant
           : narrow        ? &mpm_engine_float3_variant
                           : &mpm_engine_double3_variant;
}

/* The table of blocks that the domain can have; false: it is too large. */
static bool count_blocks(mpm_gpu_engine *engine, const mpm_settings *settings)
{
    int64_t all = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t blocks =
            a < settings->dim ? settings->cells[a] / mpm_block_side(settings->dim) + 1 + 2 * MARGIN : 1;
        if (blocks > INT32_MAX / 2 || (all *= blocks) > INT32_MAX / 2)
            return false;
        engine->blocks[a] = (int)blocks;
    }
    return true;
}

static mpm_status begin_engine(mpm_gpu_engine *engine, const mpm_simulation *simulation, mpm_gpu_driver *driver)
{
    const mpm_settings *settings = &simulation->settings;
    const bool narrow = settings->real_size == sizeof(float);
    *engine = (mpm_gpu_engine){.variant = variant_of(&driver->image), .driver = driver, .kernels = driver,
                               .allocator = &simulation->run.allocator, .dim = settings->dim,
                               .real_size = settings->real_size, .dx = settings->dx};
    engine->allowed = mpm_scheme_wall_depth(settings->scheme.degree) + (narrow ? 1e-5 : 1e-9);
    memcpy(engine->cells, settings->cells, sizeof engine->cells);
    memcpy(engine->lower, settings->lower, sizeof engine->lower);
    for (int axis = 0; axis < settings->dim; axis++)
        engine->symmetry[axis] = mpm_boundary_symmetry(&simulation->boundary, axis);
    if (!count_blocks(engine, settings))
        return MPM_TOO_LARGE;
    engine->staged = mpm_memory_new_unset(engine->allocator, MPM_GPU_STAGED, settings->real_size);
    return engine->staged ? MPM_OK : MPM_OUT_OF_MEMORY;
}

static bool fits(const mpm_settings *settings, const mpm_gpu_image *image)
{
    return variant_of(image) && image->real_size == settings->real_size && image->dim == (unsigned)settings->dim &&
           image->transfer == (unsigned)settings->scheme.transfer;
}

/* The image of a further law, or of one that meets colliders from now on. What the device holds stays where it is. */
static mpm_status add_image(struct gpu *gpu, const mpm_gpu_law *image)
{
    if (!fits(&gpu->simulation->settings, &image->driver->image))
        return MPM_BAD_ARGUMENT;
    const mpm_status status = mpm_gpu_laws_add(&gpu->laws, &gpu->backend.device.allocator, image);
    if (status)
        return status;
    mpm_gpu_laws_renew(&gpu->laws, &gpu->engine, gpu->simulation->materials);
    if (image->driver->image.collides)
        gpu->engine.kernels = image->driver;
    return MPM_OK;
}

/* The back end if it is that of a GPU. */
static struct gpu *gpu_of(const mpm_simulation *simulation)
{
    return simulation->backend->ready == ready ? (struct gpu *)simulation->backend : NULL;
}

bool mpm_gpu_backend_has(const mpm_simulation *simulation, const mpm_gpu_law *image, bool collides)
{
    const struct gpu *gpu = gpu_of(simulation);
    const mpm_gpu_driver *driver = gpu ? mpm_gpu_laws_find(&gpu->laws, image->law, image->varies) : NULL;
    return driver && (driver->image.collides || !collides);
}

mpm_status mpm_gpu_backend_use(mpm_simulation *simulation, const mpm_gpu_law *image)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    const mpm_settings *settings = &simulation->settings;
    if (image->law < 0 || image->law >= MPM_LAW_COUNT)
        return MPM_BAD_ARGUMENT;
    if (gpu_of(simulation))
        return add_image(gpu_of(simulation), image);
    if (simulation->particles.capacity || simulation->kernels->lanes != 1 || !fits(settings, &image->driver->image))
        return MPM_BAD_ARGUMENT;
    struct gpu *gpu = mpm_memory_new(allocator, 1, sizeof *gpu);
    if (!gpu)
        return MPM_OUT_OF_MEMORY;
    mpm_status status = begin_engine(&gpu->engine, simulation, image->driver);
    if (!status)
        status = mpm_gpu_laws_add(&gpu->laws, allocator, image);
    if (!status)
        status = mpm_cpu_backend_new(&gpu->cpu, allocator, simulation->kernels, mpm_pool_for);
    if (status) {
        mpm_memory_free(allocator, gpu->laws.list);
        mpm_memory_free(allocator, gpu->engine.staged);
        mpm_memory_free(allocator, gpu);
        return status;
    }
    gpu->simulation = simulation;
    gpu->backend = (mpm_backend){
        .device = {allocate, release, map, unmap, *allocator}, .free = free_gpu, .begin = begin, .end = end,
        .sweep = sweep, .pass = pass, .foresee = foresee, .bin = bin, .reduce = reduce, .clean = clean, .ready = ready,
        .status = status_of};
    simulation->backend->free(simulation->backend);
    simulation->backend = &gpu->backend;
    simulation->particles.device = &gpu->backend.device;
    return MPM_OK;
}

/* ---- arrays for other libraries ---------------------------------------------------------------------------------- */

/* Where the device has a field; no array: nowhere. */
static struct place field_place(struct gpu *gpu, const char *name)
{
    const mpm_fields *fields = &gpu->simulation->store.fields;
    const int found = mpm_fields_find(fields, name);
    const bool has_J_alone = gpu->engine.strains == 1;
    if (found == MPM_FIELD_J && has_J_alone)
        return place_of(gpu, mpm_fields_F(fields->dim));
    if (found < 0 || fields->row[found].column < 0 || (found == MPM_FIELD_F && gpu->simulation->has_fluid))
        return (struct place){0};
    return place_of(gpu, fields->row[found].column);
}

/* Shape and strides of components that follow each other. */
static void shape(const mpm_gpu_engine *engine, mpm_rank rank, mpm_gpu_shown *shown)
{
    const int64_t d = engine->dim, stride = engine->stride, components = mpm_rank_components(rank, engine->dim);
    shown->axes = rank == MPM_SCALAR ? 1 : rank == MPM_TENSOR ? 3 : 2;
    shown->shape[0] = engine->count;
    shown->strides[0] = 1;
    shown->shape[1] = rank == MPM_TENSOR ? d : components;
    shown->strides[1] = rank == MPM_TENSOR ? d * stride : stride;
    shown->shape[2] = d;
    shown->strides[2] = stride;
}

mpm_status mpm_gpu_backend_lend(mpm_simulation *simulation, const char *name, mpm_gpu_shown *shown)
{
    struct gpu *gpu = gpu_of(simulation);
    if (!gpu)
        return MPM_BAD_ARGUMENT;
    mpm_gpu_engine *engine = &gpu->engine;
    const bool is_row = !strcmp(name, "row"), is_x = !strcmp(name, "x");
    mpm_status status = ready(&gpu->backend);
    if (!status && is_x)
        status = engine->variant->show(engine, x_of(gpu, simulation->particles.column[MPM_COLUMN_X]));
    if (status)
        return status;
    struct place place = is_row ? place_of(gpu, ROWS) : field_place(gpu, name);
    if (is_x)
        place.array = &engine->shown;
    if (!place.array)
        return MPM_BAD_ARGUMENT;
    const int field = mpm_fields_find(&simulation->store.fields, name);
    *shown = (mpm_gpu_shown){.is_integer = is_row, .size = is_row ? sizeof(int32_t) : engine->real_size,
                             .device_kind = engine->driver->device_kind,
                             .device_number = engine->driver->device_number, .changes = gpu->changes};
    shape(engine, is_row ? MPM_SCALAR : simulation->store.fields.row[field].rank, shown);
    if (place.array->at)
        shown->at = (char *)place.array->at + (size_t)place.first * (size_t)engine->stride * shown->size;
    atomic_fetch_add(&engine->lent, 1);
    return MPM_OK;
}

void mpm_gpu_backend_return(mpm_simulation *simulation)
{
    atomic_fetch_sub(&gpu_of(simulation)->engine.lent, 1);
}

uint64_t mpm_gpu_backend_changes(const mpm_simulation *simulation)
{
    const struct gpu *gpu = gpu_of(simulation);
    return gpu ? gpu->changes : 0;
}
