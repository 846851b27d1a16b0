/* SPDX-License-Identifier: MIT */
#include "integrate/simulation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "integrate/dispatch.h"
#include "integrate/state.h"

mpm_status mpm_simulation_new(mpm_simulation **result, const mpm_allocator *allocator, const mpm_settings *settings)
{
    *result = NULL;
    if (mpm_settings_flaw(settings))
        return MPM_BAD_ARGUMENT;
    const mpm_kernels *kernels = mpm_dispatch_kernels(settings->isa, settings->dim, settings->real_size);
    mpm_simulation *simulation = mpm_memory_new(allocator, 1, sizeof *simulation);
    if (!simulation)
        return MPM_OUT_OF_MEMORY;
    simulation->allocator = *allocator;
    simulation->settings = *settings;
    simulation->settings.isa = kernels->isa; /* lives as long as the code */
    simulation->kernels = kernels;
    simulation->integrator = mpm_integrator_get(settings->integrator);
    simulation->is_synchronized = true;
    simulation->particles = mpm_particles_empty(settings->dim, kernels->lanes, settings->scheme.degree, settings->real_size);
    simulation->fields = mpm_fields_of_core(settings->dim);
    if (settings->dim == 2)
        simulation->settings.gravity[2] = 0;
    *result = simulation;
    return MPM_OK;
}

void mpm_simulation_free(mpm_simulation *simulation)
{
    if (!simulation)
        return;
    mpm_allocator allocator = simulation->allocator;
    mpm_views_forget(simulation);
    mpm_particles_clear(&simulation->particles, &allocator);
    mpm_grid_clear(&simulation->grid, &allocator);
    for (size_t k = 0; k < simulation->collider_count; k++)
        mpm_collider_clear(&simulation->colliders[k], &allocator);
    mpm_memory_free(&allocator, simulation->colliders);
    mpm_memory_free(&allocator, simulation->collider_books);
    mpm_memory_free(&allocator, simulation->materials);
    mpm_memory_free(&allocator, simulation->id);
    mpm_memory_free(&allocator, simulation->material);
    mpm_memory_free(&allocator, simulation->history);
    mpm_memory_free(&allocator, simulation);
}

/* Appends rows to the table, and their columns. On error nothing has changed. */
static mpm_status add_rows(mpm_simulation *simulation, mpm_field *rows, int count)
{
    mpm_particles *particles = &simulation->particles;
    const int dim = particles->dim;
    double initial[MPM_MOST_COLUMNS];
    int columns = 0;
    for (int r = 0; r < count; r++) {
        rows[r].column = particles->columns + columns;
        rows[r].width = 1;
        for (int c = 0; c < mpm_rank_components(rows[r].rank, dim); c++) {
            if (particles->columns + columns == MPM_MOST_COLUMNS)
                return MPM_TOO_LARGE;
            initial[columns++] = mpm_fields_initial(rows[r].rank, dim, c, rows[r].initial);
        }
    }
    if (simulation->fields.count + count > MPM_MOST_FIELDS)
        return MPM_TOO_LARGE;
    if (mpm_particles_add_columns(particles, &simulation->allocator, columns, initial))
        return MPM_OUT_OF_MEMORY;
    memcpy(simulation->fields.row + simulation->fields.count, rows, (size_t)count * sizeof *rows);
    simulation->fields.count += count;
    return MPM_OK;
}

mpm_status mpm_simulation_add_field(mpm_simulation *simulation, const char *name, const char *unit, mpm_rank rank,
                                    double initial)
{
    mpm_field row = {.rank = rank, .owner = MPM_OWNER_USER, .state_of = MPM_STATE_OF_ALL, .low = -INFINITY,
                     .high = INFINITY, .initial = initial};
    if (strlen(name) >= sizeof row.name || strlen(unit) >= sizeof row.unit)
        return MPM_TOO_LARGE;
    strcpy(row.name, name);
    strcpy(row.unit, unit);
    return add_rows(simulation, &row, 1);
}

/* The fields of a law's history, but for those that another law has brought. On error nothing has changed. */
static mpm_status add_history(mpm_simulation *simulation, const mpm_law *law)
{
    mpm_field rows[MPM_LAW_FIELDS];
    int count = 0;
    for (int f = 0; f < law->fields; f++) {
        const mpm_history_field *field = &law->field[f];
        if (mpm_fields_find(&simulation->fields, field->name) >= 0)
            continue;
        mpm_field *row = &rows[count++];
        *row = (mpm_field){.rank = field->rank, .owner = MPM_OWNER_LAW, .state_of = MPM_STATE_OF_OWNERS,
                           .low = field->low, .high = field->high, .initial = field->initial};
        snprintf(row->name, sizeof row->name, "%s", field->name);
        snprintf(row->unit, sizeof row->unit, "%s", field->unit);
    }
    return add_rows(simulation, rows, count);
}

/* Where a material finds its history. */
static void set_columns(const mpm_simulation *simulation, mpm_material *material)
{
    const mpm_law *law = mpm_laws_get(material->law);
    for (int f = 0, component = 0; f < law->fields; f++) {
        const mpm_field *row = &simulation->fields.row[mpm_fields_find(&simulation->fields, law->field[f].name)];
        for (int c = 0; c < mpm_rank_components(row->rank, simulation->settings.dim); c++)
            material->column[component++] = row->column + c;
    }
}

mpm_status mpm_simulation_add_material(mpm_simulation *simulation, const mpm_material *material)
{
    if (material->law < 0 || material->law >= MPM_LAW_COUNT)
        return MPM_BAD_ARGUMENT;
    const mpm_law *law = mpm_laws_get(material->law);
    mpm_material added = *material;
    if (mpm_memory_grow(&simulation->allocator, (void **)&simulation->materials, &simulation->material_capacity,
                        simulation->material_count, simulation->material_count + 1, sizeof *material))
        return MPM_OUT_OF_MEMORY;
    const mpm_status status = add_history(simulation, law);
    if (status)
        return status;
    set_columns(simulation, &added);
    simulation->particles.has_F |= law->strain == MPM_KEEPS_F;
    simulation->materials[simulation->material_count++] = added;
    return MPM_OK;
}

int mpm_simulation_materials(const mpm_simulation *simulation)
{
    return (int)simulation->material_count;
}

static bool is_collider(const mpm_collider *collider, int dim)
{
    const mpm_motion *motion = &collider->motion;
    return collider->name && collider->shape.dim == dim && !mpm_shape_flaw(&collider->shape) &&
           (unsigned)collider->contact <= MPM_SEPARATE && collider->friction >= 0 &&
           (unsigned)motion->kind <= MPM_MOTION_KEYFRAMES && (motion->keys || !motion->key_count) &&
           (motion->key_count || motion->kind != MPM_MOTION_KEYFRAMES);
}

mpm_status mpm_simulation_add_collider(mpm_simulation *simulation, const mpm_collider *collider)
{
    if (!is_collider(collider, simulation->settings.dim))
        return MPM_BAD_ARGUMENT;
    const size_t count = simulation->collider_count;
    mpm_collider_book *books =
        mpm_memory_new(&simulation->allocator, count + 1, sizeof *books); /* all empty: nothing has happened yet */
    if (!books || mpm_memory_grow(&simulation->allocator, (void **)&simulation->colliders,
                                  &simulation->collider_capacity, count, count + 1, sizeof *collider) ||
        mpm_collider_copy(&simulation->colliders[count], &simulation->allocator, collider)) {
        mpm_memory_free(&simulation->allocator, books);
        return MPM_OUT_OF_MEMORY;
    }
    mpm_memory_free(&simulation->allocator, simulation->collider_books);
    simulation->collider_books = books;
    simulation->collider_count++;
    return MPM_OK;
}

const mpm_collider *mpm_simulation_colliders(const mpm_simulation *simulation, size_t *count)
{
    *count = simulation->collider_count;
    return simulation->colliders;
}

/* ---- particles come and go -------------------------------------------------------------------------------------- */

/* What views may hold is read in first, so that nothing written is lost when the arrays are replaced. */
static mpm_status begin_change(mpm_simulation *simulation)
{
    mpm_status status = mpm_sweeps_begin(simulation, 1);
    if (!status && (status = mpm_views_read_in(simulation)))
        mpm_sweeps_end(simulation);
    return status;
}

static void end_change(mpm_simulation *simulation, mpm_status status)
{
    mpm_sweeps_end(simulation);
    if (status)
        return;
    simulation->measured = false;
    simulation->grid_valid = false;
    mpm_views_forget(simulation);
}

/* Row tables and waiting tiles for `count` more particles. */
static mpm_status make_room(mpm_simulation *simulation, ptrdiff_t count)
{
    const size_t rows = (size_t)simulation->particles.count, wanted = rows + (size_t)count;
    const size_t lanes = (size_t)simulation->particles.lanes;
    if (wanted > INT32_MAX / 2)
        return MPM_TOO_LARGE;
    if (mpm_memory_grow(&simulation->allocator, (void **)&simulation->id, &simulation->id_capacity, rows, wanted,
                        sizeof *simulation->id) ||
        mpm_memory_grow(&simulation->allocator, (void **)&simulation->material, &simulation->row_material_capacity,
                        rows, wanted, sizeof *simulation->material))
        return MPM_OUT_OF_MEMORY;
    return mpm_particles_reserve(&simulation->particles, &simulation->allocator, ((size_t)count + lanes - 1) / lanes);
}

static mpm_status insert(mpm_simulation *simulation, mpm_insertion *insertion)
{
    mpm_particles *particles = &simulation->particles;
    const ptrdiff_t tiles = particles->tiles, lanes = particles->lanes;
    const ptrdiff_t waiting = (insertion->count + lanes - 1) / lanes;
    insertion->particles = particles;
    insertion->first_slot = tiles * lanes;
    insertion->first_row = (int32_t)particles->count;
    insertion->placements = mpm_memory_new(&simulation->allocator, (size_t)insertion->count, sizeof *insertion->placements);
    if (!insertion->placements)
        return MPM_OUT_OF_MEMORY;
    memset(particles->row + tiles * lanes, 0xff, (size_t)(waiting * lanes) * sizeof *particles->row);
    simulation->kernels->insert(insertion);
    particles->tiles = tiles + waiting;
    mpm_status status = mpm_rebin_run(simulation, insertion->placements, (size_t)insertion->count, MPM_BIN_ALL);
    if (status)
        particles->tiles = tiles;
    mpm_memory_free(&simulation->allocator, insertion->placements);
    return status;
}

/* What new particles of a material begin with in the columns of laws and users. */
static void set_initial(const mpm_simulation *simulation, const mpm_material *material, double initial[MPM_MOST_COLUMNS])
{
    const int dim = simulation->settings.dim;
    const mpm_law *law = mpm_laws_get(material->law);
    memcpy(initial, simulation->particles.initial, sizeof simulation->particles.initial);
    for (int f = 0, component = 0; f < law->fields; f++) {
        const mpm_history_field *field = &law->field[f];
        for (int c = 0; c < mpm_rank_components(field->rank, dim); c++, component++)
            if (field->initial_parameter)
                initial[material->column[component]] =
                    mpm_fields_initial(field->rank, dim, c, material->values[field->initial_parameter - 1]);
    }
}

mpm_status mpm_simulation_add(mpm_simulation *simulation, ptrdiff_t count, const double *x, const double *v,
                              const double *C, const double *F, const double *volume, const double *mass, int material)
{
    if (count < 0 || material < 0 || (size_t)material >= simulation->material_count)
        return MPM_BAD_ARGUMENT;
    if (count == 0)
        return MPM_OK;
    if (!x || !v || !volume || !mass)
        return MPM_BAD_ARGUMENT;
    mpm_insertion insertion = {
        .dx = simulation->settings.dx,
        .count = count,
        .material = material,
        .keeps_J = mpm_laws_get(simulation->materials[material].law)->strain == MPM_KEEPS_J,
        .x = x, .v = v, .C = C, .F = F, .volume = volume, .mass = mass,
    };
    memcpy(insertion.lower, simulation->settings.lower, sizeof insertion.lower);
    set_initial(simulation, &simulation->materials[material], insertion.initial);
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        insertion.period[axis] = mpm_walls_period(simulation->settings.walls, axis, simulation->settings.cells[axis]);
    mpm_status status = begin_change(simulation);
    if (status)
        return status;
    const ptrdiff_t rows = simulation->particles.count;
    if (!(status = make_room(simulation, count)) && !(status = insert(simulation, &insertion)))
        for (ptrdiff_t row = rows; row < rows + count; row++) {
            simulation->id[row] = simulation->next_id++;
            simulation->material[row] = material;
            simulation->volumes_due |= volume[row - rows] == 0;
        }
    end_change(simulation, status);
    return status;
}

static double mass_at(const mpm_particles *particles, ptrdiff_t slot)
{
    return particles->real_size == 4 ? (double)((const float *)particles->column[MPM_COLUMN_MASS])[slot]
                                     : ((const double *)particles->column[MPM_COLUMN_MASS])[slot];
}

static void clear_mass(mpm_particles *particles, ptrdiff_t slot)
{
    if (particles->real_size == 4)
        ((float *)particles->column[MPM_COLUMN_MASS])[slot] = 0;
    else
        ((double *)particles->column[MPM_COLUMN_MASS])[slot] = 0;
}

/* Rows close up: new_row[row] for those that stay, -1 for the others. */
static void renumber(mpm_simulation *simulation, ptrdiff_t old_rows, int32_t *new_row)
{
    int32_t next = 0;
    for (ptrdiff_t row = 0; row < old_rows; row++) {
        if (new_row[row] < 0)
            continue;
        simulation->id[next] = simulation->id[row];
        simulation->material[next] = simulation->material[row];
        new_row[row] = next++;
    }
    mpm_particles *particles = &simulation->particles;
    for (ptrdiff_t slot = 0; slot < particles->tiles * particles->lanes; slot++)
        if (particles->row[slot] >= 0)
            particles->row[slot] = new_row[particles->row[slot]];
}

/* Removes the rows of `mask` (may be NULL) and all particles without mass. Within a pool. */
static mpm_status remove_rows(mpm_simulation *simulation, const uint8_t *mask)
{
    const mpm_allocator *allocator = &simulation->allocator;
    mpm_particles *particles = &simulation->particles;
    const ptrdiff_t rows = particles->count, slots = particles->tiles * particles->lanes;
    int32_t *new_row = mpm_memory_new(allocator, (size_t)rows, sizeof *new_row);
    void *saved = mpm_memory_new(allocator, (size_t)slots, particles->real_size);
    mpm_status status = MPM_OUT_OF_MEMORY;
    if (new_row && saved) {
        memcpy(saved, particles->column[MPM_COLUMN_MASS], (size_t)slots * particles->real_size);
        for (ptrdiff_t slot = 0; slot < slots; slot++) {
            const int32_t row = particles->row[slot];
            if (row >= 0 && mask && mask[row])
                clear_mass(particles, slot);
            if (row >= 0)
                new_row[row] = mass_at(particles, slot) > 0 ? 0 : -1;
        }
        status = mpm_rebin_run(simulation, NULL, 0, MPM_BIN_WITHOUT_MASSLESS);
        if (status)
            memcpy(particles->column[MPM_COLUMN_MASS], saved, (size_t)slots * particles->real_size);
        else {
            simulation->frozen = false;
            renumber(simulation, rows, new_row);
        }
    }
    mpm_memory_free(allocator, saved);
    mpm_memory_free(allocator, new_row);
    return status;
}

mpm_status mpm_simulation_delete(mpm_simulation *simulation, const uint8_t *mask)
{
    mpm_status status = begin_change(simulation);
    if (status)
        return status;
    const ptrdiff_t before = simulation->particles.count;
    status = remove_rows(simulation, mask);
    simulation->health.deleted += before - simulation->particles.count;
    end_change(simulation, status);
    return status;
}

/* ---- running and looking ---------------------------------------------------------------------------------------- */

mpm_status mpm_simulation_run(mpm_simulation *simulation, int64_t steps, double end, double pause, mpm_poll poll,
                              void *context)
{
    const int64_t before = simulation->steps;
    const mpm_goal goal = {
        .last_step = steps > INT64_MAX - before ? INT64_MAX : before + steps,
        .end = end, .pause = pause, .poll = poll, .context = context,
    };
    const mpm_status status = mpm_run_towards(simulation, &goal);
    if (simulation->steps > before)
        mpm_views_outdate(simulation);
    const double start = mpm_clock_seconds();
    mpm_views_refresh(simulation);
    mpm_simulation_spend(simulation, MPM_PHASE_VIEWS, start);
    /* Removal sorts particles anew: it waits for the end of the run, so that a pause changes nothing. */
    const bool paused = !status && simulation->steps - before < steps && simulation->time < end;
    if (simulation->frozen && !paused) {
        mpm_status removal = mpm_simulation_delete(simulation, NULL);
        return status ? status : removal;
    }
    return status;
}

mpm_status mpm_simulation_step_forced(mpm_simulation *simulation, const double *body_force, double end)
{
    simulation->body_force = body_force;
    const mpm_status status = mpm_simulation_run(simulation, 1, end, INFINITY, NULL, NULL);
    simulation->body_force = NULL;
    memset(simulation->force, 0, sizeof simulation->force);
    return status;
}

static mpm_status refresh(mpm_simulation *simulation)
{
    mpm_status status = mpm_sweeps_begin(simulation, 1);
    if (status)
        return status;
    const bool due = simulation->binning_due;
    simulation->binning_due = false; /* looking needs no fresh bins, and the grid of the last step stays */
    status = mpm_refresh_state(simulation);
    simulation->binning_due |= due && simulation->drift > 0;
    mpm_sweeps_end(simulation);
    return status;
}

mpm_status mpm_simulation_totals(mpm_simulation *simulation, mpm_totals *totals)
{
    mpm_status status = refresh(simulation);
    if (!status)
        *totals = mpm_totals_of(simulation);
    return status;
}

mpm_status mpm_simulation_stable_dt(mpm_simulation *simulation, mpm_stable_dt *bound)
{
    mpm_status status = refresh(simulation);
    if (!status)
        *bound = simulation->integrator->bound(simulation);
    return status;
}

mpm_status mpm_simulation_field(mpm_simulation *simulation, int field, mpm_mirror **mirror)
{
    return mpm_views_get(simulation, field, mirror);
}

const mpm_fields *mpm_simulation_fields(const mpm_simulation *simulation)
{
    return &simulation->fields;
}

double mpm_simulation_time(const mpm_simulation *simulation)
{
    return simulation->time;
}

double mpm_simulation_dt(const mpm_simulation *simulation)
{
    return simulation->dt;
}

int64_t mpm_simulation_next_id(const mpm_simulation *simulation)
{
    return simulation->next_id;
}

int64_t mpm_simulation_steps(const mpm_simulation *simulation)
{
    return simulation->steps;
}

ptrdiff_t mpm_simulation_count(const mpm_simulation *simulation)
{
    return simulation->particles.count;
}

const mpm_settings *mpm_simulation_settings(const mpm_simulation *simulation)
{
    return &simulation->settings;
}

double mpm_simulation_seconds(const mpm_simulation *simulation, mpm_phase phase)
{
    return simulation->seconds[phase];
}

const mpm_health *mpm_simulation_health(const mpm_simulation *simulation)
{
    return &simulation->health;
}

const mpm_trouble *mpm_simulation_trouble(const mpm_simulation *simulation)
{
    return &simulation->trouble;
}

void mpm_simulation_set_threads(mpm_simulation *simulation, int threads)
{
    simulation->settings.threads = threads;
}

void mpm_simulation_memory(const mpm_simulation *simulation, size_t *particles, size_t *grid, size_t *views,
                           size_t *colliders)
{
    *particles = mpm_particles_bytes(&simulation->particles) + simulation->id_capacity * sizeof *simulation->id +
                 simulation->row_material_capacity * sizeof *simulation->material;
    *grid = simulation->grid.bytes;
    *colliders = 0;
    for (size_t k = 0; k < simulation->collider_count; k++)
        *colliders += mpm_collider_bytes(&simulation->colliders[k]);
    *views = 0;
    for (int field = 0; field < simulation->fields.count; field++) {
        const mpm_mirror *mirror = simulation->mirrors[field];
        if (mirror)
            *views += (size_t)mirror->rows * (size_t)mirror->components * mirror->element;
    }
}

const double *mpm_simulation_history(const mpm_simulation *simulation, size_t *rows, int *length)
{
    *length = mpm_history_length(simulation);
    *rows = simulation->history_rows;
    return simulation->history;
}

static double real_at(const void *array, size_t index, size_t real_size)
{
    return real_size == 4 ? (double)((const float *)array)[index] : ((const double *)array)[index];
}

size_t mpm_simulation_grid(const mpm_simulation *simulation, double *x, void *mass, void *v)
{
    const mpm_settings *settings = &simulation->settings;
    const size_t size = settings->real_size;
    const int dim = settings->dim, side = mpm_block_side(dim);
    const char *nodes = simulation->grid.vector[MPM_GRID_VELOCITY];
    size_t active = 0;
    if (!simulation->grid_valid)
        return 0;
    for (size_t b = 0; b < simulation->grid.block_count; b++)
        for (int n = 0; n < MPM_BLOCK_NODES; n++) {
            const size_t record = (b * MPM_BLOCK_NODES + (size_t)n) * 4;
            if (!(real_at(nodes, record + 3, size) > 0))
                continue;
            if (x) {
                for (int a = dim - 1, rest = n; a >= 0; a--, rest /= side)
                    x[active * (size_t)dim + (size_t)a] =
                        settings->lower[a] +
                        settings->dx * ((double)simulation->grid.blocks[b].block[a] * side + rest % side);
                memcpy((char *)mass + active * size, nodes + (record + 3) * size, size);
                memcpy((char *)v + active * (size_t)dim * size, nodes + record * size, (size_t)dim * size);
            }
            active++;
        }
    return active;
}
