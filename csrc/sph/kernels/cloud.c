/* SPDX-License-Identifier: MIT
 *
 * Clouds: the cells of their particles, slots from sorted particles, images beyond the faces of the domain.
 */
#include "sph/kernels/smoothing.h"

/* The cell of a coordinate; monotonic, also in rounding. */
INLINE int64_t cell_of(const mpm_sph_pass *pass, real x, int axis)
{
    const real cell = (x - (real)pass->origin[axis]) * (real)pass->inverse_side;
    const int64_t whole = (int64_t)cell;
    return whole - ((real)whole > cell);
}

void MPM_KERNEL(cloud_bounds)(const mpm_sph_pass *pass, const mpm_sph_cloud *cloud, ptrdiff_t begin, ptrdiff_t end,
                              int64_t low[3], int64_t high[3])
{
    const real *x = cloud->x;
    for (int a = 0; a < DIM; a++) {
        real least = REAL_LARGEST, largest = -REAL_LARGEST;
        for (ptrdiff_t i = begin; i < end; i++) {
            const real place = x[i * DIM + a];
            least = place < least ? place : least;
            largest = place > largest ? place : largest;
        }
        const int64_t first = begin < end ? cell_of(pass, least, a) : INT64_MAX;
        const int64_t last = begin < end ? cell_of(pass, largest, a) : INT64_MIN;
        low[a] = first < low[a] ? first : low[a];
        high[a] = last > high[a] ? last : high[a];
    }
}

void MPM_KERNEL(cloud_keys)(const mpm_sph_pass *pass, const mpm_sph_cloud *cloud, ptrdiff_t begin, ptrdiff_t end,
                            int64_t *keys)
{
    const real *x = cloud->x;
    for (ptrdiff_t i = begin; i < end; i++) {
        int64_t key = 0;
        for (int a = DIM - 1; a >= 0; a--)
            key = key * cloud->cells[a] + cell_of(pass, x[i * DIM + a], a) - cloud->low[a];
        keys[i - begin] = key;
    }
}

void MPM_KERNEL(cloud_gather)(const mpm_sph_pass *pass, int index, ptrdiff_t begin, ptrdiff_t end)
{
    const mpm_sph_cloud *cloud = &pass->clouds[index];
    const real *x = cloud->x, *v = cloud->v;
    for (ptrdiff_t p = begin; p < end; p++) {
        const ptrdiff_t from = cloud->order[p], slot = cloud->first + p;
        real *record = (real *)pass->record + slot * MPM_SPH_RECORD;
        for (int a = 0; a < DIM; a++) {
            record[RECORD_X + a] = ((real *)pass->place[a])[slot] = x[from * DIM + a];
            record[RECORD_V + a] = v[from * DIM + a];
        }
        record[RECORD_P] = 0;
        record[RECORD_S] = 0;
        if (index == MPM_SPH_FLUID)
            pass->slot_of_row[from] = (int32_t)slot;
    }
}

/* Image of a row: how an axis is mapped. */
enum { SAME, BEYOND_LOW, BEYOND_HIGH };

/* Lists how axis `a` of a row at `x` is mapped; the first is SAME. Returns how many there are. */
INLINE int maps_of(const mpm_sph_pass *pass, real x, int a, int maps[3])
{
    const real reach = (real)(2 * pass->h) * SUPPORT_MARGIN;
    int count = 1;
    maps[0] = SAME;
    if (x - (real)pass->lower[a] < reach)
        maps[count++] = BEYOND_LOW;
    if ((real)pass->upper[a] - x < reach)
        maps[count++] = BEYOND_HIGH;
    return count;
}

/* Makes an image: mirrored at a wall, moved by a period. Beyond a periodic face lies what is at the opposite one. */
static void make_image(const mpm_sph_pass *pass, ptrdiff_t row, const int map[3], real x[DIM], real v[DIM])
{
    bool turned = false;
    for (int a = 0; a < DIM; a++) {
        const real lower = (real)pass->lower[a], upper = (real)pass->upper[a];
        x[a] = ((const real *)pass->x)[row * DIM + a];
        v[a] = ((const real *)pass->v)[row * DIM + a];
        if (map[a] == SAME)
            continue;
        if (mpm_walls_periodic(pass->walls, a)) {
            x[a] += map[a] == BEYOND_LOW ? upper - lower : lower - upper;
            continue;
        }
        x[a] = (map[a] == BEYOND_LOW ? lower + lower : upper + upper) - x[a];
        const mpm_contact contact = pass->walls[2 * a + (map[a] == BEYOND_HIGH)].contact;
        v[a] = contact == MPM_STICKY ? v[a] : -v[a]; /* a sticky wall turns all components round, see below */
        turned ^= contact == MPM_STICKY;
    }
    for (int a = 0; a < DIM && turned; a++)
        v[a] = -v[a];
}

void MPM_KERNEL(cloud_images)(const mpm_sph_pass *pass, ptrdiff_t begin, ptrdiff_t end, bool fill, ptrdiff_t at[2])
{
    for (ptrdiff_t row = begin; row < end; row++) {
        int maps[3][3] = {{SAME}, {SAME}, {SAME}}, counts[3] = {1, 1, 1};
        for (int a = 0; a < DIM; a++)
            counts[a] = maps_of(pass, ((const real *)pass->x)[row * DIM + a], a, maps[a]);
        for (int k = 1; k < counts[0] * counts[1] * counts[2]; k++) {
            const int map[3] = {maps[0][k % counts[0]], maps[1][k / counts[0] % counts[1]],
                                maps[2][k / (counts[0] * counts[1])]};
            int list = 0;
            for (int a = 0; a < DIM; a++)
                list |= map[a] != SAME && !mpm_walls_periodic(pass->walls, a);
            if (fill) {
                make_image(pass, row, map, (real *)pass->image_x[list] + at[list] * DIM,
                           (real *)pass->image_v[list] + at[list] * DIM);
                pass->image_row[list][at[list]] = (int32_t)row;
            }
            at[list]++;
        }
    }
}

void MPM_KERNEL(cloud_reflect)(const mpm_sph_pass *pass, int index, ptrdiff_t begin, ptrdiff_t end)
{
    const mpm_sph_cloud *cloud = &pass->clouds[index];
    const int32_t *rows = pass->image_row[index == MPM_SPH_IMAGES];
    for (ptrdiff_t p = begin; p < end; p++) {
        const real *own =
            (const real *)pass->record + (size_t)pass->slot_of_row[rows[cloud->order[p]]] * MPM_SPH_RECORD;
        real *image = (real *)pass->record + (cloud->first + p) * MPM_SPH_RECORD;
        image[RECORD_P] = own[RECORD_P];
        image[RECORD_S] = own[RECORD_S];
    }
}
