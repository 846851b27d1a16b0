/* SPDX-License-Identifier: MIT
 *
 * Fields of particles in tiles for the store: the kernels convert between tiles and the rows of users.
 */
#include "mpm/views.h"

#include <string.h>

#include "base/real.h"
#include "materials/parameters.h"
#include "mpm/describe.h"
#include "mpm/rebin.h"
#include "mpm/replicas.h"
#include "mpm/rigid_motion.h"
#include "mpm/state.h"

/* Gives every component of a law's or a user's field its own column. */
static mpm_status lay_out(void *self, mpm_field *fields, int count)
{
    mpm_simulation *simulation = self;
    mpm_particles *particles = &simulation->particles;
    double initial[MPM_MOST_COLUMNS];
    int columns = 0;
    for (int f = 0; f < count; f++) {
        fields[f].column = particles->columns + columns;
        fields[f].width = 1;
        for (int c = 0; c < mpm_rank_components(fields[f].rank, particles->dim); c++) {
            if (particles->columns + columns == MPM_MOST_COLUMNS)
                return MPM_TOO_LARGE;
            initial[columns++] = mpm_fields_initial(fields[f].rank, particles->dim, c, fields[f].initial);
        }
    }
    return mpm_particles_add_columns(particles, columns, initial);
}

/* Is this field part of the state of any particle? */
static bool is_writable(const void *self, const mpm_field *field)
{
    const mpm_simulation *simulation = self;
    if (field->state_of == MPM_STATE_OF_NONE || field->state_of == MPM_STATE_OF_ALL)
        return field->state_of == MPM_STATE_OF_ALL;
    for (size_t g = 0; g < simulation->particles.group_count; g++) {
        const mpm_material *material = &simulation->materials[simulation->particles.groups[g].material];
        const bool keeps_J = mpm_laws_get(material->law)->strain == MPM_KEEPS_J;
        if (field->state_of == MPM_STATE_OF_OWNERS
                ? mpm_material_keeps(material, field->column, simulation->settings.dim)
                : keeps_J == (field->state_of == MPM_STATE_OF_J_LAWS))
            return true;
    }
    return false;
}

/* The columns of a field: from `*first` to `*end` - 1. */
static void find_columns(const mpm_simulation *simulation, int field, int *first, int *end)
{
    const int dim = simulation->settings.dim;
    const mpm_field *row = &simulation->store.fields.row[field];
    const bool has_own = row->column >= 0; /* J is in the columns of F */
    *first = has_own ? row->column : mpm_fields_F(dim);
    *end = *first + (has_own ? mpm_rank_components(row->rank, dim) / row->width : dim);
}

static mpm_particles map(const mpm_simulation *simulation, int field, mpm_access access)
{
    int first, end;
    find_columns(simulation, field, &first, &end);
    return mpm_particles_map(&simulation->particles, first, end, access);
}

static void unmap(const mpm_simulation *simulation, int field)
{
    int first, end;
    find_columns(simulation, field, &first, &end);
    mpm_particles_unmap(&simulation->particles, first, end);
}

/* Where memory is distributed, the materials of particles follow from their groups. */
static void write_materials(const mpm_simulation *simulation, int32_t *rows)
{
    const mpm_particles mapped = mpm_particles_map(&simulation->particles, 0, 0, MPM_READ);
    const size_t lanes = (size_t)mapped.lanes, bytes = (size_t)simulation->store.count * sizeof *rows;
    memset(rows, 0, bytes);
    for (size_t g = 0; g < mapped.group_count; g++) {
        const mpm_group *group = &mapped.groups[g];
        const int32_t *row = mapped.row + (size_t)group->first_tile * lanes;
        for (const int32_t *end = row + (size_t)group->tiles * lanes; row < end; row++)
            if (*row >= 0)
                rows[*row] = group->material;
    }
    mpm_particles_unmap(&simulation->particles, 0, 0);
    mpm_replicas_join_rows(simulation, rows, bytes);
}

static void write_out(void *self, int field, void *rows)
{
    const mpm_simulation *simulation = self;
    if (field == MPM_FIELD_MATERIAL) {
        write_materials(simulation, rows);
        return;
    }
    mpm_particles particles = map(simulation, field, MPM_READ);
    const mpm_exchange exchange = mpm_describe_exchange(simulation, &particles, field, rows);
    simulation->kernels->write_out(&exchange);
    unmap(simulation, field);
    mpm_replicas_join_rows(simulation, rows, (size_t)simulation->store.count *
                                                 mpm_store_row_bytes(&simulation->store, field));
}

static int64_t inspect(void *self, int field, void *rows, uint8_t *flaws)
{
    const mpm_simulation *simulation = self;
    mpm_particles particles = map(simulation, field, MPM_READ);
    mpm_exchange exchange = mpm_describe_exchange(simulation, &particles, field, rows);
    exchange.flaws = flaws;
    simulation->kernels->inspect(&exchange);
    unmap(simulation, field);
    return exchange.differing;
}

/* Counts or freezes the particles that were written outside the domain. */
static void account_for_outside(mpm_simulation *simulation, mpm_exchange *written)
{
    const mpm_particles *particles = &simulation->particles;
    int64_t counts[] = {written->outside, written->clamped};
    if (simulation->distributed)
        mpm_team_add(simulation->team, counts, 2);
    if (!counts[0])
        return;
    simulation->run.health[MPM_HEALTH_LEFT_DOMAIN] += counts[0];
    simulation->run.health[MPM_HEALTH_CLAMPED] += counts[1];
    if (counts[1] == counts[0])
        return;
    mpm_particles mapped = mpm_particles_map(particles, 0, particles->columns, MPM_WRITE);
    written->particles = &mapped;
    simulation->kernels->freeze_outside(written);
    mpm_particles_unmap(particles, 0, particles->columns);
    simulation->frozen = true;
    const int changed[] = {MPM_FIELD_V, MPM_FIELD_C, MPM_FIELD_MASS, MPM_FIELD_VOLUME};
    for (size_t k = 0; k < sizeof changed / sizeof *changed; k++)
        mpm_store_outdate(&simulation->store, changed[k]);
}

static void read_in_mapped(mpm_simulation *simulation, mpm_exchange *exchange, int field, void *saved, size_t bytes)
{
    mpm_particles particles = map(simulation, field, MPM_WRITE);
    exchange->particles = &particles;
    if (saved)
        memcpy(saved, particles.column[MPM_COLUMN_X], bytes);
    simulation->kernels->read_in(exchange);
    unmap(simulation, field);
}

/* The binning has failed: undoes what was read in. */
static void restore_positions(mpm_simulation *simulation, const void *saved, size_t bytes)
{
    const mpm_particles particles = map(simulation, MPM_FIELD_X, MPM_WRITE);
    memcpy(particles.column[MPM_COLUMN_X], saved, bytes);
    unmap(simulation, MPM_FIELD_X);
}

/* Reads in positions. The particles are placed anew and binned before the resident positions are used again. */
static mpm_status read_in_positions(mpm_simulation *simulation, mpm_exchange *exchange, int64_t differing)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    const mpm_particles *p = &simulation->particles;
    const size_t bytes = (size_t)p->tiles * (size_t)p->lanes * (size_t)p->dim * p->real_size;
    exchange->placements = mpm_memory_new(allocator, (size_t)differing, sizeof *exchange->placements);
    void *saved = mpm_memory_new(allocator, bytes, 1);
    mpm_status status = mpm_replicas_agree(simulation, exchange->placements && saved ? MPM_OK : MPM_OUT_OF_MEMORY);
    if (!status) {
        if (exchange->rows)
            read_in_mapped(simulation, exchange, MPM_FIELD_X, saved, bytes);
        status = mpm_rebin_run(simulation, exchange->placements, exchange->placement_count, MPM_BIN_ALL);
        if (!status)
            account_for_outside(simulation, exchange);
        else if (exchange->rows)
            restore_positions(simulation, saved, bytes);
    }
    mpm_memory_free(allocator, saved);
    mpm_memory_free(allocator, exchange->placements);
    return status;
}

static mpm_status read_in(void *self, int field, void *rows, int64_t differing)
{
    mpm_simulation *simulation = self;
    mpm_exchange exchange = mpm_describe_exchange(simulation, NULL, field, rows);
    mpm_status status = MPM_OK;
    mpm_rigid_motion_note(simulation);
    if (field == MPM_FIELD_X)
        status = read_in_positions(simulation, &exchange, differing);
    else if (rows)
        read_in_mapped(simulation, &exchange, field, NULL, 0);
    if (status)
        return status;
    simulation->measured = false;
    simulation->bodies_due = simulation->has_rigid;
    simulation->bodies_restored = false;
    simulation->poses_due |= simulation->has_rigid && (field == MPM_FIELD_X || field == MPM_FIELD_F);
    /* F and J show one state: writing one makes the other stale. */
    if (field == MPM_FIELD_F || field == MPM_FIELD_J)
        mpm_store_outdate(&simulation->store, field == MPM_FIELD_F ? MPM_FIELD_J : MPM_FIELD_F);
    return MPM_OK;
}

/* ---- parameters that must go together --------------------------------------------------------------------------- */

/* Finds the rows of each varying parameter of a material: those written, or a copy of what is there (`own`). */
static mpm_status find_rows(mpm_simulation *simulation, void *const *written, mpm_parameter_rows *rows, void **own)
{
    const mpm_store *store = &simulation->store;
    for (int k = 0; k < rows->material->varying; k++) {
        const int field = mpm_parameters_field(&store->fields, rows->material, k);
        if ((rows->values[k] = written[field]))
            continue;
        rows->values[k] = own[k] = mpm_memory_new(&simulation->run.allocator, (size_t)store->count, store->real_size);
        if (!own[k])
            return MPM_OUT_OF_MEMORY;
        write_out(simulation, field, own[k]);
    }
    return MPM_OK;
}

static mpm_status inspect_together(void *self, void *const *written, uint8_t *flaws, const char **words)
{
    mpm_simulation *simulation = self;
    const mpm_store *store = &simulation->store;
    mpm_status status = MPM_OK;
    for (size_t m = 0; m < simulation->material_count && !status; m++) {
        mpm_parameter_rows rows = {&simulation->materials[m], (int32_t)m, store->rows[MPM_FIELD_MATERIAL], store->count,
                                   store->real_size, {NULL}};
        void *own[MPM_LAW_PARAMETERS] = {NULL};
        if (!mpm_parameters_written(&store->fields, rows.material, written))
            continue;
        if (!(status = find_rows(simulation, written, &rows, own)))
            mpm_parameters_inspect(&rows, flaws, words);
        for (int k = 0; k < rows.material->varying; k++)
            mpm_memory_free(&simulation->run.allocator, own[k]);
    }
    return status;
}

const mpm_store_method mpm_views_method = {lay_out, is_writable, write_out, inspect, read_in, inspect_together};
