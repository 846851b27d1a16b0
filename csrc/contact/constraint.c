/* SPDX-License-Identifier: MIT */
#include "contact/constraint.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "contact/directions.h"

/* The velocity relative to the surface: returns the normal speed, and writes the tangential velocity. */
static double split(const mpm_node_contact *contact, const double v[3], double tangential[3])
{
    double relative[3];
    for (int a = 0; a < 3; a++)
        relative[a] = v[a] - contact->surface[a];
    const double normal = mpm_dot3(relative, contact->normal);
    for (int a = 0; a < 3; a++)
        tangential[a] = relative[a] - normal * contact->normal[a];
    return normal;
}

/* Does a node move into a contact that does not hold it, by more than rounding? */
static bool enters(const mpm_constrained_node *node, const mpm_node_contact *contact, const double v[3])
{
    double tangential[3], size = 0;
    for (int a = 0; a < 3; a++)
        size = fmax(size, fmax(fabs(v[a]), fabs(contact->surface[a])));
    return split(contact, v, tangential) < -node->rounding * size;
}

static bool rubs(const mpm_node_contact *contact)
{
    return contact->friction > 0 && contact->contact != MPM_STICKY;
}

void mpm_constraint_add(mpm_constrained_node *node, const mpm_node_contact *contact, const double v[3])
{
    if (node->contacts == MPM_NODE_CONTACTS)
        return;
    mpm_node_contact *added = &node->contact[node->contacts++];
    *added = *contact;
    added->active = contact->contact != MPM_SEPARATE || enters(node, contact, v);
    added->sticks = contact->contact == MPM_STICKY;
}

/* Holds the part of a direction that is not held yet, with the speed `speed` along the whole direction. */
static void hold(mpm_constrained_node *node, int dim, const double direction[3], double speed, int owner,
                 bool is_normal)
{
    double left[3];
    const double length =
        node->directions < dim ? mpm_directions_next(left, direction, node->direction, node->directions) : 0;
    if (!(length > 0))
        return;
    for (int k = 0; k < node->directions; k++)
        speed -= mpm_dot3(direction, node->direction[k]) * node->speed[k];
    const int k = node->directions++;
    memcpy(node->direction[k], left, sizeof left);
    node->speed[k] = speed / length;
    node->owner[k] = owner;
    node->is_normal[k] = is_normal;
}

static void hold_normal(mpm_constrained_node *node, int dim, int c)
{
    const mpm_node_contact *contact = &node->contact[c];
    hold(node, dim, contact->normal, mpm_dot3(contact->normal, contact->surface), c, true);
}

/* Holds all that is not held yet. Beside other contacts the surface is not followed along each axis, but in the
 * directions that are left, whatever the names of the axes. */
static void hold_all(mpm_constrained_node *node, int dim, int c)
{
    for (int a = 0; a < dim; a++) {
        const double axis[3] = {a == 0, a == 1, a == 2};
        const int k = node->directions;
        hold(node, dim, axis, node->contact[c].surface[a], c, false);
        if (node->contacts > 1 && node->directions > k)
            node->speed[k] = mpm_dot3(node->direction[k], node->contact[c].surface);
    }
}

static bool is_sticky_wall(const mpm_node_contact *contact)
{
    return contact->contact == MPM_STICKY && contact->collider == MPM_HELD_BY_WALL;
}

void mpm_constraint_fix(mpm_constrained_node *node, int dim)
{
    node->directions = 0;
    memset(node->push, 0, sizeof node->push);
    for (int c = 0; c < node->contacts; c++)
        if (node->contact[c].collider <= MPM_HELD_BY_REGION)
            hold_normal(node, dim, c);
    for (int c = 0; c < node->contacts; c++)
        if (is_sticky_wall(&node->contact[c]))
            hold_all(node, dim, c);
    for (int c = 0; c < node->contacts; c++)
        if (node->contact[c].active && node->contact[c].contact != MPM_STICKY)
            hold_normal(node, dim, c);
    for (int c = 0; c < node->contacts; c++)
        if (node->contact[c].active && node->contact[c].sticks)
            hold_all(node, dim, c);
    for (int c = 0; c < node->contacts; c++)
        for (int a = 0; a < 3; a++)
            node->push[a] += node->contact[c].push[a];
    mpm_constraint_project(node, node->push);
}

void mpm_constraint_project(const mpm_constrained_node *node, double r[3])
{
    for (int k = 0; k < node->directions; k++) {
        const double along = mpm_dot3(r, node->direction[k]);
        for (int a = 0; a < 3; a++)
            r[a] -= along * node->direction[k][a];
    }
}

void mpm_constraint_give(const mpm_constrained_node *node, double v[3])
{
    mpm_constraint_project(node, v);
    for (int k = 0; k < node->directions; k++)
        for (int a = 0; a < 3; a++)
            v[a] += node->speed[k] * node->direction[k][a];
}

/* Does a contact hold the tangential motion by its friction? */
static bool rests(const mpm_node_contact *contact)
{
    return contact->active && contact->sticks && contact->contact != MPM_STICKY;
}

/* Adds `factor` times the part of an impulse along the constrained directions to the impulses of the contacts. */
static void share_constrained(mpm_constrained_node *node, const double impulse[3], double factor)
{
    double rest[3] = {impulse[0], impulse[1], impulse[2]}, stuck[3] = {0}, pressure[MPM_NODE_CONTACTS] = {0}, borne = 0;
    for (int k = node->directions - 1; k >= 0; k--) {
        mpm_node_contact *contact = &node->contact[node->owner[k]];
        const double *d = node->direction[k], *along = node->is_normal[k] ? contact->normal : d;
        const double size = mpm_directions_take(rest, along, d);
        const bool shared = !node->is_normal[k] && contact->contact != MPM_STICKY;
        for (int a = 0; a < 3; a++)
            *(shared ? &stuck[a] : &contact->impulse[a]) += factor * size * along[a];
        if (node->is_normal[k])
            pressure[node->owner[k]] = size;
    }
    int first = -1;
    for (int c = 0; c < node->contacts; c++)
        if (rests(&node->contact[c])) {
            borne += node->contact[c].friction * fmax(pressure[c], 0);
            first = first < 0 ? c : first;
        }
    for (int c = 0; c < node->contacts; c++) {
        mpm_node_contact *contact = &node->contact[c];
        if (!rests(contact))
            continue;
        const double part = borne > 0 ? contact->friction * fmax(pressure[c], 0) / borne : c == first;
        for (int a = 0; a < 3; a++)
            contact->impulse[a] += part * stuck[a];
    }
}

/* One contact: its normal and what else it holds are orthogonal. */
static void share_alone(mpm_constrained_node *node, const double residual[3])
{
    double *impulse = node->contact[0].impulse;
    memcpy(impulse, node->contact[0].push, sizeof node->contact[0].push);
    mpm_constraint_project(node, impulse);
    for (int k = 0; k < node->directions; k++) {
        const double along = mpm_dot3(residual, node->direction[k]);
        for (int a = 0; a < 3; a++)
            impulse[a] += along * node->direction[k][a];
    }
}

void mpm_constraint_share(mpm_constrained_node *node, const double residual[3])
{
    double rest[3] = {residual[0], residual[1], residual[2]};
    if (node->contacts == 1) {
        share_alone(node, residual);
        return;
    }
    for (int c = 0; c < node->contacts; c++) {
        mpm_node_contact *contact = &node->contact[c];
        double free[3] = {contact->push[0], contact->push[1], contact->push[2]};
        mpm_constraint_project(node, free);
        memcpy(contact->impulse, contact->push, sizeof contact->push);
        for (int a = 0; a < 3; a++)
            rest[a] -= contact->push[a] - free[a]; /* friction against what other contacts hold */
    }
    share_constrained(node, rest, 1);
}

void mpm_constraint_finish(mpm_constrained_node *node, double v[3], double m)
{
    for (int c = 0; c < node->contacts; c++)
        for (int a = 0; a < 3; a++)
            node->contact[c].impulse[a] *= 2;
    double beyond[3] = {0};
    for (int k = 0; k < node->directions; k++) {
        const double along = m * (mpm_dot3(v, node->direction[k]) - node->speed[k]);
        for (int a = 0; a < 3; a++) {
            beyond[a] += along * node->direction[k][a];
            if (node->contacts == 1)
                node->contact[0].impulse[a] -= along * node->direction[k][a];
        }
    }
    if (node->contacts > 1)
        share_constrained(node, beyond, -1);
    mpm_constraint_give(node, v);
}

static bool differ(const double a[3], const double b[3], double most)
{
    double square = 0;
    for (int k = 0; k < 3; k++)
        square += (a[k] - b[k]) * (a[k] - b[k]);
    return square > most * most;
}

/* Revises the friction of an active contact, whose normal impulse on the material is `pressure`. A contact slides until
 * its friction has turned the motion round; a node alone cannot tell what else it would have to hold. */
static bool revise_friction(mpm_node_contact *contact, const double v[3], double pressure, double tolerance)
{
    const double most = contact->friction * fmax(pressure, 0);
    double along[3], push[3] = {0}; /* the motion, or the direction in which the material would slide */
    const bool stuck = contact->sticks;
    double size;
    if (stuck) {
        const double normal = mpm_dot3(contact->impulse, contact->normal);
        for (int a = 0; a < 3; a++)
            along[a] = -(contact->impulse[a] - normal * contact->normal[a]);
        size = sqrt(mpm_dot3(along, along));
        contact->sticks = size <= most;
    } else {
        split(contact, v, along);
        size = sqrt(mpm_dot3(along, along));
        contact->sticks = mpm_dot3(along, contact->push) > 0 || !(size > 0);
    }
    for (int a = 0; a < 3 && !contact->sticks; a++)
        push[a] = -most * along[a] / size;
    const bool changed = stuck != contact->sticks || differ(push, contact->push, tolerance * most);
    memcpy(contact->push, push, sizeof push);
    return changed;
}

/* Chooses the separate contacts of a node that hold in the next solve. */
static void revise_set(mpm_constrained_node *node, const double v[3], double m, const double *pressure)
{
    double without[3] = {v[0], v[1], v[2]}; /* the velocity without normal impulses */
    bool fits = true, sticky = false;
    for (int c = 0; c < node->contacts; c++) {
        const mpm_node_contact *contact = &node->contact[c];
        sticky |= contact->contact == MPM_STICKY;
        if (contact->contact == MPM_SEPARATE)
            fits &= contact->active ? pressure[c] >= 0 : !enters(node, contact, v);
        for (int a = 0; a < 3 && contact->active; a++)
            without[a] -= pressure[c] / m * contact->normal[a];
    }
    if (fits || (node->contacts > 1 && !sticky && mpm_contacts_choose(node->contact, node->contacts, without)))
        return;
    for (int c = 0; c < node->contacts; c++) {
        mpm_node_contact *contact = &node->contact[c];
        if (contact->contact == MPM_SEPARATE)
            contact->active = contact->active ? pressure[c] >= 0 : enters(node, contact, v);
    }
}

bool mpm_constraint_revise(mpm_constrained_node *node, int dim, const double v[3], double m, double tolerance)
{
    double pressure[MPM_NODE_CONTACTS];
    bool was[MPM_NODE_CONTACTS], changed = false;
    for (int c = 0; c < node->contacts; c++) {
        was[c] = node->contact[c].active;
        pressure[c] = mpm_dot3(node->contact[c].impulse, node->contact[c].normal);
    }
    revise_set(node, v, m, pressure);
    for (int c = 0; c < node->contacts; c++) {
        mpm_node_contact *contact = &node->contact[c];
        changed |= contact->active != was[c];
        if (!contact->active) {
            memset(contact->push, 0, sizeof contact->push);
            contact->sticks = false;
        } else if (was[c] && rubs(contact)) {
            changed |= revise_friction(contact, v, pressure[c], tolerance);
        }
    }
    if (changed)
        mpm_constraint_fix(node, dim);
    return changed;
}
