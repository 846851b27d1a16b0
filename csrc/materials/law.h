/* SPDX-License-Identifier: MIT
 *
 * What a constitutive law answers. A law is written once, on `wide` (one particle per lane): the transfer
 * kernels inline it, and `material.stress(F)` in Python calls the same lines.
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
 * which brings a trial F that is beyond the yield surface back onto it, advances the history by the step dt, and returns
 * the lanes whose history it had to hold within limits. The step calls it right after it has advanced F, so that x_evaluate
 * sees states on or within the yield surface only, and is a function of the stored state.
 */
#pragma once
#include "materials/laws.h"
#include "math/elementary.h"
#include "math/matrix.h"
#include "math/polar.h"

/** What a particle carries: F or J, and the history that the row of its law declares, component after component. */
struct law_state {
    matrix F;
    wide J; /* det F; the state itself for laws that keep J */
    wide history[MPM_LAW_HISTORY];
};

/** A law at one state: what the step, the totals and the time-step control need. Unused members cost nothing: the
 *  functions are inlined. */
struct law_evaluation {
    matrix tau;    /* Kirchhoff stress P F^T = J sigma [Pa], exactly symmetric */
    wide tau_zz;   /* out-of-plane component in plane strain (2-D) [Pa] */
    wide energy;   /* per rest volume [J/m3], 0 at rest */
    wide isolated; /* modulus of one particle alone: the largest curvature of the energy along F <- (I + s A) F,
                    * |A| = 1, on diagonal A [Pa]; 2 mu + d lambda at rest */
    wide wave;     /* longitudinal modulus of the current state, J rho c^2 [Pa]; lambda + 2 mu at rest */
    wide damping;  /* viscosity as it enters the bound: 2 d eta J [Pa s] */
};

/** Largest eigenvalue of D + off (1 1^T - I), D diagonal with largest element `diagonal`: an upper bound, exact
 *  when all elements of D are equal. The two candidates are the volumetric and the deviatoric mode. */
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
