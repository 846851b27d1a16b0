/* SPDX-License-Identifier: MIT
 *
 * Folding: the values of nodes are added over their images, and results are given back to the images.
 * mpm/memory/images.h defines images. Folding knows neither the kernel nor what the values mean: which of them change
 * their sign at a reflection, the table of fields tells (mpm/memory/grid_fields.h).
 */
#pragma once
#include "mpm/kernels/arena.h"

/* The value of node `n` of the `fold`-th block with images. */
INLINE const real *fold_vec4(const real *raw, int32_t fold, int n)
{
    return raw + ((ptrdiff_t)fold * MPM_BLOCK_NODES + n) * 4;
}

/* The signs of a node's values after reflections across the axes in `flips`. */
INLINE node4 signs_after(unsigned flips, mpm_fold_rule rule)
{
    node4 signs;
    UNROLL for (int c = 0; c < 4; c++)
        signs[c] = __builtin_parity(flips & rule.odd[c]) ? -1 : 1;
    return signs;
}

/* The sums of a field in a block; those of nodes with images are added over the images in the frame of the domain. A
 * node on a plane of symmetry is its own image, which cancels what is odd. (The image also doubles the mass and the
 * other components, for all images of the node alike, so that leaving it out changes no velocity.) */
NOINLINE void fold_block(real *out, const mpm_grid *grid, mpm_grid_field field, int32_t fold)
{
    const mpm_images *images = &grid->images;
    const mpm_fold_rule rule = mpm_grid_rows[field].fold;
    const real *raw = grid->raw[field];
    node4 signs[1 << DIM];
    for (unsigned flips = 0; flips < 1u << DIM; flips++)
        signs[flips] = signs_after(flips, rule);
    memcpy(out, fold_vec4(raw, fold, 0), 4 * MPM_BLOCK_NODES * sizeof(real));
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++) {
        const mpm_image_node *node = &images->nodes[i];
        node4 sum = {0};
        for (int32_t k = node->first; k < node->first + node->images; k++) {
            const mpm_image *image = &images->list[k];
            sum += signs[image->flips] * *(const node4 *)fold_vec4(raw, image->fold, image->node);
        }
        for (int c = 0; node->planes && c < 4; c++)
            sum[c] = node->planes & rule.odd[c] ? 0 : sum[c];
        *(node4 *)(out + 4 * node->node) = sum;
    }
}

/* Turns a vector from the frame of the domain into the frame of this image. */
INLINE void unfold_vector(real v[DIM], const mpm_image_node *node)
{
    for (int a = 0; a < DIM; a++)
        v[a] = node->flips >> a & 1 ? -v[a] : v[a];
}

/* The same for the values of a field. */
INLINE void unfold_values(real value[4], mpm_grid_field field, const mpm_image_node *node)
{
    if (node->flips)
        *(node4 *)value *= signs_after(node->flips, mpm_grid_rows[field].fold);
}
