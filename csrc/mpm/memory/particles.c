/* SPDX-License-Identifier: MIT */
#include "mpm/memory/particles.h"

#include <string.h>

#include "base/real.h"

mpm_particles mpm_particles_empty(mpm_device *device, int dim, int lanes, int degree, size_t real_size)
{
    mpm_particles particles = {.device = device, .dim = dim, .lanes = lanes, .degree = degree, .real_size = real_size,
                               .columns = mpm_fields_core_columns(dim)};
    for (int c = 0; c < particles.columns; c++)
        particles.width[c] = c == MPM_COLUMN_MASS || c == MPM_COLUMN_VOLUME ? 1 : dim;
    return particles;
}

mpm_particles mpm_particles_empty_like(const mpm_particles *particles)
{
    mpm_particles fresh = *particles;
    memset(fresh.column, 0, sizeof fresh.column);
    fresh.spare_vector = fresh.spare_scalar = NULL;
    fresh.row = fresh.spare_row = NULL;
    fresh.groups = NULL;
    fresh.count = fresh.tiles = 0;
    fresh.capacity = fresh.group_count = 0;
    return fresh;
}

mpm_particles mpm_particles_map(const mpm_particles *particles, int first, int end, mpm_access access)
{
    mpm_particles mapped = *particles;
    memset(mapped.column, 0, sizeof mapped.column);
    mapped.spare_vector = mapped.spare_scalar = NULL;
    mapped.spare_row = NULL;
    for (int c = first; c < end; c++)
        mapped.column[c] = mpm_device_map(particles->device, particles->column[c], access);
    mapped.row = mpm_device_map(particles->device, particles->row, access);
    return mapped;
}

void mpm_particles_unmap(const mpm_particles *particles, int first, int end)
{
    for (int c = first; c < end; c++)
        mpm_device_unmap(particles->device, particles->column[c]);
    mpm_device_unmap(particles->device, particles->row);
}

/* Bytes of a tile of a column. */
static size_t tile_bytes(const mpm_particles *particles, int width)
{
    return (size_t)particles->lanes * (size_t)width * particles->real_size;
}

mpm_status mpm_particles_allocate(mpm_particles *fresh, size_t capacity)
{
    mpm_device *device = fresh->device;
    const size_t rows = (size_t)fresh->lanes * sizeof(int32_t);
    int failed = 0;
    for (int c = 0; c < fresh->columns; c++)
        failed |= !(fresh->column[c] = mpm_device_new(device, capacity, tile_bytes(fresh, fresh->width[c])));
    failed |= !(fresh->spare_vector = mpm_device_new(device, capacity, tile_bytes(fresh, fresh->dim)));
    failed |= !(fresh->spare_scalar = mpm_device_new(device, capacity, tile_bytes(fresh, 1)));
    failed |= !(fresh->spare_row = mpm_device_new(device, capacity, rows));
    failed |= !(fresh->row = mpm_device_new(device, capacity, rows));
    fresh->capacity = capacity;
    return failed ? MPM_OUT_OF_MEMORY : MPM_OK;
}

/* Replaces an array by one of another size with `used` of its bytes and zeros. On error it is as before. */
static int resize(mpm_device *device, void **array, size_t used, size_t count, size_t size)
{
    void *fresh = mpm_device_new_unset(device, count, size);
    if (!fresh)
        return -1;
    char *to = mpm_device_map(device, fresh, MPM_WRITE);
    if (used) {
        memcpy(to, mpm_device_map(device, *array, MPM_READ), used);
        mpm_device_unmap(device, *array);
    }
    memset(to + used, 0, count * size - used);
    mpm_device_unmap(device, fresh);
    mpm_device_free(device, *array);
    *array = fresh;
    return 0;
}

/* Gives all arrays room for `wanted` tiles: one after the other, so that two copies of all particles are never there.
 * An array that is larger than the capacity does no harm if another one cannot be replaced. */
static int resize_all(mpm_particles *particles, size_t wanted)
{
    mpm_device *device = particles->device;
    const size_t tiles = (size_t)particles->tiles, rows = (size_t)particles->lanes * sizeof *particles->row;
    int failed = 0;
    for (int c = 0; !failed && c < particles->columns; c++) {
        const size_t tile = tile_bytes(particles, particles->width[c]);
        failed = resize(device, &particles->column[c], tiles * tile, wanted, tile);
    }
    /* The spare vector may hold the positions of a deferred gather (mpm/synchronize.c). */
    const size_t vector = tile_bytes(particles, particles->dim);
    void *row = particles->row, *spare_row = particles->spare_row;
    failed = failed || resize(device, &particles->spare_vector, tiles * vector, wanted, vector) ||
             resize(device, &particles->spare_scalar, 0, wanted, tile_bytes(particles, 1)) ||
             resize(device, &spare_row, 0, wanted, rows) || resize(device, &row, tiles * rows, wanted, rows);
    particles->row = row;
    particles->spare_row = spare_row;
    return failed;
}

mpm_status mpm_particles_reserve(mpm_particles *particles, size_t extra)
{
    const size_t wanted = (size_t)particles->tiles + extra;
    if (wanted <= particles->capacity)
        return MPM_OK;
    if (resize_all(particles, wanted))
        return MPM_OUT_OF_MEMORY;
    particles->capacity = wanted;
    return MPM_OK;
}

void mpm_particles_trim(mpm_particles *particles)
{
    const size_t tiles = (size_t)particles->tiles, enough = tiles + tiles / 16;
    if (particles->capacity <= enough + tiles / 16)
        return;
    particles->capacity = enough; /* whatever is replaced */
    resize_all(particles, enough);
}

mpm_status mpm_particles_add_columns(mpm_particles *particles, int count, const double *initial)
{
    mpm_device *device = particles->device;
    const int first = particles->columns;
    const size_t slots = particles->capacity * (size_t)particles->lanes;
    for (int c = first; slots && c < first + count; c++)
        if (!(particles->column[c] = mpm_device_new(device, particles->capacity, tile_bytes(particles, 1)))) {
            while (c-- > first) {
                mpm_device_free(device, particles->column[c]);
                particles->column[c] = NULL;
            }
            return MPM_OUT_OF_MEMORY;
        }
    for (int c = first; c < first + count; c++) {
        void *column = mpm_device_map(device, particles->column[c], MPM_WRITE);
        particles->width[c] = 1;
        particles->initial[c] = initial[c - first];
        for (size_t slot = 0; slot < slots; slot++)
            mpm_real_set(column, slot, particles->initial[c], particles->real_size);
        mpm_device_unmap(device, particles->column[c]);
    }
    particles->columns += count;
    return MPM_OK;
}

void mpm_particles_clear(mpm_particles *particles)
{
    mpm_device *device = particles->device;
    for (int c = 0; c < particles->columns; c++)
        mpm_device_free(device, particles->column[c]);
    mpm_device_free(device, particles->row);
    mpm_device_free(device, particles->spare_vector);
    mpm_device_free(device, particles->spare_scalar);
    mpm_device_free(device, particles->spare_row);
    mpm_memory_free(&device->allocator, particles->groups);
    *particles = mpm_particles_empty_like(particles);
}

size_t mpm_particles_bytes(const mpm_particles *particles)
{
    size_t tile =
        tile_bytes(particles, particles->dim + 1) + 2 * (size_t)particles->lanes * sizeof(int32_t); /* spares */
    for (int c = 0; c < particles->columns; c++)
        tile += tile_bytes(particles, particles->width[c]);
    return particles->capacity * tile + particles->group_count * sizeof(mpm_group);
}

/* The values of padding: at rest in the middle of the block, undeformed, without mass. */
static double padding(const mpm_particles *particles, int column, int component)
{
    const int F = mpm_fields_F(particles->dim);
    if (column == MPM_COLUMN_X)
        return mpm_block_side(particles->dim) / 2.0;
    if (column >= mpm_fields_core_columns(particles->dim))
        return particles->initial[column];
    return column - F == component && (component == 0 || particles->has_F) ? 1 : 0;
}

void mpm_particles_pad(mpm_particles *particles, const mpm_group *group)
{
    const int lanes = particles->lanes;
    const size_t slot = (size_t)(group->first_tile + group->tiles - 1) * (size_t)lanes; /* the first of the last tile */
    const int filled = group->count - (group->tiles - 1) * lanes;
    for (int c = 0; c < particles->columns; c++)
        for (int k = 0; k < particles->width[c]; k++) {
            const size_t first = mpm_particles_index(slot, (size_t)k, (size_t)particles->width[c], (size_t)lanes);
            const double value = padding(particles, c, k);
            for (int p = filled; p < lanes; p++)
                mpm_real_set(particles->column[c], first + (size_t)mpm_particles_lane(lanes, p), value,
                             particles->real_size);
        }
    for (int p = filled; p < lanes; p++)
        particles->row[slot + (size_t)mpm_particles_lane(lanes, p)] = -1;
}
