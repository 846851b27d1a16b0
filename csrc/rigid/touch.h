/* SPDX-License-Identifier: MIT
 *
 * Where rigid bodies touch walls, colliders and each other: points of the surface of one against the signed distance of
 * the other.
 *
 * A contact counts only if the normal of the partner meets the cone of the point. Otherwise the normal of the
 * distance beside an edge would push sideways. At a point with a cone, the distance is read a little inside, where it
 * has no tie, and continued along its normal. A smooth surface is touched where its normal is that of the partner
 * (mpm_rigid_point).
 * Of the points of a pair whose normals agree, two (2-D) or four (3-D) that span the most are kept, and the deepest.
 *
 * Walls of every kind push and never pull, except sticky ones, which hold what touches them. A mirror is a wall without
 * friction: a body meets its image there. Across a periodic face the nearest image counts.
 */
#pragma once
#include "rigid/body.h"

enum { MPM_RIGID_FACES = 6 }; /* partners: faces of the domain, then colliders, and -1 for another body */

/** A contact of body `a` with another body, or with a wall or collider if `b` < 0. */
typedef struct mpm_rigid_contact {
    int a, b, partner;
    int owner, point;      /* the body whose point it is, and which */
    bool alone;            /* it is the only contact of that point */
    bool sticks;           /* it also pulls, and holds along the surface */
    double at[3], image[3]; /* the place of contact, and that of body b's nearest image [m] */
    double normal[3];      /* out of the partner, towards a */
    double gap;            /* in the middle of the step, after half of it without forces [m] */
    double before;         /* velocity of a to the partner along the normal, before the forces of the step [m/s] */
    double slip[2];        /* the same along the tangents [m/s] */
    bool strikes;          /* it rebounds */
    double wander[2];      /* velocity along the tangents there of a contact that sticks throughout the step [m/s] */
    double turns;          /* the same along the normal, cut to between 0 and -before [m/s] */
    double surface[3];     /* velocity of a wall or collider there [m/s] */
    double friction, restitution;
    double impulse[3], warm[3]; /* along the normal and the two tangents, on a; those to begin with [N s] */
    double plain[3];            /* those without rebound, where rebounds are limited; `warm` then has those with it */
    /* of the solver (impulses.h) */
    double tangent[2][3], on_a[3][6], on_b[3][6], moves_a[3][6], moves_b[3][6], mass[3], target[2];
} mpm_rigid_contact;

/** Rigid bodies in a step. */
typedef struct mpm_rigid_world {
    const mpm_boundary *boundary; /* with the poses of the step */
    double dt, gravity[3];
    bool pushes; /* a contact has been passed, so `push` and `kept` differ */
    double friction_work, impact_work, joint_work; /* what friction and impacts have taken, joints given [J] */
    size_t bodies, body_capacity;
    mpm_rigid_state *body;
    size_t contacts, contact_capacity;
    mpm_rigid_contact *contact;
    size_t candidates, candidate_capacity;
    struct mpm_rigid_candidate *candidate;
} mpm_rigid_world;

/** Finds the contacts of all bodies, which have drifted, and their boxes. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_touch_find(mpm_rigid_world *world, const mpm_allocator *allocator);

/** Frees what a world has allocated. */
void mpm_touch_clear(mpm_rigid_world *world, const mpm_allocator *allocator);

/** The distance of a body's shape at x [m], and its normal there; x is near the body, not near an image of it. */
mpm_shape_reading mpm_touch_read(const mpm_rigid_state *body, const double x[3]);

/** x moved by periods, so that it is as near to `to` as can be. */
void mpm_touch_nearest(const mpm_boundary *boundary, const double to[3], double x[3]);

/** x moved by periods into the domain, where colliders are. */
void mpm_touch_into_domain(const mpm_boundary *boundary, double x[3]);
