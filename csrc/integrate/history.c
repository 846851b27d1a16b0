/* SPDX-License-Identifier: MIT */
#include "integrate/history.h"

#include <stddef.h>
#include <string.h>

#include "integrate/state.h"

/* What the columns of the whole material are read from. */
struct sample {
    mpm_totals totals;
    double dt, energy, body_impulse[3], wall_impulse[3];
};

static const mpm_history_entry of_material[] = {
    {"time", MPM_HISTORY_NUMBER, offsetof(struct sample, totals.time)},
    {"dt", MPM_HISTORY_NUMBER, offsetof(struct sample, dt)},
    {"mass", MPM_HISTORY_NUMBER, offsetof(struct sample, totals.mass)},
    {"momentum", MPM_HISTORY_VECTOR, offsetof(struct sample, totals.momentum)},
    {"center_of_mass", MPM_HISTORY_VECTOR, offsetof(struct sample, totals.center_of_mass)},
    {"angular_momentum", MPM_HISTORY_TURNING, offsetof(struct sample, totals.angular_momentum)},
    {"kinetic", MPM_HISTORY_NUMBER, offsetof(struct sample, totals.kinetic)},
    {"elastic", MPM_HISTORY_NUMBER, offsetof(struct sample, totals.elastic)},
    {"gravitational", MPM_HISTORY_NUMBER, offsetof(struct sample, totals.gravitational)},
    {"energy", MPM_HISTORY_NUMBER, offsetof(struct sample, energy)},
    {"body_impulse", MPM_HISTORY_VECTOR, offsetof(struct sample, body_impulse)},
    {"wall_impulse", MPM_HISTORY_VECTOR, offsetof(struct sample, wall_impulse)},
};
static const mpm_history_entry of_collider[] = {
    {"impulse", MPM_HISTORY_VECTOR, offsetof(mpm_collider_book, impulse)},
    {"torque", MPM_HISTORY_TURNING, offsetof(mpm_collider_book, torque)},
};

enum {
    MATERIAL_COLUMNS = sizeof of_material / sizeof *of_material,
    COLLIDER_COLUMNS = sizeof of_collider / sizeof *of_collider,
};

enum { OF_MATERIAL = -1, OF_INTEGRATOR = -2 }; /* otherwise the number of a collider */

/* The declaration of column `index` and whose it is; NULL beyond the last. */
static const mpm_history_entry *find_entry(const mpm_simulation *simulation, int index, int *owner)
{
    const mpm_integrator *integrator = simulation->integrator;
    *owner = OF_MATERIAL;
    if (index < MATERIAL_COLUMNS)
        return &of_material[index];
    index -= MATERIAL_COLUMNS;
    *owner = OF_INTEGRATOR;
    if (index < integrator->column_count)
        return &integrator->columns[index];
    index -= integrator->column_count;
    *owner = index / COLLIDER_COLUMNS;
    return (size_t)*owner < simulation->collider_count ? &of_collider[index % COLLIDER_COLUMNS] : NULL;
}

static int width_of(mpm_history_rank rank, int dim)
{
    return rank == MPM_HISTORY_NUMBER ? 1 : rank == MPM_HISTORY_VECTOR ? dim : dim == 2 ? 1 : 3;
}

mpm_history_column mpm_history_get(const mpm_simulation *simulation, int index)
{
    mpm_history_column column = {.collider = -1};
    const mpm_history_entry *entry;
    int owner;
    for (int k = 0; (entry = find_entry(simulation, k, &owner)); k++) {
        const int width = width_of(entry->rank, simulation->settings.dim);
        if (k == index)
            return (mpm_history_column){entry->name, column.offset, width, owner < 0 ? -1 : owner};
        column.offset += width;
    }
    return column;
}

int mpm_history_length(const mpm_simulation *simulation)
{
    return mpm_history_get(simulation, -1).offset;
}

mpm_status mpm_history_reserve(mpm_simulation *simulation)
{
    const size_t length = (size_t)mpm_history_length(simulation);
    return mpm_memory_grow(&simulation->allocator, (void **)&simulation->history, &simulation->history_capacity,
                           simulation->history_rows, simulation->history_rows + 1, length * sizeof(double))
               ? MPM_OUT_OF_MEMORY
               : MPM_OK;
}

static struct sample sample_of(const mpm_simulation *simulation)
{
    const mpm_totals totals = mpm_totals_of(simulation);
    struct sample sample = {.totals = totals, .dt = simulation->dt,
                            .energy = totals.kinetic + totals.elastic + totals.gravitational};
    memcpy(sample.body_impulse, simulation->body_impulse, sizeof sample.body_impulse);
    memcpy(sample.wall_impulse, simulation->impulse, sizeof sample.wall_impulse);
    return sample;
}

void mpm_history_record(mpm_simulation *simulation)
{
    const mpm_settings *settings = &simulation->settings;
    if (settings->history == 0 || simulation->steps % settings->history)
        return;
    const struct sample sample = sample_of(simulation);
    double *record = simulation->history + simulation->history_rows++ * (size_t)mpm_history_length(simulation);
    const mpm_history_entry *entry;
    int owner;
    for (int k = 0; (entry = find_entry(simulation, k, &owner)); k++) {
        const void *source = owner == OF_MATERIAL     ? (const void *)&sample
                             : owner == OF_INTEGRATOR ? simulation->integrator->recorded(simulation)
                                                      : &simulation->collider_books[owner];
        const double *values = (const double *)((const char *)source + entry->offset);
        const int width = width_of(entry->rank, settings->dim);
        const bool about_z = entry->rank == MPM_HISTORY_TURNING && width == 1;
        memcpy(record, about_z ? values + 2 : values, (size_t)width * sizeof *record);
        record += width;
    }
    memset(simulation->body_impulse, 0, sizeof simulation->body_impulse);
    memset(simulation->impulse, 0, sizeof simulation->impulse);
    for (size_t k = 0; k < simulation->collider_count; k++)
        simulation->collider_books[k] = (mpm_collider_book){0};
}
