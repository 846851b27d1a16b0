/* SPDX-License-Identifier: MIT
 *
 * Totals of the current state, from the measurements of the last sweep, and their history.
 */
#include "mpm/totals.h"

#include <stddef.h>
#include <string.h>

#include "mpm/heat.h"
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
    totals.conducts = mpm_heat_is_heat(simulation);
    totals.heat = totals.conducts ? simulation->heat.total : m->dissipation[MPM_DISSIPATION_HEAT];
    return totals;
}

static const mpm_history_entry of_damping[] = {
    {"damping_impulse", MPM_HISTORY_VECTOR, offsetof(mpm_simulation, damping_impulse)}};
static const mpm_history_entry of_contact[] = {
    {"friction_work", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, books.friction_work)},
    {"adhesion_work", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, adhesion_work)},
};
static const mpm_history_entry of_heat[] = {
    {"wall_heat", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.book.wall)},
    {"collider_heat", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.book.collider)},
    {"source_heat", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.book.source)},
    {"friction_heat", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.book.friction)},
    {"heat", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, books.totals.heat)}, /* unless that of dissipation is there */
};
static const mpm_history_entry of_pore[] = {
    {"wall_water", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.book.wall)},
    {"surface_water", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.book.collider)},
    {"pore_water", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.total)},
};
static const mpm_history_entry of_solute[] = {
    {"wall_solute", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.book.wall)},
    {"collider_solute", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.book.collider)},
    {"source_solute", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.book.source)},
    {"solute", MPM_HISTORY_NUMBER, offsetof(mpm_simulation, heat.total)},
};
static const mpm_history_entry of_pair[] = {{"impulse", MPM_HISTORY_VECTOR, offsetof(mpm_layer_pair, impulse)}};

static const mpm_history_entry of_joint[] = {
    {"impulse", MPM_HISTORY_VECTOR, offsetof(struct joint_book, impulse)},
    {"torque", MPM_HISTORY_TURNING, offsetof(struct joint_book, torque)},
};

/* The columns of the whole material come first, then those of dissipation or of an integrator that solves, which
 * exclude each other, those of damping, of contact between bodies, of heat and of rigid bodies, then two for every
 * load, one for every pair of bodies that has one, and two for every joint and for every collider. */
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
    const bool damps = simulation->settings.damping > 0 || simulation->settings.scheme.local_damping > 0;
    if (damps && --index == 0)
        return (mpm_history_section){of_damping, 1, simulation, NULL};
    const bool contact = simulation->settings.contact;
    if (contact && --index == 0)
        return (mpm_history_section){of_contact, 2, simulation, NULL};
    if (simulation->settings.pore && --index == 0)
        return (mpm_history_section){of_pore, 3, simulation, NULL};
    if (simulation->settings.solute && --index == 0)
        return (mpm_history_section){of_solute, 4, simulation, NULL};
    if (mpm_heat_is_heat(simulation) && --index == 0)
        return (mpm_history_section){of_heat, simulation->settings.dissipation ? 4 : 5, simulation, NULL};
    if (simulation->has_rigid && --index == 0)
        return mpm_books_rigid(&simulation->books, !contact);
    const mpm_layers *pairs = &simulation->layers;
    const size_t loads = simulation->run.loads.count, named = loads + pairs->named_count, k = (size_t)index - 1;
    if (k < loads)
        return mpm_loads_section(&simulation->run.loads, k);
    if (k < named) {
        const mpm_layer_pair *pair = &pairs->list[pairs->named[k - loads]];
        return (mpm_history_section){of_pair, 1, pair, pair->name};
    }
    if (k < named + simulation->joint_count) {
        const struct joint_book *joint = &simulation->joints[k - named];
        return (mpm_history_section){of_joint, 2, joint, joint->name};
    }
    return mpm_books_collider(&simulation->boundary, k - named - simulation->joint_count);
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
    mpm_heat_measure(simulation);
    const mpm_totals totals = mpm_totals_of(simulation);
    mpm_books_record(&simulation->books, &simulation->boundary, &run->history, &totals, run->dt);
    mpm_loads_clear_books(&run->loads);
    simulation->adhesion_work = 0;
    simulation->heat.book = (mpm_heat_book){0};
    for (size_t k = 0; k < simulation->layers.count; k++)
        memset(simulation->layers.list[k].impulse, 0, sizeof simulation->layers.list[k].impulse);
    for (size_t k = 0; k < simulation->joint_count; k++) {
        memset(simulation->joints[k].impulse, 0, sizeof simulation->joints[k].impulse);
        memset(simulation->joints[k].torque, 0, sizeof simulation->joints[k].torque);
    }
    memset(simulation->damping_impulse, 0, sizeof simulation->damping_impulse);
}
