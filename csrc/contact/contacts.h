/* SPDX-License-Identifier: MIT
 *
 * All contacts of one point: which walls and colliders hold a node or a particle, and what they do to its velocity.
 *
 * A point within a wall or collider is held by it. Where several contain the point, some may be out of reach. With y_i
 * the point of surface i that is nearest to it, surface j *shadows* surface i if y_i lies in j, but y_j not in i:
 * material meets j before it can reach i, so i does not hold. Each side of a groove contains the y of the other, and
 * both hold. Where bodies that overlap form one floor, y_i lies on the top of both: j does not count as one that
 * contains y_i if its surface continues that of i there: the point above y_i is outside of j, with the normal of i.
 * Then i shadows the side of j that lies in i. It also shadows a side of j that rises above i by less than half a cell:
 * so low a step is no side of a groove. What holds does so by a face that material can reach (exposed.h).
 *
 * One contact acts by the rule of collision.h. Several act together, on a point of mass m with the velocity v before:
 *
 *     v' = v + sum (N_i n_i + T_i)/m          n_i: normal, s_i: velocity of surface i
 *     separate   N_i >= 0,  n_i . (v' - s_i) >= 0,  one of them 0
 *     slip       n_i . (v' - s_i) = 0
 *     sticky     v = s_i before the others act; a sticky wall leaves them nothing to do
 *
 * Without friction v' is the projection of v onto the velocities that press into nothing. It is unique, so no order of
 * the contacts matters, and each impulse lies along its own normal. Friction T_i, |T_i| <= mu_i N_i, acts against the
 * motion along surface i that the projection leaves, and does not turn it round; N_i and v' are found again with it.
 *
 * Surfaces that close in may leave no v', or one that is far faster than they are. Then the contacts hold in their
 * order, walls first, so that nothing is pushed out of the domain, then colliders, the deepest first: all normals that
 * are pressed get the velocity of the first surface, so that the point moves along their common edge.
 */
#pragma once
#include "contact/exposed.h"

enum {
    MPM_HELD_BY_WALL = -1,
    MPM_HELD_BY_REGION = -2, /* less the index of its load */
    MPM_MOST_CONTACTS = MPM_MOST_HOLDERS + 6 /* of a point */
};

/** One contact of a point. Vectors may be in the frame of an image (mpm/memory/images.h). */
typedef struct mpm_node_contact {
    double normal[3], surface[3]; /* outward from the body; velocity of its surface [m/s] */
    double across[3];             /* impulse across planes of symmetry per normal impulse: mirrors balance it */
    double friction;
    mpm_contact contact; /* MPM_STICKY, MPM_SLIP or MPM_SEPARATE */
    int32_t collider;    /* index, MPM_HELD_BY_WALL, or MPM_HELD_BY_REGION or less */
    bool active, sticks; /* does it hold its normal? all directions? */
    double push[3];      /* friction impulse on the material [N s] */
    double friction_heat; /* share of the heat of friction that the material gets */
    double heat;         /* that share, of mpm_contacts_hold [J/kg] */
    double impulse[3];   /* of the contact on the material, friction included [N s] */
} mpm_node_contact;

/** Finds the contacts at x [m]: the held faces in their order (a mirror slips), then the near colliders, the deepest
 *  first; `faces` NULL: no face; `cell`: of the grid or the mesh [m]. Leaves out what is shadowed. Returns how many
 *  there are. */
int mpm_contacts_find(const mpm_collider *colliders, size_t count, const double x[3], const mpm_collider_book *books,
                      const mpm_faces *faces, double cell, mpm_node_contact contacts[MPM_MOST_CONTACTS]);

/** The heat of friction that the material gets from a contact whose impulse left the velocity v [m/s]: the share of
 *  -T . (v - s), T being the tangential part of the impulse [N s] and s the velocity of the surface. What sticks gives
 *  none, whatever the impulse that holds it. In J, or J/kg of an impulse per mass. */
double mpm_contacts_heat(const mpm_node_contact *contact, const double v[3]);

/** Turns a contact of a point on planes of symmetry into them: there its image pushes as hard from the other side, so
 *  that only the part of the normal along the planes acts. Returns false if nothing is left of it. */
bool mpm_contacts_turn(mpm_node_contact *contact, unsigned planes);

/** Applies several contacts to the velocity v [m/s] of a point; `impulse` of each becomes the change of velocity that
 *  it causes [m/s]. */
void mpm_contacts_apply(mpm_node_contact *contacts, int count, double v[3]);

/** Chooses the contacts that hold: sets `active` of the separate ones as the projection of v [m/s] needs them. Returns
 *  false, and changes nothing, if there is no projection. */
bool mpm_contacts_choose(mpm_node_contact *contacts, int count, const double v[3]);

/** Applies the near colliders that hold a mass, and the faces that hold it beside them, to its velocity v [m/s]. Enters
 *  the impulses of colliders in their books and adds those of walls to `wall` [N s]. `faces`, `wall`: NULL for no face.
 *  Adds the heat of friction that the mass gets to `heat` [J/kg], if that is not NULL.
 *  Across planes of symmetry v becomes the change that the colliders cause, which the mirror takes back.
 *  Returns false, with nothing done, if no collider holds the mass. */
bool mpm_contacts_touch(const mpm_collider *colliders, size_t count, const mpm_contact_point *point,
                        const mpm_faces *faces, double v[3], mpm_collider_book *books, double wall[3], double *heat);
