/* SPDX-License-Identifier: MIT */
#include "ode/backward.h"

#include <float.h>
#include <math.h>

static const double TOLERANCE = 1e-13; /* of residuals, relative to the first one */
static const double NUDGE = 2 * DBL_EPSILON;

enum { MOST_ITERATIONS = 50, SPARE_PRODUCTS = 100 };

/* The unknown is v'. Its residual is a momentum, r = M (v - v') + dt f, measured in the norm r M^-1 r. */
struct solve {
    mpm_march *march;
    double t, dt;
    double *v, *trial;       /* v' so far, and one on the line from it along the correction */
    double *x, *f, *r;       /* position, force and residual of the trial */
    double *correction;      /* of v' */
    double *p, *q;           /* search direction of conjugate gradients; its product */
    mpm_status status;       /* the first error of the system */
};

static struct solve begin(mpm_march *march, double t, double dt)
{
    double *const *scratch = march->scratch;
    struct solve s = {.march = march, .t = t, .dt = dt, .v = scratch[0], .trial = scratch[1], .x = scratch[2],
                      .f = scratch[3], .r = scratch[4], .correction = scratch[5], .p = scratch[6], .q = scratch[7]};
    for (ptrdiff_t i = 0; i < march->system->count; i++)
        s.v[i] = march->v[i];
    return s;
}

static void note(struct solve *s, mpm_status status)
{
    if (!s->status)
        s->status = status;
}

static double mass_of(const mpm_system *system, ptrdiff_t i)
{
    return system->inverse_mass[i] > 0 ? 1 / system->inverse_mass[i] : 0;
}

static double norm2(const mpm_system *system, const double *r)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < system->count; i++)
        if (system->inverse_mass[i] > 0)
            sum += r[i] * r[i] * system->inverse_mass[i];
    return sum;
}

static void place(struct solve *s, double step)
{
    const mpm_march *march = s->march;
    for (ptrdiff_t i = 0; i < march->system->count; i++) {
        s->trial[i] = s->v[i] + step * s->correction[i];
        s->x[i] = march->x[i] + s->dt * s->trial[i];
    }
}

static mpm_newton_point evaluate(void *self, double step)
{
    struct solve *s = self;
    const mpm_system *system = s->march->system;
    place(s, step);
    if (!s->status)
        note(s, system->force(system->self, s->x, s->trial, s->t, s->f));
    if (s->status)
        return (mpm_newton_point){.energy = INFINITY, .residual = INFINITY};
    for (ptrdiff_t i = 0; i < system->count; i++)
        s->r[i] = mass_of(system, i) * (s->march->v[i] - s->trial[i]) + s->dt * s->f[i];
    return (mpm_newton_point){.residual = sqrt(norm2(system, s->r))};
}

static void accept(void *self)
{
    struct solve *s = self;
    for (ptrdiff_t i = 0; i < s->march->system->count; i++)
        s->v[i] = s->trial[i];
}

/* p = M^-1 r + b p */
static void redirect(void *self, double b)
{
    struct solve *s = self;
    const mpm_system *system = s->march->system;
    for (ptrdiff_t i = 0; i < system->count; i++)
        s->p[i] = system->inverse_mass[i] > 0 ? system->inverse_mass[i] * s->r[i] + b * s->p[i] : 0;
}

/* The correction is zero, and p = M^-1 r. */
static mpm_krylov_residual begin_correction(struct solve *s)
{
    const mpm_system *system = s->march->system;
    for (ptrdiff_t i = 0; i < system->count; i++)
        s->correction[i] = s->p[i] = 0;
    redirect(s, 0);
    const double size = s->status ? NAN : norm2(system, s->r);
    return (mpm_krylov_residual){.norm2 = size, .preconditioned = size};
}

static mpm_krylov_residual linearize(void *self, mpm_newton_model model)
{
    struct solve *s = self;
    const mpm_system *system = s->march->system;
    (void)model; /* the derivative is what it is: no model is projected */
    if (!s->status)
        note(s, system->linearize(system->self, s->x, s->trial, s->t));
    return begin_correction(s);
}

/* q = (M - dt^2 K - dt D) p */
static double multiply(void *self)
{
    struct solve *s = self;
    const mpm_system *system = s->march->system;
    double product = 0;
    if (!s->status)
        note(s, system->multiply(system->self, s->dt * s->dt, s->dt, s->p, s->q));
    for (ptrdiff_t i = 0; i < system->count; i++) {
        s->q[i] = mass_of(system, i) * s->p[i] - s->q[i];
        product += s->p[i] * s->q[i];
    }
    return s->status ? NAN : product;
}

static mpm_krylov_residual advance(void *self, double a)
{
    struct solve *s = self;
    const mpm_system *system = s->march->system;
    for (ptrdiff_t i = 0; i < system->count; i++) {
        s->correction[i] += a * s->p[i];
        s->r[i] -= a * s->q[i];
    }
    const double size = norm2(system, s->r);
    return (mpm_krylov_residual){.norm2 = size, .preconditioned = size};
}

static mpm_linear_system system_of(struct solve *s)
{
    return (mpm_linear_system){.self = s, .multiply = multiply, .advance = advance, .redirect = redirect};
}

static int64_t most_products(const mpm_system *system)
{
    return 10 * (int64_t)system->count + SPARE_PRODUCTS;
}

/* The residual that rounding leaves: of the terms of the residual, and of the positions, whose last bits, up or down as
 * a hash of their place says, change the force of a stiff system by more. */
static double rounding(struct solve *s)
{
    const mpm_system *system = s->march->system;
    evaluate(s, 0);
    double momentum = 0;
    for (ptrdiff_t i = 0; i < system->count; i++) {
        momentum += mass_of(system, i) * s->v[i] * s->v[i];
        s->r[i] = s->f[i];
        s->x[i] *= 1 + ((uint32_t)i * 2654435761u >> 31 ? NUDGE : -NUDGE);
    }
    const double terms = DBL_EPSILON * (sqrt(momentum) + s->dt * sqrt(norm2(system, s->r)));
    if (!s->status)
        note(s, system->force(system->self, s->x, s->trial, s->t, s->f));
    for (ptrdiff_t i = 0; i < system->count; i++)
        s->r[i] -= s->f[i];
    return terms + s->dt * sqrt(norm2(system, s->r));
}

/* x' = x + dt v', and v'. */
static void finish(struct solve *s)
{
    mpm_march *march = s->march;
    for (ptrdiff_t i = 0; i < march->system->count; i++) {
        march->x[i] += s->dt * s->v[i];
        march->v[i] = s->v[i];
    }
}

mpm_status mpm_backward_step(mpm_march *march, double t, double dt)
{
    struct solve s = begin(march, t, dt);
    for (ptrdiff_t i = 0; i < march->system->count; i++)
        s.correction[i] = 0;
    const mpm_newton_problem problem = {
        .self = &s, .system = system_of(&s), .evaluate = evaluate, .linearize = linearize, .accept = accept,
        .tolerance = TOLERANCE, .floor = rounding(&s), .most = MOST_ITERATIONS,
        .most_products = most_products(march->system)};
    mpm_newton_solve(&problem, 0, false, &march->newton);
    if (s.status || march->newton.end == MPM_NEWTON_FAILED)
        return s.status ? s.status : MPM_NO_CONVERGENCE;
    finish(&s);
    return MPM_OK;
}

mpm_status mpm_backward_linear_step(mpm_march *march, double t, double dt)
{
    struct solve s = begin(march, t, dt);
    const mpm_system *system = march->system;
    note(&s, system->force(system->self, march->x, march->v, t, s.f));
    if (!s.status)
        note(&s, system->linearize(system->self, march->x, march->v, t));
    if (!s.status)
        note(&s, system->multiply(system->self, dt, 0, march->v, s.r));
    for (ptrdiff_t i = 0; i < system->count; i++)
        s.r[i] = dt * (s.f[i] + s.r[i]);
    const mpm_krylov_residual first = begin_correction(&s);
    const mpm_linear_system linear = system_of(&s);
    const double target2 = TOLERANCE * TOLERANCE * first.norm2;
    const mpm_krylov krylov = mpm_krylov_solve(&linear, first, target2, most_products(system));
    march->newton = (mpm_newton){.end = MPM_NEWTON_FAILED, .iterations = 1, .products = krylov.products,
                                  .residual = {1, sqrt(krylov.residual.norm2 / first.norm2)}};
    if (s.status)
        return s.status;
    if (!(krylov.residual.norm2 <= target2))
        return MPM_NO_CONVERGENCE;
    place(&s, 1);
    accept(&s);
    finish(&s);
    return MPM_OK;
}
