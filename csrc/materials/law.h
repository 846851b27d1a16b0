/* SPDX-License-Identifier: MIT
 *
 * The functions of a constitutive law. A law is written once, on `wide` (one particle per lane): the transfer kernels
 * inline it, and `material.stress(F)` in Python calls the same code.
 *
 * A law `x` is the file x.h with
 *
 *     struct x_parameters  what a user gives, by name
 *     x_row                its row of the registry (row.h): parameters, history, conditions, paper
 *
 * and, for kernels alone (#ifdef MPM_DIM),
 *
 *     struct x             its prepared parameters
 *     x_prepare(parameters)
 *     x_evaluate(law, state, velocity_gradient)
 *
 * and one line in laws.h. An inelastic law has also
 *
 *     x_return_map(law, &state, dt, velocity_gradient)
 *
 * It brings a trial F beyond the yield surface back onto it, advances the history by the step dt, and returns the lanes
 * whose history it limited. The sweep calls it right after it has advanced F. So x_evaluate is a function of the stored
 * state, which is on or within the yield surface.
 *
 * An isotropic law that can take implicit steps has
 *
 *     x_tangent(law, stretch, &state)
 *
 * the derivatives of its energy by the principal stretches of a trial F. `state` is that of the beginning of the step:
 * its history stays as it is during the step. Where the tangent includes the return map, it is
 *
 *     x_tangent(law, stretch, &state, dt)
 *
 * with the derivatives of the stress after the return map (flow_tangent.h). A law with axes of its own, which are not
 * those of F, has
 *
 *     x_moduli(law, &trial, &moduli)
 *
 * with the derivatives of the stress by the components of a gradient (moduli.h).
 *
 * An elastic law may have
 *
 *     x_piola(law, F)
 *
 * for methods that need P(F) itself. Laws that are finite at det F <= 0 have it, so that inverted elements recover.
 */
#pragma once
#include "materials/bounds.h"
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

/** The first Piola-Kirchhoff stress of an elastic law. */
struct law_piola {
    matrix P;     /* dPsi/dF [Pa] */
    wide energy;  /* Psi [J/m3] */
    wide modulus; /* an upper bound of u g^T : d2Psi/dF2 : u g^T over unit vectors u, g [Pa]; lambda + 2 mu at rest */
};

enum { LAW_PAIRS = DIM * (DIM - 1) / 2 };
#define LAW_PAIR(i, j) ((i) + (j)-1) /* of principal directions i < j */

/** Derivatives of an energy Psi by the principal stretches e_i of F = U e V^T, in the convention of math/singular.h.
 *  Laws begin with an initialiser, which leaves the other members 0. A stress after a return map need not have an
 *  energy: then Psi_i are the stresses tau_i/e_i, and Psi_ij the symmetric part of their derivatives. */
struct law_tangent {
    wide energy;            /* Psi [J/m3]; infinite where the law has no energy */
    wide first[DIM];        /* Psi_i [Pa], so that P = U diag(Psi_i) V^T */
    wide second[DIM][DIM];  /* Psi_ij [Pa] */
    wide minus[LAW_PAIRS];  /* (Psi_i - Psi_j)/(e_i - e_j) [Pa], in a form without 0/0 */
    wide plus[LAW_PAIRS];   /* (Psi_i + Psi_j)/(e_i + e_j) [Pa], likewise */
    wide viscosity;         /* eta J [Pa s]: tau gains eta J (grad v + grad v^T - 2/3 tr(grad v) I) */
};

/** A trial F of a step. */
struct law_trial {
    matrix F;
    const struct law_state *begin; /* the state at the beginning of the step */
    wide dt;
    bool derives, projects; /* whether to find the moduli, and to make them positive semi-definite */
};

/** A symmetric matrix over d^2 components, row by row as far as the diagonal. Component (i, j) is number i d + j. */
enum { LAW_MODULI = DIM * DIM * (DIM * DIM + 1) / 2 };
#define LAW_MODULUS(e, f) ((e) * ((e) + 1) / 2 + (f)) /* of components e >= f */

/** The stress after the return map at a trial F and its derivative. With F^n that of the beginning of the step, and the
 *  gradient G of a change dF = G F^n: */
struct law_moduli {
    wide energy, viscosity;  /* as of a law_tangent */
    matrix force;            /* P F^nT [Pa] */
    wide packed[LAW_MODULI]; /* the symmetric part of its derivative by G [Pa] */
};

/** The moduli times a gradient. */
INLINE matrix law_moduli_apply(const wide packed[LAW_MODULI], matrix G)
{
    matrix A = matrix_scale(wide_set(0), G);
    UNROLL for (int e = 0; e < DIM * DIM; e++)
        UNROLL for (int f = 0; f <= e; f++) {
            const wide entry = packed[LAW_MODULUS(e, f)];
            A.m[f / DIM][f % DIM] = wide_fma(entry, G.m[e / DIM][e % DIM], A.m[f / DIM][f % DIM]);
            if (f < e)
                A.m[e / DIM][e % DIM] = wide_fma(entry, G.m[f / DIM][f % DIM], A.m[e / DIM][e % DIM]);
        }
    return A;
}

/** J = prod e_i, its derivatives dJ/de_i, and d2J/de_i de_j for i < j: all products, no quotients. */
struct law_volume {
    wide J, first[DIM], second[LAW_PAIRS];
};

INLINE struct law_volume law_volume_of(const wide e[DIM])
{
    struct law_volume v;
#if DIM == 2
    v.J = e[0] * e[1];
    v.first[0] = e[1];
    v.first[1] = e[0];
    v.second[0] = wide_set(1);
#else
    UNROLL for (int i = 0; i < 3; i++)
        v.first[i] = e[(i + 1) % 3] * e[(i + 2) % 3];
    UNROLL for (int i = 0; i < 3; i++)
        UNROLL for (int j = i + 1; j < 3; j++)
            v.second[LAW_PAIR(i, j)] = e[3 - i - j];
    v.J = v.first[0] * e[0];
#endif
    return v;
}

/** Adds a part U(J) of the energy, given its first two derivatives by J. */
INLINE void law_add_volumetric(struct law_tangent *t, const struct law_volume *v, wide dU, wide ddU)
{
    UNROLL for (int i = 0; i < DIM; i++) {
        t->first[i] = wide_fma(dU, v->first[i], t->first[i]);
        t->second[i][i] = wide_fma(ddU * v->first[i], v->first[i], t->second[i][i]);
        UNROLL for (int j = i + 1; j < DIM; j++) {
            const wide bend = dU * v->second[LAW_PAIR(i, j)]; /* dJ/de_i - dJ/de_j = -(e_i - e_j) d2J */
            t->second[i][j] = t->second[j][i] =
                t->second[i][j] + wide_fma(ddU * v->first[i], v->first[j], bend);
            t->minus[LAW_PAIR(i, j)] -= bend;
            t->plus[LAW_PAIR(i, j)] += bend;
        }
    }
}

/** The nearest number that products with zeros and sums leave a number, also if the argument is infinite. NaN stays. */
INLINE wide law_bounded(wide a)
{
    const wide bound = wide_set((real)MPM_LARGEST_STRESS(REAL_IS_FLOAT));
    return wide_max(-bound, wide_min(bound, a));
}

/** An upper bound of the largest eigenvalue of D + off (1 1^T - I), where D is diagonal with largest element
 *  `diagonal`. It is exact if all elements of D are equal. The two candidates are the volumetric and the deviatoric
 *  mode. The difference of infinite ones is no number; then the result is `diagonal`. */
INLINE wide law_isolated_modulus(wide diagonal, wide off)
{
    return wide_max(wide_max(diagonal + wide_set(DIM - 1) * off, diagonal - off), diagonal);
}

/** The equivalent plastic strain over |dev e| of the strain that flows: sqrt(2/3). */
#define PLASTIC_SHEAR ((real)0.81649658092772603)

/** The symmetric tensor of a history, from its first component, and its way back. */
INLINE matrix law_symmetric(const wide *history)
{
    matrix a;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++)
            a.m[i][j] = a.m[j][i] = *history++;
    return a;
}

INLINE void law_keep_symmetric(wide *history, matrix a)
{
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++)
            *history++ = a.m[i][j];
}

INLINE wide lame_mu(double E, double nu)
{
    return wide_set((real)(E / (2 * (1 + nu))));
}

INLINE wide lame_lambda(double E, double nu)
{
    return wide_set((real)(E * nu / ((1 + nu) * (1 - 2 * nu))));
}
