/* SPDX-License-Identifier: MIT
 *
 * Calls the kernels in parallel, and adds what they report in the order of tasks and chunks.
 */
#include "fem/sweeps.h"

#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "base/real.h"
#include "fem/state.h"

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static size_t load_entries(const mpm_fem *fem)
{
    const int32_t *first = fem->run.forcing.first;
    return first ? (size_t)first[fem->store.count] : 0;
}

/* A workspace per thread, books per chunk and collider or load, power per entry. */
mpm_status mpm_fem_sweeps_reserve(mpm_fem *fem)
{
    const mpm_allocator *allocator = &fem->run.allocator;
    const int threads = mpm_pool_threads(fem->run.pool);
    const size_t bytes = 8 * (size_t)fem->mesh.most_nodes * fem->settings.real_size;
    if (threads > fem->workspace_count) {
        void **workspaces = mpm_memory_new(allocator, (size_t)threads, sizeof *workspaces);
        if (!workspaces)
            return MPM_OUT_OF_MEMORY;
        for (int k = 0; k < fem->workspace_count; k++)
            workspaces[k] = fem->workspaces[k];
        mpm_memory_free(allocator, fem->workspaces);
        fem->workspaces = workspaces;
        for (; fem->workspace_count < threads; fem->workspace_count++)
            if (!(fem->workspaces[fem->workspace_count] = mpm_memory_new(allocator, bytes, 1)))
                return MPM_OUT_OF_MEMORY;
    }
    const size_t chunks = (size_t)fem->chunks, loads = fem->run.loads.count;
    return mpm_memory_grow(allocator, (void **)&fem->contact_books, &fem->contact_capacity, 0,
                           chunks * fem->boundary.count, sizeof *fem->contact_books) ||
                   mpm_memory_grow(allocator, (void **)&fem->hold_impulses, &fem->hold_capacity, 0, chunks * loads,
                                   sizeof *fem->hold_impulses) ||
                   mpm_memory_grow(allocator, (void **)&fem->load_power, &fem->load_capacity, 0, load_entries(fem),
                                   sizeof *fem->load_power)
               ? MPM_OUT_OF_MEMORY
               : MPM_OK;
}

void mpm_fem_sweeps_clear(mpm_fem *fem)
{
    const mpm_allocator *allocator = &fem->run.allocator;
    for (int k = 0; k < fem->workspace_count; k++)
        mpm_memory_free(allocator, fem->workspaces[k]);
    mpm_memory_free(allocator, fem->workspaces);
    mpm_memory_free(allocator, fem->contact_books);
    mpm_memory_free(allocator, fem->hold_impulses);
    mpm_memory_free(allocator, fem->load_power);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

struct elements {
    const mpm_fem_kernels *kernels;
    mpm_fem_sweep sweep;
};

mpm_fem_sweep mpm_fem_sweeps_describe(const mpm_fem *fem)
{
    const struct fem_parameters *parameters = &fem->parameters;
    return (mpm_fem_sweep){.mesh = &fem->mesh, .materials = fem->materials, .x = fem->store.rows[MPM_FEM_X],
                           .v = fem->store.rows[MPM_FEM_V], .copies = fem->copies,
                           .workspaces = (void *const *)fem->workspaces, .found = fem->found,
                           .parameters = parameters->store.rows, .element_row = parameters->element_row,
                           .prepared = parameters->prepared, .prepared_bytes = parameters->prepared_bytes,
                           .tangent = fem->solver.tangent, .tangent_reals = fem->solver.tangent_reals};
}

static void prepare_task(void *context, ptrdiff_t task, int thread)
{
    const struct elements *call = context;
    call->kernels->prepare(&call->sweep, task, thread);
}

void mpm_fem_sweeps_prepare(mpm_fem *fem)
{
    struct elements elements = {fem->kernels, mpm_fem_sweeps_describe(fem)};
    const double start = mpm_clock_seconds();
    mpm_pool_for(fem->run.pool, prepare_task, &elements, fem->mesh.tasks);
    fem->parameters.current = true;
    mpm_run_spend(&fem->run, MPM_FEM_PHASE_ELEMENTS, start);
}

static void forces_task(void *context, ptrdiff_t task, int thread)
{
    const struct elements *call = context;
    call->kernels->forces(&call->sweep, task, thread);
}

struct nodes {
    const mpm_fem_kernels *kernels;
    mpm_fem_pass pass;
};

static void sum_chunk(void *context, ptrdiff_t chunk, int thread)
{
    const struct nodes *call = context;
    (void)thread;
    call->kernels->sum(&call->pass, chunk);
}

static void move_chunk(void *context, ptrdiff_t chunk, int thread)
{
    const struct nodes *call = context;
    (void)thread;
    call->kernels->move(&call->pass, chunk);
}

static struct nodes describe_nodes(const mpm_fem *fem)
{
    const mpm_fem_settings *settings = &fem->settings;
    struct nodes call = {fem->kernels,
                         {.mesh = &fem->mesh, .boundary = &fem->boundary, .drag = settings->damping[0],
                          .local_damping = settings->local_damping, .dashpots = fem->dashpots,
                          .body_force = fem->run.forcing.body_force, .x = fem->store.rows[MPM_FEM_X],
                          .v = fem->store.rows[MPM_FEM_V], .mass = fem->store.rows[MPM_FEM_MASS],
                          .copies = fem->copies, .force = fem->force, .next_x = fem->next_x,
                          .next_v = fem->next_v, .books = fem->contact_books, .reports = fem->reports}};
    if (fem->run.forcing.holds) {
        call.pass.forcing = &fem->run.forcing;
        call.pass.loads = fem->run.loads.count;
        call.pass.hold_impulses = fem->hold_impulses;
    }
    memcpy(call.pass.lower, settings->lower, sizeof settings->lower);
    memcpy(call.pass.upper, settings->upper, sizeof settings->upper);
    memcpy(call.pass.gravity, settings->gravity, sizeof settings->gravity);
    return call;
}

static void add_sums(const mpm_fem *fem, mpm_sums *sums)
{
    sums->elastic = MPM_EXACT_SUM(fem->found, fem->mesh.tasks, elastic);
    sums->mass = MPM_EXACT_SUM(fem->reports, fem->chunks, mass);
    sums->kinetic = MPM_EXACT_SUM(fem->reports, fem->chunks, kinetic);
    for (int a = 0; a < 3; a++) {
        sums->momentum[a] = MPM_EXACT_SUM(fem->reports, fem->chunks, momentum[a]);
        sums->mass_moment[a] = MPM_EXACT_SUM(fem->reports, fem->chunks, mass_moment[a]);
        sums->angular_momentum[a] = MPM_EXACT_SUM(fem->reports, fem->chunks, angular_momentum[a]);
    }
}

/* A state: its positions and velocities, and what follows from them. */
struct state {
    const void *x, *v;
    void *force, *modulus;
    struct fem_measure *measure;
};

/* Forces of a state on its nodes, and its measure. `before`: the moduli before the step, or NULL. */
static void find_forces(mpm_fem *fem, struct state state, const void *before)
{
    struct fem_measure *measure = state.measure;
    /* Implicit steps have the damping in their matrix. */
    const double damping = fem->settings.integrator == MPM_FEM_SYMPLECTIC_EULER ? fem->settings.damping[1] : 0;
    struct elements elements = {fem->kernels, mpm_fem_sweeps_describe(fem)};
    elements.sweep.x = state.x;
    elements.sweep.v = state.v;
    elements.sweep.modulus = state.modulus;
    elements.sweep.modulus_before = before;
    elements.sweep.most_change = MPM_FEM_MOST_CHANGE;
    elements.sweep.damping = damping;
    double start = mpm_clock_seconds();
    mpm_pool_for(fem->run.pool, forces_task, &elements, fem->mesh.tasks);
    mpm_run_spend(&fem->run, MPM_FEM_PHASE_ELEMENTS, start);
    struct nodes nodes = describe_nodes(fem);
    nodes.pass.x = state.x;
    nodes.pass.v = state.v;
    nodes.pass.force = state.force;
    start = mpm_clock_seconds();
    mpm_pool_for(fem->run.pool, sum_chunk, &nodes, fem->chunks);
    *measure = (struct fem_measure){.finite = true};
    add_sums(fem, &measure->sums);
    for (int32_t t = 0; t < fem->mesh.tasks; t++) {
        measure->out_of_range += fem->found[t].out_of_range;
        measure->stiffened += fem->found[t].stiffened;
        measure->finite &= fem->found[t].finite;
    }
    for (ptrdiff_t c = 0; c < fem->chunks; c++) {
        measure->rate2 = fmax(measure->rate2, fem->reports[c].rate2);
        measure->speed = fmax(measure->speed, fem->reports[c].speed);
        measure->beyond = fmax(measure->beyond, fem->reports[c].beyond);
    }
    measure->finite &= isfinite(measure->speed) && isfinite(measure->rate2) && isfinite(measure->sums.elastic);
    mpm_run_spend(&fem->run, MPM_FEM_PHASE_NODES, start);
}

void mpm_fem_sweeps_forces(mpm_fem *fem)
{
    void *const *rows = fem->store.rows;
    const struct state present = {rows[MPM_FEM_X], rows[MPM_FEM_V], fem->force, fem->modulus, &fem->measure};
    find_forces(fem, present, NULL);
}

/* The power of the loads, with the velocities at the end of the step. Enters their books; returns the sum of their
 * forces. */
void mpm_fem_sweeps_enter_loads(mpm_fem *fem, double dt, double sum[3])
{
    const mpm_forcing *forcing = &fem->run.forcing;
    const int dim = fem->settings.dim;
    for (ptrdiff_t row = 0; forcing->first && row < fem->store.count; row++)
        for (int32_t e = forcing->first[row]; e < forcing->first[row + 1]; e++) {
            fem->load_power[e] = 0;
            for (int a = 0; a < dim; a++)
                fem->load_power[e] += forcing->force[(ptrdiff_t)e * dim + a] *
                                      mpm_real_at(fem->next_v, (size_t)(row * dim + a), fem->settings.real_size);
        }
    if (forcing->first)
        mpm_loads_sum(&fem->run.loads, forcing, dim, (ptrdiff_t)load_entries(fem), fem->load_power);
    mpm_loads_enter(&fem->run.loads, forcing, dim, dt, sum);
}

void mpm_fem_sweeps_try_forces(mpm_fem *fem)
{
    const struct state next = {fem->next_x, fem->next_v, fem->next_force, fem->next_modulus, &fem->next};
    find_forces(fem, next, fem->modulus);
}

/* The impulses of held regions, from those of the chunks. */
static void sum_holds(mpm_fem *fem)
{
    mpm_loads *loads = &fem->run.loads;
    for (size_t k = 0; fem->run.forcing.holds && k < loads->count; k++)
        for (int a = 0; a < 3; a++)
            loads->impulse[k][a] = mpm_exact_sum(&fem->hold_impulses[k][a], (size_t)fem->chunks,
                                                 loads->count * sizeof *loads->impulse);
}

/* Velocities and positions at the end of a step of size dt. */
struct fem_motion mpm_fem_sweeps_move(mpm_fem *fem, double dt)
{
    struct fem_motion motion = {.collider_speed = -1};
    struct nodes nodes = describe_nodes(fem);
    nodes.pass.dt = dt;
    const double start = mpm_clock_seconds();
    mpm_boundary_pose(&fem->boundary, fem->run.time, dt);
    mpm_pool_for(fem->run.pool, move_chunk, &nodes, fem->chunks);
    for (ptrdiff_t c = 0; c < fem->chunks; c++) {
        const mpm_fem_report *report = &fem->reports[c];
        motion.speed = fmax(motion.speed, report->speed);
        motion.approach = fmax(motion.approach, report->approach);
        motion.collider_speed = fmax(motion.collider_speed, report->collider_speed);
    }
    for (int a = 0; a < 3; a++) {
        motion.wall_impulse[a] = MPM_EXACT_SUM(fem->reports, fem->chunks, wall_impulse[a]);
        motion.force[a] = MPM_EXACT_SUM(fem->reports, fem->chunks, force[a]);
        motion.drag[a] = MPM_EXACT_SUM(fem->reports, fem->chunks, drag[a]);
    }
    sum_holds(fem);
    mpm_run_spend(&fem->run, MPM_FEM_PHASE_NODES, start);
    return motion;
}
