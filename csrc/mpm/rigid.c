/* SPDX-License-Identifier: MIT
 *
 * Rigid bodies: lets them meet what they touch, and moves them.
 */
#include "mpm/rigid.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "mpm/refusal.h"
#include "mpm/rigid_motion.h"
#include "mpm/rigid_nodes.h"
#include "mpm/rigid_pose.h"
#include "mpm/state.h"
#include "mpm/sweeps.h"

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

/* Describes a body to the solver, without contacts. */
static mpm_rigid_state describe(const mpm_simulation *simulation, size_t material, double dt)
{
    const mpm_settings *settings = &simulation->settings;
    const mpm_rigid_body *body = &simulation->rigid[material];
    const mpm_rigid_motion *motion = &body->motion;
    const struct rigid_form *form = &simulation->forms[material];
    const double *values = simulation->materials[material].values;
    mpm_rigid_state state = {
        .material = (int)material,
        .mass = motion->mass,
        .friction = values[0],
        .restitution = values[1],
        .hold = (int)values[2],
        .form = form->form.count ? &form->form : NULL,
    };
    double arm[3];
    memcpy(state.centre, motion->centre, sizeof state.centre);
    memcpy(state.rotation, motion->rotation, sizeof state.rotation);
    memcpy(state.lowest, body->lowest, sizeof state.lowest);
    memcpy(state.highest, body->highest, sizeof state.highest);
    mpm_rigid_motion_turn(state.inertia, motion->rotation, motion->inertia);
    mpm_body_invert(state.inverse, state.inertia, settings->dim);
    mpm_multiply3(arm, motion->rotation, motion->rest);
    for (int a = 0; a < 3; a++) {
        state.place[a] = motion->centre[a] - arm[a];
        state.begin[a] = motion->velocity[a];
        state.begin[3 + a] = motion->spin[a];
        state.gain[a] = a < settings->dim ? dt * settings->gravity[a] : 0;
    }
    return state;
}

/* Is the body so long that the images of its particles across a periodic face could be mistaken? */
static bool is_too_long(const mpm_settings *settings, const mpm_rigid_body *body)
{
    for (int a = 0; a < settings->dim; a++) {
        const double period = settings->dx * (double)mpm_walls_period(settings->walls, a, settings->cells[a]);
        if (period > 0 && !(body->highest[a] - body->lowest[a] < 0.5 * period))
            return true;
    }
    return false;
}

int mpm_rigid_too_long(const mpm_simulation *simulation)
{
    size_t material = 0;
    while (material + 1 < simulation->material_count &&
           !(simulation->rigid[material].motion.mass > 0 &&
             is_too_long(&simulation->settings, &simulation->rigid[material])))
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
    mpm_memory_free(&device->allocator, form->kept);
    mpm_memory_free(&device->allocator, form->last);
    mpm_memory_free(&device->allocator, form->coming);
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
    struct rigid_form fresh = {
        .force = mpm_device_new(device, form->count + 1, sizeof *fresh.force),
        .last = mpm_memory_new(&device->allocator, form->count + 1, sizeof *fresh.last),
        .coming = mpm_memory_new(&device->allocator, form->count + 1, sizeof *fresh.coming),
        .kept = mpm_memory_new(&device->allocator, form->count + 1, sizeof *fresh.kept),
    };
    if (!fresh.force || !fresh.last || !fresh.coming || !fresh.kept ||
        mpm_body_copy(&fresh.form, &device->allocator, form)) {
        clear_form(&fresh, device);
        return MPM_OUT_OF_MEMORY;
    }
    clear_form(&simulation->forms[material], device);
    simulation->forms[material] = fresh;
    simulation->bodies_due = true;
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
        if (simulation->rigid[material].motion.mass > 0) /* else no particle is left, or another law */
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
        if (body->force)
            memcpy(body->force, form->last, form->form.count * sizeof *form->last);
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
        const struct rigid_form *form = &simulation->forms[body->material];
        if (body->force)
            mpm_rigid_motion_keep_forces(simulation, form, form->coming, body->force);
        mpm_device_unmap(device, form->force);
        body->force = NULL;
    }
    simulation->look = (struct look){0};
}

/* Enters the impulses of walls and colliders, which belong to no block. */
static void enter(mpm_simulation *simulation)
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
            mpm_collider_enter(&simulation->reports.kept_books[k], &simulation->boundary.colliders[k], at, given);
        }
        for (int a = 0; c->partner >= 0 && k < 0 && a < 3; a++)
            simulation->stage.wall_impulse[a] += given[a];
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
    mpm_rigid_motion_place(simulation);
    mpm_rigid_motion_sum(simulation, dt);
    for (size_t b = 0; b < simulation->world.bodies; b++) {
        mpm_rigid_state *body = &simulation->world.body[b];
        const mpm_rigid_sums *sums = &simulation->rigid[body->material].sums;
        double c[3], P[3], moved[3];
        for (int a = 0; a < 3; a++) {
            P[a] = mpm_sum_value(&sums->momentum[a]);
            c[a] = mpm_sum_value(&sums->mass_moment[a]) / mpm_sum_value(&sums->mass);
        }
        mpm_cross3(moved, c, P);
        for (int a = 0; a < 3; a++) {
            body->gain[a] += P[a] / body->mass;
            body->gain[3 + a] += mpm_sum_value(&sums->angular_momentum[a]) - moved[a];
        }
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
    describe_world(simulation, dt);
    if (simulation->run.forcing.body_force)
        add_body_force(simulation, dt);
    for (size_t b = 0; b < world->bodies; b++)
        if (is_too_long(&simulation->settings, &simulation->rigid[world->body[b].material])) {
            *reason = MPM_BODY_TOO_LONG;
            return MPM_OK;
        }
    if (simulation->poses_due)
        mpm_rigid_motion_sum(simulation, 0);
    if (!mpm_rigid_pose_fits(simulation)) {
        *reason = MPM_BODY_NO_POSE;
        return MPM_OK;
    }
    if (!world->bodies)
        return MPM_OK;
    begin_look(simulation);
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
        r[a] = at[a] - motion->motion.centre[a];
    mpm_multiply3(turned, motion->turn, r);
    for (int a = 0; a < 3; a++)
        moved[a] = motion->shift[a] + turned[a];
}

/* How far a body moves along an axis at most [m]. Displacements are linear in the place, so they are extreme at corners
 * of the box around it. */
static double farthest(const mpm_rigid_body *motion, int dim)
{
    double most = 0;
    for (int corner = 0; corner < 1 << dim; corner++) {
        double at[3], moved[3];
        for (int a = 0; a < 3; a++)
            at[a] = corner >> a & 1 ? motion->highest[a] : motion->lowest[a];
        displace(moved, motion, at);
        for (int a = 0; a < dim; a++)
            most = fabs(moved[a]) <= most ? most : fabs(moved[a]); /* NaN stays */
    }
    return most;
}

/* Finds the motion of the step. Returns the energy that turning by the push gives the spin, which keeps its angular
 * momentum [J]. */
static double set_motion(mpm_rigid_body *motion, mpm_rigid_state *body, double dt)
{
    double L[3], spin[3];
    mpm_body_move(motion->turn, motion->shift, spin, body, dt);
    mpm_multiply3(L, body->inertia, body->kept + 3);
    const double gained = 0.5 * (mpm_dot3(L, spin) - mpm_dot3(L, body->kept + 3));
    memcpy(body->kept + 3, spin, sizeof spin);
    return gained;
}

mpm_reason mpm_rigid_move(mpm_simulation *simulation, double dt, double *travel)
{
    for (size_t b = 0; simulation->has_rigid && b < simulation->world.bodies; b++) {
        mpm_rigid_state *body = &simulation->world.body[b];
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

/* ---- the end of a step ------------------------------------------------------------------------------------------ */

/* Moves a body on, whose motion of the step is known. */
static void advance(const mpm_simulation *simulation, const mpm_rigid_state *state, mpm_rigid_body *body)
{
    const mpm_settings *settings = &simulation->settings;
    mpm_rigid_motion *motion = &body->motion;
    double Q[3][3];
    memcpy(Q, motion->rotation, sizeof Q);
    for (int a = 0; a < 3; a++) {
        motion->velocity[a] = state->kept[a];
        motion->spin[a] = state->kept[3 + a];
        motion->centre[a] += body->shift[a];
        for (int b = 0; b < 3; b++)
            for (int k = 0; k < 3; k++)
                motion->rotation[a][b] += body->turn[a][k] * Q[k][b];
    }
    mpm_body_orthonormalise(motion->rotation);
    for (int a = 0; a < settings->dim; a++) {
        const double period = settings->dx * (double)mpm_walls_period(settings->walls, a, settings->cells[a]);
        if (period > 0)
            motion->centre[a] -= period * floor((motion->centre[a] - settings->lower[a]) / period);
    }
}

/* Is all of a body where particles may be? */
static bool is_inside(const mpm_simulation *simulation, const mpm_rigid_body *body)
{
    const mpm_settings *settings = &simulation->settings;
    const double room = settings->dx * mpm_scheme_wall_depth(settings->scheme.degree);
    for (int a = 0; a < settings->dim; a++) {
        const double low = settings->lower[a], high = low + settings->dx * (double)settings->cells[a];
        if (!mpm_walls_period(settings->walls, a, settings->cells[a]) &&
            !(body->lowest[a] >= low - room && body->highest[a] <= high + room))
            return false;
    }
    return true;
}

void mpm_rigid_advance(mpm_simulation *simulation, double dt, mpm_measure *measure)
{
    bool inside = true;
    if (!simulation->has_rigid)
        return;
    for (size_t b = 0; b < simulation->world.bodies; b++) {
        const mpm_rigid_state *state = &simulation->world.body[b];
        const struct rigid_form *form = &simulation->forms[state->material];
        mpm_rigid_body *body = &simulation->rigid[state->material];
        measure->advection_speed = fmax(measure->advection_speed, farthest(body, simulation->settings.dim) / dt);
        advance(simulation, state, body);
        if (form->form.count)
            memcpy(form->last, form->coming, form->form.count * sizeof *form->last);
        mpm_rigid_motion_extent(&form->form, body);
        inside &= is_inside(simulation, body);
    }
    simulation->bodies_moved = true;
    simulation->bodies_shown = false;
    if (!inside) {
        const mpm_measure found = mpm_rigid_motion_show(simulation, true);
        measure->outside += found.outside;
        measure->clamped += found.clamped;
        measure->frozen += found.frozen;
        simulation->bodies_due |= found.frozen > 0;
        mpm_rigid_motion_find(simulation);
    }
    mpm_rigid_motion_measure(simulation, measure);
}
