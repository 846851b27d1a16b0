/* SPDX-License-Identifier: MIT
 *
 * Images of nodes: nodes that stand for the same node, because a face of the domain is a plane of symmetry or because
 * two opposite faces coincide. What particles add to one image counts for all.
 *
 *     mirror at node 0        node -i is node i with its normal components negated
 *     periodic, N cells       node i + N is node i
 *
 * Each image sums all images of its node by itself, in the frame of the image in the domain and in ascending order of
 * coordinates. So every image gets the same bits, whatever its block or task. All images of a node are in one layer.
 * mpm/kernels/fold.h does the sums.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "mpm/memory/axis_images.h"
#include "mpm/memory/block_map.h"

struct mpm_grid;

/** One image: a node of the `fold`-th block with images. Bits are axes. */
typedef struct mpm_image {
    int32_t fold;
    uint8_t node;
    uint8_t flips; /* components that change their sign from this image to the domain's frame */
} mpm_image;

/** A node that has images, or is on a plane of symmetry. */
typedef struct mpm_image_node {
    uint8_t node;          /* of its block */
    uint8_t flips;         /* components that change their sign from the domain's frame to this node */
    uint8_t planes;        /* axes with a plane of symmetry through the node: the normal velocity is 0 */
    uint8_t normals;       /* axes along which a mirror acts on it */
    int32_t at[3];         /* coordinates of the image in the domain */
    int32_t first, images; /* range of `mpm_images.list`, itself included */
} mpm_image_node;

typedef struct mpm_images {
    size_t block_count;    /* blocks with such nodes; `mpm_node_block.fold` counts them */
    int32_t *blocks;       /* [fold] index in the grid's blocks */
    int32_t *first_node;   /* [fold + 1] range in `nodes`, ascending in `node` */
    mpm_image_node *nodes;
    mpm_image *list;
    size_t bytes;
} mpm_images;

/** The blocks along one axis, by coordinate, that hold the images of the nodes of `block`: itself, and at most
 *  MPM_IMAGE_BLOCKS - 1 others. Returns their number. */
enum { MPM_IMAGE_BLOCKS = 16 };
int mpm_images_along(const mpm_symmetry *symmetry, int32_t block, int side, int32_t blocks[MPM_IMAGE_BLOCKS]);

/** Finds the images among the blocks of `grid`. Allocates nothing without a symmetry. Errors: MPM_OUT_OF_MEMORY,
 *  MPM_TOO_LARGE; mpm_images_clear frees what was allocated. */
mpm_status mpm_images_find(struct mpm_grid *grid, const mpm_allocator *allocator, const mpm_symmetry symmetry[3],
                           int dim);

/** The index of a block of the grid by its coordinates and its layer; -1: it is not there. */
int32_t mpm_images_block(const struct mpm_grid *grid, mpm_block_key key);

/** Frees all arrays. */
void mpm_images_clear(mpm_images *images, const mpm_allocator *allocator);
