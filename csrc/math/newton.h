/* SPDX-License-Identifier: MIT
 *
 * Newton's method with inexact linear solves and step halving, for the minimum of an energy. The vectors belong to the
 * method: v is the current point, x the correction of the linear solve.
 *
 * Where the forces have no energy, a point is better if the residual still descends along the step, r x < 0: of a
 * convex energy, its minimum along the step would lie beyond.
 *
 * The linear system of the first iteration is that of the beginning of the step, with the forces linear in v: far from
 * the solution it is a better model than the tangent at v. Later systems are made positive semi-definite while the
 * residual is large (J. Teran, E. Sifakis, G. Irving, R. Fedkiw, Robust quasistatic finite elements and flesh
 * simulation, SCA 2005), and solved to a tenth of the residual (R. S. Dembo, S. C. Eisenstat, T. Steihaug, Inexact
 * Newton methods, SIAM J. Numer. Anal. 19 (1982) 400-408).
 */
#pragma once
#include "math/krylov.h"

enum { MPM_NEWTON_MOST = 200 }; /* iterations */

/** The energy and the norm of the residual at a point; not finite where the energy is not. */
typedef struct mpm_newton_point {
    double energy, residual;
    double slope; /* residual times the correction, x; where there is no energy, for step > 0 */
} mpm_newton_point;

typedef enum mpm_newton_model { MPM_NEWTON_INITIAL, MPM_NEWTON_PROJECTED, MPM_NEWTON_EXACT } mpm_newton_model;

typedef struct mpm_newton_problem {
    void *self; /* the argument of the functions, and of those of `system` */
    mpm_linear_system system;
    /** At v + step x; at v itself for step 0. */
    mpm_newton_point (*evaluate)(void *self, double step);
    /** Makes the linear system for the correction of v. */
    mpm_krylov_residual (*linearize)(void *self, mpm_newton_model model);
    /** v becomes the point that was evaluated last. */
    void (*accept)(void *self);
    double tolerance;       /* of the residual, relative to `unit` */
    double unit;            /* the residual that counts as 1; 0: the first one */
    double floor;           /* the residual that rounding alone leaves */
    double energy_rounding; /* relative rounding error of the energy */
    bool lacks_energy;      /* `energy` only tells whether a point is finite */
    int most;               /* iterations, at most MPM_NEWTON_MOST */
    int64_t most_products;  /* of one linear solve */
} mpm_newton_problem;

typedef enum mpm_newton_end { MPM_NEWTON_CONVERGED, MPM_NEWTON_STAGNATED, MPM_NEWTON_FAILED } mpm_newton_end;

typedef struct mpm_newton {
    mpm_newton_end end; /* stagnated: rounding hides what is left of the residual, which exceeds the tolerance */
    int iterations, backtracks;
    int64_t products;
    double residual[MPM_NEWTON_MOST + 1]; /* relative, before the first and after every iteration */
} mpm_newton;

/** Solves. `reference` is the first residual; 0: that of this call's first point. `initial`: begin with
 *  MPM_NEWTON_INITIAL. Returns the reference. */
double mpm_newton_solve(const mpm_newton_problem *problem, double reference, bool initial, mpm_newton *result);
