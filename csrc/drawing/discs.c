/* SPDX-License-Identifier: MIT */
#include "drawing/discs.h"

#include <math.h>
#include <stdbool.h>

#include "base/pool.h"

enum { BANDS_PER_THREAD = 4, ROWS_AT_ONCE = 16, LAYERS = 1024, ZOOM = 2 };

/* A disc in the window. */
struct disc {
    int32_t column, row;
    float near;
    int32_t number;
};

/* Squares of 1 << `bits` pixels. No pixel of a square is farther away than its entry of `farthest`, behind which most
 * particles of a body are hidden. `changed`: the entry may be out of date, too far away. */
struct screens {
    int bits;
    ptrdiff_t columns, rows;
    float *farthest;
    uint8_t *changed;
};

/* Discs of one radius. */
struct form {
    int size;                            /* of the discs; -1: the largest */
    int reach;                           /* from the middle to the edge, in whole pixels */
    int half_width[MPM_DISC_RADIUS + 1]; /* of a disc, by rows of pixels from its middle */
    float fall[2 * MPM_DISC_RADIUS + 1]; /* of its surface, by columns from its middle; [reach]: 0 */
};

struct drawing {
    const mpm_discs *discs;
    struct form form;                    /* of the largest */
    struct disc *list;                   /* the discs that reach into the window, roughly the nearest first */
    ptrdiff_t count;
    float *depth;
    int32_t *seen;
    struct screens small, large; /* a large screen is as wide as 1 << ZOOM small ones, and at least as wide as a disc */
    ptrdiff_t bands;
};

static int reach_of(float radius)
{
    return (int)ceilf(radius);
}

/* Rounds without floorf, which is a function call unless the compiler may use an instruction for it. */
static int32_t nearest_pixel(float position)
{
    const int32_t whole = (int32_t)(position + 0.5f);
    return whole - (position + 0.5f < (float)whole);
}

/* Shapes a disc as a paraboloid that falls as far as a sphere at its rim. */
static void shape_disc(struct form *form, float radius, int size)
{
    const int reach = form->reach = reach_of(radius);
    form->size = size;
    for (int k = 0; k <= reach; k++) {
        const float square = radius * radius - (float)(k * k);
        form->half_width[k] = square < 0 ? -1 : (int)sqrtf(square);
        form->fall[reach + k] = form->fall[reach - k] = (float)(k * k) / radius;
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

/* Disc i in the window. */
static struct disc disc_of(const mpm_discs *discs, ptrdiff_t i)
{
    return (struct disc){nearest_pixel(discs->column[i] - (float)discs->left),
                         nearest_pixel(discs->row[i] - (float)discs->top), discs->near ? discs->near[i] : 0,
                         (int32_t)i};
}

/* The layer of disc i; LAYERS if it does not reach into the window. */
static int layer_of(const mpm_discs *discs, float reach, struct layers layers, ptrdiff_t i)
{
    const float near = discs->near ? discs->near[i] : 0;
    const float column = discs->column[i] - (float)discs->left, row = discs->row[i] - (float)discs->top;
    if (!(column > -reach - 1 && column < (float)discs->width + reach && row > -reach - 1 &&
          row < (float)discs->height + reach && near == near))
        return LAYERS;
    const float layer = (layers.nearest - near) * layers.per_unit;
    return layer > 0 ? layer < LAYERS - 1 ? (int)layer : LAYERS - 1 : 0;
}

/* Lists the discs that reach into the window, sorted into layers by counting. */
static void list_discs(struct drawing *drawing, uint16_t *layer)
{
    const mpm_discs *discs = drawing->discs;
    const struct layers layers = find_layers(discs);
    ptrdiff_t first[LAYERS + 2] = {0};
    for (ptrdiff_t i = 0; i < discs->count; i++) {
        layer[i] = (uint16_t)layer_of(discs, (float)drawing->form.reach, layers, i);
        first[layer[i] + 1]++;
    }
    for (int k = 0; k < LAYERS; k++)
        first[k + 1] += first[k];
    drawing->count = first[LAYERS];
    for (ptrdiff_t i = 0; i < discs->count; i++)
        if (layer[i] < LAYERS)
            drawing->list[first[layer[i]]++] = disc_of(discs, i);
}

/* A part of the window, its last pixels included. */
struct part {
    ptrdiff_t left, right, top, bottom;
};

/* The squares of 1 << `bits` that a part lies in. */
static struct part squares(const struct part *part, int bits)
{
    return (struct part){part->left >> bits, part->right >> bits, part->top >> bits, part->bottom >> bits};
}

/* The part of a window of so many columns and rows that square (x, y) of 1 << `bits` pixels covers. */
static struct part square(ptrdiff_t x, ptrdiff_t y, int bits, ptrdiff_t columns, ptrdiff_t rows)
{
    const ptrdiff_t right = (x + 1) << bits, bottom = (y + 1) << bits;
    return (struct part){x << bits, (right < columns ? right : columns) - 1, y << bits,
                         (bottom < rows ? bottom : rows) - 1};
}

/* Does a small screen hide everything that is no nearer than `near`? */
static bool hides(const struct drawing *drawing, float near, ptrdiff_t x, ptrdiff_t y)
{
    const struct screens *small = &drawing->small;
    const ptrdiff_t at = y * small->columns + x, width = drawing->discs->width;
    if (small->farthest[at] >= near || !small->changed[at])
        return small->farthest[at] >= near;
    const struct part pixels = square(x, y, small->bits, width, drawing->discs->height);
    float least = INFINITY;
    for (ptrdiff_t r = pixels.top; r <= pixels.bottom; r++)
        for (ptrdiff_t c = pixels.left; c <= pixels.right; c++)
            least = drawing->depth[r * width + c] < least ? drawing->depth[r * width + c] : least;
    small->changed[at] = 0;
    small->farthest[at] = least;
    return least >= near;
}

/* The same for a large screen. */
static bool hides_all(const struct drawing *drawing, float near, ptrdiff_t x, ptrdiff_t y)
{
    const struct screens *small = &drawing->small, *large = &drawing->large;
    const ptrdiff_t at = y * large->columns + x;
    if (large->farthest[at] >= near || !large->changed[at])
        return large->farthest[at] >= near;
    const struct part part = square(x, y, ZOOM, small->columns, small->rows);
    float least = INFINITY;
    for (ptrdiff_t i = part.top; i <= part.bottom; i++)
        for (ptrdiff_t j = part.left; j <= part.right; j++) {
            if (!hides(drawing, near, j, i))
                return false;
            const float there = small->farthest[i * small->columns + j];
            least = there < least ? there : least;
        }
    large->changed[at] = 0;
    large->farthest[at] = least;
    return true;
}

/* Is a disc that covers this part hidden everywhere? */
static bool is_hidden(const struct drawing *drawing, float near, const struct part *part)
{
    const struct screens *large = &drawing->large;
    const struct part over = squares(part, large->bits);
    /* A disc covers at most two large screens each way. Mostly these hide it. */
    const float *top = large->farthest + over.top * large->columns,
                *bottom = large->farthest + over.bottom * large->columns;
    if ((top[over.left] >= near) & (top[over.right] >= near) & (bottom[over.left] >= near) &
        (bottom[over.right] >= near))
        return true;
    const struct part all = squares(part, drawing->small.bits);
    for (ptrdiff_t y = over.top; y <= over.bottom; y++)
        for (ptrdiff_t x = over.left; x <= over.right; x++) {
            if (hides_all(drawing, near, x, y))
                continue;
            const struct part in = square(x, y, ZOOM, all.right + 1, all.bottom + 1);
            for (ptrdiff_t i = in.top > all.top ? in.top : all.top; i <= in.bottom; i++)
                for (ptrdiff_t j = in.left > all.left ? in.left : all.left; j <= in.right; j++)
                    if (!hides(drawing, near, j, i))
                        return false;
        }
    return true;
}

static void change(const struct screens *screens, const struct part *part)
{
    const struct part over = squares(part, screens->bits);
    for (ptrdiff_t y = over.top; y <= over.bottom; y++)
        for (ptrdiff_t x = over.left; x <= over.right; x++)
            screens->changed[y * screens->columns + x] = 1;
}

/* Draws one line of a disc: `nearness` minus `fall`, wherever that is nearer than the old depth. Compilers vectorise
 * the masks, but would not vectorise branches. */
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

static void draw_disc(const struct drawing *drawing, const struct form *form, const struct disc *disc,
                      const struct part *part)
{
    const ptrdiff_t width = drawing->discs->width, reach = form->reach;
    for (ptrdiff_t y = part->top; y <= part->bottom; y++) {
        const ptrdiff_t down = y < disc->row ? disc->row - y : y - disc->row, half = form->half_width[down];
        const ptrdiff_t from = disc->column - half > 0 ? disc->column - half : 0,
                        to = disc->column + half < width ? disc->column + half + 1 : width;
        if (from < to)
            draw_line(drawing->depth + y * width + from, drawing->seen + y * width + from,
                      form->fall + (reach + from - disc->column), to - from, disc->near - form->fall[reach + down],
                      disc->number);
    }
}

static void empty(const struct screens *screens, ptrdiff_t first, ptrdiff_t last)
{
    for (ptrdiff_t k = first * screens->columns; k < last * screens->columns; k++) {
        screens->farthest[k] = -INFINITY;
        screens->changed[k] = 0;
    }
}

/* Draws the parts of all discs in some rows of pixels, which make up whole large screens. */
static void draw_band(void *context, ptrdiff_t band, int thread)
{
    (void)thread;
    const struct drawing *drawing = context;
    const struct screens *small = &drawing->small, *large = &drawing->large;
    const ptrdiff_t width = drawing->discs->width, height = drawing->discs->height;
    const ptrdiff_t from = large->rows * band / drawing->bands, to = large->rows * (band + 1) / drawing->bands;
    const ptrdiff_t first = from << large->bits, end = to << large->bits, last = end < height ? end : height;
    for (ptrdiff_t k = first * width; k < last * width; k++) {
        drawing->seen[k] = -1;
        drawing->depth[k] = -INFINITY;
    }
    empty(large, from, to);
    empty(small, from << ZOOM, to << ZOOM < small->rows ? to << ZOOM : small->rows);
    const uint8_t *size = drawing->discs->size;
    struct form form = drawing->form;
    for (const struct disc *disc = drawing->list; disc < drawing->list + drawing->count; disc++) {
        if (size && size[disc->number] != form.size)
            shape_disc(&form, mpm_disc_radius(drawing->discs, disc->number), size[disc->number]);
        const ptrdiff_t reach = form.reach;
        const struct part part = {
            .left = disc->column - reach > 0 ? disc->column - reach : 0,
            .right = disc->column + reach < width ? disc->column + reach : width - 1,
            .top = disc->row - reach > first ? disc->row - reach : first,
            .bottom = disc->row + reach < last ? disc->row + reach : last - 1,
        };
        if (part.top > part.bottom || part.left > part.right || is_hidden(drawing, disc->near, &part))
            continue;
        draw_disc(drawing, &form, disc, &part);
        change(small, &part);
        change(large, &part);
    }
}

static bool new_screens(const mpm_allocator *allocator, struct screens *screens, int bits, ptrdiff_t width,
                        ptrdiff_t height)
{
    *screens = (struct screens){.bits = bits, .columns = ((width - 1) >> bits) + 1, .rows = ((height - 1) >> bits) + 1};
    const size_t count = (size_t)screens->columns * (size_t)screens->rows;
    screens->farthest = mpm_memory_new_unset(allocator, count, sizeof *screens->farthest);
    screens->changed = mpm_memory_new_unset(allocator, count, sizeof *screens->changed);
    return screens->farthest && screens->changed;
}

static void free_screens(const mpm_allocator *allocator, struct screens *screens)
{
    mpm_memory_free(allocator, screens->changed);
    mpm_memory_free(allocator, screens->farthest);
}

mpm_status mpm_discs_draw(const mpm_allocator *allocator, const mpm_discs *discs, int32_t *seen, int threads)
{
    struct drawing drawing = {.discs = discs, .bands = threads == 1 ? 1 : BANDS_PER_THREAD * threads, .seen = seen};
    mpm_pool *pool = NULL;
    shape_disc(&drawing.form, discs->radius, -1);
    int bits = ZOOM;
    while (1 << bits < 2 * drawing.form.reach + 1)
        bits++;
    const size_t pixels = (size_t)discs->width * (size_t)discs->height, count = (size_t)discs->count + 1;
    drawing.depth = mpm_memory_new_unset(allocator, pixels, sizeof *drawing.depth);
    drawing.list = mpm_memory_new_unset(allocator, count, sizeof *drawing.list);
    uint16_t *layer = mpm_memory_new_unset(allocator, count, sizeof *layer);
    const bool small = new_screens(allocator, &drawing.small, bits - ZOOM, discs->width, discs->height),
               large = new_screens(allocator, &drawing.large, bits, discs->width, discs->height);
    mpm_status status = MPM_OUT_OF_MEMORY;
    if (drawing.depth && drawing.list && layer && small && large)
        status = mpm_pool_start(&pool, allocator, threads);
    if (!status) {
        list_discs(&drawing, layer);
        mpm_pool_for(pool, draw_band, &drawing, drawing.bands);
        mpm_pool_stop(pool);
    }
    free_screens(allocator, &drawing.large);
    free_screens(allocator, &drawing.small);
    mpm_memory_free(allocator, layer);
    mpm_memory_free(allocator, drawing.list);
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

/* A disc on a row of pixels: its brightness and its colours; `side` is 0 if the pixel shows no disc. */
struct tint {
    int32_t disc;
    ptrdiff_t left, side;
    float zoom; /* from its offsets to those of the largest disc */
    const uint8_t *brightness, *colour;
};

/* An offset in the largest disc. One that is far outside, which a caller's own `seen` may have, stays there. */
static ptrdiff_t zoomed(ptrdiff_t offset, float zoom)
{
    const float there = (float)offset * zoom;
    return there > -4096 && there < 4096 ? nearest_pixel(there) : offset;
}

static struct tint tint_of(const struct painting *painting, int32_t disc, ptrdiff_t row)
{
    const mpm_discs *discs = painting->discs;
    struct tint tint = {.disc = disc};
    if (disc < 0 || disc >= discs->count)
        return tint;
    const ptrdiff_t side = 2 * painting->reach + 1;
    ptrdiff_t down = row - nearest_pixel(discs->row[disc] - (float)discs->top);
    tint.zoom = discs->size ? (float)MPM_DISC_SIZES / (float)(discs->size[disc] + 1) : 1;
    if (discs->size)
        down = zoomed(down, tint.zoom);
    down += painting->reach;
    if (down < 0 || down >= side)
        return tint;
    tint.left = nearest_pixel(discs->column[disc] - (float)discs->left) - painting->reach;
    tint.side = side;
    tint.brightness = painting->ink->brightness + down * side;
    tint.colour = painting->ink->palette + 3 * painting->ink->value[disc];
    return tint;
}

/* The sum over the fine pixels of one image pixel. */
struct sum {
    int colour[3], covered;
};

/* Adds `fine` pixels of a row, from `column` on. Neighbours mostly show the same disc, so one look-up serves them. */
static void add_pixels(const struct painting *painting, ptrdiff_t column, ptrdiff_t row, struct tint *tint,
                       struct sum *sum)
{
    const int32_t *seen = painting->seen + row * painting->discs->width;
    for (ptrdiff_t x = column; x < column + painting->fine; x++) {
        if (seen[x] != tint->disc)
            *tint = tint_of(painting, seen[x], row);
        ptrdiff_t across = x - tint->left;
        if (tint->side && painting->discs->size)
            across = zoomed(across - painting->reach, tint->zoom) + painting->reach;
        if (across < 0 || across >= tint->side)
            continue;
        const uint8_t *colour = tint->colour + (ptrdiff_t)3 * 256 * tint->brightness[across];
        for (int i = 0; i < 3; i++)
            sum->colour[i] += colour[i];
        sum->covered++;
    }
}

static void paint_rows(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    const struct painting *painting = context;
    const mpm_discs *discs = painting->discs;
    const ptrdiff_t fine = painting->fine, first = item * ROWS_AT_ONCE * fine,
                    last = first + ROWS_AT_ONCE * fine < discs->height ? first + ROWS_AT_ONCE * fine : discs->height;
    const int all = painting->fine * painting->fine;
    struct tint tint[MPM_DISC_FINE];
    for (ptrdiff_t row = first; row < last; row += fine) {
        uint8_t *pixel = painting->image + 3 * ((discs->top + row) / fine * painting->image_width + discs->left / fine);
        for (int y = 0; y < fine; y++)
            tint[y] = (struct tint){.disc = -1};
        for (ptrdiff_t column = 0; column < discs->width; column += fine, pixel += 3) {
            struct sum sum = {0};
            for (int y = 0; y < fine; y++)
                add_pixels(painting, column, row + y, &tint[y], &sum);
            for (int i = 0; sum.covered && i < 3; i++)
                pixel[i] = (uint8_t)((sum.colour[i] + (all - sum.covered) * pixel[i] + all / 2) / all);
        }
    }
}

mpm_status mpm_discs_paint(const mpm_allocator *allocator, const mpm_discs *discs, const int32_t *seen,
                           const mpm_disc_ink *ink, int fine, uint8_t *image, ptrdiff_t image_width, int threads)
{
    struct painting painting = {discs, seen, ink, fine, reach_of(discs->radius), image, image_width};
    mpm_pool *pool = NULL;
    const mpm_status status = mpm_pool_start(&pool, allocator, threads);
    if (!status) {
        const ptrdiff_t at_once = (ptrdiff_t)ROWS_AT_ONCE * fine;
        mpm_pool_for(pool, paint_rows, &painting, (discs->height + at_once - 1) / at_once);
        mpm_pool_stop(pool);
    }
    return status;
}
