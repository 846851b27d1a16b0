/* SPDX-License-Identifier: MIT */
#include "rigid/impulses.h"

#include <math.h>
#include <string.h>

#include "math/cholesky.h"
#include "rigid/energy.h"
#include "rigid/joints.h"
#include "rigid/rows.h"

enum { SETS = 30, FEW = 6, TURNS = 3 }; /* FEW: rounds after which friction of nodes drags */
static const double PUSH = 0.2;        /* share of what has been passed that a step takes back */
static const double FASTEST = 0.05;    /* the most that it takes back [cells] */
static const double SLOW = 4;          /* steps of free fall, whose speed is not that of an impact */
static const double HOP = 0.01;        /* a fall from this height is none, either [cells] */
static const double LEAST = 1e-9;      /* motion in a step that is none [cells] */
static const double LEVEL = 1e-5;      /* points of a level row differ by less in their gaps [cells] */
static const double FREE = 1e100;      /* no velocity is too fast for a contact that waits [m/s] */
static const double ROUNDING = 1e-14;  /* of velocities */
static const double SHARE = 1e-10;     /* of the velocity of a fall in one step, that may be left */
static const double JAM = 0.02;        /* what has been passed that deep is pushed hard [cells] */
static const double WORK = 1e-9;       /* of that of all contacts: less is rounding */
static const double HELD = 0.5;        /* material that near is held by a body that does not let it go [cells] */

/* Finds the targets of both passes, while `u` is the motion without contacts. A body that strikes a surface with a
 * restitution rebounds with all contacts that it is about to touch, also with those that move away (J. J. Moreau 1988):
 * without friction and with one e <= 1 that takes energy. Others wait: to stop them now would be an impact without
 * restitution. Does anything rebound? */
static bool find_targets(mpm_rigid_world *world)
{
    bool rebounds = false;
    const double fall = sqrt(mpm_dot3(world->gravity, world->gravity)), h = world->boundary->dx, dt = world->dt;
    const double slow = fmax(fmax(SLOW * dt * fall, sqrt(2 * fall * HOP * h)), LEAST * h / dt), rest = 0.5 * dt;
    for (size_t i = 0; i < world->contacts; i++) {
        mpm_rigid_contact *c = &world->contact[i];
        const double passed = fmin(mpm_rows_gap_before(world, c), 0);
        c->target[1] = -fmax(fmax(c->gap, 0) / rest - fmax(c->turns, 0), c->before);
        c->target[0] = 0.5 * c->turns + (passed + fmin(-PUSH * passed, FASTEST * h) - c->gap) / rest;
    }
    for (size_t i = 0; i < world->contacts; i++) {
        const mpm_rigid_contact *c = &world->contact[i];
        if (!(c->restitution > 0 && -c->before > slow && c->gap + rest * mpm_rows_approach(c, 0, world->body) < 0))
            continue;
        rebounds = true;
        for (size_t j = 0; j < world->contacts; j++) {
            mpm_rigid_contact *other = &world->contact[j];
            if (!(other->restitution > 0) || world->body[other->a].island != world->body[c->a].island)
                continue;
            if (other->a != c->a || other->b != c->b) {
                other->target[1] = other->gap < LEVEL * h || other->strikes ? other->target[1] : -FREE;
                continue;
            }
            other->strikes = other->gap + rest * other->before < LEVEL * h;
            other->target[1] = other->strikes ? -other->restitution * other->before : -FREE;
            if (other->strikes) /* what waited has been passed meanwhile */
                other->target[0] = fmax(-other->gap / rest, other->target[1]);
        }
    }
    return rebounds;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* The velocity of the body at a node less that of the node. */
static void find_slip(double slip[3], const mpm_rigid_node *node, const double u[6])
{
    mpm_rigid_velocity(slip, u, node->arm);
    for (int a = 0; a < 3; a++)
        slip[a] -= node->velocity[a];
}

static bool is_held(const mpm_rigid_node *node, double dx)
{
    return node->hold != MPM_RIGID_SEPARATE && node->gap < HELD * dx;
}

/* The impulse that a motion of the body gives a node. */
static void press(mpm_rigid_node *node, const double u[6], double dt, double dx)
{
    const double want = is_held(node, dx) ? 0 : -fmax(node->gap, 0) / dt;
    double slip[3], across[3], size = 0;
    find_slip(slip, node, u);
    const double along = mpm_dot3(slip, node->normal);
    double J = node->mass * (along + want);
    node->pressed = J > 0 || is_held(node, dx);
    node->stuck = false;
    memset(node->impulse, 0, sizeof node->impulse);
    if (!node->pressed)
        return;
    for (int a = 0; a < 3; a++) {
        across[a] = node->mass * (slip[a] - along * node->normal[a]);
        size += across[a] * across[a];
    }
    size = sqrt(size);
    const double most = node->friction * fmax(J, 0);
    node->stuck = (node->hold == MPM_RIGID_BONDED && is_held(node, dx)) || size <= most;
    node->share = node->stuck ? 1 : size > 0 ? most / size : 0;
    for (int a = 0; a < 3; a++)
        node->impulse[a] = J * node->normal[a] + node->share * across[a];
}

/* Adds m d d^T of a node along a direction of its body, and m (d . v + want) to the right side. */
static void add_row(double A[6][6], double right[6], const mpm_rigid_node *node, double mass,
                    const double direction[3], double want)
{
    double row[6];
    mpm_rows_wrench(row, direction, node->arm);
    const double value = mass * (mpm_dot3(direction, node->velocity) - want);
    for (int i = 0; i < 6; i++) {
        right[i] += value * row[i];
        for (int j = 0; j < 6; j++)
            A[i][j] += mass * row[i] * row[j];
    }
}

/* Adds what a node does to its body in the present set. The friction of one that slides is a force, which is exact if
 * its direction stands; or `drags`: that of a share of its mass which sticks, so that it cannot turn a light body
 * round. */
static void eliminate(double A[6][6], double right[6], const mpm_rigid_node *node, double dt, double dx, bool drags)
{
    const double *n = node->normal, want = is_held(node, dx) ? 0 : -fmax(node->gap, 0) / dt;
    const double share = node->stuck ? 1 : drags ? node->share : 0;
    if (!node->pressed)
        return;
    if (!node->stuck && !drags) {
        double friction[6], force[3];
        const double J = mpm_dot3(node->impulse, n);
        for (int a = 0; a < 3; a++)
            force[a] = J * n[a] - node->impulse[a];
        mpm_rows_wrench(friction, force, node->arm);
        for (int i = 0; i < 6; i++)
            right[i] += friction[i];
    }
    if (share < 1)
        add_row(A, right, node, (1 - share) * node->mass, n, want);
    for (int a = 0; share > 0 && a < 3; a++) {
        double direction[3] = {0};
        direction[a] = 1;
        add_row(A, right, node, share * node->mass, direction, want * n[a]);
    }
}

/* The inverse of a symmetric positive definite matrix of the given rows; the others are 0. */
static void invert6(double inverse[6][6], const double A[6][6], int dim)
{
    static const int planar[3] = {0, 1, 5}, spatial[6] = {0, 1, 2, 3, 4, 5};
    const int *row = dim == 2 ? planar : spatial, size = dim == 2 ? 3 : 6;
    double L[6][6];
    memset(inverse, 0, 36 * sizeof(double));
    for (int i = 0; i < size; i++)
        for (int j = 0; j <= i; j++)
            L[i][j] = A[row[i]][row[j]];
    mpm_cholesky_factor(L, size);
    for (int c = 0; c < size; c++) {
        double x[6] = {0};
        x[c] = 1;
        mpm_cholesky_solve(L, x, size);
        for (int i = 0; i < size; i++)
            inverse[row[i]][row[c]] = x[i];
    }
}

static void find_masses(double A[6][6], const mpm_rigid_state *body)
{
    memset(A, 0, 36 * sizeof(double));
    for (int a = 0; a < 3; a++) {
        A[a][a] = body->mass;
        for (int b = 0; b < 3; b++)
            A[3 + a][3 + b] = body->inertia[a][b];
    }
}

/* The mass matrix of a body with its nodes, and its motion without contacts. */
static void generalise(mpm_rigid_state *body, const mpm_rigid_node *nodes, size_t count, const mpm_rigid_world *world,
                       int pass, bool drags)
{
    const double dt = world->dt, dx = world->boundary->dx;
    double A[6][6], right[6];
    find_masses(A, body);
    mpm_rows_multiply6(right, A, body->free);
    for (size_t i = 0; i < count; i++)
        eliminate(A, right, &nodes[i], dt, dx, drags);
    invert6(body->response, A, world->boundary->dim);
    mpm_rows_multiply6(body->base, body->response, right);
    if (body->rows)
        mpm_joints_hold(body->response, body->base, NULL, body, pass);
}

/* ---- a pass ----------------------------------------------------------------------------------------------------- */

/* Finds the set of nodes that the motions press; the mass matrices follow. */
static void set_nodes(mpm_rigid_world *world, mpm_rigid_node *nodes, size_t count, int pass, bool drags)
{
    const double dx = world->boundary->dx;
    for (size_t i = 0; i < count; i++)
        press(&nodes[i], world->body[nodes[i].body].u, world->dt, dx);
    for (size_t b = 0, first = 0; b < world->bodies; b++) {
        size_t end = first;
        while (end < count && nodes[end].body == (int)b)
            end++;
        generalise(&world->body[b], nodes + first, end - first, world, pass, drags);
        first = end;
    }
    for (size_t i = 0; i < world->contacts; i++)
        mpm_rows_respond(&world->contact[i], world->body);
}

static void solve_pass(mpm_rigid_world *world, mpm_rigid_node *nodes, size_t count, int pass, double tolerance)
{
    for (int k = 0; k < (count ? SETS : 1); k++) {
        double worst = 0;
        for (size_t b = 0; b < world->bodies; b++)
            memcpy(world->body[b].before, world->body[b].u, sizeof world->body[b].u);
        set_nodes(world, nodes, count, pass, k >= FEW);
        mpm_rows_begin(world);
        mpm_rows_iterate(world, pass, tolerance);
        for (size_t b = 0; b < world->bodies; b++)
            for (int i = 0; i < 6; i++)
                worst = fmax(worst, fabs(world->body[b].u[i] - world->body[b].before[i]) *
                                        (i < 3 ? 1 : world->boundary->dx));
        if (worst <= tolerance)
            return;
    }
}

/* ---- energy of rebounds ------------------------------------------------------------------------------------------ */

/* Impulses between those without rebound and those with it, which are in `warm`; share < 0: that of each island. */
static void mix(mpm_rigid_world *world, double share)
{
    for (size_t i = 0; i < world->contacts; i++) {
        mpm_rigid_contact *c = &world->contact[i];
        const double own = share < 0 ? world->body[world->body[c->a].island].rebound : share;
        for (int d = 0; d < 3; d++)
            c->impulse[d] = own == 1 ? c->warm[d] : c->plain[d] + own * (c->warm[d] - c->plain[d]);
    }
}

/* Newton's law with friction, or with several coefficients, may add energy (Kane and Levinson 1985). Where contacts of
 * an island do work, its impulses are those between the ones without and with rebound that do none. Impulses between
 * the two are in the same cones, and part the bodies as well. */
static void limit_rebounds(mpm_rigid_world *world, mpm_rigid_node *nodes, size_t count, double tolerance)
{
    bool gains = false;
    double scale = 0;
    for (size_t b = 0; b < world->bodies; b++)
        memcpy(world->body[b].kept, world->body[b].u, sizeof world->body[b].kept);
    mpm_energy_find_lifts(world);
    mpm_energy_find_work(world, 2, &scale);
    for (size_t b = 0; b < world->bodies; b++) {
        mpm_rigid_state *body = &world->body[b];
        body->rebound = body->work[2] + fmax(body->lift, 0) > WORK * scale ? 0.5 : 1;
        gains |= body->rebound < 1;
    }
    if (!gains)
        return;
    for (size_t i = 0; i < world->contacts; i++) {
        mpm_rigid_contact *c = &world->contact[i];
        memcpy(c->warm, c->impulse, sizeof c->warm);
        if (c->target[1] > -FREE)
            c->target[1] = -fmax(fmax(c->gap, 0) / (0.5 * world->dt), c->before);
    }
    solve_pass(world, nodes, count, 1, tolerance);
    for (size_t i = 0; i < world->contacts; i++)
        memcpy(world->contact[i].plain, world->contact[i].impulse, sizeof world->contact[i].plain);
    for (int k = 0; k < 3; k++) {
        mix(world, 0.5 * k);
        mpm_energy_find_work(world, k, &scale);
        for (size_t b = 0; b < world->bodies; b++)
            world->body[b].work[k] += fmax(world->body[b].lift, 0);
    }
    for (size_t b = 0; b < world->bodies; b++)
        if (world->body[b].rebound < 1)
            world->body[b].rebound = world->body[b].work[2] > 0 ? mpm_energy_share(world->body[b].work) : 1;
    mix(world, -1);
    mpm_rows_begin(world);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* Begins with the forces of the last step. Of a point with several contacts only the normal parts are known. */
static void warm_up(mpm_rigid_contact *c, const mpm_rigid_world *world)
{
    const mpm_rigid_state *owner = &world->body[c->owner];
    const double *force = owner->force ? owner->force[c->point] : (const double[3]){0};
    const double sign = c->owner == c->a ? world->dt : -world->dt, J = sign * mpm_dot3(force, c->normal);
    double size = 0;
    c->impulse[0] = fmax(J, 0);
    for (int t = 0; t < 2; t++) {
        c->impulse[1 + t] = c->alone ? sign * mpm_dot3(force, c->tangent[t]) : 0;
        size += c->impulse[1 + t] * c->impulse[1 + t];
    }
    const double most = c->friction * c->impulse[0];
    for (int t = 0; t < 2 && sqrt(size) > most; t++)
        c->impulse[1 + t] *= most / sqrt(size);
}

/* Keeps the forces of the step at the points. */
static void keep_forces(const mpm_rigid_world *world)
{
    for (size_t b = 0; b < world->bodies; b++)
        if (world->body[b].force)
            memset(world->body[b].force, 0, world->body[b].form->count * sizeof *world->body[b].force);
    for (size_t i = 0; i < world->contacts; i++) {
        const mpm_rigid_contact *c = &world->contact[i];
        const mpm_rigid_state *owner = &world->body[c->owner];
        const double per_dt = (c->owner == c->a ? 1 : -1) / world->dt;
        for (int a = 0; owner->force && a < 3; a++)
            owner->force[c->point][a] += per_dt * (c->impulse[0] * c->normal[a] + c->impulse[1] * c->tangent[0][a] +
                                                   c->impulse[2] * c->tangent[1][a]);
    }
}

/* Motions that differ by less are the same [m/s]. */
static double tolerance_of(const mpm_rigid_world *world)
{
    double speed = 0;
    for (size_t b = 0; b < world->bodies; b++)
        for (int i = 0; i < 6; i++)
            speed = fmax(speed, fabs(world->body[b].free[i]) * (i < 3 ? 1 : world->boundary->dx));
    return SHARE * world->dt * sqrt(mpm_dot3(world->gravity, world->gravity)) + ROUNDING * speed;
}

void mpm_impulses_find(mpm_rigid_world *world, mpm_rigid_node *nodes, size_t count)
{
    const double tolerance = tolerance_of(world);
    double deepest = 0;
    for (size_t i = 0; i < world->contacts; i++) {
        mpm_rigid_contact *c = &world->contact[i];
        mpm_rows_prepare(c, world);
        warm_up(c, world);
        memcpy(c->warm, c->impulse, sizeof c->warm);
    }
    for (size_t b = 0; b < world->bodies; b++)
        mpm_joints_find(&world->body[b], world);
    mpm_rows_find_velocities(world);
    mpm_energy_find_islands(world);
    const bool rebounds = find_targets(world);
    solve_pass(world, nodes, count, 0, tolerance);
    world->pushes = false;
    for (size_t i = 0; i < world->contacts; i++)
        world->pushes |= world->contact[i].target[0] != world->contact[i].target[1];
    for (size_t b = 0; b < world->bodies; b++)
        world->pushes |= world->body[b].rows > 0;
    for (size_t i = 0; i < world->contacts; i++)
        deepest = fmin(deepest, mpm_rows_gap_before(world, &world->contact[i]));
    for (size_t b = 0; b < world->bodies; b++)
        memcpy(world->body[b].push, world->body[b].u, sizeof world->body[b].u);
    if (world->pushes && deepest < -JAM * world->boundary->dx) /* that push leaves impulses that are too large */
        for (size_t i = 0; i < world->contacts; i++)
            memcpy(world->contact[i].impulse, world->contact[i].warm, sizeof world->contact[i].warm);
    if (world->pushes)
        solve_pass(world, nodes, count, 1, tolerance);
    for (int k = 0; k < TURNS && mpm_energy_turn_slips(world, nodes, count); k++)
        solve_pass(world, nodes, count, 1, tolerance);
    mpm_rows_begin(world);
    if (rebounds)
        limit_rebounds(world, nodes, count, tolerance);
    for (size_t i = 0; i < count; i++)
        press(&nodes[i], world->body[nodes[i].body].u, world->dt, world->boundary->dx);
    keep_forces(world);
}

void mpm_impulses_balance(mpm_rigid_world *world, const mpm_rigid_node *nodes, size_t count)
{
    for (size_t b = 0, first = 0; b < world->bodies; b++) {
        mpm_rigid_state *body = &world->body[b];
        double gained[6] = {0}, spin[3];
        for (size_t i = 0; i < world->contacts; i++)
            for (int d = 0; d < 3; d++) {
                const mpm_rigid_contact *c = &world->contact[i];
                for (int q = 0; q < 6; q++)
                    gained[q] += c->a == (int)b   ? c->impulse[d] * c->on_a[d][q]
                                 : c->b == (int)b ? -c->impulse[d] * c->on_b[d][q]
                                                  : 0;
            }
        for (; first < count && nodes[first].body == (int)b; first++) {
            double given[6];
            mpm_rows_wrench(given, nodes[first].impulse, nodes[first].arm);
            for (int q = 0; q < 6; q++)
                gained[q] -= given[q];
        }
        mpm_multiply3(spin, body->inverse, gained + 3);
        for (int a = 0; a < 3; a++) {
            body->kept[a] = body->free[a] + gained[a] / body->mass;
            body->kept[3 + a] = body->free[3 + a] + spin[a];
        }
        if (body->rows) {
            double A[6][6], W[6][6];
            find_masses(A, body);
            invert6(W, A, world->boundary->dim);
            mpm_joints_hold(W, body->kept, body->reaction, body, 1);
        }
        if (!world->pushes)
            memcpy(body->push, body->kept, sizeof body->push);
    }
    mpm_energy_balance(world, nodes, count);
}
