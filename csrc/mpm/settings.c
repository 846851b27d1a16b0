/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "mpm/dispatch.h"
#include "mpm/implicit.h"
#include "mpm/integrator.h"

enum { MOST_VISCOSITY = 100 }; /* coefficients of the artificial viscosity are about 0.1 and 2 */

mpm_settings mpm_settings_default(int dim)
{
    mpm_settings settings = {
        .dim = dim, .real_size = sizeof(double), .cells = {32, 32, 32}, .dx = 1.0 / 32,
        .scheme = {.transfer = MPM_APIC, .gradient = MPM_GRADIENT_MLS, .degree = MPM_QUADRATIC, .xpic_order = 1,
                   .c_keep = 1},
        .max_dt = INFINITY, .history = 1, .threads = 1, .beta = 1, .tolerance = 1e-3, .max_iterations = 20,
    };
    for (int face = 0; face < 6; face++)
        settings.walls[face].contact = MPM_SLIP;
    return settings;
}

static bool is_within(double value, double low, double high)
{
    return value >= low && value <= high; /* false for NaN */
}

static const char *scheme_flaw(const mpm_scheme *scheme)
{
    if ((unsigned)scheme->transfer >= MPM_TRANSFER_COUNT)
        return "scheme.transfer";
    if (scheme->degree < MPM_LINEAR || scheme->degree > MPM_CUBIC)
        return "scheme.degree";
    if (scheme->gradient != MPM_GRADIENT_BSPLINE &&
        (scheme->gradient != MPM_GRADIENT_MLS || scheme->degree == MPM_LINEAR))
        return "scheme.gradient";
    if (!is_within(scheme->flip_ratio, 0, 1))
        return "scheme.flip_ratio";
    if (scheme->xpic_order < 1 && scheme->transfer == MPM_XPIC)
        return "scheme.xpic_order";
    if (!is_within(scheme->c_keep, 0, 1))
        return "scheme.c_keep";
    for (int term = 0; term < 2; term++)
        if (!is_within(scheme->viscosity[term], 0, MOST_VISCOSITY))
            return "scheme.viscosity";
    if ((unsigned)scheme->f_update > MPM_F_TRACE)
        return "scheme.f_update";
    return scheme->f_bar && scheme->f_update != MPM_F_LINEAR ? "scheme.f_bar" : NULL;
}

/* Implicit steps know neither F-bar nor the artificial viscosity, nor do they keep what laws dissipate. */
static const char *solve_flaw(const mpm_settings *settings)
{
    if (settings->integrator == MPM_EXPLICIT || (settings->integrator == MPM_SEMI_IMPLICIT && settings->beta == 0))
        return NULL;
    return settings->scheme.f_bar                     ? "scheme.f_bar"
           : mpm_scheme_is_viscous(&settings->scheme) ? "scheme.viscosity"
           : settings->dissipation                    ? "dissipation"
                                                      : NULL;
}

static const char *axis_flaw(const mpm_settings *settings, int axis)
{
    const mpm_wall *walls = &settings->walls[2 * axis];
    const bool periodic = walls[0].contact == MPM_PERIODIC;
    for (int side = 0; side < 2; side++)
        if ((unsigned)walls[side].contact > MPM_PERIODIC || (walls[side].contact == MPM_PERIODIC) != periodic ||
            !(walls[side].friction >= 0) ||
            !is_within(walls[side].restitution, 0, walls[side].contact == MPM_SEPARATE ? 1 : 0))
            return "walls";
    for (int side = 0; side < 2; side++)
        if ((unsigned)settings->on_leave[2 * axis + side] > MPM_LEAVE_CLAMP)
            return "on_leave";
    if (settings->cells[axis] < (periodic ? 4 : 1) || settings->cells[axis] > MPM_MOST_CELLS)
        return "cells";
    if (!isfinite(settings->lower[axis]))
        return "lower";
    return isfinite(settings->gravity[axis]) ? NULL : "gravity";
}

const char *mpm_settings_flaw(const mpm_settings *settings)
{
    const struct {
        const char *name;
        bool fits;
    } checks[] = {
        {"dim", settings->dim == 2 || settings->dim == 3},
        {"real_size", settings->real_size == sizeof(float) || settings->real_size == sizeof(double)},
        {"dx", settings->dx > 0 && isfinite(settings->dx)},
        {"particle_collisions", (unsigned)settings->particle_collisions < MPM_PARTICLE_COLLISIONS_COUNT},
        {"dt", !isnan(settings->dt)},
        {"max_dt", settings->max_dt > 0},
        {"history", settings->history >= 0},
        {"threads", settings->threads >= 1},
        {"beta", settings->beta == 0 || is_within(settings->beta, 0.5, 1)},
        {"tolerance", is_within(settings->tolerance, settings->real_size == sizeof(float) ? 1e-4 : 1e-10, 0.1)},
        {"max_iterations", settings->max_iterations >= 1 && settings->max_iterations <= MPM_NEWTON_MOST},
        {"load", settings->load >= 0 && isfinite(settings->load)},
        {"preconditioner", (unsigned)settings->preconditioner < MPM_PRECONDITIONER_COUNT},
        {"projection", (unsigned)settings->projection < MPM_PROJECTION_COUNT},
        {"integrator", mpm_integrator_get(settings->integrator)},
        {"isa", mpm_dispatch_kernels(settings->isa, settings->dim, settings->real_size)},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!checks[i].fits)
            return checks[i].name;
    const char *flaw = scheme_flaw(&settings->scheme);
    flaw = flaw ? flaw : solve_flaw(settings);
    for (int axis = 0; axis < settings->dim && !flaw; axis++)
        flaw = axis_flaw(settings, axis);
    return flaw;
}
