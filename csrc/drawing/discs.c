/* SPDX-License-Identifier: MIT */
#include "drawing/discs.h"

#include <math.h>
#include <stdbool.h>

#include "base/pool.h"

enum { BANDS_PER_THREAD = 4, ROWS_AT_ONCE = 16, LAYERS = 1024 };

/* A disc in the window. */
struct disc {
    int32_t column, row;
    float near;
    int32_t number;
};

struct drawing {
    const mpm_discs *discs;
    int reach;                           /* from the middle to the edge, in whole pixels */
    int half_width[MPM_DISC_RADIUS + 1]; /* of a disc, so many rows from its middle */
    float fall[2 * MPM_DISC_RADIUS + 1]; /* of its surface, so many columns from its middle; [reach]: 0 */
    struct disc *list;                   /* those that reach into the window, near ones roughly first */
    ptrdiff_t count;
    float *depth;
    int32_t *seen;
    /* Screens: squares of `side` = 1 << `bits` pixels, none of which is farther off than the square's entry of
     * `screen`. Most particles of a body are hidden behind them. `changed`: the entry may be nearer. */
    int bits;
    ptrdiff_t side, columns, rows;
    float *screen;
    uint8_t *changed;
    ptrdiff_t bands;
};

static int reach_of(const mpm_discs *discs)
{
    return (int)ceilf(discs->radius);
}

/* floorf is a call where processors are not known to have an instruction for it. */
static int32_t nearest_pixel(float position)
{
    const int32_t whole = (int32_t)(position + 0.5f);
    return whole - (position + 0.5f < (float)whole);
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

/* Layers of equal thickness from the nearest disc on. */
struct layers {
    float nearest, per_unit;
};

static struct layers find_layers(const mpm_discs *discs)
{
    float low = INFINITY, high = -INFINITY;
    for (ptrdiff_t i = 0; discs->near && i < discs->count; i++) {
        low = discs->near[i] < low ? discs->near[i] : low;
        high = discs->near[i] > high ? discs->near[i] : high;
    }
    return (struct layers){high, high - low > 0 ? (float)LAYERS / (high - low) : 0};
}

/* Disc i in the window, and its layer; -1 if it does not reach into the window. */
static int locate(const struct drawing *drawing, struct layers layers, ptrdiff_t i, struct disc *disc)
{
    const mpm_discs *discs = drawing->discs;
    const float reach = (float)drawing->reach, near = discs->near ? discs->near[i] : 0;
    const float column = discs->column[i] - (float)discs->left, row = discs->row[i] - (float)discs->top;
    if (!(column > -reach - 1 && column < (float)discs->width + reach && row > -reach - 1 &&
          row < (float)discs->height + reach && near == near))
        return -1;
    *disc = (struct disc){nearest_pixel(column), nearest_pixel(row), near, (int32_t)i};
    const float layer = (layers.nearest - near) * layers.per_unit;
    return layer > 0 ? layer < LAYERS - 1 ? (int)layer : LAYERS - 1 : 0;
}

/* Lists the discs that reach into the window, sorted into layers by counting. */
static void list_discs(struct drawing *drawing)
{
    const struct layers layers = find_layers(drawing->discs);
    ptrdiff_t first[LAYERS + 1] = {0};
    struct disc disc;
    for (ptrdiff_t i = 0; i < drawing->discs->count; i++) {
        const int layer = locate(drawing, layers, i, &disc);
        if (layer >= 0)
            first[layer + 1]++;
    }
    for (int layer = 0; layer < LAYERS; layer++)
        first[layer + 1] += first[layer];
    drawing->count = first[LAYERS];
    for (ptrdiff_t i = 0; i < drawing->discs->count; i++) {
        const int layer = locate(drawing, layers, i, &disc);
        if (layer >= 0)
            drawing->list[first[layer]++] = disc;
    }
}

/* A part of the window, its last pixels included. */
struct part {
    ptrdiff_t left, right, top, bottom;
};

static float farthest(const struct drawing *drawing, ptrdiff_t x, ptrdiff_t y)
{
    const ptrdiff_t side = drawing->side, width = drawing->discs->width, height = drawing->discs->height;
    const ptrdiff_t right = (x + 1) * side < width ? (x + 1) * side : width;
    const ptrdiff_t bottom = (y + 1) * side < height ? (y + 1) * side : height;
    float least = INFINITY;
    for (ptrdiff_t r = y * side; r < bottom; r++)
        for (ptrdiff_t c = x * side; c < right; c++)
            least = drawing->depth[r * width + c] < least ? drawing->depth[r * width + c] : least;
    return least;
}

/* Is a disc that reaches over this part nowhere in front? */
static bool is_hidden(const struct drawing *drawing, float near, const struct part *part)
{
    const int bits = drawing->bits;
    for (ptrdiff_t y = part->top >> bits; y <= part->bottom >> bits; y++)
        for (ptrdiff_t x = part->left >> bits; x <= part->right >> bits; x++) {
            const ptrdiff_t at = y * drawing->columns + x;
            if (drawing->screen[at] >= near)
                continue;
            if (!drawing->changed[at])
                return false;
            drawing->changed[at] = 0;
            drawing->screen[at] = farthest(drawing, x, y);
            if (!(drawing->screen[at] >= near))
                return false;
        }
    return true;
}

static void change_screens(const struct drawing *drawing, const struct part *part)
{
    const int bits = drawing->bits;
    for (ptrdiff_t y = part->top >> bits; y <= part->bottom >> bits; y++)
        for (ptrdiff_t x = part->left >> bits; x <= part->right >> bits; x++)
            drawing->changed[y * drawing->columns + x] = 1;
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

static void draw_disc(const struct drawing *drawing, const struct disc *disc, const struct part *part)
{
    const ptrdiff_t width = drawing->discs->width, reach = drawing->reach;
    for (ptrdiff_t y = part->top; y <= part->bottom; y++) {
        const ptrdiff_t down = y < disc->row ? disc->row - y : y - disc->row, half = drawing->half_width[down];
        const ptrdiff_t from = disc->column - half > 0 ? disc->column - half : 0,
                        to = disc->column + half < width ? disc->column + half + 1 : width;
        if (from < to)
            draw_line(drawing->depth + y * width + from, drawing->seen + y * width + from,
                      drawing->fall + (reach + from - disc->column), to - from,
                      disc->near - drawing->fall[reach + down], disc->number);
    }
}

/* Some rows of the window, in whole screens: what lies in them of all discs. */
static void draw_band(void *context, ptrdiff_t band, int thread)
{
    (void)thread;
    const struct drawing *drawing = context;
    const ptrdiff_t width = drawing->discs->width, height = drawing->discs->height, reach = drawing->reach;
    const ptrdiff_t first_screen = drawing->rows * band / drawing->bands,
                    last_screen = drawing->rows * (band + 1) / drawing->bands;
    const ptrdiff_t first = first_screen * drawing->side,
                    last = last_screen * drawing->side < height ? last_screen * drawing->side : height;
    for (ptrdiff_t k = first * width; k < last * width; k++) {
        drawing->seen[k] = -1;
        drawing->depth[k] = -INFINITY;
    }
    for (ptrdiff_t k = first_screen * drawing->columns; k < last_screen * drawing->columns; k++) {
        drawing->screen[k] = -INFINITY;
        drawing->changed[k] = 0;
    }
    for (const struct disc *disc = drawing->list; disc < drawing->list + drawing->count; disc++) {
        const struct part part = {
            .left = disc->column - reach > 0 ? disc->column - reach : 0,
            .right = disc->column + reach < width ? disc->column + reach : width - 1,
            .top = disc->row - reach > first ? disc->row - reach : first,
            .bottom = disc->row + reach < last ? disc->row + reach : last - 1,
        };
        if (part.top > part.bottom || part.left > part.right || is_hidden(drawing, disc->near, &part))
            continue;
        draw_disc(drawing, disc, &part);
        change_screens(drawing, &part);
    }
}

mpm_status mpm_discs_draw(const mpm_allocator *allocator, const mpm_discs *discs, int32_t *seen, int threads)
{
    struct drawing drawing = {.discs = discs, .bands = threads == 1 ? 1 : BANDS_PER_THREAD * threads, .seen = seen};
    mpm_pool *pool = NULL;
    shape_disc(&drawing);
    drawing.bits = discs->radius < 16 ? 2 : 3;
    drawing.side = (ptrdiff_t)1 << drawing.bits;
    drawing.columns = (discs->width - 1) / drawing.side + 1;
    drawing.rows = (discs->height - 1) / drawing.side + 1;
    const size_t pixels = (size_t)discs->width * (size_t)discs->height,
                 screens = (size_t)drawing.columns * (size_t)drawing.rows;
    drawing.depth = mpm_memory_new_unset(allocator, pixels, sizeof *drawing.depth);
    drawing.screen = mpm_memory_new_unset(allocator, screens, sizeof *drawing.screen);
    drawing.changed = mpm_memory_new_unset(allocator, screens, sizeof *drawing.changed);
    drawing.list = mpm_memory_new_unset(allocator, (size_t)discs->count + 1, sizeof *drawing.list);
    mpm_status status = MPM_OUT_OF_MEMORY;
    if (drawing.depth && drawing.screen && drawing.changed && drawing.list)
        status = mpm_pool_start(&pool, allocator, threads);
    if (!status) {
        list_discs(&drawing);
        mpm_pool_for(pool, draw_band, &drawing, drawing.bands);
        mpm_pool_stop(pool);
    }
    mpm_memory_free(allocator, drawing.list);
    mpm_memory_free(allocator, drawing.changed);
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
