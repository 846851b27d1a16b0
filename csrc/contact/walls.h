/* SPDX-License-Identifier: MIT
 *
 * The faces of the domain as contact conditions on nodes.
 *
 *     v_n = v . n, n into the domain;  v_t = v - v_n n
 *     sticky     v = 0
 *     slip       v_n = 0, both ways
 *     separate   v_n < 0 is removed, v_n >= 0 stays
 *
 * With Coulomb friction mu the tangential velocity loses mu times the normal velocity that was pressed into the
 * wall, and sticks when that is all of it.
 */
#pragma once

typedef enum mpm_contact { MPM_STICKY, MPM_SLIP, MPM_SEPARATE } mpm_contact;

typedef struct mpm_wall {
    mpm_contact contact;
    double friction; /* Coulomb coefficient mu >= 0; unused by sticky walls */
} mpm_wall;
