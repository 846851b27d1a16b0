/* SPDX-License-Identifier: MIT
 *
 * The faces of the domain as contact conditions on nodes.
 *
 *     v_n = v . n, n into the domain;  v_t = v - v_n n
 *     sticky     v = 0
 *     slip       v_n = 0, both ways
 *     separate   v_n < 0 is removed, v_n >= 0 stays
 *     mirror     the face is a plane of symmetry: nodes beyond it are images of those before it
 *     periodic   both faces of the axis are one
 *
 * With Coulomb friction mu the tangential velocity loses mu times the normal velocity that was pressed into the
 * wall, and sticks when that is all of it.
 *
 * The first three act on each node at and beyond the face alone. At a mirror and at periodic faces what the nodes
 * have collected is first added over their images (state/images.h): momentum whose normal component changes sign
 * under the mirror, so that v_n = 0 on the plane, v_t(-i) = v_t(i) and v_n(-i) = -v_n(i). Particles do not cross a
 * mirror; at periodic faces they come in again at the other side.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef enum mpm_contact { MPM_STICKY, MPM_SLIP, MPM_SEPARATE, MPM_MIRROR, MPM_PERIODIC } mpm_contact;

typedef struct mpm_wall {
    mpm_contact contact;
    double friction; /* Coulomb coefficient mu >= 0 of slip and separate walls; unused by the others */
} mpm_wall;

/** Is `axis` periodic? Both of its faces must be; the lower one is asked. */
static inline bool mpm_walls_periodic(const mpm_wall walls[6], int axis)
{
    return walls[2 * axis].contact == MPM_PERIODIC;
}

/** Cells after which an axis repeats itself, 0 if it does not. */
static inline int64_t mpm_walls_period(const mpm_wall walls[6], int axis, int64_t cells)
{
    return mpm_walls_periodic(walls, axis) ? cells : 0;
}
