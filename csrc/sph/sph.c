/* SPDX-License-Identifier: MIT */
#include "sph/sph.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/real.h"
#include "materials/fluid.h"
#include "run/alter.h"
#include "run/kept.h"
#include "sph/dispatch.h"
#include "sph/solids.h"
#include "sph/state.h"
#include "sph/step.h"
#include "sph/sums.h"
#include "sph/totals.h"

/* ---- settings --------------------------------------------------------------------------------------------------- */

mpm_sph_settings mpm_sph_settings_default(int dim)
{
    mpm_sph_settings settings = {.dim = dim, .real_size = sizeof(double), .cells = {32, 32, 32}, .spacing = 1.0 / 32,
                                 .smoothing = 1, .density = 1000, .max_dt = INFINITY, .history = 1, .threads = 1};
    for (int face = 0; face < 6; face++)
        settings.walls[face].contact = MPM_SLIP;
    return settings;
}

#define AT(member) .offset = offsetof(mpm_sph_settings, member)

static const mpm_option rows[] = {
    {"cells", MPM_OPTION_CELLS, AT(cells), .range = MPM_FROM(1, 1 << 20)},
    /* Sums divide by 1e-8 h^3, and a particle has the mass density spacing^dim: beyond the ranges, numbers end. */
    {"spacing", MPM_OPTION_NUMBER, AT(spacing), .range = MPM_FROM(1e-90, 1e90), .single = MPM_FROM(1e-9, 1e9)},
    {"smoothing", MPM_OPTION_NUMBER, AT(smoothing), .range = MPM_FROM(0.8, 3)},
    {"density", MPM_OPTION_NUMBER, AT(density), .range = MPM_ABOVE(0, DBL_MAX)},
    {"kernel", MPM_OPTION_WORD, AT(kernel), .words = {"cubic", "wendland"}},
    {"viscosity", MPM_OPTION_WORD, AT(viscosity), .words = {"vector", "central"}},
    {"constant_viscosity", MPM_OPTION_EITHER, AT(kinematic), .words = {"dynamic", "kinematic"}},
    {"alpha", MPM_OPTION_NUMBER, AT(alpha), .range = MPM_FROM(0, 10)},
    {"xsph", MPM_OPTION_NUMBER, AT(xsph), .range = MPM_FROM(0, 1)},
    {"repulsion", MPM_OPTION_NUMBER, AT(repulsion), .range = MPM_FROM(0, 1)},
    {"tension", MPM_OPTION_FLAG, AT(tension)},
    {0},
};

const mpm_options mpm_sph_options = {"sph", MPM_FOR_FLUID, rows};

static const char *axis_flaw(const mpm_sph_settings *settings, int axis)
{
    for (const mpm_wall *wall = &settings->walls[2 * axis]; wall < &settings->walls[2 * axis + 2]; wall++) {
        if (wall->friction != 0 || wall->restitution != 0)
            return "walls";
        if (settings->tension && wall->contact == MPM_SEPARATE)
            return "tension";
    }
    return (double)settings->cells[axis] >= 4 * settings->smoothing ? NULL : "cells";
}

const char *mpm_sph_settings_flaw(const mpm_sph_settings *settings)
{
    const char *flaw = mpm_options_flaw(&mpm_sph_options, &settings->common);
    for (int axis = 0; !flaw && axis < settings->dim; axis++)
        flaw = axis_flaw(settings, axis);
    return flaw || mpm_sph_dispatch_kernels(settings->isa, settings->dim, settings->real_size) ? flaw : "isa";
}

double mpm_sph_calibration(const mpm_sph_settings *settings)
{
    const int reach = (int)ceil(2 * settings->smoothing), depth = settings->dim == 3 ? reach : 0;
    double sum = 0;
    for (int z = -depth; z <= depth; z++)
        for (int y = -reach; y <= reach; y++)
            for (int x = -reach; x <= reach; x++)
                sum += mpm_sph_shape(settings->kernel, sqrt((double)(x * x + y * y + z * z)) / settings->smoothing);
    return pow(settings->smoothing, settings->dim) / (mpm_sph_factor(settings->kernel, settings->dim) * sum);
}

/* ---- the object ------------------------------------------------------------------------------------------------- */

static const mpm_method method; /* below */

static const mpm_field fields_of_sph[MPM_SPH_FIELDS] = {
    [MPM_SPH_X] = {"x", "m", MPM_VECTOR, .state_of = MPM_STATE_OF_ALL, .low = -INFINITY, .high = INFINITY},
    [MPM_SPH_V] = {"v", "m/s", MPM_VECTOR, .state_of = MPM_STATE_OF_ALL, .low = -INFINITY, .high = INFINITY},
    [MPM_SPH_J] = {"J", "1", MPM_SCALAR, .low = 0, .high = INFINITY, .initial = 1},
    [MPM_SPH_MASS] = {"mass", "kg", MPM_SCALAR, .low = 0, .high = INFINITY, .lasting = true},
    [MPM_SPH_VOLUME] = {"volume", "m\u00b3", MPM_SCALAR, .low = 0, .high = INFINITY, .lasting = true},
    [MPM_SPH_MATERIAL] = {"material", "1", MPM_SCALAR, MPM_TYPE_INT32, .lasting = true},
    [MPM_SPH_ID] = {"id", "1", MPM_SCALAR, MPM_TYPE_INT64, .lasting = true},
};

static mpm_sph_pass pass_of(mpm_sph *sph)
{
    const mpm_sph_settings *settings = &sph->settings;
    mpm_sph_pass pass = {.kernel = settings->kernel, .viscosity = settings->viscosity, .xsph = settings->xsph,
                         .h = settings->smoothing * settings->spacing, .range = MPM_SPH_APART * settings->spacing,
                         .walls = sph->boundary.walls,
                         .material = &sph->material, .lists = sph->lists, .measures = sph->measures,
                         .task_tile = sph->task_tile, .wall_force = sph->wall_force, .errors = sph->errors,
                         .kicks = sph->kicks};
    pass.inverse_side = 1 / (2 * pass.h);
    for (int a = 0; a < settings->dim; a++) {
        pass.lower[a] = pass.origin[a] = settings->lower[a];
        pass.upper[a] = settings->lower[a] + (double)settings->cells[a] * settings->spacing;
        if (settings->real_size == sizeof(float)) { /* so that the faces are numbers of the precision */
            pass.lower[a] = pass.origin[a] = (double)(float)pass.lower[a];
            pass.upper[a] = (double)(float)pass.upper[a];
        }
        pass.gravity[a] = settings->gravity[a];
    }
    return pass;
}

static mpm_status make_scratch(mpm_sph *sph)
{
    const mpm_allocator *allocator = &sph->run.allocator;
    sph->lists = mpm_memory_new(allocator, MPM_SPH_TASKS, sizeof *sph->lists);
    sph->measures = mpm_memory_new(allocator, MPM_SPH_TASKS, sizeof *sph->measures);
    sph->wall_force = mpm_memory_new(allocator, MPM_SPH_TASKS, sizeof *sph->wall_force);
    sph->errors = mpm_memory_new(allocator, MPM_SPH_TASKS, sizeof *sph->errors);
    sph->kicks = mpm_memory_new(allocator, MPM_SPH_TASKS, sizeof *sph->kicks);
    sph->task_tile = mpm_memory_new(allocator, MPM_SPH_TASKS + 1, sizeof *sph->task_tile);
    sph->memory = mpm_memory_new(allocator, MPM_SPH_COLLIDERS, sizeof *sph->memory);
    sph->memory_capacity = MPM_SPH_COLLIDERS;
    return sph->lists && sph->measures && sph->wall_force && sph->errors && sph->kicks && sph->task_tile &&
                   sph->memory
               ? MPM_OK
               : MPM_OUT_OF_MEMORY;
}

mpm_status mpm_sph_new(mpm_sph **result, const mpm_allocator *allocator, const mpm_sph_settings *settings)
{
    *result = NULL;
    if (mpm_sph_settings_flaw(settings))
        return MPM_BAD_ARGUMENT;
    mpm_sph *sph = mpm_memory_new(allocator, 1, sizeof *sph);
    if (!sph)
        return MPM_OUT_OF_MEMORY;
    sph->settings = *settings;
    sph->run = mpm_run_of(&method, sph, allocator, &sph->settings.common, &sph->boundary);
    sph->kernels = mpm_sph_dispatch_kernels(settings->isa, settings->dim, settings->real_size);
    sph->settings.isa = sph->kernels->isa; /* a string constant; the caller's may not last */
    if (settings->dim == 2)
        sph->settings.gravity[2] = 0;
    sph->boundary = (mpm_boundary){.dim = settings->dim, .dx = settings->spacing};
    memcpy(sph->boundary.lower, settings->lower, sizeof sph->boundary.lower);
    memcpy(sph->boundary.cells, settings->cells, sizeof sph->boundary.cells);
    memcpy(sph->boundary.walls, settings->walls, sizeof sph->boundary.walls);
    sph->store = (mpm_store){.run = &sph->run, .real_size = settings->real_size, .fields.dim = settings->dim};
    mpm_field fields[MPM_SPH_FIELDS];
    memcpy(fields, fields_of_sph, sizeof fields);
    if (mpm_store_add_fields(&sph->store, fields, MPM_SPH_FIELDS) || make_scratch(sph)) {
        mpm_sph_free(sph);
        return MPM_OUT_OF_MEMORY;
    }
    sph->pass = pass_of(sph);
    *result = sph;
    return MPM_OK;
}

static void free_slots(mpm_sph *sph)
{
    const mpm_allocator *allocator = &sph->run.allocator;
    struct sph_array *arrays[] = {
        &sph->image_x[0], &sph->image_x[1], &sph->image_v[0], &sph->image_v[1], &sph->image_row[0], &sph->image_row[1],
        &sph->slot_of_row, &sph->record, &sph->place[0], &sph->place[1], &sph->place[2], &sph->force, &sph->drift,
        &sph->rate, &sph->next, &sph->tiles, &sph->forces, &sph->touches};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        mpm_memory_free(allocator, arrays[k]->data);
    for (size_t c = 0; sph->memory && c < sph->memory_capacity; c++) {
        struct sph_cloud_memory *memory = &sph->memory[c];
        struct sph_array *parts[] = {&memory->key, &memory->order, &memory->page,
                                     &memory->raw, &memory->moved, &memory->counts};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            mpm_memory_free(allocator, parts[k]->data);
    }
}

void mpm_sph_free(mpm_sph *sph)
{
    if (!sph)
        return;
    mpm_allocator allocator = sph->run.allocator;
    free_slots(sph);
    for (int t = 0; sph->lists && t < MPM_SPH_TASKS; t++)
        mpm_memory_free(&allocator, sph->lists[t].entries);
    mpm_memory_free(&allocator, sph->lists);
    mpm_memory_free(&allocator, sph->measures);
    mpm_memory_free(&allocator, sph->wall_force);
    mpm_memory_free(&allocator, sph->errors);
    mpm_memory_free(&allocator, sph->kicks);
    mpm_memory_free(&allocator, sph->task_tile);
    mpm_memory_free(&allocator, sph->memory);
    mpm_sph_solids_clear(sph);
    mpm_store_clear(&sph->store);
    mpm_boundary_clear(&sph->boundary, &allocator);
    mpm_run_clear(&sph->run);
    mpm_memory_free(&allocator, sph);
}

/* ---- the scene -------------------------------------------------------------------------------------------------- */

/* What follows from the parameters of the fluid. */
static void take_parameters(mpm_sph *sph, const mpm_material *material)
{
    const struct fluid_parameters *fluid = MPM_VALUES(fluid, material->values);
    const double density = sph->settings.density;
    sph->material = *material;
    sph->material.values[MPM_PLACE(fluid, tension)] = sph->settings.tension;
    sph->density = sph->pass.density = density;
    sph->mass = sph->pass.mass =
        density * pow(sph->settings.spacing, sph->settings.dim) * mpm_sph_calibration(&sph->settings);
    sph->wave_speed = sqrt(fluid->bulk_modulus / density);
    sph->pass.eta = sph->settings.kinematic ? 0 : fluid->viscosity;
    sph->pass.nu = sph->settings.kinematic ? fluid->viscosity / density : 0;
    sph->pass.alpha = sph->settings.alpha * sph->wave_speed;
    sph->pass.repulsion = sph->settings.repulsion * sph->wave_speed * sph->wave_speed;
}

static mpm_status set_material(void *self, const mpm_material *material)
{
    mpm_sph *sph = self;
    if (material->law != MPM_FLUID || material->varying || sph->has_material)
        return MPM_BAD_ARGUMENT;
    sph->has_material = true;
    take_parameters(sph, material);
    return MPM_OK;
}

static bool rubs(const mpm_alteration *change)
{
    for (int face = 0; change->friction && face < 6; face++)
        if (change->friction[face] != 0)
            return true;
    return change->collider && change->collider->friction != 0;
}

static mpm_status alter(void *self, const mpm_alteration *change)
{
    mpm_sph *sph = self;
    const mpm_material *material = change->material;
    if ((material && (material->law != MPM_FLUID || material->varying || !sph->has_material || change->index)) ||
        rubs(change))
        return MPM_BAD_ARGUMENT;
    const mpm_status status =
        mpm_alter_scene(&sph->settings.common, &sph->boundary, &sph->run.allocator, change);
    if (!status && material)
        take_parameters(sph, material);
    for (int a = 0; a < sph->settings.dim; a++)
        sph->pass.gravity[a] = sph->settings.gravity[a];
    sph->settled = false;
    return status;
}

static bool deforms(const mpm_shape *shape)
{
    for (size_t k = 0; k < shape->node_count; k++)
        if (shape->nodes[k].kind == MPM_DEFORMING)
            return true;
    return false;
}

static mpm_status add_collider(void *self, const mpm_collider *collider)
{
    mpm_sph *sph = self;
    const size_t count = sph->boundary.count;
    if (deforms(&collider->shape) || collider->friction != 0 || collider->restitution != 0 ||
        (sph->settings.tension && collider->contact == MPM_SEPARATE))
        return MPM_BAD_ARGUMENT;
    if (count == MPM_SPH_MOST_COLLIDERS)
        return MPM_TOO_LARGE;
    if (mpm_memory_grow(&sph->run.allocator, (void **)&sph->memory, &sph->memory_capacity, sph->memory_capacity,
                        MPM_SPH_COLLIDERS + count + 1, sizeof *sph->memory) ||
        mpm_memory_grow(&sph->run.allocator, (void **)&sph->solids, &sph->solid_capacity, count, count + 1,
                        sizeof *sph->solids))
        return MPM_OUT_OF_MEMORY;
    sph->solids[count] = (struct sph_solid){0};
    sph->settled = false;
    return mpm_books_add_collider(&sph->boundary, &sph->run.allocator, &sph->run.history, collider);
}

void mpm_sph_drop_collider(mpm_sph *sph)
{
    mpm_sph_solids_free(sph, sph->boundary.count - 1);
    mpm_books_drop_collider(&sph->boundary, &sph->run.allocator, &sph->run.history);
    sph->settled = false;
}

mpm_status mpm_sph_fill_collider(mpm_sph *sph, size_t index, const double low[3], const double high[3], mpm_poll poll,
                                 void *context)
{
    if (index >= sph->boundary.count || sph->solids[index].count)
        return MPM_BAD_ARGUMENT;
    sph->settled = false;
    return mpm_sph_solids_make(sph, index, low, high, &(mpm_goal){.poll = poll, .context = context});
}

ptrdiff_t mpm_sph_collider_particles(const mpm_sph *sph, size_t index)
{
    return sph->solids[index].count;
}

/* ---- rows come and go ------------------------------------------------------------------------------------------- */

/* A call that takes no steps. */
static mpm_status refresh(mpm_sph *sph)
{
    mpm_status status = mpm_run_begin(&sph->run, sph->run.threads);
    if (status)
        return status;
    status = mpm_sph_step_refresh(sph);
    mpm_sph_step_finish(sph, status, false);
    mpm_run_end(&sph->run);
    return status;
}

static void fill_rows(mpm_sph *sph, ptrdiff_t first, ptrdiff_t count, const double *x, const double *v)
{
    const int dim = sph->settings.dim;
    const size_t size = sph->settings.real_size;
    for (ptrdiff_t i = 0; i < count; i++) {
        const size_t row = (size_t)(first + i);
        for (int a = 0; a < dim; a++) {
            mpm_real_set(sph->store.rows[MPM_SPH_X], row * (size_t)dim + (size_t)a, x[i * dim + a], size);
            mpm_real_set(sph->store.rows[MPM_SPH_V], row * (size_t)dim + (size_t)a, v[i * dim + a], size);
        }
        mpm_real_set(sph->store.rows[MPM_SPH_MASS], row, sph->mass, size);
        mpm_real_set(sph->store.rows[MPM_SPH_VOLUME], row, sph->mass / sph->density, size);
    }
}

mpm_status mpm_sph_add(mpm_sph *sph, ptrdiff_t count, const double *x, const double *v)
{
    if (count < 0 || !sph->has_material || (count && (!x || !v)))
        return MPM_BAD_ARGUMENT;
    if (count > INT32_MAX / 32 - sph->store.count)
        return MPM_TOO_LARGE;
    if (!count)
        return MPM_OK;
    mpm_status status = mpm_store_read_in(&sph->store); /* no written value is lost */
    if (status || (status = mpm_store_reserve(&sph->store, count)))
        return status;
    const ptrdiff_t first = sph->store.count;
    mpm_store_add_rows(&sph->store, count);
    fill_rows(sph, first, count, x, v);
    sph->settled = false;
    return MPM_OK;
}

static mpm_status remove_rows(void *self, const uint8_t *mask)
{
    mpm_sph *sph = self;
    ptrdiff_t gone = 0;
    for (ptrdiff_t row = 0; row < sph->store.count; row++)
        gone += mask[row] != 0;
    if (!gone)
        return MPM_OK; /* views stay live */
    mpm_status status = mpm_store_read_in(&sph->store);
    int32_t *new_row = status ? NULL : mpm_memory_new(&sph->run.allocator, (size_t)sph->store.count, sizeof *new_row);
    if (!new_row)
        return status ? status : MPM_OUT_OF_MEMORY;
    for (ptrdiff_t row = 0; row < sph->store.count; row++)
        new_row[row] = mask[row] ? -1 : 0;
    mpm_store_keep_rows(&sph->store, new_row);
    mpm_memory_free(&sph->run.allocator, new_row);
    sph->run.health[MPM_SPH_HEALTH_DELETED] += gone;
    sph->settled = false;
    return MPM_OK;
}

/* ---- looking -------------------------------------------------------------------------------------------------- */

static mpm_status totals(void *self, mpm_totals *result)
{
    const mpm_status status = refresh(self);
    if (!status)
        *result = mpm_sph_totals_of(self);
    return status;
}

static mpm_status stable_dt(void *self, mpm_stable_dt *bound)
{
    const mpm_status status = refresh(self);
    if (status)
        return status;
    *bound = mpm_sph_totals_bound(self);
    bound->row = mpm_sph_totals_limiting_row(self, bound->limit);
    return MPM_OK;
}

static double bound_alone(const void *self)
{
    return mpm_sph_totals_bound(self).dt;
}

mpm_status mpm_sph_interpolate(mpm_sph *sph, ptrdiff_t count, const double *x, mpm_rank rank, bool is_velocity,
                               const double *quantity, double *result)
{
    mpm_status status = refresh(sph);
    if (status || (status = mpm_run_begin(&sph->run, sph->run.threads)))
        return status;
    memset(result, 0, (size_t)count * (size_t)mpm_rank_components(rank, sph->settings.dim) * sizeof *result);
    mpm_sph_sums_at(sph, count, x, rank, is_velocity, quantity, result);
    mpm_run_end(&sph->run);
    return MPM_OK;
}

mpm_store *mpm_sph_get_store(mpm_sph *sph)
{
    return &sph->store;
}

mpm_run *mpm_sph_get_run(mpm_sph *sph)
{
    return &sph->run;
}

static int materials(const void *self)
{
    return ((const mpm_sph *)self)->has_material;
}

/* The automatic step, and the impulses since the last record. */
static double *numbers(void *self, int index, size_t *count)
{
    mpm_sph *sph = self;
    double *spans[] = {&sph->run.natural_dt, sph->books.body_impulse, sph->books.wall_impulse};
    static const size_t counts[] = {1, 3, 3};
    if ((size_t)index >= sizeof counts / sizeof *counts)
        return NULL;
    *count = counts[index];
    return spans[index];
}

const mpm_sph_settings *mpm_sph_get_settings(const mpm_sph *sph)
{
    return &sph->settings;
}

void mpm_sph_memory(const mpm_sph *sph, size_t *particles, size_t *lists, size_t *views, size_t *colliders)
{
    const size_t size = sph->settings.real_size;
    mpm_store_bytes(&sph->store, particles, views);
    *lists = (sph->record.capacity + sph->place[0].capacity * (size_t)sph->settings.dim + sph->force.capacity +
              sph->drift.capacity + sph->rate.capacity + sph->next.capacity) * size +
             sph->tiles.capacity * sizeof(mpm_sph_tile);
    for (int t = 0; t < MPM_SPH_TASKS; t++)
        *lists += sph->lists[t].capacity * sizeof *sph->lists[t].entries;
    *colliders = mpm_boundary_bytes(&sph->boundary);
    for (size_t k = 0; k < sph->boundary.count; k++)
        *colliders += (size_t)sph->solids[k].count * 3 * sizeof(double);
}

/* ---- the method ------------------------------------------------------------------------------------------------- */

static void free_sph(void *self)
{
    mpm_sph_free(self);
}

static const char *const reasons[] = {
    [MPM_SPH_NOT_FINITE - MPM_REASONS] = "forces_not_finite",
    [MPM_SPH_MOVES_TOO_FAR - MPM_REASONS] = "particle_moves_too_far"};
static const char *const counters[] = {
    [MPM_SPH_HEALTH_LEFT] = "left_domain", [MPM_SPH_HEALTH_CLAMPED] = "clamped", [MPM_SPH_HEALTH_DELETED] = "deleted",
    [MPM_SPH_HEALTH_REFUSED] = "refused", NULL};
static const char *const phases[] = {
    [MPM_SPH_PHASE_SORT] = "sort", [MPM_SPH_PHASE_DENSITY] = "density", [MPM_SPH_PHASE_FORCE] = "force",
    [MPM_SPH_PHASE_MOTION] = "motion", [MPM_SPH_PHASE_VIEWS] = "views", NULL};
static const mpm_method method = {
    .row = "particle", .size = "spacing", .reasons = reasons,
    .counters = counters, .refused = MPM_SPH_HEALTH_REFUSED, .phases = phases, .section = mpm_sph_totals_section,
    .free = free_sph,
    .add_material = set_material, .materials = materials, .add_collider = add_collider, .alter = alter,
    .remove = remove_rows,
    .totals = totals, .stable_dt = stable_dt,
    .snapshot = &mpm_kept_snapshot, .numbers = numbers, .lengths = 1 /* natural_dt */,
    .refresh = mpm_sph_step_refresh, .begin = mpm_sph_step_begin, .plan = mpm_sph_step_plan, .bound = bound_alone,
    .attempt = mpm_sph_step_attempt, .report = mpm_sph_step_report, .commit = mpm_sph_step_commit,
    .record = mpm_sph_totals_record, .finish = mpm_sph_step_finish,
};
