/* SPDX-License-Identifier: MIT */
#include "mpm/arrivals.h"

#include <string.h>

#include "mpm/state.h"

/* The first slot in which new particles wait. */
static ptrdiff_t first_waiting(const mpm_simulation *simulation)
{
    const mpm_particles *particles = &simulation->particles;
    if (!particles->group_count)
        return 0;
    const mpm_group *last = &particles->groups[particles->group_count - 1];
    return (ptrdiff_t)(last->first_tile + last->tiles) * particles->lanes;
}

void mpm_arrivals_forget(mpm_simulation *simulation)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    mpm_memory_free(allocator, simulation->waiting.arrivals);
    mpm_memory_free(allocator, simulation->waiting.cell);
    simulation->waiting = (struct waiting){0};
}

void mpm_arrivals_drop(mpm_simulation *simulation)
{
    if (simulation->waiting.cell)
        simulation->particles.tiles = first_waiting(simulation) / simulation->particles.lanes;
    mpm_arrivals_forget(simulation);
}

mpm_status mpm_arrivals_reserve(mpm_simulation *simulation, ptrdiff_t count, ptrdiff_t others, ptrdiff_t left)
{
    mpm_particles *particles = &simulation->particles;
    const ptrdiff_t lanes = particles->lanes, here = simulation->distributed ? count : count + left;
    const ptrdiff_t tiles = (here + lanes - 1) / lanes, waiting = simulation->waiting.count;
    if (count + others > INT32_MAX / 2 - particles->count - waiting - left)
        return MPM_TOO_LARGE;
    /* Groups may have up to `lanes` times as many slots as particles, and an int32_t names a slot. */
    if (particles->tiles + tiles > INT32_MAX / lanes)
        return MPM_TOO_LARGE;
    mpm_status status = mpm_store_reserve(&simulation->store, waiting + count + others + left);
    if (!status && (size_t)(particles->tiles + tiles) > particles->capacity)
        status = mpm_particles_reserve(particles, (size_t)(tiles + (particles->tiles + tiles) / 16));
    return status;
}

/* Notes where a new particle goes. */
static mpm_status note(mpm_simulation *simulation, const mpm_placement *placement)
{
    struct waiting *waiting = &simulation->waiting;
    mpm_arrival *last = waiting->arrival_count ? &waiting->arrivals[waiting->arrival_count - 1] : NULL;
    if (last && last->slot + last->count == placement->slot && last->material == placement->material &&
        !memcmp(last->block, placement->block, sizeof last->block)) {
        last->count++;
        return MPM_OK;
    }
    void *arrivals = waiting->arrivals;
    if (mpm_memory_grow(&simulation->run.allocator, &arrivals, &waiting->arrival_capacity, waiting->arrival_count,
                        waiting->arrival_count + 1, sizeof *waiting->arrivals))
        return MPM_OUT_OF_MEMORY;
    waiting->arrivals = arrivals;
    waiting->arrivals[waiting->arrival_count++] =
        (mpm_arrival){{placement->block[0], placement->block[1], placement->block[2]}, placement->material,
                      (int32_t)placement->slot, 1};
    return MPM_OK;
}

/* Fills tiles behind the others with new particles, which wait there. */
static mpm_status insert(mpm_simulation *simulation, mpm_insertion *insertion)
{
    mpm_particles *particles = &simulation->particles;
    struct waiting *waiting = &simulation->waiting;
    const ptrdiff_t lanes = particles->lanes, tiles = (insertion->count + lanes - 1) / lanes;
    const ptrdiff_t first = particles->tiles * lanes, behind = first - first_waiting(simulation);
    void *cell = waiting->cell;
    if (mpm_memory_grow(&simulation->run.allocator, &cell, &waiting->cell_capacity, (size_t)behind,
                        (size_t)(behind + tiles * lanes), sizeof *waiting->cell))
        return MPM_OUT_OF_MEMORY;
    waiting->cell = cell;
    mpm_particles mapped = mpm_particles_map(particles, 0, particles->columns, MPM_WRITE);
    insertion->particles = &mapped;
    insertion->first_slot = first;
    insertion->first_row = (int32_t)(particles->count + waiting->count);
    memset(mapped.row + first, 0xff, (size_t)(tiles * lanes) * sizeof *mapped.row);
    simulation->kernels->insert(insertion);
    mpm_particles_unmap(particles, 0, particles->columns);
    for (ptrdiff_t i = 0; i < insertion->count; i++) {
        waiting->cell[behind + i] = insertion->placements[i].cell;
        const mpm_status status = note(simulation, &insertion->placements[i]);
        if (status)
            return status;
    }
    particles->tiles += tiles;
    waiting->count += insertion->count;
    return MPM_OK;
}

mpm_status mpm_arrivals_insert(mpm_simulation *simulation, const mpm_insertion *own, ptrdiff_t before,
                               ptrdiff_t after)
{
    enum { PIECE = 1 << 14 }; /* whole tiles */
    const ptrdiff_t d = simulation->settings.dim, end = simulation->waiting.count + before + own->count + after;
    const ptrdiff_t most = own->count < PIECE ? own->count : PIECE;
    mpm_status status = MPM_OK;
    mpm_insertion piece = *own;
    piece.placements = mpm_memory_new_unset(&simulation->run.allocator, (size_t)most, sizeof *piece.placements);
    if (!piece.placements)
        return MPM_OUT_OF_MEMORY;
    simulation->waiting.count += before;
    for (ptrdiff_t i = 0; i < own->count && !status; i += piece.count) {
        piece.count = own->count - i < PIECE ? own->count - i : PIECE;
        piece.x = own->x + i * d;
        piece.v = own->v + i * d;
        piece.C = own->C ? own->C + i * d * d : NULL;
        piece.F = own->F ? own->F + i * d * d : NULL;
        piece.volume = own->volume + i;
        piece.mass = own->mass + i;
        status = insert(simulation, &piece);
    }
    mpm_memory_free(&simulation->run.allocator, piece.placements);
    simulation->waiting.count = end;
    return status;
}
