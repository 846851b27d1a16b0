/* SPDX-License-Identifier: MIT */
#include "state/particles.h"

#include <string.h>

mpm_particles mpm_particles_empty_like(const mpm_particles *particles)
{
    return (mpm_particles){.dim = particles->dim,
                           .lanes = particles->lanes,
                           .degree = particles->degree,
                           .real_size = particles->real_size,
                           .has_F = particles->has_F,
                           .has_plastic = particles->has_plastic};
}

mpm_status mpm_particles_allocate(mpm_particles *fresh, const mpm_allocator *allocator, size_t capacity)
{
    const size_t lanes = (size_t)fresh->lanes, vector = lanes * (size_t)fresh->dim * fresh->real_size;
    const size_t scalar = lanes * fresh->real_size;
    int failed = 0;
    for (int f = 0; f < mpm_particles_vectors(fresh); f++)
        failed |= !(fresh->vector[f] = mpm_memory_new(allocator, capacity, vector));
    failed |= !(fresh->spare_vector = mpm_memory_new(allocator, capacity, vector));
    failed |= !(fresh->mass = mpm_memory_new(allocator, capacity, scalar));
    failed |= !(fresh->volume = mpm_memory_new(allocator, capacity, scalar));
    failed |= !(fresh->spare_scalar = mpm_memory_new(allocator, capacity, scalar));
    failed |= !(fresh->spare_row = mpm_memory_new(allocator, capacity, lanes * sizeof(int32_t)));
    if (fresh->has_plastic)
        failed |= !(fresh->plastic = mpm_memory_new(allocator, capacity, scalar));
    failed |= !(fresh->row = mpm_memory_new(allocator, capacity, lanes * sizeof(int32_t)));
    fresh->capacity = capacity;
    return failed ? MPM_OUT_OF_MEMORY : MPM_OK;
}

mpm_status mpm_particles_reserve(mpm_particles *particles, const mpm_allocator *allocator, size_t extra)
{
    const size_t wanted = (size_t)particles->tiles + extra;
    if (wanted <= particles->capacity)
        return MPM_OK;
    mpm_particles fresh = mpm_particles_empty_like(particles);
    fresh.count = particles->count;
    fresh.tiles = particles->tiles;
    if (mpm_particles_allocate(&fresh, allocator, wanted)) {
        mpm_particles_clear(&fresh, allocator);
        return MPM_OUT_OF_MEMORY;
    }
    const size_t lanes = (size_t)particles->lanes * (size_t)particles->tiles;
    for (int f = 0; f < mpm_particles_vectors(particles); f++)
        if (lanes)
            memcpy(fresh.vector[f], particles->vector[f], lanes * (size_t)particles->dim * particles->real_size);
    if (lanes) {
        memcpy(fresh.mass, particles->mass, lanes * particles->real_size);
        memcpy(fresh.volume, particles->volume, lanes * particles->real_size);
        if (particles->has_plastic)
            memcpy(fresh.plastic, particles->plastic, lanes * particles->real_size);
        memcpy(fresh.row, particles->row, lanes * sizeof *fresh.row);
    }
    mpm_group *groups = particles->groups;
    size_t group_count = particles->group_count;
    particles->groups = NULL;
    mpm_particles_clear(particles, allocator);
    fresh.groups = groups;
    fresh.group_count = group_count;
    *particles = fresh;
    return MPM_OK;
}

mpm_status mpm_particles_add_plastic(mpm_particles *particles, const mpm_allocator *allocator)
{
    if (particles->has_plastic)
        return MPM_OK;
    const size_t slots = particles->capacity * (size_t)particles->lanes;
    if (slots && !(particles->plastic = mpm_memory_new(allocator, slots, particles->real_size)))
        return MPM_OUT_OF_MEMORY;
    for (size_t slot = 0; slot < slots; slot++)
        if (particles->real_size == sizeof(float))
            ((float *)particles->plastic)[slot] = 1;
        else
            ((double *)particles->plastic)[slot] = 1;
    particles->has_plastic = true;
    return MPM_OK;
}

void mpm_particles_clear(mpm_particles *particles, const mpm_allocator *allocator)
{
    for (int f = 0; f < MPM_VECTORS; f++)
        mpm_memory_free(allocator, particles->vector[f]);
    mpm_memory_free(allocator, particles->mass);
    mpm_memory_free(allocator, particles->volume);
    mpm_memory_free(allocator, particles->plastic);
    mpm_memory_free(allocator, particles->row);
    mpm_memory_free(allocator, particles->spare_vector);
    mpm_memory_free(allocator, particles->spare_scalar);
    mpm_memory_free(allocator, particles->spare_row);
    mpm_memory_free(allocator, particles->groups);
    *particles = mpm_particles_empty_like(particles);
}

size_t mpm_particles_bytes(const mpm_particles *particles)
{
    const size_t vectors = (size_t)mpm_particles_vectors(particles) + 1; /* the spare is one more */
    const size_t scalars = particles->has_plastic ? 4 : 3; /* mass, volume, the spare */
    const size_t per_lane = (vectors * (size_t)particles->dim + scalars) * particles->real_size + 2 * sizeof(int32_t);
    return particles->capacity * (size_t)particles->lanes * per_lane + particles->group_count * sizeof(mpm_group);
}

/* Sets what is left of the last tile of a group in one array: `first` counts from the group's last tile on. */
static void pad(void *array, size_t first, double value, const mpm_particles *particles, int filled)
{
    for (int p = filled; p < particles->lanes; p++) {
        const size_t at = first + (size_t)mpm_particles_lane(particles->lanes, p);
        if (particles->real_size == sizeof(float))
            ((float *)array)[at] = (float)value;
        else
            ((double *)array)[at] = value;
    }
}

void mpm_particles_pad(mpm_particles *particles, const mpm_group *group)
{
    const int dim = particles->dim, lanes = particles->lanes, F = mpm_particles_F(dim);
    const size_t tile = (size_t)(group->first_tile + group->tiles - 1), scalar = tile * (size_t)lanes;
    const int filled = group->count - (group->tiles - 1) * lanes;
    pad(particles->mass, scalar, 0, particles, filled);
    pad(particles->volume, scalar, 0, particles, filled);
    if (particles->has_plastic)
        pad(particles->plastic, scalar, 1, particles, filled);
    for (int p = filled; p < lanes; p++)
        particles->row[scalar + (size_t)mpm_particles_lane(lanes, p)] = -1;
    for (int f = 0; f < mpm_particles_vectors(particles); f++)
        for (int k = 0; k < dim; k++) {
            const bool one = f - F == k && (k == 0 || particles->has_F);
            const double value = f == MPM_X ? mpm_block_side(dim) / 2.0 : one ? 1 : 0;
            pad(particles->vector[f], (tile * (size_t)dim + (size_t)k) * (size_t)lanes, value, particles, filled);
        }
}
