/* SPDX-License-Identifier: MIT
 *
 * Strays: particles outside the domain, or out of the range of their law. They exist only after the step is taken. The
 * sweep counts them; this file finds their rows, and those of particles whose law had a step refused.
 */
#include "mpm/strays.h"

#include "base/real.h"
#include "mpm/describe.h"
#include "mpm/halo.h"
#include "mpm/replicas.h"
#include "mpm/state.h"

/* The resident position of a particle [m]. */
static void find_position(const mpm_simulation *simulation, int32_t row, double x[3])
{
    const mpm_particles mapped =
        mpm_particles_map(&simulation->particles, MPM_COLUMN_X, MPM_COLUMN_X + 1, MPM_READ);
    const mpm_particles *p = &mapped;
    const size_t dim = (size_t)p->dim, lanes = (size_t)p->lanes;
    for (size_t g = 0; g < p->group_count; g++)
        for (size_t i = 0; i < (size_t)p->groups[g].tiles * lanes; i++) {
            const size_t slot = (size_t)p->groups[g].first_tile * lanes + i;
            for (size_t a = 0; p->row[slot] == row && a < dim; a++) {
                const size_t at = mpm_particles_index(slot, a, dim, lanes);
                const double cells = mpm_real_at(p->column[MPM_COLUMN_X], at, p->real_size);
                x[a] = simulation->settings.lower[a] +
                       simulation->settings.dx * ((double)p->groups[g].block[a] * mpm_block_side(p->dim) + cells);
            }
        }
    mpm_particles_unmap(&simulation->particles, MPM_COLUMN_X, MPM_COLUMN_X + 1);
    mpm_replicas_join_rows(simulation, x, 3 * sizeof *x);
}

/* Leaves of the flags those of a flaw and a law. */
static void keep_law(const mpm_simulation *simulation, uint8_t *flags, enum mpm_flaw flaw, const mpm_law *law)
{
    enum { KEPT = UINT8_MAX }; /* no flaw */
    const mpm_particles mapped = mpm_particles_map(&simulation->particles, 0, 0, MPM_READ);
    const size_t lanes = (size_t)mapped.lanes, rows = (size_t)simulation->particles.count;
    for (size_t g = 0; g < mapped.group_count; g++) {
        const mpm_group *group = &mapped.groups[g];
        const int32_t *row = mapped.row + (size_t)group->first_tile * lanes;
        const int32_t *end = row + (size_t)group->tiles * lanes;
        for (; row < end && mpm_material_law(&simulation->materials[group->material]) == law; row++)
            if (*row >= 0 && flags[*row] == flaw)
                flags[*row] = KEPT;
    }
    mpm_particles_unmap(&simulation->particles, 0, 0);
    for (size_t row = 0; row < rows; row++)
        flags[row] = flags[row] == KEPT ? (uint8_t)flaw : 0;
    mpm_replicas_join_rows(simulation, flags, rows);
}

/* Adds to the error the particles with a flaw of one law, that of the first of them, and its name. */
static void add_rows_of_law(mpm_simulation *simulation, uint8_t *flags, enum mpm_flaw flaw)
{
    mpm_error *error = &simulation->run.error;
    const ptrdiff_t rows = simulation->particles.count;
    int32_t first = 0;
    while (first < rows && flags[first] != flaw)
        first++;
    if (first == rows)
        return;
    const mpm_law *law = mpm_material_law(&simulation->materials[mpm_replicas_material(simulation, first)]);
    keep_law(simulation, flags, flaw, law);
    error->name = law->name;
    mpm_error_add_rows(error, flags, rows, flaw);
}

/* Notes the particles with a flaw of one law. Is there one? */
static bool note_law(mpm_simulation *simulation, uint8_t *flags, enum mpm_flaw flaw, mpm_reason reason)
{
    mpm_error_note(&simulation->run.error, MPM_UNSTABLE, reason, simulation->run.dt);
    add_rows_of_law(simulation, flags, flaw);
    return simulation->run.error.count > 0;
}

/* Notes the particles whose leaving is an error, and what the first of them touches. Is there one? */
static bool note_escaped(mpm_simulation *simulation, const uint8_t *flags)
{
    mpm_error *error = &simulation->run.error;
    double x[3] = {0};
    mpm_error_note(error, MPM_ESCAPED, MPM_LEFT_DOMAIN, simulation->run.dt);
    mpm_error_add_rows(error, flags, simulation->particles.count, MPM_OUTSIDE);
    if (!error->count)
        return false;
    find_position(simulation, error->rows[0], x);
    error->name = mpm_boundary_touched(&simulation->boundary, simulation->run.time, x);
    return true;
}

static mpm_status find_flags(mpm_simulation *simulation, uint8_t **flags)
{
    *flags = mpm_memory_new(&simulation->run.allocator, (size_t)simulation->particles.count, 1);
    const mpm_status status = mpm_replicas_agree(simulation, *flags ? MPM_OK : MPM_OUT_OF_MEMORY);
    if (status) {
        mpm_memory_free(&simulation->run.allocator, *flags);
        return status;
    }
    const mpm_particles *particles = &simulation->particles;
    const mpm_particles mapped = mpm_particles_map(particles, 0, particles->columns, MPM_READ);
    mpm_sweep sweep = mpm_describe_sweep(simulation);
    sweep.particles = &mapped;
    simulation->kernels->find_faults(&sweep, *flags);
    mpm_particles_unmap(particles, 0, particles->columns);
    mpm_replicas_join_rows(simulation, *flags, (size_t)particles->count);
    return MPM_OK;
}

/* Are particles outside the domain, out of the range of their law, or has a user's law no answer for them? */
static mpm_status name_strays(mpm_simulation *simulation)
{
    uint8_t *flags;
    mpm_status status = find_flags(simulation, &flags);
    if (status)
        return status;
    if (note_law(simulation, flags, MPM_NOT_FINITE, MPM_STATE_NOT_FINITE) ||
        note_law(simulation, flags, MPM_INVERTED, MPM_LEFT_RANGE))
        status = MPM_UNSTABLE;
    else if (note_escaped(simulation, flags))
        status = MPM_ESCAPED;
    else if (simulation->measure.out_of_range &&
             note_law(simulation, flags, MPM_BAD_RESPONSE, MPM_RESPONSE_NOT_FINITE))
        status = MPM_UNSTABLE;
    mpm_memory_free(&simulation->run.allocator, flags);
    return status;
}

/* Whose law gives numbers that are not finite? Velocities of nodes overflow with finite ones, too. */
mpm_status mpm_strays_of_law(mpm_simulation *simulation)
{
    uint8_t *flags;
    const mpm_status status = find_flags(simulation, &flags);
    if (status)
        return status;
    add_rows_of_law(simulation, flags, MPM_BAD_RESPONSE);
    mpm_memory_free(&simulation->run.allocator, flags);
    return MPM_OK;
}

mpm_status mpm_strays_find(mpm_simulation *simulation)
{
    if (!simulation->run.suspect)
        return MPM_OK;
    mpm_replicas_share(simulation);
    const mpm_status status = mpm_halo_agree(simulation, name_strays(simulation));
    simulation->run.suspect = status != MPM_OK;
    return status;
}
