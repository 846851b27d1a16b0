/* SPDX-License-Identifier: MIT
 *
 * Marks the nodes of held regions: those with a certain share of their mass from there. Where several regions hold the
 * same component, the last one does.
 *
 * The velocity has a kink at the last node that is held, which B-splines round: with the quadratic kernel, what is
 * beside the region behaves as if the region ended 0.15 cells before that node. Nodes up to 0.65 cells beyond the
 * region have the least share or more. So this end is within half a cell of that of the region, wherever the latter is
 * among the nodes.
 */
#include <math.h>

#include "mpm/kernels/nodes.h"

static const real LEAST_SHARE = (real)0.1;

static void mark(real *holds, int region, const double *velocity)
{
    for (int a = 0; a < DIM; a++)
        if (!isnan(velocity[a]))
            holds[a] = (real)(region + 1);
}

void MPM_KERNEL(hold_nodes_mark)(const mpm_hold_pass *pass, ptrdiff_t b)
{
    const real *shares = field_nodes(pass->grid, MPM_GRID_SHARES, b);
    real *holds = field_nodes(pass->grid, MPM_GRID_HOLDS, b);
    if (pass->begins)
        memset(holds, 0, 4 * MPM_BLOCK_NODES * sizeof *holds);
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4)
        for (int c = 0; c < pass->regions; c++)
            if (shares[n + c] >= LEAST_SHARE)
                mark(holds + n, pass->first + c, pass->forcing->velocity + (pass->first + c) * DIM);
}
