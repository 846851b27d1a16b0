/* SPDX-License-Identifier: MIT */
#include "sampling/distance.h"

#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "base/vector.h"

enum {
    LEAF = 4,   /* the most faces of a box that is not split */
    CHUNK = 64, /* points per piece of work; each starts from the result of the point before it */
    MOST_WAITING = 64, /* boxes that wait: one per level, and halving 2^31 faces takes 31 levels */
};

/* A box around faces order[first] .. order[first + count]. Its halves are the next box and box `second`. */
struct box {
    double lower[3], upper[3];
    int32_t first, count, second; /* second 0: not split */
};

struct tree {
    const double *vertices;
    const int32_t *faces;
    int32_t *order;
    struct box *boxes;
    int32_t box_count;
};

struct job {
    struct tree tree;
    const double *position;
    ptrdiff_t points;
    double *distance, *weights;
    int32_t *face;
};

/* ---- the tree --------------------------------------------------------------------------------------------------- */

static double corner(const struct tree *tree, int32_t face, int k, int axis)
{
    return tree->vertices[3 * (ptrdiff_t)tree->faces[3 * (ptrdiff_t)face + k] + axis];
}

/* Three times the centroid of a face along an axis. */
static double middle(const struct tree *tree, int32_t face, int axis)
{
    return corner(tree, face, 0, axis) + corner(tree, face, 1, axis) + corner(tree, face, 2, axis);
}

/* Partially sorts faces by centroid along `axis`, so that position `wanted` is right and smaller ones precede
 * (Hoare). */
static void select_face(const struct tree *tree, int32_t first, int32_t last, int32_t wanted, int axis)
{
    int32_t *order = tree->order;
    while (first < last) {
        const double pivot = middle(tree, order[first + (last - first) / 2], axis);
        int32_t i = first, j = last;
        while (i <= j) {
            while (middle(tree, order[i], axis) < pivot)
                i++;
            while (middle(tree, order[j], axis) > pivot)
                j--;
            if (i <= j) {
                const int32_t face = order[i];
                order[i++] = order[j];
                order[j--] = face;
            }
        }
        if (wanted <= j)
            last = j;
        else if (wanted >= i)
            first = i;
        else
            return;
    }
}

static void surround(const struct tree *tree, struct box *box)
{
    for (int a = 0; a < 3; a++) {
        box->lower[a] = INFINITY;
        box->upper[a] = -INFINITY;
    }
    for (int32_t i = box->first; i < box->first + box->count; i++)
        for (int k = 0; k < 3; k++)
            for (int a = 0; a < 3; a++) {
                const double x = corner(tree, tree->order[i], k, a);
                box->lower[a] = fmin(box->lower[a], x);
                box->upper[a] = fmax(box->upper[a], x);
            }
}

/* Builds the boxes in depth-first order; a stack holds the remaining halves. */
static void build(struct tree *tree, int32_t faces)
{
    struct {
        int32_t first, count, parent;
    } waiting[MOST_WAITING];
    int waits = 0;
    for (int32_t f = 0; f < faces; f++)
        tree->order[f] = f;
    waiting[waits].first = 0, waiting[waits].count = faces, waiting[waits++].parent = -1;
    while (waits > 0) {
        const int32_t at = tree->box_count++, parent = waiting[--waits].parent;
        struct box *box = &tree->boxes[at];
        *box = (struct box){.first = waiting[waits].first, .count = waiting[waits].count};
        if (parent >= 0)
            tree->boxes[parent].second = at;
        surround(tree, box);
        if (box->count <= LEAF)
            continue;
        int axis = 0;
        for (int a = 1; a < 3; a++)
            if (box->upper[a] - box->lower[a] > box->upper[axis] - box->lower[axis])
                axis = a;
        const int32_t half = box->count / 2;
        select_face(tree, box->first, box->first + box->count - 1, box->first + half, axis);
        waiting[waits].first = box->first + half, waiting[waits].count = box->count - half,
        waiting[waits++].parent = at;
        waiting[waits].first = box->first, waiting[waits].count = half, waiting[waits++].parent = -1;
    }
}

/* ---- a point and a face ----------------------------------------------------------------------------------------- */

/* The nearest point on the segment from `a` to `b`, as 0 to 1, and its squared distance. */
static double on_edge(const double p[3], const double a[3], const double b[3], double *distance2)
{
    double edge[3], from[3];
    for (int k = 0; k < 3; k++) {
        edge[k] = b[k] - a[k];
        from[k] = p[k] - a[k];
    }
    const double length2 = mpm_dot3(edge, edge), along = mpm_dot3(from, edge);
    const double t = along > 0 && length2 > 0 ? along < length2 ? along / length2 : 1 : 0;
    for (int k = 0; k < 3; k++)
        from[k] -= t * edge[k];
    *distance2 = mpm_dot3(from, from);
    return t;
}

/* The squared distance to a face, and the weights of its corners at the nearest point. */
static double to_face(const struct tree *tree, int32_t face, const double p[3], double weights[3])
{
    const double *c[3];
    double u[3], v[3], from[3], n[3], least = INFINITY;
    for (int k = 0; k < 3; k++)
        c[k] = tree->vertices + 3 * (ptrdiff_t)tree->faces[3 * (ptrdiff_t)face + k];
    for (int a = 0; a < 3; a++) {
        u[a] = c[1][a] - c[0][a];
        v[a] = c[2][a] - c[0][a];
        from[a] = p[a] - c[0][a];
    }
    for (int a = 0; a < 3; a++)
        n[a] = u[(a + 1) % 3] * v[(a + 2) % 3] - u[(a + 2) % 3] * v[(a + 1) % 3];
    const double area2 = mpm_dot3(n, n);
    double second = 0, third = 0; /* barycentric coordinates of the foot, times area2 */
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, d = (a + 2) % 3;
        second += n[a] * (from[b] * v[d] - from[d] * v[b]);
        third += n[a] * (u[b] * from[d] - u[d] * from[b]);
    }
    if (area2 > 0 && second >= 0 && third >= 0 && second + third <= area2) {
        const double height = mpm_dot3(from, n);
        weights[1] = second / area2;
        weights[2] = third / area2;
        weights[0] = 1 - weights[1] - weights[2];
        return height * height / area2;
    }
    for (int k = 0; k < 3; k++) {
        double distance2;
        const double t = on_edge(p, c[k], c[(k + 1) % 3], &distance2);
        if (distance2 < least) {
            least = distance2;
            weights[k] = 1 - t;
            weights[(k + 1) % 3] = t;
            weights[(k + 2) % 3] = 0;
        }
    }
    return least;
}

static double to_box(const struct box *box, const double p[3])
{
    double distance2 = 0;
    for (int a = 0; a < 3; a++) {
        const double beyond = fmax(fmax(box->lower[a] - p[a], p[a] - box->upper[a]), 0);
        distance2 += beyond * beyond;
    }
    return distance2;
}

/* Finds the nearest face, beginning with the guess in `*face`. */
static double find_nearest(const struct tree *tree, const double p[3], int32_t *face, double weights[3])
{
    struct {
        int32_t box;
        double distance2;
    } waiting[MOST_WAITING];
    int waits = 0;
    double least = to_face(tree, *face, p, weights);
    waiting[waits].box = 0, waiting[waits++].distance2 = to_box(&tree->boxes[0], p);
    while (waits > 0) {
        waits--;
        if (!(waiting[waits].distance2 < least))
            continue;
        const int32_t at = waiting[waits].box;
        const struct box *box = &tree->boxes[at];
        if (box->second) {
            const double first = to_box(&tree->boxes[at + 1], p), second = to_box(&tree->boxes[box->second], p);
            const int swap = second < first; /* the nearer half first */
            waiting[waits].box = swap ? at + 1 : box->second;
            waiting[waits++].distance2 = swap ? first : second;
            waiting[waits].box = swap ? box->second : at + 1;
            waiting[waits++].distance2 = swap ? second : first;
            continue;
        }
        for (int32_t i = box->first; i < box->first + box->count; i++) {
            double w[3];
            const double distance2 = to_face(tree, tree->order[i], p, w);
            if (distance2 < least) {
                least = distance2;
                *face = tree->order[i];
                memcpy(weights, w, sizeof w);
            }
        }
    }
    return sqrt(least);
}

static void measure_chunk(void *context, ptrdiff_t chunk, int thread)
{
    (void)thread;
    const struct job *job = context;
    const ptrdiff_t first = chunk * CHUNK, last = first + CHUNK < job->points ? first + CHUNK : job->points;
    int32_t face = 0;
    for (ptrdiff_t i = first; i < last; i++) {
        job->distance[i] = find_nearest(&job->tree, job->position + 3 * i, &face, job->weights + 3 * i);
        job->face[i] = face;
    }
}

mpm_status mpm_distance_to_faces(const mpm_allocator *allocator, const double *vertices, const int32_t *faces,
                                 ptrdiff_t face_count, const double *position, ptrdiff_t points, double *distance,
                                 int32_t *face, double *weights, int threads)
{
    struct job job = {{vertices, faces, NULL, NULL, 0}, position, points, distance, weights, face};
    job.tree.order = mpm_memory_new(allocator, (size_t)face_count, sizeof *job.tree.order);
    job.tree.boxes = mpm_memory_new(allocator, 2 * (size_t)face_count, sizeof *job.tree.boxes);
    mpm_pool *pool = NULL;
    mpm_status status =
        job.tree.order && job.tree.boxes ? mpm_pool_start(&pool, allocator, threads) : MPM_OUT_OF_MEMORY;
    if (!status) {
        build(&job.tree, (int32_t)face_count);
        mpm_pool_for(pool, measure_chunk, &job, (points + CHUNK - 1) / CHUNK);
        mpm_pool_stop(pool);
    }
    mpm_memory_free(allocator, job.tree.boxes);
    mpm_memory_free(allocator, job.tree.order);
    return status;
}
