/* SPDX-License-Identifier: MIT
 *
 * The books of a run of any method: totals of the state, impulses of gravity, walls and colliders, and their columns in
 * the history.
 */
#pragma once
#include "contact/boundary.h"
#include "run/history.h"

/** Totals of a state, in SI units, per metre of depth in 2-D. In 2-D the angular momentum is component 2. A periodic
 *  axis has no origin: the centre of mass along it and the angular momentum about the other axes are NaN. Gravity along
 *  it has no potential, so `gravitational` contains only the other components. */
typedef struct mpm_totals {
    double time, mass, momentum[3], center_of_mass[3], angular_momentum[3], kinetic, elastic, gravitational;
    bool dissipates; /* the following are kept; else they are 0 */
    double plastic_dissipation, viscous_dissipation, heat;
    bool conducts; /* heat is sum m c T; else it is that of laws with a temperature of their own */
} mpm_totals;

/** The sums over particles that totals follow from. */
typedef struct mpm_sums {
    double mass, momentum[3], mass_moment[3], angular_momentum[3], kinetic, elastic;
} mpm_sums;

/** The source of the history columns of the whole material. Impulses count from the last record [N s]. */
typedef struct mpm_books {
    mpm_totals totals;
    double dt, energy;
    double body_impulse[3]; /* of gravity and of the body force */
    double wall_impulse[3];
    double friction_work, impact_work; /* what contacts of bodies have taken by friction, of rigid ones else [J] */
    double joint_work, joint_impulse[3]; /* what joints of rigid bodies have given */
} mpm_books;

/** Totals at `time` from the sums. */
mpm_totals mpm_books_totals(const mpm_boundary *boundary, const double gravity[3], const mpm_sums *sums, double time);

/** The columns of the whole material. */
mpm_history_section mpm_books_section(const mpm_books *books);

/** The columns of what the material dissipates, for methods that keep it. */
mpm_history_section mpm_books_dissipation(const mpm_books *books);

/** The columns of rigid bodies, `with_friction` unless another section has it. */
mpm_history_section mpm_books_rigid(const mpm_books *books, bool with_friction);

/** The columns of collider k; no entries beyond the last. */
mpm_history_section mpm_books_collider(const mpm_boundary *boundary, size_t k);

/** Adds a collider as mpm_boundary_add does, at any time: its columns of earlier records are 0. */
mpm_status mpm_books_add_collider(mpm_boundary *boundary, const mpm_allocator *allocator, mpm_history *history,
                                  const mpm_collider *collider);

/** Takes the last collider away, with its columns. */
void mpm_books_drop_collider(mpm_boundary *boundary, const mpm_allocator *allocator, mpm_history *history);

/** Completes the books with totals and dt, records them, and begins all impulses anew. Room has been reserved. */
void mpm_books_record(mpm_books *books, mpm_boundary *boundary, mpm_history *history, const mpm_totals *totals,
                      double dt);
