/* SPDX-License-Identifier: MIT */
#include "mpm/heat.h"

#include <math.h>
#include <string.h>

#include "contact/rules.h"
#include "mpm/sweeps.h"

/* In units of h^2/alpha: in sub-steps up to BOUND, a particle takes at most all of the nodes' values (kernels/heat.c).
 * They are stable for any arrangement of particles (those of one cluster up to 0.5, of lattices to 0.8). It pays to
 * wait until DUE has passed. */
static const double BOUND = 1.0 / 5, DUE = 0.02;
enum { MOST_SUB_STEPS = 1 << 20 };

enum { TEMPERATURE, GRADIENT, STRETCH, LIQUID, HEATED, FIELDS }; /* HEATED with books of dissipation */
static const char *const names[FIELDS] = {"temperature", "temperature_gradient", "thermal_stretch",
                                          "liquid_fraction", "heated_dissipation"};

static int field_count(const mpm_simulation *simulation)
{
    return simulation->settings.dissipation ? FIELDS : HEATED;
}

mpm_status mpm_heat_add_fields(mpm_simulation *simulation)
{
    mpm_field rows[FIELDS] = {
        {.rank = MPM_SCALAR, .owner = MPM_OWNER_CORE, .state_of = MPM_STATE_OF_ALL, .low = 0, .high = INFINITY},
        {.rank = MPM_VECTOR, .owner = MPM_OWNER_CORE, .state_of = MPM_STATE_OF_ALL, .low = -INFINITY,
         .high = INFINITY},
        {.rank = MPM_SCALAR, .owner = MPM_OWNER_CORE, .state_of = MPM_STATE_OF_ALL, .low = 0, .high = INFINITY,
         .initial = 1},
        {.rank = MPM_SCALAR, .owner = MPM_OWNER_CORE, .state_of = MPM_STATE_OF_ALL, .low = 0, .high = 1,
         .low_closed = true, .high_closed = true},
        {.rank = MPM_SCALAR, .owner = MPM_OWNER_CORE, .state_of = MPM_STATE_OF_ALL, .low = -INFINITY, .high = INFINITY},
    };
    mpm_store_name(&rows[TEMPERATURE], names[TEMPERATURE], "K"); /* short enough */
    mpm_store_name(&rows[GRADIENT], names[GRADIENT], "K/m");
    mpm_store_name(&rows[STRETCH], names[STRETCH], "1");
    mpm_store_name(&rows[LIQUID], names[LIQUID], "1");
    mpm_store_name(&rows[HEATED], names[HEATED], "J/m\u00b3");
    return mpm_store_add_fields(&simulation->store, rows, field_count(simulation));
}

static int column_of(const mpm_simulation *simulation, int which)
{
    const mpm_fields *fields = &simulation->store.fields;
    return fields->row[mpm_fields_find(fields, names[which])].column;
}

mpm_status mpm_heat_reserve(mpm_simulation *simulation)
{
    return mpm_memory_grow(&simulation->run.allocator, (void **)&simulation->heat.materials,
                           &simulation->heat.capacity, simulation->material_count, simulation->material_count + 1,
                           sizeof *simulation->heat.materials);
}

static bool is_positive(double value)
{
    return value > 0 && isfinite(value);
}

static bool may_melt(const mpm_thermal *thermal)
{
    return thermal->latent_heat == 0 ||
           (is_positive(thermal->latent_heat) && is_positive(thermal->melting) &&
            is_positive(thermal->liquid_specific_heat) && thermal->liquid_conductivity >= 0 &&
            isfinite(thermal->liquid_conductivity));
}

mpm_status mpm_heat_set_material(mpm_simulation *simulation, int material, const mpm_thermal *thermal)
{
    if (!(thermal->conductivity >= 0) || !isfinite(thermal->conductivity) || !is_positive(thermal->specific_heat) ||
        !is_positive(thermal->temperature) || !is_positive(thermal->density) ||
        !may_melt(thermal) || !(thermal->expansion >= 0 && thermal->expansion * thermal->temperature < 1) ||
        !(thermal->heating >= 0 && thermal->heating <= 1) ||
        (thermal->heating > 0 && !simulation->settings.dissipation) ||
        mpm_material_law(&simulation->materials[material])->rigid)
        return MPM_BAD_ARGUMENT;
    simulation->heat.materials[material] = *thermal;
    simulation->heat.expands |= thermal->expansion > 0;
    simulation->heat.heats |= thermal->heating > 0;
    return MPM_OK;
}

mpm_status mpm_heat_set_wall(mpm_simulation *simulation, int face, const mpm_heat_wall *wall)
{
    const mpm_settings *settings = &simulation->settings;
    if (!settings->heat || face < 0 || face >= 2 * settings->dim || (unsigned)wall->kind >= MPM_HEAT_FACES ||
        !isfinite(wall->value) || (wall->kind == MPM_HEAT_TEMPERATURE && !(wall->value > 0)))
        return MPM_BAD_ARGUMENT;
    const mpm_contact contact = settings->walls[face].contact;
    if (wall->kind != MPM_HEAT_INSULATED && (contact == MPM_PERIODIC || settings->cells[face / 2] <
                                                                            MPM_FEWEST_PERIODIC_CELLS))
        return MPM_BAD_ARGUMENT;
    if (wall->kind == MPM_HEAT_FLUX && contact == MPM_MIRROR)
        return MPM_BAD_ARGUMENT;
    if (simulation->particles.count)
        return MPM_BAD_STATE;
    simulation->heat.walls[face] = *wall;
    simulation->heat.has_flux = false;
    for (int k = 0; k < 2 * settings->dim; k++)
        simulation->heat.has_flux |= simulation->heat.walls[k].kind == MPM_HEAT_FLUX;
    return MPM_OK;
}

static void set_begin(const mpm_thermal *thermal, double *temperature, double *liquid)
{
    *temperature = thermal->temperature;
    *liquid = thermal->latent_heat > 0 && thermal->temperature > thermal->melting;
}

void mpm_heat_begin(const mpm_simulation *simulation, int material, double initial[MPM_MOST_COLUMNS])
{
    if (simulation->settings.heat)
        set_begin(&simulation->heat.materials[material], initial + column_of(simulation, TEMPERATURE),
                  initial + column_of(simulation, LIQUID));
}

/* The largest diffusivity at rest [m2/s]. */
static double diffusivity(const mpm_simulation *simulation)
{
    double most = 0;
    for (size_t m = 0; m < simulation->material_count; m++) {
        const mpm_thermal *thermal = &simulation->heat.materials[m];
        if (thermal->specific_heat > 0)
            most = fmax(most, thermal->conductivity / (thermal->specific_heat * thermal->density));
        if (thermal->latent_heat > 0)
            most = fmax(most, thermal->liquid_conductivity / (thermal->liquid_specific_heat * thermal->density));
    }
    return most;
}

static mpm_heat_arguments arguments_of(const mpm_simulation *simulation, double dt)
{
    return (mpm_heat_arguments){
        .materials = simulation->heat.materials,
        .temperature = column_of(simulation, TEMPERATURE),
        .gradient = column_of(simulation, GRADIENT),
        .stretch = column_of(simulation, STRETCH),
        .liquid = column_of(simulation, LIQUID),
        .heated = simulation->settings.dissipation ? column_of(simulation, HEATED) : -1,
        .dt = dt,
    };
}

static void pass(mpm_simulation *simulation, mpm_heat_pass *heat, mpm_heat_stage stage)
{
    bool joins = false;
    heat->stage = stage;
    for (int axis = 0; axis < simulation->settings.dim; axis++) {
        const mpm_symmetry *symmetry = &heat->symmetry[axis];
        joins |= symmetry->periodic || symmetry->mirror[0] || symmetry->mirror[1];
        for (int side = 0; side < 2; side++)
            joins |= heat->walls[2 * axis + side].kind == MPM_HEAT_TEMPERATURE;
    }
    const mpm_pass described = {.kind = MPM_PASS_HEAT, .joins = joins && stage != MPM_HEAT_AREAS,
                                .grid = &simulation->grid, .heat = heat};
    mpm_sweeps_pass(simulation, &described);
}

/* The number of equal sub-steps for a time that has passed. */
static int sub_steps(double time, double diffusivity, double dx)
{
    const double wanted = ceil(time * diffusivity / (BOUND * dx * dx) - 1e-9);
    return wanted > 1 ? (int)fmin(wanted, MOST_SUB_STEPS) : 1; /* 1 for NaN */
}

void mpm_heat_conduct(mpm_simulation *simulation, double dt)
{
    struct heat *heat = &simulation->heat;
    const double h = simulation->settings.dx, most = simulation->settings.heat ? diffusivity(simulation) : 0;
    const bool flux = heat->has_flux;
    if (!simulation->settings.heat || (!(most > 0) && !flux && !heat->expands && !heat->heats))
        return;
    heat->pending += dt;
    if (!heat->heats && heat->pending * most < DUE * h * h * (1 - 1e-9))
        return;
    mpm_heat_pass described = {.grid = &simulation->grid, .wall_heat = simulation->reports.wall_heat};
    memcpy(described.walls, heat->walls, sizeof described.walls);
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        described.symmetry[axis] = mpm_boundary_symmetry(&simulation->boundary, axis);
    mpm_heat_arguments arguments = arguments_of(simulation, 0);
    if (flux) {
        mpm_sweeps_heat(simulation, MPM_HEAT_AREA, &arguments);
        pass(simulation, &described, MPM_HEAT_AREAS);
    }
    for (int left = 0, first = true; first || left > 0; left--, first = false) {
        const mpm_measure measure = mpm_sweeps_heat(simulation, MPM_HEAT, &arguments);
        if (first) {
            left = sub_steps(heat->pending, measure.diffusivity, h);
            described.dt = arguments.dt = heat->pending / left;
        }
        pass(simulation, &described, MPM_HEAT_MEANS);
        mpm_sweeps_heat(simulation, MPM_HEAT_FLOW, &arguments);
        pass(simulation, &described, MPM_HEAT_CHANGES);
        heat->wall_heat += mpm_sweeps_wall_heat(simulation);
        mpm_sweeps_heat(simulation, MPM_HEAT_BACK, &arguments);
    }
    heat->pending = 0;
    for (int which = 0; which < field_count(simulation); which++)
        mpm_store_outdate(&simulation->store, mpm_fields_find(&simulation->store.fields, names[which]));
}

void mpm_heat_measure(mpm_simulation *simulation)
{
    if (!simulation->settings.heat)
        return;
    const mpm_heat_arguments arguments = arguments_of(simulation, 0);
    simulation->heat.total = mpm_sweeps_heat(simulation, MPM_HEAT_SUM, &arguments).heat;
}
