/* SPDX-License-Identifier: MIT */
#include "mpm/gpu_laws.h"

#include <string.h>

#include "base/real.h"

mpm_gpu_driver *mpm_gpu_laws_find(const mpm_gpu_laws *laws, int law, bool varies)
{
    for (size_t k = laws->count; k--;)
        if (laws->list[k].law == law && laws->list[k].varies == varies)
            return laws->list[k].driver;
    return NULL;
}

mpm_status mpm_gpu_laws_add(mpm_gpu_laws *laws, const mpm_allocator *allocator, const mpm_gpu_law *image)
{
    const mpm_gpu_driver *known = mpm_gpu_laws_find(laws, image->law, image->varies);
    const mpm_gpu_image *own = &image->driver->image;
    if ((known && known->image.collides >= own->collides) || own->law_bytes > MPM_GPU_LAW_BYTES)
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

/* The components of the history by which a volume counts, one bit each. */
static unsigned scales_of(const mpm_law *law, int dim)
{
    unsigned bits = 0;
    for (int f = 0, component = 0; f < law->fields; f++) {
        bits |= (law->field[f].scales_volume ? 1u : 0) << component;
        component += mpm_rank_components(law->field[f].rank, dim);
    }
    return bits;
}

mpm_status mpm_gpu_laws_begin(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials, size_t count)
{
    mpm_memory_free(engine->allocator, laws->given);
    mpm_memory_free(engine->allocator, laws->due);
    laws->begun = false;
    laws->materials = count;
    laws->given = mpm_memory_new(engine->allocator, count, MPM_GPU_LAW_BYTES);
    laws->due = mpm_memory_new(engine->allocator, count, sizeof *laws->due);
    const mpm_status status =
        laws->given && laws->due ? mpm_engine_begin_materials(engine, count ? count : 1) : MPM_OUT_OF_MEMORY;
    if (status)
        return status;
    engine->strains = 1;
    engine->material[0].driver = engine->kernels; /* launched for no particles where there is no material */
    for (size_t m = 0; m < count; m++) {
        const mpm_material *from = &materials[m];
        const mpm_law *law = mpm_material_law(from);
        engine->material[m] = (mpm_gpu_material){.driver = mpm_gpu_laws_find(laws, from->law, from->varying),
                                                 .J_low = law->J_low, .J_high = law->J_high,
                                                 .components = mpm_law_history(law, engine->dim) + from->varying};
        if (!engine->material[m].driver)
            return MPM_BAD_ARGUMENT;
        engine->material[m].keeps_J = law->strain == MPM_KEEPS_J;
        engine->material[m].scales_volume = scales_of(law, engine->dim);
        if (law->strain != MPM_KEEPS_J)
            engine->strains = engine->dim * engine->dim;
    }
    engine->history = lay_out(laws, engine, materials);
    laws->begun = true;
    return MPM_OK;
}

void mpm_gpu_laws_renew(const mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials)
{
    for (size_t m = 0; laws->begun && m < laws->materials; m++)
        engine->material[m].driver = mpm_gpu_laws_find(laws, materials[m].law, materials[m].varying);
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

void mpm_gpu_laws_note(mpm_gpu_laws *laws, int dim, const mpm_material *materials, int column)
{
    for (size_t m = 0; m < laws->materials; m++)
        for (int k = 0, first = mpm_law_history(mpm_material_law(&materials[m]), dim); k < materials[m].varying; k++)
            laws->due[m] |= materials[m].column[first + k] == column;
}

static char *given_to(const mpm_gpu_laws *laws, size_t m)
{
    return (char *)laws->given + m * MPM_GPU_LAW_BYTES;
}

bool mpm_gpu_laws_lacks(const mpm_gpu_laws *laws, const mpm_gpu_engine *engine, const mpm_material *materials,
                        size_t m)
{
    const mpm_material *material = &materials[m];
    return material->varying && (laws->due[m] || !engine->material[m].law.at ||
                                 memcmp(given_to(laws, m), material->values, sizeof material->values));
}

/* Prepares the law for each particle of material m, whose columns the host has: [row of the user]. */
static void prepare_rows(const mpm_gpu_engine *engine, const mpm_material *material, size_t m,
                         const mpm_particles *particles, char *rows)
{
    const int first = mpm_law_history(mpm_material_law(material), engine->dim);
    const size_t bytes = engine->material[m].driver->image.law_bytes;
    mpm_material one = *material;
    one.varying = 0;
    for (size_t g = 0; g < particles->group_count; g++) {
        const mpm_group *group = &particles->groups[g];
        for (ptrdiff_t p = group->first_tile; (size_t)group->material == m && p < group->first_tile + group->count;
             p++) {
            double prepared[MPM_GPU_LAW_BYTES / sizeof(double)] = {0};
            for (int k = 0; k < material->varying; k++)
                one.values[material->parameter[k]] =
                    mpm_real_at(particles->column[material->column[first + k]], (size_t)p, particles->real_size);
            (void)engine->variant->prepare(&one, prepared, sizeof prepared);
            memcpy(rows + (size_t)particles->row[p] * bytes, prepared, bytes);
        }
    }
}

/* The prepared parameters of every particle: no step changes them, so they stay where they are, by row. */
static mpm_status give_rows(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *material, size_t m,
                            const mpm_particles *particles)
{
    mpm_gpu_array *law = &engine->material[m].law;
    const size_t bytes = engine->material[m].driver->image.law_bytes, all = (size_t)particles->count * bytes;
    char *rows = mpm_memory_new(engine->allocator, (size_t)particles->count, bytes);
    const mpm_status status = rows ? mpm_engine_hold(engine, law, all) : MPM_OUT_OF_MEMORY;
    if (!status) {
        prepare_rows(engine, material, m, particles, rows);
        mpm_engine_put(engine, law, rows, all);
        memcpy(given_to(laws, m), material->values, sizeof material->values);
        laws->due[m] = false;
    }
    mpm_memory_free(engine->allocator, rows);
    return status ? status : engine->failure;
}

static mpm_status give_one(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *material, size_t m)
{
    mpm_gpu_array *law = &engine->material[m].law;
    const size_t bytes = engine->material[m].driver->image.law_bytes;
    double prepared[MPM_GPU_LAW_BYTES / sizeof(double)] = {0};
    if (!engine->variant->prepare(material, prepared, sizeof prepared))
        return MPM_BAD_ARGUMENT;
    if (law->at && !memcmp(given_to(laws, m), prepared, bytes))
        return MPM_OK;
    const mpm_status status = mpm_engine_hold(engine, law, bytes);
    if (status)
        return status;
    mpm_engine_put(engine, law, prepared, bytes);
    memcpy(given_to(laws, m), prepared, bytes);
    return engine->failure;
}

mpm_status mpm_gpu_laws_give(mpm_gpu_laws *laws, mpm_gpu_engine *engine, const mpm_material *materials,
                             const mpm_particles *particles)
{
    mpm_status status = MPM_OK;
    for (size_t m = 0; m < laws->materials && !status; m++) {
        if (!materials[m].varying)
            status = give_one(laws, engine, &materials[m], m);
        else if (mpm_gpu_laws_lacks(laws, engine, materials, m))
            status = give_rows(laws, engine, &materials[m], m, particles);
    }
    return status;
}

void mpm_gpu_laws_free(mpm_gpu_laws *laws, const mpm_allocator *allocator)
{
    for (size_t k = laws->count; k--;) /* the first one last: it has the memory */
        laws->list[k].driver->free(laws->list[k].driver);
    mpm_memory_free(allocator, laws->list);
    mpm_memory_free(allocator, laws->given);
    mpm_memory_free(allocator, laws->due);
    *laws = (mpm_gpu_laws){0};
}
