/* SPDX-License-Identifier: MIT
 *
 * Linearly implicit Euler steps (csrc/fem/kernels/vectors.c has the equation): one linear solve per step, by conjugate
 * gradients from the velocities at its beginning. Contacts hold directions of velocities during the solve; it is
 * repeated while they change, at most MPM_CONTACT_SOLVES times.
 *
 * The system is linear, so a step is stable at any size for small strains; large rotations and contacts limit it by
 * accuracy. Damping and stiffness are those of the rotated elements at rest.
 */
#include "fem/implicit.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "base/real.h"
#include "fem/state.h"
#include "fem/sweeps.h"
#include "math/krylov.h"

/* The argument of the solver's functions. */
struct solve {
    mpm_fem *fem;
    mpm_fem_solve pass;
    mpm_fem_sweep sweep;
    mpm_fem_task *task;
    mpm_fem_vectors *vectors;
};

/* ---- memory ----------------------------------------------------------------------------------------------------- */

mpm_status mpm_fem_implicit_reserve(mpm_fem *fem)
{
    const mpm_allocator *allocator = &fem->run.allocator;
    struct fem_solver *solver = &fem->solver;
    const size_t nodes = (size_t)fem->mesh.nodes, real = fem->settings.real_size;
    if (fem->settings.integrator != MPM_FEM_LINEARLY_IMPLICIT || solver->tangent)
        return MPM_OK;
    bool there = true;
    for (int k = 0; k < MPM_FEM_VECTORS; k++)
        there &= (solver->vector[k] = mpm_memory_new(allocator, 4 * nodes, real)) != NULL;
    there &= (solver->blocks = mpm_memory_new(allocator, MPM_FEM_BLOCK * nodes, real)) != NULL;
    there &= (solver->sums = mpm_memory_new(allocator, (size_t)fem->chunks, sizeof *solver->sums)) != NULL;
    there &=
        (solver->constrained_first =
             mpm_memory_new(allocator, (size_t)fem->chunks + 1, sizeof *solver->constrained_first)) != NULL;
    solver->tangent_reals = MPM_FEM_TANGENT(fem->mesh.dim);
    for (size_t m = 0; m < fem->material_count; m++)
        if (fem->materials[m].has_moduli)
            solver->tangent_reals = MPM_FEM_MODULI(fem->mesh.dim);
    solver->tangent = mpm_memory_new(
        allocator, (size_t)fem->mesh.tiles * (size_t)(solver->tangent_reals * fem->mesh.lanes), real);
    if (there && solver->tangent)
        return MPM_OK;
    mpm_fem_implicit_clear(fem);
    return MPM_OUT_OF_MEMORY;
}

void mpm_fem_implicit_clear(mpm_fem *fem)
{
    const mpm_allocator *allocator = &fem->run.allocator;
    struct fem_solver *solver = &fem->solver;
    for (int k = 0; k < MPM_FEM_VECTORS; k++)
        mpm_memory_free(allocator, solver->vector[k]);
    void *others[] = {solver->blocks, solver->sums, solver->constrained_first, solver->tangent, solver->constrained};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        mpm_memory_free(allocator, others[k]);
    *solver = (struct fem_solver){0};
}

/* ---- contacts --------------------------------------------------------------------------------------------------- */

static double number_at(const void *rows, ptrdiff_t row, int a, const mpm_fem *fem)
{
    return mpm_real_at(rows, (size_t)(row * fem->settings.dim + a), fem->settings.real_size);
}

/* Marks the colliders that can hold a node of a chunk. Returns a bound of their speed, -1 if there are none. */
static double find_near(const mpm_fem *fem, ptrdiff_t first, ptrdiff_t end, double dt, mpm_collider_book *books)
{
    double centre[3] = {0}, diagonal2 = 0;
    for (size_t k = 0; k < fem->boundary.count; k++)
        books[k] = (mpm_collider_book){0};
    if (!fem->boundary.count)
        return -1;
    for (int a = 0; a < fem->settings.dim; a++) {
        double low = INFINITY, high = -INFINITY;
        for (ptrdiff_t row = first; row < end; row++) {
            low = fmin(low, number_at(fem->store.rows[MPM_FEM_X], row, a, fem));
            high = fmax(high, number_at(fem->store.rows[MPM_FEM_X], row, a, fem));
        }
        centre[a] = 0.5 * (low + high);
        diagonal2 += (high - low) * (high - low);
    }
    const double radius = 0.5 * sqrt(diagonal2) * (1 + 1e-9) + DBL_MIN;
    return mpm_collider_find_near(fem->boundary.colliders, fem->boundary.count, centre, radius, dt, books);
}

/* Adds the regions that hold a node; the last one wins. */
static void find_holds(const mpm_fem *fem, ptrdiff_t row, const double v[3], mpm_constrained_node *node)
{
    const mpm_forcing *forcing = &fem->run.forcing;
    const int dim = fem->settings.dim;
    if (!forcing->holds || !forcing->holds[row])
        return;
    for (int a = 0; a < dim; a++)
        for (int k = (int)fem->run.loads.count - 1; k >= 0; k--) {
            const double speed = forcing->velocity[k * dim + a];
            if (!(forcing->holds[row] >> k & 1) || isnan(speed))
                continue;
            mpm_node_contact contact = {.contact = MPM_SLIP, .collider = MPM_HELD_BY_REGION - k};
            contact.normal[a] = 1;
            contact.surface[a] = speed;
            mpm_constraint_add(node, &contact, v);
            break;
        }
}

/* The contacts of a node, with its velocity after gravity. */
static mpm_constrained_node find_contacts(const mpm_fem *fem, ptrdiff_t row, double dt, bool near,
                                          const mpm_collider_book *books)
{
    const bool is_float = fem->settings.real_size == sizeof(float);
    mpm_constrained_node node = {.node = (int32_t)row, .rounding = mpm_constraint_rounding(is_float)};
    mpm_node_contact contacts[MPM_MOST_CONTACTS];
    mpm_faces faces = {.walls = fem->boundary.walls};
    double x[3] = {0}, v[3] = {0};
    for (int a = 0; a < fem->settings.dim; a++) {
        const double b = fem->run.forcing.body_force ? fem->run.forcing.body_force[row * fem->settings.dim + a] : 0;
        x[a] = number_at(fem->store.rows[MPM_FEM_X], row, a, fem);
        v[a] = number_at(fem->store.rows[MPM_FEM_V], row, a, fem) + dt * (fem->settings.gravity[a] + b);
        faces.lower[a] = fem->settings.lower[a];
        faces.upper[a] = fem->settings.upper[a];
        faces.held |= (x[a] <= faces.lower[a] ? 1u : 0) << 2 * a | (x[a] >= faces.upper[a] ? 1u : 0) << (2 * a + 1);
    }
    find_holds(fem, row, v, &node);
    if ((!near && !faces.held) || node.contacts == fem->settings.dim) {
        if (node.contacts)
            mpm_constraint_fix(&node, fem->settings.dim);
        return node;
    }
    const int count =
        mpm_contacts_find(fem->boundary.colliders, near ? fem->boundary.count : 0, x, books, &faces,
                          fem->boundary.dx, contacts);
    for (int c = 0; c < count; c++)
        mpm_constraint_add(&node, &contacts[c], v);
    if (node.contacts)
        mpm_constraint_fix(&node, fem->settings.dim);
    return node;
}

/* Lists the nodes at contacts. Returns a bound of the speed of the near colliders, -1 if there are none. */
static mpm_status find_constrained(mpm_fem *fem, double dt, double *collider_speed)
{
    struct fem_solver *solver = &fem->solver;
    size_t count = 0;
    *collider_speed = -1;
    for (ptrdiff_t c = 0; c < fem->chunks; c++) {
        const ptrdiff_t first = c * MPM_FEM_CHUNK, most = first + MPM_FEM_CHUNK;
        const ptrdiff_t end = most < fem->mesh.nodes ? most : fem->mesh.nodes;
        mpm_collider_book *books = fem->contact_books + (size_t)c * fem->boundary.count;
        const double speed = find_near(fem, first, end, dt, books);
        *collider_speed = fmax(*collider_speed, speed);
        solver->constrained_first[c] = (int32_t)count;
        for (ptrdiff_t row = first; row < end; row++) {
            const mpm_constrained_node node = find_contacts(fem, row, dt, speed >= 0, books);
            if (!node.contacts)
                continue;
            if (mpm_memory_grow(&fem->run.allocator, (void **)&solver->constrained, &solver->constrained_capacity,
                                count, count + 1, sizeof *solver->constrained))
                return MPM_OUT_OF_MEMORY;
            solver->constrained[count++] = node;
        }
    }
    solver->constrained_first[fem->chunks] = (int32_t)count;
    return MPM_OK;
}

/* ---- the functions of the solver -------------------------------------------------------------------------------- */

static void task_item(void *context, ptrdiff_t task, int thread)
{
    const struct solve *solve = context;
    solve->task(&solve->sweep, task, thread);
}

static void vector_item(void *context, ptrdiff_t chunk, int thread)
{
    const struct solve *solve = context;
    (void)thread;
    solve->vectors(&solve->pass, chunk);
}

static void sweep(struct solve *solve, mpm_fem_task *task, const void *p)
{
    const double start = mpm_clock_seconds();
    solve->task = task;
    solve->sweep.p = p;
    mpm_pool_for(solve->fem->run.pool, task_item, solve, solve->fem->mesh.tasks);
    mpm_run_spend(&solve->fem->run, MPM_FEM_PHASE_ELEMENTS, start);
}

static mpm_krylov_residual visit(struct solve *solve, mpm_fem_vectors *vectors, double factor)
{
    const double start = mpm_clock_seconds();
    mpm_krylov_residual sum = {0};
    solve->vectors = vectors;
    solve->pass.factor = factor;
    mpm_pool_for(solve->fem->run.pool, vector_item, solve, solve->fem->chunks);
    sum.norm2 = mpm_exact_sum(&solve->pass.sums[0][0], (size_t)solve->fem->chunks, sizeof *solve->pass.sums);
    sum.preconditioned = mpm_exact_sum(&solve->pass.sums[0][1], (size_t)solve->fem->chunks, sizeof *solve->pass.sums);
    mpm_run_spend(&solve->fem->run, MPM_FEM_PHASE_NODES, start);
    return sum;
}

static double multiply(void *self)
{
    struct solve *solve = self;
    sweep(solve, solve->fem->kernels->product, solve->pass.p);
    return visit(solve, solve->fem->kernels->multiply, 0).norm2;
}

static mpm_krylov_residual advance(void *self, double a)
{
    struct solve *solve = self;
    return visit(solve, solve->fem->kernels->advance, a);
}

static void redirect(void *self, double b)
{
    struct solve *solve = self;
    visit(solve, solve->fem->kernels->redirect, b);
}

static struct solve describe(mpm_fem *fem, double dt)
{
    const mpm_fem_settings *settings = &fem->settings;
    struct fem_solver *solver = &fem->solver;
    struct solve solve = {
        .fem = fem,
        .pass = {.mesh = &fem->mesh, .dt = dt, .drag = settings->damping[0], .inertia = 1 + dt * settings->damping[0],
                 .stiffness = dt * dt + dt * settings->damping[1], .body_force = fem->run.forcing.body_force,
                 .position = fem->store.rows[MPM_FEM_X], .v = fem->store.rows[MPM_FEM_V],
                 .mass = fem->store.rows[MPM_FEM_MASS], .force = fem->force, .copies = fem->copies,
                 .constrained = solver->constrained, .constrained_first = solver->constrained_first,
                 .w = solver->vector[0], .r = solver->vector[1], .p = solver->vector[2], .q = solver->vector[3],
                 .x = solver->vector[4], .blocks = solver->blocks,
                 .sums = solver->sums, .next_x = fem->next_x, .next_v = fem->next_v, .reports = fem->reports},
        .sweep = mpm_fem_sweeps_describe(fem)};
    memcpy(solve.pass.gravity, settings->gravity, sizeof settings->gravity);
    return solve;
}

static void precondition(struct solve *solve)
{
    const mpm_fem_kernels *kernels = solve->fem->kernels;
    sweep(solve, kernels->linearize, NULL);
    visit(solve, kernels->blocks, 0);
    sweep(solve, kernels->beside, NULL);
    solve->pass.beside = true;
    visit(solve, kernels->blocks, 0);
}

/* Finds the impulses of the contacts, and revises those. Did any change? */
static bool revise(struct solve *solve)
{
    mpm_fem *fem = solve->fem;
    bool changed = false;
    sweep(solve, fem->kernels->product, solve->pass.w);
    visit(solve, fem->kernels->contact, 0);
    for (int32_t k = 0; k < fem->solver.constrained_first[fem->chunks]; k++) {
        mpm_constrained_node *node = &fem->solver.constrained[k];
        double impulse[3] = {0}, w[3] = {0};
        for (int a = 0; a < fem->settings.dim; a++) {
            impulse[a] = mpm_real_at(solve->pass.r, 4 * (size_t)node->node + (size_t)a, fem->settings.real_size);
            w[a] = mpm_real_at(solve->pass.w, 4 * (size_t)node->node + (size_t)a, fem->settings.real_size);
        }
        mpm_constraint_share(node, impulse);
        const double m = mpm_real_at(fem->store.rows[MPM_FEM_MASS], (size_t)node->node, fem->settings.real_size);
        changed |= mpm_constraint_revise(node, fem->settings.dim, w, m, fem->settings.tolerance);
    }
    return changed;
}

/* One solve from the velocities w. `*first2` is the residual that the tolerance refers to, found by the first solve. */
static mpm_status solve_once(struct solve *solve, double *first2)
{
    mpm_fem *fem = solve->fem;
    const mpm_linear_system system = {solve, multiply, advance, redirect};
    const double tolerance2 = fem->settings.tolerance * fem->settings.tolerance;
    sweep(solve, fem->kernels->product, solve->pass.w);
    const mpm_krylov_residual begin = visit(solve, fem->kernels->begin, 0);
    *first2 = fmax(*first2, begin.norm2);
    if (!isfinite(begin.norm2))
        return MPM_UNSTABLE;
    const double target2 = tolerance2 * *first2 + DBL_MIN;
    const mpm_krylov found = mpm_krylov_solve(&system, begin, target2, fem->settings.max_iterations);
    fem->run.health[MPM_FEM_HEALTH_PRODUCTS] += found.products;
    fem->solver.residual = sqrt(found.residual.norm2 / fmax(*first2, DBL_MIN));
    fem->solver.used_up = found.products >= fem->settings.max_iterations;
    visit(solve, fem->kernels->add, 0);
    return found.residual.norm2 <= target2 ? MPM_OK : MPM_NO_CONVERGENCE;
}

static void report(struct solve *solve, double collider_speed, struct fem_motion *motion)
{
    mpm_fem *fem = solve->fem;
    *motion = (struct fem_motion){.collider_speed = collider_speed};
    visit(solve, fem->kernels->finish, 0);
    for (ptrdiff_t c = 0; c < fem->chunks; c++) {
        motion->speed = fmax(motion->speed, fem->reports[c].speed);
    }
    for (int a = 0; a < 3; a++) {
        motion->force[a] = MPM_EXACT_SUM(fem->reports, fem->chunks, force[a]);
        motion->drag[a] = MPM_EXACT_SUM(fem->reports, fem->chunks, drag[a]);
    }
    motion->approach = collider_speed >= 0 ? motion->speed + collider_speed : 0;
    for (size_t k = 0; k < fem->run.loads.count; k++)
        memset(fem->run.loads.impulse[k], 0, sizeof fem->run.loads.impulse[k]);
    for (int32_t k = 0; k < fem->solver.constrained_first[fem->chunks]; k++) {
        const mpm_constrained_node *node = &fem->solver.constrained[k];
        double x[3] = {0};
        for (int a = 0; a < fem->settings.dim; a++)
            x[a] = number_at(fem->store.rows[MPM_FEM_X], node->node, a, fem);
        for (int c = 0; c < node->contacts; c++) {
            const mpm_node_contact *contact = &node->contact[c];
            const size_t at = (size_t)(node->node / MPM_FEM_CHUNK) * fem->boundary.count;
            for (int a = 0; a < 3 && contact->collider == MPM_HELD_BY_WALL; a++)
                motion->wall_impulse[a] += contact->impulse[a];
            for (int a = 0; a < 3 && contact->collider <= MPM_HELD_BY_REGION; a++)
                fem->run.loads.impulse[MPM_HELD_BY_REGION - contact->collider][a] += contact->impulse[a];
            if (contact->collider >= 0)
                mpm_collider_enter(&fem->contact_books[at + (size_t)contact->collider],
                                   &fem->boundary.colliders[contact->collider], x, contact->impulse);
        }
    }
}

mpm_status mpm_fem_implicit_move(mpm_fem *fem, double dt, struct fem_motion *motion)
{
    double collider_speed, first2 = 0;
    mpm_boundary_pose(&fem->boundary, fem->run.time, dt);
    mpm_status status = find_constrained(fem, dt, &collider_speed);
    if (status)
        return status;
    struct solve solve = describe(fem, dt);
    precondition(&solve);
    bool again = true;
    for (int round = 0; again && round < MPM_CONTACT_SOLVES; round++) {
        visit(&solve, fem->kernels->guess, round);
        if ((status = solve_once(&solve, &first2)))
            return status;
        again = fem->solver.constrained_first[fem->chunks] && revise(&solve) && round + 1 < MPM_CONTACT_SOLVES;
    }
    report(&solve, collider_speed, motion);
    return MPM_OK;
}

mpm_status mpm_fem_implicit_report(mpm_fem *fem, double dt)
{
    mpm_error *error = &fem->run.error;
    mpm_error_note(error, MPM_NO_CONVERGENCE, MPM_NOT_CONVERGED, dt);
    error->kind =
        (fem->settings.dt > 0 ? 0 : MPM_UNSOLVED_AUTOMATIC) | (fem->solver.used_up ? MPM_UNSOLVED_ITERATIONS : 0);
    error->value[0] = fem->solver.residual;
    error->value[1] = fem->settings.tolerance;
    return MPM_NO_CONVERGENCE;
}
