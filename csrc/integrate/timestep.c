/* SPDX-License-Identifier: MIT
 *
 * Bounds of the time step, from the maxima a sweep has measured:
 *
 *     isolated      dt^2 S V0/(m h^2) <= 2(1 + k)/kappa_N = 1 for APIC (k = 1), quadratic MLS (kappa_N = 4), where S
 *                   is the law's modulus for one particle alone; with viscosity dt^2 a + dt b <= 1
 *     wave          dt c/h <= 1
 *     motion        dt |v_a| <= h and dt |grad v| <= 1
 *     acceleration  dt^2 |g| <= h
 */
#include "integrate/state.h"

#include <math.h>

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

mpm_stable_dt mpm_timestep_bound(const mpm_simulation *simulation)
{
    const mpm_measure *most = &simulation->measure;
    const double h = simulation->settings.dx;
    mpm_stable_dt bound = {INFINITY, MPM_LIMIT_NONE, -1};
    if (simulation->particles.count == 0)
        return bound;
    tighten(&bound, 1 / sqrt(most->rate2), MPM_LIMIT_ISOLATED);
    tighten(&bound, h / sqrt(most->wave2), MPM_LIMIT_WAVE);
    tighten(&bound, h / most->speed, MPM_LIMIT_MOTION);
    tighten(&bound, 1 / sqrt(most->gradient2), MPM_LIMIT_MOTION);
    tighten(&bound, sqrt(h / gravity_size(&simulation->settings)), MPM_LIMIT_ACCELERATION);
    return bound;
}

double mpm_timestep_automatic(const mpm_simulation *simulation)
{
    const mpm_measure *most = &simulation->measure;
    double dt = 0.6 * mpm_timestep_bound(simulation).dt;
    dt = fmin(dt, 0.4 * simulation->settings.dx / most->speed);
    dt = fmin(dt, 0.4 * simulation->settings.dx / simulation->approach);
    dt = fmin(dt, 0.2 / sqrt(most->gradient2));
    dt = fmin(dt, simulation->settings.max_dt);
    if (simulation->natural_dt > 0)
        dt = fmin(dt, 1.1 * simulation->natural_dt); /* no step size is stable in every sequence: grow slowly */
    return isfinite(dt) ? dt : 1e-3; /* nothing there to limit it */
}
