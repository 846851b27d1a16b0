/* SPDX-License-Identifier: MIT
 *
 * A stage of the grid pass: nodes of held regions get their velocities, after all contacts. The momentum that this
 * takes is the impulse of the region on the material.
 */
#pragma once
#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"

/* Gives a component of a node the speed of the region that holds it. */
INLINE void hold_component(const mpm_grid_pass *pass, ptrdiff_t b, real *v, int a, real hold, double sign)
{
    const size_t region = (size_t)hold - 1;
    const real speed = (real)(sign * pass->forcing->velocity[region * DIM + (size_t)a]);
    pass->hold_impulses[(size_t)b * pass->loads + region][a] += (double)v[3] * ((double)speed - (double)v[a]);
    v[a] = speed;
}

/* An image moves as the node does whose image it is, seen in a mirror. A node on a plane of symmetry cannot leave
 * it. */
NOINLINE void hold_nodes(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_images *images = &grid->images;
    const int32_t fold = grid->blocks[b].fold;
    const mpm_image_node *next = fold < 0 ? NULL : images->nodes + images->first_node[fold];
    const mpm_image_node *end = fold < 0 ? NULL : images->nodes + images->first_node[fold + 1];
    const real *holds = field_nodes(grid, MPM_GRID_HOLDS, b);
    real *velocity = field_nodes(grid, MPM_GRID_VELOCITY, b);
    memset(pass->hold_impulses + (size_t)b * pass->loads, 0, pass->loads * sizeof *pass->hold_impulses);
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        const mpm_image_node *image = next < end && next->node == n ? next++ : NULL;
        for (int a = 0; a < DIM; a++) {
            const bool flips = image && image->flips >> a & 1, planes = image && image->planes >> a & 1;
            if (holds[4 * n + a] > 0 && velocity[4 * n + 3] > 0 && !planes)
                hold_component(pass, b, velocity + 4 * n, a, holds[4 * n + a], flips ? -1 : 1);
        }
    }
}
