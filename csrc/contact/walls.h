/* SPDX-License-Identifier: MIT
 *
 * The faces of the domain as contact conditions on nodes.
 *
 *     v_n = v . n, n into the domain;  v_t = v - v_n n
 *     sticky     v = 0
 *     slip       v_n = 0, both ways
 *     separate   v_n < 0 is removed, v_n >= 0 stays
 *     mirror     the face is a plane of symmetry: nodes beyond it are images of nodes inside
 *     periodic   both faces of the axis coincide
 *     absorbing  dashpots: the traction -rho (c_p v_n, c_s v_t), as if the material went on beyond the face
 *
 * Coulomb friction mu reduces |v_t| by mu times the removed |v_n|, and to 0 if |v_t| is smaller.
 *
 * Dashpots act with the forces, before contacts; see mpm/kernels/grid_damping.h.
 *
 * The first three act on single nodes at and beyond the face. At mirrors and periodic faces, momentum and mass are
 * first added over the images of a node (mpm/memory/images.h). A mirror changes the sign of the normal component, so
 * that v_n = 0 on the plane, v_t(-i) = v_t(i) and v_n(-i) = -v_n(i). Particles do not cross a mirror; a particle that
 * crosses a periodic face enters at the opposite face.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef enum mpm_contact { MPM_STICKY, MPM_SLIP, MPM_SEPARATE, MPM_MIRROR, MPM_PERIODIC, MPM_ABSORBING } mpm_contact;

typedef struct mpm_wall {
    mpm_contact contact;
    double friction; /* Coulomb coefficient mu >= 0 of slip and separate walls; unused by the others */
    double restitution; /* of impacts of rigid bodies, 0 .. 1, of separate walls; unused by the others */
    double speeds[2]; /* of the waves that an absorbing wall lets out: pressure, shear [m/s]; unused by the others */
    double friction_heat; /* share of the heat of friction that the material gets, 0 .. 1 */
} mpm_wall;

/** Does the face hold nodes by itself? Mirrors and periodic faces act by images, absorbing ones by dashpots. */
static inline bool mpm_walls_hold(const mpm_wall *wall)
{
    return wall->contact != MPM_MIRROR && wall->contact != MPM_PERIODIC && wall->contact != MPM_ABSORBING;
}

/** The faces that hold a node at `at`, bits 2 axis and that + 1 for the upper face. */
static inline unsigned mpm_walls_holding(const int64_t *at, int dim, const mpm_wall walls[6], const int64_t cells[3])
{
    unsigned held = 0;
    for (int a = 0; a < dim; a++)
        held |= (at[a] <= 0 ? 1u : 0) << 2 * a | (at[a] >= cells[a] ? 1u : 0) << (2 * a + 1);
    for (unsigned left = held; left; left &= left - 1) {
        const int face = __builtin_ctz(left);
        if (!mpm_walls_hold(&walls[face]))
            held ^= 1u << face;
    }
    return held;
}

/** Is `axis` periodic? Both faces are, or neither, so the lower one tells. */
static inline bool mpm_walls_periodic(const mpm_wall walls[6], int axis)
{
    return walls[2 * axis].contact == MPM_PERIODIC;
}

/** The period of an axis in cells, 0 if it is not periodic. */
static inline int64_t mpm_walls_period(const mpm_wall walls[6], int axis, int64_t cells)
{
    return mpm_walls_periodic(walls, axis) ? cells : 0;
}

/** How the grid continues beyond the faces of one axis. */
typedef struct mpm_symmetry {
    int64_t cells;  /* between the faces, at least 1 */
    bool mirror[2]; /* is the lower, the upper face a plane of symmetry? */
    bool periodic;  /* do both faces coincide? */
} mpm_symmetry;

/** The fate of a particle that leaves through a face. Where there are several, the first of this list holds. */
typedef enum mpm_leave { MPM_LEAVE_RAISE, MPM_LEAVE_DELETE, MPM_LEAVE_CLAMP } mpm_leave;

/** The fate of a particle beyond the faces in `beyond`, bit k for face k of x-, x+, y-, ...; raise where it is beyond
 *  none, because its position is not a number. */
static inline mpm_leave mpm_leave_fate(const mpm_leave on_leave[6], unsigned beyond)
{
    mpm_leave fate = beyond ? MPM_LEAVE_CLAMP : MPM_LEAVE_RAISE;
    for (int face = 0; face < 6; face++)
        if (beyond >> face & 1 && on_leave[face] < fate)
            fate = on_leave[face];
    return fate;
}
