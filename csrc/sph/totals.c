/* SPDX-License-Identifier: MIT
 *
 * Totals of a fluid by SPH, the bound of its time step, and their history.
 */
#include "sph/totals.h"

#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "base/real.h"
#include "materials/fluid.h"
#include "run/march.h"
#include "sph/solids.h"
#include "sph/state.h"

mpm_totals mpm_sph_totals_of(const mpm_sph *sph)
{
    const mpm_sph_measure *m = &sph->measure;
    mpm_sums sums = {.mass = sph->mass * (double)sph->store.count, .kinetic = m->kinetic, .elastic = m->elastic};
    memcpy(sums.momentum, m->momentum, sizeof sums.momentum);
    memcpy(sums.mass_moment, m->mass_moment, sizeof sums.mass_moment);
    memcpy(sums.angular_momentum, m->angular_momentum, sizeof sums.angular_momentum);
    return mpm_books_totals(&sph->boundary, sph->settings.gravity, &sums, sph->run.time);
}

mpm_history_section mpm_sph_totals_section(const void *self, int index)
{
    const mpm_sph *sph = self;
    return index == 0 ? mpm_books_section(&sph->books) : mpm_books_collider(&sph->boundary, (size_t)index - 1);
}

void mpm_sph_totals_record(void *self)
{
    mpm_sph *sph = self;
    sph->record_pending = false;
    if (!mpm_history_is_due(&sph->run.history, sph->run.steps))
        return;
    const mpm_totals totals = mpm_sph_totals_of(sph);
    mpm_books_record(&sph->books, &sph->boundary, &sph->run.history, &totals, sph->run.dt);
}

/* ---- the time step ---------------------------------------------------------------------------------------------- */

static void tighten(mpm_stable_dt *bound, double dt, mpm_limit limit)
{
    if (dt < bound->dt)
        *bound = (mpm_stable_dt){dt, limit, -1};
}

/* The largest kinematic viscosity [m2/s]. Where the dynamic one is constant, it is that of the least density of the
 * state: at free surfaces and in spray the sums lack neighbours. The largest eigenvalue of the viscous force over it
 * and h^-2 is 12 in a full lattice and at most 7 in small clusters, by the vector form; 24 and 31 by the central one. A
 * step is stable up to 2 over the eigenvalue. */
static double largest_viscosity(const mpm_sph *sph)
{
    const double form = sph->settings.viscosity == MPM_SPH_CENTRAL ? 2 : 1;
    return form * (sph->pass.eta / sph->density * fmax(sph->measure.largest_J, 1) + sph->pass.nu);
}

static mpm_stable_dt bound_of_fluid(const mpm_sph *sph)
{
    const mpm_sph_settings *settings = &sph->settings;
    const double h = sph->pass.h, c = sqrt(sph->measure.wave2);
    mpm_stable_dt bound = {INFINITY, MPM_LIMIT_NONE, -1};
    double g2 = 0;
    if (!sph->store.count)
        return bound;
    for (int a = 0; a < settings->dim; a++)
        g2 += settings->gravity[a] * settings->gravity[a];
    tighten(&bound, 1.7 * h / c, MPM_LIMIT_WAVE);
    if (sph->pass.repulsion > 0) /* a spring per close neighbour: up to 8 times its stiffness in a dense lattice */
        tighten(&bound, 1 / sqrt(c * c / (1.7 * h) / (1.7 * h) + 2 * sph->pass.repulsion / pow(sph->pass.range, 2)),
                MPM_LIMIT_WAVE);
    tighten(&bound, 0.1 * h * h / (largest_viscosity(sph) + sph->pass.alpha * h / (2 * (settings->dim + 2))),
            MPM_LIMIT_VISCOSITY);
    tighten(&bound, 0.5 * h / sqrt(sph->measure.speed2), MPM_LIMIT_MOTION);
    tighten(&bound, sqrt(h / sqrt(g2)), MPM_LIMIT_ACCELERATION);
    return bound;
}

void mpm_sph_totals_limit_colliders(mpm_sph *sph)
{
    mpm_sph_solids_limit(sph, bound_of_fluid(sph).dt);
}

mpm_stable_dt mpm_sph_totals_bound(const mpm_sph *sph)
{
    mpm_stable_dt bound = bound_of_fluid(sph);
    if (sph->store.count)
        tighten(&bound, sph->collider_dt, MPM_LIMIT_MOTION);
    return bound;
}

/* The energy that an automatic step may change by its errors, over that of the fluid; and the energy of a fluid, over
 * M c^2, that is as good as none, so that a fluid at rest does not follow its round-off. */
static const double EXACT = 2e-3, CALM = 1e-8, CALM_FLOAT = 1e-6;

double mpm_sph_totals_tolerance(const mpm_sph *sph)
{
    const mpm_sph_measure *m = &sph->measure;
    const double mass = sph->mass * (double)sph->store.count;
    const double calm = sph->settings.real_size == sizeof(float) ? CALM_FLOAT : CALM;
    const double round_off = calm * mass * sph->wave_speed * sph->wave_speed;
    double potential = mass * m->lowest; /* above the lowest particle */
    for (int a = 0; a < sph->settings.dim; a++)
        if (!mpm_walls_periodic(sph->boundary.walls, a))
            potential -= sph->settings.gravity[a] * m->mass_moment[a];
    return EXACT * (m->kinetic + fmax(m->elastic, 0) + fmax(potential, 0) + round_off);
}

static size_t tasks_of(const mpm_sph *sph)
{
    return sph->store.count ? (size_t)sph->tasks : 0;
}

/* Energies are recorded with velocities half a step behind the positions: m a^2 dt^2/4 too much in the mean of both. */
static double error_of_motion(const mpm_sph *sph, double dt)
{
    return 0.25 * dt * dt * MPM_EXACT_SUM(sph->errors, tasks_of(sph), pull2);
}

double mpm_sph_totals_error(const mpm_sph *sph, double dt)
{
    return error_of_motion(sph, dt) + MPM_EXACT_SUM(sph->errors, tasks_of(sph), misfit);
}

/* Pressure falls with J, so that the trapezoidal rule is wrong by |p_1 - p_0| |J_1 - J_0|/2 at most. */
double mpm_sph_totals_most_error(const mpm_sph *sph, double dt)
{
    const double time = sph->pass.foresight, gamma = MPM_VALUES(fluid, sph->material.values)->gamma;
    double rate = 0;
    for (size_t t = 0; t < tasks_of(sph); t++)
        rate = fmax(rate, sph->errors[t].rate);
    const double J = fmin(sph->measure.least_J, 1) * exp(-rate * time);
    const double slope = MPM_VALUES(fluid, sph->material.values)->bulk_modulus * pow(J, -gamma - 1); /* |dp/dJ| */
    const double narrowing2 = MPM_EXACT_SUM(sph->errors, tasks_of(sph), narrowing2);
    return error_of_motion(sph, dt) + 0.5 * sph->mass / sph->density * slope * time * time * narrowing2;
}

double mpm_sph_totals_automatic_dt(const mpm_sph *sph)
{
    const double limit = 0.6 * mpm_sph_totals_bound(sph).dt;
    const double dt = fmin(mpm_march_hold_dt(sph->run.natural_dt, limit), sph->settings.max_dt);
    return isfinite(dt) ? dt : 1e-3; /* nothing limits the step */
}

/* The row with the largest speed, or with the smallest J, whose waves are the fastest. */
int32_t mpm_sph_totals_limiting_row(const mpm_sph *sph, mpm_limit limit)
{
    const int dim = sph->settings.dim;
    const size_t size = sph->settings.real_size;
    double most = -INFINITY;
    int32_t found = -1;
    if (limit == MPM_LIMIT_MOTION ? isfinite(sph->collider_dt)
                                  : limit != MPM_LIMIT_WAVE || MPM_VALUES(fluid, sph->material.values)->gamma <= 1)
        return -1;
    for (ptrdiff_t row = 0; row < sph->store.count; row++) {
        double value = 0;
        if (limit == MPM_LIMIT_WAVE)
            value = -mpm_real_at(sph->store.rows[MPM_SPH_J], (size_t)row, size);
        for (int a = 0; a < dim && limit == MPM_LIMIT_MOTION; a++) {
            const double v = mpm_real_at(sph->store.rows[MPM_SPH_V], (size_t)(row * dim + a), size);
            value += v * v;
        }
        if (value > most) {
            most = value;
            found = (int32_t)row;
        }
    }
    return found;
}
