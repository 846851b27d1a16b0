/* SPDX-License-Identifier: MIT */
#include "mpm/implicit.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "mpm/describe.h"
#include "mpm/halo.h"
#include "mpm/state.h"
#include "mpm/sweeps.h"

enum { MOST_PRODUCTS = 5000 };

/* After a revision of the contacts, the tolerance refers to so many times their impulses, or to the first residual of
 * the step if that is less. A larger number lets the pull of released nodes stay. A smaller one costs products: with 1,
 * a block that falls on a corner takes nine times as many. */
static const double OF_CONTACT = 300;

/* One solve: the argument of the solvers' functions. */
struct solve {
    mpm_simulation *simulation;
    double dt; /* after which the forces act [s] */
    int64_t products;
};

/* ---- scratch ---------------------------------------------------------------------------------------------------- */

/* Replaces an array that is too small; its contents are lost. */
static bool fit(mpm_device *device, void **array, size_t *capacity, size_t count, size_t size)
{
    if (*array && *capacity >= count)
        return true;
    mpm_device_free(device, *array);
    *array = mpm_device_new_unset(device, count, size);
    *capacity = *array ? count : 0;
    return *array;
}

static void free_blocks(struct solver *solver, mpm_device *device)
{
    mpm_device_free(device, solver->constrained.first);
    mpm_device_free(device, solver->constrained.count);
    mpm_device_free(device, solver->sums);
    solver->constrained.first = solver->constrained.count = NULL;
    solver->sums = NULL;
    solver->block_capacity = 0;
}

static int tangent_reals(const mpm_simulation *simulation)
{
    return MPM_TANGENT_REALS(simulation->particles.dim, simulation->has_moduli);
}

mpm_status mpm_implicit_reserve(mpm_simulation *simulation)
{
    struct solver *solver = &simulation->solver;
    mpm_device *device = &simulation->backend->device;
    const mpm_particles *particles = &simulation->particles;
    const size_t blocks = simulation->grid.block_count + 1;
    const size_t tile_bytes = (size_t)(tangent_reals(simulation) * particles->lanes) * particles->real_size;
    if (!simulation->integrator->solve)
        return MPM_OK;
    if (!fit(device, &solver->tangent, &solver->tangent_bytes, ((size_t)particles->tiles + 1) * tile_bytes, 1))
        return MPM_OUT_OF_MEMORY;
    if (solver->block_capacity >= blocks)
        return MPM_OK;
    free_blocks(solver, device);
    solver->constrained.first = mpm_device_new(device, blocks, sizeof *solver->constrained.first);
    solver->constrained.count = mpm_device_new(device, blocks, sizeof *solver->constrained.count);
    solver->sums = mpm_device_new(device, blocks, sizeof *solver->sums);
    solver->block_capacity = blocks;
    if (solver->constrained.first && solver->constrained.count && solver->sums)
        return MPM_OK;
    free_blocks(solver, device);
    return MPM_OUT_OF_MEMORY;
}

void mpm_implicit_end(mpm_simulation *simulation)
{
    struct solver *solver = &simulation->solver;
    mpm_device *device = &simulation->backend->device;
    const mpm_solution solution = solver->solution;
    free_blocks(solver, device);
    mpm_device_free(device, solver->constrained.nodes);
    mpm_device_free(device, solver->tangent);
    *solver = (struct solver){.solution = solution};
}

/* ---- node vectors ----------------------------------------------------------------------------------------------- */

/* The sums over the blocks that a pass has found. */
struct sums {
    double first, second;
};

static struct sums reduce_sums(const mpm_simulation *simulation)
{
    static const mpm_member members[] = {{0, 2, MPM_REDUCE_SUM}};
    struct sums sums = {0};
    const mpm_reduction reduction =
        mpm_sweeps_of_blocks(simulation, (mpm_reduction){.parts = simulation->solver.sums, .stride = sizeof sums,
                                                         .members = members, .member_count = 1});
    mpm_sweeps_reduce(simulation, &reduction, &sums);
    return sums;
}

/* Returns the sums of an operation that has any. */
static struct sums visit_nodes(mpm_simulation *simulation, mpm_node_operation operation, mpm_grid_field trial,
                               double factor)
{
    struct solver *solver = &simulation->solver;
    const mpm_node_pass vectors = {.grid = &simulation->grid, .constrained = &solver->constrained,
                                   .operation = operation, .trial = trial,
                                   .preconditioner = mpm_describe_preconditioner(simulation),
                                   .along = operation == MPM_NODES_RESIDUAL && simulation->lacks_energy,
                                   .factor = factor, .sums = solver->sums};
    const bool after_a_sweep =
        operation == MPM_NODES_RESIDUAL || operation == MPM_NODES_SYSTEM || operation == MPM_NODES_PRODUCT;
    const mpm_pass pass = {.kind = MPM_PASS_VECTORS, .joins = after_a_sweep, .grid = &simulation->grid,
                           .vectors = &vectors};
    mpm_sweeps_pass(simulation, &pass);
    return after_a_sweep || operation == MPM_NODES_ADVANCE ? reduce_sums(simulation) : (struct sums){0};
}

static void swap_vectors(mpm_grid *grid, mpm_grid_field a, mpm_grid_field b)
{
    void *kept = grid->field[a];
    grid->field[a] = grid->field[b];
    grid->field[b] = kept;
}

/* ---- the functions of the solvers ------------------------------------------------------------------------------- */

/* Sweeps over the particles with the node vector `vector`. Returns the energy. */
static double sweep(struct solve *solve, mpm_operation operation, mpm_grid_field vector, double beta, bool projects)
{
    mpm_simulation *simulation = solve->simulation;
    const mpm_arguments arguments = {.solve = {
        .dt = solve->dt, .nodes = simulation->grid.field[vector], .tangent = simulation->solver.tangent,
        .reals = tangent_reals(simulation), .beta = beta, .projects = projects}};
    return mpm_sweeps_solve(simulation, operation, &arguments);
}

static double multiply(void *self)
{
    struct solve *solve = self;
    sweep(solve, MPM_PRODUCT, MPM_GRID_DIRECTION, 1, false);
    solve->products++;
    return visit_nodes(solve->simulation, MPM_NODES_PRODUCT, MPM_GRID_VELOCITY, 0).first;
}

static mpm_krylov_residual residual_of(struct sums sums)
{
    return (mpm_krylov_residual){sums.first, sums.second};
}

static mpm_krylov_residual advance(void *self, double a)
{
    return residual_of(visit_nodes(((struct solve *)self)->simulation, MPM_NODES_ADVANCE, MPM_GRID_VELOCITY, a));
}

static void redirect(void *self, double b)
{
    visit_nodes(((struct solve *)self)->simulation, MPM_NODES_REDIRECT, MPM_GRID_VELOCITY, b);
}

static mpm_newton_point evaluate(void *self, double step)
{
    struct solve *solve = self;
    const mpm_grid_field trial = step > 0 ? MPM_GRID_TRIAL : MPM_GRID_VELOCITY;
    if (step > 0)
        visit_nodes(solve->simulation, MPM_NODES_TRY, trial, step);
    const double potential = sweep(solve, MPM_RESIDUAL, trial, 1, false);
    const struct sums sums = visit_nodes(solve->simulation, MPM_NODES_RESIDUAL, trial, 0);
    const bool along = solve->simulation->lacks_energy;
    const double energy = along ? potential : potential + sums.second;
    /* where a law has no energy, its derivatives are those of another state */
    return (mpm_newton_point){energy, isfinite(energy) ? sqrt(sums.first) : INFINITY, along ? sums.second : 0};
}

/* The linear system about v, or that of the model which is linear about F^n. */
static mpm_krylov_residual make_system(struct solve *solve, mpm_operation operation, double beta, bool projects)
{
    sweep(solve, operation, MPM_GRID_VELOCITY, beta, projects);
    return residual_of(visit_nodes(solve->simulation, MPM_NODES_SYSTEM, MPM_GRID_VELOCITY, 0));
}

static mpm_krylov_residual linearize(void *self, mpm_newton_model model)
{
    return make_system(self, model == MPM_NEWTON_INITIAL ? MPM_LINEARIZE : MPM_TANGENT, 1, model != MPM_NEWTON_EXACT);
}

static void accept(void *self)
{
    swap_vectors(&((struct solve *)self)->simulation->grid, MPM_GRID_VELOCITY, MPM_GRID_TRIAL);
}

static mpm_linear_system system_of(struct solve *solve)
{
    return (mpm_linear_system){solve, multiply, advance, redirect};
}

/* ---- one solve between two revisions of the contacts ------------------------------------------------------------ */

static double epsilon_of(const mpm_simulation *simulation)
{
    return simulation->settings.real_size == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* The residual that rounding alone leaves: forces of the size of the modulus, with the error epsilon, at all nodes.
 * Some searches fail at a few dozen times as much (NOISE of newton.c). */
static double rounding_floor(const mpm_simulation *simulation, double dt)
{
    const mpm_measure *most = &simulation->measure;
    return epsilon_of(simulation) * dt * most->wave2 / simulation->settings.dx * sqrt(most->mass);
}

/* That of velocities, which a short step hardly changes. */
static double rounding_of_velocities(const mpm_simulation *simulation)
{
    return epsilon_of(simulation) * simulation->measure.speed * sqrt(simulation->measure.mass);
}

/* The linear model alone: no residual of the law is looked at. */
static bool solve_linear(struct solve *solve, mpm_newton *result)
{
    mpm_simulation *simulation = solve->simulation;
    const mpm_settings *settings = &simulation->settings;
    const mpm_linear_system system = system_of(solve);
    const bool projects = settings->projection == MPM_PROJECTION_SEMIDEFINITE;
    const mpm_krylov_residual first = make_system(solve, MPM_LINEARIZE, settings->beta, projects);
    const double floor = rounding_floor(simulation, solve->dt) + rounding_of_velocities(simulation);
    const double goal = fmax(settings->tolerance * sqrt(first.norm2), floor);
    *result = (mpm_newton){.end = MPM_NEWTON_FAILED, .iterations = 1, .residual = {first.norm2 > 0}};
    if (!isfinite(first.norm2))
        return false;
    const mpm_krylov krylov = mpm_krylov_solve(&system, first, goal * goal, MOST_PRODUCTS);
    const double last2 = krylov.residual.norm2;
    result->products = krylov.products;
    result->residual[1] = first.norm2 > 0 ? sqrt(last2 / first.norm2) : 0;
    simulation->solver.solution.indefinite = krylov.indefinite;
    if (!isfinite(last2) || krylov.indefinite || last2 > goal * goal)
        return false;
    visit_nodes(simulation, MPM_NODES_TRY, MPM_GRID_VELOCITY, 1);
    accept(solve);
    /* once more, for the impulses of contacts */
    sweep(solve, MPM_LINEARIZE, MPM_GRID_VELOCITY, settings->beta, projects);
    visit_nodes(simulation, MPM_NODES_RESIDUAL, MPM_GRID_VELOCITY, 0);
    result->end = MPM_NEWTON_CONVERGED;
    return true;
}

/* The relative rounding error of the energy. */
static double energy_rounding(const mpm_settings *settings)
{
    return settings->real_size == sizeof(float) ? 1e-5 : 1e-13;
}

/* Backward Euler. `reference` is the first residual of the step, 0 before it is known; `unit` is the residual that
 * counts as 1, 0: the first one. */
static bool solve_nonlinear(struct solve *solve, double *reference, double unit, mpm_newton *result)
{
    const mpm_settings *settings = &solve->simulation->settings;
    const mpm_newton_problem problem = {
        .self = solve, .system = system_of(solve), .evaluate = evaluate, .linearize = linearize, .accept = accept,
        .tolerance = settings->tolerance, .unit = unit,
        .floor = rounding_floor(solve->simulation, solve->dt), .lacks_energy = solve->simulation->lacks_energy,
        .energy_rounding = energy_rounding(settings),
        .most = settings->max_iterations, .most_products = MOST_PRODUCTS,
    };
    *reference = mpm_newton_solve(&problem, *reference, *reference == 0, result);
    return result->end != MPM_NEWTON_FAILED;
}

/* ---- contacts --------------------------------------------------------------------------------------------------- */

/* The passes over the contacts of one step. */
struct contact_passes {
    mpm_simulation *simulation;
    mpm_grid_pass stage;
};

static void visit_constrained(const struct contact_passes *passes, mpm_pass_kind kind)
{
    mpm_simulation *simulation = passes->simulation;
    const mpm_pass pass = {.kind = kind, .grid = &simulation->grid, .stage = &passes->stage,
                           .constrained = &simulation->solver.constrained, .tolerance = simulation->settings.tolerance,
                           .sums = simulation->solver.sums};
    mpm_sweeps_pass(simulation, &pass);
}

/* Gives every block its room in the list of nodes, and returns the room of all. */
static size_t share_room(const mpm_simulation *simulation)
{
    mpm_device *device = &simulation->backend->device;
    const mpm_constrained_nodes *constrained = &simulation->solver.constrained;
    const int32_t *count = mpm_device_map(device, constrained->count, MPM_READ);
    int32_t *first = mpm_device_map(device, constrained->first, MPM_WRITE);
    size_t room = 0;
    for (size_t b = 0; b < simulation->grid.block_count && room <= INT32_MAX; b++) {
        first[b] = (int32_t)room;
        room += (size_t)count[b];
    }
    mpm_device_unmap(device, constrained->first);
    mpm_device_unmap(device, constrained->count);
    return room;
}

static mpm_status find_contacts(mpm_simulation *simulation, const struct contact_passes *passes)
{
    struct solver *solver = &simulation->solver;
    mpm_constrained_nodes *constrained = &solver->constrained;
    visit_constrained(passes, MPM_PASS_COUNT_CONSTRAINED);
    const size_t room = share_room(simulation);
    void *nodes = constrained->nodes;
    const mpm_status own = room > INT32_MAX ? MPM_TOO_LARGE
                           : fit(&simulation->backend->device, &nodes, &solver->constrained_capacity, room + 1,
                                 sizeof *constrained->nodes)
                               ? MPM_OK
                               : MPM_OUT_OF_MEMORY;
    constrained->nodes = nodes;
    const mpm_status status = mpm_halo_agree(simulation, own);
    if (status)
        return status;
    visit_constrained(passes, MPM_PASS_FIND_CONSTRAINED);
    return MPM_OK;
}

/* The size of the impulses at contacts, in the norm of M^-1. The first residual of a step may exceed it by far. */
static double contact_impulse(const mpm_simulation *simulation)
{
    mpm_device *device = &simulation->backend->device;
    const mpm_grid *grid = &simulation->grid;
    const mpm_constrained_nodes *constrained = &simulation->solver.constrained;
    const int32_t *first = mpm_device_map(device, constrained->first, MPM_READ);
    const int32_t *count = mpm_device_map(device, constrained->count, MPM_READ);
    const mpm_constrained_node *nodes = mpm_device_map(device, constrained->nodes, MPM_READ);
    const void *guess = mpm_device_map(device, grid->field[MPM_GRID_GUESS], MPM_READ);
    double(*sums)[2] = mpm_device_map(device, simulation->solver.sums, MPM_WRITE);
    const size_t size = simulation->settings.real_size;
    for (size_t b = 0; b < grid->block_count; b++) {
        sums[b][0] = sums[b][1] = 0;
        for (int32_t i = first[b]; i < first[b] + count[b]; i++) {
            const mpm_constrained_node *at = &nodes[i];
            const size_t mass = (b * MPM_BLOCK_NODES + (size_t)at->node) * 4 + 3;
            double square = 0;
            for (int c = 0; c < at->contacts; c++)
                for (int a = 0; a < 3; a++)
                    square += at->contact[c].impulse[a] * at->contact[c].impulse[a];
            sums[b][0] += square / mpm_real_at(guess, mass, size);
        }
    }
    mpm_device_unmap(device, simulation->solver.sums);
    mpm_device_unmap(device, grid->field[MPM_GRID_GUESS]);
    mpm_device_unmap(device, constrained->nodes);
    mpm_device_unmap(device, constrained->count);
    mpm_device_unmap(device, constrained->first);
    return sqrt(reduce_sums(simulation).first);
}

/* Revises the contacts; did any change? */
static bool revise_contacts(mpm_simulation *simulation, const struct contact_passes *passes)
{
    visit_constrained(passes, MPM_PASS_REVISE_CONSTRAINED);
    return reduce_sums(simulation).first > 0;
}

/* ---- the step --------------------------------------------------------------------------------------------------- */

double mpm_implicit_forces_dt(const mpm_simulation *simulation, double dt)
{
    return simulation->settings.scheme.midpoint ? dt / 2 : dt;
}

static bool solve_between_contacts(struct solve *solve, const struct contact_passes *passes)
{
    mpm_simulation *simulation = solve->simulation;
    mpm_solution *solution = &simulation->solver.solution;
    const double load = simulation->settings.load * solve->dt;
    double reference = 0, unit = load;
    for (int k = 1;; k++) {
        const bool solved = simulation->integrator->linear
                                ? solve_linear(solve, &solution->newton)
                                : solve_nonlinear(solve, &reference, unit, &solution->newton);
        solution->newtons += solution->newton.iterations;
        solution->backtracks += solution->newton.backtracks;
        solution->residual = solution->newton.residual[solution->newton.iterations];
        if (!solved)
            return false;
        if (k == MPM_CONTACT_SOLVES || !revise_contacts(simulation, passes))
            return true;
        visit_nodes(simulation, MPM_NODES_GIVE, MPM_GRID_VELOCITY, 0);
        unit = load > 0 ? load : fmin(reference, OF_CONTACT * contact_impulse(simulation));
    }
}

mpm_status mpm_implicit_solve(mpm_simulation *simulation, double dt, mpm_block_report *report)
{
    struct solve solve = {simulation, .dt = mpm_implicit_forces_dt(simulation, dt)};
    mpm_solution *solution = &simulation->solver.solution;
    *solution = (mpm_solution){0};
    mpm_sweeps_grid_free(simulation, dt, solve.dt);
    const struct contact_passes passes = {simulation, mpm_sweeps_describe_grid(simulation, MPM_GRID_FREE, dt)};
    const mpm_status status = find_contacts(simulation, &passes);
    if (status)
        return status;
    visit_nodes(simulation, MPM_NODES_BEGIN, MPM_GRID_VELOCITY, 0);
    const bool solved = solve_between_contacts(&solve, &passes);
    solution->products = (double)solve.products;
    if (!solved) {
        simulation->backend->clean(simulation->backend);
        return MPM_NO_CONVERGENCE;
    }
    simulation->run.health[MPM_HEALTH_STAGNATED] += solution->newton.end == MPM_NEWTON_STAGNATED;
    if (simulation->settings.scheme.midpoint)
        visit_nodes(simulation, MPM_NODES_EXTRAPOLATE, MPM_GRID_VELOCITY, 0);
    visit_constrained(&passes, MPM_PASS_ENTER_CONSTRAINED);
    *report = mpm_sweeps_grid_finish(simulation, dt);
    return MPM_OK;
}

/* Near the minimum, energies differ by the square of the residual, so rounding hides the energy of a residual below the
 * root of its error. */
void mpm_implicit_report(const mpm_simulation *simulation, mpm_error *error)
{
    const mpm_settings *settings = &simulation->settings;
    const mpm_solution *solution = &simulation->solver.solution;
    const mpm_newton *newton = &solution->newton;
    const bool linear = simulation->integrator->linear;
    double least = INFINITY;
    for (int k = 0; k <= newton->iterations; k++)
        least = fmin(least, newton->residual[k]);
    const bool projects = settings->projection == MPM_PROJECTION_SEMIDEFINITE;
    const bool used_up = newton->iterations == settings->max_iterations && newton->iterations < MPM_NEWTON_MOST;
    error->kind = (settings->dt > 0 ? 0 : MPM_UNSOLVED_AUTOMATIC) |
                    (!linear && used_up ? MPM_UNSOLVED_ITERATIONS : 0) |
                    (!linear && least < sqrt(energy_rounding(settings)) ? MPM_UNSOLVED_ROUNDING : 0) |
                    (linear && solution->indefinite && !projects ? MPM_UNSOLVED_INDEFINITE : 0);
    error->value[0] = least;
    error->value[1] = settings->tolerance;
}
