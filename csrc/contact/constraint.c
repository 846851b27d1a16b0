/* SPDX-License-Identifier: MIT */
#include "contact/constraint.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"

/* The velocity relative to the surface: returns the normal speed, and writes the tangential velocity. */
static double split(const mpm_held_contact *contact, const double v[3], double tangential[3])
{
    double relative[3];
    for (int a = 0; a < 3; a++)
        relative[a] = v[a] - contact->surface[a];
    const double normal = mpm_dot3(relative, contact->normal);
    for (int a = 0; a < 3; a++)
        tangential[a] = relative[a] - normal * contact->normal[a];
    return normal;
}

static bool rubs(const mpm_held_contact *contact)
{
    return contact->friction > 0 && contact->contact != MPM_STICKY;
}

void mpm_constraint_add(mpm_held_node *node, const mpm_held_contact *contact, const double v[3])
{
    double tangential[3];
    if (node->contacts == MPM_HELD_CONTACTS)
        return;
    mpm_held_contact *added = &node->contact[node->contacts++];
    *added = *contact;
    added->active = contact->contact != MPM_SEPARATE || split(contact, v, tangential) < 0;
    added->sticks = contact->contact == MPM_STICKY;
}

/* Holds the part of a direction that is not held yet, with the speed `speed` along the whole direction. */
static void hold(mpm_held_node *node, int dim, const double direction[3], double speed, int owner)
{
    static const double LEAST = 1e-6; /* sine of the angle at which directions count as one */
    double rest[3] = {direction[0], direction[1], direction[2]};
    if (node->directions == dim)
        return;
    for (int k = 0; k < node->directions; k++) {
        const double along = mpm_dot3(direction, node->direction[k]);
        speed -= along * node->speed[k];
        for (int a = 0; a < 3; a++)
            rest[a] -= along * node->direction[k][a];
    }
    const double length = sqrt(mpm_dot3(rest, rest));
    if (length < LEAST)
        return;
    const int k = node->directions++;
    for (int a = 0; a < 3; a++)
        node->direction[k][a] = rest[a] / length;
    node->speed[k] = speed / length;
    node->owner[k] = owner;
}

void mpm_constraint_fix(mpm_held_node *node, int dim)
{
    node->directions = 0;
    memset(node->push, 0, sizeof node->push);
    for (int c = 0; c < node->contacts; c++) {
        const mpm_held_contact *contact = &node->contact[c];
        if (!contact->active)
            continue;
        if (contact->contact != MPM_STICKY)
            hold(node, dim, contact->normal, mpm_dot3(contact->normal, contact->surface), c);
        for (int a = 0; contact->sticks && a < dim; a++) {
            const double axis[3] = {a == 0, a == 1, a == 2};
            hold(node, dim, axis, contact->surface[a], c);
        }
    }
    for (int c = 0; c < node->contacts; c++)
        for (int a = 0; a < 3; a++)
            node->push[a] += node->contact[c].push[a];
    mpm_constraint_project(node, node->push);
}

void mpm_constraint_project(const mpm_held_node *node, double r[3])
{
    for (int k = 0; k < node->directions; k++) {
        const double along = mpm_dot3(r, node->direction[k]);
        for (int a = 0; a < 3; a++)
            r[a] -= along * node->direction[k][a];
    }
}

void mpm_constraint_give(const mpm_held_node *node, double v[3])
{
    mpm_constraint_project(node, v);
    for (int k = 0; k < node->directions; k++)
        for (int a = 0; a < 3; a++)
            v[a] += node->speed[k] * node->direction[k][a];
}

void mpm_constraint_share(mpm_held_node *node, const double residual[3])
{
    for (int c = 0; c < node->contacts; c++) {
        double push[3] = {node->contact[c].push[0], node->contact[c].push[1], node->contact[c].push[2]};
        mpm_constraint_project(node, push);
        memcpy(node->contact[c].impulse, push, sizeof push);
    }
    for (int k = 0; k < node->directions; k++) {
        const double along = mpm_dot3(residual, node->direction[k]);
        for (int a = 0; a < 3; a++)
            node->contact[node->owner[k]].impulse[a] += along * node->direction[k][a];
    }
}

void mpm_constraint_finish(mpm_held_node *node, double v[3], double m)
{
    for (int c = 0; c < node->contacts; c++)
        for (int a = 0; a < 3; a++)
            node->contact[c].impulse[a] *= 2;
    for (int k = 0; k < node->directions; k++) {
        const double beyond = m * (mpm_dot3(v, node->direction[k]) - node->speed[k]);
        for (int a = 0; a < 3; a++)
            node->contact[node->owner[k]].impulse[a] -= beyond * node->direction[k][a];
    }
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
static bool revise_friction(mpm_held_contact *contact, const double v[3], double pressure, double tolerance)
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

bool mpm_constraint_revise(mpm_held_node *node, int dim, const double v[3], double tolerance)
{
    bool changed = false;
    for (int c = 0; c < node->contacts; c++) {
        mpm_held_contact *contact = &node->contact[c];
        double tangential[3];
        const double pressure = mpm_dot3(contact->impulse, contact->normal), normal = split(contact, v, tangential);
        const bool was = contact->active;
        if (contact->contact == MPM_SEPARATE) {
            double size = 0;
            for (int a = 0; a < 3; a++)
                size = fmax(size, fmax(fabs(v[a]), fabs(contact->surface[a])));
            contact->active = was ? pressure >= 0 : normal < -1e-12 * size;
        }
        changed |= contact->active != was;
        if (!contact->active) {
            memset(contact->push, 0, sizeof contact->push);
            contact->sticks = false;
        } else if (was && rubs(contact)) {
            changed |= revise_friction(contact, v, pressure, tolerance);
        }
    }
    if (changed)
        mpm_constraint_fix(node, dim);
    return changed;
}
