/* SPDX-License-Identifier: MIT
 *
 * Colliders: bodies with a prescribed motion that push material and are not pushed back.
 *
 * A step from t to t + dt sees a collider at its pose at t, and its surface moving as it leads to the pose at t + dt:
 *
 *     phi(x) = phi_0(X),  X = R^T (x - c) + c_0          c_0, c: its reference point as described and at t
 *     v_surface(x) = V + omega x (x - c) + R v_0(X)      phi_0, v_0: of a deforming shape, at t
 *
 * Where several colliders hold a point, the rule of collision.h is applied for each, the deepest first. If the point is
 * then still pressed into one of them, two surfaces meet in an acute edge: what is left to it is the motion along that
 * edge, relative to the deepest; and if that, too, presses it into one of them, it moves with the deepest.
 */
#pragma once
#include "contact/motion.h"
#include "contact/shape.h"
#include "contact/walls.h"

/** Where a collider is and how it moves during a step. */
typedef struct mpm_collider_state {
    double time;           /* t [s] */
    double reference[3];   /* c [m] */
    double rotation[9];    /* R */
    double velocity[3];    /* V [m/s] */
    double spin[3];        /* omega [rad/s] */
    double swing, twist;   /* how fast it moves [m/s] and turns [rad/s] on the way, if the pose at the end tells less */
    double deforming;      /* a bound of |v_0| [m/s] */
} mpm_collider_state;

typedef struct mpm_collider {
    char *name;
    mpm_shape shape;
    mpm_contact contact;
    double friction; /* Coulomb coefficient mu >= 0; unused by sticky ones */
    mpm_motion motion;
    double reference[3]; /* c_0 [m]: torques are about it, it moves along */
    mpm_collider_state now;
} mpm_collider;

/** What a piece of work has found about one collider. */
typedef struct mpm_collider_book {
    double impulse[3], torque[3]; /* on the material [N s], about the reference point [N m s] */
    double speed;                 /* a bound of the largest |v_surface| near material [m/s] */
    bool near;                    /* may touch what is being worked on */
    uint64_t parts;               /* ... by these parts of its shape */
} mpm_collider_book;

/** A copy of its own of a collider whose shape has no flaw. Errors: MPM_OUT_OF_MEMORY, and `*copy` is empty. */
mpm_status mpm_collider_copy(mpm_collider *copy, const mpm_allocator *allocator, const mpm_collider *collider);

/** Bytes that a copy holds beside itself. */
size_t mpm_collider_bytes(const mpm_collider *collider);

/** Frees a copy. */
void mpm_collider_clear(mpm_collider *collider, const mpm_allocator *allocator);

/** The state during a step of size `dt` > 0 that begins at `time`; with `dt` = 0 at rest. */
mpm_collider_state mpm_collider_state_at(const mpm_collider *collider, double time, double dt);

/** phi at x [m], the normal out of the collider and the velocity of its surface, as if it were everywhere, in the
 *  given state, by the given parts of its shape (UINT64_MAX: all). */
mpm_shape_reading mpm_collider_read(const mpm_collider *collider, const mpm_collider_state *state, const double x[3],
                                    uint64_t parts);

/** What meets colliders. Where it is the image of a place in the domain (a mirror's, say), x and the velocity are those
 *  of the place, and what is entered in the books is turned to how the image has it. */
typedef struct mpm_contact_point {
    double x[3], mass; /* [m], [kg] */
    unsigned flips;    /* bits: axes along which the image has the opposite sign */
    double image[3];   /* where the mass itself is [m] */
} mpm_contact_point;

/** Sets `near`, adds to `parts` and raises `speed` in the books of the colliders (one each) that can hold a point within
 *  `radius` [m] of `centre`, or can come to do so in a step of `dt`. Returns the largest speed among them, -1 if there is
 *  none. */
double mpm_collider_find_near(const mpm_collider *colliders, size_t count, const double centre[3], double radius,
                              double dt, mpm_collider_book *books);

/** Can a near collider hold a point within `radius` [m] of `centre`? */
bool mpm_collider_can_hold(const mpm_collider *colliders, size_t count, const double centre[3], double radius,
                           const mpm_collider_book *books);

/** Collides a mass that moves with v [m/s] with the near colliders that hold it, and enters what they gave it. Returns
 *  whether there were any. */
bool mpm_collider_touch(const mpm_collider *colliders, size_t count, const mpm_contact_point *point, double v[3],
                        mpm_collider_book *books);

/** Adds what one piece of work has found to a sum. */
void mpm_collider_add_book(mpm_collider_book *sum, const mpm_collider_book *part);
