/* SPDX-License-Identifier: MIT */
#include "state/particles.h"

mpm_particles mpm_particles_empty_like(const mpm_particles *particles)
{
    return (mpm_particles){.dim = particles->dim,
                           .lanes = particles->lanes,
                           .degree = particles->degree,
                           .real_size = particles->real_size,
                           .has_F = particles->has_F,
                           .has_plastic = particles->has_plastic};
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
