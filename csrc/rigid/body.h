/* SPDX-License-Identifier: MIT
 *
 * Rigid bodies: what of a body never changes, where it is, and how it moves in a step.
 *
 *     x = p + Q X                                   X: place in the body's rest frame, whose origin is in the body
 *     P = M V,  L = I w                             about the centre of mass c
 *     c' = c + dt V,  Q' = exp(dt W) Q,  W = I^-1 (L + exp(dt W)^T L)/2
 *     w' = exp(dt W) I^-1 exp(dt W)^T L             the spin after dt
 *
 * A step is Moreau's midpoint rule: a body drifts freely for half a step, takes all impulses there, gravity among them,
 * and moves on with the new motion for the other half. So free flight is a parabola, and an impulse does the work of
 * the mean of the velocities before and after it, whatever dt is.
 *
 * W is the implicit midpoint rule in the frame of the body, as of Simo and Wong (1991). It keeps L and the energy: in
 * that frame L changes by exp(dt W)^T L - L, which is normal to W. With the exponential instead of Cayley's map, a body
 * that spins about a principal axis turns by exactly dt w.
 *
 * A body touches others with points of its surface (touch.h). All vectors have three dimensions; in 2-D a body lies
 * in the plane z = 0.
 */
#pragma once
#include "base/vector.h"
#include "contact/boundary.h"

/** A point of the surface, in the rest frame. The surface around it has the normals of a cone; a partner with the
 *  normal -n touches it at
 *
 *      at + radius n + S n_t - axis (n_t . S n_t)/(1 + n . axis),     n_t = n - (n . axis) axis
 *
 *  which is exact for balls and cylinders and of third order for other smooth surfaces. */
typedef struct mpm_rigid_point {
    double at[3];       /* [m] */
    double radius;      /* of a ball about it that belongs to the body [m]; its cone has all normals */
    double axis[3];     /* of the cone of normals */
    double cosine;      /* of its half-angle */
    double inverse[3][3]; /* S, the inverse of the shape operator across the axis [m]; 0 at faces, edges, vertices */
} mpm_rigid_point;

enum { MPM_RIGID_POINT = sizeof(mpm_rigid_point) / sizeof(double) }; /* numbers per point */

/** A joint to the world (joints.h), all in doubles. Rest frame and domain have the same axes when a body is added. */
typedef struct mpm_rigid_joint {
    double held, turns;       /* how many directions of the anchor, and axes of the spin, are prescribed */
    double driven, turning;   /* the last row, a direction or an axis, has a velocity that is not 0; it is an axis */
    double whole;             /* the body does not turn at all, else `axis` keeps its direction */
    double speed;             /* of the last row [m/s], [rad/s] */
    double anchor[3], at[3];  /* in the rest frame; in the domain [m] */
    double axis[3];           /* in the rest frame, and where the joint holds it */
    double along[3][3], about[3][3];
} mpm_rigid_joint;

enum { MPM_RIGID_JOINT = sizeof(mpm_rigid_joint) / sizeof(double) }; /* numbers of a joint */

/** What of a body never changes. */
typedef struct mpm_rigid_form {
    mpm_shape shape;     /* in the domain's frame when it was added */
    double reference[3]; /* the origin of the rest frame, there [m] */
    size_t count;
    mpm_rigid_point *points;
    double mass;         /* when it was added [kg] */
    double own[3][3];    /* its inertia, less that of its particles as points, in the rest frame [kg m2] */
    mpm_rigid_joint joint;
} mpm_rigid_form;

/** A body at the beginning of a step, and after `mpm_body_drift` in the middle of it. */
typedef struct mpm_rigid_state {
    int material, hold;              /* of the caller */
    const mpm_rigid_form *form;      /* NULL: it touches nothing */
    double mass, centre[3];          /* M [kg], c in the domain [m] */
    double inertia[3][3], inverse[3][3]; /* I about c [kg m2] and I^-1 */
    double place[3], rotation[3][3]; /* p [m], Q */
    double friction, restitution;    /* against deformable bodies and other rigid ones */
    double lowest[3], highest[3];    /* a box around the points [m] */
    double begin[6];                 /* V, w before the forces of the step [m/s], [rad/s] */
    double gain[6];                  /* what gravity and body forces add to V [m/s] and to L about c [kg m2/s] */
    double drifted[3][3];            /* the rotation of the first half of the step, less 1 */
    double free[6];                  /* V, w with the forces of the step, without contacts */
    double push[6], kept[6];         /* V, w with contacts: those that move it on, and those after the step */
    double (*force)[3];              /* of the contacts at its points, in the last step, then in this one [N] */
    double response[6][6], base[6], u[6], before[6]; /* of the solver: with the nodes that the body takes along, the
                                                      * inverse mass and the motion without contacts; the motion */
    int rows;                        /* of its joint (joints.h) */
    double row[6][6], wanted[2][6];  /* on (V, w), and the velocities of the two passes */
    double reaction[6];              /* of the joint: impulse, and its moment about c [N s], [N m s] */
    int island;                      /* the least of the bodies that contacts connect with it */
    double work[3], lift, rebound;   /* of an island, see `limit_rebounds` and `limit_pushes` [J] */
    double spare;                    /* energy that contacts have dissipated and no push has used [J] */
} mpm_rigid_state;

/** Makes a deep copy of a form. Errors: MPM_OUT_OF_MEMORY, and `*copy` is empty. */
mpm_status mpm_body_copy(mpm_rigid_form *copy, const mpm_allocator *allocator, const mpm_rigid_form *form);
void mpm_body_clear(mpm_rigid_form *form, const mpm_allocator *allocator);

/** Makes a rotation of what rounding has left of one. */
void mpm_body_orthonormalise(double Q[3][3]);

/** The inverse of a symmetric tensor, in 2-D of its zz component alone. */
void mpm_body_invert(double inverse[3][3], const double I[3][3], int dim);

/** The rotation exp(dt W) - 1 of a step by the spin w and inverse inertia at its beginning, and Q I^-1 Q^T after it. */
void mpm_body_turn(double turn[3][3], const double inertia[3][3], const double inverse[3][3], const double w[3],
                    double dt);

/** The spin after a step that turned a body by 1 + turn, which had the spin w in the frame before. */
void mpm_body_spin(double after[3], const double turn[3][3], const double inertia[3][3], const double inverse[3][3],
                    const double w[3]);

/** Lets a body drift for half a step, to where the forces of the step act. */
void mpm_body_drift(mpm_rigid_state *body, double dt, int dim);

/** How a body moves in a whole step, of which it has drifted the first half: its rotation less 1, the way of its centre
 *  of mass, and its spin at the end. It turns by its push where that changes the energy of the spin, either way, by no
 *  more than `spare`; otherwise by the motion that is kept, which keeps the energy. */
void mpm_body_move(double turn[3][3], double shift[3], double spin[3], const mpm_rigid_state *body, double dt);

/** out = A^T v */
static inline void mpm_multiply_back3(double out[3], const double A[3][3], const double v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = A[0][i] * v[0] + A[1][i] * v[1] + A[2][i] * v[2];
}

/** The velocity of a body's point at `arm` from its centre of mass, of the motion u = (V, w). */
static inline void mpm_rigid_velocity(double v[3], const double u[6], const double arm[3])
{
    mpm_cross3(v, u + 3, arm);
    for (int a = 0; a < 3; a++)
        v[a] += u[a];
}
