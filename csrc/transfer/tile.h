/* SPDX-License-Identifier: MIT
 *
 * One tile of particles in registers: one particle per lane.
 */
#pragma once
#include "materials/law.h"
#include "transfer/kernels.h"

struct tile {
    wide x[DIM];  /* cells from the block's first node */
    wide v[DIM];  /* m/s */
    matrix C;     /* velocity gradient [1/s] */
    struct law_state state;
    wide mass, volume; /* kg, m^d */
    bool mass_changed; /* a particle was taken out: mass and volume must be stored too */
};

INLINE real *tile_vector(const mpm_particles *particles, int field, ptrdiff_t t)
{
    return (real *)particles->vector[field] + t * DIM * WIDTH;
}

/* A fluid's state is J alone, kept where F_00 would be. */
INLINE void tile_load(struct tile *tile, const mpm_particles *particles, ptrdiff_t t, const bool fluid,
                      const bool with_velocity)
{
    tile->mass = wide_load((const real *)particles->mass + t * WIDTH);
    tile->volume = wide_load((const real *)particles->volume + t * WIDTH);
    tile->mass_changed = false;
    /* a law reads only what is its own of it */
    tile->state = (struct law_state){.F = matrix_identity(), .J = wide_set(1), .plastic = wide_set(1)};
    UNROLL for (int a = 0; a < DIM; a++) {
        tile->x[a] = wide_load(tile_vector(particles, MPM_X, t) + a * WIDTH);
        tile->v[a] = with_velocity ? wide_load(tile_vector(particles, MPM_V, t) + a * WIDTH) : wide_set(0);
        UNROLL for (int b = 0; b < DIM; b++)
            tile->C.m[a][b] = with_velocity ? wide_load(tile_vector(particles, MPM_C + a, t) + b * WIDTH) : wide_set(0);
        if (!fluid)
            UNROLL for (int b = 0; b < DIM; b++)
                tile->state.F.m[a][b] = wide_load(tile_vector(particles, MPM_C + DIM + a, t) + b * WIDTH);
    }
    if (fluid)
        tile->state.J = wide_load(tile_vector(particles, MPM_C + DIM, t));
}

/* Where a sweep puts new positions. */
INLINE real *tile_target(const mpm_particles *particles, ptrdiff_t t, const bool lean)
{
    return (real *)(lean ? particles->spare_vector : particles->vector[MPM_X]) + t * DIM * WIDTH;
}

/* Asks for a tile that comes next. The fields are too many streams for the processor to foresee. */
INLINE void tile_prefetch(const mpm_particles *particles, ptrdiff_t t, const bool fluid, const bool lean)
{
    const int F = MPM_C + DIM;
    __builtin_prefetch((const real *)particles->mass + t * WIDTH);
    __builtin_prefetch((const real *)particles->volume + t * WIDTH);
    for (int field = 0; field < F + (fluid ? 1 : DIM); field++)
        for (int a = 0; a < (fluid && field == F ? 1 : DIM); a++)
            if (!lean || field == MPM_X || field >= F)
                __builtin_prefetch(tile_vector(particles, field, t) + a * WIDTH, 1);
    if (lean)
        for (int a = 0; a < DIM; a++)
            __builtin_prefetch(tile_target(particles, t, lean) + a * WIDTH, 1);
}

/* The plastic state, of groups whose law has one. */
INLINE void tile_load_plastic(struct tile *tile, const mpm_particles *particles, ptrdiff_t t)
{
    tile->state.plastic = wide_load((const real *)particles->plastic + t * WIDTH);
}

INLINE void tile_store_plastic(const struct tile *tile, const mpm_particles *particles, ptrdiff_t t)
{
    wide_store((real *)particles->plastic + t * WIDTH, tile->state.plastic);
}

INLINE void tile_store_motion(const struct tile *tile, const mpm_particles *particles, ptrdiff_t t)
{
    UNROLL for (int a = 0; a < DIM; a++) {
        wide_store(tile_vector(particles, MPM_V, t) + a * WIDTH, tile->v[a]);
        UNROLL for (int b = 0; b < DIM; b++)
            wide_store(tile_vector(particles, MPM_C + a, t) + b * WIDTH, tile->C.m[a][b]);
    }
}

INLINE void tile_store(const struct tile *tile, const mpm_particles *particles, ptrdiff_t t, const bool fluid,
                       const bool lean)
{
    UNROLL for (int a = 0; a < DIM; a++) {
        wide_store(tile_target(particles, t, lean) + a * WIDTH, tile->x[a]);
        if (!fluid)
            UNROLL for (int b = 0; b < DIM; b++)
                wide_store(tile_vector(particles, MPM_C + DIM + a, t) + b * WIDTH, tile->state.F.m[a][b]);
    }
    if (fluid)
        wide_store(tile_vector(particles, MPM_C + DIM, t), tile->state.J);
    if (!lean)
        tile_store_motion(tile, particles, t);
    if (__builtin_expect(tile->mass_changed, 0)) {
        wide_store((real *)particles->mass + t * WIDTH, tile->mass);
        wide_store((real *)particles->volume + t * WIDTH, tile->volume);
    }
}
