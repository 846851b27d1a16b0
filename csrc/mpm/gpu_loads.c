/* SPDX-License-Identifier: MIT */
#include "mpm/gpu_loads.h"

#include <string.h>

#include "base/real.h"

static size_t force_bytes(const mpm_gpu_engine *engine)
{
    return (size_t)engine->count * (size_t)engine->dim * sizeof(double);
}

static size_t couple_bytes(const mpm_gpu_engine *engine)
{
    return force_bytes(engine) * (size_t)engine->dim;
}

void mpm_gpu_loads_clear(mpm_gpu_loads *loads, const mpm_allocator *allocator)
{
    mpm_memory_free(allocator, loads->couple);
    mpm_memory_free(allocator, loads->motion);
    *loads = (mpm_gpu_loads){0};
}

mpm_status mpm_gpu_loads_hold(mpm_gpu_loads *loads, mpm_gpu_engine *engine, const mpm_forcing *forcing)
{
    const size_t d = (size_t)engine->dim, rows = (size_t)engine->count;
    mpm_status status = MPM_OK;
    if (forcing->body_force)
        status = mpm_engine_hold(engine, &engine->acceleration, force_bytes(engine));
    if (!status && forcing->couple)
        status = mpm_engine_hold(engine, &engine->couple, couple_bytes(engine));
    if (status || !forcing->first || engine->count <= loads->rows)
        return status;
    mpm_gpu_loads_clear(loads, engine->allocator);
    loads->couple = mpm_memory_new(engine->allocator, rows * d * d, sizeof *loads->couple);
    loads->motion = mpm_memory_new(engine->allocator, rows * (d + d * d), engine->real_size);
    loads->rows = engine->count;
    if (!loads->couple || !loads->motion)
        mpm_gpu_loads_clear(loads, engine->allocator);
    return loads->rows ? MPM_OK : MPM_OUT_OF_MEMORY;
}

static void give_couples(mpm_gpu_loads *loads, mpm_gpu_engine *engine, const mpm_forcing *forcing)
{
    const int size = engine->dim * engine->dim;
    memset(loads->couple, 0, couple_bytes(engine));
    for (ptrdiff_t row = 0; row < engine->count; row++)
        for (ptrdiff_t e = forcing->first[row]; e < forcing->first[row + 1]; e++)
            for (int k = 0; k < size; k++)
                loads->couple[row * size + k] += forcing->couple[e * size + k];
    mpm_engine_put(engine, &engine->couple, loads->couple, couple_bytes(engine));
}

void mpm_gpu_loads_give(mpm_gpu_loads *loads, mpm_gpu_engine *engine, const mpm_forcing *forcing)
{
    if (forcing->couple)
        give_couples(loads, engine, forcing);
    mpm_engine_put(engine, &engine->acceleration, forcing->body_force, force_bytes(engine));
}

/* Of the entries of the particle at `slot`: F v + K : grad v. */
static void find_power(const mpm_gpu_loads *loads, const mpm_gpu_engine *engine, const mpm_forcing *forcing,
                       ptrdiff_t slot, int32_t row, double *power)
{
    const int d = engine->dim;
    const size_t own = (size_t)(slot * (d + d * d)), size = engine->real_size;
    for (ptrdiff_t e = forcing->first[row]; e < forcing->first[row + 1]; e++) {
        power[e] = 0;
        for (int b = 0; b < d; b++)
            power[e] += forcing->force[e * d + b] * mpm_real_at(loads->motion, own + (size_t)b, size);
        for (int k = 0; forcing->couple && k < d * d; k++)
            power[e] += forcing->couple[e * d * d + k] * mpm_real_at(loads->motion, own + (size_t)(d + k), size);
    }
}

void mpm_gpu_loads_find_power(mpm_gpu_loads *loads, mpm_gpu_engine *engine, const mpm_forcing *forcing,
                              const int32_t *row, double *power)
{
    const int d = engine->dim, width = d + d * d;
    mpm_engine_read(engine, &engine->next.v, 0, d, width, loads->motion);
    mpm_engine_read(engine, &engine->next.C, 0, d * d, width, (char *)loads->motion + (size_t)d * engine->real_size);
    for (ptrdiff_t p = 0; p < engine->count && !engine->failure; p++)
        find_power(loads, engine, forcing, p, row[p], power);
}
