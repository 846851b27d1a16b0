/* SPDX-License-Identifier: MIT */
#include "sampling/crossings.h"

#include <math.h>

#include "base/pool.h"

enum {
    BLOCK = 1024,      /* points per piece of work */
    MAX_SIDE = 2048,   /* columns along one side */
    MAX_PER_FACE = 16, /* columns per face, on average; if there are more, columns are made wider */
};

/* Faces by column, compressed: those of column k are face[start[k]] … face[start[k + 1] - 1]. */
struct columns {
    double origin[2], inverse[2]; /* inverse width */
    ptrdiff_t side[2];
    ptrdiff_t *start;
    int32_t *face;
};

struct job {
    const double *vertices;
    const int32_t *faces;
    const struct columns *columns;
    const double *position;
    ptrdiff_t points;
    int32_t *result;
};

struct range {
    ptrdiff_t first[2], last[2];
};

/* Monotone in `x`, so that a point of a face is never outside the columns of the face. */
static ptrdiff_t column_of(const struct columns *columns, int axis, double x)
{
    double k = (x - columns->origin[axis]) * columns->inverse[axis];
    if (!(k > 0))
        return 0;
    ptrdiff_t last = columns->side[axis] - 1;
    return k < (double)last ? (ptrdiff_t)k : last;
}

static struct range columns_of_face(const struct columns *columns, const double *vertices,
                                    const int32_t *face)
{
    struct range range;
    for (int axis = 0; axis < 2; axis++) {
        double a = vertices[3 * (ptrdiff_t)face[0] + axis];
        double b = vertices[3 * (ptrdiff_t)face[1] + axis];
        double c = vertices[3 * (ptrdiff_t)face[2] + axis];
        range.first[axis] = column_of(columns, axis, fmin(a, fmin(b, c)));
        range.last[axis] = column_of(columns, axis, fmax(a, fmax(b, c)));
    }
    return range;
}

static ptrdiff_t count_entries(const struct columns *columns, const double *vertices, const int32_t *faces,
                               ptrdiff_t face_count)
{
    ptrdiff_t entries = 0;
    for (ptrdiff_t f = 0; f < face_count; f++) {
        struct range r = columns_of_face(columns, vertices, faces + 3 * f);
        entries += (r.last[0] - r.first[0] + 1) * (r.last[1] - r.first[1] + 1);
    }
    return entries;
}

/* Chooses square columns, about one per face, or wider ones if long faces would cover too many. */
static ptrdiff_t choose_columns(struct columns *columns, const double *vertices, const int32_t *faces,
                                ptrdiff_t face_count)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (ptrdiff_t i = 0; i < 3 * face_count; i++)
        for (int axis = 0; axis < 2; axis++) {
            double x = vertices[3 * (ptrdiff_t)faces[i] + axis];
            low[axis] = fmin(low[axis], x);
            high[axis] = fmax(high[axis], x);
        }
    ptrdiff_t wanted = (ptrdiff_t)ceil(sqrt((double)face_count));
    for (ptrdiff_t side = wanted < MAX_SIDE ? wanted : MAX_SIDE;; side /= 2) {
        for (int axis = 0; axis < 2; axis++) {
            double extent = high[axis] - low[axis];
            columns->side[axis] = extent > 0 && side > 0 ? side : 1;
            columns->origin[axis] = low[axis];
            columns->inverse[axis] = extent > 0 ? (double)columns->side[axis] / extent : 0;
        }
        ptrdiff_t entries = count_entries(columns, vertices, faces, face_count);
        if (entries <= MAX_PER_FACE * face_count || side <= 1)
            return entries;
    }
}

static void fill_columns(struct columns *columns, const double *vertices, const int32_t *faces,
                         ptrdiff_t face_count)
{
    ptrdiff_t *start = columns->start, all = columns->side[0] * columns->side[1];
    for (int pass = 0; pass < 2; pass++) { /* count, then place */
        for (ptrdiff_t f = 0; f < face_count; f++) {
            struct range r = columns_of_face(columns, vertices, faces + 3 * f);
            for (ptrdiff_t i = r.first[0]; i <= r.last[0]; i++)
                for (ptrdiff_t j = r.first[1]; j <= r.last[1]; j++) {
                    ptrdiff_t k = i * columns->side[1] + j;
                    if (pass == 0)
                        start[k + 2]++;
                    else
                        columns->face[start[k + 1]++] = (int32_t)f;
                }
        }
        if (pass == 0)
            for (ptrdiff_t k = 0; k < all; k++)
                start[k + 2] += start[k + 1];
    }
}

/* Does the edge a-b, seen from above, pass the point on the side of +x? +1: upwards (along +y), -1: downwards. The sums
 * begin at the lower end, whatever the direction of the edge, so that both faces of an edge agree. */
static int pass_edge(const double *a, const double *b, double px, double py)
{
    int a_below = a[1] <= py, b_below = b[1] <= py;
    if (a_below == b_below)
        return 0;
    const double *low = a_below ? a : b, *high = a_below ? b : a;
    double x = low[0] + (py - low[1]) / (high[1] - low[1]) * (high[0] - low[0]);
    return x > px ? (a_below ? 1 : -1) : 0;
}

/* The height of the face at (px, py), which is in the face up to rounding. */
static double height(const double *a, const double *b, const double *c, double px, double py)
{
    double ax = a[0] - px, ay = a[1] - py, bx = b[0] - px, by = b[1] - py, cx = c[0] - px, cy = c[1] - py;
    double wa = bx * cy - by * cx, wb = cx * ay - cy * ax, wc = ax * by - ay * bx;
    double sum = wa + wb + wc;
    double low = fmin(a[2], fmin(b[2], c[2])), high = fmax(a[2], fmax(b[2], c[2]));
    double z = sum != 0 ? (wa * a[2] + wb * b[2] + wc * c[2]) / sum : low;
    return fmin(fmax(z, low), high); /* exact for a level face, and within an upright one */
}

static int32_t count_above(const struct job *job, const double *p)
{
    const struct columns *columns = job->columns;
    ptrdiff_t k = column_of(columns, 0, p[0]) * columns->side[1] + column_of(columns, 1, p[1]);
    int32_t count = 0;
    for (ptrdiff_t i = columns->start[k]; i < columns->start[k + 1]; i++) {
        const int32_t *face = job->faces + 3 * (ptrdiff_t)columns->face[i];
        const double *a = job->vertices + 3 * (ptrdiff_t)face[0];
        const double *b = job->vertices + 3 * (ptrdiff_t)face[1];
        const double *c = job->vertices + 3 * (ptrdiff_t)face[2];
        int turn = pass_edge(a, b, p[0], p[1]) + pass_edge(b, c, p[0], p[1]) + pass_edge(c, a, p[0], p[1]);
        if (turn && height(a, b, c, p[0], p[1]) > p[2])
            count += turn;
    }
    return count;
}

static void count_block(void *context, ptrdiff_t block, int thread)
{
    (void)thread;
    const struct job *job = context;
    ptrdiff_t end = (block + 1) * BLOCK < job->points ? (block + 1) * BLOCK : job->points;
    for (ptrdiff_t i = block * BLOCK; i < end; i++)
        job->result[i] = count_above(job, job->position + 3 * i);
}

mpm_status mpm_crossings_count(const mpm_allocator *allocator, const double *vertices, const int32_t *faces,
                               ptrdiff_t face_count, const double *position, ptrdiff_t points,
                               int32_t *result, int threads)
{
    if (face_count > INT32_MAX)
        return MPM_TOO_LARGE;
    struct columns columns;
    ptrdiff_t entries = choose_columns(&columns, vertices, faces, face_count);
    size_t all = (size_t)(columns.side[0] * columns.side[1]);
    columns.start = mpm_memory_new(allocator, all + 2, sizeof(ptrdiff_t));
    columns.face = mpm_memory_new(allocator, (size_t)entries, sizeof(int32_t));
    mpm_pool *pool = NULL;
    mpm_status status = MPM_OUT_OF_MEMORY;
    if (columns.start && columns.face)
        status = mpm_pool_start(&pool, allocator, threads);
    if (status == MPM_OK) {
        fill_columns(&columns, vertices, faces, face_count);
        struct job job = {vertices, faces, &columns, position, points, result};
        mpm_pool_for(pool, count_block, &job, (points + BLOCK - 1) / BLOCK);
    }
    mpm_pool_stop(pool);
    mpm_memory_free(allocator, columns.face);
    mpm_memory_free(allocator, columns.start);
    return status;
}
