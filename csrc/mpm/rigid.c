/* SPDX-License-Identifier: MIT
 *
 * Rigid bodies: adds up their particles, lets the bodies meet what they touch, and finds how they move in a step.
 */
#include "mpm/rigid.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/exact.h"
#include "base/real.h"
#include "mpm/refusal.h"
#include "mpm/rigid_nodes.h"
#include "mpm/rigid_pose.h"
#include "mpm/state.h"
#include "mpm/sweeps.h"

enum { SUMS = offsetof(mpm_rigid_sums, lowest) / sizeof(mpm_sum) };
_Static_assert(SUMS * sizeof(mpm_sum) == offsetof(mpm_rigid_sums, lowest), "the sums come first");

static const double SQUARE = 1.0 / 48; /* second moment of a square or cube of half a cell [cells^2] */
static const double LOST = 1e-6;        /* of the mass of a body: less is rounding */

/* ---- sums over particles ---------------------------------------------------------------------------------------- */

/* A sum in twice the precision. */
static mpm_sum round_twice(mpm_exact *sum)
{
    mpm_sum result = {.high = mpm_exact_round(sum)};
    mpm_exact_add(sum, -result.high);
    result.low = mpm_exact_round(sum);
    return result;
}

static void add_group(mpm_exact exact[SUMS], const mpm_rigid_sums *part)
{
    for (int k = 0; k < SUMS; k++) {
        const mpm_sum *sum = (const mpm_sum *)(const void *)part + k;
        mpm_exact_add(&exact[k], sum->high);
        mpm_exact_add(&exact[k], sum->low);
    }
}

static void widen_box(mpm_rigid_sums *sums, const mpm_rigid_sums *part)
{
    for (int a = 0; a < 3; a++) {
        sums->lowest[a] = fmin(sums->lowest[a], part->lowest[a]);
        sums->highest[a] = fmax(sums->highest[a], part->highest[a]);
    }
}

/* Adds up the groups of a body, which are among those from `first` to `end`. */
static mpm_rigid_sums sum_groups(const mpm_simulation *simulation, const mpm_rigid_sums *parts, int32_t material,
                                 size_t first, size_t end)
{
    mpm_exact exact[SUMS];
    mpm_rigid_sums result = parts[first];
    if (first + 1 == end)
        return result;
    for (int k = 0; k < SUMS; k++)
        mpm_exact_clear(&exact[k]);
    for (size_t g = first; g < end; g++)
        if (simulation->particles.groups[g].material == material) {
            add_group(exact, &parts[g]);
            widen_box(&result, &parts[g]);
        }
    for (int k = 0; k < SUMS; k++)
        ((mpm_sum *)(void *)&result)[k] = round_twice(&exact[k]);
    return result;
}

/* Takes the place of a particle for the origin of its body, so that sums of positions are not large beside the body,
 * and its F for the rotation of the body. */
static void begin_at(const mpm_particles *p, size_t g, mpm_rigid_body *body)
{
    const mpm_group *group = &p->groups[g];
    const size_t dim = (size_t)p->dim, lanes = (size_t)p->lanes, first = (size_t)group->first_tile * lanes;
    for (size_t slot = first; slot < first + (size_t)group->tiles * lanes; slot++) {
        if (!(mpm_real_at(p->column[MPM_COLUMN_MASS], slot, p->real_size) > 0))
            continue;
        body->first_group = g;
        body->end_group = body->end_group ? body->end_group : g + 1;
        memcpy(body->block, group->block, sizeof body->block);
        memset(body->rotation, 0, sizeof body->rotation);
        body->rotation[2][2] = 1;
        for (size_t a = 0; a < dim; a++) {
            const size_t at = mpm_particles_index(slot, a, dim, lanes);
            body->place[a] = mpm_real_at(p->column[MPM_COLUMN_X], at, p->real_size);
            for (size_t b = 0; b < dim; b++)
                body->rotation[b][a] = mpm_real_at(p->column[(size_t)MPM_COLUMN_C + dim + b], at, p->real_size);
        }
        return;
    }
}

static bool is_rigid(const mpm_simulation *simulation, size_t material)
{
    return mpm_material_law(&simulation->materials[material])->rigid;
}

/* Finds the origin of every body, and forgets the forces at its points. */
static void begin_bodies(mpm_simulation *simulation)
{
    mpm_device *device = &simulation->backend->device;
    const mpm_particles *particles = &simulation->particles;
    const int end = MPM_COLUMN_C + 2 * particles->dim;
    const mpm_particles mapped = mpm_particles_map(particles, 0, end, MPM_READ);
    for (size_t material = 0; material < simulation->material_count; material++) {
        const struct rigid_form *form = &simulation->forms[material];
        simulation->rigid[material] = (mpm_rigid_body){.points = form->form.count, .force = form->force};
        if (!form->force)
            continue;
        /* Of points that no particle keeps, nothing is known. */
        memset(mpm_device_map(device, form->force, MPM_WRITE), 0, form->form.count * sizeof *form->force);
        mpm_device_unmap(device, form->force);
    }
    for (size_t g = particles->group_count; g-- > 0;) /* the first of a body is the last here */
        if (is_rigid(simulation, (size_t)particles->groups[g].material))
            begin_at(&mapped, g, &simulation->rigid[particles->groups[g].material]);
    mpm_particles_unmap(particles, 0, end);
}

/* Adds up the groups of every body, with the body force of a step. */
static void find_sums(mpm_simulation *simulation, double dt)
{
    mpm_device *device = &simulation->backend->device;
    begin_bodies(simulation);
    mpm_sweeps_rigid_sums(simulation, dt);
    const mpm_rigid_sums *parts = mpm_device_map(device, simulation->reports.rigid_sums, MPM_READ);
    for (size_t material = 0; material < simulation->material_count; material++) {
        mpm_rigid_body *body = &simulation->rigid[material];
        if (!body->end_group)
            continue;
        body->sums = sum_groups(simulation, parts, (int32_t)material, body->first_group, body->end_group);
        mpm_body_orthonormalise(body->rotation);
    }
    mpm_device_unmap(device, simulation->reports.rigid_sums);
}

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

/* The inertia that a body has beside that of its particles as points, and `raised` [kg m2]. */
static void find_own(double own[3][3], const mpm_simulation *simulation, size_t material, const double Q[3][3],
                     double mass, double raised)
{
    const mpm_rigid_form *form = &simulation->forms[material].form;
    const double h = simulation->settings.dx, share = form->mass > 0 ? mass / form->mass : 1;
    double rest[3][3], turned[3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            rest[a][b] = form->mass > 0 ? share * form->own[a][b] : a == b ? 2 * SQUARE * h * h * mass : 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            turned[a][b] = Q[a][0] * rest[0][b] + Q[a][1] * rest[1][b] + Q[a][2] * rest[2][b];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            own[a][b] = mpm_dot3(turned[a], Q[b]) + (a == b ? raised : 0);
}

/* The lowest eigenvalue of a symmetric matrix, by the trigonometric solution (Smith 1961). */
static double lowest_eigenvalue(const double A[3][3])
{
    const double mean = (A[0][0] + A[1][1] + A[2][2]) / 3;
    double B[3][3], size = 0, minor[3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            B[a][b] = A[a][b] - (a == b ? mean : 0);
            size += B[a][b] * B[a][b] / 6;
        }
    if (!(size > 0))
        return mean;
    size = sqrt(size);
    mpm_cross3(minor, B[1], B[2]);
    const double half = mpm_dot3(B[0], minor) / (2 * size * size * size);
    return mean + 2 * size * cos((acos(fmax(-1, fmin(half, 1))) + 2 * acos(-1.0)) / 3);
}

/* How much the inertia has to be raised. That beside the particles as points may be negative where the particles lie
 * farther out than the shape; of a body that has lost particles it can outweigh theirs. So the inertia of what is left
 * is at least that of a square or cube of half a cell. */
static double raise_inertia(const mpm_simulation *simulation, size_t material, const double inertia[3][3], double mass)
{
    const double h = simulation->settings.dx, least = 2 * SQUARE * h * h * mass;
    if (!(mass < (1 - LOST) * simulation->forms[material].form.mass))
        return 0;
    return fmax(0, least - (simulation->settings.dim == 2 ? inertia[2][2] : lowest_eigenvalue(inertia)));
}

/* Describes a body to the solver, without contacts. */
static mpm_rigid_state describe(const mpm_simulation *simulation, size_t material, double dt)
{
    const mpm_settings *settings = &simulation->settings;
    const mpm_rigid_body *body = &simulation->rigid[material];
    const mpm_rigid_sums *sums = &body->sums;
    const struct rigid_form *form = &simulation->forms[material];
    mpm_rigid_state state = {.material = (int)material, .mass = mpm_sum_value(&sums->mass)};
    double c[3], P[3], L[3], X[3], spin[3], moved[3], S[3][3], own[3][3];
    memcpy(state.rotation, body->rotation, sizeof state.rotation);
    find_own(own, simulation, material, state.rotation, state.mass, 0);
    for (int a = 0; a < 3; a++) {
        P[a] = mpm_sum_value(&sums->momentum[a]);
        c[a] = mpm_sum_value(&sums->mass_moment[a]) / state.mass;
        X[a] = mpm_sum_value(&sums->rest_moment[a]) / state.mass;
        spin[a] = mpm_sum_value(&sums->spin[a]) / state.mass;
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            S[a][b] = mpm_sum_value(&sums->second_moment[a][b]) - state.mass * c[a] * c[b];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            state.inertia[a][b] = (a == b ? S[0][0] + S[1][1] + S[2][2] : 0) - S[a][b] + own[a][b];
    state.raised = raise_inertia(simulation, material, state.inertia, state.mass);
    for (int a = 0; a < 3; a++) {
        own[a][a] += state.raised;
        state.inertia[a][a] += state.raised;
    }
    mpm_cross3(moved, c, P);
    for (int a = 0; a < 3; a++)
        L[a] = mpm_sum_value(&sums->angular_momentum[a]) - moved[a] + mpm_dot3(own[a], spin);
    mpm_body_invert(state.inverse, state.inertia, settings->dim);
    mpm_multiply3(state.begin + 3, state.inverse, L);
    mpm_multiply3(moved, state.rotation, X);
    for (int a = 0; a < settings->dim; a++) {
        const double origin =
            settings->lower[a] + settings->dx * (body->block[a] * mpm_block_side(settings->dim) + body->place[a]);
        state.centre[a] = origin + c[a];
        state.place[a] = state.centre[a] - moved[a];
        state.begin[a] = P[a] / state.mass;
        state.gain[a] = dt * settings->gravity[a];
    }
    const double *values = simulation->materials[material].values;
    state.friction = values[0];
    state.restitution = values[1];
    state.hold = (int)values[2];
    state.form = form->form.count ? &form->form : NULL;
    return state;
}

/* Is the body so long that the images of its particles across a periodic face could be mistaken? */
static bool is_too_long(const mpm_settings *settings, const mpm_rigid_sums *sums)
{
    for (int a = 0; a < settings->dim; a++) {
        const double period = settings->dx * (double)mpm_walls_period(settings->walls, a, settings->cells[a]);
        if (period > 0 && !(sums->highest[a] - sums->lowest[a] < 0.5 * period))
            return true;
    }
    return false;
}

int mpm_rigid_too_long(const mpm_simulation *simulation)
{
    size_t material = 0;
    while (material + 1 < simulation->material_count &&
           !is_too_long(&simulation->settings, &simulation->rigid[material].sums))
        material++;
    return (int)material;
}

mpm_status mpm_rigid_reserve(mpm_simulation *simulation)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    const size_t used = simulation->material_count, wanted = used + 1;
    return mpm_memory_grow(allocator, (void **)&simulation->rigid, &simulation->rigid_capacity, used, wanted,
                           sizeof *simulation->rigid) ||
                   mpm_memory_grow(allocator, (void **)&simulation->forms, &simulation->form_capacity, used, wanted,
                                   sizeof *simulation->forms) ||
                   mpm_memory_grow(allocator, (void **)&simulation->world.body, &simulation->world.body_capacity, 0,
                                   wanted, sizeof *simulation->world.body)
               ? MPM_OUT_OF_MEMORY : MPM_OK;
}

static void clear_form(struct rigid_form *form, mpm_device *device)
{
    mpm_body_clear(&form->form, &device->allocator);
    mpm_device_free(device, form->force);
    *form = (struct rigid_form){0};
}

void mpm_rigid_end(mpm_simulation *simulation)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    for (size_t material = 0; material < simulation->material_count; material++)
        clear_form(&simulation->forms[material], &simulation->backend->device);
    for (size_t k = 0; k < simulation->joint_count; k++)
        mpm_memory_free(allocator, simulation->joints[k].name);
    mpm_memory_free(allocator, simulation->joints);
    mpm_memory_free(allocator, simulation->forms);
    mpm_memory_free(allocator, simulation->rigid);
    mpm_memory_free(allocator, simulation->rigid_nodes);
    for (int k = 0; k < 2; k++)
        mpm_memory_free(allocator, simulation->rigid_forces[k].list);
    mpm_touch_clear(&simulation->world, allocator);
}

mpm_status mpm_rigid_set_form(mpm_simulation *simulation, int material, const mpm_rigid_form *form)
{
    mpm_device *device = &simulation->backend->device;
    struct rigid_form fresh = {.force = mpm_device_new(device, form->count + 1, sizeof *fresh.force)};
    if (!fresh.force || mpm_body_copy(&fresh.form, &device->allocator, form)) {
        mpm_device_free(device, fresh.force);
        return MPM_OUT_OF_MEMORY;
    }
    clear_form(&simulation->forms[material], device);
    simulation->forms[material] = fresh;
    simulation->measured = false;
    return MPM_OK;
}

/* How many doubles of a record come before the columns of the last joint. */
static int joint_offset(const mpm_simulation *simulation)
{
    mpm_history_column column;
    for (int k = 0; (column = mpm_history_get(&simulation->run.history, k)).width; k++)
        if (column.owner == simulation->joints[simulation->joint_count - 1].name)
            break;
    return column.offset;
}

mpm_status mpm_rigid_name_joint(mpm_simulation *simulation, int material, const char *name)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    mpm_history *history = &simulation->run.history;
    size_t k = 0;
    while (k < simulation->joint_count && strcmp(simulation->joints[k].name, name))
        k++;
    if (k == simulation->joint_count) {
        const int before = mpm_history_length(history);
        char *copy = mpm_memory_new(allocator, strlen(name) + 1, 1);
        if (!copy || mpm_memory_grow(allocator, (void **)&simulation->joints, &simulation->joint_capacity, k, k + 1,
                                     sizeof *simulation->joints)) {
            mpm_memory_free(allocator, copy);
            return MPM_OUT_OF_MEMORY;
        }
        memcpy(copy, name, strlen(name) + 1);
        simulation->joints[simulation->joint_count++] = (struct joint_book){.name = copy};
        if (mpm_history_insert(history, allocator, before, joint_offset(simulation))) {
            simulation->joint_count--;
            mpm_memory_free(allocator, copy);
            return MPM_OUT_OF_MEMORY;
        }
    }
    simulation->forms[material].joint = k + 1;
    return MPM_OK;
}

/* ---- a step ----------------------------------------------------------------------------------------------------- */

static void describe_world(mpm_simulation *simulation, double dt)
{
    mpm_rigid_world *world = &simulation->world;
    world->boundary = &simulation->boundary;
    world->dt = dt;
    memset(world->gravity, 0, sizeof world->gravity);
    memcpy(world->gravity, simulation->settings.gravity, (size_t)simulation->settings.dim * sizeof(double));
    world->bodies = 0;
    for (size_t material = 0; material < simulation->material_count; material++)
        if (mpm_sum_value(&simulation->rigid[material].sums.mass) > 0) /* else no particle is left, or another law */
            world->body[world->bodies++] = describe(simulation, material, dt);
}

static void begin_look(mpm_simulation *simulation)
{
    mpm_device *device = &simulation->backend->device;
    const struct reports *reports = &simulation->reports;
    const mpm_grid *grid = &simulation->grid;
    const bool filters = simulation->settings.scheme.transfer == MPM_XPIC;
    simulation->look = (struct look){
        mpm_particles_map(&simulation->particles, 0, MPM_COLUMN_C + 2 * simulation->particles.dim, MPM_READ),
        mpm_device_map(device, grid->field[MPM_GRID_VELOCITY], MPM_WRITE),
        filters ? mpm_device_map(device, grid->field[MPM_GRID_BEFORE], MPM_WRITE) : NULL,
        mpm_device_map(device, reports->blocks, MPM_WRITE),
        mpm_device_map(device, reports->block_books, MPM_WRITE),
    };
    for (size_t b = 0; b < simulation->world.bodies; b++) {
        mpm_rigid_state *body = &simulation->world.body[b];
        const struct rigid_form *form = &simulation->forms[body->material];
        body->force = form->force ? mpm_device_map(device, form->force, MPM_WRITE) : NULL;
    }
}

static void end_look(mpm_simulation *simulation)
{
    mpm_device *device = &simulation->backend->device;
    const struct reports *reports = &simulation->reports;
    mpm_particles_unmap(&simulation->particles, 0, MPM_COLUMN_C + 2 * simulation->particles.dim);
    mpm_device_unmap(device, simulation->grid.field[MPM_GRID_VELOCITY]);
    if (simulation->look.before)
        mpm_device_unmap(device, simulation->grid.field[MPM_GRID_BEFORE]);
    mpm_device_unmap(device, reports->blocks);
    mpm_device_unmap(device, reports->block_books);
    for (size_t b = 0; b < simulation->world.bodies; b++) {
        mpm_rigid_state *body = &simulation->world.body[b];
        mpm_device_unmap(device, simulation->forms[body->material].force);
        body->force = NULL;
    }
    simulation->look = (struct look){0};
}

/* Enters the impulses of walls and colliders, which the first block keeps. */
static void enter(const mpm_simulation *simulation)
{
    const mpm_rigid_world *world = &simulation->world;
    for (size_t i = 0; i < world->contacts; i++) {
        const mpm_rigid_contact *c = &world->contact[i];
        const int k = c->partner - MPM_RIGID_FACES;
        double given[3];
        for (int a = 0; a < 3; a++)
            given[a] =
                c->impulse[0] * c->normal[a] + c->impulse[1] * c->tangent[0][a] + c->impulse[2] * c->tangent[1][a];
        if (k >= 0) {
            double at[3] = {c->at[0], c->at[1], c->at[2]};
            mpm_touch_into_domain(&simulation->boundary, at);
            mpm_collider_enter(&simulation->look.block_books[k], &simulation->boundary.colliders[k], at, given);
        }
        for (int a = 0; c->partner >= 0 && k < 0 && a < 3; a++)
            simulation->look.blocks[0].impulse[a] += given[a];
    }
}

/* ---- forces by partner ------------------------------------------------------------------------------------------ */

/* Adds the force of a partner on a body, with its moment about the centre of mass. */
static mpm_status add_force(mpm_simulation *simulation, int b, mpm_rigid_partner kind, int index,
                            const double impulse[3], const double moment[3])
{
    struct rigid_forces *forces = &simulation->rigid_forces[1];
    const int material = simulation->world.body[b].material;
    size_t i = 0;
    while (i < forces->count && (forces->list[i].material != material || forces->list[i].kind != kind ||
                                 forces->list[i].index != index))
        i++;
    if (mpm_memory_grow(&simulation->run.allocator, (void **)&forces->list, &forces->capacity, forces->count, i + 1,
                        sizeof *forces->list))
        return MPM_OUT_OF_MEMORY;
    mpm_rigid_force *force = &forces->list[i];
    if (i == forces->count) {
        *force = (mpm_rigid_force){.material = material, .kind = kind, .index = index};
        forces->count++;
    }
    for (int a = 0; a < 3; a++) {
        force->force[a] += impulse[a] / simulation->world.dt;
        force->torque[a] += moment[a] / simulation->world.dt;
    }
    return MPM_OK;
}

static mpm_status add_contact(mpm_simulation *simulation, const mpm_rigid_contact *c)
{
    const mpm_rigid_world *world = &simulation->world;
    double on_a[6] = {0}, on_b[6] = {0};
    for (int d = 0; d < 3; d++)
        for (int q = 0; q < 6; q++) {
            on_a[q] += c->impulse[d] * c->on_a[d][q];
            on_b[q] -= c->b >= 0 ? c->impulse[d] * c->on_b[d][q] : 0;
        }
    if (c->b < 0) {
        const bool wall = c->partner < MPM_RIGID_FACES;
        return add_force(simulation, c->a, wall ? MPM_RIGID_WALL : MPM_RIGID_COLLIDER,
                         wall ? c->partner : c->partner - MPM_RIGID_FACES, on_a, on_a + 3);
    }
    const mpm_status status =
        add_force(simulation, c->a, MPM_RIGID_BODY, world->body[c->b].material, on_a, on_a + 3);
    return status ? status
                  : add_force(simulation, c->b, MPM_RIGID_BODY, world->body[c->a].material, on_b, on_b + 3);
}

/* The forces of the step that is attempted. */
static mpm_status list_forces(mpm_simulation *simulation)
{
    const mpm_rigid_world *world = &simulation->world;
    mpm_status status = MPM_OK;
    simulation->rigid_forces[1].count = 0;
    for (size_t i = 0; i < world->contacts && !status; i++)
        if (world->contact[i].impulse[0] != 0)
            status = add_contact(simulation, &world->contact[i]);
    for (size_t i = 0; i < simulation->rigid_node_count && !status; i++) {
        const mpm_rigid_node *node = &simulation->rigid_nodes[i];
        double back[3], moment[3];
        for (int a = 0; a < 3; a++)
            back[a] = -node->impulse[a];
        mpm_cross3(moment, node->arm, back);
        if (node->pressed)
            status = add_force(simulation, node->body, MPM_RIGID_NODES, 0, back, moment);
    }
    for (size_t b = 0; b < world->bodies && !status; b++)
        if (world->body[b].rows)
            status = add_force(simulation, (int)b, MPM_RIGID_ITS_JOINT, 0, world->body[b].reaction,
                               world->body[b].reaction + 3);
    return status;
}

void mpm_rigid_keep_books(mpm_simulation *simulation, double dt)
{
    const struct rigid_forces last = simulation->rigid_forces[0];
    const mpm_rigid_world *world = &simulation->world;
    mpm_books *books = &simulation->books;
    simulation->rigid_forces[0] = simulation->rigid_forces[1];
    simulation->rigid_forces[1] = last;
    if (!world->bodies)
        return;
    books->friction_work += world->friction_work;
    books->impact_work += world->impact_work;
    books->joint_work += world->joint_work;
    for (size_t i = 0; i < simulation->rigid_forces[0].count; i++) {
        const mpm_rigid_force *one = &simulation->rigid_forces[0].list[i];
        const size_t joint = simulation->forms[one->material].joint;
        for (int a = 0; one->kind == MPM_RIGID_ITS_JOINT && a < 3; a++) {
            books->joint_impulse[a] += dt * one->force[a];
            if (!joint)
                continue;
            simulation->joints[joint - 1].impulse[a] += dt * one->force[a];
            simulation->joints[joint - 1].torque[a] += dt * one->torque[a];
        }
    }
}

/* Adds what the body force of the step gives the bodies. */
static void add_body_force(mpm_simulation *simulation, double dt)
{
    find_sums(simulation, dt);
    for (size_t b = 0; b < simulation->world.bodies; b++) {
        mpm_rigid_state *body = &simulation->world.body[b];
        const mpm_rigid_state forced = describe(simulation, (size_t)body->material, dt);
        double gained[3], L[3];
        for (int a = 0; a < 3; a++) {
            body->gain[a] += forced.begin[a] - body->begin[a];
            gained[a] = forced.begin[3 + a] - body->begin[3 + a];
        }
        mpm_multiply3(L, body->inertia, gained);
        for (int a = 0; a < 3; a++)
            body->gain[3 + a] += L[a];
    }
}

/* Lets the bodies drift; the nodes stay where they are. */
static void drift(mpm_simulation *simulation, double dt)
{
    for (size_t b = 0; b < simulation->world.bodies; b++)
        mpm_body_drift(&simulation->world.body[b], dt, simulation->settings.dim);
    for (size_t i = 0; i < simulation->rigid_node_count; i++)
        for (int a = 0; a < 3; a++)
            simulation->rigid_nodes[i].arm[a] -=
                0.5 * dt * simulation->world.body[simulation->rigid_nodes[i].body].begin[a];
}

mpm_status mpm_rigid_meet(mpm_simulation *simulation, double dt, mpm_reason *reason)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    mpm_rigid_world *world = &simulation->world;
    *reason = MPM_NO_REASON;
    if (!simulation->has_rigid)
        return MPM_OK;
    simulation->rigid_forces[1].count = 0;
    find_sums(simulation, 0);
    describe_world(simulation, dt);
    if (simulation->run.forcing.body_force)
        add_body_force(simulation, dt);
    for (size_t b = 0; b < world->bodies; b++)
        if (is_too_long(&simulation->settings, &simulation->rigid[world->body[b].material].sums)) {
            *reason = MPM_BODY_TOO_LONG;
            return MPM_OK;
        }
    if (!mpm_rigid_pose_fits(simulation)) {
        *reason = MPM_BODY_NO_POSE;
        return MPM_OK;
    }
    if (!world->bodies)
        return MPM_OK;
    begin_look(simulation);
    mpm_touch_boxes(world);
    mpm_status status = mpm_rigid_nodes_find(simulation);
    drift(simulation, dt);
    if (status || (status = mpm_touch_find(world, allocator))) {
        end_look(simulation);
        return status;
    }
    mpm_impulses_find(world, simulation->rigid_nodes, simulation->rigid_node_count);
    mpm_rigid_nodes_push(simulation);
    mpm_impulses_balance(world, simulation->rigid_nodes, simulation->rigid_node_count);
    enter(simulation);
    end_look(simulation);
    if ((status = list_forces(simulation)))
        return status;
    simulation->stage.report = mpm_sweeps_sum_reports(simulation);
    return MPM_OK;
}

/* Where the step takes a place less that place [m]. */
static void displace(double moved[3], const mpm_rigid_body *motion, const double at[3])
{
    double r[3], turned[3];
    for (int a = 0; a < 3; a++)
        r[a] = at[a] - motion->centre[a];
    mpm_multiply3(turned, motion->turn, r);
    for (int a = 0; a < 3; a++)
        moved[a] = motion->shift[a] + turned[a];
}

/* How far the particles of a body move along an axis at most [m]. Displacements are linear in the place, so they are
 * extreme at corners of the box around the particles. */
static double farthest(const mpm_rigid_body *motion, int dim)
{
    double most = 0;
    for (int corner = 0; corner < 1 << dim; corner++) {
        double at[3], moved[3];
        for (int a = 0; a < 3; a++)
            at[a] = corner >> a & 1 ? motion->sums.highest[a] : motion->sums.lowest[a];
        displace(moved, motion, at);
        for (int a = 0; a < dim; a++)
            most = fabs(moved[a]) <= most ? most : fabs(moved[a]); /* NaN stays */
    }
    return most;
}

/* Returns the energy that turning by the push gives the spin, which keeps its angular momentum [J]. */
static double set_motion(mpm_rigid_body *motion, const mpm_rigid_state *body, double dt)
{
    double L[3];
    mpm_body_move(motion->turn, motion->shift, motion->spin, body, dt);
    mpm_multiply3(L, body->inertia, body->kept + 3);
    for (int a = 0; a < 3; a++) {
        motion->centre[a] = mpm_sum_value(&motion->sums.mass_moment[a]) / body->mass;
        motion->velocity[a] = body->kept[a];
    }
    return 0.5 * (mpm_dot3(L, motion->spin) - mpm_dot3(L, body->kept + 3));
}

mpm_reason mpm_rigid_move(mpm_simulation *simulation, double dt, double *travel)
{
    for (size_t b = 0; simulation->has_rigid && b < simulation->world.bodies; b++) {
        const mpm_rigid_state *body = &simulation->world.body[b];
        mpm_rigid_body *motion = &simulation->rigid[body->material];
        const double gained = set_motion(motion, body, dt);
        *(body->rows ? &simulation->world.joint_work : &simulation->world.impact_work) +=
            body->rows ? gained : -gained;
        const double moved = farthest(motion, simulation->settings.dim) / simulation->settings.dx;
        if (!(moved <= mpm_refusal_travel(simulation)))
            return MPM_MOVES_TOO_FAR;
        *travel = fmax(*travel, moved);
    }
    return MPM_NO_REASON;
}

/* ---- totals ----------------------------------------------------------------------------------------------------- */

static void add_own(const mpm_simulation *simulation, const mpm_rigid_state *body, const double Q[3][3],
                    const double spin[3], mpm_measure *measure)
{
    double own[3][3], L[3];
    find_own(own, simulation, (size_t)body->material, Q, body->mass, body->raised);
    mpm_multiply3(L, own, spin);
    for (int a = 0; a < 3; a++)
        measure->angular_momentum[a] += L[a];
    measure->kinetic += 0.5 * mpm_dot3(L, spin);
}

void mpm_rigid_measure(mpm_simulation *simulation, mpm_measure *measure)
{
    if (!simulation->has_rigid)
        return;
    find_sums(simulation, 0);
    describe_world(simulation, 0);
    for (size_t b = 0; b < simulation->world.bodies; b++) {
        const mpm_rigid_state *body = &simulation->world.body[b];
        const mpm_rigid_sums *sums = &simulation->rigid[body->material].sums;
        double spin[3];
        for (int a = 0; a < 3; a++)
            spin[a] = mpm_sum_value(&sums->spin[a]) / body->mass;
        add_own(simulation, body, body->rotation, spin, measure);
    }
}
