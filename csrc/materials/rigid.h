/* SPDX-License-Identifier: MIT
 *
 * A rigid body. All of its particles move as one (mpm/kernels/rigid.h), so F is a rotation, and there is neither stress
 * nor energy. Particles neither scatter nor gather: a body touches others with the points of its surface (rigid/).
 *
 *     F = U S V^T -> U V^T                     return map: what rounding leaves of a stretch
 */
#pragma once
#include "materials/row.h"

#define RIGID_PARAMETERS(P) \
    P(friction, "1", NOT_NEGATIVE, "Coulomb's coefficient against deformable and rigid bodies") \
    P(restitution, "1", 0, 1, false, false, "Newton's coefficient of impacts of rigid bodies on each other") \
    P(hold, "1", 0, 2, false, false, "how deformable bodies touch it: separate, slip, bonded") \
    P(density, "kg/m3", POSITIVE, "density")

struct rigid_parameters { RIGID_PARAMETERS(MPM_MEMBER) };

MPM_ROW(rigid,
    .name = "rigid", .rigid = true, .J_low = 0.5, .J_high = 2, MPM_ROW_PARAMETERS(rigid, RIGID_PARAMETERS),
    .fields = 4,
    .field = {
        {"rest", "m", MPM_VECTOR, .low = -INFINITY, .high = INFINITY,
         .meaning = "place in the body, whose frame is that of the domain when it was added"},
        {"x_remainder", "1", MPM_VECTOR, .low = -1e-5, .high = 1e-5,
         .meaning = "what rounding has taken from the position, in cells"},
        {"surface_point", "1", MPM_SCALAR, .low = 0, .high = 1 << 24, .closed = true,
         .meaning = "number of the point of the surface whose force the particle keeps; 0: none"},
        {"contact_force", "N", MPM_VECTOR, .low = -INFINITY, .high = INFINITY,
         .meaning = "of walls, colliders and rigid bodies at that point, in the last step"},
    },
    .reference = "J. C. Simo, K. K. Wong, Unconditionally stable algorithms for rigid body dynamics that exactly "
                 "preserve energy and momentum, International Journal for Numerical Methods in Engineering 31 "
                 "(1991) 19-52. doi:10.1002/nme.1620310103")

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"

enum { RIGID_REST, RIGID_REMAINDER = DIM, RIGID_POINT = 2 * DIM, RIGID_FORCE }; /* first indices in the history */

struct rigid {
    char unused;
};

INLINE struct rigid rigid_prepare(const struct rigid_parameters *p)
{
    (void)p;
    const struct rigid law = {0};
    return law;
}

INLINE mask rigid_return_map(const struct rigid *law, struct law_state *state, wide dt, matrix velocity_gradient)
{
    (void)law, (void)dt, (void)velocity_gradient;
    state->F = polar_rotation(state->F);
    return wide_less(wide_set(1), wide_set(0)); /* no lane */
}

INLINE struct law_evaluation rigid_evaluate(const struct rigid *law, struct law_state state, matrix velocity_gradient)
{
    (void)law, (void)state, (void)velocity_gradient;
    const wide zero = wide_set(0);
    const struct law_evaluation evaluation = {.tau = matrix_scale(zero, matrix_identity()), .tau_zz = zero,
                                              .energy = zero, .isolated = zero, .wave = zero, .damping = zero};
    return evaluation;
}
#endif
