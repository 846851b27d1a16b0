/* SPDX-License-Identifier: MIT
 *
 * A rigid body. All of its particles move as one (mpm/kernels/rigid.h), so F is a rotation, and there is no energy.
 *
 *     F = U S V^T -> U V^T                     return map: what rounding leaves of a stretch
 *     tau = R_s                                the reaction: the stress that the body needs to stay rigid
 *
 * The reaction is the Lagrange multiplier of sym grad v = 0. A step adds to it what is proportional to the strain rate
 * that the nodes would give the particle (Uzawa's iteration, one per step); see mpm/kernels/rigid.h.
 */
#pragma once
#include "materials/row.h"

#define RIGID_PARAMETERS(P) \
    P(density, "kg/m3", POSITIVE, "density")

struct rigid_parameters { RIGID_PARAMETERS(MPM_MEMBER) };

static const mpm_law rigid_row = {
    .name = "rigid", .rigid = true, .J_low = 0.5, .J_high = 2, MPM_ROW_PARAMETERS(rigid, RIGID_PARAMETERS),
    .fields = 2,
    .field = {
        {"reaction", "Pa", MPM_SYMMETRIC, .low = -INFINITY, .high = INFINITY,
         .meaning = "stress that keeps the body rigid where others touch it"},
        {"x_remainder", "1", MPM_VECTOR, .low = -1e-5, .high = 1e-5,
         .meaning = "what rounding has taken from the position, in cells"},
    },
    .reference = "J. C. Simo, K. K. Wong, Unconditionally stable algorithms for rigid body dynamics that exactly "
                 "preserve energy and momentum, International Journal for Numerical Methods in Engineering 31 "
                 "(1991) 19-52. doi:10.1002/nme.1620310103",
};

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"

enum { RIGID_REACTION, RIGID_REMAINDER = DIM * (DIM + 1) / 2 }; /* first indices in the history */

struct rigid {
    char unused;
};

INLINE struct rigid rigid_prepare(const struct rigid_parameters *p)
{
    (void)p;
    return (struct rigid){0};
}

INLINE mask rigid_return_map(const struct rigid *law, struct law_state *state, wide dt, matrix velocity_gradient)
{
    (void)law, (void)dt, (void)velocity_gradient;
    state->F = polar_rotation(state->F);
    return wide_less(wide_set(1), wide_set(0)); /* no lane */
}

/* No modulus: the reaction is as stiff as the step allows, and so it does not bound the step. */
INLINE struct law_evaluation rigid_evaluate(const struct rigid *law, struct law_state state, matrix velocity_gradient)
{
    (void)law, (void)velocity_gradient;
    const wide zero = wide_set(0);
    return (struct law_evaluation){.tau = law_symmetric(&state.history[RIGID_REACTION]), .tau_zz = zero,
                                   .energy = zero, .isolated = zero, .wave = zero, .damping = zero};
}
#endif
