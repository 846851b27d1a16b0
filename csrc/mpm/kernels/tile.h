/* SPDX-License-Identifier: MIT
 *
 * One tile of particles in registers: one particle per lane.
 */
#pragma once
#include "materials/law.h"
#include "mpm/kernels/kernels.h"

struct tile {
    wide x[DIM];  /* cells from the block's first node */
    wide v[DIM];  /* m/s */
    matrix C;     /* velocity gradient [1/s] */
    struct law_state state;
    wide mass, volume; /* kg, m^d */
    bool mass_changed; /* a particle was frozen: mass and volume must be stored too */
};

INLINE real *tile_vector(const mpm_particles *particles, int column, ptrdiff_t t)
{
    return (real *)particles->column[column] + t * DIM * WIDTH;
}

INLINE real *tile_scalar(const mpm_particles *particles, int column, ptrdiff_t t)
{
    return (real *)particles->column[column] + t * WIDTH;
}

/* Where a law keeps only J, the column of F_00 holds J. */
INLINE void tile_load(struct tile *tile, const mpm_particles *particles, ptrdiff_t t, const bool keeps_J,
                      const bool with_velocity)
{
    tile->mass = wide_load(tile_scalar(particles, MPM_COLUMN_MASS, t));
    tile->volume = wide_load(tile_scalar(particles, MPM_COLUMN_VOLUME, t));
    tile->mass_changed = false;
    tile->state.F = matrix_identity();
    tile->state.J = wide_set(1);
    UNROLL for (int a = 0; a < DIM; a++) {
        tile->x[a] = wide_load(tile_vector(particles, MPM_COLUMN_X, t) + a * WIDTH);
        tile->v[a] = with_velocity ? wide_load(tile_vector(particles, MPM_COLUMN_V, t) + a * WIDTH) : wide_set(0);
        UNROLL for (int b = 0; b < DIM; b++)
            tile->C.m[a][b] =
                with_velocity ? wide_load(tile_vector(particles, MPM_COLUMN_C + a, t) + b * WIDTH) : wide_set(0);
        if (!keeps_J)
            UNROLL for (int b = 0; b < DIM; b++)
                tile->state.F.m[a][b] = wide_load(tile_vector(particles, MPM_COLUMN_C + DIM + a, t) + b * WIDTH);
    }
    if (keeps_J)
        tile->state.J = wide_load(tile_vector(particles, MPM_COLUMN_C + DIM, t));
}

/* Where a sweep stores new positions. */
INLINE real *tile_target(const mpm_particles *particles, ptrdiff_t t, const bool defers)
{
    return (real *)(defers ? particles->spare_vector : particles->column[MPM_COLUMN_X]) + t * DIM * WIDTH;
}

/* Prefetches a later tile. The fields are too many streams for the hardware prefetcher. */
INLINE void tile_prefetch(const mpm_particles *particles, ptrdiff_t t, const bool keeps_J, const bool defers)
{
    const int F = MPM_COLUMN_C + DIM;
    __builtin_prefetch(tile_scalar(particles, MPM_COLUMN_MASS, t));
    __builtin_prefetch(tile_scalar(particles, MPM_COLUMN_VOLUME, t));
    for (int column = 0; column < F + (keeps_J ? 1 : DIM); column++)
        for (int a = 0; a < (keeps_J && column == F ? 1 : DIM); a++)
            if (column == MPM_COLUMN_X || column >= F ||
                (!defers && column != MPM_COLUMN_MASS && column != MPM_COLUMN_VOLUME))
                __builtin_prefetch(tile_vector(particles, column, t) + a * WIDTH, 1);
    if (defers)
        for (int a = 0; a < DIM; a++)
            __builtin_prefetch(tile_target(particles, t, defers) + a * WIDTH, 1);
}

/* Loads the history of a material, whose law declares `components` scalars of it. */
INLINE void tile_load_history(struct tile *tile, const mpm_particles *particles, ptrdiff_t t,
                              const mpm_material *material, const int components)
{
    for (int c = 0; c < components; c++)
        tile->state.history[c] = wide_load(tile_scalar(particles, material->column[c], t));
}

INLINE void tile_store_history(const struct tile *tile, const mpm_particles *particles, ptrdiff_t t,
                               const mpm_material *material, const int components)
{
    for (int c = 0; c < components; c++)
        wide_store(tile_scalar(particles, material->column[c], t), tile->state.history[c]);
}

INLINE void tile_store_motion(const struct tile *tile, const mpm_particles *particles, ptrdiff_t t)
{
    UNROLL for (int a = 0; a < DIM; a++) {
        wide_store(tile_vector(particles, MPM_COLUMN_V, t) + a * WIDTH, tile->v[a]);
        UNROLL for (int b = 0; b < DIM; b++)
            wide_store(tile_vector(particles, MPM_COLUMN_C + a, t) + b * WIDTH, tile->C.m[a][b]);
    }
}

INLINE void tile_store(const struct tile *tile, const mpm_particles *particles, ptrdiff_t t, const bool keeps_J,
                       const bool defers)
{
    UNROLL for (int a = 0; a < DIM; a++) {
        wide_store(tile_target(particles, t, defers) + a * WIDTH, tile->x[a]);
        if (!keeps_J)
            UNROLL for (int b = 0; b < DIM; b++)
                wide_store(tile_vector(particles, MPM_COLUMN_C + DIM + a, t) + b * WIDTH, tile->state.F.m[a][b]);
    }
    if (keeps_J)
        wide_store(tile_vector(particles, MPM_COLUMN_C + DIM, t), tile->state.J);
    if (!defers)
        tile_store_motion(tile, particles, t);
    if (__builtin_expect(tile->mass_changed, 0)) {
        wide_store(tile_scalar(particles, MPM_COLUMN_MASS, t), tile->mass);
        wide_store(tile_scalar(particles, MPM_COLUMN_VOLUME, t), tile->volume);
    }
}
