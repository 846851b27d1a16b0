/* SPDX-License-Identifier: MIT */
#include "run/books.h"

#include <math.h>
#include <stddef.h>

static const mpm_history_entry of_material[] = {
    {"time", MPM_HISTORY_NUMBER, offsetof(mpm_books, totals.time)},
    {"dt", MPM_HISTORY_NUMBER, offsetof(mpm_books, dt)},
    {"mass", MPM_HISTORY_NUMBER, offsetof(mpm_books, totals.mass)},
    {"momentum", MPM_HISTORY_VECTOR, offsetof(mpm_books, totals.momentum)},
    {"center_of_mass", MPM_HISTORY_VECTOR, offsetof(mpm_books, totals.center_of_mass)},
    {"angular_momentum", MPM_HISTORY_TURNING, offsetof(mpm_books, totals.angular_momentum)},
    {"kinetic", MPM_HISTORY_NUMBER, offsetof(mpm_books, totals.kinetic)},
    {"elastic", MPM_HISTORY_NUMBER, offsetof(mpm_books, totals.elastic)},
    {"gravitational", MPM_HISTORY_NUMBER, offsetof(mpm_books, totals.gravitational)},
    {"energy", MPM_HISTORY_NUMBER, offsetof(mpm_books, energy)},
    {"body_impulse", MPM_HISTORY_VECTOR, offsetof(mpm_books, body_impulse)},
    {"wall_impulse", MPM_HISTORY_VECTOR, offsetof(mpm_books, wall_impulse)},
};
static const mpm_history_entry of_dissipation[] = {
    {"plastic_dissipation", MPM_HISTORY_NUMBER, offsetof(mpm_books, totals.plastic_dissipation)},
    {"viscous_dissipation", MPM_HISTORY_NUMBER, offsetof(mpm_books, totals.viscous_dissipation)},
    {"heat", MPM_HISTORY_NUMBER, offsetof(mpm_books, totals.heat)},
};
static const mpm_history_entry of_rigid[] = {
    {"friction_work", MPM_HISTORY_NUMBER, offsetof(mpm_books, friction_work)},
    {"impact_work", MPM_HISTORY_NUMBER, offsetof(mpm_books, impact_work)},
    {"joint_work", MPM_HISTORY_NUMBER, offsetof(mpm_books, joint_work)},
    {"joint_impulse", MPM_HISTORY_VECTOR, offsetof(mpm_books, joint_impulse)},
};
static const mpm_history_entry of_collider[] = {
    {"impulse", MPM_HISTORY_VECTOR, offsetof(mpm_collider_book, impulse)},
    {"torque", MPM_HISTORY_TURNING, offsetof(mpm_collider_book, torque)},
};

mpm_totals mpm_books_totals(const mpm_boundary *boundary, const double gravity[3], const mpm_sums *sums, double time)
{
    mpm_totals t = {.time = time, .mass = sums->mass, .kinetic = sums->kinetic, .elastic = sums->elastic};
    const mpm_wall *walls = boundary->walls;
    for (int a = 0; a < 3; a++) {
        const bool lever = !mpm_walls_periodic(walls, (a + 1) % 3) && !mpm_walls_periodic(walls, (a + 2) % 3);
        t.momentum[a] = sums->momentum[a];
        t.angular_momentum[a] = lever ? sums->angular_momentum[a] : NAN;
        t.center_of_mass[a] = sums->mass > 0 && !mpm_walls_periodic(walls, a) ? sums->mass_moment[a] / sums->mass : NAN;
        if (!mpm_walls_periodic(walls, a))
            t.gravitational -= gravity[a] * sums->mass_moment[a];
    }
    return t;
}

mpm_history_section mpm_books_section(const mpm_books *books)
{
    return (mpm_history_section){of_material, sizeof of_material / sizeof *of_material, books, NULL};
}

mpm_history_section mpm_books_dissipation(const mpm_books *books)
{
    return (mpm_history_section){of_dissipation, sizeof of_dissipation / sizeof *of_dissipation, books, NULL};
}

mpm_history_section mpm_books_rigid(const mpm_books *books, bool with_friction)
{
    const int first = with_friction ? 0 : 1;
    return (mpm_history_section){of_rigid + first, (int)(sizeof of_rigid / sizeof *of_rigid) - first, books, NULL};
}

mpm_history_section mpm_books_collider(const mpm_boundary *boundary, size_t k)
{
    if (k >= boundary->count)
        return (mpm_history_section){0};
    return (mpm_history_section){of_collider, sizeof of_collider / sizeof *of_collider, &boundary->books[k],
                                 boundary->colliders[k].name};
}

mpm_status mpm_books_add_collider(mpm_boundary *boundary, const mpm_allocator *allocator, mpm_history *history,
                                  const mpm_collider *collider)
{
    const int before = mpm_history_length(history);
    mpm_status status = mpm_boundary_add(boundary, allocator, collider);
    if (!status && (status = mpm_history_fit(history, allocator, before)))
        mpm_boundary_drop(boundary, allocator);
    return status;
}

void mpm_books_drop_collider(mpm_boundary *boundary, const mpm_allocator *allocator, mpm_history *history)
{
    const int before = mpm_history_length(history);
    mpm_boundary_drop(boundary, allocator);
    mpm_history_fit(history, allocator, before);
}

void mpm_books_record(mpm_books *books, mpm_boundary *boundary, mpm_history *history, const mpm_totals *totals,
                      double dt)
{
    books->totals = *totals;
    books->dt = dt;
    books->energy = totals->kinetic + totals->elastic + totals->gravitational;
    mpm_history_record(history);
    *books = (mpm_books){0};
    mpm_boundary_clear_books(boundary);
}
