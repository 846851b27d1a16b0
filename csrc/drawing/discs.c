/* SPDX-License-Identifier: MIT */
#include "drawing/discs.h"

#include <math.h>
#include <stdbool.h>

#include "base/pool.h"

enum { BANDS_PER_THREAD = 4, ROWS_AT_ONCE = 16 };

struct drawing {
    const mpm_discs *discs;
    ptrdiff_t bands;
    int reach;                             /* from the middle to the edge, in whole pixels */
    int half_width[MPM_DISC_RADIUS + 1];   /* of a disc, so many rows from its middle */
    float fall[2 * MPM_DISC_RADIUS + 1];   /* of its surface, so many columns from its middle; [reach]: 0 */
    float *depth;
    int32_t *seen;
    /* Squares of `side` pixels, which a disc with its centre there covers whole: no pixel of one is farther off than
     * its entry of `screen`. Most particles of a body are hidden behind screens. */
    ptrdiff_t side, columns, rows;
    float *screen;
};

static int reach_of(const mpm_discs *discs)
{
    return (int)ceilf(discs->radius);
}

static ptrdiff_t nearest_pixel(float position)
{
    return (ptrdiff_t)floorf(position + 0.5f);
}

/* A paraboloid that falls as far as a sphere does at its rim. */
static void shape_disc(struct drawing *drawing)
{
    const float radius = drawing->discs->radius;
    const int reach = drawing->reach = reach_of(drawing->discs);
    for (int k = 0; k <= reach; k++) {
        const float square = radius * radius - (float)(k * k);
        drawing->half_width[k] = square < 0 ? -1 : (int)sqrtf(square);
        drawing->fall[reach + k] = drawing->fall[reach - k] = (float)(k * k) / radius;
    }
}

static void raise_screens(const struct drawing *drawing)
{
    const mpm_discs *discs = drawing->discs;
    const float corner = (float)(drawing->side - 1) * (float)(drawing->side - 1) * 2;
    const float fall = 1.001f * corner / discs->radius; /* and no digit less */
    for (ptrdiff_t k = 0; k < drawing->columns * drawing->rows; k++)
        drawing->screen[k] = -INFINITY;
    for (ptrdiff_t disc = 0; discs->near && disc < discs->count; disc++) {
        const float column = discs->column[disc] - (float)discs->left, row = discs->row[disc] - (float)discs->top;
        if (!(column >= 0 && column < (float)discs->width && row >= 0 && row < (float)discs->height))
            continue;
        const ptrdiff_t c = nearest_pixel(column), r = nearest_pixel(row);
        if (c >= discs->width || r >= discs->height)
            continue;
        float *screen = drawing->screen + r / drawing->side * drawing->columns + c / drawing->side;
        const float depth = discs->near[disc] - fall;
        *screen = depth > *screen ? depth : *screen;
    }
}

/* Is a disc that reaches over these pixels of the window nowhere in front? */
static bool is_hidden(const struct drawing *drawing, float near, ptrdiff_t left, ptrdiff_t right, ptrdiff_t top,
                      ptrdiff_t bottom)
{
    const ptrdiff_t side = drawing->side;
    for (ptrdiff_t y = top / side; y <= bottom / side; y++)
        for (ptrdiff_t x = left / side; x <= right / side; x++)
            if (!(drawing->screen[y * drawing->columns + x] > near))
                return false;
    return true;
}

/* One line of a disc: `nearness` less `fall`, wherever that is nearer than what is there. Written with masks, in which
 * compilers find the vectors that they do not find in branches. */
static void draw_line(float *restrict depth, int32_t *restrict seen, const float *restrict fall, ptrdiff_t length,
                      float nearness, int32_t disc)
{
    for (ptrdiff_t k = 0; k < length; k++) {
        const float z = nearness - fall[k], there = depth[k];
        const int32_t nearer = -(int32_t)(z > there);
        depth[k] = z > there ? z : there;
        seen[k] = (seen[k] & ~nearer) | (disc & nearer);
    }
}

/* The rows from `first` to before `last` of the window, of all discs. */
static void draw_band(void *context, ptrdiff_t band, int thread)
{
    (void)thread;
    const struct drawing *drawing = context;
    const mpm_discs *discs = drawing->discs;
    const ptrdiff_t width = discs->width, first = discs->height * band / drawing->bands,
                    last = discs->height * (band + 1) / drawing->bands, reach = drawing->reach;
    for (ptrdiff_t k = first * width; k < last * width; k++) {
        drawing->seen[k] = -1;
        drawing->depth[k] = -INFINITY;
    }
    const float low = (float)(first - reach - 1), high = (float)(last + reach), right = (float)(width + reach);
    for (ptrdiff_t disc = 0; disc < discs->count; disc++) {
        const float column = discs->column[disc] - (float)discs->left, row = discs->row[disc] - (float)discs->top;
        if (!(column > (float)(-reach - 1) && column < right && row > low && row < high))
            continue;
        const ptrdiff_t c = nearest_pixel(column), r = nearest_pixel(row);
        const ptrdiff_t begin = r - reach > first ? r - reach : first, end = r + reach < last ? r + reach + 1 : last;
        const ptrdiff_t left = c - reach > 0 ? c - reach : 0, most = c + reach < width ? c + reach : width - 1;
        const float near = discs->near ? discs->near[disc] : 0;
        if (begin >= end || left > most || is_hidden(drawing, near, left, most, begin, end - 1))
            continue;
        for (ptrdiff_t y = begin; y < end; y++) {
            const ptrdiff_t down = y < r ? r - y : y - r, half = drawing->half_width[down];
            const ptrdiff_t from = c - half > 0 ? c - half : 0, to = c + half < width ? c + half + 1 : width;
            if (from >= to)
                continue;
            draw_line(drawing->depth + y * width + from, drawing->seen + y * width + from,
                      drawing->fall + (reach + from - c), to - from, near - drawing->fall[reach + down], (int32_t)disc);
        }
    }
}

mpm_status mpm_discs_draw(const mpm_allocator *allocator, const mpm_discs *discs, int32_t *seen, int threads)
{
    struct drawing drawing = {.discs = discs, .bands = threads == 1 ? 1 : BANDS_PER_THREAD * threads, .seen = seen};
    mpm_pool *pool = NULL;
    shape_disc(&drawing);
    drawing.side = (ptrdiff_t)(discs->radius / sqrtf(2)); /* its corners lie (side - 1) sqrt(2) apart */
    if (drawing.side < 1)
        drawing.side = 1;
    drawing.columns = (discs->width - 1) / drawing.side + 1;
    drawing.rows = (discs->height - 1) / drawing.side + 1;
    drawing.depth =
        mpm_memory_new_unset(allocator, (size_t)discs->width * (size_t)discs->height, sizeof *drawing.depth);
    drawing.screen =
        mpm_memory_new_unset(allocator, (size_t)drawing.columns * (size_t)drawing.rows, sizeof *drawing.screen);
    mpm_status status = MPM_OUT_OF_MEMORY;
    if (drawing.depth && drawing.screen)
        status = mpm_pool_start(&pool, allocator, threads);
    if (!status) {
        raise_screens(&drawing);
        mpm_pool_for(pool, draw_band, &drawing, drawing.bands);
        mpm_pool_stop(pool);
    }
    mpm_memory_free(allocator, drawing.screen);
    mpm_memory_free(allocator, drawing.depth);
    return status;
}

struct painting {
    const mpm_discs *discs;
    const int32_t *seen;
    const mpm_disc_ink *ink;
    int fine, reach;
    uint8_t *image;
    ptrdiff_t image_width;
};

/* NULL where none of the discs, or not this one, can be seen. */
static const uint8_t *colour_of(const struct painting *painting, int32_t disc, ptrdiff_t column, ptrdiff_t row)
{
    const mpm_discs *discs = painting->discs;
    const ptrdiff_t side = 2 * painting->reach + 1;
    if (disc < 0 || disc >= discs->count)
        return NULL;
    const ptrdiff_t across = column - nearest_pixel(discs->column[disc] - (float)discs->left) + painting->reach,
                    down = row - nearest_pixel(discs->row[disc] - (float)discs->top) + painting->reach;
    if (across < 0 || across >= side || down < 0 || down >= side)
        return NULL;
    const uint8_t brightness = painting->ink->brightness[down * side + across];
    return painting->ink->palette + 3 * (256 * brightness + painting->ink->value[disc]);
}

static void paint_pixel(const struct painting *painting, ptrdiff_t column, ptrdiff_t row, uint8_t *pixel)
{
    const int fine = painting->fine, all = fine * fine;
    int sum[3] = {0}, covered = 0;
    for (ptrdiff_t y = row; y < row + fine; y++)
        for (ptrdiff_t x = column; x < column + fine; x++) {
            const uint8_t *colour = colour_of(painting, painting->seen[y * painting->discs->width + x], x, y);
            if (!colour)
                continue;
            for (int i = 0; i < 3; i++)
                sum[i] += colour[i];
            covered++;
        }
    for (int i = 0; covered && i < 3; i++)
        pixel[i] = (uint8_t)((sum[i] + (all - covered) * pixel[i] + all / 2) / all);
}

static void paint_rows(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    const struct painting *painting = context;
    const mpm_discs *discs = painting->discs;
    const ptrdiff_t fine = painting->fine, first = item * ROWS_AT_ONCE * fine,
                    last = first + ROWS_AT_ONCE * fine < discs->height ? first + ROWS_AT_ONCE * fine : discs->height;
    for (ptrdiff_t row = first; row < last; row += fine) {
        uint8_t *line = painting->image + 3 * ((discs->top + row) / fine * painting->image_width + discs->left / fine);
        for (ptrdiff_t column = 0; column < discs->width; column += fine, line += 3)
            paint_pixel(painting, column, row, line);
    }
}

mpm_status mpm_discs_paint(const mpm_allocator *allocator, const mpm_discs *discs, const int32_t *seen,
                           const mpm_disc_ink *ink, int fine, uint8_t *image, ptrdiff_t image_width, int threads)
{
    struct painting painting = {discs, seen, ink, fine, reach_of(discs), image, image_width};
    mpm_pool *pool = NULL;
    const mpm_status status = mpm_pool_start(&pool, allocator, threads);
    if (!status) {
        const ptrdiff_t at_once = (ptrdiff_t)ROWS_AT_ONCE * fine;
        mpm_pool_for(pool, paint_rows, &painting, (discs->height + at_once - 1) / at_once);
        mpm_pool_stop(pool);
    }
    return status;
}
