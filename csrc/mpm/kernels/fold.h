/* SPDX-License-Identifier: MIT
 *
 * Folding: the values of nodes are added over their images, and results are given back to the images.
 * mpm/memory/images.h defines images. Folding knows neither the kernel nor what the values mean: which of them change
 * their sign at a reflection, the table of fields tells (mpm/memory/grid_fields.h).
 */
#pragma once
#include "base/simd.h"
#include "mpm/memory/grid.h"

/* The value of node `n` of the `fold`-th block with images. */
INLINE const real *fold_vec4(const real *raw, int32_t fold, int n)
{
    return raw + ((ptrdiff_t)fold * MPM_BLOCK_NODES + n) * 4;
}

/* The value c of a node after the reflections `flips`. */
INLINE real reflected(const real *value, int c, unsigned flips, mpm_fold_rule rule)
{
    return __builtin_parity(flips & rule.odd[c]) ? -value[c] : value[c];
}

/* The sums of a field in a block; those of nodes with images are added over the images in the frame of the domain. A
 * node on a plane of symmetry is its own image, which cancels what is odd. (The image also doubles the mass and the
 * other components, for all images of the node alike, so that leaving it out changes no velocity.) */
NOINLINE void fold_block(real *out, const mpm_grid *grid, mpm_grid_field field, int32_t fold)
{
    const mpm_images *images = &grid->images;
    const mpm_fold_rule rule = mpm_grid_rows[field].fold;
    const real *raw = grid->raw[field];
    memcpy(out, fold_vec4(raw, fold, 0), 4 * MPM_BLOCK_NODES * sizeof(real));
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++) {
        const mpm_image_node *node = &images->nodes[i];
        real sum[4] = {0};
        for (int32_t k = node->first; k < node->first + node->images; k++) {
            const mpm_image *image = &images->list[k];
            const real *value = fold_vec4(raw, image->fold, image->node);
            for (int c = 0; c < 4; c++)
                sum[c] += image->flips ? reflected(value, c, image->flips, rule) : value[c];
        }
        for (int c = 0; c < 4; c++)
            out[4 * node->node + c] = node->planes & rule.odd[c] ? 0 : sum[c];
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
    for (int c = 0; node->flips && c < 4; c++)
        value[c] = reflected(value, c, node->flips, mpm_grid_rows[field].fold);
}
