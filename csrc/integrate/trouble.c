/* SPDX-License-Identifier: MIT
 *
 * Trouble: what a call that fails says about it. Some of it only particles can show, after the step that has led to it:
 * they lie outside the domain, or out of the range of their law. A sweep counts such particles; here they are named.
 */
#include "integrate/state.h"

mpm_status mpm_trouble_note(mpm_simulation *simulation, mpm_status status, mpm_reason reason, double dt)
{
    simulation->trouble = (mpm_trouble){.reason = reason, .dt = dt};
    return status;
}

static void list_rows(mpm_trouble *trouble, const uint8_t *flags, ptrdiff_t rows, int flag)
{
    for (ptrdiff_t row = 0; row < rows; row++)
        if (flags[row] == flag) {
            if (trouble->row_count < MPM_MOST_TROUBLE_ROWS)
                trouble->rows[trouble->row_count++] = (int32_t)row;
            trouble->count++;
        }
}

/* Where a particle is [m], as the resident state has it. */
static void find_position(const mpm_simulation *simulation, int32_t row, double x[3])
{
    const mpm_particles *p = &simulation->particles;
    const size_t dim = (size_t)p->dim, lanes = (size_t)p->lanes;
    for (size_t g = 0; g < p->group_count; g++)
        for (size_t i = 0; i < (size_t)p->groups[g].tiles * lanes; i++) {
            const size_t slot = (size_t)p->groups[g].first_tile * lanes + i;
            for (size_t a = 0; p->row[slot] == row && a < dim; a++) {
                const size_t at = mpm_particles_index(slot, a, dim, lanes);
                const double cells = p->real_size == sizeof(float) ? (double)((const float *)p->column[MPM_COLUMN_X])[at]
                                                                   : ((const double *)p->column[MPM_COLUMN_X])[at];
                x[a] = simulation->settings.lower[a] +
                       simulation->settings.dx * ((double)p->groups[g].block[a] * mpm_block_side(p->dim) + cells);
            }
        }
}

/* The name of the collider that a particle is in or less than a cell before; NULL if there is none. */
static const char *touched_collider(const mpm_simulation *simulation, int32_t row)
{
    const char *name = NULL;
    double x[3] = {0}, least = simulation->settings.dx;
    if (simulation->collider_count)
        find_position(simulation, row, x);
    for (size_t k = 0; k < simulation->collider_count; k++) {
        const mpm_collider *collider = &simulation->colliders[k];
        const mpm_collider_state now = mpm_collider_state_at(collider, simulation->time, 0);
        const double phi = mpm_collider_read(collider, &now, x, UINT64_MAX).phi;
        if (phi < least) {
            least = phi;
            name = collider->name;
        }
    }
    return name;
}

/* Are particles outside the domain, or out of the range of their law? */
static mpm_status list_trouble(mpm_simulation *simulation)
{
    const ptrdiff_t rows = simulation->particles.count;
    uint8_t *flags = mpm_memory_new(&simulation->allocator, (size_t)rows, 1);
    if (!flags)
        return MPM_OUT_OF_MEMORY;
    const mpm_sweep sweep = mpm_describe_sweep(simulation);
    simulation->kernels->find_trouble(&sweep, flags);
    mpm_trouble *trouble = &simulation->trouble;
    *trouble = (mpm_trouble){.reason = MPM_LEFT_RANGE, .dt = simulation->dt};
    list_rows(trouble, flags, rows, MPM_INVERTED);
    mpm_status status = trouble->count ? MPM_UNSTABLE : MPM_OK;
    if (!status && simulation->settings.on_leave == MPM_LEAVE_RAISE) {
        trouble->reason = MPM_LEFT_DOMAIN;
        list_rows(trouble, flags, rows, MPM_OUTSIDE);
        if (trouble->count) {
            trouble->collider = touched_collider(simulation, trouble->rows[0]);
            status = MPM_ESCAPED;
        }
    }
    mpm_memory_free(&simulation->allocator, flags);
    return status;
}

mpm_status mpm_trouble_find(mpm_simulation *simulation)
{
    if (!simulation->suspect)
        return MPM_OK;
    const mpm_status status = list_trouble(simulation);
    simulation->suspect = status != MPM_OK;
    return status;
}
