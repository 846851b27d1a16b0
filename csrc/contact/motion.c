/* SPDX-License-Identifier: MIT */
#include "contact/motion.h"

#include <math.h>

#define PI 3.14159265358979323846

/* Sets the quaternion from a rotation vector (axis times angle). */
static void set_rotation(mpm_pose *pose, const double vector[3])
{
    const double angle = sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
    const double share = angle > 0 ? sin(0.5 * angle) / angle : 0.5;
    pose->quaternion[0] = cos(0.5 * angle);
    for (int a = 0; a < 3; a++)
        pose->quaternion[1 + a] = share * vector[a];
}

static int has_keys(const mpm_motion *motion)
{
    return motion->kind == MPM_MOTION_KEYFRAMES || motion->kind == MPM_MOTION_CONTINUED;
}

/* Interpolates displacement and rotation vector; returns the first key after `time` (key_count: none). */
static size_t keyframe_values(const mpm_motion *motion, double time, double values[6])
{
    size_t low = 0, high = motion->key_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (motion->keys[MPM_KEYFRAME * middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    const double *key = motion->keys + MPM_KEYFRAME * (low > 0 ? low - 1 : 0);
    const double *next = low > 0 && low < motion->key_count ? key + MPM_KEYFRAME : key;
    if (motion->kind == MPM_MOTION_CONTINUED && low == motion->key_count) {
        next = key;
        key -= MPM_KEYFRAME;
    }
    const double share = next != key ? (time - key[0]) / (next[0] - key[0]) : 0;
    for (int a = 0; a < 6; a++)
        values[a] = key[1 + a] + share * (next[1 + a] - key[1 + a]);
    return low;
}

static mpm_pose keyframe_pose(const mpm_motion *motion, double time)
{
    double values[6];
    keyframe_values(motion, time, values);
    mpm_pose pose;
    for (int a = 0; a < 3; a++)
        pose.displacement[a] = values[a];
    set_rotation(&pose, values + 3);
    return pose;
}

mpm_pose mpm_motion_pose(const mpm_motion *motion, double time)
{
    mpm_pose pose = {.quaternion = {1, 0, 0, 0}};
    double rotation[3];
    if (has_keys(motion))
        return keyframe_pose(motion, time);
    for (int a = 0; a < 3; a++) {
        if (motion->kind == MPM_MOTION_LINEAR)
            pose.displacement[a] = time * motion->vector[a];
        if (motion->kind == MPM_MOTION_SINUSOID)
            pose.displacement[a] = motion->vector[a] * sin(2 * PI * motion->frequency * time);
        rotation[a] = time * motion->vector[a];
    }
    if (motion->kind == MPM_MOTION_ROTATION)
        set_rotation(&pose, rotation);
    return pose;
}

static double distance(const double a[3], const double b[3])
{
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return sqrt(x * x + y * y + z * z);
}

/* The part of a rotation that poses do not show: they differ by at most half a revolution. */
static double hidden(double angle)
{
    return angle < PI ? 0 : angle;
}

/* The angle between two rotations is at most the distance of their rotation vectors. */
static mpm_excursion keyframe_excursion(const mpm_motion *motion, double time, double dt)
{
    double from[6], to[6];
    size_t key = keyframe_values(motion, time, from);
    keyframe_values(motion, time + dt, to);
    mpm_excursion most = {0, hidden(distance(from + 3, to + 3))};
    for (; key < motion->key_count && motion->keys[MPM_KEYFRAME * key] < time + dt; key++) {
        const double *values = motion->keys + MPM_KEYFRAME * key + 1;
        most.distance = fmax(most.distance, distance(from, values));
        most.angle = fmax(most.angle, distance(from + 3, values + 3));
    }
    return most;
}

mpm_excursion mpm_motion_excursion(const mpm_motion *motion, double time, double dt)
{
    static const double nowhere[3];
    const double size = distance(motion->vector, nowhere);
    if (has_keys(motion))
        return keyframe_excursion(motion, time, dt);
    if (motion->kind == MPM_MOTION_ROTATION)
        return (mpm_excursion){0, hidden(size * dt)};
    if (motion->kind != MPM_MOTION_SINUSOID)
        return (mpm_excursion){0};
    /* Crests lie at a quarter of a period, troughs at three quarters. */
    const double from = motion->frequency * time, to = motion->frequency * (time + dt), s = sin(2 * PI * from);
    const double crest = floor(to - 0.25) > floor(from - 0.25) ? 1 - s : 0;
    const double trough = floor(to - 0.75) > floor(from - 0.75) ? 1 + s : 0;
    return (mpm_excursion){size * fmax(crest, trough), 0};
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
