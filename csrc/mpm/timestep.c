/* SPDX-License-Identifier: MIT
 *
 * Bounds of the time step, from the maxima a sweep has measured:
 *
 *     isolated      dt^2 S V0/(m h^2) <= 2(1 + k)/kappa_N = 1 for APIC (k = 1), quadratic MLS (kappa_N = 4), where S
 *                   is the law's modulus for one particle alone; with viscosity dt^2 a + dt b <= 1
 *     wave          dt c/h <= 1
 *     motion        dt |v_a| <= h and dt |grad v| <= 1
 *     acceleration  dt^2 |g| <= h
 *     conduction    dt alpha <= 200 h^2, a thousand sub-steps; in implicit ones 1e7 h^2 or 1e3 h^2 (heat.c)
 *
 * Pore water stiffens the material: a^2 M takes part as Lame's first parameter does in the first two.
 *
 * The first two are bounds of the explicit method. Implicit steps have the others alone.
 *
 * A fixed step is compared with the bound. The automatic step keeps a margin: it is planned from the state before the
 * last step, because a fused sweep scatters with it, and is revised once the new state has been measured.
 */
#include "mpm/timestep.h"

#include <float.h>
#include <math.h>

#include "mpm/describe.h"
#include "mpm/heat.h"
#include "mpm/replicas.h"
#include "mpm/state.h"
#include "run/march.h"

/* Of the automatic step with rigid bodies, for the accuracy of their contacts: their motion [cells], and dt/sqrt(h/g).
 * An impact may multiply the motion; a step that was planned before, and would move them by more than RIGID_MOST, is
 * planned anew. */
static const double RIGID_MOTION = 0.2, RIGID_MOST = 0.25, RIGID_FALL = 0.1;

static double gravity_size(const mpm_settings *settings)
{
    double g2 = 0;
    for (int a = 0; a < settings->dim; a++)
        g2 += settings->gravity[a] * settings->gravity[a];
    return sqrt(g2);
}

static void tighten(mpm_stable_dt *bound, double dt, mpm_limit limit)
{
    if (dt < bound->dt)
        *bound = (mpm_stable_dt){dt, limit, -1};
}

/* The bound without the particle that sets it. */
static mpm_stable_dt bound_of(const mpm_simulation *simulation)
{
    const mpm_measure *most = &simulation->measure;
    const double h = simulation->settings.dx;
    mpm_stable_dt bound = {INFINITY, MPM_LIMIT_NONE, -1};
    if (simulation->particles.count == 0)
        return bound;
    if (!simulation->integrator->solve) {
        const mpm_settings *settings = &simulation->settings;
        const double pore = mpm_heat_pore_wave2(simulation);
        const double isolated = mpm_scheme_isolated_factor(&settings->scheme) * settings->dim * pore / (h * h);
        tighten(&bound, 1 / sqrt(most->rate2 + isolated), MPM_LIMIT_ISOLATED);
        tighten(&bound, h / sqrt(most->wave2 + pore), MPM_LIMIT_WAVE);
    }
    tighten(&bound, h / most->speed, MPM_LIMIT_MOTION);
    tighten(&bound, 1 / sqrt(most->gradient2), MPM_LIMIT_MOTION);
    tighten(&bound, sqrt(h / gravity_size(&simulation->settings)), MPM_LIMIT_ACCELERATION);
    tighten(&bound, mpm_heat_bound(simulation), MPM_LIMIT_CONDUCTION);
    return bound;
}

static double automatic_dt(const mpm_simulation *simulation)
{
    const mpm_measure *most = &simulation->measure;
    const bool kinked = simulation->has_kink && !simulation->integrator->solve;
    double dt = (kinked ? MPM_SHARE_WITH_KINK : 0.6) * bound_of(simulation).dt;
    dt = fmin(dt, 0.4 * simulation->settings.dx / most->speed);
    dt = fmin(dt, 0.4 * simulation->settings.dx / simulation->approach);
    dt = fmin(dt, 0.2 / sqrt(most->gradient2));
    if (simulation->has_rigid) {
        const double h = simulation->settings.dx;
        dt = fmin(dt, fmin(RIGID_MOTION * h / most->speed, RIGID_FALL * sqrt(h / gravity_size(&simulation->settings))));
    }
    if (simulation->integrator->solve) /* the return map acts after the step */
        dt = fmin(dt, 0.5 * simulation->yield_strain / sqrt(most->gradient2));
    dt = fmin(dt, simulation->settings.max_dt);
    if (simulation->run.natural_dt > 0)
        dt = fmin(dt, 1.1 * simulation->run.natural_dt); /* fast changes of dt may be unstable even below the bound */
    return isfinite(dt) ? dt : 1e-3; /* nothing limits the step */
}

static int32_t find_at_least(const mpm_simulation *simulation, mpm_maximum maximum, double least)
{
    const mpm_particles *particles = &simulation->particles;
    const mpm_particles mapped = mpm_particles_map(particles, 0, particles->columns, MPM_READ);
    mpm_sweep sweep = mpm_describe_sweep(simulation);
    sweep.particles = &mapped;
    const int32_t row = simulation->kernels->find_limit(&sweep, maximum, least);
    mpm_particles_unmap(particles, 0, particles->columns);
    if (!simulation->distributed)
        return row;
    const double first = -mpm_team_most(simulation->team, row < 0 ? -INFINITY : -(double)row); /* of all processes */
    return first < INFINITY ? (int32_t)first : -1;
}

/* A device may round what it measures otherwise than the host, which searches: then none seems to reach the maximum. */
static int32_t find_limit(const mpm_simulation *simulation, mpm_maximum maximum, double most)
{
    const double rounding = simulation->settings.real_size == sizeof(float) ? FLT_EPSILON : DBL_EPSILON;
    const int32_t row = find_at_least(simulation, maximum, most);
    return row >= 0 ? row : find_at_least(simulation, maximum, most * (1 - 64 * rounding));
}

/* The first particle that sets the bound; -1: none does. */
static int32_t find_row(const mpm_simulation *simulation, const mpm_stable_dt *bound)
{
    const mpm_measure *most = &simulation->measure;
    switch (bound->limit) {
    case MPM_LIMIT_ISOLATED:
        return find_limit(simulation, MPM_RATE2, most->rate2);
    case MPM_LIMIT_WAVE:
        return find_limit(simulation, MPM_WAVE2, most->wave2);
    case MPM_LIMIT_MOTION:
        return bound->dt == simulation->settings.dx / most->speed
                   ? find_limit(simulation, MPM_SPEED, most->speed)
                   : find_limit(simulation, MPM_GRADIENT2, most->gradient2);
    default:
        return -1;
    }
}

double mpm_timestep_bound(const void *self)
{
    return bound_of(self).dt;
}

mpm_stable_dt mpm_timestep_limit(const mpm_simulation *simulation)
{
    mpm_stable_dt bound = bound_of(simulation);
    bound.row = find_row(simulation, &bound);
    if (bound.limit == MPM_LIMIT_ISOLATED && bound.row >= 0) {
        const mpm_material *material = &simulation->materials[mpm_replicas_material(simulation, bound.row)];
        if ((mpm_material_law(material)->viscous || mpm_scheme_is_viscous(&simulation->settings.scheme)) &&
            bound.dt * sqrt(simulation->measure.wave2) < 0.25 * simulation->settings.dx)
            bound.limit = MPM_LIMIT_VISCOSITY;
    }
    return bound;
}

/* ---- the plan of a run ------------------------------------------------------------------------------------------ */

double mpm_timestep_next(const mpm_simulation *simulation, const mpm_step *step)
{
    const mpm_run *run = &simulation->run;
    const double dt = run->settings->dt > 0 ? run->settings->dt : run->natural_dt;
    return mpm_march_fit_dt(dt, step->time, step->goal->end);
}

void mpm_timestep_foresee(mpm_simulation *simulation)
{
    if (simulation->settings.dt <= 0)
        simulation->run.natural_dt = automatic_dt(simulation);
}

bool mpm_timestep_revise(mpm_simulation *simulation)
{
    if (simulation->settings.dt > 0)
        return false;
    double most = bound_of(simulation).dt;
    if (simulation->has_rigid)
        most = fmin(most, RIGID_MOST * simulation->settings.dx / simulation->measure.speed);
    if (simulation->run.natural_dt > 0 && simulation->run.natural_dt <= most)
        return false;
    simulation->run.natural_dt = automatic_dt(simulation);
    return true;
}
