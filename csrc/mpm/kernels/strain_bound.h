/* SPDX-License-Identifier: MIT
 *
 * A bound of the strain increments of a group's particles, found from the nodes that they can touch. It decides whether
 * a dry run has to look at the particles themselves.
 *
 * Every gradient of the velocity along an axis, Σ ∇w v or Σ w v (x_i - x)/D, is an average of the differences between
 * neighbouring nodes along that axis, divided by h. Nodes without mass have weight 0 and count only with the linear
 * kernel, whose weights may be 0 where their gradients are not.
 */
#pragma once
#include "mpm/kernels/arena.h"
#include "mpm/kernels/nodes.h"

/* The rows of a line of nodes, in whole registers. */
#define LINE_REALS (((4 * ARENA_SIDE) + WIDTH - 1) / WIDTH * WIDTH)

/* Lowers `least`, where component `axis` counts, to v(next) - v of the nodes of a line, `both_ways` to -|v(next) - v|;
 * `next` lies `stride` reals behind. `counts`: 1 or 0 per real. Reads beyond the line find other lines or nodes without
 * mass. */
INLINE void least_difference(const real *line, ptrdiff_t stride, const real *counts, int axis, const bool both_ways,
                             wide *least)
{
#if defined(MPM_ONE_LANE)
    for (int n = 0; n < 4 * ARENA_SIDE; n += 4) {
        const real *node = line + n, *next = node + stride;
        const real difference = next[axis] - node[axis];
        if (counts[n] > 0 && node[3] > 0 && next[3] > 0)
            *least = wide_min(both_ways && difference > 0 ? -difference : difference, *least);
    }
#else
    (void)axis;
    const wide zero = wide_set(0);
    for (int n = 0; n < LINE_REALS; n += WIDTH) {
        const wide v = wide_load_any(line + n), next = wide_load_any(line + n + stride);
        const mask both = wide_less(zero, part_mass(v)) & wide_less(zero, part_mass(next));
        const wide difference = (next - v) * wide_load(counts + n);
        *least = wide_min(wide_select(both, both_ways ? -wide_abs(difference) : difference, zero), *least);
    }
#endif
}

/* How much the nodes of a group approach each other along each axis, at most, or `both_ways` also part [m/s]. */
INLINE void approach_of_nodes(const mpm_group *group, const real *velocity, const bool both_ways, double approach[3])
{
    real nodes[ARENA_REALS] __attribute__((aligned(64))) = {0};
    real inner[2][LINE_REALS] __attribute__((aligned(64))) = {{0}}; /* all nodes of a line; all but the last */
    const ptrdiff_t line = 4 * ARENA_SIDE, slab = DIM == 3 ? line * ARENA_SIDE : 0;
    const ptrdiff_t stride[3] = {DIM == 3 ? slab : line, DIM == 3 ? line : 4, 4};
    const int first[2] = {DIM == 3 ? group->first_node[0] : 0, group->first_node[DIM - 2]};
    const int last[2] = {DIM == 3 ? group->last_node[0] : 0, group->last_node[DIM - 2]};
    wide least[DIM];
    for (int n = 0; n < 4 * ARENA_SIDE; n++) {
        inner[0][n] = 1;
        inner[1][n] = n < 4 * (ARENA_SIDE - 1);
    }
    for (int a = 0; a < DIM; a++)
        least[a] = wide_set(0);
    arena_read(nodes + ARENA_SLACK, group, velocity);
    for (int i = first[0]; i <= last[0]; i++)
        for (int j = first[1]; j <= last[1]; j++) {
            const real *at = nodes + ARENA_SLACK + i * slab + j * line;
            if (DIM == 3 && i < last[0])
                least_difference(at, stride[0], inner[0], 0, both_ways, &least[0]);
            if (j < last[1])
                least_difference(at, stride[DIM - 2], inner[0], DIM - 2, both_ways, &least[DIM - 2]);
            least_difference(at, stride[DIM - 1], inner[1], DIM - 1, both_ways, &least[DIM - 1]);
        }
    for (int a = 0; a < DIM; a++) {
        approach[a] = 0;
        for (int q = WIDTH < 4 ? 0 : a; q < WIDTH; q += 4) {
            const double difference = -(double)wide_lane(least[a], q);
            approach[a] = approach[a] > difference ? approach[a] : difference;
        }
    }
}

/* Do all strain increments of the group certainly have determinants above `enough`? The extremes of the blocks around
 * it often suffice; otherwise the differences between its nodes decide. The Cayley transform has the determinants of
 * I + A/2 and I - A/2: the second one is small where nodes part. */
NOINLINE bool strains_less(const mpm_sweep *sweep, double dt, const mpm_block_report *blocks, const mpm_group *group,
                           double enough)
{
    const bool cayley = ANY_SCHEME && sweep->scheme.f_update == MPM_F_CAYLEY;
    const double per_dx = (cayley ? 0.5 : 1) * dt / sweep->dx;
    double range[3] = {0}, approach[3] = {0}, low[DIM], high[DIM];
    for (int a = 0; a < DIM; a++) {
        low[a] = __builtin_inf();
        high[a] = -low[a];
    }
    for (int k = 0; k < MPM_NEIGHBOURS; k++) {
        if ((DIM == 2 && k >= 9) || group->node_block[k] < 0)
            continue;
        if (ANY_SCHEME && sweep->scheme.faces && is_cracked(sweep->grid, group->node_block[k]))
            return false;
        const mpm_block_report *report = &blocks[group->node_block[k]];
        for (int a = 0; a < DIM; a++) {
            low[a] = low[a] < report->lowest[a] ? low[a] : report->lowest[a];
            high[a] = high[a] > report->highest[a] ? high[a] : report->highest[a];
        }
    }
    for (int a = 0; a < DIM; a++)
        range[a] = high[a] - low[a];
    if (mpm_kernels_least_det(range, range, per_dx) > enough)
        return true;
    if (sweep->scheme.degree == MPM_LINEAR)
        return false;
    approach_of_nodes(group, sweep->grid->field[MPM_GRID_VELOCITY], cayley, approach);
    return mpm_kernels_least_det(range, approach, per_dx) > enough;
}
