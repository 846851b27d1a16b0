/* SPDX-License-Identifier: MIT */
#include "drawing/relief.h"

#include <math.h>
#include <stdbool.h>

#include "base/pool.h"

enum { DIRECTIONS = 8, RINGS = 4, TAPS = 5, LEVELS = 5, BLUR_LEVELS = 2, TASK_ROWS = 8 };

#define STEEPEST 3.0f /* slope: at an outline a surface would seem to face away */

/* What a pixel shows. */
enum kind { NOTHING, MATERIAL, GROUND };

/* The fields of a picture; `smooth` ends as the nearness of the surface. */
struct shading {
    const mpm_relief *relief;
    const mpm_relief_light *light;
    uint8_t *kind, *image;
    float *smooth, *across, *steep, *open, *sunny, *spare; /* `across` and `steep` are slopes along rows and columns */
    ptrdiff_t left, right, top, bottom; /* of what can be occluded or shaded; the last ones excluded */
    /* Of the filter that runs. */
    const float *guide;
    float *from, *to;
    int apart;
    bool down, on_ground;
    void (*work)(struct shading *s, ptrdiff_t r, ptrdiff_t c, ptrdiff_t at); /* of a pixel */
};

static int32_t nearest(float position)
{
    const int32_t whole = (int32_t)(position + 0.5f);
    return whole - (position + 0.5f < (float)whole);
}

void mpm_relief_depths(const mpm_discs *discs, const int32_t *seen, int fine, float *depth, float *cover,
                       ptrdiff_t row_length)
{
    const float share = 1.0f / (float)(fine * fine), per_fine = 1.0f / (float)fine;
    for (ptrdiff_t r = 0; r < discs->height; r += fine)
        for (ptrdiff_t c = 0; c < discs->width; c += fine) {
            float most = -INFINITY;
            int count = 0;
            for (ptrdiff_t i = r; i < r + fine; i++)
                for (ptrdiff_t j = c; j < c + fine; j++) {
                    const int32_t disc = seen[i * discs->width + j];
                    if (disc < 0 || disc >= discs->count)
                        continue;
                    const float across = (float)(j + discs->left) - (float)nearest(discs->column[disc]),
                                down = (float)(i + discs->top) - (float)nearest(discs->row[disc]);
                    const float z = discs->near[disc] - (across * across + down * down) / mpm_disc_radius(discs, disc);
                    most = z > most ? z : most;
                    count++;
                }
            const ptrdiff_t at = (discs->top + r) / fine * row_length + (discs->left + c) / fine;
            depth[at] = most * per_fine;
            cover[at] = (float)count * share;
        }
}

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b)
{
    return a > b ? a : b;
}

/* 1 where two pixels show one surface, 0 where one lies far behind the other. */
static float belongs(float difference, float step)
{
    const float t = difference / step, rest = 1 - t * t;
    return rest > 0 ? rest * rest : 0;
}

/* What each pixel shows, and how near it is. */
static void sort_rows(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    struct shading *s = context;
    const mpm_relief *relief = s->relief;
    const ptrdiff_t first = item * TASK_ROWS, last = smaller(first + TASK_ROWS, relief->height);
    for (ptrdiff_t k = first * relief->width; k < last * relief->width; k++) {
        const float ground = relief->ground ? relief->ground[k] : -INFINITY;
        const bool material = relief->cover[k] > 0;
        s->kind[k] = material ? MATERIAL : ground > -INFINITY ? GROUND : NOTHING;
        s->smooth[k] = material ? relief->depth[k] : ground;
        s->open[k] = s->sunny[k] = 1;
    }
}

/* Is a share 1 here and at the four taps around? Then filtering leaves it 1: most of the ground is so. */
static bool far_from_shade(const float *share, ptrdiff_t stride, ptrdiff_t far, ptrdiff_t low, ptrdiff_t high)
{
    const ptrdiff_t half = far / 2 * stride, whole = far * stride;
    return far <= low && far <= high && (share[0] == 1) & (share[-half] == 1) & (share[half] == 1) &
                                            (share[-whole] == 1) & (share[whole] == 1);
}

/* One pass of an edge-avoiding filter of five taps, `apart` pixels from each other (Dammertz et al. 2010), along rows
 * or columns; pixels weigh less the farther away their surface is. */
static void filter_rows(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    static const float weight[] = {6, 4, 1};
    const struct shading *s = context;
    const ptrdiff_t width = s->relief->width, stride = s->down ? width : 1;
    const ptrdiff_t first = s->top + item * TASK_ROWS, last = smaller(first + TASK_ROWS, s->bottom);
    const float *from = s->from, *near = s->guide ? s->guide : from;
    for (ptrdiff_t r = first; r < last; r++)
        for (ptrdiff_t c = s->left; c < s->right; c++) {
            const ptrdiff_t at = r * width + c, low = s->down ? r - s->top : c - s->left,
                            high = s->down ? s->bottom - 1 - r : s->right - 1 - c;
            const enum kind kind = s->kind[at];
            s->to[at] = from[at];
            if (kind == NOTHING || (kind == GROUND && !s->on_ground))
                continue;
            if (kind == GROUND && far_from_shade(from + at, stride, 2 * (ptrdiff_t)s->apart, low, high))
                continue;
            float sum = weight[0] * from[at], total = weight[0];
            for (int k = 1; k <= 2; k++) {
                const ptrdiff_t far = (ptrdiff_t)k * s->apart, before = at - far * stride, after = at + far * stride;
                /* A tilted plane is one surface, however far apart the taps are. */
                const float step = s->light->step * (1 + 0.5f * (float)far);
                float back = far <= low && s->kind[before] == kind ? belongs(near[before] - near[at], step) : 0;
                float ahead = far <= high && s->kind[after] == kind ? belongs(near[after] - near[at], step) : 0;
                if (!s->guide) /* pairs of equal weight keep a plane as it is, also at its edges */
                    back = ahead = back * ahead;
                sum += weight[k] * ((back > 0 ? back * from[before] : 0) + (ahead > 0 ? ahead * from[after] : 0));
                total += weight[k] * (back + ahead);
            }
            s->to[at] = sum / total;
        }
}

/* Filters a field with taps that are 1, 2, 4, ... pixels apart; `guide` tells surfaces apart, NULL: the field itself
 * does. The ground is flat: nearness and slopes stay as they are on it. */
static void filter(mpm_pool *pool, struct shading *s, float *field, const float *guide, int levels, bool on_ground)
{
    s->guide = guide;
    s->on_ground = on_ground;
    for (int level = 0; level < levels; level++)
        for (int pass = 0; pass < 2; pass++) {
            s->apart = 1 << level;
            s->down = pass == 1;
            s->from = pass ? s->spare : field;
            s->to = pass ? field : s->spare;
            mpm_pool_for(pool, filter_rows, s, (s->bottom - s->top + TASK_ROWS - 1) / TASK_ROWS);
        }
}

/* How many levels make up a standard deviation: the variance of one is the square of its distance. */
static int levels_of(float spread)
{
    int levels = 0;
    for (float variance = 0, apart = 1; levels < LEVELS && variance + apart * apart / 2 < spread * spread; levels++) {
        variance += apart * apart;
        apart *= 2;
    }
    return levels;
}

/* The slope of the surface along a stride: of the neighbours that belong to it. */
static float slope(const struct shading *s, ptrdiff_t at, ptrdiff_t place, ptrdiff_t end, ptrdiff_t stride)
{
    float rise[2] = {0, 0};
    int there[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
        const ptrdiff_t k = side ? 1 : -1;
        if (place + k < 0 || place + k >= end || s->kind[at + k * stride] != s->kind[at])
            continue;
        rise[side] = (s->smooth[at + k * stride] - s->smooth[at]) * (float)k;
        there[side] = 1;
    }
    if (there[0] && there[1]) { /* at an edge, the flatter side */
        const float a = fabsf(rise[0]), b = fabsf(rise[1]), limit = s->light->step;
        if (a > limit || b > limit)
            return a < b ? rise[0] : rise[1];
        return (rise[0] + rise[1]) / 2;
    }
    return there[0] ? rise[0] : rise[1];
}

static float held(float slope)
{
    return slope > STEEPEST ? STEEPEST : slope < -STEEPEST ? -STEEPEST : slope;
}

static void find_slope(struct shading *s, ptrdiff_t r, ptrdiff_t c, ptrdiff_t at)
{
    const ptrdiff_t width = s->relief->width;
    s->across[at] = s->kind[at] == NOTHING ? 0 : held(slope(s, at, c, width, 1));
    s->steep[at] = s->kind[at] == NOTHING ? 0 : held(slope(s, at, r, s->relief->height, width));
}

struct normal {
    float right, down, near;
};

/* Where a pixel would be if the projection were parallel. */
static float straight(float at, float centre, float per_distance, float nearness)
{
    return at - (at - centre) * (per_distance * nearness);
}

/* The cross product of the derivatives of (column, row, nearness), as they are in space, by column and by row. */
static struct normal normal_of(const struct shading *s, ptrdiff_t r, ptrdiff_t c)
{
    const ptrdiff_t at = r * s->relief->width + c;
    const float *lens = s->light->lens;
    const float across = s->across[at], down = s->steep[at];
    const float near = 1 - lens[2] * (s->smooth[at] + ((float)c - lens[0]) * across + ((float)r - lens[1]) * down);
    const float length = sqrtf(near * near + across * across + down * down);
    return (struct normal){-across / length, -down / length, near / length};
}

static float dot(struct normal n, const float v[3])
{
    return n.right * v[0] + n.down * v[1] + n.near * v[2];
}

/* Share of the sky that is open: in eight directions, the steepest rise over the tangent plane, by its distance. */
static float openness(const struct shading *s, ptrdiff_t r, ptrdiff_t c, struct normal n)
{
    static const float half = 0.70710678f;
    static const float ways[DIRECTIONS][2] = {{1, 0},  {half, half},   {0, 1},  {-half, half},
                                              {-1, 0}, {-half, -half}, {0, -1}, {half, -half}};
    static const float rings[RINGS] = {0.12f, 0.3f, 0.58f, 1};
    const ptrdiff_t width = s->relief->width, height = s->relief->height;
    const float here = s->smooth[r * width + c], reach = s->light->reach, *lens = s->light->lens;
    const float column = straight((float)c, lens[0], lens[2], here), row = straight((float)r, lens[1], lens[2], here);
    const enum kind kind = s->kind[r * width + c];
    float closed = 0;
    for (int k = 0; k < DIRECTIONS; k++) {
        float most = 0;
        for (int ring = 0; ring < RINGS; ring++) {
            /* Every second direction lies half a ring farther in, so that rings do not show. */
            const float far = reach * rings[ring] * (k % 2 ? 0.8f : 1);
            const ptrdiff_t x = c + nearest(ways[k][0] * far), y = r + nearest(ways[k][1] * far);
            if (x < 0 || y < 0 || x >= width || y >= height)
                continue;
            const enum kind there = s->kind[y * width + x];
            if (there == NOTHING || (there == GROUND && kind == GROUND)) /* the ground is flat */
                continue;
            const float near = s->smooth[y * width + x], up = near - here,
                        across = straight((float)x, lens[0], lens[2], near) - column,
                        down = straight((float)y, lens[1], lens[2], near) - row;
            const float height_over = across * n.right + down * n.down + up * n.near,
                        squared = across * across + down * down + up * up;
            if (height_over <= 0 || squared >= 2 * reach * reach)
                continue;
            const float rise = height_over / sqrtf(squared) * (1 - squared / (2 * reach * reach));
            most = rise > most ? rise : most;
        }
        closed += most;
    }
    const float open = 1 - s->light->occlusion * closed / DIRECTIONS;
    return open > 0 ? open : 0;
}

/* Share of the sun that is seen: a filter of comparisons with the picture from the sun (Reeves et al. 1987). */
static float sunlight(const struct shading *s, ptrdiff_t r, ptrdiff_t c, struct normal n)
{
    const mpm_relief *relief = s->relief;
    const float *t = s->light->to_sun, bias = s->light->bias;
    /* Away from the surface, so that it does not shade itself. */
    const float here = s->smooth[r * relief->width + c], *lens = s->light->lens;
    const float x = straight((float)c, lens[0], lens[2], here) + n.right * s->light->step,
                y = straight((float)r, lens[1], lens[2], here) + n.down * s->light->step,
                z = here + n.near * s->light->step;
    const float column = t[0] * x + t[1] * y + t[2] * z + t[3], row = t[4] * x + t[5] * y + t[6] * z + t[7],
                near = t[8] * x + t[9] * y + t[10] * z + t[11], soft = s->light->softness;
    if (!(column > -soft && row > -soft && column < (float)relief->sun_width + soft &&
          row < (float)relief->sun_height + soft))
        return 1;
    float dark = 0, total = 0;
    for (int i = 0; i < TAPS; i++)
        for (int j = 0; j < TAPS; j++) {
            const float across = (float)(2 * j + 1 - TAPS) / TAPS, down = (float)(2 * i + 1 - TAPS) / TAPS;
            const float square = across * across + down * down;
            if (square > 1)
                continue;
            total += 1;
            const ptrdiff_t u = nearest(column + soft * across), v = nearest(row + soft * down);
            if (u < 0 || v < 0 || u >= relief->sun_width || v >= relief->sun_height)
                continue;
            const float behind = (relief->sunlit[v * relief->sun_width + u] - near) / bias - 1;
            dark += behind > 0 ? behind < 1 ? behind : 1 : 0;
        }
    return 1 - dark / total;
}

static void probe(struct shading *s, ptrdiff_t r, ptrdiff_t c, ptrdiff_t at)
{
    if (s->kind[at] == NOTHING)
        return;
    const struct normal n = normal_of(s, r, c);
    s->open[at] = openness(s, r, c, n);
    s->sunny[at] = sunlight(s, r, c, n);
}

/* What a smooth surface reflects towards the viewer, 0 to 1: the sky by Schlick's formula for water and glass, brighter
 * at the horizon, and the sun as a highlight. */
static float reflection(const mpm_relief_light *light, struct normal n, float open, float sunny, float *share)
{
    const float grazing = 1 - (n.near > 0 ? n.near : 0), square = grazing * grazing;
    *share = 0.04f + 0.96f * square * square * grazing;
    /* The direction from which light is reflected, and halfway between the sun and the viewer. */
    const struct normal from = {2 * n.near * n.right, 2 * n.near * n.down, 2 * n.near * n.near - 1};
    const float height = dot(from, light->up), sky = height > 0 ? 1 - 0.35f * height : 0.45f;
    const float toward[] = {light->sun[0], light->sun[1], light->sun[2] + 1};
    const float length = sqrtf(toward[0] * toward[0] + toward[1] * toward[1] + toward[2] * toward[2]);
    float shine = length > 0 ? dot(n, toward) / length : 0;
    shine = shine > 0 ? shine : 0;
    for (int k = 0; k < 6; k++)
        shine *= shine;
    return *share * sky * open + 0.7f * shine * sunny;
}

/* Multiplies the image by the light; of open ground it is 1. */
static void apply_light(struct shading *s, ptrdiff_t r, ptrdiff_t c, ptrdiff_t at)
{
    const mpm_relief *relief = s->relief;
    const mpm_relief_light *light = s->light;
    if (s->kind[at] == NOTHING)
        return;
    const bool material = s->kind[at] == MATERIAL;
    const float on_ground = relief->ground && relief->ground[at] > -INFINITY ? 1 : 0;
    const struct normal n = normal_of(s, r, c);
    float gloss = material && relief->gloss ? relief->gloss[at] * relief->cover[at] : 0, share = 0;
    gloss = gloss > 0 ? gloss < 1 ? gloss : 1 : 0;
    const float mirror = gloss > 0 ? gloss * reflection(light, n, s->open[at], s->sunny[at], &share) : 0;
    const float facing = dot(n, light->sun), direct = facing > 0 ? facing : 0,
                upward = 0.5f + 0.5f * dot(n, light->up), seen = n.near > 0 ? n.near : 0;
    for (int i = 0; i < 3; i++) {
        const float diffuse = light->sky[i] * upward + light->earth[i] * (1 - upward) + light->fill * seen;
        const float all = diffuse * s->open[at] + light->shine[i] * direct * s->sunny[at];
        const float kept = all / (diffuse + light->shine[i] * direct); /* of the light of open ground */
        const float ground = 1 + (kept - 1) * light->ground * on_ground;
        const float factor = material ? relief->cover[at] * all + (1 - relief->cover[at]) * ground : ground;
        const float matt = (float)s->image[3 * at + i] * factor * (1 - gloss * share);
        const float colour = matt + 255 * mirror + 0.5f;
        s->image[3 * at + i] = (uint8_t)(colour < 255 ? colour : 255);
    }
}

static void work_on_rows(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    struct shading *s = context;
    const ptrdiff_t first = s->top + item * TASK_ROWS, last = smaller(first + TASK_ROWS, s->bottom);
    for (ptrdiff_t r = first; r < last; r++)
        for (ptrdiff_t c = s->left; c < s->right; c++)
            s->work(s, r, c, r * s->relief->width + c);
}

/* Works on each pixel of the part that is lit. */
static void for_pixels(mpm_pool *pool, struct shading *s,
                       void (*work)(struct shading *s, ptrdiff_t r, ptrdiff_t c, ptrdiff_t at))
{
    s->work = work;
    mpm_pool_for(pool, work_on_rows, s, (s->bottom - s->top + TASK_ROWS - 1) / TASK_ROWS);
}

static void include(struct shading *s, ptrdiff_t r, ptrdiff_t c, ptrdiff_t margin)
{
    s->left = smaller(s->left, larger(c - margin, 0));
    s->right = larger(s->right, smaller(c + margin + 1, s->relief->width));
    s->top = smaller(s->top, larger(r - margin, 0));
    s->bottom = larger(s->bottom, smaller(r + margin + 1, s->relief->height));
}

/* The part of the picture that occlusion and shadows reach. */
static void frame(struct shading *s)
{
    const mpm_relief *relief = s->relief;
    const float *t = s->light->to_sun, soft = s->light->softness, *lens = s->light->lens;
    const ptrdiff_t margin = relief->ground ? (ptrdiff_t)s->light->reach + 1 : 0;
    s->left = relief->width, s->right = 0, s->top = relief->height, s->bottom = 0;
    for (ptrdiff_t r = 0; r < relief->height; r++)
        for (ptrdiff_t c = 0; c < relief->width; c++)
            if (relief->cover[r * relief->width + c] > 0)
                include(s, r, c, margin);
    for (ptrdiff_t r = 0; relief->ground && r < relief->height; r++)
        for (ptrdiff_t c = 0; c < relief->width; c++) {
            const float z = relief->ground[r * relief->width + c];
            const float x = straight((float)c, lens[0], lens[2], z), y = straight((float)r, lens[1], lens[2], z);
            const float column = t[0] * x + t[1] * y + t[2] * z + t[3], row = t[4] * x + t[5] * y + t[6] * z + t[7];
            if (column > -soft && row > -soft && column < (float)relief->sun_width + soft &&
                row < (float)relief->sun_height + soft)
                include(s, r, c, 1 << BLUR_LEVELS);
        }
}

mpm_status mpm_relief_shade(const mpm_allocator *allocator, const mpm_relief *relief, const mpm_relief_light *light,
                            uint8_t *image, int threads)
{
    struct shading s = {.relief = relief, .light = light, .image = image};
    const size_t pixels = (size_t)relief->width * (size_t)relief->height;
    float **fields[] = {&s.smooth, &s.across, &s.steep, &s.open, &s.sunny, &s.spare};
    enum { FIELDS = sizeof fields / sizeof *fields };
    mpm_pool *pool = NULL;
    mpm_status status = MPM_OK;
    s.kind = mpm_memory_new_unset(allocator, pixels, sizeof *s.kind);
    for (int k = 0; k < FIELDS; k++) {
        *fields[k] = mpm_memory_new_unset(allocator, pixels, sizeof **fields[k]);
        if (!*fields[k])
            status = MPM_OUT_OF_MEMORY;
    }
    if (!s.kind)
        status = MPM_OUT_OF_MEMORY;
    if (!status)
        status = mpm_pool_start(&pool, allocator, threads);
    if (!status) {
        frame(&s);
        mpm_pool_for(pool, sort_rows, &s, (relief->height + TASK_ROWS - 1) / TASK_ROWS);
        const int levels = levels_of(light->spread);
        filter(pool, &s, s.smooth, NULL, levels, false);
        for_pixels(pool, &s, find_slope);
        filter(pool, &s, s.across, s.smooth, levels, false);
        filter(pool, &s, s.steep, s.smooth, levels, false);
        for_pixels(pool, &s, probe);
        filter(pool, &s, s.open, s.smooth, BLUR_LEVELS, true);
        filter(pool, &s, s.sunny, s.smooth, BLUR_LEVELS, true);
        for_pixels(pool, &s, apply_light);
        mpm_pool_stop(pool);
    }
    for (int k = FIELDS - 1; k >= 0; k--)
        mpm_memory_free(allocator, *fields[k]);
    mpm_memory_free(allocator, s.kind);
    return status;
}
