/* SPDX-License-Identifier: MIT */
#include "contact/motion.h"

#include <math.h>

/* The quaternion of a rotation vector (axis times angle). */
static void set_rotation(mpm_pose *pose, const double vector[3])
{
    const double angle = sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
    const double share = angle > 0 ? sin(0.5 * angle) / angle : 0.5;
    pose->quaternion[0] = cos(0.5 * angle);
    for (int a = 0; a < 3; a++)
        pose->quaternion[1 + a] = share * vector[a];
}

static mpm_pose keyframe_pose(const mpm_motion *motion, double time)
{
    const double *key = motion->keys, *last = key + MPM_KEYFRAME * (motion->key_count - 1);
    while (key < last && key[MPM_KEYFRAME] <= time)
        key += MPM_KEYFRAME;
    const double *next = key < last ? key + MPM_KEYFRAME : key;
    const double share = time > key[0] && next != key ? (time - key[0]) / (next[0] - key[0]) : 0;
    mpm_pose pose;
    double vector[3];
    for (int a = 0; a < 3; a++) {
        pose.displacement[a] = key[1 + a] + share * (next[1 + a] - key[1 + a]);
        vector[a] = key[4 + a] + share * (next[4 + a] - key[4 + a]);
    }
    set_rotation(&pose, vector);
    return pose;
}

mpm_pose mpm_motion_pose(const mpm_motion *motion, double time)
{
    mpm_pose pose = {.quaternion = {1, 0, 0, 0}};
    double rotation[3];
    if (motion->kind == MPM_MOTION_KEYFRAMES)
        return keyframe_pose(motion, time);
    for (int a = 0; a < 3; a++) {
        if (motion->kind == MPM_MOTION_LINEAR)
            pose.displacement[a] = time * motion->vector[a];
        if (motion->kind == MPM_MOTION_SINUSOID)
            pose.displacement[a] = motion->vector[a] * sin(2 * 3.14159265358979323846 * motion->frequency * time);
        rotation[a] = time * motion->vector[a];
    }
    if (motion->kind == MPM_MOTION_ROTATION)
        set_rotation(&pose, rotation);
    return pose;
}

void mpm_motion_matrix(const mpm_pose *pose, double matrix[9])
{
    const double w = pose->quaternion[0], *v = pose->quaternion + 1;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            const int c = 3 - a - b; /* the third axis, where a != b */
            const double turn = a == b ? 0 : (b - a + 3) % 3 == 1 ? -v[c] : v[c];
            matrix[3 * a + b] = 2 * v[a] * v[b] + 2 * w * turn + (a == b ? 2 * w * w - 1 : 0);
        }
}

void mpm_motion_rates(const mpm_pose *from, const mpm_pose *to, double dt, double velocity[3], double spin[3])
{
    const double w = from->quaternion[0], *v = from->quaternion + 1, W = to->quaternion[0], *V = to->quaternion + 1;
    double turn[3], size2 = 0, scalar = W * w + V[0] * v[0] + V[1] * v[1] + V[2] * v[2];
    for (int c = 0; c < 3; c++) { /* the vector part of to * conjugate(from) */
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        turn[c] = w * V[c] - W * v[c] - (V[a] * v[b] - V[b] * v[a]);
        size2 += turn[c] * turn[c];
    }
    const double size = sqrt(size2), sign = scalar < 0 ? -1 : 1;
    const double rate = sign * (size > 0 ? 2 * atan2(size, fabs(scalar)) / size : 2) / dt;
    for (int a = 0; a < 3; a++) {
        velocity[a] = (to->displacement[a] - from->displacement[a]) / dt;
        spin[a] = rate * turn[a];
    }
}
