/* SPDX-License-Identifier: MIT
 *
 * The collision rule, the same for nodes and particles (Stomakhin et al., ACM Trans. Graph. 32 (2013) 102, section 8).
 *
 *     v_rel = v - v_surface,  v_n = v_rel . n,  v_t = v_rel - v_n n,  n: outward normal
 *     sticky     v_rel = 0
 *     slip       v_n = 0, both ways
 *     separate   v_n < 0 is removed; v_n >= 0 leaves everything as it is
 *
 * Where v_n < 0 was removed, Coulomb friction reduces |v_t| by mu |v_n|; a smaller |v_t| becomes 0.
 */
#pragma once
#include <math.h>
#include <stdbool.h>

#include "contact/walls.h"

/** Applies the rule to the velocity `v` of a point within a body whose surface moves with `surface`. All in m/s. */
static inline void mpm_collision_apply(double v[3], const double surface[3], const double n[3], mpm_contact contact,
                                       double friction)
{
    double relative[3], normal = 0, tangent2 = 0, kept = contact == MPM_STICKY ? 0 : 1;
    for (int a = 0; a < 3; a++) {
        relative[a] = v[a] - surface[a];
        normal += relative[a] * n[a];
    }
    if (contact == MPM_SEPARATE && normal >= 0)
        return;
    for (int a = 0; a < 3; a++) {
        relative[a] -= normal * n[a];
        tangent2 += relative[a] * relative[a];
    }
    if (friction > 0 && normal < 0 && contact != MPM_STICKY) {
        const double tangent = sqrt(tangent2), lost = -friction * normal;
        kept = tangent > lost ? 1 - lost / tangent : 0;
    }
    for (int a = 0; a < 3; a++)
        v[a] = surface[a] + kept * relative[a];
}

/** Applies the walls of the faces that hold a point (bit 2 axis, and that + 1 for the upper face) to its velocity v
 *  [m/s]: all at once, so that the order of the axes does not matter. First the normal velocities are removed, then the
 *  friction of all walls acts against what is left. A mirror slips; periodic faces must not hold. */
static inline void mpm_collision_apply_walls(double v[3], const mpm_wall walls[6], unsigned held)
{
    double left[3] = {v[0], v[1], v[2]}, lost = 0, tangent2 = 0, kept = 1;
    bool touched = false;
    for (; held; held &= held - 1) {
        const int face = __builtin_ctz(held), a = face / 2;
        const double normal = face % 2 ? -v[a] : v[a];
        const mpm_contact contact = walls[face].contact;
        if (contact == MPM_SEPARATE && normal >= 0)
            continue;
        touched = true;
        left[a] = 0;
        kept = contact == MPM_STICKY ? 0 : kept;
        lost += walls[face].friction > 0 && normal < 0 && contact != MPM_MIRROR ? -walls[face].friction * normal : 0;
    }
    if (!touched)
        return;
    if (lost > 0 && kept > 0) {
        for (int a = 0; a < 3; a++)
            tangent2 += left[a] * left[a];
        const double tangent = sqrt(tangent2);
        kept = tangent > lost ? 1 - lost / tangent : 0;
    }
    for (int a = 0; a < 3; a++)
        v[a] = 0 + kept * left[a]; /* no -0 */
}

/** The heat of friction that a point gets from walls that have turned its velocity `before` into `after` [J/kg]: the
 *  tangential impulse times the slip that is left, as mpm_contacts_heat. Walls share it by their friction. */
static inline double mpm_collision_walls_heat(const double before[3], const double after[3], const mpm_wall walls[6],
                                              unsigned held)
{
    double lost = 0, given = 0, work = 0;
    for (; held; held &= held - 1) {
        const int face = __builtin_ctz(held), a = face / 2;
        const double normal = face % 2 ? -before[a] : before[a];
        const double most = normal < 0 ? -walls[face].friction * normal : 0;
        lost += most;
        given += walls[face].friction_heat * most;
    }
    for (int a = 0; a < 3 && given > 0; a++)
        work += (before[a] - after[a]) * after[a]; /* along the normals, nothing is left */
    return given > 0 && work > 0 ? given / lost * work : 0;
}
