/* SPDX-License-Identifier: MIT */
#include "sampling/winding.h"

#include <math.h>

#include "base/pool.h"

enum {
    LANES = 32,       /* points that share one loop over faces, so that the loop over points vectorises */
    RENORMALIZE = 64, /* faces between two rescalings: each factor is at least 1/sqrt 2, and 2^-32 is far from 0 */
};

/* The sum of angles so far: full turns, and a complex number whose argument is the rest. With complex products and
 * counted turns, one arctangent per point replaces one per face. */
struct turns {
    double re[LANES], im[LANES], count[LANES];
};

struct job {
    const double *vertices;
    const int32_t *faces;
    ptrdiff_t face_count;
    const double *position;
    ptrdiff_t points;
    double *result;
};

/* Adds one face. Half its solid angle is the argument of re + i im (Van Oosterom & Strackee, IEEE Trans. Biomed. Eng.
 * 30 (1983) 125, eq. 8). */
static void add_face(struct turns *restrict sum, const double *restrict px, const double *restrict py,
                     const double *restrict pz, const double *a, const double *b, const double *c)
{
    for (int l = 0; l < LANES; l++) {
        double ax = a[0] - px[l], ay = a[1] - py[l], az = a[2] - pz[l];
        double bx = b[0] - px[l], by = b[1] - py[l], bz = b[2] - pz[l];
        double cx = c[0] - px[l], cy = c[1] - py[l], cz = c[2] - pz[l];
        double al = sqrt(ax * ax + ay * ay + az * az);
        double bl = sqrt(bx * bx + by * by + bz * bz);
        double cl = sqrt(cx * cx + cy * cy + cz * cz);
        double im = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx);
        double re = al * bl * cl + (ax * bx + ay * by + az * bz) * cl + (bx * cx + by * cy + bz * cz) * al +
                    (cx * ax + cy * ay + cz * az) * bl;
        double size = fabs(re) + fabs(im);
        double scale = size > 0 ? 1 / size : 0;
        im *= scale;
        re = size > 0 ? re * scale : 1; /* on a vertex: no angle */

        double old_re = sum->re[l], old_im = sum->im[l];
        double new_re = old_re * re - old_im * im, new_im = old_re * im + old_im * re;
        /* The sum of two angles in [0, pi] may exceed pi, and of two in (-pi, 0) fall below -pi. The signs of the real
         * parts decide where the imaginary part of the product may have been rounded to zero. */
        int up = (old_im >= 0) & (im >= 0) & ((new_im < 0) | ((old_re < 0) & (re < 0)));
        int down = (old_im < 0) & (im < 0) & (new_im >= 0) & !((old_re > 0) & (re > 0));
        sum->count[l] += (double)(up - down);
        sum->re[l] = new_re;
        sum->im[l] = new_im;
    }
}

static void renormalize(struct turns *sum)
{
    for (int l = 0; l < LANES; l++) {
        double scale = 1 / (fabs(sum->re[l]) + fabs(sum->im[l]));
        sum->re[l] *= scale;
        sum->im[l] *= scale;
    }
}

static void wind_block(void *context, ptrdiff_t block, int thread)
{
    (void)thread;
    const struct job *job = context;
    ptrdiff_t first = block * LANES;
    ptrdiff_t lanes = job->points - first < LANES ? job->points - first : LANES;
    double px[LANES], py[LANES], pz[LANES];
    struct turns sum;
    for (ptrdiff_t l = 0; l < LANES; l++) { /* the last block repeats its last point */
        const double *p = job->position + 3 * (first + (l < lanes ? l : lanes - 1));
        px[l] = p[0], py[l] = p[1], pz[l] = p[2];
        sum.re[l] = 1, sum.im[l] = 0, sum.count[l] = 0;
    }
    for (ptrdiff_t f = 0; f < job->face_count; f++) {
        const int32_t *face = job->faces + 3 * f;
        const double *a = job->vertices + 3 * (ptrdiff_t)face[0];
        const double *b = job->vertices + 3 * (ptrdiff_t)face[1];
        const double *c = job->vertices + 3 * (ptrdiff_t)face[2];
        add_face(&sum, px, py, pz, a, b, c);
        if (f % RENORMALIZE == RENORMALIZE - 1)
            renormalize(&sum);
    }
    for (ptrdiff_t l = 0; l < lanes; l++) /* half angles: a full turn of the sum is w = 1 */
        job->result[first + l] = sum.count[l] + atan2(sum.im[l], sum.re[l]) / (2 * 3.14159265358979323846);
}

mpm_status mpm_winding_numbers(const mpm_allocator *allocator, const double *vertices, const int32_t *faces,
                               ptrdiff_t face_count, const double *position, ptrdiff_t points, double *result,
                               int threads)
{
    mpm_pool *pool;
    mpm_status status = mpm_pool_start(&pool, allocator, threads);
    if (status != MPM_OK)
        return status;
    struct job job = {vertices, faces, face_count, position, points, result};
    mpm_pool_for(pool, wind_block, &job, (points + LANES - 1) / LANES);
    mpm_pool_stop(pool);
    return MPM_OK;
}
