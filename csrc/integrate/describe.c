/* SPDX-License-Identifier: MIT
 *
 * What a simulation hands to the kernels and to the grid, described in their terms.
 */
#include <string.h>

#include "integrate/state.h"

mpm_symmetry mpm_describe_symmetry(const mpm_settings *settings, int axis)
{
    return (mpm_symmetry){
        .cells = settings->cells[axis],
        .mirror = {settings->walls[2 * axis].contact == MPM_MIRROR, settings->walls[2 * axis + 1].contact == MPM_MIRROR},
        .periodic = mpm_walls_periodic(settings->walls, axis),
    };
}

mpm_grid_records mpm_describe_records(const mpm_settings *settings)
{
    const mpm_scheme *scheme = &settings->scheme;
    return (mpm_grid_records){.previous = mpm_scheme_forgets(scheme),
                              .before = mpm_scheme_is_split(scheme),
                              .filtered = scheme->transfer == MPM_XPIC};
}

mpm_exchange mpm_describe_exchange(mpm_simulation *simulation, int field, void *rows)
{
    mpm_exchange exchange = {
        .particles = &simulation->particles,
        .materials = simulation->materials,
        .dx = simulation->settings.dx,
        .field = (enum mpm_field)field,
        .rows = rows,
        .on_leave = simulation->settings.on_leave,
    };
    memcpy(exchange.cells, simulation->settings.cells, sizeof exchange.cells);
    memcpy(exchange.lower, simulation->settings.lower, sizeof exchange.lower);
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        exchange.period[axis] = mpm_walls_period(simulation->settings.walls, axis, exchange.cells[axis]);
    return exchange;
}
