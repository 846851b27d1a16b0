/* SPDX-License-Identifier: MIT
 *
 * The inside of a run by SPH, shared by the files sph*.c.
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
    double natural_dt;   /* of the last automatic step, without its end [s] */
    mpm_books books;
    const double *body_force; /* during mpm_sph_step_forced: [row][dim] [m/s2] */

    /* sorted particles */
    mpm_sph_cloud clouds[MPM_SPH_MOST_CLOUDS];
    struct sph_cloud_memory *memory; /* per cloud */
    size_t memory_capacity;
    struct sph_array image_x[2], image_v[2], image_row[2], slot_of_row;
    struct sph_array record, place[3], force, drift, next;
    ptrdiff_t slots;
    struct sph_array tiles;
    ptrdiff_t tile_count, tasks;
    ptrdiff_t *task_tile;
    mpm_sph_lists *lists;
    mpm_sph_measure *measures;
    double (*wall_force)[3];
    double *compression;
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

/* sph_dispatch.c */
const mpm_sph_kernels *mpm_sph_dispatch_kernels(const char *isa, int dim, size_t real_size);

/* sph_sort.c: sorts a cloud by cells, once its particles are known. They need the pool. */
mpm_status mpm_sph_sort_cloud(mpm_sph *sph, int cloud);

/* sph_solids.c: the particles of a collider, and where they are now */
mpm_status mpm_sph_solids_make(mpm_sph *sph, size_t collider, const double low[3], const double high[3],
                               const mpm_goal *goal); /* which has the poll */
mpm_status mpm_sph_solids_pose(mpm_sph *sph, size_t collider);
void mpm_sph_solids_state(mpm_sph *sph);            /* sets where colliders are and how they move */
void mpm_sph_solids_limit(mpm_sph *sph, double dt); /* finds collider_dt; `dt`: the bound without colliders [s] */
void mpm_sph_solids_free(mpm_sph *sph, size_t collider);
void mpm_sph_solids_clear(mpm_sph *sph);

/* sph_settle.c: slots, lists, densities and measure of the current rows */
mpm_status mpm_sph_settle_rows(mpm_sph *sph);
void mpm_sph_settle_J(mpm_sph *sph); /* J to the rows */

/* sph_totals.c */
mpm_totals mpm_sph_totals_of(const mpm_sph *sph);
mpm_history_section mpm_sph_totals_section(const void *sph, int index);
void mpm_sph_totals_record(void *sph); /* in the history, where that is due */
void mpm_sph_totals_limit_colliders(mpm_sph *sph); /* finds collider_dt of a settled state */
mpm_stable_dt mpm_sph_totals_bound(const mpm_sph *sph);
double mpm_sph_totals_room(const mpm_sph *sph); /* of compression in an automatic step (sph/kernels/kernels.h) */
double mpm_sph_totals_compression_dt(const mpm_sph *sph); /* by which no particle exceeds it, after the forces */
double mpm_sph_totals_automatic_dt(const mpm_sph *sph);
int32_t mpm_sph_totals_limiting_row(const mpm_sph *sph, mpm_limit limit);

/* sph_sums.c: the sums of mpm_sph_interpolate, for settled rows; need the pool */
void mpm_sph_sums_at(const mpm_sph *sph, ptrdiff_t count, const double *x, mpm_rank rank, bool is_velocity,
                     const double *quantity, double *result);

/* sph_step.c */
mpm_status mpm_sph_step_refresh(void *sph); /* views read in, rows settled */
mpm_status mpm_sph_step_advance(void *sph, const mpm_goal *goal);
void mpm_sph_step_finish(void *sph, mpm_status status, bool moved);
