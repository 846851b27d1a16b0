/* SPDX-License-Identifier: MIT
 *
 * Which blocks of nodes a collider can reach: one look at the middle of a block spares looks at all of its nodes.
 */
#pragma once
#include "contact/collider.h"
#include "mpm/kernels/nodes.h"

/* Can nodes of the block be within `reach` [m] of the collider? `lower`: of the grid. */
INLINE bool collider_reaches(const mpm_collider *collider, const mpm_node_block *block, const double lower[3],
                             double dx, double reach)
{
    const double half = 0.5 * (BLOCK_SIDE - 1);
    const double radius = half * dx * (DIM == 3 ? 1.7320508075688773 : 1.4142135623730951);
    double centre[3] = {0};
    for (int a = 0; a < DIM; a++)
        centre[a] = lower[a] + ((double)block->block[a] * BLOCK_SIDE + half) * dx;
    return mpm_collider_read(collider, &collider->now, centre, UINT64_MAX).phi <=
           collider->shape.steepness * (radius + reach);
}
