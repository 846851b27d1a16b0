/* SPDX-License-Identifier: MIT
 *
 * Folding: the values of nodes are added over their images, and velocities are given back to the images.
 * mpm/memory/images.h defines images. Folding depends neither on the kernel nor on what the values mean.
 */
#pragma once
#include "base/simd.h"
#include "mpm/memory/grid.h"

/* The value of node `n` of the `fold`-th block with images. */
INLINE const real *fold_vec4(const real *raw, int32_t fold, int n)
{
    return raw + ((ptrdiff_t)fold * MPM_BLOCK_NODES + n) * 4;
}

/* The values of a block; those of nodes with images are summed over the images in the frame of the domain. A node on a
 * plane of symmetry is its own image, which cancels the normal component. (The image also doubles the mass and the
 * other components, for all images of the node alike, so that leaving it out changes no velocity.) */
NOINLINE void fold_block(real *out, const real *raw, const mpm_images *images, int32_t fold)
{
    memcpy(out, fold_vec4(raw, fold, 0), 4 * MPM_BLOCK_NODES * sizeof(real));
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++) {
        const mpm_image_node *node = &images->nodes[i];
        real sum[4] = {0};
        for (int32_t k = node->first; k < node->first + node->images; k++) {
            const mpm_image *image = &images->list[k];
            const real *value = fold_vec4(raw, image->fold, image->node);
            for (int a = 0; a < DIM; a++)
                sum[a] += image->flips >> a & 1 ? -value[a] : value[a];
            sum[3] += value[3];
        }
        for (int a = 0; a < DIM; a++)
            out[4 * node->node + a] = node->planes >> a & 1 ? 0 : sum[a];
        out[4 * node->node + 3] = sum[3];
    }
}

/* Turns a vector from the frame of the domain into the frame of this image. */
INLINE void unfold_vector(real v[DIM], const mpm_image_node *node)
{
    for (int a = 0; a < DIM; a++)
        v[a] = node->flips >> a & 1 ? -v[a] : v[a];
}
