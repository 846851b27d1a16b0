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
