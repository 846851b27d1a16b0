/* SPDX-License-Identifier: MIT */
#include "ode/steppers.h"

#include <math.h>

#include "ode/backward.h"
#include "ode/runge_kutta.h"

/* ---- the three Eulers of the lecture: they differ in the velocity that moves x --------------------------------------
 * "Primitive" Euler is explicit Euler of y = [x, v]. */

static mpm_status improved_euler(mpm_march *march, double h)
{
    double *a = march->scratch[0];
    const mpm_status status = mpm_march_accelerate(march, march->x, march->v, march->time, a);
    for (ptrdiff_t i = 0; i < march->system->count; i++) {
        const double v = march->v[i];
        march->v[i] = v + h * a[i];
        march->x[i] += h / 2 * (v + march->v[i]);
    }
    return status;
}

static mpm_status symplectic_euler(mpm_march *march, double h)
{
    double *a = march->scratch[0];
    const mpm_status status = mpm_march_accelerate(march, march->x, march->v, march->time, a);
    for (ptrdiff_t i = 0; i < march->system->count; i++) {
        march->v[i] += h * a[i];
        march->x[i] += h * march->v[i];
    }
    return status;
}

/* ---- Verlet --------------------------------------------------------------------------------------------------------
 * The state is x and x*, the start makes x* from v. It is kept as x - x*, of which the difference of two positions
 * would lose digits. The velocity is implied: (x' - x*)/2h of equal steps, which is (x - x*)/h + h/2 a at x. Forces
 * that depend on the velocity see (x - x*)/h + h/2 a*, right to the second order. */

static mpm_status start_verlet(mpm_march *march, double h)
{
    const mpm_status status = mpm_march_accelerate(march, march->x, march->v, march->time, march->a);
    for (ptrdiff_t i = 0; i < march->system->count; i++)
        march->moved[i] = h * march->v[i] - h * h / 2 * march->a[i];
    march->last_dt = h;
    return status;
}

/* v = (x - x*)/h + h/2 a */
static void imply_velocity(mpm_march *march, double h)
{
    for (ptrdiff_t i = 0; i < march->system->count; i++)
        march->v[i] = march->moved[i] / h + h / 2 * march->a[i];
}

static mpm_status verlet(mpm_march *march, double h)
{
    mpm_status status = march->last_dt > 0 ? MPM_OK : start_verlet(march, h);
    if (status)
        return status;
    const double ratio = h / march->last_dt, weight = h * (h + march->last_dt) / 2;
    for (ptrdiff_t i = 0; i < march->system->count; i++) {
        march->moved[i] = ratio * march->moved[i] + weight * march->a[i];
        march->x[i] += march->moved[i];
    }
    march->last_dt = h;
    imply_velocity(march, h);
    status = mpm_march_accelerate(march, march->x, march->v, march->time + h, march->a);
    imply_velocity(march, h);
    return status;
}

/* ---- implicit steppers, made of backward Euler steps ------------------------------------------------------------- */

static mpm_status backward_euler(mpm_march *march, double h)
{
    return mpm_backward_step(march, march->time + h, h);
}

static mpm_status linearly_implicit_euler(mpm_march *march, double h)
{
    return mpm_backward_linear_step(march, march->time + h, h);
}

/* An explicit half step, and a backward one. */
static mpm_status implicit_trapezoidal(mpm_march *march, double h)
{
    const mpm_flow flow = mpm_march_flow(march);
    const mpm_status status = mpm_runge_kutta_euler(&flow, march->x, march->time, h / 2, march->scratch[0]);
    return status ? status : mpm_backward_step(march, march->time + h, h / 2);
}

/* A backward half step to the middle, and as far again. */
static mpm_status implicit_midpoint(mpm_march *march, double h)
{
    double *x = march->scratch[8], *v = march->scratch[9];
    for (ptrdiff_t i = 0; i < march->system->count; i++) {
        x[i] = march->x[i];
        v[i] = march->v[i];
    }
    const mpm_status status = mpm_backward_step(march, march->time + h / 2, h / 2);
    for (ptrdiff_t i = 0; i < march->system->count; i++) {
        march->x[i] = x[i] + h * march->v[i];
        march->v[i] = 2 * march->v[i] - v[i];
    }
    return status;
}

/* ---- the registry ------------------------------------------------------------------------------------------------ */

#define HAIRER_1 \
    "E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed., Springer (1993)"
#define HAIRER_2 "E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer (1996)"
#define GEOMETRIC "E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, 2nd ed., Springer (2006)"

static const mpm_stepper table[] = {
    {.name = "explicit-euler", .formula = "x' = x + h v, v' = v + h a(x, v, t)", .order = 1, .limit = 0,
     .advect = mpm_runge_kutta_euler, .reference = HAIRER_1 ", section I.7"},
    {.name = "improved-euler", .formula = "v' = v + h a(x, v, t), x' = x + h/2 (v + v')", .order = 1, .limit = 0,
     .step = improved_euler,
     .reference = "A. W. Bargteil, T. Shinar, An introduction to physics-based animation, ACM SIGGRAPH 2018 Courses. "
                  "doi:10.1145/3214834.3214849"},
    {.name = "symplectic-euler", .formula = "v' = v + h a(x, v, t), x' = x + h v'", .order = 1, .limit = 2,
     .symplectic = true, .step = symplectic_euler, .reference = GEOMETRIC ", section I.1"},
    {.name = "verlet", .formula = "x' = x + (x - x*) h/h* + h (h + h*)/2 a(x, v, t), v = (x - x*)/h* + h*/2 a",
     .order = 2, .limit = 2, .symplectic = true, .step = verlet,
     .reference = "L. Verlet, Computer \"experiments\" on classical fluids, Physical Review 159 (1967) 98-103. "
                  "doi:10.1103/PhysRev.159.98"},
    {.name = "trapezoidal",
     .formula = "x' = x + h/2 (v + v1), v' = v + h/2 (a(x, v, t) + a(x1, v1, t + h)), x1 = x + h v, v1 = v + h a",
     .order = 2, .limit = 0, .advect = mpm_runge_kutta_trapezoidal, .reference = HAIRER_1 ", section II.1 (Heun)"},
    {.name = "midpoint",
     .formula = "x' = x + h v1, v' = v + h a(x1, v1, t + h/2), x1 = x + h/2 v, v1 = v + h/2 a(x, v, t)",
     .order = 2, .limit = 0, .advect = mpm_runge_kutta_midpoint, .reference = HAIRER_1 ", section II.1 (Runge)"},
    {.name = "backward-euler", .formula = "v' = v + h a(x', v', t + h), x' = x + h v'", .order = 1,
     .limit = INFINITY, .implicit = true, .step = backward_euler, .reference = HAIRER_2 ", section IV.3"},
    {.name = "implicit-trapezoidal",
     .formula = "v' = v + h/2 (a(x, v, t) + a(x', v', t + h)), x' = x + h/2 (v + v')", .order = 2, .limit = INFINITY,
     .implicit = true, .step = implicit_trapezoidal, .reference = HAIRER_2 ", section IV.3"},
    {.name = "implicit-midpoint",
     .formula = "v' = v + h a((x + x')/2, (v + v')/2, t + h/2), x' = x + h/2 (v + v')", .order = 2,
     .limit = INFINITY, .symplectic = true, .implicit = true, .step = implicit_midpoint,
     .reference = GEOMETRIC ", section VI.4"},
    {.name = "linearly-implicit-euler",
     .formula = "(M - h^2 K - h D) (v' - v) = h (f(x, v, t + h) + h K v), x' = x + h v'", .order = 1,
     .limit = INFINITY, .implicit = true, .step = linearly_implicit_euler,
     .reference = "D. Baraff, A. Witkin, Large steps in cloth simulation, SIGGRAPH 1998, 43-54. "
                  "doi:10.1145/280814.280821"},
};

const mpm_stepper *mpm_steppers_get(int index)
{
    return index >= 0 && index < (int)(sizeof table / sizeof *table) ? &table[index] : NULL;
}

mpm_status mpm_steppers_step(const mpm_stepper *stepper, mpm_march *march, double dt)
{
    if (stepper->step)
        return stepper->step(march, dt);
    const mpm_flow flow = mpm_march_flow(march);
    return stepper->advect(&flow, march->x, march->time, dt, march->scratch[0]);
}
