/* SPDX-License-Identifier: MIT */
#include "rigid/rows.h"

#include <math.h>

static const double LOOSE = 1e3; /* what may be left after the least rounds, over the tolerance: jams need many more */
enum { LEAST_ROUNDS = 200, MOST_ROUNDS = 5000, VISITS = 100000 }; /* VISITS: of contacts in a pass */

static void find_tangents(mpm_rigid_contact *c, int dim)
{
    const double *n = c->normal;
    double e[3] = {0};
    if (dim == 2) {
        const double t[3] = {-n[1], n[0], 0};
        memcpy(c->tangent[0], t, sizeof t);
        memset(c->tangent[1], 0, sizeof t);
        return;
    }
    e[fabs(n[0]) < 0.6 ? 0 : 1] = 1;
    mpm_cross3(c->tangent[0], n, e);
    const double size = sqrt(mpm_dot3(c->tangent[0], c->tangent[0]));
    for (int a = 0; a < 3; a++)
        c->tangent[0][a] /= size;
    mpm_cross3(c->tangent[1], n, c->tangent[0]);
}

static void find_arms(mpm_rigid_contact *c, const mpm_rigid_world *world)
{
    const double *direction[3] = {c->normal, c->tangent[0], c->tangent[1]};
    double arm[3];
    for (int d = 0; d < 3; d++) {
        for (int a = 0; a < 3; a++)
            arm[a] = c->at[a] - world->body[c->a].centre[a];
        mpm_rows_wrench(c->on_a[d], direction[d], arm);
        for (int a = 0; c->b >= 0 && a < 3; a++)
            arm[a] = c->image[a] - world->body[c->b].centre[a];
        if (c->b >= 0)
            mpm_rows_wrench(c->on_b[d], direction[d], arm);
    }
}

/* What impulses of a contact do to the motions, with the present mass matrices. */
void mpm_rows_respond(mpm_rigid_contact *c, const mpm_rigid_state *body)
{
    for (int d = 0; d < 3; d++) {
        mpm_rows_multiply6(c->moves_a[d], body[c->a].response, c->on_a[d]);
        double response = mpm_rows_dot6(c->on_a[d], c->moves_a[d]);
        if (c->b >= 0) {
            mpm_rows_multiply6(c->moves_b[d], body[c->b].response, c->on_b[d]);
            response += mpm_rows_dot6(c->on_b[d], c->moves_b[d]);
        }
        c->mass[d] = response > 0 ? 1 / response : 0;
    }
}

/* The relative velocity of a contact along one of its directions. */
double mpm_rows_approach(const mpm_rigid_contact *c, int d, const mpm_rigid_state *body)
{
    const double *direction = d ? c->tangent[d - 1] : c->normal;
    const double other = c->b >= 0 ? mpm_rows_dot6(c->on_b[d], body[c->b].u) : mpm_dot3(direction, c->surface);
    return mpm_rows_dot6(c->on_a[d], body[c->a].u) - other;
}

static void push(const mpm_rigid_contact *c, int d, double impulse, mpm_rigid_state *body)
{
    for (int i = 0; i < 6; i++)
        body[c->a].u[i] += impulse * c->moves_a[d][i];
    for (int i = 0; c->b >= 0 && i < 6; i++)
        body[c->b].u[i] -= impulse * c->moves_b[d][i];
}

void mpm_rows_prepare(mpm_rigid_contact *c, const mpm_rigid_world *world)
{
    find_tangents(c, world->boundary->dim);
    find_arms(c, world);
}

/* Finds the velocities of contacts before the forces of the step, and how a contact that sticks wanders: the place of
 * contact moves, and the velocities of the bodies there change by w x p'. Half a step later they are equal. The same
 * along the normal is why a contact that lasts has a velocity in the middle of the step: what it had before, reversed.
 * A target of 0 would take energy from a body that rolls and is not round, and more than it had would add some. */
void mpm_rows_find_velocities(mpm_rigid_world *world)
{
    for (size_t b = 0; b < world->bodies; b++)
        memcpy(world->body[b].u, world->body[b].begin, sizeof world->body[b].u);
    for (size_t i = 0; i < world->contacts; i++) {
        mpm_rigid_contact *c = &world->contact[i];
        const mpm_rigid_state *a = &world->body[c->a], *b = c->b >= 0 ? &world->body[c->b] : NULL;
        const bool first = c->owner == c->a;
        const mpm_rigid_state *owner = first ? a : b;
        const mpm_rigid_point *point = &owner->form->points[c->point];
        double arm[3], out[3], turning[3], shift[3], at[3], v[3], X[3], change[3];
        c->before = mpm_rows_approach(c, 0, world->body);
        for (int t = 0; t < 2; t++)
            c->slip[t] = mpm_rows_approach(c, 1 + t, world->body);
        for (int q = 0; q < 3; q++) {
            arm[q] = (first ? c->at : c->image)[q] - owner->centre[q];
            out[q] = first ? -c->normal[q] : c->normal[q];
        }
        mpm_cross3(turning, owner->begin + 3, out); /* the surface turns past the place of contact */
        mpm_multiply_back3(X, owner->rotation, turning);
        mpm_multiply3(at, point->inverse, X);
        mpm_multiply3(shift, owner->rotation, at);
        mpm_rigid_velocity(v, owner->begin, arm);
        for (int q = 0; q < 3; q++)
            v[q] -= shift[q] + point->radius * turning[q];
        for (int q = 0; q < 3; q++)
            at[q] = v[q] - a->begin[q];
        mpm_cross3(change, a->begin + 3, at);
        for (int q = 0; b && q < 3; q++)
            at[q] = v[q] - b->begin[q];
        if (b) {
            mpm_cross3(X, b->begin + 3, at);
            for (int q = 0; q < 3; q++)
                change[q] -= X[q];
        }
        for (int t = 0; t < 2; t++)
            c->wander[t] = -0.5 * world->dt * mpm_dot3(change, c->tangent[t]);
        c->turns = -0.5 * world->dt * mpm_dot3(change, c->normal);
        c->turns = c->before > 0 ? fmax(fmin(c->turns, 0), -c->before) : fmin(fmax(c->turns, 0), -c->before);
    }
    for (size_t b = 0; b < world->bodies; b++)
        memcpy(world->body[b].u, world->body[b].free, sizeof world->body[b].u);
}

/* The gap of a contact at the beginning of the step. */
double mpm_rows_gap_before(const mpm_rigid_world *world, const mpm_rigid_contact *c)
{
    return c->gap - 0.5 * world->dt * c->before;
}

/* The motions that the present impulses of all contacts give. */
void mpm_rows_begin(mpm_rigid_world *world)
{
    for (size_t b = 0; b < world->bodies; b++)
        memcpy(world->body[b].u, world->body[b].base, sizeof world->body[b].u);
    for (size_t i = 0; i < world->contacts; i++)
        for (int d = 0; d < 3; d++)
            push(&world->contact[i], d, world->contact[i].impulse[d], world->body);
}

/* One contact: normal, then friction. Returns the largest change of a velocity. */
static double relax(mpm_rigid_contact *c, mpm_rigid_state *body, int pass, int tangents)
{
    const double missing = c->target[pass] - mpm_rows_approach(c, 0, body);
    const double J = c->sticks ? c->impulse[0] + c->mass[0] * missing : fmax(c->impulse[0] + c->mass[0] * missing, 0);
    double change = J - c->impulse[0], worst = c->mass[0] > 0 ? fabs(change) / c->mass[0] : 0;
    double wanted[2] = {0}, size = 0;
    c->impulse[0] = J;
    push(c, 0, change, body);
    for (int t = 0; t < tangents; t++) {
        wanted[t] = c->impulse[1 + t] + c->mass[1 + t] * (c->wander[t] - mpm_rows_approach(c, 1 + t, body));
        size += wanted[t] * wanted[t];
    }
    size = sqrt(size);
    const double most = c->friction * fmax(J, 0), share = !c->sticks && size > most ? most / size : 1;
    for (int t = 0; t < tangents; t++) {
        change = share * wanted[t] - c->impulse[1 + t];
        c->impulse[1 + t] += change;
        worst = c->mass[1 + t] > 0 ? fmax(worst, fabs(change) / c->mass[1 + t]) : worst;
        push(c, 1 + t, change, body);
    }
    return worst;
}

void mpm_rows_iterate(mpm_rigid_world *world, int pass, double tolerance)
{
    const int tangents = world->boundary->dim - 1;
    const size_t few = VISITS / (world->contacts + 1), most = few < MOST_ROUNDS ? few : MOST_ROUNDS;
    double worst = INFINITY;
    for (size_t k = 0; worst > (k < LEAST_ROUNDS ? 1 : LOOSE) * tolerance && (k < LEAST_ROUNDS || k < most); k++) {
        worst = 0;
        for (size_t i = 0; i < world->contacts; i++)
            worst = fmax(worst, relax(&world->contact[k % 2 ? world->contacts - 1 - i : i], world->body, pass,
                                      tangents));
    }
}
