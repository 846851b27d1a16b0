/* SPDX-License-Identifier: MIT
 *
 * Totals of the current state, from the measurements of the last sweep, and their history.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "integrate/state.h"

static const mpm_history_entry of_material[] = {
    {"time", MPM_HISTORY_NUMBER, offsetof(struct books, totals.time)},
    {"dt", MPM_HISTORY_NUMBER, offsetof(struct books, dt)},
    {"mass", MPM_HISTORY_NUMBER, offsetof(struct books, totals.mass)},
    {"momentum", MPM_HISTORY_VECTOR, offsetof(struct books, totals.momentum)},
    {"center_of_mass", MPM_HISTORY_VECTOR, offsetof(struct books, totals.center_of_mass)},
    {"angular_momentum", MPM_HISTORY_TURNING, offsetof(struct books, totals.angular_momentum)},
    {"kinetic", MPM_HISTORY_NUMBER, offsetof(struct books, totals.kinetic)},
    {"elastic", MPM_HISTORY_NUMBER, offsetof(struct books, totals.elastic)},
    {"gravitational", MPM_HISTORY_NUMBER, offsetof(struct books, totals.gravitational)},
    {"energy", MPM_HISTORY_NUMBER, offsetof(struct books, energy)},
    {"body_impulse", MPM_HISTORY_VECTOR, offsetof(struct books, body_impulse)},
    {"wall_impulse", MPM_HISTORY_VECTOR, offsetof(struct books, wall_impulse)},
};
static const mpm_history_entry of_collider[] = {
    {"impulse", MPM_HISTORY_VECTOR, offsetof(mpm_collider_book, impulse)},
    {"torque", MPM_HISTORY_TURNING, offsetof(mpm_collider_book, torque)},
};

mpm_totals mpm_totals_of(const mpm_simulation *simulation)
{
    const mpm_measure *m = &simulation->measure;
    mpm_totals t = {.time = simulation->run.time, .mass = m->mass, .kinetic = m->kinetic, .elastic = m->elastic};
    const mpm_wall *walls = simulation->boundary.walls;
    for (int a = 0; a < 3; a++) {
        const bool lever = !mpm_walls_periodic(walls, (a + 1) % 3) && !mpm_walls_periodic(walls, (a + 2) % 3);
        t.momentum[a] = m->momentum[a];
        t.angular_momentum[a] = lever ? m->angular_momentum[a] : NAN;
        t.center_of_mass[a] = m->mass > 0 && !mpm_walls_periodic(walls, a) ? m->mass_moment[a] / m->mass : NAN;
        if (!mpm_walls_periodic(walls, a))
            t.gravitational -= simulation->settings.gravity[a] * m->mass_moment[a];
    }
    return t;
}

/* The columns of the whole material come first, then those of the integrator, then two for every collider. */
mpm_history_section mpm_totals_section(const void *self, int index)
{
    const mpm_simulation *simulation = self;
    const mpm_integrator *integrator = simulation->integrator;
    const size_t k = (size_t)index - (integrator->columns ? 2 : 1);
    if (index == 0)
        return (mpm_history_section){of_material, sizeof of_material / sizeof *of_material, &simulation->books, NULL};
    if (index == 1 && integrator->columns)
        return (mpm_history_section){integrator->columns, integrator->column_count, integrator->recorded(simulation), NULL};
    if (k < simulation->boundary.count)
        return (mpm_history_section){of_collider, sizeof of_collider / sizeof *of_collider,
                                     &simulation->boundary.books[k], simulation->boundary.colliders[k].name};
    return (mpm_history_section){0};
}

void mpm_totals_record(mpm_simulation *simulation)
{
    struct books *books = &simulation->books;
    if (!mpm_history_is_due(&simulation->run.history, simulation->run.steps))
        return;
    books->totals = mpm_totals_of(simulation);
    books->dt = simulation->run.dt;
    books->energy = books->totals.kinetic + books->totals.elastic + books->totals.gravitational;
    mpm_history_record(&simulation->run.history);
    *books = (struct books){0}; /* impulses begin anew */
    mpm_boundary_clear_books(&simulation->boundary);
}
