/* SPDX-License-Identifier: MIT
 *
 * The host's side of the launches, compiled for one precision and dimension: it fills the structs of launch.h and
 * launches the kernels in the order of docs/design/029-gpu.md.
 */
#pragma once
#include "base/simd.h"

#define ALIGN_VEC4 __attribute__((aligned(16)))
#include "materials/law_switch.h"
#include "materials/prepared.h"
#include "mpm/gpu/gpu_boundary.h"
#include "mpm/gpu/engine.h"
#include "mpm/gpu/launch.h"
#include "mpm/memory/axis_images.h"

#define ARGUMENTS(...) ((void *[]){__VA_ARGS__})

static void run_by(mpm_gpu_engine *engine, mpm_gpu_driver *driver, mpm_gpu_kernel kernel, unsigned ctas,
                   unsigned threads, unsigned bytes, void **arguments)
{
    if (engine->failure || !ctas)
        return;
    engine->failure = driver->launch(driver, kernel, (mpm_gpu_shape){ctas, threads, bytes}, arguments);
    if (engine->failure)
        engine->failed = driver;
}

static void run(mpm_gpu_engine *engine, mpm_gpu_kernel kernel, unsigned ctas, unsigned threads, unsigned bytes,
                void **arguments)
{
    run_by(engine, engine->kernels, kernel, ctas, threads, bytes, arguments);
}

static unsigned ctas_of(size_t items, unsigned threads)
{
    return (unsigned)((items + threads - 1) / threads);
}

/* A thread per item. */
static void run_each(mpm_gpu_engine *engine, mpm_gpu_kernel kernel, int items, void **arguments)
{
    run(engine, kernel, ctas_of((size_t)items, GPU_SORT_THREADS), GPU_SORT_THREADS, 0, arguments);
}

static void clear(mpm_gpu_engine *engine, const mpm_gpu_array *array, size_t bytes)
{
    if (!engine->failure && bytes)
        engine->failure = engine->driver->fill(engine->driver, array->at, 0, bytes);
}

static int read_int(mpm_gpu_engine *engine, const mpm_gpu_array *array, int at)
{
    int value = 0;
    mpm_engine_get(engine, &value, (const int *)array->at + at, sizeof value);
    return value;
}

static struct gpu_blocks blocks_of(const mpm_gpu_engine *engine)
{
    struct gpu_blocks blocks = {.count = {engine->blocks[0], engine->blocks[1], engine->blocks[2]},
                                .materials = engine->materials};
    for (int a = 0; a < DIM; a++)
        blocks.period[a] = engine->symmetry[a].periodic ? (int)engine->cells[a] : 0;
    return blocks;
}

static int count_blocks_of(const mpm_gpu_engine *engine)
{
    return engine->blocks[0] * engine->blocks[1] * engine->blocks[2];
}

/* Pairs of a block and a material; 0: too many. */
static int count_pairs_of(const mpm_gpu_engine *engine)
{
    const int64_t pairs = (int64_t)count_blocks_of(engine) * engine->materials;
    return pairs > INT32_MAX / 2 ? 0 : (int)pairs;
}

static struct gpu_particles particles_of(const mpm_gpu_engine *engine, const mpm_gpu_columns *of, int x)
{
    return (struct gpu_particles){
        .count = engine->count, .stride = engine->stride, .x = (x ? &engine->next : &engine->now)->x.at, .v = of->v.at,
        .C = of->C.at, .F = of->F.at, .history = of->history.at, .mass = of->mass.at, .volume = of->volume.at,
        .key = of->key.at, .row = of->row.at};
}

/* Do sweeps keep forces apart from the momentum, and passes v^n? */
static bool is_flip(const mpm_gpu_engine *engine)
{
    const unsigned transfer = engine->driver->image.transfer;
    return transfer == MPM_FLIP || transfer == MPM_AFLIP;
}

/* By the kernels that take particles one by one. */
static bool prepare(const mpm_material *material, void *prepared, size_t room)
{
#ifdef MPM_WITH_SCALAR
    union law_parameters parameters = {0};
    if (material->law >= MPM_LAW_COUNT || MPM_KERNEL(general_laws_size)(material->law) > room)
        return false;
    prepare_law(material->law, &parameters, material);
    memcpy(prepared, &parameters, MPM_KERNEL(general_laws_size)(material->law));
    return true;
#else
    (void)material, (void)prepared, (void)room;
    return false;
#endif
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

/* Adds `count` reports to the one that a sweep or pass says. */
static void add_all_reports(mpm_gpu_engine *engine, int count, mpm_gpu_reporter whose)
{
    const mpm_gpu_array *reports = engine->reports;
    void *said = (struct gpu_report *)engine->said.there.at + whose;
    if (count == 1 && !engine->failure)
        engine->failure = engine->driver->copy(engine->driver, said, reports[0].at, sizeof(struct gpu_report));
    for (int from = 0; count > 1; from = 1 - from) {
        int left = (int)ctas_of((size_t)count, GPU_SORT_THREADS);
        void *to = left > 1 ? reports[1 - from].at : said;
        run(engine, MPM_GPU_ADD_REPORTS, (unsigned)left, GPU_SORT_THREADS, 0,
            ARGUMENTS(&count, (void *)&reports[from].at, &to));
        count = left;
    }
}

static const struct gpu_report *said_by(const mpm_gpu_engine *engine, mpm_gpu_reporter whose)
{
    return (const struct gpu_report *)engine->said.here + whose;
}

/* Room for the reports of as many CTAs, in either array. */
static mpm_status hold_reports(mpm_gpu_engine *engine, int count)
{
    mpm_status status = MPM_OK;
    for (int k = 0; k < 2 && !status; k++)
        status = mpm_engine_hold(engine, &engine->reports[k], (size_t)(count + 1) * sizeof(struct gpu_report));
    return status;
}

static void measured(const mpm_gpu_engine *engine, mpm_measure *measure)
{
    const struct gpu_report report = *said_by(engine, MPM_GPU_SWEEPS);
    *measure = (mpm_measure){
        .mass = report.sum[GPU_MASS], .kinetic = report.sum[GPU_KINETIC], .elastic = report.sum[GPU_ELASTIC],
        .rate2 = report.most[GPU_RATE2], .wave2 = report.most[GPU_WAVE2], .speed = report.most[GPU_SPEED],
        .advection_speed = report.most[is_flip(engine) ? GPU_ADVECTION : GPU_SPEED],
        .gradient2 = report.most[GPU_GRADIENT2],
        .least_det = 1 - report.most[GPU_LOSS], .outside = (int64_t)report.sum[GPU_OUTSIDE],
        .clamped = (int64_t)report.sum[GPU_CLAMPED], .frozen = (int64_t)report.sum[GPU_FROZEN],
        .out_of_range = (int64_t)report.sum[GPU_OUT_OF_RANGE], .clipped = (int64_t)report.sum[GPU_CLIPPED]};
    for (int a = 0; a < 3; a++) {
        measure->momentum[a] = a < DIM ? report.sum[GPU_MOMENTUM + a] : 0;
        measure->mass_moment[a] = a < DIM ? report.sum[GPU_MASS_MOMENT + a] : 0;
        measure->angular_momentum[a] = report.sum[GPU_ANGULAR_MOMENTUM + a];
    }
}

static void pushed(const mpm_gpu_engine *engine, double force[3])
{
    const struct gpu_report report = *said_by(engine, MPM_GPU_SWEEPS);
    for (int a = 0; a < 3; a++)
        force[a] = a < DIM ? report.sum[GPU_FORCE + a] : 0;
}

static void passed(const mpm_gpu_engine *engine, mpm_block_report *found)
{
    const struct gpu_report report = *said_by(engine, MPM_GPU_PASSES);
    *found = (mpm_block_report){.speed = report.most[GPU_NODE_SPEED], .approach = report.most[GPU_APPROACH],
                                .speed_before = report.most[GPU_SPEED_BEFORE]};
    for (int a = 0; a < 3; a++) {
        found->lowest[a] = -report.most[GPU_FALLEST + a];
        found->highest[a] = report.most[GPU_HIGHEST + a];
        found->impulse[a] = report.sum[GPU_IMPULSE + a];
    }
}

/* ---- colliders --------------------------------------------------------------------------------------------------- */

/* Brings those of the device to their poses, and describes them for a launch. */
static struct gpu_colliders pose(mpm_gpu_engine *engine, const mpm_colliders *of, double dt)
{
    const mpm_gpu_boundary *own = &engine->boundary;
    struct gpu_colliders colliders = {.list = own->packed.at, .count = (int)of->count, .books = own->books.at,
                                      .dx = of->dx, .dt = dt};
    if (!of->count)
        return colliders;
    (void)mpm_gpu_boundary_pose(engine, of->list);
    memcpy(colliders.symmetry, of->symmetry, sizeof colliders.symmetry);
    memcpy(colliders.lower, of->lower, sizeof colliders.lower);
    colliders.depth = of->particles == MPM_PARTICLES_OFF ? -1 : of->particles == MPM_PARTICLES_DEEP ? 0.5 * of->dx : 0;
    return colliders;
}

/* Adds the books of a launch. Where no collider can hold particles, it has written none. */
static void add_books(mpm_gpu_engine *engine, const mpm_colliders *of, mpm_gpu_finder finder, int ctas)
{
    int count = (int)of->count;
    void *said = mpm_engine_books(engine, finder, true);
    if (count && (finder == MPM_GPU_PASSES || of->particles != MPM_PARTICLES_OFF))
        run(engine, MPM_GPU_ADD_BOOKS, (unsigned)count, GPU_SORT_THREADS, 0,
            ARGUMENTS(&ctas, &count, &engine->boundary.books.at, &said));
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/* Takes how full nodes are with their velocities, where the density of a fluid is corrected. */
static void correct(const mpm_gpu_engine *engine, const mpm_gpu_launch *launch, int m, struct gpu_sweep *sweep)
{
    const bool gathers = launch->kernel == MPM_GPU_G2P || launch->kernel == MPM_GPU_G2P2G;
    const bool corrects = gathers && launch->corrects && engine->material[m].keeps_J;
    sweep->per_shear = corrects ? (real)launch->scheme->density_correction * sweep->dt : 0;
    sweep->velocity = corrects ? engine->filled[0].at : engine->nodes[launch->nodes].at;
}

/* Launches a sweep over the places of a material. */
static void sweep_material(mpm_gpu_engine *engine, mpm_gpu_kernel kernel, int m, struct gpu_sweep *sweep)
{
    const mpm_gpu_material *material = &engine->material[m];
    const mpm_gpu_tables *tables = &engine->tables;
    const int first = tables->first[m], places = tables->first[m + 1] - first;
    const mpm_gpu_image *image = &material->driver->image;
    sweep->places = engine->materials > 1 ? (const int *)tables->listed.at + first : NULL;
    sweep->law = material->law.at;
    sweep->J_low = (real)material->J_low, sweep->J_high = (real)material->J_high;
    memcpy(sweep->history, material->history, sizeof sweep->history);
    sweep->scales_volume = material->scales_volume;
    run_by(engine, material->driver, kernel, (unsigned)places, image->sweep_threads, image->sweep_bytes,
           ARGUMENTS(sweep));
}

static void sweep(mpm_gpu_engine *engine, const mpm_gpu_launch *launch)
{
    const double h = engine->dx;
    const mpm_gpu_tables *tables = &engine->tables;
    struct gpu_sweep sweep = {
        .particles = particles_of(engine, &engine->now, launch->x),
        .new_x = (launch->new_x ? &engine->next : &engine->now)->x.at,
        .blocks = blocks_of(engine),
        .key_of = tables->place_key.at, .start = tables->start.at, .room_of = tables->room_of.at,
        .tiles = engine->tiles.at, .reports = engine->reports[0].at,
        .dx = h, .allowed = engine->allowed,
        .dt = (real)launch->dt, .dt_cells = (real)(launch->dt / h),
        .h = (real)h, .affine = (real)(4 / h), .spin = mpm_scheme_is_affine(launch->scheme) ? (real)(h / 4) : 0,
        .isolated = (real)(mpm_scheme_isolated_factor(launch->scheme) / (h * h)),
        .stress = (real)(-4 * launch->next_dt / h),
        .force_tiles = engine->force_tiles.at, .before = engine->v_before.at,
        .flip_ratio = (real)launch->scheme->flip_ratio, .advect_particle = launch->scheme->advect_particle,
    };
    for (int a = 0; a < 3; a++)
        sweep.cells[a] = engine->cells[a], sweep.lower[a] = engine->lower[a];
    memcpy(sweep.on_leave, launch->on_leave, sizeof sweep.on_leave);
    sweep.acceleration = engine->acceleration.at;
    sweep.couple = launch->couples ? engine->couple.at : NULL;
    sweep.push = launch->next_dt;
    const bool gathers = launch->kernel == MPM_GPU_G2P || launch->kernel == MPM_GPU_G2P2G;
    if (launch->probes)
        sweep.particles.v = engine->next.v.at, sweep.particles.C = engine->next.C.at;
    else if (gathers || launch->kernel == MPM_GPU_SYNCHRONIZE)
        sweep.colliders = pose(engine, launch->colliders, launch->dt);
    if (launch->kernel == MPM_GPU_FILL_VOLUME) {
        sweep.tiles = engine->volume_tiles.at;
        sweep.fluid_volume = (real)launch->fluid_volume;
        clear(engine, &engine->volume_tiles, (size_t)tables->places * GPU_TILE * sizeof(struct gpu_vec4));
    }
    for (int m = 0; m < engine->materials; m++) {
        correct(engine, launch, m, &sweep);
        if (launch->kernel != MPM_GPU_FILL_VOLUME || launch->materials[m].has_volumes)
            sweep_material(engine, launch->kernel, m, &sweep);
    }
    if (launch->kernel != MPM_GPU_P2G && launch->kernel != MPM_GPU_SYNCHRONIZE &&
        launch->kernel != MPM_GPU_FILL_VOLUME)
        add_all_reports(engine, tables->places, MPM_GPU_SWEEPS);
    if (gathers)
        add_books(engine, launch->colliders, MPM_GPU_SWEEPS, tables->places);
}

/* Describes a pass over the nodes. Sets whether images, colliders or v^n take part. */
static struct gpu_pass describe(mpm_gpu_engine *engine, const mpm_grid_pass *of, int nodes, bool *meets)
{
    const mpm_gpu_tables *tables = &engine->tables;
    struct gpu_pass pass = {
        .blocks = blocks_of(engine), .key_of = tables->room_key.at, .place_of = tables->place_of.at,
        .tiles = engine->tiles.at, .velocity = engine->nodes[nodes].at, .reports = engine->reports[0].at,
        .dt = of->dt};
    for (int a = 0; a < 3; a++)
        pass.cells[a] = of->cells[a], pass.gravity[a] = of->gravity[a];
    memcpy(pass.walls, of->walls, sizeof pass.walls);
    pass.colliders = pose(engine, &of->colliders, of->dt);
    *meets = of->colliders.count > 0 || is_flip(engine);
    if (is_flip(engine)) {
        pass.force_tiles = engine->force_tiles.at;
        pass.before = engine->v_before.at;
        pass.flip_ratio = of->scheme.flip_ratio;
    }
    for (int a = 0; a < DIM; a++) {
        pass.symmetry[a] = engine->symmetry[a];
        *meets |= mpm_axis_has_symmetry(&pass.symmetry[a]);
    }
    return pass;
}

static void pass(mpm_gpu_engine *engine, const mpm_grid_pass *of, int nodes)
{
    const mpm_gpu_tables *tables = &engine->tables;
    bool meets;
    struct gpu_pass pass = describe(engine, of, nodes, &meets);
    const mpm_gpu_kernel kernel = meets ? MPM_GPU_MEET_NODES : MPM_GPU_MOVE_NODES;
    run(engine, kernel, (unsigned)tables->rooms, GPU_CELLS, 0, ARGUMENTS(&pass));
    add_all_reports(engine, tables->rooms, MPM_GPU_PASSES);
    add_books(engine, &of->colliders, MPM_GPU_PASSES, tables->rooms);
}

/* What is asked for how full nodes are. */
static struct gpu_pass describe_fill(mpm_gpu_engine *engine, const mpm_grid_pass *of, int nodes)
{
    bool meets;
    struct gpu_pass pass = describe(engine, of, nodes, &meets);
    pass.force_tiles = NULL;
    pass.colliders.dx = engine->dx;
    pass.room_of = engine->tables.room_of.at;
    pass.volume = engine->volume.at;
    pass.fill = engine->filled[0].at;
    pass.volume_per_mass = of->fluid_volume;
    return pass;
}

static void volumes(mpm_gpu_engine *engine, const mpm_grid_pass *of)
{
    struct gpu_pass pass = describe_fill(engine, of, 0);
    run(engine, MPM_GPU_SUM_VOLUMES, (unsigned)engine->tables.rooms, GPU_CELLS, 0, ARGUMENTS(&pass));
    if (!of->has_volumes)
        return;
    pass.tiles = engine->volume_tiles.at;
    pass.volume_per_mass = 1;
    pass.adds = true;
    run(engine, MPM_GPU_SUM_VOLUMES, (unsigned)engine->tables.rooms, GPU_CELLS, 0, ARGUMENTS(&pass));
}

static void fill(mpm_gpu_engine *engine, const mpm_grid_pass *of, int nodes)
{
    struct gpu_pass pass = describe_fill(engine, of, nodes);
    run(engine, MPM_GPU_FILL_NODES, (unsigned)engine->tables.rooms, GPU_CELLS, 0, ARGUMENTS(&pass));
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

/* out[i]: the sum of the `count` numbers of `in` before i; out[count]: of all. */
static mpm_status sums_before(mpm_gpu_engine *engine, const mpm_gpu_array *in, mpm_gpu_array *out, int count, int level)
{
    const unsigned parts = ctas_of((size_t)count, GPU_SCAN_THREADS);
    mpm_gpu_array *all = &engine->all[level], *before = &engine->before[level];
    mpm_status status = mpm_engine_hold(engine, out, ((size_t)count + 1) * sizeof(int));
    status = status ? status : mpm_engine_hold(engine, all, (parts + 1) * sizeof(int));
    status = status ? status : mpm_engine_hold(engine, before, (parts + 1) * sizeof(int));
    if (status)
        return status;
    run(engine, MPM_GPU_SCAN, parts, GPU_SCAN_THREADS, 0, ARGUMENTS(&count, (void *)&in->at, &out->at, &all->at));
    if (parts > 1)
        status = sums_before(engine, all, before, (int)parts, level + 1);
    else
        clear(engine, before, sizeof(int));
    run(engine, MPM_GPU_SHIFT, parts, GPU_SCAN_THREADS, 0,
        ARGUMENTS(&count, &out->at, &before->at, (void *)&in->at));
    return status ? status : engine->failure;
}

/* Numbers the marked blocks, or pairs of block and material, and lists them. */
static mpm_status number_blocks(mpm_gpu_engine *engine, int blocks, mpm_gpu_array *mark, mpm_gpu_array *number,
                                mpm_gpu_array *key_of, int *count)
{
    mpm_status status = sums_before(engine, mark, number, blocks, 0);
    if (status)
        return status;
    *count = read_int(engine, number, blocks);
    if ((status = mpm_engine_hold(engine, key_of, (size_t)(*count + 1) * sizeof(int))))
        return status;
    run_each(engine, MPM_GPU_LIST_BLOCKS, blocks, ARGUMENTS(&blocks, &mark->at, &number->at, &key_of->at));
    return engine->failure;
}

/* Room for what the tables of blocks need. */
static mpm_status hold_blocks(mpm_gpu_engine *engine)
{
    const size_t bytes = (size_t)count_blocks_of(engine) * sizeof(int);
    const size_t pairs = (size_t)count_pairs_of(engine) * sizeof(int);
    if (!pairs)
        return MPM_TOO_LARGE;
    mpm_status status = mpm_engine_hold(engine, &engine->block_count, pairs);
    status = status ? status : mpm_engine_hold(engine, &engine->mark[0], pairs);
    return status ? status : mpm_engine_hold(engine, &engine->mark[1], bytes);
}

/* Makes an array of velocities hold those of the rooms, with what it has. */
static mpm_status widen_nodes(mpm_gpu_engine *engine, mpm_gpu_array *nodes, int rooms)
{
    const size_t bytes = (size_t)(rooms + 1) * GPU_CELLS * sizeof(struct gpu_vec4);
    if (bytes <= nodes->bytes)
        return MPM_OK;
    mpm_gpu_array wider = {0};
    const mpm_status status = mpm_engine_hold(engine, &wider, bytes + bytes / 8);
    if (status)
        return status;
    if (nodes->at) {
        engine->failure = engine->driver->copy(engine->driver, wider.at, nodes->at, nodes->bytes);
        engine->driver->release(engine->driver, nodes->at);
    }
    *nodes = wider;
    return engine->failure;
}

/* Room for all whose size follows from the tables. */
static mpm_status hold_by_tables(mpm_gpu_engine *engine, const mpm_gpu_tables *tables)
{
    const size_t tile_bytes = (size_t)(tables->places + 1) * GPU_TILE * sizeof(struct gpu_vec4);
    mpm_status status = mpm_engine_hold(engine, &engine->tiles, tile_bytes);
    if (is_flip(engine) && !status && !(status = mpm_engine_hold(engine, &engine->force_tiles, tile_bytes)))
        status = mpm_engine_hold(engine, &engine->v_before,
                                 (size_t)(tables->rooms + 1) * GPU_CELLS * sizeof(struct gpu_vec4));
    for (int k = 0; k < 2 && !status; k++)
        status = widen_nodes(engine, &engine->nodes[k], tables->rooms);
    for (int k = 0; k < 2 && !status && engine->corrects; k++)
        status = widen_nodes(engine, &engine->filled[k], tables->rooms);
    if (engine->corrects && !status && !(status = mpm_engine_hold(engine, &engine->volume_tiles, tile_bytes)))
        status = mpm_engine_hold(engine, &engine->volume, (size_t)(tables->rooms + 1) * GPU_CELLS * sizeof(real));
    const int most = tables->rooms > tables->places ? tables->rooms : tables->places;
    status = status ? status : mpm_gpu_boundary_hold_books(engine, most);
    return status ? status : hold_reports(engine, most);
}

static void swap_tables(mpm_gpu_engine *engine)
{
    const mpm_gpu_tables kept = engine->tables;
    engine->tables = engine->coming;
    engine->coming = kept;
}

/* Lists the places of every material, from the keys on the device. */
static mpm_status list_places(mpm_gpu_engine *engine, mpm_gpu_tables *tables)
{
    const bool several = engine->materials > 1;
    int *key = several ? mpm_memory_new(engine->allocator, (size_t)tables->places, sizeof *key) : NULL;
    if (several && !key)
        return MPM_OUT_OF_MEMORY;
    if (several)
        mpm_engine_get(engine, key, tables->place_key.at, (size_t)tables->places * sizeof *key);
    const mpm_status status = engine->failure ? engine->failure : mpm_engine_list_places(engine, tables, key);
    mpm_memory_free(engine->allocator, key);
    return status;
}

static mpm_status find(mpm_gpu_engine *engine, int x)
{
    mpm_gpu_tables *to = &engine->coming;
    struct gpu_particles particles = particles_of(engine, &engine->now, x), *from = &particles;
    struct gpu_blocks blocks = blocks_of(engine);
    const int block_count = count_blocks_of(engine), pairs = count_pairs_of(engine);
    mpm_status status = hold_blocks(engine);
    if (status)
        return status;
    clear(engine, &engine->block_count, (size_t)pairs * sizeof(int));
    run_each(engine, MPM_GPU_COUNT_BLOCKS, from->count,
             ARGUMENTS(&blocks, from, &engine->key.at, &engine->block_count.at));
    run_each(engine, MPM_GPU_MARK_BLOCKS, block_count,
             ARGUMENTS(&blocks, &engine->block_count.at, &engine->mark[0].at, &engine->mark[1].at));
    if ((status = number_blocks(engine, pairs, &engine->mark[0], &to->place_of, &to->place_key, &to->places)) ||
        (status = number_blocks(engine, block_count, &engine->mark[1], &to->room_of, &to->room_key, &to->rooms)) ||
        (status = list_places(engine, to)))
        return status;
    if (to->places > INT32_MAX / GPU_CELLS - 1)
        return MPM_TOO_LARGE;
    int cells = to->places * GPU_CELLS;
    if ((status = mpm_engine_hold(engine, &engine->cell_count, (size_t)(cells + 1) * sizeof(int))))
        return status;
    clear(engine, &engine->cell_count, (size_t)cells * sizeof(int));
    run_each(engine, MPM_GPU_COUNT_CELLS, from->count,
             ARGUMENTS(&blocks, from, &to->place_of.at, &engine->cell_of.at, &engine->cell_count.at));
    if ((status = sums_before(engine, &engine->cell_count, &to->start, cells, 0)))
        return status;
    run_each(engine, MPM_GPU_PUT, from->count,
             ARGUMENTS(&from->count, &engine->cell_of.at, &to->start.at, &engine->cell_count.at, &engine->order.at));
    run_each(engine, MPM_GPU_SORT_CELLS, cells, ARGUMENTS(&cells, &to->start.at, &engine->order.at));
    return hold_by_tables(engine, to);
}

/* After a sort: what nodes have, for the new table. The tables that were to come are now those of the past. */
static void take_nodes(mpm_gpu_engine *engine, mpm_gpu_array *older, mpm_gpu_array *newer)
{
    run(engine, MPM_GPU_TAKE_NODES, (unsigned)engine->tables.rooms, GPU_CELLS, 0,
        ARGUMENTS(&engine->tables.room_key.at, &engine->coming.room_of.at, &older->at, &newer->at));
}

static void move(mpm_gpu_engine *engine, int x, int nodes)
{
    struct gpu_particles from = particles_of(engine, &engine->now, x);
    struct gpu_particles to = particles_of(engine, &engine->next, 1 - x);
    struct gpu_blocks blocks = blocks_of(engine);
    bool with_motion = nodes < 0;
    run_each(engine, MPM_GPU_MOVE, from.count,
             ARGUMENTS(&blocks, &engine->order.at, &engine->key.at, &from, &to, &engine->strains, &engine->history,
                       &with_motion));
    const mpm_gpu_columns kept = engine->now; /* the arrays of x stay where they are */
    engine->now = engine->next;
    engine->next = kept;
    engine->next.x = engine->now.x;
    engine->now.x = kept.x;
    swap_tables(engine);
    if (nodes < 0)
        return;
    take_nodes(engine, &engine->nodes[nodes], &engine->nodes[1 - nodes]);
    if (!engine->corrects)
        return;
    take_nodes(engine, &engine->filled[0], &engine->filled[1]);
    const mpm_gpu_array filled = engine->filled[0];
    engine->filled[0] = engine->filled[1];
    engine->filled[1] = filled;
}

/* The tables of the host: place by block and material; its particles, as if all were in the first cell of their
 * place. */
static mpm_status write_places(mpm_gpu_engine *engine, int places, const int *key, const int *end, int *number,
                               int *start)
{
    mpm_gpu_tables *to = &engine->coming;
    const size_t blocks = (size_t)count_pairs_of(engine);
    memset(number, 0, blocks * sizeof *number);
    for (int p = 0; p < places; p++)
        number[key[p]] = end[p] - (p ? end[p - 1] : 0);
    mpm_engine_put(engine, &engine->block_count, number, blocks * sizeof *number);
    memset(number, 0xff, blocks * sizeof *number);
    for (int p = 0; p < places; p++)
        number[key[p]] = p;
    mpm_engine_put(engine, &to->place_of, number, blocks * sizeof *number);
    mpm_engine_put(engine, &to->place_key, key, (size_t)places * sizeof *key);
    for (int i = 0; i <= places * GPU_CELLS; i++)
        start[i] = i == 0 ? 0 : end[(i - 1) / GPU_CELLS];
    mpm_engine_put(engine, &to->start, start, ((size_t)places * GPU_CELLS + 1) * sizeof *start);
    return engine->failure;
}

static mpm_status lay(mpm_gpu_engine *engine, int places, const int *key, const int *end)
{
    mpm_gpu_tables *to = &engine->coming;
    struct gpu_blocks blocks = blocks_of(engine);
    const size_t block_count = (size_t)count_blocks_of(engine), pairs = (size_t)count_pairs_of(engine);
    const size_t cells = (size_t)places * GPU_CELLS + 1;
    int *number = mpm_memory_new_unset(engine->allocator, pairs, sizeof *number);
    int *start = mpm_memory_new_unset(engine->allocator, cells, sizeof *start);
    mpm_status status = number && start ? hold_blocks(engine) : MPM_OUT_OF_MEMORY;
    if (!status && !(status = mpm_engine_hold(engine, &to->place_of, (pairs + 1) * sizeof(int))) &&
        !(status = mpm_engine_hold(engine, &to->place_key, ((size_t)places + 1) * sizeof(int))) &&
        !(status = mpm_engine_hold(engine, &to->start, cells * sizeof(int))))
        status = write_places(engine, places, key, end, number, start);
    mpm_memory_free(engine->allocator, number);
    mpm_memory_free(engine->allocator, start);
    if (status)
        return status;
    run_each(engine, MPM_GPU_MARK_BLOCKS, (int)block_count,
             ARGUMENTS(&blocks, &engine->block_count.at, &engine->mark[0].at, &engine->mark[1].at));
    to->places = places;
    if ((status = mpm_engine_list_places(engine, to, key)) ||
        (status = number_blocks(engine, (int)block_count, &engine->mark[1], &to->room_of, &to->room_key,
                                &to->rooms)) ||
        (status = hold_by_tables(engine, to)))
        return status;
    swap_tables(engine);
    return MPM_OK;
}

static mpm_status show(mpm_gpu_engine *engine, int x)
{
    struct gpu_blocks blocks = blocks_of(engine);
    struct gpu_particles from = particles_of(engine, &engine->now, x);
    struct gpu_frame frame = {.dx = engine->dx};
    memcpy(frame.lower, engine->lower, sizeof frame.lower);
    const mpm_status status = mpm_engine_hold(engine, &engine->shown, (size_t)from.stride * DIM * sizeof(real));
    if (!status)
        run_each(engine, MPM_GPU_SHOW_PLACES, from.count, ARGUMENTS(&blocks, &from, &frame, &engine->shown.at));
    return status ? status : engine->failure;
}

#define VARIANT \
    { \
        GPU_CELLS * sizeof(struct gpu_vec4), sizeof(struct gpu_report), prepare, sweep, pass, volumes, fill, \
            measured, pushed, passed, find, move, lay, show \
    }
