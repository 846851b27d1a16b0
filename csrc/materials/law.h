/* SPDX-License-Identifier: MIT
 *
 * The functions of a constitutive law. A law is written once, on `wide` (one particle per lane): the transfer kernels
 * inline it, and `material.stress(F)` in Python calls the same code.
 *
 * A law `x` is the file x.h with
 *
 *     struct x             its prepared parameters
 *     x_prepare(values)    from the user's parameters, in the order of its row in laws.h
 *     x_evaluate(law, state, velocity_gradient)
 *
 * one line in laws.h and one row in law_rows.h. An inelastic law has also
 *
 *     x_return_map(law, &state, dt, velocity_gradient)
 *
 * It brings a trial F beyond the yield surface back onto it, advances the history by the step dt, and returns the lanes
 * whose history it limited. The sweep calls it right after it has advanced F. So x_evaluate is a function of the stored
 * state, which is on or within the yield surface.
 */
#pragma once
#include "materials/laws.h"
#include "math/elementary.h"
#include "math/matrix.h"
#include "math/polar.h"

/** The state of a particle: F or J, and the components of the history that the row of its law declares. */
struct law_state {
    matrix F;
    wide J; /* det F; the state itself for laws that keep J */
    wide history[MPM_LAW_HISTORY];
};

/** The evaluation of a law at one state, for the step, the totals and the time-step control. The functions are inlined,
 *  so unused members cost nothing. */
struct law_evaluation {
    matrix tau;    /* Kirchhoff stress P F^T = J sigma [Pa], exactly symmetric */
    wide tau_zz;   /* out-of-plane component in plane strain (2-D) [Pa] */
    wide energy;   /* per rest volume [J/m3], 0 at rest */
    wide isolated; /* modulus of one particle alone: the largest curvature of the energy along F <- (I + s A) F
                    * over diagonal A with |A| = 1 [Pa]; 2 mu + d lambda at rest */
    wide wave;     /* longitudinal modulus of the current state, J rho c^2 [Pa]; lambda + 2 mu at rest */
    wide damping;  /* viscosity in the bound of the time step: 2 d eta J [Pa s] */
};

/** An upper bound of the largest eigenvalue of D + off (1 1^T - I), where D is diagonal with largest element
 *  `diagonal`. It is exact if all elements of D are equal. The two candidates are the volumetric and the deviatoric
 *  mode. */
INLINE wide law_isolated_modulus(wide diagonal, wide off)
{
    return wide_max(diagonal + wide_set(DIM - 1) * off, diagonal - off);
}

INLINE wide lame_mu(double E, double nu)
{
    return wide_set((real)(E / (2 * (1 + nu))));
}

INLINE wide lame_lambda(double E, double nu)
{
    return wide_set((real)(E * nu / ((1 + nu) * (1 - 2 * nu))));
}
