/* SPDX-License-Identifier: MIT
 *
 * The motion of a rigid body in a step, from sums over its particles.
 *
 *     P = sum m v,  L = sum m (r cross v + D eps:C),  I = sum m (r^2 - r r^T) + 2 D M   r = x - c, c the centre of mass
 *     V = P/M,  c' = c + dt V
 *     Q = exp(dt W),  W = I^-1 (L + Q^T L)/2                        the rotation of the step
 *     w = Q I^-1 Q^T L                                              the spin after it
 *
 * D is the second moment of the kernel where C is a velocity. W is the implicit midpoint rule in the frame of the body,
 * as of Simo and Wong (1991). Any such Q keeps L and the energy w.I w/2: in that frame L changes by Q^T L - L, which is
 * normal to W. With the exponential instead of Cayley's map, a body that spins about a principal axis turns by exactly
 * dt w.
 */
#pragma once
#include "base/vector.h"
#include "mpm/state.h"

/* The body of a material, as its sums and the settings tell. */
typedef struct mpm_body {
    double mass, centre[3], momentum[3], spin[3] /* L, about the centre */, inverse[3][3] /* of I */;
} mpm_body;

mpm_body mpm_rigid_motion_body(const mpm_settings *settings, const mpm_rigid_sums *sums);

/* The motion in a step of size dt. */
void mpm_rigid_motion_find(const mpm_body *body, double dt, mpm_rigid_body *motion);

/* Where a particle lies [m]: from the origin of its body, by its nearest image, and in the domain. */
typedef struct mpm_rigid_place {
    double in_body[3], in_domain[3];
} mpm_rigid_place;

/* Finds where the particle in a slot of a group lies. It lacks its remainder, less than a millionth of a cell. Returns
 * false for an empty slot. */
bool mpm_rigid_motion_place(mpm_rigid_place *place, const mpm_simulation *simulation, const mpm_rigid_body *motion,
                            const mpm_group *group, size_t slot);

/* Where the step takes a place less that place [m]. */
static inline void mpm_rigid_motion_displace(double moved[3], const mpm_rigid_body *motion, const double at[3])
{
    double r[3], turned[3];
    for (int a = 0; a < 3; a++)
        r[a] = at[a] - motion->centre[a];
    mpm_multiply3(turned, motion->turn, r);
    for (int a = 0; a < 3; a++)
        moved[a] = motion->shift[a] + turned[a];
}

/* A corner of the box around particles. Displacements are linear in the place, so they are extreme at corners. */
static inline void mpm_rigid_motion_corner(double at[3], const mpm_rigid_sums *sums, int corner)
{
    for (int a = 0; a < 3; a++)
        at[a] = corner >> a & 1 ? sums->highest[a] : sums->lowest[a];
}
