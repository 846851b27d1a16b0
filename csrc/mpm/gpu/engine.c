/* SPDX-License-Identifier: MIT */
#include "mpm/gpu/engine.h"

#include <string.h>

/* Keeps what may be lent. Without memory of the host for a list, the driver frees it in the end. */
static void keep(mpm_gpu_engine *engine, void *memory)
{
    if (!mpm_memory_grow(engine->allocator, (void **)&engine->kept, &engine->kept_capacity, engine->kept_count,
                         engine->kept_count + 1, sizeof *engine->kept))
        engine->kept[engine->kept_count++] = memory;
}

static void release_kept(mpm_gpu_engine *engine)
{
    while (engine->kept_count && !atomic_load(&engine->lent))
        engine->driver->release(engine->driver, engine->kept[--engine->kept_count]);
}

void mpm_engine_drop(mpm_gpu_engine *engine, mpm_gpu_array *array)
{
    if (array->at && atomic_load(&engine->lent))
        keep(engine, array->at);
    else if (array->at)
        engine->driver->release(engine->driver, array->at);
    *array = (mpm_gpu_array){0};
}

mpm_status mpm_engine_hold(mpm_gpu_engine *engine, mpm_gpu_array *array, size_t bytes)
{
    if (engine->failure)
        return engine->failure;
    if (bytes <= array->bytes)
        return MPM_OK;
    release_kept(engine);
    mpm_engine_drop(engine, array);
    const mpm_status status = engine->driver->allocate(engine->driver, &array->at, bytes);
    if (!status)
        array->bytes = bytes;
    else if (status != MPM_OUT_OF_MEMORY)
        engine->failure = status;
    return status;
}

mpm_status mpm_engine_hold_particles(mpm_gpu_engine *engine, ptrdiff_t count)
{
    const size_t stride = ((size_t)count + 31) / 32 * 32, d = (size_t)engine->dim;
    if (stride > INT32_MAX)
        return MPM_TOO_LARGE;
    const size_t real = stride * engine->real_size, number = stride * sizeof(int);
    mpm_status status = MPM_OK;
    for (int set = 0; set < 2; set++) {
        mpm_gpu_columns *to = set ? &engine->next : &engine->now;
        struct {
            mpm_gpu_array *array;
            size_t bytes;
        } wanted[] = {
            {&to->x, d * real}, {&to->v, d * real}, {&to->C, d * d * real}, {&to->F, (size_t)engine->strains * real},
            {&to->history, (size_t)engine->history * real}, {&to->mass, real}, {&to->volume, real},
            {&to->key, number}, {&to->row, number},
        };
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted && !status; k++)
            status = mpm_engine_hold(engine, wanted[k].array, wanted[k].bytes);
    }
    mpm_gpu_array *const scratch[] = {&engine->key, &engine->cell_of, &engine->order};
    for (size_t k = 0; k < sizeof scratch / sizeof *scratch && !status; k++)
        status = mpm_engine_hold(engine, scratch[k], number);
    engine->count = (int)count;
    engine->stride = (int)stride;
    return status;
}

static void note(mpm_gpu_engine *engine, mpm_status status)
{
    if (!engine->failure)
        engine->failure = status;
}

void mpm_engine_get(mpm_gpu_engine *engine, void *to, const void *from, size_t bytes)
{
    if (!engine->failure && bytes)
        note(engine, engine->driver->read(engine->driver, to, from, bytes));
}

void mpm_engine_put(mpm_gpu_engine *engine, const mpm_gpu_array *to, const void *from, size_t bytes)
{
    if (!engine->failure && bytes)
        note(engine, engine->driver->write(engine->driver, to->at, from, bytes));
}

/* Books that no launch enters stay 0: colliders may not hold particles. */
mpm_status mpm_engine_hold_said(mpm_gpu_engine *engine, size_t colliders)
{
    mpm_gpu_said *said = &engine->said;
    const size_t reports = MPM_GPU_FINDERS * engine->variant->report_bytes;
    const size_t bytes = reports + MPM_GPU_FINDERS * colliders * sizeof(mpm_collider_book);
    if (said->here && said->colliders == colliders)
        return engine->failure;
    void *here = mpm_memory_new(engine->allocator, bytes, 1);
    const mpm_status status = here ? mpm_engine_hold(engine, &said->there, bytes) : MPM_OUT_OF_MEMORY;
    if (status) {
        mpm_memory_free(engine->allocator, here);
        return status;
    }
    mpm_memory_free(engine->allocator, said->here);
    said->here = here;
    said->books = reports;
    said->colliders = colliders;
    note(engine, engine->driver->fill(engine->driver, said->there.at, 0, bytes));
    return engine->failure;
}

void mpm_engine_hear(mpm_gpu_engine *engine)
{
    const mpm_gpu_said *said = &engine->said;
    mpm_engine_get(engine, said->here, said->there.at,
                   said->books + MPM_GPU_FINDERS * said->colliders * sizeof(mpm_collider_book));
}

mpm_collider_book *mpm_engine_books(const mpm_gpu_engine *engine, mpm_gpu_finder finder, bool there)
{
    const mpm_gpu_said *said = &engine->said;
    char *at = there ? said->there.at : said->here;
    return (mpm_collider_book *)(at + said->books) + (size_t)finder * said->colliders;
}

/* Where component c of particle `first` is. */
static char *place_of(const mpm_gpu_engine *engine, const mpm_gpu_array *array, int c, int first)
{
    return (char *)array->at + ((size_t)c * (size_t)engine->stride + (size_t)first) * engine->real_size;
}

/* Moves one component of `particles` between a staged column and rows of `width` reals. */
static void stride_reals(void *staged, void *rows, int width, int particles, size_t size, bool to_rows)
{
    for (int i = 0; i < particles; i++) {
        char *one = (char *)staged + (size_t)i * size, *other = (char *)rows + (size_t)i * (size_t)width * size;
        memcpy(to_rows ? other : one, to_rows ? one : other, size);
    }
}

/* In pieces, for which the host has room at any time. */
static void copy_components(mpm_gpu_engine *engine, const mpm_gpu_array *array, int first, int count, int width,
                            void *rows, bool to_rows)
{
    mpm_gpu_driver *driver = engine->driver;
    const size_t size = engine->real_size;
    for (int p = 0; p < engine->count; p += MPM_GPU_STAGED) {
        const int particles = engine->count - p < MPM_GPU_STAGED ? engine->count - p : MPM_GPU_STAGED;
        const size_t bytes = (size_t)particles * size;
        for (int c = 0; c < count && !engine->failure; c++) {
            char *there = place_of(engine, array, first + c, p);
            char *here = (char *)rows + ((size_t)p * (size_t)width + (size_t)c) * size;
            if (!to_rows) {
                stride_reals(engine->staged, here, width, particles, size, false);
                note(engine, driver->write(driver, there, engine->staged, bytes));
                continue;
            }
            mpm_engine_get(engine, engine->staged, there, bytes);
            if (!engine->failure)
                stride_reals(engine->staged, here, width, particles, size, true);
        }
    }
}

void mpm_engine_write(mpm_gpu_engine *engine, const mpm_gpu_array *to, int first, int count, int width,
                      const void *from)
{
    copy_components(engine, to, first, count, width, (void *)from, false);
}

void mpm_engine_read(mpm_gpu_engine *engine, const mpm_gpu_array *from, int first, int count, int width, void *to)
{
    copy_components(engine, from, first, count, width, to, true);
}

static void clear_columns(mpm_gpu_engine *engine, mpm_gpu_columns *columns)
{
    mpm_gpu_array *const all[] = {&columns->x, &columns->v, &columns->C, &columns->F, &columns->history,
                                  &columns->mass, &columns->volume, &columns->key, &columns->row};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        mpm_engine_drop(engine, all[k]);
}

static void clear_tables(mpm_gpu_engine *engine, mpm_gpu_tables *tables)
{
    mpm_gpu_array *const all[] = {&tables->place_of, &tables->place_key, &tables->room_of, &tables->room_key,
                                  &tables->start, &tables->listed};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        mpm_engine_drop(engine, all[k]);
    mpm_memory_free(engine->allocator, tables->first);
    tables->first = NULL;
}

/* ---- materials --------------------------------------------------------------------------------------------------- */

static void clear_materials(mpm_gpu_engine *engine)
{
    for (int m = 0; m < engine->materials; m++)
        mpm_engine_drop(engine, &engine->material[m].law);
    mpm_memory_free(engine->allocator, engine->material);
    engine->material = NULL;
    engine->materials = 0;
}

mpm_status mpm_engine_begin_materials(mpm_gpu_engine *engine, size_t count)
{
    clear_materials(engine);
    mpm_gpu_tables *const tables[2] = {&engine->tables, &engine->coming};
    engine->material = mpm_memory_new(engine->allocator, count, sizeof *engine->material);
    bool failed = !engine->material || count > INT32_MAX / 2;
    for (int k = 0; k < 2 && !failed; k++) {
        mpm_memory_free(engine->allocator, tables[k]->first);
        tables[k]->first = mpm_memory_new(engine->allocator, count + 1, sizeof *tables[k]->first);
        failed = !tables[k]->first;
    }
    engine->materials = failed ? 0 : (int)count;
    if (failed)
        clear_materials(engine);
    return failed ? MPM_OUT_OF_MEMORY : MPM_OK;
}

mpm_status mpm_engine_list_places(mpm_gpu_engine *engine, mpm_gpu_tables *tables, const int *key)
{
    const int materials = engine->materials;
    int *first = tables->first;
    memset(first, 0, ((size_t)materials + 1) * sizeof *first);
    first[materials] = tables->places;
    if (materials == 1)
        return MPM_OK;
    const size_t bytes = (size_t)tables->places * sizeof(int);
    int *listed = mpm_memory_new(engine->allocator, (size_t)tables->places, sizeof *listed);
    mpm_status status = listed ? mpm_engine_hold(engine, &tables->listed, bytes + sizeof(int)) : MPM_OUT_OF_MEMORY;
    for (int m = 0, count = 0; m < materials && !status; m++) {
        first[m] = count;
        for (int p = 0; p < tables->places; p++)
            if (key[p] % materials == m)
                listed[count++] = p;
    }
    if (!status)
        mpm_engine_put(engine, &tables->listed, listed, bytes);
    mpm_memory_free(engine->allocator, listed);
    return status ? status : engine->failure;
}

const char *mpm_engine_words(const mpm_gpu_engine *engine)
{
    const mpm_gpu_driver *failed = engine->failed ? engine->failed : engine->driver;
    return failed->words(failed);
}

void mpm_engine_clear(mpm_gpu_engine *engine)
{
    mpm_gpu_array *const all[] = {
        &engine->nodes[0], &engine->nodes[1], &engine->v_before, &engine->tiles, &engine->force_tiles,
        &engine->volume, &engine->volume_tiles, &engine->filled[0], &engine->filled[1],
        &engine->reports[0], &engine->reports[1], &engine->said.there, &engine->acceleration, &engine->couple,
        &engine->shown,
        &engine->block_count, &engine->mark[0], &engine->mark[1], &engine->key, &engine->cell_of, &engine->cell_count,
        &engine->order, &engine->before[0], &engine->before[1], &engine->before[2], &engine->all[0], &engine->all[1],
        &engine->all[2]};
    clear_columns(engine, &engine->now);
    clear_columns(engine, &engine->next);
    clear_tables(engine, &engine->tables);
    clear_tables(engine, &engine->coming);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        mpm_engine_drop(engine, all[k]);
    clear_materials(engine);
    release_kept(engine);
    mpm_memory_free(engine->allocator, engine->kept);
    mpm_memory_free(engine->allocator, engine->said.here);
    mpm_memory_free(engine->allocator, engine->staged);
    engine->staged = engine->said.here = NULL;
}
