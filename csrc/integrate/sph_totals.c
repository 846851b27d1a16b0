/* SPDX-License-Identifier: MIT
 *
 * Totals of a fluid by SPH, the bound of its time step, and their history.
 */
#include <math.h>
#include <stddef.h>

#include "base/real.h"
#include "integrate/sph_state.h"

static const mpm_history_entry of_fluid[] = {
    {"time", MPM_HISTORY_NUMBER, offsetof(struct sph_books, totals.time)},
    {"dt", MPM_HISTORY_NUMBER, offsetof(struct sph_books, dt)},
    {"mass", MPM_HISTORY_NUMBER, offsetof(struct sph_books, totals.mass)},
    {"momentum", MPM_HISTORY_VECTOR, offsetof(struct sph_books, totals.momentum)},
    {"center_of_mass", MPM_HISTORY_VECTOR, offsetof(struct sph_books, totals.center_of_mass)},
    {"angular_momentum", MPM_HISTORY_TURNING, offsetof(struct sph_books, totals.angular_momentum)},
    {"kinetic", MPM_HISTORY_NUMBER, offsetof(struct sph_books, totals.kinetic)},
    {"elastic", MPM_HISTORY_NUMBER, offsetof(struct sph_books, totals.elastic)},
    {"gravitational", MPM_HISTORY_NUMBER, offsetof(struct sph_books, totals.gravitational)},
    {"energy", MPM_HISTORY_NUMBER, offsetof(struct sph_books, energy)},
    {"body_impulse", MPM_HISTORY_VECTOR, offsetof(struct sph_books, body_impulse)},
    {"wall_impulse", MPM_HISTORY_VECTOR, offsetof(struct sph_books, wall_impulse)},
};
static const mpm_history_entry of_collider[] = {
    {"impulse", MPM_HISTORY_VECTOR, offsetof(mpm_collider_book, impulse)},
    {"torque", MPM_HISTORY_TURNING, offsetof(mpm_collider_book, torque)},
};

mpm_sph_totals mpm_sph_totals_of(const mpm_sph *sph)
{
    const mpm_sph_measure *m = &sph->measure;
    const mpm_wall *walls = sph->boundary.walls;
    const double mass = sph->mass * (double)sph->store.count;
    mpm_sph_totals t = {.time = sph->run.time, .mass = mass, .kinetic = m->kinetic, .elastic = m->elastic};
    for (int a = 0; a < 3; a++) {
        const bool lever = !mpm_walls_periodic(walls, (a + 1) % 3) && !mpm_walls_periodic(walls, (a + 2) % 3);
        t.momentum[a] = m->momentum[a];
        t.angular_momentum[a] = lever ? m->angular_momentum[a] : NAN;
        t.center_of_mass[a] = mass > 0 && !mpm_walls_periodic(walls, a) ? m->mass_moment[a] / mass : NAN;
        if (!mpm_walls_periodic(walls, a))
            t.gravitational -= sph->settings.gravity[a] * m->mass_moment[a];
    }
    return t;
}

mpm_history_section mpm_sph_totals_section(const void *self, int index)
{
    const mpm_sph *sph = self;
    const size_t k = (size_t)index - 1;
    if (index == 0)
        return (mpm_history_section){of_fluid, sizeof of_fluid / sizeof *of_fluid, &sph->books, NULL};
    if (k < sph->boundary.count)
        return (mpm_history_section){of_collider, sizeof of_collider / sizeof *of_collider, &sph->boundary.books[k],
                                     sph->boundary.colliders[k].name};
    return (mpm_history_section){0};
}

void mpm_sph_totals_record(mpm_sph *sph)
{
    struct sph_books *books = &sph->books;
    sph->record_pending = false;
    if (!mpm_history_is_due(&sph->run.history, sph->run.steps))
        return;
    books->totals = mpm_sph_totals_of(sph);
    books->dt = sph->run.dt;
    books->energy = books->totals.kinetic + books->totals.elastic + books->totals.gravitational;
    mpm_history_record(&sph->run.history);
    *books = (struct sph_books){0}; /* impulses begin anew */
    mpm_boundary_clear_books(&sph->boundary);
}

/* ---- the time step ---------------------------------------------------------------------------------------------- */

static void tighten(mpm_sph_stable_dt *bound, double dt, mpm_sph_limit limit)
{
    if (dt < bound->dt)
        *bound = (mpm_sph_stable_dt){dt, limit, -1};
}

mpm_sph_stable_dt mpm_sph_totals_bound(const mpm_sph *sph)
{
    const mpm_sph_settings *settings = &sph->settings;
    const double h = sph->pass.h, c = sqrt(sph->measure.wave2), speed2 = fmax(sph->measure.speed2, sph->solid_speed2);
    mpm_sph_stable_dt bound = {INFINITY, MPM_SPH_LIMIT_NONE, -1};
    double g2 = 0;
    if (!sph->store.count)
        return bound;
    for (int a = 0; a < settings->dim; a++)
        g2 += settings->gravity[a] * settings->gravity[a];
    tighten(&bound, 1.7 * h / c, MPM_SPH_LIMIT_WAVE);
    tighten(&bound, 0.1 * h * h / (sph->pass.eta / sph->density + sph->pass.alpha * h / (2 * (settings->dim + 2))),
            MPM_SPH_LIMIT_VISCOSITY);
    tighten(&bound, 0.5 * h / sqrt(speed2), MPM_SPH_LIMIT_MOTION);
    tighten(&bound, sqrt(h / sqrt(g2)), MPM_SPH_LIMIT_ACCELERATION);
    return bound;
}

double mpm_sph_totals_automatic_dt(const mpm_sph *sph)
{
    const double dt = fmin(0.6 * mpm_sph_totals_bound(sph).dt, sph->settings.max_dt);
    return isfinite(dt) ? dt : 1e-3; /* nothing limits the step */
}

/* The row with the largest speed, or with the smallest J, whose waves are the fastest. */
int32_t mpm_sph_totals_limiting_row(const mpm_sph *sph, mpm_sph_limit limit)
{
    const int dim = sph->settings.dim;
    const size_t size = sph->settings.real_size;
    double most = -INFINITY;
    int32_t found = -1;
    if (limit == MPM_SPH_LIMIT_MOTION ? sph->solid_speed2 > sph->measure.speed2
                                      : limit != MPM_SPH_LIMIT_WAVE || sph->material.values[1] <= 1)
        return -1;
    for (ptrdiff_t row = 0; row < sph->store.count; row++) {
        double value = 0;
        if (limit == MPM_SPH_LIMIT_WAVE)
            value = -mpm_real_at(sph->store.rows[MPM_SPH_J], (size_t)row, size);
        for (int a = 0; a < dim && limit == MPM_SPH_LIMIT_MOTION; a++) {
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
