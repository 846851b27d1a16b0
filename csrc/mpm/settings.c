/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stddef.h>

#include "mpm/dispatch.h"
#include "mpm/implicit.h"
#include "mpm/integrator.h"

#define AT(member) .offset = offsetof(mpm_settings, member)

static const mpm_option rows[] = {
    {"cells", MPM_OPTION_CELLS, AT(cells), .range = MPM_FROM(1, MPM_MOST_CELLS)},
    /* Volumes of cells and their inverses do not overflow. */
    {"dx", MPM_OPTION_NUMBER, AT(dx), .range = MPM_FROM(1e-90, 1e90)},
    {"transfer", MPM_OPTION_WORD, AT(scheme.transfer),
     .words = {[MPM_PIC] = "pic", [MPM_FLIP] = "flip", [MPM_APIC] = "apic", [MPM_AFLIP] = "aflip",
               [MPM_ASFLIP] = "asflip", [MPM_XPIC] = "xpic", [MPM_TPIC] = "tpic"}},
    {"kernel", MPM_OPTION_WORD, AT(scheme.degree),
     .words = {[MPM_LINEAR] = "linear", [MPM_QUADRATIC] = "quadratic", [MPM_CUBIC] = "cubic"}},
    {"gradient", MPM_OPTION_WORD, AT(scheme.gradient),
     .words = {[MPM_GRADIENT_MLS] = "mls", [MPM_GRADIENT_BSPLINE] = "bspline"}},
    {"flip_ratio", MPM_OPTION_NUMBER, AT(scheme.flip_ratio), .range = MPM_FROM(0, 1)},
    /* Each order costs one more sweep over all particles, and the series has converged long before. */
    {"xpic_order", MPM_OPTION_WHOLE, AT(scheme.xpic_order), .range = MPM_FROM(1, 50)},
    {"advect", MPM_OPTION_EITHER, AT(scheme.advect_particle), .words = {"pic", "particle"}},
    {"f_update", MPM_OPTION_WORD, AT(scheme.f_update),
     .words = {[MPM_F_LINEAR] = "linear", [MPM_F_CAYLEY] = "cayley", [MPM_F_TRACE] = "trace"}},
    {"c_keep", MPM_OPTION_NUMBER, AT(scheme.c_keep), .range = MPM_FROM(0, 1)},
    {"f_bar", MPM_OPTION_FLAG, AT(scheme.f_bar)},
    /* About 0.1 and 2 are usual. */
    {"artificial_viscosity", MPM_OPTION_PAIR, AT(scheme.viscosity), .range = MPM_FROM(0, 100)},
    {"integrator", MPM_OPTION_WORD, AT(integrator),
     .words = {[MPM_EXPLICIT] = "explicit", [MPM_SEMI_IMPLICIT] = "semi-implicit",
               [MPM_IMPLICIT_EULER] = "implicit-euler", [MPM_IMPLICIT_MIDPOINT] = "implicit-midpoint"}},
    {"beta", MPM_OPTION_NUMBER, AT(beta), .range = MPM_FROM(0, 1)},
    {"tolerance", MPM_OPTION_NUMBER, AT(tolerance), .range = MPM_FROM(1e-10, 0.1), .single = MPM_FROM(1e-4, 0.1)},
    {"max_iterations", MPM_OPTION_WHOLE, AT(max_iterations), .range = MPM_FROM(1, MPM_NEWTON_MOST)},
    {"preconditioner", MPM_OPTION_WORD, AT(preconditioner),
     .words = {[MPM_BY_MASS] = "mass", [MPM_BY_STIFFNESS] = "stiffness"}},
    {"projection", MPM_OPTION_WORD, AT(projection),
     .words = {[MPM_PROJECTION_SEMIDEFINITE] = "semidefinite", [MPM_PROJECTION_NONE] = "none"}},
    {"load", MPM_OPTION_NUMBER, AT(load), .range = MPM_FROM(0, DBL_MAX)},
    {"particle_collisions", MPM_OPTION_WORD, AT(particle_collisions),
     .words = {[MPM_PARTICLES_DEEP] = "deep", [MPM_PARTICLES_SURFACE] = "surface", [MPM_PARTICLES_OFF] = "off"}},
    {"dissipation", MPM_OPTION_FLAG, AT(dissipation)},
    {"contact", MPM_OPTION_FLAG, AT(contact)},
    {"faces", MPM_OPTION_FLAG, AT(scheme.faces)},
    {"damping", MPM_OPTION_NUMBER, AT(damping), .range = MPM_FROM(0, 1e90)},
    {"local_damping", MPM_OPTION_NUMBER, AT(scheme.local_damping), .range = MPM_FROM(0, 0.95)},
    {"heat", MPM_OPTION_FLAG, AT(heat)},
    {"conduction", MPM_OPTION_WORD, AT(conduction),
     .words = {[MPM_CONDUCTION_EXPLICIT] = "explicit", [MPM_CONDUCTION_IMPLICIT] = "implicit"}},
    {"pore", MPM_OPTION_FLAG, AT(pore)},
    {"solute", MPM_OPTION_FLAG, AT(solute)},
    /* About 2 is usual; from 4 on, water of one particle per cell gains energy. */
    {"density_correction", MPM_OPTION_NUMBER, AT(scheme.density_correction), .range = MPM_FROM(0, 10)},
    {0},
};

const mpm_options mpm_settings_options = {"mpm", MPM_FOR_POINTS, rows};

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

bool mpm_settings_absorb(const mpm_settings *settings)
{
    bool any = false;
    for (int face = 0; face < 2 * settings->dim; face++)
        any |= settings->walls[face].contact == MPM_ABSORBING;
    return any;
}

/* Implicit steps know neither F-bar nor the artificial viscosity, nor contact between bodies, nor damping, nor the
 * correction of densities; nor do they keep what laws dissipate. */
static const char *solve_flaw(const mpm_settings *settings)
{
    if (settings->integrator == MPM_EXPLICIT || (settings->integrator == MPM_SEMI_IMPLICIT && settings->beta == 0))
        return NULL;
    return settings->scheme.f_bar                     ? "f_bar"
           : mpm_scheme_is_viscous(&settings->scheme) ? "artificial_viscosity"
           : settings->dissipation                    ? "dissipation"
           : settings->contact                        ? "contact"
           : settings->pore                           ? "pore"
           : settings->damping > 0                    ? "damping"
           : settings->scheme.local_damping > 0       ? "local_damping"
           : mpm_settings_absorb(settings)            ? "walls"
           : settings->scheme.density_correction > 0  ? "density_correction"
                                                      : NULL;
}

/* Faces touch as bodies do. Their sides are known to explicit steps without further passes between particles and nodes,
 * and signs of axes at images are not. */
static bool faces_flaw(const mpm_settings *settings)
{
    bool images = false;
    for (int face = 0; face < 2 * settings->dim; face++)
        images |= settings->walls[face].contact == MPM_MIRROR || settings->walls[face].contact == MPM_PERIODIC;
    return !settings->contact || images || settings->heat || settings->scheme.f_bar ||
           settings->scheme.transfer == MPM_XPIC;
}

const char *mpm_settings_flaw(const mpm_settings *settings)
{
    const mpm_scheme *scheme = &settings->scheme;
    const char *flaw = mpm_options_flaw(&mpm_settings_options, &settings->common);
    if (flaw)
        return flaw;
    if (scheme->gradient == MPM_GRADIENT_MLS && scheme->degree == MPM_LINEAR)
        return "gradient";
    if (settings->heat && scheme->degree == MPM_LINEAR) /* its gradients jump, and images need those of nodes */
        return "heat";
    if (settings->conduction == MPM_CONDUCTION_IMPLICIT && (!settings->heat || settings->pore))
        return "conduction";
    if (settings->pore && !settings->heat)
        return "pore";
    if (settings->solute && (!settings->heat || settings->pore))
        return "solute";
    if (settings->contact && scheme->degree == MPM_LINEAR) /* moments do not tell gaps within one cell */
        return "contact";
    if (scheme->faces && faces_flaw(settings))
        return "faces";
    if (scheme->f_bar && scheme->f_update != MPM_F_LINEAR)
        return "f_bar";
    if (settings->beta > 0 && settings->beta < 0.5) /* no step is stable */
        return "beta";
    for (int axis = 0; axis < settings->dim; axis++)
        if (mpm_walls_periodic(settings->walls, axis) && settings->cells[axis] < MPM_FEWEST_PERIODIC_CELLS)
            return "cells";
    flaw = solve_flaw(settings);
    return flaw || mpm_dispatch_kernels(settings->isa, settings->dim, settings->real_size) ? flaw : "isa";
}
