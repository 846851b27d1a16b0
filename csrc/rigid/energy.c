/* SPDX-License-Identifier: MIT */
#include "rigid/energy.h"

#include <math.h>
#include <string.h>

#include "rigid/rows.h"

static const double LIFT = 1e-7; /* of the energy of a body, by which a push may lift it without other cause */
static const double DEEP = 0.3;  /* what has been passed that deep is pushed in any case [cells] */

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

void mpm_energy_find_work(mpm_rigid_world *world, int k, double *scale)
{
    for (size_t b = 0; b < world->bodies; b++)
        world->body[b].work[k] = 0;
    for (int after = 0; after < 2; after++) {
        for (size_t b = 0; b < world->bodies; b++)
            memcpy(world->body[b].u, world->body[b].base, sizeof world->body[b].u);
        if (after)
            mpm_rows_begin(world);
        for (size_t i = 0; i < world->contacts; i++) {
            const mpm_rigid_contact *c = &world->contact[i];
            for (int d = 0; d < 3; d++) {
                const double *direction = d ? c->tangent[d - 1] : c->normal;
                const double fall = c->b >= 0 ? 0 : 0.5 * world->dt * mpm_dot3(world->gravity, direction);
                const double part = 0.5 * c->impulse[d] * (mpm_rows_approach(c, d, world->body) - fall);
                world->body[world->body[c->a].island].work[k] += part;
                *scale += fabs(part);
            }
        }
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

void mpm_energy_limit_pushes(mpm_rigid_world *world, const mpm_rigid_node *nodes, size_t count)
{
    const double g = sqrt(mpm_dot3(world->gravity, world->gravity)), h = world->boundary->dx;
    mpm_energy_find_lifts(world);
    for (size_t b = 0; b < world->bodies; b++) {
        mpm_rigid_state *body = &world->body[b];
        body->work[0] = body->work[2] = 0;
        for (int i = 0; i < 6; i++)
            body->u[i] = 0.5 * (body->begin[i] + body->kept[i]);
    }
    for (size_t b = 0; b < world->bodies; b++) {
        const mpm_rigid_state *body = &world->body[b];
        double *work = world->body[body->island].work;
        work[2] += LIFT * body->mass * (0.5 * mpm_dot3(body->begin, body->begin) + g * h);
    }
    for (size_t i = 0; i < world->contacts; i++) {
        const mpm_rigid_contact *c = &world->contact[i];
        double *work = world->body[world->body[c->a].island].work;
        for (int d = 0; d < 3; d++)
            work[0] += c->impulse[d] * mpm_rows_approach(c, d, world->body);
        if (mpm_rows_gap_before(world, c) < -DEEP * h)
            work[2] = INFINITY;
    }
    for (size_t i = 0; i < count; i++)
        if (nodes[i].pressed)
            world->body[world->body[nodes[i].body].island].work[2] = INFINITY;
    for (size_t b = 0; b < world->bodies; b++) {
        mpm_rigid_state *body = &world->body[b];
        const double *work = world->body[body->island].work;
        const double may = fmax(work[2] - work[0], 0), lift = world->body[body->island].lift;
        const double share = lift > may ? may / lift : 1;
        for (int i = 0; share < 1 && i < 6; i++)
            body->push[i] = body->kept[i] + share * (body->push[i] - body->kept[i]);
    }
}
