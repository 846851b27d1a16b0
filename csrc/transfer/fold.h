/* SPDX-License-Identifier: MIT
 *
 * Folding: records of nodes added over their images, and velocities given back to them. See state/images.h for what
 * images are; which kernel spread the records, how far, and what they hold is of no concern here.
 */
#pragma once
#include "base/simd.h"
#include "state/grid.h"

/* Record of node `n` of the `fold`-th block with images. */
INLINE const real *fold_record(const real *raw, int32_t fold, int n)
{
    return raw + ((ptrdiff_t)fold * MPM_BLOCK_NODES + n) * 4;
}

/* The records of a block, those with images summed over them in the frame of the domain: what a node on a plane of
 * symmetry brings of the normal component is cancelled by its own image. (That image also doubles the other
 * components and the mass, alike for all images of the node, so that leaving it out changes no velocity.) */
NOINLINE void fold_block(real *out, const real *raw, const mpm_images *images, int32_t fold)
{
    memcpy(out, fold_record(raw, fold, 0), 4 * MPM_BLOCK_NODES * sizeof(real));
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++) {
        const mpm_image_node *node = &images->nodes[i];
        real sum[4] = {0};
        for (int32_t k = node->first; k < node->first + node->images; k++) {
            const mpm_image *image = &images->list[k];
            const real *record = fold_record(raw, image->fold, image->node);
            for (int a = 0; a < DIM; a++)
                sum[a] += image->flips >> a & 1 ? -record[a] : record[a];
            sum[3] += record[3];
        }
        for (int a = 0; a < DIM; a++)
            out[4 * node->node + a] = node->planes >> a & 1 ? 0 : sum[a];
        out[4 * node->node + 3] = sum[3];
    }
}

/* A vector in the frame of the domain as this image has it. */
INLINE void unfold_vector(real v[DIM], const mpm_image_node *node)
{
    for (int a = 0; a < DIM; a++)
        v[a] = node->flips >> a & 1 ? -v[a] : v[a];
}
