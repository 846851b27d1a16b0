/* SPDX-License-Identifier: MIT
 *
 * The last stage of the grid pass: the extremes of the velocities, from which the step is checked, and the impulses of
 * mirrors that no contact has entered.
 */
#pragma once
#include <math.h>

#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"

/* Reports the extremes of the velocity components over the nodes that have mass; a value that is not finite makes the
 * speed infinite. With the linear kernel, a node of weight 0 has a gradient, and its velocity, 0, counts. */
INLINE void report_motion(const real *node, bool linear, mpm_block_report *report)
{
    const real most = linear ? 0 : (real)INFINITY;
    real low[4] = {most, most, most, most}, high[4] = {-most, -most, -most, -most};
    bool finite = true;
#if defined(MPM_ONE_LANE)
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n++) {
        const real v = node[n];
        finite &= v - v == 0;
        if (!(node[n | 3] > 0))
            continue;
        low[n % 4] = v < low[n % 4] ? v : low[n % 4];
        high[n % 4] = v > high[n % 4] ? v : high[n % 4];
    }
#else
    const wide zero = wide_set(0);
    wide lowest = wide_set(most), highest = wide_set(-most), defect = zero;
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH) {
        const wide v = wide_load(node + n);
        const mask active = wide_less(zero, part_mass(v));
        lowest = wide_select(active, wide_min(v, lowest), lowest);
        highest = wide_select(active, wide_max(v, highest), highest);
        defect += v - v; /* NaN from the first value that is not finite */
    }
    finite = !mask_any(mask_not(wide_less_equal(wide_abs(defect), zero)));
    for (int q = 0; q < WIDTH; q++) {
        const real l = wide_lane(lowest, q), h = wide_lane(highest, q);
        low[q % 4] = l < low[q % 4] ? l : low[q % 4];
        high[q % 4] = h > high[q % 4] ? h : high[q % 4];
    }
#endif
    report->speed = finite ? 0 : (double)INFINITY;
    for (int a = 0; a < DIM; a++) {
        report->lowest[a] = (double)low[a];
        report->highest[a] = (double)high[a];
        const double largest = (double)(high[a] > -low[a] ? high[a] : -low[a]);
        report->speed = report->speed > largest ? report->speed : largest;
    }
}

/* Reports the velocities of a block. `collider_speed`: a bound for the colliders near it, -1 if there are none. */
INLINE void report_velocities(const mpm_grid_pass *pass, ptrdiff_t b, double collider_speed)
{
    mpm_block_report *report = &pass->reports[b];
    const bool linear = pass->scheme.degree == MPM_LINEAR;
    if (mpm_scheme_is_split(&pass->scheme)) {
        report_motion(field_nodes(pass->grid, MPM_GRID_BEFORE, b), linear, report);
        report->speed_before = report->speed;
    }
    report_motion(field_nodes(pass->grid, MPM_GRID_VELOCITY, b), linear, report);
    report->approach = collider_speed < 0 ? 0 : report->speed + collider_speed;
}

/* The FLIP term conserves momentum except at a mirror, where v^n also contains the momentum of images. The particles
 * lose a share of the difference, which the mirror gets as impulse. */
static void add_flip_impulse(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_images *images = &pass->grid->images;
    const int32_t fold = pass->grid->blocks[b].fold;
    const real *before = field_nodes(pass->grid, MPM_GRID_BEFORE, b);
    double *impulse = pass->reports[b].impulse;
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++) {
        const mpm_image_node *node = &images->nodes[i];
        const real *raw = fold_vec4(pass->grid->raw[MPM_GRID_BEFORE], fold, node->node);
        for (int a = 0; a < DIM; a++)
            if (node->normals >> a & 1)
                impulse[a] -= pass->scheme.flip_ratio *
                              ((double)raw[3] * (double)before[4 * node->node + a] - (double)raw[a]);
    }
}

/* Across a mirror, the wall's impulse after a solve is the momentum that a node gains beyond gravity and forces. That
 * includes the impulse of other contacts, which constrained_nodes.c subtracts. */
static void add_mirror_impulse(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_images *images = &grid->images;
    const int32_t fold = grid->blocks[b].fold;
    const real *velocity = field_nodes(grid, MPM_GRID_VELOCITY, b);
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++) {
        const mpm_image_node *node = &images->nodes[i];
        const real *momentum = fold_vec4(grid->raw[MPM_GRID_VELOCITY], fold, node->node);
        const real *impulse = fold_vec4(grid->raw[MPM_GRID_FORCES], fold, node->node), *v = velocity + 4 * node->node;
        for (int a = 0; a < DIM; a++) {
            double given = (double)momentum[a] + (double)impulse[a];
            if (pass->scheme.midpoint) /* the forces acted for half a step */
                given += given - (double)fold_vec4(grid->raw[MPM_GRID_BEFORE], fold, node->node)[a];
            if (node->normals >> a & 1)
                pass->reports[b].impulse[a] +=
                    (double)momentum[3] * ((double)v[a] - pass->dt * pass->gravity[a]) - given;
        }
    }
}
