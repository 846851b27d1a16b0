/* SPDX-License-Identifier: MIT
 *
 * Contact within an implicit solve. The contacts at a node hold some directions of its velocity: there the velocity is
 * given, and the residual of the momentum equation is the impulse of the contact. In the other directions the node is
 * free, except for a friction impulse that is known from the last solve.
 *
 *     sticky     holds all directions
 *     slip       holds the normal
 *     separate   holds the normal while the contact pushes; a contact that pulls is released
 *     friction   a contact slides with the impulse mu J_n against the motion, or sticks while that suffices
 *
 * A step solves, revises its contacts and solves again, at most MPM_CONTACT_SOLVES times. The first solve is without
 * friction and finds J_n; the second one slides; contacts at which it turned the motion round stick in the third.
 *
 * Normals of several contacts need not be orthogonal. The residual is R = sum N_i n_i, and the signs of the multipliers
 * N_i say which contacts push. Where the set of contacts is wrong (one pulls, or the node moves into another), the next
 * set is that of the projection of v - R/m (contacts.h). It is the same set if and only if the node satisfies all
 * conditions of contact.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "contact/contacts.h"

enum {
    MPM_CONTACT_SOLVES = 3,
    MPM_NODE_CONTACTS = 6, /* of a node; those that come first hold before the others */
};

typedef struct mpm_constrained_node {
    int32_t node; /* of its block */
    int contacts, directions;
    mpm_node_contact contact[MPM_NODE_CONTACTS];
    double direction[3][3]; /* orthonormal; the velocity along them is given */
    double speed[3];        /* [m/s] */
    int owner[3];           /* the contact that holds each direction */
    bool is_normal[3];      /* is the direction what is left of the normal of its owner? */
    double push[3];         /* sum of the friction impulses [N s] */
    double rounding;        /* error of velocities, relative to them */
} mpm_constrained_node;

/** The error of velocities that come from sums over particles or elements, relative to them. */
static inline double mpm_constraint_rounding(bool is_float)
{
    return is_float ? 1e-5 : 1e-12;
}

/** Adds a contact to a node with velocity `v` before contact; a node has room for MPM_NODE_CONTACTS of them. */
void mpm_constraint_add(mpm_constrained_node *node, const mpm_node_contact *contact, const double v[3]);

/** Finds the directions that the active contacts hold: those of held regions, all of those that are sticky walls, then
 *  the normals of the others, then what else sticks. */
void mpm_constraint_fix(mpm_constrained_node *node, int dim);

/** Removes the constrained directions from a vector. */
void mpm_constraint_project(const mpm_constrained_node *node, double r[3]);

/** Gives a velocity the speeds of the constrained directions. */
void mpm_constraint_give(const mpm_constrained_node *node, double v[3]);

/** Shares the residual of the momentum equation, the impulse of all contacts, among them: R = sum N_i n_i + T. Contacts
 *  that stick share T in proportion to mu_i N_i. */
void mpm_constraint_share(mpm_constrained_node *node, const double residual[3]);

/** The end of a step that was solved for its middle: `v` is extrapolated from there, for a node of mass m. Gives it the
 *  speeds of the constrained directions, and turns the impulses of half a step into those of the whole step. */
void mpm_constraint_finish(mpm_constrained_node *node, double v[3], double m);

/** Revises the contacts after a solve that gave the velocity v to a node, with impulses shared. Returns whether
 *  anything changed by more than the fraction `tolerance`; then the directions have been found anew. m: mass [kg]. */
bool mpm_constraint_revise(mpm_constrained_node *node, int dim, const double v[3], double m, double tolerance);
