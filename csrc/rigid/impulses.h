/* SPDX-License-Identifier: MIT
 *
 * The impulses of a step on rigid bodies.
 *
 * Contacts with walls, colliders and other bodies (touch.h), with the velocities v of a to the partner after the
 * impulses and v- before them and the forces of the step:
 *
 *     v.n >= target, J >= 0, one of them exact;   |T| <= mu J, against the sliding velocity
 *     target = turn - max(gap, 0)/(dt/2)          gap: in the middle of the step, with v-; turn: what a contact that
 *                                                 lasts has there because bodies turn, 0 to -v-.n (rows.c)
 *     target = -e v-.n                            of an impact
 *
 * by projected Gauss-Seidel with accumulated impulses, which begins with those of the last step. The work of a normal
 * impulse is J n.(v- + v)/2, which is never positive: if gap > 0, that velocity is -1/dt of the gap at the beginning.
 *
 * Two passes: the first gives the velocities that move the bodies for the rest of the step, so that no gap is below 0
 * at its end and a fifth of what had been passed before is taken back. The second, without that push, gives those that
 * they keep (E. Catto's soft step with relaxation). So a push adds no energy.
 *
 * Nodes of deformable material meet a body as they meet a collider: their velocity v becomes
 *
 *     n.(v' - V_b) >= -gap/dt,   m (v' - v) = J n + T,   |T| <= mu J           V_b: velocity of the body at the node
 *
 * They are eliminated, not iterated: which of them are pressed, and which of these stick, follows from the motion of
 * the body; each adds its mass along n (and across, if it sticks) to the 6 x 6 mass matrix of the body, with which all
 * else is solved, and so on until the set stands. The nodes then take the impulses that the motion gives them, and the
 * body their opposites, so that momentum is exact whatever residual is left.
 */
#pragma once
#include "rigid/touch.h"

/** How deformable material and a body touch. */
typedef enum mpm_rigid_hold { MPM_RIGID_SEPARATE, MPM_RIGID_SLIP, MPM_RIGID_BONDED, MPM_RIGID_HOLDS } mpm_rigid_hold;

/** A node near a body. */
typedef struct mpm_rigid_node {
    int body;
    mpm_rigid_hold hold;
    double friction;
    double mass, velocity[3]; /* [kg], [m/s] */
    double arm[3], normal[3], gap; /* from the centre of mass of the body [m]; out of the body; to the material [m] */
    double impulse[3];        /* on the node [N s] */
    bool pressed, stuck;
    double share;             /* of the mass whose sticking would be the friction */
    ptrdiff_t block, node;    /* of the caller */
    unsigned flips, planes;   /* of the caller: see mpm_image_node */
} mpm_rigid_node;

/** Finds the motions `push` of all bodies, the impulses of the contacts, and those of the nodes, which are sorted by
 *  body. Keeps the forces of the step at the points. */
void mpm_impulses_find(mpm_rigid_world *world, mpm_rigid_node *nodes, size_t count);

/** Finds the motions `kept` of all bodies: their momentum before, and all impulses, of the nodes as they are now. */
void mpm_impulses_balance(mpm_rigid_world *world, const mpm_rigid_node *nodes, size_t count);
