/* SPDX-License-Identifier: MIT
 *
 * Totals of the current state, from the measurements of the last sweep, and their history.
 */
#include "mpm/totals.h"

#include <string.h>

#include "mpm/state.h"

mpm_totals mpm_totals_of(const mpm_simulation *simulation)
{
    const mpm_measure *m = &simulation->measure;
    mpm_sums sums = {.mass = m->mass, .kinetic = m->kinetic, .elastic = m->elastic};
    memcpy(sums.momentum, m->momentum, sizeof sums.momentum);
    memcpy(sums.mass_moment, m->mass_moment, sizeof sums.mass_moment);
    memcpy(sums.angular_momentum, m->angular_momentum, sizeof sums.angular_momentum);
    mpm_totals totals =
        mpm_books_totals(&simulation->boundary, simulation->settings.gravity, &sums, simulation->run.time);
    totals.dissipates = simulation->settings.dissipation;
    totals.plastic_dissipation = m->dissipation[MPM_DISSIPATION_PLASTIC];
    totals.viscous_dissipation = m->dissipation[MPM_DISSIPATION_VISCOUS];
    totals.heat = m->dissipation[MPM_DISSIPATION_HEAT];
    return totals;
}

/* The columns of the whole material come first, then those of dissipation or of an integrator that solves, which
 * exclude each other, those of rigid bodies, then two for every load and every collider. */
mpm_history_section mpm_totals_section(const void *self, int index)
{
    const mpm_simulation *simulation = self;
    const mpm_integrator *integrator = simulation->integrator;
    if (index == 0)
        return mpm_books_section(&simulation->books);
    if (simulation->settings.dissipation && --index == 0)
        return mpm_books_dissipation(&simulation->books);
    if (!simulation->settings.dissipation && integrator->columns && --index == 0)
        return (mpm_history_section){integrator->columns, integrator->column_count, integrator->recorded(simulation),
                                     NULL};
    if (simulation->has_rigid && --index == 0)
        return mpm_books_rigid(&simulation->books);
    const size_t k = (size_t)index - 1, loads = simulation->run.loads.count;
    return k < loads ? mpm_loads_section(&simulation->run.loads, k)
                     : mpm_books_collider(&simulation->boundary, k - loads);
}

int mpm_totals_width(const mpm_simulation *simulation)
{
    const mpm_history *history = &simulation->run.history;
    mpm_history_column column;
    for (int k = 0; (column = mpm_history_get(history, k)).width; k++)
        if (column.owner)
            break;
    return column.offset;
}

void mpm_totals_record(void *self)
{
    mpm_simulation *simulation = self;
    mpm_run *run = &simulation->run;
    if (!mpm_history_is_due(&run->history, run->steps))
        return;
    if (!run->steps) /* a solve that failed belongs to no step */
        simulation->solver.solution = (mpm_solution){0};
    const mpm_totals totals = mpm_totals_of(simulation);
    mpm_books_record(&simulation->books, &simulation->boundary, &run->history, &totals, run->dt);
    mpm_loads_clear_books(&run->loads);
}
