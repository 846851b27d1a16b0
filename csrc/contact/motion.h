/* SPDX-License-Identifier: MIT
 *
 * Prescribed motion of a rigid body: its pose as a function of time.
 *
 *     x(t) = R(t) (X - c) + c + u(t)
 *
 * moves the point X of the body as described, c being its reference point. Velocities are differences of poses, so that
 * material that sticks to the body moves exactly with it, even in a step in which its velocity jumps.
 */
#pragma once
#include <stddef.h>

typedef enum mpm_motion_kind {
    MPM_MOTION_NONE,
    MPM_MOTION_LINEAR,   /* u = t vector [m/s] */
    MPM_MOTION_ROTATION, /* R = exp(t vector) [rad/s] */
    MPM_MOTION_SINUSOID, /* u = vector sin(2 pi frequency t) [m], [Hz] */
    MPM_MOTION_KEYFRAMES, /* u and the rotation vector linear between keyframes, held before and after */
    MPM_MOTION_CONTINUED  /* the same, but after the last keyframe they go on as between the last two */
} mpm_motion_kind;

enum { MPM_KEYFRAME = 7 }; /* numbers per keyframe: time [s], u [m], rotation vector [rad] */

typedef struct mpm_motion {
    mpm_motion_kind kind;
    double vector[3], frequency;
    size_t key_count;
    const double *keys; /* [key][MPM_KEYFRAME], times ascending */
} mpm_motion;

typedef struct mpm_pose {
    double displacement[3]; /* u [m] */
    double quaternion[4];   /* of R: w, x, y, z */
} mpm_pose;

/** The number of keyframes that a kind needs at least. */
static inline size_t mpm_motion_least_keys(mpm_motion_kind kind)
{
    return kind == MPM_MOTION_CONTINUED ? 2 : kind == MPM_MOTION_KEYFRAMES;
}

mpm_pose mpm_motion_pose(const mpm_motion *motion, double time);

/** R of a pose, row by row. */
void mpm_motion_matrix(const mpm_pose *pose, double matrix[9]);

/** Motion [m] and rotation [rad] that the poses at `time` and at `time` + `dt` do not show, at most: the body may
 *  reverse in between, or rotate by more than half a revolution. */
typedef struct mpm_excursion {
    double distance, angle;
} mpm_excursion;

mpm_excursion mpm_motion_excursion(const mpm_motion *motion, double time, double dt);

/** The mean velocity [m/s] of the reference point and the constant angular velocity [rad/s] that lead from one pose
 *  to another in the time `dt` [s]. */
void mpm_motion_rates(const mpm_pose *from, const mpm_pose *to, double dt, double velocity[3], double spin[3]);
