/* SPDX-License-Identifier: MIT
 *
 * From rows to slots, lists, densities and pressures: all that follows from the rows and the time.
 */
#include "sph/settle.h"

#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "sph/solids.h"
#include "sph/sort.h"
#include "sph/state.h"
#include "sph/totals.h"

enum { CHUNK = 2048, MOST_RANGES = 16, LEAST_TILES = 16 };
enum { GUESS = 200 }; /* entries per tile, until a task knows better */

static ptrdiff_t chunks_of(ptrdiff_t count)
{
    return (count + CHUNK - 1) / CHUNK;
}

static ptrdiff_t end_of(ptrdiff_t chunk, ptrdiff_t count)
{
    return (chunk + 1) * CHUNK < count ? (chunk + 1) * CHUNK : count;
}

/* ---- images ----------------------------------------------------------------------------------------------------- */

struct image_work {
    mpm_sph *sph;
    ptrdiff_t (*at)[2]; /* per chunk: the number of images, then the place of the first */
    bool fill;
};

static void make_images(void *context, ptrdiff_t chunk, int thread)
{
    struct image_work *work = context;
    (void)thread;
    work->sph->kernels->images(&work->sph->pass, chunk * CHUNK, end_of(chunk, work->sph->store.count), work->fill,
                               work->at[chunk]);
}

static mpm_status reserve_images(mpm_sph *sph, const ptrdiff_t counts[2])
{
    const ptrdiff_t dim = sph->settings.dim;
    for (int list = 0; list < 2; list++) {
        if (mpm_sph_grow(sph, &sph->image_x[list], counts[list] * dim, sph->settings.real_size) ||
            mpm_sph_grow(sph, &sph->image_v[list], counts[list] * dim, sph->settings.real_size) ||
            mpm_sph_grow(sph, &sph->image_row[list], counts[list], sizeof(int32_t)))
            return MPM_OUT_OF_MEMORY;
        sph->pass.image_x[list] = sph->image_x[list].data;
        sph->pass.image_v[list] = sph->image_v[list].data;
        sph->pass.image_row[list] = sph->image_row[list].data;
        mpm_sph_cloud *cloud = &sph->clouds[list ? MPM_SPH_IMAGES : MPM_SPH_PERIODIC];
        cloud->count = counts[list];
        cloud->x = sph->image_x[list].data;
        cloud->v = sph->image_v[list].data;
    }
    return MPM_OK;
}

static mpm_status find_images(mpm_sph *sph)
{
    const ptrdiff_t chunks = chunks_of(sph->store.count);
    ptrdiff_t counts[2] = {0};
    struct image_work work = {.sph = sph};
    work.at = mpm_memory_new(&sph->run.allocator, (size_t)chunks, sizeof *work.at);
    if (!work.at)
        return MPM_OUT_OF_MEMORY;
    mpm_pool_for(sph->run.pool, make_images, &work, chunks);
    for (ptrdiff_t c = 0; c < chunks; c++)
        for (int list = 0; list < 2; list++) {
            const ptrdiff_t count = work.at[c][list];
            work.at[c][list] = counts[list];
            counts[list] += count;
        }
    mpm_status status = counts[0] + counts[1] > INT32_MAX / 4 ? MPM_TOO_LARGE : reserve_images(sph, counts);
    work.fill = true;
    if (!status)
        mpm_pool_for(sph->run.pool, make_images, &work, chunks);
    mpm_memory_free(&sph->run.allocator, work.at);
    return status;
}

/* ---- slots ------------------------------------------------------------------------------------------------------ */

struct cloud_work {
    mpm_sph *sph;
    int cloud;
};

static void gather(void *context, ptrdiff_t chunk, int thread)
{
    const struct cloud_work *work = context;
    (void)thread;
    work->sph->kernels->gather(&work->sph->pass, work->cloud, chunk * CHUNK,
                               end_of(chunk, work->sph->clouds[work->cloud].count));
}

static void reflect(void *context, ptrdiff_t chunk, int thread)
{
    const struct cloud_work *work = context;
    (void)thread;
    work->sph->kernels->reflect(&work->sph->pass, work->cloud, chunk * CHUNK,
                                end_of(chunk, work->sph->clouds[work->cloud].count));
}

static mpm_status reserve_slots(mpm_sph *sph)
{
    const ptrdiff_t dim = sph->settings.dim, rows = sph->store.count, all = sph->slots + MPM_SPH_SPARE;
    const size_t size = sph->settings.real_size;
    mpm_sph_pass *pass = &sph->pass;
    mpm_status status = MPM_OK;
    for (ptrdiff_t a = 0; a < dim && !status; a++) {
        status = mpm_sph_grow(sph, &sph->place[a], all, size);
        pass->place[a] = sph->place[a].data;
    }
    if (status || mpm_sph_grow(sph, &sph->record, all * MPM_SPH_RECORD, size) ||
        mpm_sph_grow(sph, &sph->force, rows * dim, size) || mpm_sph_grow(sph, &sph->drift, rows * dim, size) ||
        mpm_sph_grow(sph, &sph->rate, rows, size) ||
        mpm_sph_grow(sph, &sph->next, rows * 2 * dim, size) ||
        mpm_sph_grow(sph, &sph->slot_of_row, rows, sizeof(int32_t)))
        return MPM_OUT_OF_MEMORY;
    pass->record = sph->record.data;
    pass->force = sph->force.data;
    pass->drift = sph->drift.data;
    pass->rate = sph->rate.data;
    pass->next = sph->next.data;
    pass->slot_of_row = sph->slot_of_row.data;
    return MPM_OK;
}

/* Finds all particles and what acts like one, and sorts them into slots. */
static mpm_status fill_slots(mpm_sph *sph)
{
    mpm_sph_cloud *fluid = &sph->clouds[MPM_SPH_FLUID];
    fluid->count = sph->store.count;
    fluid->x = sph->pass.x;
    fluid->v = sph->pass.v;
    mpm_status status = find_images(sph);
    if (status || (status = mpm_sph_sort_cloud(sph, MPM_SPH_FLUID)))
        return status;
    for (size_t k = 0; k < sph->boundary.count && !status; k++)
        status = mpm_sph_solids_pose(sph, k);
    sph->slots = 0;
    for (int c = 0; c < sph->pass.cloud_count; c++) {
        sph->clouds[c].first = sph->slots;
        sph->slots += sph->clouds[c].count;
        if (c != MPM_SPH_FLUID && !status)
            status = mpm_sph_sort_cloud(sph, c);
    }
    if (status || (status = sph->slots > INT32_MAX / 2 ? MPM_TOO_LARGE : reserve_slots(sph)))
        return status;
    for (int c = 0; c < sph->pass.cloud_count; c++) {
        struct cloud_work work = {sph, c};
        mpm_pool_for(sph->run.pool, gather, &work, chunks_of(sph->clouds[c].count));
    }
    return MPM_OK;
}

/* ---- tiles and tasks -------------------------------------------------------------------------------------------- */

/* Tiles of a cloud, cut in parallel from ranges of whole lines of cells. */
struct cut {
    const mpm_sph *sph;
    int cloud;
    ptrdiff_t ranges, count[MOST_RANGES]; /* of tiles, per range */
    mpm_sph_tile *tiles[MOST_RANGES];     /* where they go; NULL: they are counted */
};

/* The first particle of a range. */
static ptrdiff_t range_begin(const struct cut *cut, ptrdiff_t range)
{
    const mpm_sph_cloud *cloud = &cut->sph->clouds[cut->cloud];
    ptrdiff_t begin = cloud->count * range / cut->ranges;
    if (begin == 0 || begin == cloud->count)
        return begin;
    const int64_t line = cloud->key[begin - 1] / cloud->cells[0];
    while (begin < cloud->count && cloud->key[begin] < (line + 1) * cloud->cells[0])
        begin++;
    return begin;
}

/* Tiles are particles that follow each other, from two cells of a line. */
static void cut_range(void *context, ptrdiff_t range, int thread)
{
    struct cut *cut = context;
    const mpm_sph_cloud *cloud = &cut->sph->clouds[cut->cloud];
    const ptrdiff_t last = range_begin(cut, range + 1);
    const int lanes = cut->sph->kernels->lanes;
    mpm_sph_tile *tiles = cut->tiles[range];
    ptrdiff_t made = 0;
    (void)thread;
    for (ptrdiff_t i = range_begin(cut, range); i < last;) {
        const int64_t next_line = (cloud->key[i] / cloud->cells[0] + 1) * cloud->cells[0];
        const int64_t end_key = cloud->key[i] + 2 < next_line ? cloud->key[i] + 2 : next_line;
        ptrdiff_t end = i + 1;
        while (end < last && end < i + lanes && cloud->key[end] < end_key)
            end++;
        if (tiles)
            tiles[made] = (mpm_sph_tile){(int32_t)(cloud->first + i), (int16_t)(end - i), (int16_t)cut->cloud, 0};
        made++;
        i = end;
    }
    cut->count[range] = made;
}

/* Counts the tiles of a cloud, or makes them. Returns their number. */
static ptrdiff_t cut_tiles(struct cut *cut, mpm_sph_tile *tiles)
{
    ptrdiff_t sum = 0;
    for (ptrdiff_t k = 0; k < cut->ranges; k++) {
        cut->tiles[k] = tiles ? tiles + sum : NULL;
        sum += tiles ? cut->count[k] : 0;
    }
    mpm_pool_for(cut->sph->run.pool, cut_range, cut, cut->ranges);
    for (ptrdiff_t k = sum = 0; k < cut->ranges; k++)
        sum += cut->count[k];
    return sum;
}

static bool has_tiles(int cloud)
{
    return cloud == MPM_SPH_FLUID || cloud >= MPM_SPH_COLLIDERS;
}

static mpm_status make_tiles(mpm_sph *sph)
{
    ptrdiff_t count = 0, made = 0;
    struct cut *cuts = mpm_memory_new(&sph->run.allocator, (size_t)sph->pass.cloud_count, sizeof *cuts);
    if (!cuts)
        return MPM_OUT_OF_MEMORY;
    for (int c = 0; c < sph->pass.cloud_count; c++) {
        const ptrdiff_t ranges = has_tiles(c) ? (sph->clouds[c].count + CHUNK - 1) / CHUNK : 0;
        cuts[c] = (struct cut){.sph = sph, .cloud = c, .ranges = ranges < MOST_RANGES ? ranges : MOST_RANGES};
        count += cut_tiles(&cuts[c], NULL);
    }
    const mpm_status status = mpm_sph_grow(sph, &sph->tiles, count, sizeof(mpm_sph_tile));
    for (int c = 0; c < sph->pass.cloud_count && !status; c++)
        made += cut_tiles(&cuts[c], (mpm_sph_tile *)sph->tiles.data + made);
    mpm_memory_free(&sph->run.allocator, cuts);
    if (status)
        return status;
    sph->tile_count = count;
    sph->tasks = count / LEAST_TILES < 1               ? 1
                 : count / LEAST_TILES > MPM_SPH_TASKS ? MPM_SPH_TASKS
                                                       : count / LEAST_TILES;
    for (ptrdiff_t t = 0; t <= sph->tasks; t++)
        sph->task_tile[t] = count * t / sph->tasks;
    sph->pass.tiles = sph->tiles.data;
    const ptrdiff_t books = sph->tasks * (ptrdiff_t)sph->boundary.count;
    if (mpm_sph_grow(sph, &sph->forces, books, sizeof(mpm_collider_book)) ||
        mpm_sph_grow(sph, &sph->touches, books, sizeof(mpm_collider_book)))
        return MPM_OUT_OF_MEMORY;
    sph->pass.forces = sph->forces.data;
    sph->pass.touches = sph->touches.data;
    return MPM_OK;
}

/* ---- lists and densities ---------------------------------------------------------------------------------------- */

struct list_work {
    mpm_sph *sph;
    ptrdiff_t tasks[MPM_SPH_TASKS];
};

static void make_lists(void *context, ptrdiff_t item, int thread)
{
    const struct list_work *work = context;
    (void)thread;
    work->sph->kernels->density(&work->sph->pass, work->tasks[item]);
}

static mpm_status grow_lists(mpm_sph *sph, ptrdiff_t task)
{
    mpm_sph_lists *lists = &sph->lists[task];
    const size_t tiles = (size_t)(sph->task_tile[task + 1] - sph->task_tile[task]);
    const size_t wanted = lists->capacity ? 2 * lists->capacity : tiles * GUESS + 4096;
    return mpm_memory_grow(&sph->run.allocator, (void **)&lists->entries, &lists->capacity, 0, wanted,
                           sizeof *lists->entries)
               ? MPM_OUT_OF_MEMORY
               : MPM_OK;
}

/* A task that finds no room for its lists is begun again with more. */
static mpm_status find_densities(mpm_sph *sph)
{
    struct list_work work = {.sph = sph};
    ptrdiff_t left = sph->tasks;
    for (ptrdiff_t t = 0; t < left; t++)
        work.tasks[t] = t;
    while (left) {
        const ptrdiff_t begun = left;
        mpm_pool_for(sph->run.pool, make_lists, &work, begun);
        left = 0;
        for (ptrdiff_t i = 0; i < begun; i++) {
            const ptrdiff_t task = work.tasks[i];
            if (!sph->lists[task].full)
                continue;
            work.tasks[left++] = task;
            if (grow_lists(sph, task))
                return MPM_OUT_OF_MEMORY;
        }
    }
    return MPM_OK;
}

static void add_measures(mpm_sph *sph)
{
    mpm_sph_measure *sum = &sph->measure;
    *sum = (mpm_sph_measure){.least_J = 1e300, .lowest = -1e300};
    for (int a = 0; a < 3; a++) {
        sum->momentum[a] = MPM_EXACT_SUM(sph->measures, sph->tasks, momentum[a]);
        sum->mass_moment[a] = MPM_EXACT_SUM(sph->measures, sph->tasks, mass_moment[a]);
        sum->angular_momentum[a] = MPM_EXACT_SUM(sph->measures, sph->tasks, angular_momentum[a]);
    }
    sum->kinetic = MPM_EXACT_SUM(sph->measures, sph->tasks, kinetic);
    sum->elastic = MPM_EXACT_SUM(sph->measures, sph->tasks, elastic);
    for (ptrdiff_t t = 0; t < sph->tasks; t++) {
        const mpm_sph_measure *part = &sph->measures[t];
        sum->speed2 = part->speed2 > sum->speed2 ? part->speed2 : sum->speed2;
        sum->wave2 = part->wave2 > sum->wave2 ? part->wave2 : sum->wave2;
        sum->lowest = part->lowest > sum->lowest ? part->lowest : sum->lowest;
        sum->least_J = part->least_J < sum->least_J ? part->least_J : sum->least_J;
        sum->largest_J = part->largest_J > sum->largest_J ? part->largest_J : sum->largest_J;
    }
}

static void describe(mpm_sph *sph)
{
    mpm_sph_pass *pass = &sph->pass;
    pass->rows = sph->store.count;
    pass->x = sph->store.rows[MPM_SPH_X];
    pass->v = sph->store.rows[MPM_SPH_V];
    pass->J = sph->store.rows[MPM_SPH_J];
    pass->clouds = sph->clouds;
    pass->cloud_count = MPM_SPH_COLLIDERS + (int)sph->boundary.count;
    pass->boundary = &sph->boundary;
}

mpm_status mpm_sph_settle_rows(mpm_sph *sph)
{
    sph->settled = false;
    describe(sph);
    if (!sph->store.count) { /* it stays unsettled: the next rows may come from a file */
        sph->measure = (mpm_sph_measure){.least_J = 1e300, .lowest = -1e300};
        sph->collider_dt = INFINITY;
        return MPM_OK;
    }
    mpm_sph_solids_state(sph);
    double start = mpm_clock_seconds();
    mpm_status status = fill_slots(sph);
    if (!status)
        status = make_tiles(sph);
    mpm_run_spend(&sph->run, MPM_SPH_PHASE_SORT, start);
    if (status)
        return status;
    start = mpm_clock_seconds();
    if ((status = find_densities(sph)))
        return status;
    for (int c = MPM_SPH_PERIODIC; c <= MPM_SPH_IMAGES; c++) {
        struct cloud_work work = {sph, c};
        mpm_pool_for(sph->run.pool, reflect, &work, chunks_of(sph->clouds[c].count));
    }
    add_measures(sph);
    mpm_sph_totals_limit_colliders(sph);
    mpm_run_spend(&sph->run, MPM_SPH_PHASE_DENSITY, start);
    sph->settled = sph->J_pending = true;
    return MPM_OK;
}

static void write_J(void *context, ptrdiff_t chunk, int thread)
{
    mpm_sph *sph = context;
    (void)thread;
    sph->kernels->write_J(&sph->pass, chunk * CHUNK, end_of(chunk, sph->store.count));
}

void mpm_sph_settle_J(mpm_sph *sph)
{
    if (!sph->J_pending)
        return;
    mpm_pool_for(sph->run.pool, write_J, sph, chunks_of(sph->store.count));
    mpm_store_outdate(&sph->store, MPM_SPH_J);
    sph->J_pending = false;
}
