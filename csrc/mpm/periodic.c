/* SPDX-License-Identifier: MIT
 *
 * Resident positions may lie beyond a periodic face until the next binning, which moves them by the period.
 */
#include "mpm/periodic.h"

#include <string.h>

#include "mpm/describe.h"
#include "mpm/state.h"

enum { X = MPM_COLUMN_X };

/* Component `axis` of the position in `slot`, of mapped particles. */
static char *position_at(const mpm_particles *particles, ptrdiff_t slot, int axis)
{
    const size_t dim = (size_t)particles->dim, lanes = (size_t)particles->lanes;
    return (char *)particles->column[X] +
           mpm_particles_index((size_t)slot, (size_t)axis, dim, lanes) * particles->real_size;
}

/* Merges both lists, ascending in slot. */
static void merge(const mpm_placement *a, size_t a_count, const mpm_placement *b, size_t b_count, mpm_placement *out)
{
    const mpm_placement *a_end = a + a_count, *b_end = b + b_count;
    while (a < a_end || b < b_end)
        *out++ = b == b_end || (a < a_end && a->slot < b->slot) ? *a++ : *b++;
}

mpm_status mpm_periodic_begin(mpm_simulation *simulation, const mpm_team *team, const mpm_placement *placed,
                              size_t placed_count, mpm_periodic_wrap *wrap)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    const mpm_particles *particles = &simulation->particles;
    const size_t dim = (size_t)particles->dim, size = particles->real_size;
    *wrap = (mpm_periodic_wrap){0};
    if (!mpm_boundary_is_periodic(&simulation->boundary))
        return MPM_OK;
    mpm_particles mapped = mpm_particles_map(particles, X, X + 1, MPM_WRITE);
    if (team) {
        const int32_t own = team->transport.own;
        const size_t first = mpm_partition_first_group(&simulation->grid, team, own);
        mapped.group_count = mpm_partition_first_group(&simulation->grid, team, own + 1) - first;
        mapped.groups += first;
    }
    mpm_exchange exchange = mpm_describe_exchange(simulation, &mapped, MPM_FIELD_X, NULL);
    simulation->kernels->wrap(&exchange, placed, placed_count);
    const size_t count = exchange.placement_count;
    if (!count) {
        mpm_particles_unmap(particles, X, X + 1);
        return MPM_OK;
    }
    wrap->placements = mpm_memory_new(allocator, placed_count + count, sizeof *wrap->placements);
    wrap->wrapped = mpm_memory_new(allocator, count, sizeof *wrap->wrapped);
    wrap->saved = mpm_memory_new(allocator, count, dim * size);
    if (!wrap->placements || !wrap->wrapped || !wrap->saved) {
        mpm_particles_unmap(particles, X, X + 1);
        mpm_periodic_end(simulation, wrap, MPM_OK);
        return MPM_OUT_OF_MEMORY;
    }
    exchange.placements = wrap->wrapped;
    exchange.saved = wrap->saved;
    simulation->kernels->wrap(&exchange, placed, placed_count);
    mpm_particles_unmap(particles, X, X + 1);
    merge(placed, placed_count, wrap->wrapped, count, wrap->placements);
    wrap->count = count;
    return MPM_OK;
}

/* Moves the particles back. */
static void restore(const mpm_particles *particles, const mpm_periodic_wrap *wrap)
{
    const mpm_particles mapped = mpm_particles_map(particles, X, X + 1, MPM_WRITE);
    const char *saved = wrap->saved;
    for (size_t i = 0; i < wrap->count; i++)
        for (int axis = 0; axis < particles->dim; axis++, saved += particles->real_size)
            memcpy(position_at(&mapped, wrap->wrapped[i].slot, axis), saved, particles->real_size);
    mpm_particles_unmap(particles, X, X + 1);
}

void mpm_periodic_end(mpm_simulation *simulation, mpm_periodic_wrap *wrap, mpm_status binning)
{
    if (binning && wrap->count)
        restore(&simulation->particles, wrap);
    mpm_memory_free(&simulation->run.allocator, wrap->placements);
    mpm_memory_free(&simulation->run.allocator, wrap->wrapped);
    mpm_memory_free(&simulation->run.allocator, wrap->saved);
    *wrap = (mpm_periodic_wrap){0};
}
