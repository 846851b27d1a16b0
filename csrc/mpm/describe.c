/* SPDX-License-Identifier: MIT
 *
 * Describes a simulation to the kernels and to the grid.
 */
#include "mpm/describe.h"

#include <string.h>

#include "mpm/heat_state.h"
#include "mpm/state.h"

mpm_grid_field mpm_describe_preconditioner(const mpm_simulation *simulation)
{
    return simulation->settings.preconditioner == MPM_BY_STIFFNESS ? MPM_GRID_DIAGONAL : MPM_GRID_GUESS;
}

unsigned mpm_describe_fields(const mpm_simulation *simulation)
{
#define BIT(field, rule, has_nodes, copies_of, raw_of, needed) | (unsigned)(needed) << field
    const mpm_scheme *scheme = &simulation->settings.scheme;
    const bool solves = simulation->integrator->solve;
    const bool contact = simulation->settings.contact;
    const bool heat = simulation->settings.heat, surfaces = simulation->heat.has_areas || simulation->heat.open;
    const bool heaters = simulation->heat.surface_count > 0 || simulation->heat.open;
    const bool solves_heat = simulation->settings.conduction == MPM_CONDUCTION_IMPLICIT;
    const bool melts = mpm_heat_melts(simulation);
    const int dim = simulation->settings.dim;
    const bool by_stiffness = simulation->settings.preconditioner == MPM_BY_STIFFNESS;
    const bool holds = simulation->run.loads.count > 0;
    const bool fills = simulation->has_fluid && scheme->density_correction > 0;
    return 0 MPM_GRID_FIELDS(BIT);
#undef BIT
}

mpm_exchange mpm_describe_exchange(const mpm_simulation *simulation, mpm_particles *particles, int field, void *rows)
{
    mpm_exchange exchange = {
        .particles = particles,
        .materials = simulation->materials,
        .dx = simulation->settings.dx,
        .field = &simulation->store.fields.row[field],
        .rows = rows,
    };
    memcpy(exchange.on_leave, simulation->settings.on_leave, sizeof exchange.on_leave);
    memcpy(exchange.cells, simulation->boundary.cells, sizeof exchange.cells);
    memcpy(exchange.lower, simulation->boundary.lower, sizeof exchange.lower);
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        exchange.period[axis] = mpm_walls_period(simulation->boundary.walls, axis, exchange.cells[axis]);
    return exchange;
}

mpm_colliders mpm_describe_colliders(const mpm_simulation *simulation, mpm_collider_book *books)
{
    mpm_colliders colliders = {
        .list = simulation->boundary.colliders,
        .count = simulation->boundary.count,
        .dx = simulation->settings.dx,
        .books = books,
        .particles = simulation->settings.particle_collisions,
    };
    memcpy(colliders.lower, simulation->boundary.lower, sizeof colliders.lower);
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        colliders.symmetry[axis] = mpm_boundary_symmetry(&simulation->boundary, axis);
    return colliders;
}

mpm_sweep mpm_describe_sweep(const mpm_simulation *simulation)
{
    mpm_sweep sweep = {
        .particles = &simulation->particles,
        .grid = &simulation->grid,
        .materials = simulation->materials,
        .scheme = simulation->settings.scheme,
        .dx = simulation->settings.dx,
        .colliders = mpm_describe_colliders(simulation, simulation->reports.task_books),
        .measures = simulation->reports.measures,
        .rigid_sums = simulation->reports.rigid_sums,
        .rigid = simulation->rigid,
        .fluid_volume = simulation->fluid_volume,
    };
    memcpy(sweep.on_leave, simulation->settings.on_leave, sizeof sweep.on_leave);
    memcpy(sweep.cells, simulation->boundary.cells, sizeof sweep.cells);
    memcpy(sweep.lower, simulation->boundary.lower, sizeof sweep.lower);
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        sweep.period[axis] = mpm_walls_period(simulation->boundary.walls, axis, sweep.cells[axis]);
    return sweep;
}
