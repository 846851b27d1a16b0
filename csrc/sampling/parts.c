/* SPDX-License-Identifier: MIT */
#include "sampling/parts.h"

#include <math.h>
#include <string.h>

/* Particles that may be the nearest of a sub-cell. */
struct candidates {
    ptrdiff_t count;
    int32_t *index;
    double *x; /* three coordinates each */
};

static double distance2(const double *a, const double *b)
{
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

/* All particles of a cell and its neighbours. */
static void gather(const mpm_parts *parts, ptrdiff_t cell, struct candidates *all)
{
    const int neighbours = parts->dim == 3 ? 27 : 9;
    all->count = 0;
    for (int k = 0; k < neighbours; k++) {
        const int32_t *members = parts->members + parts->around[neighbours * cell + k] * parts->most;
        for (ptrdiff_t m = 0; m < parts->most && members[m] >= 0; m++) {
            double *x = all->x + 3 * all->count;
            for (int a = 0; a < 3; a++)
                x[a] = a < parts->dim ? parts->x[parts->dim * (ptrdiff_t)members[m] + a] : 0;
            all->index[all->count++] = members[m];
        }
    }
}

/* Those that can be the nearest of a point within `radius` of a centre: no farther than the nearest of the centre and
 * twice the radius. */
static void choose(const struct candidates *all, const double centre[3], double radius, struct candidates *near)
{
    double least = INFINITY;
    for (ptrdiff_t k = 0; k < all->count; k++)
        least = fmin(least, distance2(all->x + 3 * k, centre));
    const double reach = (sqrt(least) + 2 * radius) * (1 + 1e-9);
    near->count = 0;
    for (ptrdiff_t k = 0; k < all->count; k++)
        if (distance2(all->x + 3 * k, centre) <= reach * reach) {
            memcpy(near->x + 3 * near->count, all->x + 3 * k, 3 * sizeof *near->x);
            near->index[near->count++] = all->index[k];
        }
}

/* Gives the sub-cells low <= i < high of a cell to their nearest particles. */
static void hand(const mpm_parts *parts, ptrdiff_t cell, const int low[3], const int high[3],
                 const struct candidates *all, struct candidates *near, double *share, double *moment)
{
    const int dim = parts->dim, side = parts->side, sub_cells = (dim == 3 ? side : 1) * side * side;
    const double size = parts->dx / side, full = 1.0 / sub_cells;
    const double *filled = cell < parts->cut ? parts->filled + cell * sub_cells : NULL;
    double first[3] = {0}, centre[3] = {0}, radius = 0; /* of the sub-cells' middles */
    for (int a = 0; a < dim; a++) {
        first[a] = parts->middle[dim * cell + a] + (0.5 - 0.5 * side) * size;
        centre[a] = first[a] + 0.5 * (low[a] + high[a] - 1) * size;
        radius += 0.25 * (high[a] - 1 - low[a]) * (high[a] - 1 - low[a]) * size * size;
    }
    choose(all, centre, sqrt(radius), near);
    if (!near->count) /* places that are no numbers */
        return;
    for (int i = low[0]; i < high[0]; i++)
        for (int j = low[1]; j < high[1]; j++)
            for (int k = low[2]; k < high[2]; k++) {
                const double part = filled ? filled[dim == 3 ? (i * side + j) * side + k : i * side + j] * full : full;
                const double at[3] = {first[0] + i * size, first[1] + j * size, dim == 3 ? first[2] + k * size : 0};
                double least = INFINITY;
                ptrdiff_t best = 0;
                if (!(part > 0))
                    continue;
                for (ptrdiff_t c = 0; c < near->count; c++) {
                    const double apart = distance2(near->x + 3 * c, at);
                    if (apart < least) {
                        least = apart;
                        best = c;
                    }
                }
                const ptrdiff_t heir = near->index[best];
                share[heir] += part;
                for (int a = 0; a < dim; a++)
                    moment[dim * heir + a] += part * at[a];
            }
}

mpm_status mpm_parts_hand_out(const mpm_allocator *allocator, const mpm_parts *parts, double *share, double *moment)
{
    const int dim = parts->dim, halves[2][2] = {{0, parts->side / 2}, {parts->side / 2, parts->side}};
    const size_t most = (dim == 3 ? 27 : 9) * (size_t)parts->most;
    struct candidates lists[2] = {{0}};
    mpm_status status = MPM_OK;
    for (int k = 0; k < 2; k++) {
        lists[k].index = mpm_memory_new(allocator, most, sizeof *lists[k].index);
        lists[k].x = mpm_memory_new(allocator, 3 * most, sizeof *lists[k].x);
        if (!lists[k].index || !lists[k].x)
            status = MPM_OUT_OF_MEMORY;
    }
    memset(share, 0, (size_t)parts->particles * sizeof *share);
    memset(moment, 0, (size_t)(dim * parts->particles) * sizeof *moment);
    for (ptrdiff_t cell = 0; cell < parts->cells && !status; cell++) {
        gather(parts, cell, &lists[0]);
        for (int part = 0; part < 1 << dim && lists[0].count; part++) {
            int low[3] = {0}, high[3] = {1, 1, 1};
            for (int a = 0; a < dim; a++) {
                low[a] = halves[part >> a & 1][0];
                high[a] = halves[part >> a & 1][1];
            }
            hand(parts, cell, low, high, &lists[0], &lists[1], share, moment);
        }
    }
    for (int k = 0; k < 2; k++) {
        mpm_memory_free(allocator, lists[k].index);
        mpm_memory_free(allocator, lists[k].x);
    }
    return status;
}
