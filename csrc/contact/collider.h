/* SPDX-License-Identifier: MIT
 *
 * Colliders: bodies with a prescribed motion that push material and are not pushed back.
 *
 * A step from t to t + dt sees a collider at its pose at t, and its surface moving as it leads to the pose at t + dt:
 *
 *     phi(x) = phi_0(X),  X = R^T (x - c) + c_0          c_0, c: its reference point as described and at t
 *     v_surface(x) = V + omega x (x - c) + R v_0(X)      phi_0, v_0: of a deforming shape, at t
 *
 * contacts.h says what they do to a point. A shape whose outermost operator is a union has *pieces*, its parts: each
 * meets material as a collider of its own does.
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
    double swing, twist;   /* bounds of its motion [m/s] and rotation [rad/s] within the step, beyond the end poses */
    double deforming;      /* a bound of |v_0| [m/s] */
} mpm_collider_state;

typedef struct mpm_collider {
    char *name;
    mpm_shape shape;
    mpm_contact contact;
    double friction; /* Coulomb coefficient mu >= 0; unused by sticky colliders */
    double restitution; /* of impacts of rigid bodies, 0 .. 1; unused unless they separate */
    double speeds[2]; /* of the waves that an absorbing one lets out: pressure, shear [m/s]; unused by the others */
    double friction_heat; /* share of the heat of friction that the material gets, 0 .. 1 */
    mpm_motion motion;
    double reference[3]; /* c_0 [m]: reference point of torques, which moves with the collider */
    mpm_collider_state now;
} mpm_collider;

/** What one task or block finds about one collider. */
typedef struct mpm_collider_book {
    double impulse[3], torque[3]; /* on the material [N s], about the reference point [N m s] */
    double speed;                 /* a bound of the largest |v_surface| near material [m/s] */
    bool near;                    /* the collider may touch the task or block */
    uint64_t parts;               /* the parts of its shape that may touch it */
    uint64_t beside;              /* the parts that may cover the surface of one that is near */
} mpm_collider_book;

/** Makes a deep copy of a collider whose shape has no flaw. Errors: MPM_OUT_OF_MEMORY, and `*copy` is empty. */
mpm_status mpm_collider_copy(mpm_collider *copy, const mpm_allocator *allocator, const mpm_collider *collider);

/** Bytes that a copy has allocated. */
size_t mpm_collider_bytes(const mpm_collider *collider);

/** Frees a copy. */
void mpm_collider_clear(mpm_collider *collider, const mpm_allocator *allocator);

/** The state during a step of size `dt` > 0 that begins at `time`; at rest if `dt` = 0. */
mpm_collider_state mpm_collider_state_at(const mpm_collider *collider, double time, double dt);

/** A bound of the speed [m/s] of the points that are at most `extent` [m] from the reference point and do not deform,
 *  in a state of a step. */
double mpm_collider_speed(const mpm_collider_state *state, double extent);

/** The longest step from `time` on, at most `dt` > 0, in which no such point moves farther than `reach` [m]. */
double mpm_collider_longest_dt(const mpm_collider *collider, double time, double dt, double extent, double reach);

/** phi at x [m], the outward normal and the velocity of the surface, extended to x. Uses the given state and the given
 *  parts of the shape (UINT64_MAX: all). */
mpm_shape_reading mpm_collider_read(const mpm_collider *collider, const mpm_collider_state *state, const double x[3],
                                    uint64_t parts);

/** The number of pieces. */
static inline size_t mpm_collider_pieces(const mpm_collider *collider)
{
    return collider->shape.intersects ? 1 : collider->shape.part_count;
}

/** Is a piece one of these parts? */
static inline bool mpm_collider_has_piece(const mpm_collider *collider, uint64_t parts, size_t piece)
{
    return collider->shape.intersects ? parts != 0 : parts >> mpm_shape_bit(&collider->shape, piece) & 1;
}

/** Reads one piece in the state `now`, as mpm_collider_read does. Uses the given parts of a shape that is one piece. */
mpm_shape_reading mpm_collider_read_piece(const mpm_collider *collider, const double x[3], size_t piece,
                                          uint64_t parts);

/** The steepness of phi of a piece (shape.h). */
static inline double mpm_collider_steepness(const mpm_collider *collider, size_t piece)
{
    return collider->shape.intersects ? collider->shape.steepness : collider->shape.parts[piece].steepness;
}

/** Where colliders hold particles: from half a cell below their surface, from the surface, or nowhere. */
typedef enum mpm_particle_collisions {
    MPM_PARTICLES_DEEP, MPM_PARTICLES_SURFACE, MPM_PARTICLES_OFF, MPM_PARTICLE_COLLISIONS_COUNT
} mpm_particle_collisions;

/** A node or particle that may meet colliders. For the image of a point in the domain (across a mirror, for example), x
 *  and the velocity are those of that point, and the books get the impulse in the frame of the image. */
typedef struct mpm_contact_point {
    double x[3], mass; /* [m], [kg] */
    double cell;       /* of the grid or the mesh, or the spacing of particles [m] */
    double depth;      /* how far a point may be below the surface without being held [m], at least 0 */
    unsigned flips;    /* bits: axes along which the image has the opposite sign */
    unsigned planes;   /* bits: axes across which the point lies on a plane of symmetry; v is 0 there */
    double image[3];   /* position of the mass itself [m] */
} mpm_contact_point;

/** Finds the colliders that can hold a point within `radius` [m] of `centre` now or within a step of `dt`. Sets `near`,
 *  adds to `parts` and `beside` and raises `speed` in their books (one each). Absorbing ones hold nothing. Returns the
 *  largest speed, -1 if there is none. */
double mpm_collider_find_near(const mpm_collider *colliders, size_t count, const double centre[3], double radius,
                              double dt, mpm_collider_book *books);

/** Can a near collider hold a point within `radius` [m] of `centre`? */
bool mpm_collider_can_hold(const mpm_collider *colliders, size_t count, const double centre[3], double radius,
                           const mpm_collider_book *books);

enum { MPM_MOST_HOLDERS = 8 }; /* pieces of colliders that hold a point at once; the deepest ones count */

/** A piece of a collider that holds a point. */
typedef struct mpm_holder {
    size_t collider, piece;
    mpm_shape_reading at;
} mpm_holder;

/** Finds the near pieces that hold x [m], the deepest first; equally deep ones in their order. Returns how many. A
 *  piece holds what is at least `depth` >= 0 [m] below its surface, along the normal, and what is inside with less
 *  than twice that depth of colliders below it, so that nothing passes a thin one. */
int mpm_collider_find_holders(const mpm_collider *colliders, size_t count, const double x[3], double depth,
                              const mpm_collider_book *books, mpm_holder holders[MPM_MOST_HOLDERS]);

/** Enters an impulse on the mass at a point [N s], in the frame of that mass, in the book of a collider. */
void mpm_collider_enter(mpm_collider_book *book, const mpm_collider *collider, const double image[3],
                        const double impulse[3]);

/** Adds to `sums`, one per collider, the books of tasks or blocks, [parts][colliders]. */
void mpm_collider_add_books(mpm_collider_book *sums, const mpm_collider_book *books, size_t parts, size_t colliders);
