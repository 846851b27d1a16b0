/* SPDX-License-Identifier: MIT */
#include "fem/fem.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/real.h"
#include "fem/dispatch.h"
#include "fem/implicit.h"
#include "fem/mesh.h"
#include "fem/parameters.h"
#include "fem/state.h"
#include "fem/step.h"
#include "fem/sweeps.h"
#include "fem/totals.h"
#include "materials/parameters.h"
#include "run/alter.h"
#include "run/kept.h"

static const mpm_method method; /* below */

static const mpm_field rows[MPM_FEM_FIELDS] = {
    [MPM_FEM_X] = {"x", "m", MPM_VECTOR, .state_of = MPM_STATE_OF_ALL, .low = -INFINITY, .high = INFINITY},
    [MPM_FEM_V] = {"v", "m/s", MPM_VECTOR, .state_of = MPM_STATE_OF_ALL, .low = -INFINITY, .high = INFINITY},
    [MPM_FEM_MASS] = {"mass", "kg", MPM_SCALAR, .state_of = MPM_STATE_OF_ALL, .low = 0, .high = INFINITY, .initial = 1,
                      .lasting = true},
    [MPM_FEM_VOLUME] = {"volume", "m\u00b3", MPM_SCALAR, .low = 0, .high = INFINITY, .initial = 1, .lasting = true},
    [MPM_FEM_MATERIAL] = {"material", "1", MPM_SCALAR, MPM_TYPE_INT32, .lasting = true},
    [MPM_FEM_ID] = {"id", "1", MPM_SCALAR, MPM_TYPE_INT64, .lasting = true},
};

/* ---- settings --------------------------------------------------------------------------------------------------- */

#define AT(member) .offset = offsetof(mpm_fem_settings, member)

static const mpm_option options[] = {
    {"upper", MPM_OPTION_VECTOR, AT(upper)},
    {"spacing", MPM_OPTION_NUMBER, AT(dx), .range = MPM_ABOVE(0, DBL_MAX)},
    {"local_damping", MPM_OPTION_NUMBER, AT(local_damping), .range = MPM_FROM(0, 0.95)},
    {"damping", MPM_OPTION_PAIR, AT(damping), .range = MPM_FROM(0, DBL_MAX)},
    {"integrator", MPM_OPTION_WORD, AT(integrator),
     .words = {[MPM_FEM_SYMPLECTIC_EULER] = "symplectic-euler",
               [MPM_FEM_LINEARLY_IMPLICIT] = "linearly-implicit-euler"}},
    {"tolerance", MPM_OPTION_NUMBER, AT(tolerance), .range = MPM_FROM(1e-12, 0.1), .single = MPM_FROM(1e-6, 0.1)},
    {"max_iterations", MPM_OPTION_WHOLE, AT(max_iterations), .range = MPM_FROM(1, 1000000)},
    {0},
};

const mpm_options mpm_fem_options = {"fem", MPM_FOR_ELEMENTS, options};

static const char *axis_flaw(const mpm_fem_settings *settings, int axis)
{
    for (int face = 2 * axis; face < 2 * axis + 2; face++) {
        if (settings->walls[face].restitution != 0)
            return "walls";
        if (settings->on_leave[face] != MPM_LEAVE_RAISE)
            return "on_leave";
    }
    const bool implicit = settings->integrator != MPM_FEM_SYMPLECTIC_EULER;
    for (int face = 2 * axis; implicit && face < 2 * axis + 2; face++)
        if (settings->walls[face].contact == MPM_ABSORBING)
            return "walls";
    if (implicit && settings->local_damping > 0)
        return "local_damping";
    return settings->upper[axis] > settings->lower[axis] ? NULL : "upper";
}

const char *mpm_fem_settings_flaw(const mpm_fem_settings *settings)
{
    const char *flaw = mpm_options_flaw(&mpm_fem_options, &settings->common);
    for (int axis = 0; !flaw && axis < settings->dim; axis++)
        flaw = axis_flaw(settings, axis);
    return flaw || mpm_fem_dispatch_kernels(settings->isa, settings->dim, settings->real_size) ? flaw : "isa";
}

/* ---- the object ------------------------------------------------------------------------------------------------- */

mpm_status mpm_fem_new(mpm_fem **result, const mpm_allocator *allocator, const mpm_fem_settings *settings)
{
    *result = NULL;
    if (mpm_fem_settings_flaw(settings))
        return MPM_BAD_ARGUMENT;
    mpm_fem *fem = mpm_memory_new(allocator, 1, sizeof *fem);
    if (!fem)
        return MPM_OUT_OF_MEMORY;
    fem->settings = *settings;
    fem->run = mpm_run_of(&method, fem, allocator, &fem->settings.common, &fem->boundary);
    fem->store = (mpm_store){.run = &fem->run, .real_size = settings->real_size, .fields.dim = settings->dim};
    for (int a = settings->dim; a < 3; a++)
        fem->settings.gravity[a] = 0;
    fem->kernels = mpm_fem_dispatch_kernels(settings->isa, settings->dim, settings->real_size);
    fem->settings.isa = fem->kernels->isa; /* a string constant; the caller's may not last */
    fem->boundary = (mpm_boundary){.dim = settings->dim, .dx = settings->dx, .cells = {1, 1, 1}};
    memcpy(fem->boundary.lower, settings->lower, sizeof settings->lower);
    memcpy(fem->boundary.walls, settings->walls, sizeof settings->walls);
    fem->mesh = (mpm_fem_mesh){.dim = settings->dim, .lanes = fem->kernels->lanes};
    mpm_field fields[MPM_FEM_FIELDS];
    memcpy(fields, rows, sizeof rows);
    mpm_status status = mpm_store_add_fields(&fem->store, fields, MPM_FEM_FIELDS);
    if (!status)
        status = mpm_fem_parameters_begin(fem);
    if (status)
        mpm_fem_free(fem);
    else
        *result = fem;
    return status;
}

void mpm_fem_free(mpm_fem *fem)
{
    if (!fem)
        return;
    mpm_allocator allocator = fem->run.allocator;
    void *arrays[] = {fem->force, fem->next_force, fem->modulus, fem->next_modulus, fem->next_x, fem->next_v,
                      fem->copies, fem->found, fem->reports, fem->materials, fem->dashpots};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        mpm_memory_free(&allocator, arrays[k]);
    mpm_fem_parameters_clear(fem);
    mpm_fem_sweeps_clear(fem);
    mpm_fem_implicit_clear(fem);
    mpm_fem_mesh_clear(&fem->mesh, &allocator);
    mpm_store_clear(&fem->store);
    mpm_boundary_clear(&fem->boundary, &allocator);
    mpm_run_clear(&fem->run);
    mpm_memory_free(&allocator, fem);
}

mpm_store *mpm_fem_get_store(mpm_fem *fem)
{
    return &fem->store;
}

const mpm_fem_settings *mpm_fem_get_settings(const mpm_fem *fem)
{
    return &fem->settings;
}

double mpm_fem_residual(const mpm_fem *fem)
{
    return fem->solver.residual;
}

mpm_run *mpm_fem_get_run(mpm_fem *fem)
{
    return &fem->run;
}

/* Automatic steps and impulses. */
static double *numbers(void *self, int index, size_t *count)
{
    mpm_fem *fem = self;
    const size_t loads = fem->run.loads.count;
    double *spans[] = {&fem->run.natural_dt, &fem->approach, fem->books.body_impulse, fem->books.wall_impulse,
                       fem->own.damping_impulse, loads ? fem->run.loads.books->impulse : NULL};
    const size_t counts[] = {1, 1, 3, 3, 3, MPM_LOAD_BOOK * loads};
    if ((size_t)index >= sizeof counts / sizeof *counts || !counts[index])
        return NULL;
    *count = counts[index];
    return spans[index];
}

/* ---- what it is made of ----------------------------------------------------------------------------------------- */

static mpm_status add_material(void *self, const mpm_material *material)
{
    mpm_fem *fem = self;
    const int law = material->law;
    if (law < 0 || law >= MPM_LAW_COUNT || mpm_laws_inelastic(law) || mpm_laws_get(law)->strain != MPM_KEEPS_F ||
        (mpm_laws_tangent(law) != MPM_LAW_TANGENT && mpm_laws_tangent(law) != MPM_LAW_MODULI))
        return MPM_BAD_ARGUMENT;
    mpm_material added = *material;
    added.has_moduli = mpm_material_has_moduli(material);
    if (mpm_memory_grow(&fem->run.allocator, (void **)&fem->materials, &fem->material_capacity, fem->material_count,
                        fem->material_count + 1, sizeof *material))
        return MPM_OUT_OF_MEMORY;
    const mpm_status status = mpm_fem_parameters_add(fem, &added);
    if (!status) {
        fem->materials[fem->material_count++] = added;
        fem->has_kink |= mpm_laws_get(law)->kinked;
    }
    return status;
}

ptrdiff_t mpm_fem_elements(const mpm_fem *fem)
{
    return fem->mesh.elements;
}

static int materials(const void *self)
{
    return (int)((const mpm_fem *)self)->material_count;
}

static mpm_status alter(void *self, const mpm_alteration *change)
{
    mpm_fem *fem = self;
    if (change->material &&
        (change->index < 0 || (size_t)change->index >= fem->material_count ||
         !mpm_parameters_change(&fem->materials[change->index], change->material)))
        return MPM_BAD_ARGUMENT;
    fem->settled = fem->parameters.current = false;
    return mpm_alter_scene(&fem->settings.common, &fem->boundary, &fem->run.allocator, change);
}

static mpm_status add_collider(void *self, const mpm_collider *collider)
{
    mpm_fem *fem = self;
    return mpm_books_add_collider(&fem->boundary, &fem->run.allocator, &fem->run.history, collider);
}

static bool are_materials(const mpm_fem *fem, const int32_t *material, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++)
        if (material[i] < 0 || (size_t)material[i] >= fem->material_count)
            return false;
    return true;
}

mpm_status mpm_fem_add_nodes(mpm_fem *fem, ptrdiff_t count, const double *x, const double *v, const double *mass,
                             const double *volume, const int32_t *material)
{
    const ptrdiff_t first = fem->store.count, dim = fem->settings.dim;
    if (fem->mesh.elements || count < 0 || !are_materials(fem, material, count))
        return MPM_BAD_ARGUMENT;
    if (count > INT32_MAX / 2 - first)
        return MPM_TOO_LARGE;
    const mpm_status status = mpm_store_reserve(&fem->store, count);
    if (status)
        return status;
    mpm_store_add_rows(&fem->store, count);
    for (ptrdiff_t i = 0; i < count; i++) {
        const size_t row = (size_t)(first + i), size = fem->settings.real_size;
        for (ptrdiff_t a = 0; a < dim; a++) {
            mpm_real_set(fem->store.rows[MPM_FEM_X], row * (size_t)dim + (size_t)a, x[i * dim + a], size);
            mpm_real_set(fem->store.rows[MPM_FEM_V], row * (size_t)dim + (size_t)a, v[i * dim + a], size);
        }
        mpm_real_set(fem->store.rows[MPM_FEM_MASS], row, mass[i], size);
        mpm_real_set(fem->store.rows[MPM_FEM_VOLUME], row, volume[i], size);
        ((int32_t *)fem->store.rows[MPM_FEM_MATERIAL])[row] = material[i];
    }
    return MPM_OK;
}

/* Memory for the states and for what the kernels write. */
static mpm_status allocate(mpm_fem *fem)
{
    const mpm_allocator *allocator = &fem->run.allocator;
    const size_t real = fem->settings.real_size, nodes = (size_t)fem->mesh.nodes, dim = (size_t)fem->settings.dim;
    const size_t lanes = (size_t)fem->mesh.tiles * (size_t)fem->mesh.lanes;
    const size_t wide = fem->store.capacity[MPM_FEM_X]; /* the arrays of the next state change places with rows */
    fem->chunks = (fem->mesh.nodes + MPM_FEM_CHUNK - 1) / MPM_FEM_CHUNK;
    fem->next_x = mpm_memory_new(allocator, wide * dim, real);
    fem->next_v = mpm_memory_new(allocator, fem->store.capacity[MPM_FEM_V] * dim, real);
    fem->force = mpm_memory_new(allocator, 4 * nodes, real);
    fem->next_force = mpm_memory_new(allocator, 4 * nodes, real);
    fem->modulus = mpm_memory_new(allocator, lanes, real);
    fem->next_modulus = mpm_memory_new(allocator, lanes, real);
    fem->copies = mpm_memory_new(allocator, 4 * (size_t)fem->mesh.copies, real);
    fem->found = mpm_memory_new(allocator, (size_t)fem->mesh.tasks, sizeof *fem->found);
    fem->reports = mpm_memory_new(allocator, (size_t)fem->chunks, sizeof *fem->reports);
    return fem->next_x && fem->next_v && fem->force && fem->next_force && fem->modulus && fem->next_modulus &&
                   fem->copies && fem->found && fem->reports
               ? MPM_OK
               : MPM_OUT_OF_MEMORY;
}

static void release(mpm_fem *fem)
{
    const mpm_allocator *allocator = &fem->run.allocator;
    void **arrays[] = {&fem->next_x, &fem->next_v, &fem->force, &fem->next_force, &fem->modulus, &fem->next_modulus,
                       &fem->copies, (void **)&fem->found, (void **)&fem->reports};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        mpm_memory_free(allocator, *arrays[k]);
        *arrays[k] = NULL;
    }
    mpm_fem_mesh_clear(&fem->mesh, allocator);
}

mpm_status mpm_fem_set_mesh(mpm_fem *fem, const double *rest, ptrdiff_t elements, const int32_t *nodes,
                            const int32_t *material)
{
    if (fem->mesh.elements || elements < 0 || !are_materials(fem, material, elements))
        return MPM_BAD_ARGUMENT;
    fem->mesh.nodes = fem->store.count;
    fem->mesh.elements = elements;
    mpm_status status =
        mpm_fem_mesh_build(&fem->mesh, &fem->run.allocator, fem->settings.real_size, rest, nodes, material);
    if (!status)
        status = allocate(fem);
    if (status)
        release(fem);
    return status;
}

mpm_status mpm_fem_set_dashpots(mpm_fem *fem, const double *dashpots)
{
    const size_t count = (size_t)fem->mesh.nodes * (size_t)fem->settings.dim;
    if (!fem->mesh.elements || fem->dashpots)
        return MPM_BAD_ARGUMENT;
    for (size_t k = 0; k < count; k++)
        if (!(dashpots[k] >= 0 && isfinite(dashpots[k])))
            return MPM_BAD_ARGUMENT;
    fem->dashpots = mpm_memory_new(&fem->run.allocator, count, sizeof *fem->dashpots);
    if (!fem->dashpots)
        return MPM_OUT_OF_MEMORY;
    memcpy(fem->dashpots, dashpots, count * sizeof *dashpots);
    return MPM_OK;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* Brings the state up to date in a call that takes no steps. */
static mpm_status look(mpm_fem *fem)
{
    mpm_status status = mpm_run_begin(&fem->run, 1);
    if (!status) {
        status = mpm_fem_step_refresh(fem);
        mpm_run_end(&fem->run);
    }
    return status;
}

static mpm_status totals(void *self, mpm_totals *result)
{
    const mpm_status status = look(self);
    *result = mpm_fem_totals_of(self);
    return status;
}

static double bound_alone(const void *self)
{
    const mpm_fem *fem = self;
    return fem->mesh.elements ? mpm_fem_totals_bound(fem).dt : INFINITY;
}

static mpm_status stable_dt(void *self, mpm_stable_dt *bound)
{
    mpm_fem *fem = self;
    const mpm_status status = look(fem);
    *bound = (mpm_stable_dt){INFINITY, MPM_LIMIT_NONE, -1};
    if (!status && fem->mesh.elements) {
        *bound = mpm_fem_totals_bound(fem);
        bound->row = mpm_fem_totals_row(fem, bound->limit);
    }
    return status;
}

mpm_status mpm_fem_forces(mpm_fem *fem, double *forces)
{
    const mpm_status status = look(fem);
    const size_t dim = (size_t)fem->settings.dim;
    for (size_t row = 0; !status && row < (size_t)fem->mesh.nodes; row++)
        for (size_t a = 0; a < dim; a++)
            forces[row * dim + a] = mpm_real_at(fem->force, 4 * row + a, fem->settings.real_size);
    return status;
}

void mpm_fem_memory(const mpm_fem *fem, size_t *row_bytes, size_t *views, size_t *mesh, size_t *colliders)
{
    const mpm_fem_mesh *m = &fem->mesh;
    const size_t real = fem->settings.real_size, nodes = (size_t)m->nodes, lanes = (size_t)m->lanes;
    const struct fem_parameters *parameters = &fem->parameters;
    size_t element_rows, element_views;
    mpm_store_bytes(&fem->store, row_bytes, views);
    mpm_store_bytes(&parameters->store, &element_rows, &element_views);
    *row_bytes += (2 * (size_t)m->dim + 8) * nodes * real + 2 * (size_t)m->tiles * lanes * real;
    *views += element_views;
    *mesh = (parameters->prepared ? (size_t)m->tiles * (parameters->prepared_bytes + lanes * sizeof(int32_t)) : 0) +
            element_rows +
            (size_t)m->tiles * lanes * ((size_t)(m->dim + 1) * sizeof(int32_t) + (size_t)MPM_FEM_SHAPE(m->dim) * real) +
            (size_t)m->copies * (4 * real + 2 * sizeof(int32_t)) + (size_t)m->elements * sizeof(int32_t);
    *colliders = mpm_boundary_bytes(&fem->boundary);
}

/* ---- the method ------------------------------------------------------------------------------------------------- */

static void free_fem(void *self)
{
    mpm_fem_free(self);
}

static const char *const reasons[] = {
    [MPM_FEM_NOT_FINITE - MPM_REASONS] = "nodes_not_finite",
    [MPM_FEM_MOVES_TOO_FAR - MPM_REASONS] = "node_moves_too_far",
    [MPM_FEM_WOULD_INVERT - MPM_REASONS] = "element_would_invert",
    [MPM_FEM_WOULD_STIFFEN - MPM_REASONS] = "element_would_stiffen",
    [MPM_FEM_OUT_OF_RANGE - MPM_REASONS] = "element_out_of_range",
    [MPM_FEM_OUTSIDE - MPM_REASONS] = "nodes_outside"};
static const char *const counters[] = {[MPM_FEM_HEALTH_REFUSED] = "refused", [MPM_FEM_HEALTH_PRODUCTS] = "products",
                                       NULL};
static const char *const phases[] = {[MPM_FEM_PHASE_ELEMENTS] = "elements", [MPM_FEM_PHASE_NODES] = "nodes",
                                     [MPM_FEM_PHASE_VIEWS] = "views", NULL};
static const mpm_method method = {
    .row = "node", .size = "spacing", .reasons = reasons,
    .counters = counters, .refused = MPM_FEM_HEALTH_REFUSED, .phases = phases, .section = mpm_fem_totals_section,
    .free = free_fem,
    .add_material = add_material, .materials = materials, .add_collider = add_collider, .loads = true, .alter = alter,
    .totals = totals, .stable_dt = stable_dt,
    .snapshot = &mpm_kept_snapshot, .numbers = numbers, .lengths = 2 /* natural_dt and approach */,
    .refresh = mpm_fem_step_refresh, .plan = mpm_fem_step_plan, .bound = bound_alone,
    .attempt = mpm_fem_step_attempt, .may_retry = mpm_fem_step_may_retry, .report = mpm_fem_step_report,
    .commit = mpm_fem_step_commit, .record = mpm_fem_totals_record, .finish = mpm_fem_step_finish,
};
