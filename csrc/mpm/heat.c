/* SPDX-License-Identifier: MIT */
#include "mpm/heat.h"

#include <math.h>
#include <string.h>

#include "base/real.h"
#include "contact/rules.h"
#include "math/krylov.h"
#include "mpm/halo.h"
#include "mpm/replicas.h"
#include "mpm/sweeps.h"
#include "run/march.h"

/* In units of h^2/alpha: in sub-steps up to BOUND, a particle takes at most all of the nodes' values (kernels/heat.c).
 * They are stable for any arrangement of particles (those of one cluster up to 0.5, of lattices to 0.8). It pays to
 * wait until DUE has passed. */
static const double BOUND = 1.0 / 5, DUE = 0.05;
/* Of a step, in the bound of the time step: with so many, the rest of the step costs next to nothing, so that longer
 * steps would be no faster. */
static const double MOST_SUB_STEPS = 1000;
/* Of an implicit step: the heat that flows has the residual and the rounding of the solve as many times. */
static const double MOST_AT_ONCE = 1e7, MOST_AT_ONCE_OF_FLOATS = 1e3;
/* The residual of an implicit conduction over the first one. Heat flows from the temperatures that were solved for, so
 * a residual changes temperatures, but not the balance of heat. */
static const double TOLERANCE = 1e-8, TOLERANCE_OF_FLOATS = 1e-5;
enum { MOST_PRODUCTS = 20000, MOST_SORTINGS = 50 };

/* The fields of what is conducted, in this order as far as it has them. HEATED with books of dissipation. */
enum { TEMPERATURE, GRADIENT, STRETCH, LIQUID, HEATED, FIELDS };

struct conducted_field {
    const char *name, *unit;
    mpm_rank rank;
    double low, high, initial;
    bool closed; /* low and high are allowed */
};

static const struct conducted_field fields_of_heat[FIELDS] = {
    {"temperature", "K", MPM_SCALAR, .low = 0, .high = INFINITY},
    {"temperature_gradient", "K/m", MPM_VECTOR, .low = -INFINITY, .high = INFINITY},
    {"thermal_stretch", "1", MPM_SCALAR, .low = 0, .high = INFINITY, .initial = 1},
    {"liquid_fraction", "1", MPM_SCALAR, .low = 0, .high = 1, .closed = true},
    {"heated_dissipation", "J/m\u00b3", MPM_SCALAR, .low = -INFINITY, .high = INFINITY},
};
/* Of pore water (kernels/pore.h): the pressure is conducted in place of a temperature. */
static const struct conducted_field fields_of_pore[] = {
    {"pore_pressure", "Pa", MPM_SCALAR, .low = -INFINITY, .high = INFINITY},
    {"pore_gradient", "Pa/m", MPM_VECTOR, .low = -INFINITY, .high = INFINITY},
};
static const struct conducted_field fields_of_solute[] = {
    {"concentration", "mol/m\u00b3", MPM_SCALAR, .low = -INFINITY, .high = INFINITY},
    {"concentration_gradient", "mol/m\u2074", MPM_VECTOR, .low = -INFINITY, .high = INFINITY},
    {"swelling_stretch", "1", MPM_SCALAR, .low = 0, .high = INFINITY, .initial = 1},
};

static const struct conducted_field *fields_of(const mpm_simulation *simulation, int *count)
{
    const mpm_settings *settings = &simulation->settings;
    *count = settings->pore ? GRADIENT + 1 : settings->solute ? STRETCH + 1 : settings->dissipation ? FIELDS : HEATED;
    return settings->pore ? fields_of_pore : settings->solute ? fields_of_solute : fields_of_heat;
}

mpm_status mpm_heat_add_fields(mpm_simulation *simulation)
{
    int count;
    mpm_field rows[FIELDS] = {0};
    const struct conducted_field *fields = fields_of(simulation, &count);
    for (int k = 0; k < count; k++) {
        rows[k] = (mpm_field){.rank = fields[k].rank, .owner = MPM_OWNER_CORE, .state_of = MPM_STATE_OF_ALL,
                              .low = fields[k].low, .high = fields[k].high, .initial = fields[k].initial,
                              .low_closed = fields[k].closed, .high_closed = fields[k].closed};
        mpm_store_name(&rows[k], fields[k].name, fields[k].unit); /* short enough */
    }
    return mpm_store_add_fields(&simulation->store, rows, count);
}

/* The column of a field; -1: what is conducted has none. */
static int column_of(const mpm_simulation *simulation, int which)
{
    const mpm_fields *fields = &simulation->store.fields;
    int count;
    const struct conducted_field *own = fields_of(simulation, &count);
    return which < count ? fields->row[mpm_fields_find(fields, own[which].name)].column : -1;
}

mpm_status mpm_heat_reserve(mpm_simulation *simulation)
{
    return mpm_memory_grow(&simulation->run.allocator, (void **)&simulation->heat.materials,
                           &simulation->heat.capacity, simulation->material_count, simulation->material_count + 1,
                           sizeof *simulation->heat.materials);
}

/* Are steps implicit that would need several sub-steps? */
static bool solves(const mpm_simulation *simulation)
{
    return simulation->settings.conduction == MPM_CONDUCTION_IMPLICIT;
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

/* Are the knots in order? */
static bool is_ordered(const mpm_thermal *thermal, const mpm_scale *scale)
{
    bool ordered = scale->knots >= 2 && scale->knots <= MPM_MOST_KNOTS;
    for (int k = 0; ordered && k < scale->knots; k++) {
        const double T = scale->temperature[k];
        ordered = isfinite(T) && T > thermal->least && isfinite(scale->value[k]);
        if (ordered && k > 0 && !(T > scale->temperature[k - 1]))
            ordered = T == scale->temperature[k - 1] && thermal->latent_heat > 0 && T == thermal->melting;
    }
    return ordered;
}

/* Are the knots in order, and does the parameter vary? */
static bool may_scale(const mpm_material *material, const mpm_thermal *thermal, const mpm_scale *scale)
{
    bool varies = false;
    for (int v = 0; v < material->varying; v++)
        varies |= material->parameter[v] == scale->parameter;
    return varies && is_ordered(thermal, scale);
}

static bool may_follow(const mpm_material *material, const mpm_thermal *thermal)
{
    bool may = thermal->scales >= 0 && thermal->scales <= MPM_MOST_SCALES && is_positive(thermal->liquid_stretch);
    for (int i = 0; may && i < thermal->scales; i++)
        may = may_scale(material, thermal, &thermal->scale[i]);
    return may;
}

mpm_status mpm_heat_set_material(mpm_simulation *simulation, int material, const mpm_thermal *thermal)
{
    if (!(thermal->conductivity >= 0) || !isfinite(thermal->conductivity) || !is_positive(thermal->specific_heat) ||
        !is_positive(thermal->temperature) || !is_positive(thermal->density) ||
        !may_melt(thermal) || !may_follow(&simulation->materials[material], thermal) ||
        !(thermal->expansion >= 0 && thermal->expansion * thermal->temperature < 1) ||
        !(thermal->heating >= 0 && thermal->heating <= 1) ||
        (thermal->heating > 0 && !simulation->settings.dissipation) ||
        mpm_material_law(&simulation->materials[material])->rigid)
        return MPM_BAD_ARGUMENT;
    simulation->heat.materials[material] = *thermal;
    const bool stretches = mpm_thermal_stretches(thermal);
    simulation->heat.follows |= stretches || thermal->scales > 0;
    simulation->materials[material].has_volumes |= stretches; /* masses do not tell them */
    simulation->heat.heats |= thermal->heating > 0;
    const mpm_law *law = mpm_material_law(&simulation->materials[material]);
    for (int f = 0; f < law->fields; f++)
        simulation->heat.law_heats |= law->field[f].heat_capacity > 0;
    return MPM_OK;
}

/* Do all materials share these? */
static bool is_shared(const mpm_simulation *simulation, const mpm_pore *pore)
{
    const struct heat *heat = &simulation->heat;
    return heat->water_density == 0 || (heat->water_density == pore->water_density && heat->open == pore->surface);
}

mpm_status mpm_heat_set_pore(mpm_simulation *simulation, int material, const mpm_pore *pore, bool begun)
{
    const mpm_law *law = mpm_material_law(&simulation->materials[material]);
    if (!(pore->mobility >= 0) || !isfinite(pore->mobility) || !is_positive(pore->storage) ||
        !is_positive(pore->density) || !is_positive(pore->water_density) || !(pore->biot > 0 && pore->biot <= 1) ||
        !isfinite(pore->pressure) || (unsigned)pore->surface > MPM_PORE_SEEPAGE || !is_shared(simulation, pore) ||
        law->rigid || law->strain == MPM_KEEPS_J)
        return MPM_BAD_ARGUMENT;
    const mpm_thermal made = {.conductivity = pore->mobility, .specific_heat = pore->storage / pore->density,
                              .density = pore->density, .temperature = pore->pressure, .per_volume = true,
                              .least = -INFINITY, .biot = pore->biot, .liquid_stretch = 1};
    const mpm_thermal *now = &simulation->heat.materials[material];
    if (begun && !(now->specific_heat == made.specific_heat && now->density == made.density &&
                   now->temperature == made.temperature && now->biot == made.biot))
        return MPM_BAD_ARGUMENT;
    simulation->heat.materials[material] = made;
    simulation->heat.water_density = pore->water_density;
    simulation->heat.open = pore->surface;
    return MPM_OK;
}

/* The stretch 1 + a (c - c0) of what swells is greater. */
static const double LEAST_STRETCH = 0.01;

static bool may_swell(const mpm_thermal *thermal)
{
    bool may = thermal->expansion >= 0 && isfinite(thermal->expansion);
    if (thermal->swelling.knots == 0)
        return may;
    may = thermal->expansion == 0 && is_ordered(thermal, &thermal->swelling);
    for (int k = 0; may && k < thermal->swelling.knots; k++)
        may = thermal->swelling.value[k] >= LEAST_STRETCH;
    return may;
}

mpm_status mpm_heat_set_solute(mpm_simulation *simulation, int material, const mpm_solute *solute)
{
    mpm_material *of = &simulation->materials[material];
    mpm_thermal thermal = {.conductivity = solute->diffusivity, .specific_heat = 1, .density = 1,
                           .temperature = solute->concentration, .expansion = solute->swelling,
                           .swelling = solute->stretch, .per_volume = true, .least = -INFINITY, .liquid_stretch = 1,
                           .scales = solute->scales};
    memcpy(thermal.scale, solute->scale, sizeof thermal.scale);
    if (!(thermal.conductivity >= 0) || !isfinite(thermal.conductivity) || !isfinite(thermal.temperature) ||
        !may_swell(&thermal) || !may_follow(of, &thermal) || mpm_material_law(of)->rigid)
        return MPM_BAD_ARGUMENT;
    if (thermal.expansion > 0)
        thermal.least = thermal.temperature - (1 - LEAST_STRETCH) / thermal.expansion;
    if (simulation->settings.real_size == sizeof(float)) /* as the sweeps have it */
        thermal.least = (double)(float)thermal.least;
    simulation->heat.materials[material] = thermal;
    const bool stretches = mpm_thermal_stretches(&thermal);
    simulation->heat.follows |= stretches || thermal.scales > 0;
    of->has_volumes |= stretches; /* masses do not tell them */
    return MPM_OK;
}

double mpm_heat_pore_wave2(const mpm_simulation *simulation)
{
    double most = 0;
    for (size_t m = 0; simulation->settings.pore && m < simulation->material_count; m++) {
        const mpm_thermal *of = &simulation->heat.materials[m];
        if (of->biot > 0)
            most = fmax(most, of->biot * of->biot / (of->specific_heat * of->density * of->density));
    }
    return most;
}

static bool has_surface(const mpm_simulation *simulation, const mpm_heat_surface *surface)
{
    if (simulation->settings.pore)
        return (unsigned)surface->kind <= MPM_HEAT_TEMPERATURE && isfinite(surface->value) &&
               isfinite(surface->coefficient);
    const bool has_temperature = surface->kind == MPM_HEAT_TEMPERATURE || surface->kind == MPM_HEAT_TRANSFER;
    return (unsigned)surface->kind < MPM_HEAT_CONTACTS && isfinite(surface->value) &&
           (!has_temperature || simulation->settings.solute || surface->value > 0) &&
           (surface->kind != MPM_HEAT_TRANSFER || is_positive(surface->coefficient));
}

/* Finds again which surfaces give a flux. */
static void note_areas(mpm_simulation *simulation)
{
    struct heat *heat = &simulation->heat;
    heat->has_areas = heat->surface_count > 0;
    for (int k = 0; k < 2 * simulation->settings.dim; k++)
        heat->has_areas |= heat->walls[k].kind >= MPM_HEAT_FLUX;
}

mpm_status mpm_heat_set_wall(mpm_simulation *simulation, int face, const mpm_heat_surface *wall)
{
    const mpm_settings *settings = &simulation->settings;
    if (!settings->heat || face < 0 || face >= 2 * settings->dim || !has_surface(simulation, wall))
        return MPM_BAD_ARGUMENT;
    const mpm_contact contact = settings->walls[face].contact;
    if (wall->kind != MPM_HEAT_INSULATED && (contact == MPM_PERIODIC || settings->cells[face / 2] <
                                                                            MPM_FEWEST_PERIODIC_CELLS))
        return MPM_BAD_ARGUMENT;
    if (wall->kind >= MPM_HEAT_FLUX && contact == MPM_MIRROR)
        return MPM_BAD_ARGUMENT;
    if (simulation->particles.count && wall->kind != simulation->heat.walls[face].kind)
        return MPM_BAD_STATE;
    simulation->heat.walls[face] = *wall;
    note_areas(simulation);
    return MPM_OK;
}

mpm_status mpm_heat_set_collider(mpm_simulation *simulation, int collider, const mpm_heat_surface *surface)
{
    struct heat *heat = &simulation->heat;
    if (!simulation->settings.heat || collider < 0 || (size_t)collider >= simulation->boundary.count ||
        simulation->settings.pore || !has_surface(simulation, surface))
        return MPM_BAD_ARGUMENT;
    const size_t count = (size_t)collider + 1;
    if (mpm_memory_grow(&simulation->run.allocator, (void **)&heat->surfaces, &heat->surface_capacity,
                        heat->surface_count, count, sizeof *heat->surfaces))
        return MPM_OUT_OF_MEMORY;
    for (size_t k = heat->surface_count; k < count; k++)
        heat->surfaces[k] = (mpm_heat_surface){0};
    heat->surface_count = count > heat->surface_count ? count : heat->surface_count;
    heat->surfaces[collider] = *surface;
    note_areas(simulation);
    simulation->binning_due |= simulation->particles.count > 0; /* the grid needs more fields */
    return MPM_OK;
}

void mpm_heat_begin(const mpm_simulation *simulation, int material, double initial[MPM_MOST_COLUMNS])
{
    if (!simulation->settings.heat)
        return;
    const mpm_thermal *thermal = &simulation->heat.materials[material];
    initial[column_of(simulation, TEMPERATURE)] = thermal->temperature;
    if (column_of(simulation, LIQUID) >= 0)
        initial[column_of(simulation, LIQUID)] =
            thermal->latent_heat > 0 && thermal->temperature > thermal->melting;
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

/* The weight of the pore water [N/m3]. */
static void find_weight(const mpm_simulation *simulation, double weight[3])
{
    for (int a = 0; a < 3; a++)
        weight[a] = simulation->heat.water_density * simulation->settings.gravity[a];
}

mpm_heat_arguments mpm_heat_arguments_of(const mpm_simulation *simulation, double dt)
{
    mpm_heat_arguments of = {
        .materials = simulation->heat.materials,
        .temperature = column_of(simulation, TEMPERATURE),
        .gradient = column_of(simulation, GRADIENT),
        .stretch = column_of(simulation, STRETCH),
        .liquid = column_of(simulation, LIQUID),
        .heated = column_of(simulation, HEATED),
        .kept = simulation->heat.kept,
        .dt = dt,
    };
    if (simulation->settings.pore) {
        of.moves = simulation->settings.scheme.midpoint ? MPM_GRID_MIDPOINT : MPM_GRID_VELOCITY;
        find_weight(simulation, of.weight);
    }
    return of;
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
    joins &= stage == MPM_HEAT_STAGE_MEANS || stage == MPM_HEAT_STAGE_AREAS || stage == MPM_HEAT_STAGE_CHANGES ||
             stage == MPM_HEAT_STAGE_LATENT || stage == MPM_HEAT_STAGE_SORT || stage == MPM_HEAT_STAGE_SYSTEM ||
             stage == MPM_HEAT_STAGE_PRODUCT;
    joins |= heat->open && stage == MPM_HEAT_STAGE_AREAS;
    const mpm_pass described = {.kind = MPM_PASS_HEAT, .joins = joins, .grid = &simulation->grid, .heat = heat};
    mpm_sweeps_pass(simulation, &described);
}

/* Makes room for what the sweeps keep. */
static mpm_status reserve_kept(mpm_simulation *simulation)
{
    struct heat *heat = &simulation->heat;
    const mpm_particles *particles = &simulation->particles;
    mpm_device *device = &simulation->backend->device;
    if (heat->kept_tiles >= particles->tiles)
        return MPM_OK;
    const size_t reals = (size_t)(MPM_HEAT_REALS(particles->dim) * particles->lanes);
    void *fresh = mpm_device_new(device, (size_t)particles->tiles, reals * particles->real_size);
    if (!fresh)
        return MPM_OUT_OF_MEMORY;
    mpm_device_free(device, heat->kept);
    heat->kept = fresh;
    heat->kept_tiles = particles->tiles;
    return MPM_OK;
}

void mpm_heat_end(mpm_simulation *simulation)
{
    mpm_device_free(&simulation->backend->device, simulation->heat.kept);
    mpm_memory_free(&simulation->run.allocator, simulation->heat.surfaces);
    mpm_memory_free(&simulation->run.allocator, simulation->heat.materials);
}

/* Calls `sweep` of the kernels. */
static mpm_measure sweep(mpm_simulation *simulation, mpm_heat_sweep which, double dt)
{
    mpm_heat_arguments arguments = mpm_heat_arguments_of(simulation, dt);
    arguments.sweep = which;
    arguments.solve_dt = solves(simulation) ? dt : 0;
    return mpm_sweeps_heat(simulation, &arguments);
}

/* Has friction given heat to the nodes in this step? */
static bool rubbed(const mpm_simulation *simulation)
{
    const struct stage *stage = &simulation->stage;
    const bool pairs = simulation->settings.contact && stage->friction_work != 0;
    return mpm_heat_is_heat(simulation) && (pairs || stage->report.friction_heat > 0);
}

/* Gives particles their new temperatures. */
static mpm_measure back(mpm_simulation *simulation, mpm_heat_sweep which, const mpm_heat_pass *described)
{
    mpm_heat_arguments arguments = mpm_heat_arguments_of(simulation, described->dt);
    arguments.sweep = which;
    arguments.solve_dt = solves(simulation) ? described->dt : 0;
    arguments.melts = described->melts;
    return mpm_sweeps_heat(simulation, &arguments);
}

/* What flows in a sub-step; with `strain_dt`, what the strain of the step presses out first. */
static void flow(mpm_simulation *simulation, double dt, double strain_dt)
{
    mpm_heat_arguments arguments = mpm_heat_arguments_of(simulation, dt);
    arguments.sweep = MPM_HEAT_FLOW;
    arguments.solve_dt = solves(simulation) ? dt : 0;
    arguments.strain_dt = strain_dt;
    mpm_sweeps_heat(simulation, &arguments);
}

void mpm_heat_push(mpm_simulation *simulation, double dt)
{
    if (!simulation->settings.pore)
        return;
    mpm_heat_arguments arguments = mpm_heat_arguments_of(simulation, 0);
    arguments.sweep = MPM_HEAT_PUSH;
    arguments.strain_dt = dt;
    mpm_sweeps_heat(simulation, &arguments);
}

/* Pore water: what passes over the nodes need; faces of given pressure p have p - rho g . x. */
static void describe_pore(const mpm_simulation *simulation, mpm_heat_pass *described)
{
    double square = 0;
    described->open = simulation->heat.open;
    described->degree = (int)simulation->settings.scheme.degree;
    described->collider_count = simulation->boundary.count;
    find_weight(simulation, described->weight);
    for (int a = 0; a < simulation->settings.dim; a++)
        square += described->weight[a] * described->weight[a];
    for (int face = 0; face < 2 * simulation->settings.dim; face++)
        described->walls[face].value += sqrt(square) * described->walls[face].coefficient;
}

/* The first sweep of a conduction for `time`, or the only one of a step without: what comes without the grid. */
static mpm_measure take_in(mpm_simulation *simulation, mpm_heat_sweep which, const mpm_step *step, double time)
{
    mpm_heat_arguments arguments = mpm_heat_arguments_of(simulation, 0);
    arguments.sweep = which;
    arguments.solve_dt = solves(simulation) ? time : 0;
    arguments.source = simulation->run.forcing.heat;
    arguments.source_dt = step->dt;
    arguments.friction = rubbed(simulation);
    arguments.reports = simulation->reports.blocks;
    const mpm_measure found = mpm_sweeps_heat(simulation, &arguments);
    simulation->heat.coming.book.source = found.heat;
    simulation->heat.coming.book.friction = simulation->stage.report.friction_heat;
    return found;
}

/* The number of equal sub-steps for a time that has passed. */
static double sub_steps(double time, double diffusivity, double dx)
{
    const double wanted = ceil(time * diffusivity / (BOUND * dx * dx) - 1e-9);
    return wanted > 1 ? wanted : 1; /* 1 for NaN */
}

double mpm_heat_bound(const mpm_simulation *simulation)
{
    const double h = simulation->settings.dx, most = simulation->settings.heat ? diffusivity(simulation) : 0;
    const double at_once = simulation->settings.real_size == sizeof(float) ? MOST_AT_ONCE_OF_FLOATS : MOST_AT_ONCE;
    return most > 0 ? (solves(simulation) ? at_once : MOST_SUB_STEPS * BOUND) * h * h / most : INFINITY;
}

/* Notes the particles that a conduction has left with temperatures out of range. */
static mpm_status note_out_of_range(mpm_simulation *simulation, double dt)
{
    const mpm_particles *particles = &simulation->particles;
    uint8_t *flags = mpm_memory_new(&simulation->run.allocator, (size_t)particles->count, 1);
    const mpm_status lost = mpm_replicas_agree(simulation, flags ? MPM_OK : MPM_OUT_OF_MEMORY);
    if (lost) {
        mpm_memory_free(&simulation->run.allocator, flags);
        return lost;
    }
    const int column = column_of(simulation, TEMPERATURE);
    const mpm_particles mapped = mpm_particles_map(particles, 0, particles->columns, MPM_READ);
    double least = INFINITY;
    for (size_t g = 0; g < mapped.group_count; g++) {
        const mpm_group *group = &mapped.groups[g];
        const mpm_thermal *thermal = &simulation->heat.materials[group->material];
        const bool conducts = thermal->specific_heat > 0 &&
                              !mpm_material_law(&simulation->materials[group->material])->rigid;
        const size_t first = (size_t)group->first_tile * (size_t)mapped.lanes;
        for (size_t slot = first; conducts && slot < first + (size_t)(group->tiles * mapped.lanes); slot++) {
            const double T = mpm_real_at(mapped.column[column], slot, mapped.real_size);
            const double mass = mpm_real_at(mapped.column[MPM_COLUMN_MASS], slot, mapped.real_size);
            if (mapped.row[slot] < 0 || !(mass > 0) || (T > thermal->least && isfinite(T)))
                continue;
            flags[mapped.row[slot]] = 1;
            least = fmin(least, T);
        }
    }
    mpm_particles_unmap(particles, 0, particles->columns);
    if (simulation->distributed) {
        mpm_replicas_join_rows(simulation, flags, (size_t)particles->count);
        least = -mpm_team_most(simulation->team, -least);
    }
    mpm_error *error = &simulation->run.error;
    mpm_error_note(error, MPM_UNSTABLE, MPM_TEMPERATURE_LEFT_RANGE, dt);
    mpm_error_add_rows(error, flags, particles->count, 1);
    mpm_memory_free(&simulation->run.allocator, flags);
    error->value[0] = least;
    error->kind = simulation->settings.pore     ? 2
                  : simulation->settings.solute ? 3
                                                : simulation->heat.has_areas || simulation->run.forcing.heat;
    return MPM_OK;
}

/* The same, in all processes. */
static mpm_status refuse(mpm_simulation *simulation, const mpm_step *step)
{
    mpm_replicas_share(simulation);
    return mpm_halo_agree(simulation, note_out_of_range(simulation, step->dt));
}

static void hold(mpm_simulation *simulation, mpm_heat_pass *described, mpm_heat_stage stage)
{
    if (described->surface_count || described->open)
        pass(simulation, described, stage);
}

/* ---- implicit steps --------------------------------------------------------------------------------------------- */

/* The argument of the solver's functions. */
struct solve {
    mpm_simulation *simulation;
    mpm_heat_pass *pass;
};

/* One stage of a solve that finds a product of vectors. */
static double find_product(const struct solve *solve, mpm_heat_stage stage)
{
    pass(solve->simulation, solve->pass, stage);
    return mpm_sweeps_heat_sum(solve->simulation);
}

static double multiply(void *self)
{
    const struct solve *solve = self;
    sweep(solve->simulation, MPM_HEAT_FLOW, solve->pass->dt);
    return find_product(solve, MPM_HEAT_STAGE_PRODUCT);
}

static mpm_krylov_residual advance(void *self, double a)
{
    const struct solve *solve = self;
    solve->pass->factor = a;
    const double norm2 = find_product(solve, MPM_HEAT_STAGE_ADVANCE);
    return (mpm_krylov_residual){norm2, norm2};
}

static void redirect(void *self, double b)
{
    const struct solve *solve = self;
    solve->pass->factor = b;
    pass(solve->simulation, solve->pass, MPM_HEAT_STAGE_REDIRECT);
}

/* Solves where heat has flowed from the present temperatures of the nodes. `largest`: the largest residual so far, of
 * which the solve leaves a small part. */
static void solve_linear(struct solve *solve, double *largest)
{
    mpm_simulation *simulation = solve->simulation;
    const mpm_linear_system system = {solve, multiply, advance, redirect};
    const double first = find_product(solve, MPM_HEAT_STAGE_SYSTEM);
    const double tolerance = simulation->settings.real_size == sizeof(float) ? TOLERANCE_OF_FLOATS : TOLERANCE;
    *largest = first > *largest ? first : *largest;
    const double target = tolerance * tolerance * *largest;
    const mpm_krylov end =
        mpm_krylov_solve(&system, (mpm_krylov_residual){first, first}, target, MOST_PRODUCTS);
    simulation->heat.coming.stagnated |= !(end.residual.norm2 <= target);
    pass(simulation, solve->pass, MPM_HEAT_STAGE_SOLVED);
}

/* Where bodies melt: solves with nodes on their sides of the melting temperature, and sorts them by the solution, until
 * none changes its side. */
static void solve_with_melting(struct solve *solve)
{
    mpm_simulation *simulation = solve->simulation;
    const double dt = solve->pass->dt;
    double changed = 1, largest = 0;
    sweep(simulation, MPM_HEAT_LATENT, dt);
    pass(simulation, solve->pass, MPM_HEAT_STAGE_LATENT);
    for (int k = 0; k < MOST_SORTINGS && changed > 0; k++) {
        sweep(simulation, MPM_HEAT_FLOW, dt);
        solve_linear(solve, &largest);
        sweep(simulation, MPM_HEAT_FLOW, dt);
        changed = find_product(solve, MPM_HEAT_STAGE_SORT);
    }
    simulation->heat.coming.stagnated |= changed > 0;
}

/* Replaces the temperatures of the nodes, from which heat flows, by those at the end of the step. Temperatures that are
 * not finite end the solve, and are found when particles get them. */
static void solve_for_end(mpm_simulation *simulation, mpm_heat_pass *described)
{
    struct solve solve = {simulation, described};
    double largest = 0;
    if (described->melts) {
        solve_with_melting(&solve);
        return;
    }
    sweep(simulation, MPM_HEAT_FLOW, described->dt);
    solve_linear(&solve, &largest);
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

/* The sub-steps for the time that has passed, or one implicit step; adds up what comes through surfaces. */
static mpm_status take_sub_steps(mpm_simulation *simulation, const mpm_step *step, double time, mpm_reason *reason)
{
    struct heat *heat = &simulation->heat;
    mpm_heat_pass described = {.grid = &simulation->grid, .books = simulation->reports.heat_books,
                               .colliders = simulation->boundary.colliders, .surfaces = heat->surfaces,
                               .surface_count = heat->surface_count, .has_areas = heat->has_areas,
                               .sums = simulation->reports.heat_sums, .dx = simulation->settings.dx};
    memcpy(described.walls, heat->walls, sizeof described.walls);
    memcpy(described.lower, simulation->boundary.lower, sizeof described.lower);
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        described.symmetry[axis] = mpm_boundary_symmetry(&simulation->boundary, axis);
    if (simulation->settings.pore)
        describe_pore(simulation, &described);
    const double found = take_in(simulation, MPM_HEAT_BEGIN, step, time).diffusivity;
    const double wanted = sub_steps(time, found, simulation->settings.dx);
    const double count = solves(simulation) ? 1 : wanted, dt = time / count;
    described.dt = dt;
    for (double done = 1; done <= count; done++) {
        pass(simulation, &described, MPM_HEAT_STAGE_MEANS);
        if ((heat->has_areas || described.open) && done == 1) { /* not before: all sweeps share one set of copies */
            sweep(simulation, MPM_HEAT_AREAS, dt);
            pass(simulation, &described, MPM_HEAT_STAGE_AREAS);
        }
        hold(simulation, &described, MPM_HEAT_STAGE_HOLD);
        described.melts = wanted > count && mpm_heat_melts(simulation);
        if (wanted > count)
            solve_for_end(simulation, &described);
        flow(simulation, dt, simulation->settings.pore && done == 1 ? step->dt : 0);
        pass(simulation, &described, MPM_HEAT_STAGE_CHANGES);
        hold(simulation, &described, MPM_HEAT_STAGE_HOLD_CHANGES);
        const mpm_heat_book book = mpm_sweeps_heat_book(simulation);
        heat->coming.book.wall += book.wall;
        heat->coming.book.collider += book.collider;
        if (back(simulation, done < count ? MPM_HEAT_ON : MPM_HEAT_BACK, &described).out_of_range) {
            *reason = MPM_TEMPERATURE_LEFT_RANGE;
            return refuse(simulation, step);
        }
        const mpm_status status =
            done < count ? mpm_halo_agree(simulation, mpm_march_poll(&simulation->run, step->goal)) : MPM_OK;
        if (status)
            return status;
    }
    return MPM_OK;
}

mpm_status mpm_heat_conduct(mpm_simulation *simulation, const mpm_step *step, mpm_reason *reason)
{
    struct heat *heat = &simulation->heat;
    const double h = simulation->settings.dx, most = simulation->settings.heat ? diffusivity(simulation) : 0;
    heat->coming = (struct conduction){.pending = heat->pending};
    if (!simulation->settings.heat)
        return MPM_OK;
    const double time = heat->pending + step->dt;
    const bool waits = most > 0 ? time * most < DUE * h * h * (1 - 1e-9) : !heat->has_areas;
    const bool due = simulation->settings.pore || !waits; /* pore water strains in every step */
    heat->coming.pending = most > 0 && !due ? time : 0;
    if (!due && !heat->heats && !simulation->run.forcing.heat && !rubbed(simulation) && !(heat->follows && !(most > 0)))
        return MPM_OK;
    mpm_status status = mpm_halo_agree(simulation, reserve_kept(simulation));
    if (status)
        return status;
    heat->coming.changes = true;
    if (due)
        status = take_sub_steps(simulation, step, time, reason);
    else if (take_in(simulation, MPM_HEAT_TAKE, step, 0).out_of_range) {
        *reason = MPM_TEMPERATURE_LEFT_RANGE;
        status = refuse(simulation, step);
    }
    if (status || *reason != MPM_NO_REASON)
        mpm_heat_undo(simulation);
    return status;
}

void mpm_heat_undo(mpm_simulation *simulation)
{
    if (simulation->heat.coming.changes)
        sweep(simulation, MPM_HEAT_RESTORE, 0);
    simulation->heat.coming = (struct conduction){.pending = simulation->heat.pending};
}

void mpm_heat_commit(mpm_simulation *simulation)
{
    struct heat *heat = &simulation->heat;
    heat->pending = heat->coming.pending;
    heat->book.wall += heat->coming.book.wall;
    heat->book.collider += heat->coming.book.collider;
    heat->book.source += heat->coming.book.source;
    heat->book.friction += heat->coming.book.friction;
    simulation->run.health[MPM_HEALTH_STAGNATED] += heat->coming.stagnated;
    if (heat->follows && (heat->coming.changes || heat->law_heats))
        sweep(simulation, MPM_HEAT_FOLLOW, 0);
    if (!heat->coming.changes)
        return;
    int count;
    const struct conducted_field *fields = fields_of(simulation, &count);
    for (int which = 0; which < count; which++)
        mpm_store_outdate(&simulation->store, mpm_fields_find(&simulation->store.fields, fields[which].name));
}

void mpm_heat_measure(mpm_simulation *simulation)
{
    if (simulation->settings.heat)
        simulation->heat.total = sweep(simulation, MPM_HEAT_SUM, 0).heat;
}
