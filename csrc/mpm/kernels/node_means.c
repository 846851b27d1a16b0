/* SPDX-License-Identifier: MIT
 *
 * Means at nodes: the sums {sum w q, sum w} of a field, in up to three q with the weights w, become {q, sum w}. Images
 * take part as the table of fields says (mpm/memory/grid_fields.h).
 */
#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"

static void divide(real *node)
{
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += PART_REALS) {
        const part sums = part_load(node + n);
        part means = part_over(sums, part_mass(sums));
        UNROLL for (int k = 3; k < PART_REALS; k += 4)
            means[k] = sums[k];
        part_store(node + n, means);
    }
}

void MPM_KERNEL(node_means_block)(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t b)
{
    sum_copies(field_sums(grid, field, b), grid, &grid->blocks[b], grid->copies[field]);
    if (grid->blocks[b].fold < 0) /* otherwise node_means_fold continues after the barrier */
        divide(field_nodes(grid, field, b));
}

void MPM_KERNEL(node_means_fold)(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t fold)
{
    const mpm_images *images = &grid->images;
    real *node = field_nodes(grid, field, images->blocks[fold]);
    fold_block(node, grid, field, (int32_t)fold);
    divide(node);
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++)
        unfold_values(node + 4 * images->nodes[i].node, field, &images->nodes[i]);
}
