/* SPDX-License-Identifier: MIT */
#include "drawing/triangles.h"

#include <stdbool.h>

/* [pixels]: pixels so near to an edge belong to both of its triangles, so that rounding leaves no gaps. */
#define RIM 1e-3

enum { UNSEEN = -1 };

/* A part of the fine pixels, its last ones excluded. */
struct window {
    ptrdiff_t left, right, top, bottom;
};

/* One triangle. */
struct corner {
    double column, row, value;
};

static void corners_of(const mpm_triangles *triangles, ptrdiff_t k, struct corner corner[3])
{
    for (int i = 0; i < 3; i++) {
        const int32_t point = triangles->corners[3 * k + i];
        corner[i] = (struct corner){triangles->column[point], triangles->row[point], triangles->value[point]};
    }
}

static bool is_finite(const struct corner corner[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += corner[i].column * 0 + corner[i].row * 0; /* NaN for NaN and infinity */
    return sum == 0;
}

static double least(double a, double b, double c)
{
    const double ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static double most(double a, double b, double c)
{
    return -least(-a, -b, -c);
}

/* The first whole number >= `low` and the first one > `high`, within 0 to `end`. */
static void span(double low, double high, ptrdiff_t end, ptrdiff_t *first, ptrdiff_t *last)
{
    low = low - RIM > 0 ? low - RIM : 0;
    high = high + RIM < (double)(end - 1) ? high + RIM : (double)(end - 1);
    *first = low < (double)end ? (ptrdiff_t)low + (low > (double)(ptrdiff_t)low) : end;
    *last = high < 0 ? 0 : (ptrdiff_t)high + 1;
}

/* The pixels that a triangle may cover. */
static struct window window_of(const struct corner corner[3], ptrdiff_t columns, ptrdiff_t rows)
{
    struct window in;
    span(least(corner[0].column, corner[1].column, corner[2].column),
         most(corner[0].column, corner[1].column, corner[2].column), columns, &in.left, &in.right);
    span(least(corner[0].row, corner[1].row, corner[2].row), most(corner[0].row, corner[1].row, corner[2].row), rows,
         &in.top, &in.bottom);
    return in;
}

/* a + b column + c row, positive on the inner side of the edge from one corner to the next: twice the area that a point
 * and the edge enclose. */
struct edge {
    double a, b, c, rim;
};

static struct edge edge_of(struct corner from, struct corner to, double sign)
{
    const double right = sign * (to.column - from.column), down = sign * (to.row - from.row);
    const double size = (right < 0 ? -right : right) + (down < 0 ? -down : down);
    return (struct edge){down * from.column - right * from.row, -down, right, -RIM * size};
}

/* Writes the value of one triangle at the pixels that it covers. */
static void fill(const struct corner corner[3], struct window in, ptrdiff_t columns, int16_t *seen)
{
    const double twice = (corner[1].column - corner[0].column) * (corner[2].row - corner[0].row) -
                         (corner[1].row - corner[0].row) * (corner[2].column - corner[0].column);
    if (twice == 0)
        return;
    const double sign = twice > 0 ? 1 : -1;
    struct edge edge[3]; /* opposite to corner k */
    for (int k = 0; k < 3; k++)
        edge[k] = edge_of(corner[(k + 1) % 3], corner[(k + 2) % 3], sign);
    for (ptrdiff_t r = in.top; r < in.bottom; r++)
        for (ptrdiff_t c = in.left; c < in.right; c++) {
            double share[3];
            bool inside = true;
            for (int k = 0; k < 3; k++) {
                share[k] = edge[k].a + edge[k].b * (double)c + edge[k].c * (double)r;
                inside &= share[k] >= edge[k].rim;
            }
            if (!inside)
                continue;
            double value = 0;
            for (int k = 0; k < 3; k++)
                value += share[k] * corner[k].value / (sign * twice);
            seen[r * columns + c] = (int16_t)(value > 0 ? value < 255 ? value + 0.5 : 255 : 0);
        }
}

/* Colours one image pixel by its fine pixels, the first of which is `seen`. */
static void average(const int16_t *seen, ptrdiff_t columns, int fine, const uint8_t *palette, uint8_t *pixel)
{
    int sum[3] = {0}, samples = 0;
    for (int i = 0; i < fine; i++)
        for (int j = 0; j < fine; j++) {
            const int16_t value = seen[i * columns + j];
            for (int k = 0; k < 3 && value != UNSEEN; k++)
                sum[k] += palette[3 * value + k];
            samples += value != UNSEEN;
        }
    const int all = fine * fine;
    for (int k = 0; k < 3 && samples; k++)
        pixel[k] = (uint8_t)((sum[k] + (all - samples) * pixel[k] + all / 2) / all);
}

mpm_status mpm_triangles_paint(const mpm_allocator *allocator, const mpm_triangles *triangles, int fine,
                               uint8_t *image, ptrdiff_t width, ptrdiff_t height)
{
    const ptrdiff_t columns = width * fine, rows = height * fine;
    int16_t *seen = mpm_memory_new_unset(allocator, (size_t)(columns * rows), sizeof *seen);
    if (!seen)
        return MPM_OUT_OF_MEMORY;
    for (ptrdiff_t i = 0; i < columns * rows; i++)
        seen[i] = UNSEEN;
    for (ptrdiff_t k = 0; k < triangles->count; k++) {
        struct corner corner[3];
        corners_of(triangles, k, corner);
        if (is_finite(corner))
            fill(corner, window_of(corner, columns, rows), columns, seen);
    }
    for (ptrdiff_t r = 0; r < height; r++)
        for (ptrdiff_t c = 0; c < width; c++)
            average(seen + r * fine * columns + c * fine, columns, fine, triangles->palette,
                    image + 3 * (r * width + c));
    mpm_memory_free(allocator, seen);
    return MPM_OK;
}
