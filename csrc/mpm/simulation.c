/* SPDX-License-Identifier: MIT */
#include "mpm/simulation.h"

#include <math.h>
#include <string.h>

#include "base/real.h"
#include "materials/parameters.h"
#include "mpm/arrivals.h"
#include "mpm/cpu_backend.h"
#include "mpm/dispatch.h"
#include "mpm/halo.h"
#include "mpm/heat.h"
#include "mpm/loading.h"
#include "mpm/rebin.h"
#include "mpm/refresh.h"
#include "mpm/replicas.h"
#include "mpm/rigid.h"
#include "mpm/rigid_motion.h"
#include "mpm/snapshot.h"
#include "mpm/state.h"
#include "mpm/step.h"
#include "mpm/strays.h"
#include "mpm/sweeps.h"
#include "mpm/synchronize.h"
#include "mpm/timestep.h"
#include "mpm/totals.h"
#include "mpm/views.h"
#include "mpm/volumes.h"
#include "run/alter.h"

/* ---- the object ------------------------------------------------------------------------------------------------- */

static const mpm_method method; /* below */

static mpm_boundary boundary_of(const mpm_settings *settings)
{
    mpm_boundary boundary = {.dim = settings->dim, .dx = settings->dx};
    memcpy(boundary.lower, settings->lower, sizeof boundary.lower);
    memcpy(boundary.cells, settings->cells, sizeof boundary.cells);
    memcpy(boundary.walls, settings->walls, sizeof boundary.walls);
    return boundary;
}

/* The fields of what laws dissipate, per rest volume, in the order of MPM_DISSIPATION_PLASTIC and ..._VISCOUS. Any
 * value may be written: it is what has been dissipated so far. */
static const char *const dissipations[] = {"plastic_dissipation", "viscous_dissipation"};

static mpm_status add_dissipation(mpm_simulation *simulation)
{
    mpm_field rows[2];
    for (int i = 0; i < 2; i++) {
        rows[i] = (mpm_field){.rank = MPM_SCALAR, .owner = MPM_OWNER_CORE, .state_of = MPM_STATE_OF_ALL,
                              .low = -INFINITY, .high = INFINITY};
        mpm_store_name(&rows[i], dissipations[i], "J/m\u00b3"); /* short enough */
    }
    return mpm_store_add_fields(&simulation->store, rows, 2);
}

mpm_status mpm_simulation_new(mpm_simulation **result, const mpm_allocator *allocator, const mpm_settings *settings)
{
    *result = NULL;
    if (mpm_settings_flaw(settings))
        return MPM_BAD_ARGUMENT;
    const mpm_kernels *kernels = mpm_dispatch_kernels(settings->isa, settings->dim, settings->real_size);
    mpm_simulation *simulation = mpm_memory_new(allocator, 1, sizeof *simulation);
    if (!simulation || mpm_cpu_backend_new(&simulation->backend, allocator, kernels, mpm_pool_for)) {
        mpm_memory_free(allocator, simulation);
        return MPM_OUT_OF_MEMORY;
    }
    simulation->settings = *settings;
    simulation->run = mpm_run_of(&method, simulation, allocator, &simulation->settings.common,
                                 &simulation->boundary);
    simulation->settings.isa = kernels->isa; /* a string constant; the caller's may not last */
    simulation->kernels = kernels;
    if (settings->integrator == MPM_SEMI_IMPLICIT && settings->beta == 0)
        simulation->settings.integrator = MPM_EXPLICIT;
    simulation->integrator = mpm_integrator_get(simulation->settings.integrator);
    simulation->settings.scheme.midpoint = simulation->integrator->midpoint;
    simulation->damps = settings->damping > 0 || settings->scheme.local_damping > 0 || mpm_settings_absorb(settings);
    simulation->yield_strain = INFINITY;
    simulation->layers.rule.contact = MPM_SEPARATE;
    simulation->is_synchronized = true;
    simulation->store = (mpm_store){.run = &simulation->run, .method = &mpm_views_method,
                                    .real_size = settings->real_size, .fields = mpm_fields_of_core(settings->dim)};
    if (settings->dim == 2)
        simulation->settings.gravity[2] = 0;
    simulation->boundary = boundary_of(settings);
    simulation->particles = mpm_particles_empty(&simulation->backend->device, settings->dim, kernels->lanes,
                                                settings->scheme.degree, settings->real_size);
    mpm_status status = settings->dissipation ? add_dissipation(simulation) : MPM_OK;
    if (status || (settings->heat && (status = mpm_heat_add_fields(simulation)))) {
        mpm_simulation_free(simulation);
        return status;
    }
    *result = simulation;
    return MPM_OK;
}

void mpm_simulation_free(mpm_simulation *simulation)
{
    if (!simulation)
        return;
    mpm_allocator allocator = simulation->run.allocator;
    mpm_store_clear(&simulation->store);
    mpm_particles_clear(&simulation->particles);
    mpm_grid_clear(&simulation->grid, &simulation->backend->device);
    mpm_boundary_clear(&simulation->boundary, &allocator);
    mpm_rigid_end(simulation);
    mpm_heat_end(simulation);
    mpm_memory_free(&allocator, simulation->materials);
    mpm_memory_free(&allocator, simulation->layer);
    mpm_layers_clear(&simulation->layers, &allocator);
    mpm_memory_free(&allocator, simulation->waiting.arrivals);
    mpm_memory_free(&allocator, simulation->waiting.cell);
    mpm_team_clear(&simulation->own_team, &allocator);
    mpm_run_clear(&simulation->run);
    simulation->backend->free(simulation->backend);
    mpm_memory_free(&allocator, simulation);
}

/* A bound as particles hold it, so that it may be written there. */
static double held(const mpm_simulation *simulation, double bound)
{
    return simulation->settings.real_size == sizeof(float) ? (double)(float)bound : bound;
}

/* Is a field of a law the temperature that is conducted? The law heats it, and reads what conduction makes of it. */
static bool is_conducted(const mpm_simulation *simulation, const mpm_history_field *field)
{
    return mpm_heat_is_heat(simulation) && field->heat_capacity && strcmp(field->name, "temperature") == 0;
}

/* Adds the fields of a material's history and of its parameters that vary, except those that another material has
 * added. On error nothing has changed. */
static mpm_status add_history(mpm_simulation *simulation, const mpm_material *material)
{
    const mpm_law *law = mpm_material_law(material);
    mpm_field rows[MPM_LAW_FIELDS + MPM_LAW_PARAMETERS];
    int count = 0;
    for (int f = 0; f < law->fields; f++) {
        const mpm_history_field *field = &law->field[f];
        const int found = mpm_fields_find(&simulation->store.fields, field->name);
        const mpm_field *there = found >= 0 ? &simulation->store.fields.row[found] : NULL;
        const bool is_own = !there || there->owner == MPM_OWNER_LAW || is_conducted(simulation, field);
        if (!is_own || (there && there->rank != field->rank))
            return MPM_BAD_ARGUMENT; /* a user's law may name a field as it likes */
        if (found >= 0)
            continue;
        mpm_field *row = &rows[count++];
        *row = (mpm_field){.rank = field->rank, .owner = MPM_OWNER_LAW, .state_of = MPM_STATE_OF_OWNERS,
                           .low = held(simulation, field->low), .high = held(simulation, field->high),
                           .low_closed = field->closed, .high_closed = field->closed, .initial = field->initial};
        if (mpm_store_name(row, field->name, field->unit))
            return MPM_TOO_LARGE;
    }
    const mpm_status status = mpm_parameters_list(&simulation->store.fields, material, rows, &count);
    return status ? status : mpm_store_add_fields(&simulation->store, rows, count);
}

/* Tells a material the columns of its history, of its parameters that vary, and of what it dissipates. */
static void set_columns(const mpm_simulation *simulation, mpm_material *material)
{
    const mpm_law *law = mpm_material_law(material);
    const mpm_fields *fields = &simulation->store.fields;
    int component = 0;
    for (int f = 0; f < law->fields; f++) {
        const mpm_field *row = &fields->row[mpm_fields_find(fields, law->field[f].name)];
        for (int c = 0; c < mpm_rank_components(row->rank, simulation->settings.dim); c++)
            material->column[component++] = row->column + c;
    }
    for (int k = 0; k < material->varying; k++)
        material->column[component++] = fields->row[mpm_parameters_field(fields, material, k)].column;
    material->has_moduli = mpm_material_has_moduli(material);
    material->dissipates = simulation->settings.dissipation;
    for (int i = 0; i < 2 && material->dissipates; i++)
        material->dissipation[i] = fields->row[mpm_fields_find(fields, dissipations[i])].column;
}

static void find_yield_strain(mpm_simulation *simulation)
{
    simulation->yield_strain = INFINITY;
    for (size_t m = 0; m < simulation->material_count; m++) {
        const mpm_material *material = &simulation->materials[m];
        const mpm_law *law = mpm_material_law(material);
        for (int k = 0; k < law->parameters; k++)
            if (law->parameter[k].is_yield_strain)
                simulation->yield_strain = fmin(simulation->yield_strain, material->values[k]);
    }
}

static mpm_status add_material(void *self, const mpm_material *material)
{
    mpm_simulation *simulation = self;
    if (material->law < 0 || material->law > MPM_USER || (material->law == MPM_USER && !material->user))
        return MPM_BAD_ARGUMENT;
    const mpm_law_tangent tangent = mpm_laws_tangent(material->law);
    if (simulation->integrator->solve &&
        (tangent == MPM_LAW_NO_TANGENT || (tangent == MPM_LAW_MAPPED && simulation->integrator->linear)))
        return MPM_BAD_ARGUMENT;
    if (simulation->settings.scheme.f_update == MPM_F_TRACE && material->law != MPM_RIGID &&
        (material->law == MPM_USER || mpm_laws_get(material->law)->strain == MPM_KEEPS_F))
        return MPM_BAD_ARGUMENT;
    if (material->varying && !mpm_parameters_may_vary(material, simulation->settings.dim))
        return MPM_BAD_ARGUMENT;
    const mpm_law *law = mpm_material_law(material);
    mpm_material added = *material;
    if (mpm_memory_grow(&simulation->run.allocator, (void **)&simulation->materials, &simulation->material_capacity,
                        simulation->material_count, simulation->material_count + 1, sizeof *material) ||
        mpm_memory_grow(&simulation->run.allocator, (void **)&simulation->layer, &simulation->layer_capacity,
                        simulation->material_count, simulation->material_count + 1, sizeof *simulation->layer) ||
        mpm_heat_reserve(simulation) || mpm_rigid_reserve(simulation))
        return MPM_OUT_OF_MEMORY;
    const mpm_status status = add_history(simulation, material);
    if (status)
        return status;
    if (law->rigid && !simulation->has_rigid) {
        const int before = mpm_history_length(&simulation->run.history), at = mpm_totals_width(simulation);
        simulation->has_rigid = true;
        if (mpm_history_insert(&simulation->run.history, &simulation->run.allocator, before, at)) {
            simulation->has_rigid = false;
            return MPM_OUT_OF_MEMORY;
        }
    }
    set_columns(simulation, &added);
    simulation->particles.has_F |= law->strain == MPM_KEEPS_F;
    simulation->has_kink |= law->kinked;
    simulation->has_fluid |= law->strain == MPM_KEEPS_J;
    const double density = material->values[law->parameters - 1];
    if (law->strain == MPM_KEEPS_J && simulation->fluid_volume == 0 && density > 0)
        simulation->fluid_volume = 1 / density;
    simulation->lacks_energy |= tangent == MPM_LAW_MAPPED;
    simulation->has_moduli |= added.has_moduli;
    simulation->layer[simulation->material_count] = 0;
    simulation->heat.materials[simulation->material_count] = (mpm_thermal){0};
    simulation->materials[simulation->material_count++] = added;
    find_yield_strain(simulation);
    return MPM_OK;
}

mpm_status mpm_simulation_form(mpm_simulation *simulation, int material, const mpm_rigid_form *form)
{
    return mpm_rigid_set_form(simulation, material, form);
}

mpm_status mpm_simulation_name_joint(mpm_simulation *simulation, int material, const char *name)
{
    if (material < 0 || (size_t)material >= simulation->material_count)
        return MPM_BAD_ARGUMENT;
    return mpm_rigid_name_joint(simulation, material, name);
}

const mpm_rigid_force *mpm_simulation_rigid_forces(const mpm_simulation *simulation, size_t *count)
{
    *count = simulation->rigid_forces[0].count;
    return simulation->rigid_forces[0].list;
}

/* Are there particles of a material? */
static bool has_particles(const mpm_simulation *simulation, int material)
{
    for (size_t g = 0; g < simulation->particles.group_count; g++)
        if (simulation->particles.groups[g].material == material)
            return true;
    return false;
}

mpm_status mpm_simulation_thermal(mpm_simulation *simulation, int material, const mpm_thermal *thermal)
{
    if (material < 0 || (size_t)material >= simulation->material_count || !simulation->settings.heat ||
        !mpm_heat_is_heat(simulation) || has_particles(simulation, material))
        return MPM_BAD_ARGUMENT;
    return mpm_heat_set_material(simulation, material, thermal);
}

mpm_status mpm_simulation_pore(mpm_simulation *simulation, int material, const mpm_pore *pore)
{
    if (material < 0 || (size_t)material >= simulation->material_count || !simulation->settings.pore)
        return MPM_BAD_ARGUMENT;
    return mpm_heat_set_pore(simulation, material, pore, has_particles(simulation, material));
}

mpm_status mpm_simulation_solute(mpm_simulation *simulation, int material, const mpm_solute *solute)
{
    if (material < 0 || (size_t)material >= simulation->material_count || !simulation->settings.solute ||
        has_particles(simulation, material))
        return MPM_BAD_ARGUMENT;
    return mpm_heat_set_solute(simulation, material, solute);
}

mpm_status mpm_simulation_heat_wall(mpm_simulation *simulation, int face, const mpm_heat_surface *wall)
{
    return mpm_heat_set_wall(simulation, face, wall);
}

mpm_status mpm_simulation_heat_collider(mpm_simulation *simulation, int collider, const mpm_heat_surface *surface)
{
    return mpm_heat_set_collider(simulation, collider, surface);
}

mpm_status mpm_simulation_layer(mpm_simulation *simulation, int material, int32_t layer)
{
    if (material < 0 || (size_t)material >= simulation->material_count || layer < 0 ||
        !simulation->settings.contact || simulation->settings.scheme.faces)
        return MPM_BAD_ARGUMENT;
    if (has_particles(simulation, material))
        return MPM_BAD_ARGUMENT;
    simulation->layer[material] = layer;
    return MPM_OK;
}

static bool is_rule(const mpm_layer_rule *rule)
{
    return (rule->contact == MPM_SEPARATE || rule->contact == MPM_SLIP) && rule->friction >= 0 &&
           isfinite(rule->friction) && rule->adhesion >= 0 && isfinite(rule->adhesion) &&
           !(rule->contact == MPM_SLIP && rule->adhesion > 0);
}

mpm_status mpm_simulation_contact(mpm_simulation *simulation, const mpm_layer_rule *rule)
{
    if (!simulation->settings.contact || !is_rule(rule))
        return MPM_BAD_ARGUMENT;
    simulation->layers.rule = *rule;
    return MPM_OK;
}

mpm_status mpm_simulation_pair(mpm_simulation *simulation, int32_t a, int32_t b, const mpm_layer_rule *rule,
                               const char *name)
{
    mpm_history *history = &simulation->run.history;
    const mpm_allocator *allocator = &simulation->run.allocator;
    if (!simulation->settings.contact || (rule && !is_rule(rule)) || (name && simulation->boundary.count))
        return MPM_BAD_ARGUMENT; /* columns come in the order of totals.c */
    const int before = mpm_history_length(history);
    mpm_status status = mpm_layers_set(&simulation->layers, allocator, a, b, rule, name);
    if (!status && name && (status = mpm_history_fit(history, allocator, before)))
        mpm_layers_drop_name(&simulation->layers, allocator);
    return status;
}

static int materials(const void *self)
{
    return (int)((const mpm_simulation *)self)->material_count;
}

static mpm_status alter(void *self, const mpm_alteration *change)
{
    mpm_simulation *simulation = self;
    if (change->material) {
        if (change->index < 0 || (size_t)change->index >= simulation->material_count ||
            !mpm_parameters_change(&simulation->materials[change->index], change->material))
            return MPM_BAD_ARGUMENT;
        find_yield_strain(simulation);
    }
    const mpm_status status = mpm_alter_scene(&simulation->settings.common, &simulation->boundary,
                                              &simulation->run.allocator, change);
    simulation->measured = false;
    return status;
}

static mpm_status add_collider(void *self, const mpm_collider *collider)
{
    mpm_simulation *simulation = self;
    mpm_run *run = &simulation->run;
    const mpm_status status = mpm_books_add_collider(&simulation->boundary, &run->allocator, &run->history, collider);
    simulation->damps |= !status && collider->contact == MPM_ABSORBING;
    return status;
}

/* ---- particles come and go -------------------------------------------------------------------------------------- */

static void end(mpm_simulation *simulation)
{
    mpm_sweeps_end(simulation);
    mpm_run_end(&simulation->run);
}

/* Begins a call that takes no steps. */
static mpm_status begin(mpm_simulation *simulation)
{
    mpm_status status = mpm_halo_agree(simulation, mpm_run_begin(&simulation->run, 1));
    if (!status)
        status = mpm_sweeps_begin(simulation);
    if (status)
        end(simulation);
    return status;
}

/* Reads in views first, so that no written value is lost when the arrays are replaced. */
static mpm_status begin_change(mpm_simulation *simulation)
{
    mpm_arrivals_drop(simulation); /* of a call that was the last to come */
    mpm_status status = begin(simulation);
    if (!status && (status = mpm_halo_agree(simulation, mpm_store_read_in(&simulation->store))))
        end(simulation);
    return status;
}

static void end_change(mpm_simulation *simulation, mpm_status status)
{
    end(simulation);
    if (status)
        return;
    simulation->measured = false;
    simulation->bodies_due = simulation->has_rigid;
    simulation->bodies_restored = false;
    simulation->grid_valid = false;
}

/* Takes in the particles that wait, all of one material. A body counts as one binning. */
static mpm_status take_in(mpm_simulation *simulation, int material, bool ends)
{
    const ptrdiff_t rows = simulation->store.count, count = simulation->waiting.count;
    const mpm_status status = mpm_rebin_run(simulation, NULL, 0, MPM_BIN_ALL);
    if (status)
        return status;
    simulation->run.health[MPM_HEALTH_BINNINGS] -= !ends;
    simulation->volumes_due |= simulation->waiting.lacks_volumes;
    mpm_store_add_rows(&simulation->store, count);
    if (simulation->distributed && ends)
        mpm_memory_take_singly(); /* what found the body has left much that is free */
    int32_t *materials = simulation->store.rows[MPM_FIELD_MATERIAL];
    for (ptrdiff_t i = 0; i < count && !simulation->distributed; i++)
        materials[rows + i] = material;
    return MPM_OK;
}

/* Initial values of new particles of a material, in the columns of laws and users. */
static void set_initial(const mpm_simulation *simulation, const mpm_material *material,
                        double initial[MPM_MOST_COLUMNS])
{
    const int dim = simulation->settings.dim;
    const mpm_law *law = mpm_material_law(material);
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
    return mpm_simulation_add_piece(simulation, count, 0, x, v, C, F, volume, mass, material);
}

static mpm_insertion insertion_of(const mpm_simulation *simulation, int material)
{
    mpm_insertion insertion = {
        .dx = simulation->settings.dx,
        .material = material,
        .keeps_J = mpm_laws_get(simulation->materials[material].law)->strain == MPM_KEEPS_J,
    };
    memcpy(insertion.lower, simulation->settings.lower, sizeof insertion.lower);
    set_initial(simulation, &simulation->materials[material], insertion.initial);
    mpm_heat_begin(simulation, material, insertion.initial);
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        insertion.period[axis] = mpm_walls_period(simulation->settings.walls, axis, simulation->settings.cells[axis]);
    return insertion;
}

/* Notes what the volumes of new particles say of their material; all processes note the same. */
static void note_volumes(mpm_simulation *simulation, const mpm_insertion *own)
{
    bool *lacks = &simulation->waiting.lacks_volumes, *has = &simulation->materials[own->material].has_volumes;
    for (ptrdiff_t i = 0; i < own->count; i++)
        *lacks |= own->volume[i] == 0;
    for (ptrdiff_t i = 0; i < own->count; i++)
        mpm_volumes_note(simulation, own->volume[i], own->mass[i], own->material);
    int64_t noted[] = {*lacks, *has};
    if (simulation->distributed)
        mpm_team_add(simulation->team, noted, 2);
    *lacks = noted[0] > 0;
    *has = noted[1] > 0;
}

/* Adds particles between those that other processes add: `before` and `after`. */
static mpm_status add(mpm_simulation *simulation, const mpm_insertion *own, ptrdiff_t before, ptrdiff_t after,
                      ptrdiff_t left)
{
    const bool follows = simulation->waiting.count > 0, complete = !left || simulation->distributed;
    mpm_status status = follows ? begin(simulation) : begin_change(simulation);
    if (status)
        return status;
    note_volumes(simulation, own);
    status = mpm_arrivals_reserve(simulation, own->count, before + after, left);
    if (!status)
        status = mpm_arrivals_insert(simulation, own, before, after);
    status = mpm_replicas_agree(simulation, status);
    if (!status && complete)
        status = take_in(simulation, own->material, left == 0);
    if (status)
        mpm_arrivals_drop(simulation);
    else if (complete)
        mpm_arrivals_forget(simulation);
    end_change(simulation, status);
    return status;
}

static bool is_count(ptrdiff_t count)
{
    return count <= INT32_MAX / 2;
}

mpm_status mpm_simulation_add_piece(mpm_simulation *simulation, ptrdiff_t count, ptrdiff_t left, const double *x,
                                    const double *v, const double *C, const double *F, const double *volume,
                                    const double *mass, int material)
{
    if (!simulation->distributed || count <= 0)
        return mpm_simulation_add_share(simulation, count, 0, 0, left, x, v, C, F, volume, mass, material);
    const int32_t own = simulation->team->transport.own, processes = simulation->team->transport.processes;
    const ptrdiff_t first = (ptrdiff_t)mpm_team_cut((size_t)count, processes, own), d = simulation->settings.dim;
    const ptrdiff_t end = (ptrdiff_t)mpm_team_cut((size_t)count, processes, own + 1);
    if (!x || !v || !volume || !mass)
        return MPM_BAD_ARGUMENT;
    return mpm_simulation_add_share(simulation, end - first, first, count - end, left, x + first * d, v + first * d,
                                    C ? C + first * d * d : NULL, F ? F + first * d * d : NULL, volume + first,
                                    mass + first, material);
}

mpm_status mpm_simulation_add_share(mpm_simulation *simulation, ptrdiff_t count, ptrdiff_t before, ptrdiff_t after,
                                    ptrdiff_t left, const double *x, const double *v, const double *C,
                                    const double *F, const double *volume, const double *mass, int material)
{
    if (count < 0 || before < 0 || after < 0 || left < 0 || material < 0 ||
        (size_t)material >= simulation->material_count || (before + after > 0 && !simulation->distributed))
        return MPM_BAD_ARGUMENT;
    if (!is_count(left) || !is_count(count) || !is_count(before) || !is_count(after))
        return MPM_TOO_LARGE;
    if (count + before + after == 0)
        return MPM_OK;
    if (count && (!x || !v || !volume || !mass))
        return MPM_BAD_ARGUMENT;
    mpm_insertion own = insertion_of(simulation, material);
    own.count = count;
    own.x = x;
    own.v = v;
    own.C = C;
    own.F = F;
    own.volume = volume;
    own.mass = mass;
    return add(simulation, &own, before, after, left);
}

/* Takes the mass of the rows of `mask` (may be NULL). Saves all masses, and marks the rows that go with -1. */
static void take_masses(const mpm_particles *particles, const uint8_t *mask, void *saved, int32_t *new_row)
{
    const size_t size = particles->real_size, slots = mpm_replicas_slots(particles);
    const mpm_particles mapped = mpm_particles_map(particles, MPM_COLUMN_MASS, MPM_COLUMN_MASS + 1, MPM_WRITE);
    void *mass = mapped.column[MPM_COLUMN_MASS];
    memcpy(saved, mass, slots * size);
    for (size_t slot = 0; slot < slots; slot++) {
        const int32_t row = mapped.row[slot];
        if (row >= 0 && mask && mask[row])
            mpm_real_set(mass, slot, 0, size);
        if (row >= 0)
            new_row[row] = mpm_real_at(mass, slot, size) > 0 ? 0 : -1;
    }
    mpm_particles_unmap(particles, MPM_COLUMN_MASS, MPM_COLUMN_MASS + 1);
}

static void give_back_masses(const mpm_particles *particles, const void *saved)
{
    void *mass = mpm_device_map(particles->device, particles->column[MPM_COLUMN_MASS], MPM_WRITE);
    memcpy(mass, saved, mpm_replicas_slots(particles) * particles->real_size);
    mpm_device_unmap(particles->device, particles->column[MPM_COLUMN_MASS]);
}

static void renumber(const mpm_particles *particles, const int32_t *new_row)
{
    int32_t *row = mpm_device_map(particles->device, particles->row, MPM_WRITE);
    for (size_t slot = 0; slot < mpm_replicas_slots(particles); slot++)
        if (row[slot] >= 0)
            row[slot] = new_row[row[slot]];
    mpm_device_unmap(particles->device, particles->row);
}

/* Removes the rows of `mask` (may be NULL) and all particles without mass. Needs the pool. */
static mpm_status remove_rows(mpm_simulation *simulation, const uint8_t *mask)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    mpm_particles *particles = &simulation->particles;
    int32_t *new_row = mpm_memory_new(allocator, (size_t)particles->count, sizeof *new_row);
    void *saved = mpm_memory_new(allocator, mpm_replicas_slots(particles), particles->real_size);
    const mpm_status found =
        new_row && saved ? mpm_store_reserve(&simulation->store, 0) : MPM_OUT_OF_MEMORY;
    mpm_status status = mpm_halo_agree(simulation, found);
    if (!status) {
        take_masses(particles, mask, saved, new_row);
        mpm_replicas_join_rows(simulation, new_row, (size_t)particles->count * sizeof *new_row);
        status = mpm_rebin_run(simulation, NULL, 0, MPM_BIN_WITHOUT_MASSLESS);
        if (status)
            give_back_masses(particles, saved); /* nothing was moved */
        else {
            simulation->frozen = false;
            mpm_store_keep_rows(&simulation->store, new_row);
            renumber(particles, new_row);
        }
    }
    mpm_memory_free(allocator, saved);
    mpm_memory_free(allocator, new_row);
    return status;
}

static bool names_rows(const uint8_t *mask, ptrdiff_t rows)
{
    for (ptrdiff_t i = 0; mask && i < rows; i++)
        if (mask[i])
            return true;
    return false;
}

/* Removes the rows of `mask`, which may be NULL, and the frozen ones. */
static mpm_status remove_and_count(void *self, const uint8_t *mask)
{
    mpm_simulation *simulation = self;
    if (!simulation->frozen && !names_rows(mask, simulation->particles.count))
        return MPM_OK; /* nothing to sort anew, and views stay live */
    mpm_status status = begin_change(simulation);
    if (status)
        return status;
    const ptrdiff_t before = simulation->particles.count;
    status = remove_rows(simulation, mask);
    simulation->run.health[MPM_HEALTH_DELETED] += before - simulation->particles.count;
    end_change(simulation, status);
    return status;
}

/* ---- running and looking ---------------------------------------------------------------------------------------- */

static mpm_status refresh_for_steps(void *self)
{
    mpm_simulation *simulation = self;
    mpm_arrivals_drop(simulation);
    simulation->stage.scattered = false;
    mpm_status status = mpm_sweeps_begin(simulation);
    if (!status && !(status = mpm_refresh_state(simulation)))
        status = mpm_strays_find(simulation);
    return status;
}

static void finish(void *self, mpm_status status, bool moved)
{
    mpm_simulation *simulation = self;
    mpm_synchronize_particles(simulation);
    mpm_rigid_motion_place(simulation);
    mpm_replicas_share(simulation);
    /* The next dt is planned anew, not from the last refused attempt. */
    if (status == MPM_UNSTABLE || status == MPM_NO_CONVERGENCE)
        simulation->run.natural_dt = simulation->approach = 0;
    mpm_sweeps_end(simulation);
    mpm_implicit_end(simulation);
    mpm_loading_clear(simulation);
    memset(simulation->force, 0, sizeof simulation->force);
    const double start = mpm_clock_seconds();
    if (moved) /* all fields, because freezing changes mass and volume */
        mpm_store_outdate_all(&simulation->store, simulation->frozen);
    mpm_store_refresh(&simulation->store);
    mpm_run_spend(&simulation->run, MPM_PHASE_VIEWS, start);
}

/* Removal reorders particles, so it waits for the end of the whole run: a pause changes nothing. An error that names
 * rows must leave them as it found them, so then it waits for the next run. */
static mpm_status clean_up(void *self, mpm_status status, bool paused)
{
    const mpm_status shared = mpm_halo_agree(self, MPM_OK); /* what processes share at the end may not have come */
    status = status ? status : shared;
    const bool names = status == MPM_BAD_STATE || status == MPM_UNSTABLE || status == MPM_ESCAPED;
    if (!((mpm_simulation *)self)->frozen || (paused && !status) || names)
        return status;
    const mpm_status removal = remove_and_count(self, NULL);
    return status ? status : removal;
}

static mpm_status refresh(mpm_simulation *simulation)
{
    mpm_arrivals_drop(simulation);
    mpm_status status = begin(simulation);
    if (status)
        return status;
    status = mpm_refresh_state(simulation);
    end(simulation);
    return status;
}

static mpm_status totals(void *self, mpm_totals *result)
{
    mpm_simulation *simulation = self;
    const mpm_status status = refresh(simulation);
    if (!status)
        *result = mpm_totals_of(simulation);
    return status;
}

static mpm_status stable_dt(void *self, mpm_stable_dt *bound)
{
    mpm_simulation *simulation = self;
    const mpm_status status = refresh(simulation);
    if (!status)
        *bound = mpm_timestep_limit(simulation);
    return status;
}

mpm_store *mpm_simulation_get_store(mpm_simulation *simulation)
{
    return &simulation->store;
}

mpm_run *mpm_simulation_get_run(mpm_simulation *simulation)
{
    return &simulation->run;
}

const mpm_settings *mpm_simulation_settings(const mpm_simulation *simulation)
{
    return &simulation->settings;
}

void mpm_simulation_memory(const mpm_simulation *simulation, size_t *particles, size_t *grid, size_t *views,
                           size_t *colliders)
{
    mpm_store_bytes(&simulation->store, particles, views);
    *particles += mpm_particles_bytes(&simulation->particles);
    *grid = simulation->grid.bytes;
    *colliders = mpm_boundary_bytes(&simulation->boundary);
}

const mpm_solution *mpm_simulation_solution(const mpm_simulation *simulation)
{
    return &simulation->solver.solution;
}

mpm_status mpm_simulation_share_grid(mpm_simulation *simulation)
{
    if (!simulation->distributed || !simulation->grid_valid)
        return MPM_OK;
    mpm_status status = begin(simulation);
    if (status)
        return status;
    status = mpm_replicas_share_grid(simulation);
    end(simulation);
    return status;
}

size_t mpm_simulation_grid(const mpm_simulation *simulation, double *x, void *mass, void *v)
{
    const mpm_settings *settings = &simulation->settings;
    const size_t size = settings->real_size;
    const int dim = settings->dim, side = mpm_block_side(dim);
    mpm_device *device = &simulation->backend->device;
    size_t active = 0;
    if (!simulation->grid_valid)
        return 0;
    const char *nodes = mpm_device_map(device, simulation->grid.field[MPM_GRID_VELOCITY], MPM_READ);
    for (size_t b = 0; b < simulation->grid.block_count; b++)
        for (int n = 0; n < MPM_BLOCK_NODES; n++) {
            const size_t record = (b * MPM_BLOCK_NODES + (size_t)n) * 4;
            if (!(mpm_real_at(nodes, record + 3, size) > 0))
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
    mpm_device_unmap(device, simulation->grid.field[MPM_GRID_VELOCITY]);
    return active;
}

/* ---- the method ------------------------------------------------------------------------------------------------- */

static mpm_status agree(void *self, mpm_status status)
{
    return mpm_halo_agree(self, status);
}

static void note(void *self, mpm_status status)
{
    const mpm_simulation *simulation = self;
    if (simulation->team)
        mpm_team_note(simulation->team, status);
}

static void free_simulation(void *self)
{
    mpm_simulation_free(self);
}

static const char *const reasons[] = {
    [MPM_GRID_NOT_FINITE - MPM_REASONS] = "grid_not_finite", [MPM_MOVES_TOO_FAR - MPM_REASONS] = "grid_moves_too_far",
    [MPM_WOULD_INVERT - MPM_REASONS] = "particle_would_invert", [MPM_BODY_TOO_LONG - MPM_REASONS] = "body_too_long",
    [MPM_TEMPERATURE_LEFT_RANGE - MPM_REASONS] = "temperature_left_range",
    [MPM_BODY_NO_POSE - MPM_REASONS] = "body_no_pose"};
static const char *const counters[] = {
    [MPM_HEALTH_LEFT_DOMAIN] = "left_domain", [MPM_HEALTH_CLAMPED] = "clamped", [MPM_HEALTH_DELETED] = "deleted",
    [MPM_HEALTH_CLIPPED] = "clipped", [MPM_HEALTH_REFUSED] = "refused", [MPM_HEALTH_BINNINGS] = "binnings",
    [MPM_HEALTH_STAGNATED] = "stagnated", NULL};
static const char *const phases[] = {
    [MPM_PHASE_SWEEPS] = "sweeps", [MPM_PHASE_GRID] = "grid", [MPM_PHASE_BINNING] = "binning",
    [MPM_PHASE_VIEWS] = "views", NULL};
static const mpm_method method = {
    .row = "particle", .size = "cell size", .reasons = reasons,
    .counters = counters, .refused = MPM_HEALTH_REFUSED, .phases = phases, .section = mpm_totals_section,
    .free = free_simulation,
    .add_material = add_material, .materials = materials, .add_collider = add_collider, .loads = true, .alter = alter,
    .remove = remove_and_count,
    .totals = totals, .stable_dt = stable_dt, .snapshot = &mpm_snapshot_of_particles,
    .agree = agree, .note = note,
    .refresh = refresh_for_steps, .begin = mpm_step_begin, .plan = mpm_step_plan, .bound = mpm_timestep_bound,
    .attempt = mpm_step_attempt, .may_retry = mpm_step_may_retry, .report = mpm_step_report,
    .commit = mpm_step_commit, .record = mpm_totals_record, .finish = finish, .clean_up = clean_up,
};
