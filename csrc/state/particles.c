/* SPDX-License-Identifier: MIT */
#include "state/particles.h"

void mpm_particles_clear(mpm_particles *particles, const mpm_allocator *allocator)
{
    for (int f = 0; f < MPM_VECTORS; f++)
        mpm_memory_free(allocator, particles->vector[f]);
    mpm_memory_free(allocator, particles->mass);
    mpm_memory_free(allocator, particles->volume);
    mpm_memory_free(allocator, particles->row);
    mpm_memory_free(allocator, particles->spare_vector);
    mpm_memory_free(allocator, particles->spare_scalar);
    mpm_memory_free(allocator, particles->groups);
    *particles = (mpm_particles){.dim = particles->dim, .lanes = particles->lanes, .degree = particles->degree,
                                 .real_size = particles->real_size};
}

size_t mpm_particles_bytes(const mpm_particles *particles)
{
    const size_t vectors = (size_t)mpm_particles_vectors(particles) + 1; /* the spare is one more */
    const size_t per_lane = (vectors * (size_t)particles->dim + 3) * particles->real_size + sizeof(int32_t);
    return particles->capacity * (size_t)particles->lanes * per_lane + particles->group_count * sizeof(mpm_group);
}
