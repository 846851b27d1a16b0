/* SPDX-License-Identifier: MIT */
#include "mpm/gpu_laws.h"

#include <string.h>

mpm_gpu_driver *mpm_gpu_laws_find(const mpm_gpu_laws *laws, int law, bool varies)
{
    for (size_t k = 0; k < laws->count; k++)
        if (laws->list[k].law == law && laws->list[k].varies == varies)
            return laws->list[k].driver;
    return NULL;
}

mpm_status mpm_gpu_laws_add(mpm_gpu_laws *laws, const mpm_allocator *allocator, const mpm_gpu_law *image)
{
    if (mpm_gpu_laws_find(laws, image->law, image->varies) || image->driver->image.law_bytes > MPM_GPU_LAW_BYTES)
        return MPM_BAD_ARGUMENT;
    if (mpm_memory_grow(allocator, (void **)&laws->list, &laws->capacity, laws->count, laws->count + 1,
                        sizeof *laws->list))
        return MPM_OUT_OF_MEMORY;
    laws->list[laws->count++] = *image;
    return MPM_OK;
}

/* Gives the columns of the histories rows of the device. Returns how many. */
static int lay_out(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials)
{
    int rows = 0;
    for (int c = 0; c < MPM_MOST_COLUMNS; c++)
        laws->row[c] = -1;
    for (size_t m = 0; m < laws->materials; m++) {
        mpm_gpu_material *material = &engine->material[m];
        for (int k = 0; k < material->components; k++) {
            int *row = &laws->row[materials[m].column[k]];
            *row = *row < 0 ? rows++ : *row;
            material->history[k] = *row;
        }
    }
    return rows;
}

mpm_status mpm_gpu_laws_begin(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials, size_t count)
{
    mpm_memory_free(engine->allocator, laws->given);
    laws->begun = false;
    laws->materials = count;
    laws->given = mpm_memory_new(engine->allocator, count, MPM_GPU_LAW_BYTES);
    const mpm_status status =
        laws->given ? mpm_engine_begin_materials(engine, count ? count : 1) : MPM_OUT_OF_MEMORY;
    if (status)
        return status;
    engine->strains = 1;
    engine->material[0].driver = engine->driver; /* launched for no particles where there is no material */
    for (size_t m = 0; m < count; m++) {
        const mpm_material *from = &materials[m];
        const mpm_law *law = mpm_material_law(from);
        engine->material[m] = (mpm_gpu_material){.driver = mpm_gpu_laws_find(laws, from->law, from->varying),
                                                 .J_low = law->J_low, .J_high = law->J_high,
                                                 .components = mpm_law_history(law, engine->dim)};
        if (!engine->material[m].driver)
            return MPM_BAD_ARGUMENT;
        if (law->strain != MPM_KEEPS_J)
            engine->strains = engine->dim * engine->dim;
    }
    engine->history = lay_out(laws, engine, materials);
    laws->begun = true;
    return MPM_OK;
}

mpm_status mpm_gpu_laws_give(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials)
{
    for (size_t m = 0; m < laws->materials; m++) {
        mpm_gpu_material *material = &engine->material[m];
        const size_t bytes = material->driver->image.law_bytes;
        char *given = (char *)laws->given + m * MPM_GPU_LAW_BYTES;
        double prepared[MPM_GPU_LAW_BYTES / sizeof(double)] = {0};
        if (!engine->variant->prepare(&materials[m], prepared, sizeof prepared))
            return MPM_BAD_ARGUMENT;
        if (material->law.at && !memcmp(given, prepared, bytes))
            continue;
        const mpm_status status = mpm_engine_hold(engine, &material->law, bytes);
        if (status)
            return status;
        mpm_engine_put(engine, &material->law, prepared, bytes);
        memcpy(given, prepared, bytes);
    }
    return engine->failure;
}

void mpm_gpu_laws_free(mpm_gpu_laws *laws, const mpm_allocator *allocator)
{
    for (size_t k = laws->count; k--;) /* the first one last: it has the memory */
        laws->list[k].driver->free(laws->list[k].driver);
    mpm_memory_free(allocator, laws->list);
    mpm_memory_free(allocator, laws->given);
    *laws = (mpm_gpu_laws){0};
}
