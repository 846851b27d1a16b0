/* SPDX-License-Identifier: MIT */
#include "rigid/energy.h"

#include <math.h>
#include <string.h>

#include "rigid/rows.h"

static const double LITTLE = 1e-7; /* of the energy of a body: a step may add that much */
static const double FARTHEST = 0.3; /* that a push moves a body in a step [cells] */

void mpm_energy_find_islands(mpm_rigid_world *world)
{
    bool changed = true;
    for (size_t b = 0; b < world->bodies; b++)
        world->body[b].island = (int)b;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < world->contacts; i++) {
            const mpm_rigid_contact *c = &world->contact[i];
            if (c->b < 0 || world->body[c->a].island == world->body[c->b].island)
                continue;
            const int a = world->body[c->a].island, b = world->body[c->b].island;
            world->body[c->a].island = world->body[c->b].island = a < b ? a : b;
            changed = true;
        }
    }
}

void mpm_energy_find_lifts(mpm_rigid_world *world)
{
    for (size_t b = 0; b < world->bodies; b++)
        world->body[b].lift = 0;
    for (size_t b = 0; b < world->bodies; b++) {
        const mpm_rigid_state *body = &world->body[b];
        for (int a = 0; a < 3; a++)
            world->body[body->island].lift -=
                0.5 * world->dt * body->mass * world->gravity[a] * (body->push[a] - body->kept[a]);
    }
}

/* The work of direction d of a contact, while `u` is the mean of the motions before and after. */
static double work_of(const mpm_rigid_contact *c, int d, const mpm_rigid_world *world)
{
    return c->impulse[d] * mpm_rows_approach(c, d, world->body);
}

void mpm_energy_find_work(mpm_rigid_world *world, int k, double *scale)
{
    mpm_rows_begin(world);
    for (size_t b = 0; b < world->bodies; b++) {
        mpm_rigid_state *body = &world->body[b];
        body->work[k] = 0;
        for (int q = 0; q < 6; q++)
            body->u[q] = 0.5 * (body->begin[q] + body->u[q]);
    }
    for (size_t i = 0; i < world->contacts; i++)
        for (int d = 0; d < 3; d++) {
            const double part = work_of(&world->contact[i], d, world);
            world->body[world->body[world->contact[i].a].island].work[k] += part;
            *scale += fabs(part);
        }
}

double mpm_energy_share(const double work[3])
{
    const double bend = 2 * (work[0] - 2 * work[1] + work[2]), slope = work[2] - work[0] - bend;
    if (!(work[0] < 0))
        return 0;
    /* bend s^2 + slope s + work[0] = 0, with work[0] < 0 < work[2] */
    const double root = sqrt(fmax(slope * slope - 4 * bend * work[0], 0));
    const double share = slope > 0 ? -2 * work[0] / (slope + root) : (root - slope) / (2 * bend);
    return fmax(0, fmin(share, 1));
}

/* What a step may add to the energy of an island, in work[1]; infinite where nodes take part in it. */
static void find_limits(mpm_rigid_world *world, const mpm_rigid_node *nodes, size_t count)
{
    const double g = sqrt(mpm_dot3(world->gravity, world->gravity)), h = world->boundary->dx;
    for (size_t b = 0; b < world->bodies; b++)
        world->body[b].work[1] = 0;
    for (size_t b = 0; b < world->bodies; b++) {
        const mpm_rigid_state *body = &world->body[b];
        world->body[body->island].work[1] += LITTLE * body->mass * (0.5 * mpm_dot3(body->begin, body->begin) + g * h);
    }
    for (size_t i = 0; i < count; i++)
        if (nodes[i].pressed)
            world->body[world->body[nodes[i].body].island].work[1] = INFINITY;
}

bool mpm_energy_turn_slips(mpm_rigid_world *world, const mpm_rigid_node *nodes, size_t count)
{
    bool turns = false;
    double scale = 0;
    mpm_energy_find_work(world, 2, &scale);
    find_limits(world, nodes, count);
    for (size_t i = 0; i < world->contacts; i++) {
        mpm_rigid_contact *c = &world->contact[i];
        const mpm_rigid_state *island = &world->body[world->body[c->a].island];
        if (!(island->work[2] > island->work[1] && work_of(c, 1, world) + work_of(c, 2, world) > 0))
            continue;
        for (int t = 0; t < 2; t++) {
            turns |= c->wander[t] != -c->slip[t];
            c->wander[t] = -c->slip[t];
        }
    }
    return turns;
}

/* How far the push moves a body [cells]. */
static double pushed(const mpm_rigid_state *body, const mpm_rigid_world *world)
{
    double moved = 0, turned = 0, size = 0;
    for (int a = 0; a < 3; a++) {
        const double length = body->form ? body->highest[a] - body->lowest[a] : 0;
        moved += (body->push[a] - body->kept[a]) * (body->push[a] - body->kept[a]);
        turned += (body->push[3 + a] - body->kept[3 + a]) * (body->push[3 + a] - body->kept[3 + a]);
        size += length * length;
    }
    return 0.5 * world->dt * (sqrt(moved) + sqrt(turned * size)) / world->boundary->dx;
}

static void limit_pushes(mpm_rigid_world *world)
{
    for (size_t b = 0; b < world->bodies; b++)
        world->body[b].work[2] = world->body[b].spare = 0;
    for (size_t b = 0; b < world->bodies; b++) {
        mpm_rigid_state *island = &world->body[world->body[b].island];
        island->work[2] = fmax(island->work[2], pushed(&world->body[b], world));
        island->spare++; /* its bodies, first */
    }
    for (size_t b = 0; b < world->bodies; b++) {
        mpm_rigid_state *island = &world->body[b];
        island->spare = island->spare > 0 ? fmax(-island->work[0] - fmax(island->lift, 0), 0) / island->spare : 0;
    }
    for (size_t b = 0; b < world->bodies; b++) {
        mpm_rigid_state *body = &world->body[b];
        const mpm_rigid_state *island = &world->body[body->island];
        const double may = fmax(island->work[1] - island->work[0], 0);
        body->spare = island->spare;
        const double share = fmin(island->lift > may ? may / island->lift : 1,
                                  island->work[2] > FARTHEST ? FARTHEST / island->work[2] : 1);
        for (int i = 0; share < 1 && i < 6; i++)
            body->push[i] = body->kept[i] + share * (body->push[i] - body->kept[i]);
    }
}

void mpm_energy_balance(mpm_rigid_world *world, const mpm_rigid_node *nodes, size_t count)
{
    world->friction_work = world->impact_work = world->joint_work = 0;
    for (size_t b = 0; b < world->bodies; b++) {
        mpm_rigid_state *body = &world->body[b];
        body->work[0] = 0;
        for (int i = 0; i < 6; i++)
            body->u[i] = 0.5 * (body->begin[i] + body->kept[i]);
        if (body->rows)
            world->joint_work += mpm_rows_dot6(body->reaction, body->u);
    }
    for (size_t i = 0; i < world->contacts; i++)
        for (int d = 0; d < 3; d++) {
            const double part = work_of(&world->contact[i], d, world);
            world->body[world->body[world->contact[i].a].island].work[0] += part;
            *(d ? &world->friction_work : &world->impact_work) -= part;
        }
    if (!world->pushes)
        return;
    mpm_energy_find_lifts(world);
    find_limits(world, nodes, count);
    for (size_t b = 0; b < world->bodies; b++)
        if (world->body[b].rows)
            world->body[world->body[b].island].work[1] = INFINITY;
    limit_pushes(world);
    mpm_energy_find_lifts(world);
    for (size_t b = 0; b < world->bodies; b++)
        *(world->body[b].rows ? &world->joint_work : &world->impact_work) +=
            (world->body[b].rows ? 1 : -1) * world->body[b].lift;
}
