/* SPDX-License-Identifier: MIT
 *
 * The internals of a run by SPH, private to this folder.
 */
#pragma once
#include "sph/sph.h"

/* An array that grows. */
struct sph_array {
    void *data;
    size_t capacity; /* elements */
};

/* The particles of a collider: as described, and where they are. */
struct sph_solid {
    double *points;    /* [count][3] in the collider's own space */
    ptrdiff_t count;
    double extent;     /* largest distance of a point from what it turns about, and a spacing more [m] */
    struct sph_array x, v; /* reals [active][dim] */
    ptrdiff_t active;
};

/* The memory of a cloud. */
struct sph_cloud_memory {
    struct sph_array key, order, page, raw, moved, counts;
};

struct mpm_sph {
    mpm_run run;
    mpm_store store;
    mpm_sph_settings settings;
    const mpm_sph_kernels *kernels;
    mpm_boundary boundary;
    struct sph_solid *solids; /* per collider */
    size_t solid_capacity;

    mpm_material material;
    bool has_material;
    double density, mass, wave_speed; /* at rest [kg/m^d]; of a particle [kg]; at rest [m/s] */

    bool settled;        /* slots, lists, densities and the measure belong to the rows */
    bool record_pending; /* a step was taken, and its record waits for its densities */
    bool J_pending;      /* J in the slots is newer than in the rows */
    mpm_sph_measure measure;
    double collider_dt;  /* the longest step that colliders near the fluid allow [s]; infinite: longer than the rest */
    size_t fastest;      /* the collider that sets it */
    mpm_books books;

    /* sorted particles */
    mpm_sph_cloud clouds[MPM_SPH_MOST_CLOUDS];
    struct sph_cloud_memory *memory; /* per cloud */
    size_t memory_capacity;
    struct sph_array image_x[2], image_v[2], image_row[2], slot_of_row;
    struct sph_array record, place[3], force, drift, rate, next;
    ptrdiff_t slots;
    struct sph_array tiles;
    ptrdiff_t tile_count, tasks;
    ptrdiff_t *task_tile;
    mpm_sph_lists *lists;
    mpm_sph_measure *measures;
    double (*wall_force)[3];
    mpm_sph_error *errors;
    mpm_sph_kick *kicks;
    struct sph_array forces, touches; /* mpm_collider_book [task][collider] */
    mpm_sph_pass pass;
};

enum { MPM_SPH_TASKS = 256 }; /* at most; their number follows from the tiles */

/* Room for `count` elements; the contents are lost. */
static inline mpm_status mpm_sph_grow(mpm_sph *sph, struct sph_array *array, ptrdiff_t count, size_t size)
{
    return mpm_memory_grow(&sph->run.allocator, &array->data, &array->capacity, 0, (size_t)count, size)
               ? MPM_OUT_OF_MEMORY
               : MPM_OK;
}
