/* SPDX-License-Identifier: MIT */
#include "mpm/gpu/gpu_boundary.h"

#include "mpm/gpu/pack.h"

mpm_status mpm_gpu_boundary_hold_books(mpm_gpu_engine *engine, int ctas)
{
    mpm_gpu_boundary *own = &engine->boundary;
    return mpm_engine_hold(engine, &own->books, (size_t)ctas * own->count * sizeof(mpm_collider_book));
}

static void clear_host(mpm_gpu_engine *engine)
{
    mpm_gpu_boundary *own = &engine->boundary;
    mpm_memory_free(engine->allocator, own->posed);
    for (int k = 0; k < MPM_GPU_FINDERS; k++)
        mpm_memory_free(engine->allocator, own->found[k]);
    own->posed = NULL;
    memset(own->found, 0, sizeof own->found);
    own->count = own->revision = 0;
}

/* Copies all that the colliders consist of. */
static mpm_status copy(mpm_gpu_engine *engine, const mpm_collider *colliders, size_t count)
{
    mpm_gpu_boundary *own = &engine->boundary;
    const size_t bytes = mpm_pack_colliders(colliders, count, NULL, NULL);
    bool failed = !(own->posed = mpm_memory_new(engine->allocator, count, sizeof *own->posed));
    for (int k = 0; k < MPM_GPU_FINDERS; k++)
        failed |= !(own->found[k] = mpm_memory_new(engine->allocator, count, sizeof *own->found[k]));
    mpm_status status = failed ? MPM_OUT_OF_MEMORY : mpm_engine_hold(engine, &own->packed, bytes);
    char *packed = status ? NULL : mpm_memory_new(engine->allocator, bytes, 1);
    if (!packed)
        return status ? status : MPM_OUT_OF_MEMORY;
    (void)mpm_pack_colliders(colliders, count, packed, own->packed.at);
    mpm_engine_put(engine, &own->packed, packed, bytes);
    memcpy(own->posed, packed, count * sizeof *own->posed);
    mpm_memory_free(engine->allocator, packed);
    return engine->failure;
}

mpm_status mpm_gpu_boundary_take(mpm_gpu_engine *engine, const mpm_boundary *boundary)
{
    mpm_gpu_boundary *own = &engine->boundary;
    const mpm_gpu_tables *tables = &engine->tables;
    if (own->count != boundary->count || own->revision != boundary->revision) {
        clear_host(engine);
        const mpm_status status = copy(engine, boundary->colliders, boundary->count);
        if (status) {
            clear_host(engine);
            return status;
        }
        own->count = boundary->count;
        own->revision = boundary->revision;
    }
    const mpm_status status = mpm_engine_hold_said(engine, own->count);
    const int most = tables->rooms > tables->places ? tables->rooms : tables->places;
    return status ? status : mpm_gpu_boundary_hold_books(engine, most);
}

bool mpm_gpu_boundary_pose(mpm_gpu_engine *engine, const mpm_collider *colliders)
{
    mpm_gpu_boundary *own = &engine->boundary;
    const bool moved = mpm_pack_poses(own->posed, colliders, own->count);
    if (moved)
        mpm_engine_put(engine, &own->packed, own->posed, own->count * sizeof *own->posed);
    return moved;
}

void mpm_gpu_boundary_clear(mpm_gpu_engine *engine)
{
    mpm_gpu_boundary *own = &engine->boundary;
    clear_host(engine);
    mpm_engine_drop(engine, &own->packed);
    mpm_engine_drop(engine, &own->books);
}
