/* SPDX-License-Identifier: MIT */
#include "math/newton.h"

#include <math.h>

enum {
    MOST_HALVINGS = 12,
    FIRST_HALVINGS = 2 /* of the initial model, which need not be a model of the energy near v */
};

static const double FORCING = 0.1;      /* of a linear solve, relative to the residual */
static const double LAST_FORCING = 0.5; /* relative to the tolerance: no solve needs to be more exact */
static const double PROJECTED = 0.05;   /* relative residual above which the tangent is projected */
static const double NOISE = 40;         /* a search that fails within so many floors has stagnated */

static double unit_of(const mpm_newton_problem *problem, double reference)
{
    return problem->unit > 0 ? problem->unit : reference;
}

static bool is_better(const mpm_newton_problem *problem, const mpm_newton_point *point, const mpm_newton_point *before)
{
    if (!isfinite(point->residual) || !isfinite(point->energy))
        return false;
    if (point->residual < (1 - 1e-4) * before->residual || !isfinite(before->energy))
        return true;
    if (problem->lacks_energy)
        return point->slope < 0;
    return point->energy < before->energy - problem->energy_rounding * fabs(before->energy);
}

/* Halves the step until the point is better. Returns whether one was found. */
static bool search(const mpm_newton_problem *problem, int most, mpm_newton_point *point, mpm_newton *result)
{
    double step = 1;
    for (int halvings = 0; halvings <= most; halvings++, step /= 2) {
        const mpm_newton_point found = problem->evaluate(problem->self, step);
        if (is_better(problem, &found, point)) {
            problem->accept(problem->self);
            *point = found;
            return true;
        }
        result->backtracks++;
    }
    return false;
}

/* Solves one linear system and searches along its solution. Returns whether a better point was found. Where the energy
 * of the first point is infinite, the residual of the linear system becomes the reference. */
static bool improve(const mpm_newton_problem *problem, mpm_newton_model model, double *reference,
                    mpm_newton_point *point, mpm_newton *result)
{
    const bool initial = model == MPM_NEWTON_INITIAL;
    const mpm_krylov_residual residual = problem->linearize(problem->self, model);
    if (!isfinite(residual.norm2))
        return false;
    if (!isfinite(*reference))
        *reference = sqrt(residual.norm2);
    const double last = LAST_FORCING * problem->tolerance * unit_of(problem, *reference);
    const double target = initial ? last : fmax(FORCING * sqrt(residual.norm2), last);
    const mpm_krylov krylov = mpm_krylov_solve(&problem->system, residual, target * target, problem->most_products);
    result->products += krylov.products;
    return krylov.products > 0 && search(problem, initial ? FIRST_HALVINGS : MOST_HALVINGS, point, result);
}

double mpm_newton_solve(const mpm_newton_problem *problem, double reference, bool initial, mpm_newton *result)
{
    mpm_newton_point point = problem->evaluate(problem->self, 0);
    *result = (mpm_newton){.end = MPM_NEWTON_FAILED};
    if (!(reference > 0))
        reference = point.residual;
    for (int k = 0;; k++) {
        const double unit = unit_of(problem, reference), goal = problem->tolerance * unit;
        result->iterations = k;
        result->residual[k] = !isfinite(point.residual) ? 1 : unit > 0 ? point.residual / unit : 0;
        if (isfinite(point.residual) && point.residual <= fmax(goal, problem->floor)) {
            result->end = point.residual <= goal || (k == 0 && initial) ? MPM_NEWTON_CONVERGED /* nothing moves */
                                                                        : MPM_NEWTON_STAGNATED;
            return reference;
        }
        if (k == problem->most)
            return reference;
        /* The initial model does not see every stress: that of a rigid rotation, for one. */
        if (k == 0 && initial && improve(problem, MPM_NEWTON_INITIAL, &reference, &point, result))
            continue;
        const bool far = !(point.residual <= PROJECTED * reference);
        if (!improve(problem, far ? MPM_NEWTON_PROJECTED : MPM_NEWTON_EXACT, &reference, &point, result)) {
            result->end = point.residual > NOISE * problem->floor ? MPM_NEWTON_FAILED
                          : k == 0 && initial                     ? MPM_NEWTON_CONVERGED
                                                                  : MPM_NEWTON_STAGNATED;
            return reference;
        }
    }
}
