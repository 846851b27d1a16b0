/* SPDX-License-Identifier: MIT
 *
 * Strays: particles outside the domain, or out of the range of their law. They exist only after the step is taken. The
 * sweep counts them; this file finds their rows.
 */
#include "base/real.h"
#include "integrate/state.h"

/* The resident position of a particle [m]. */
static void find_position(const mpm_simulation *simulation, int32_t row, double x[3])
{
    const mpm_particles *p = &simulation->particles;
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
}

/* Are particles outside the domain, or out of the range of their law? */
static mpm_status name_strays(mpm_simulation *simulation)
{
    const ptrdiff_t rows = simulation->particles.count;
    uint8_t *flags = mpm_memory_new(&simulation->run.allocator, (size_t)rows, 1);
    if (!flags)
        return MPM_OUT_OF_MEMORY;
    const mpm_sweep sweep = mpm_describe_sweep(simulation);
    simulation->kernels->find_trouble(&sweep, flags);
    mpm_trouble *trouble = &simulation->run.trouble;
    mpm_trouble_note(trouble, MPM_UNSTABLE, MPM_LEFT_RANGE, simulation->run.dt);
    mpm_trouble_add_rows(trouble, flags, rows, MPM_INVERTED);
    mpm_status status = trouble->count ? MPM_UNSTABLE : MPM_OK;
    if (!status) { /* who was clamped or frozen is not outside any more */
        trouble->reason = MPM_LEFT_DOMAIN;
        mpm_trouble_add_rows(trouble, flags, rows, MPM_OUTSIDE);
        if (trouble->count) {
            double x[3] = {0};
            find_position(simulation, trouble->rows[0], x);
            trouble->name = mpm_boundary_touched(&simulation->boundary, simulation->run.time, x);
            status = MPM_ESCAPED;
        }
    }
    mpm_memory_free(&simulation->run.allocator, flags);
    return status;
}

mpm_status mpm_strays_find(mpm_simulation *simulation)
{
    if (!simulation->run.suspect)
        return MPM_OK;
    const mpm_status status = name_strays(simulation);
    simulation->run.suspect = status != MPM_OK;
    return status;
}
