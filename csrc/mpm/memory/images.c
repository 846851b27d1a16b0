/* SPDX-License-Identifier: MIT */
#include "mpm/memory/images.h"

#include <stdlib.h>
#include <string.h>

#include "mpm/memory/grid.h"

enum { SIDE_MOST = 8, NO_BLOCK = -1 };

/* The nodes along one axis of a block, with their images along that axis. */
struct line {
    mpm_axis_node node[SIDE_MOST];
    struct {
        int32_t block; /* coordinate */
        uint8_t inside;
    } image[SIDE_MOST][MPM_AXIS_IMAGES];
};

/* Returns whether a node of the line can have images or lie on a plane. */
static bool trace_line(struct line *line, const mpm_symmetry *symmetry, int32_t block, int side)
{
    bool any = false;
    for (int i = 0; i < side; i++) {
        mpm_axis_node *node = &line->node[i];
        any |= mpm_axis_find(node, symmetry, (int64_t)block * side + i);
        for (int k = 0; k < node->images; k++) {
            const int64_t of = mpm_axis_floor(node->image[k].at, side);
            line->image[i][k].block = (int32_t)of;
            line->image[i][k].inside = (uint8_t)(node->image[k].at - of * side);
        }
    }
    return any;
}

int mpm_images_along(const mpm_symmetry *symmetry, int32_t block, int side, int32_t blocks[MPM_IMAGE_BLOCKS])
{
    struct line line;
    int count = 1;
    blocks[0] = block;
    if (!mpm_axis_has_symmetry(symmetry))
        return count;
    trace_line(&line, symmetry, block, side);
    for (int i = 0; i < side; i++)
        for (int k = 0; k < line.node[i].images; k++) {
            int known = 0;
            while (known < count && blocks[known] != line.image[i][k].block)
                known++;
            if (known == count && count < MPM_IMAGE_BLOCKS)
                blocks[count++] = line.image[i][k].block;
        }
    return count;
}

static int compare_with_block(const void *key, const void *block)
{
    const mpm_node_block *node_block = block;
    const mpm_block_key at = {{node_block->block[0], node_block->block[1], node_block->block[2]}, node_block->layer};
    return mpm_block_map_compare(key, &at);
}

int32_t mpm_images_block(const struct mpm_grid *grid, mpm_block_key key)
{
    const mpm_node_block *found = bsearch(&key, grid->blocks, grid->block_count, sizeof *found, compare_with_block);
    return found ? (int32_t)(found - grid->blocks) : NO_BLOCK;
}

/* Finds blocks by coordinates and layer. It caches recent blocks, because the images of a block are in few others. */
struct finder {
    const mpm_grid *grid;
    struct {
        mpm_block_key key;
        int32_t index;
    } known[64];
};

static void finder_begin(struct finder *finder, const mpm_grid *grid)
{
    finder->grid = grid;
    for (int k = 0; k < 64; k++)
        finder->known[k].key.block[0] = INT32_MIN; /* matches no block */
}

static int32_t find_block(struct finder *finder, mpm_block_key key)
{
    const int k = (key.block[0] & 3) << 4 | (key.block[1] & 3) << 2 | (key.block[2] & 3);
    if (mpm_block_map_compare(&finder->known[k].key, &key)) {
        finder->known[k].key = key;
        finder->known[k].index = mpm_images_block(finder->grid, key);
    }
    return finder->known[k].index;
}

/* The arrays of `images` while they grow. */
struct harvest {
    const mpm_allocator *allocator;
    mpm_images *images;
    size_t node_count, node_capacity, list_count, list_capacity, block_capacity, first_capacity;
    int dim;
    int32_t layer; /* of the block whose nodes are collected */
};

static mpm_status append_image(struct harvest *harvest, mpm_image image)
{
    mpm_images *images = harvest->images;
    if (harvest->list_count >= INT32_MAX)
        return MPM_TOO_LARGE;
    if (mpm_memory_grow(harvest->allocator, (void **)&images->list, &harvest->list_capacity, harvest->list_count,
                        harvest->list_count + 1, sizeof *images->list))
        return MPM_OUT_OF_MEMORY;
    images->list[harvest->list_count++] = image;
    return MPM_OK;
}

static mpm_status append_node(struct harvest *harvest, mpm_image_node node)
{
    mpm_images *images = harvest->images;
    if (mpm_memory_grow(harvest->allocator, (void **)&images->nodes, &harvest->node_capacity, harvest->node_count,
                        harvest->node_count + 1, sizeof *images->nodes))
        return MPM_OUT_OF_MEMORY;
    images->nodes[harvest->node_count++] = node;
    return MPM_OK;
}

/* Lists the images of a node whose blocks are in the grid, the first axis slowest. `inside`: the coordinates of the
 * node in its block. For now, `fold` of an image holds the index of its block in the grid. */
static mpm_status collect_images(struct harvest *harvest, const struct line line[3], const int inside[3],
                                 struct finder *finder)
{
    const int dim = harvest->dim, side = mpm_block_side(dim);
    int k[3] = {0, 0, 0};
    for (;;) {
        mpm_block_key key = {.kind = harvest->layer};
        mpm_image image = {0};
        for (int axis = 0; axis < dim; axis++) {
            key.block[axis] = line[axis].image[inside[axis]][k[axis]].block;
            image.node = (uint8_t)(image.node * side + line[axis].image[inside[axis]][k[axis]].inside);
            image.flips |= (uint8_t)(line[axis].node[inside[axis]].image[k[axis]].flipped << axis);
        }
        image.fold = find_block(finder, key);
        mpm_status status = image.fold == NO_BLOCK ? MPM_OK : append_image(harvest, image);
        if (status)
            return status;
        int axis = dim - 1;
        while (axis >= 0 && ++k[axis] == line[axis].node[inside[axis]].images)
            k[axis--] = 0;
        if (axis < 0)
            return MPM_OK;
    }
}

static mpm_status collect_node(struct harvest *harvest, const struct line line[3], int n, struct finder *finder)
{
    const int dim = harvest->dim, side = mpm_block_side(dim);
    mpm_image_node node = {.node = (uint8_t)n, .first = (int32_t)harvest->list_count};
    int inside[3] = {0, 0, 0}, most = 1;
    for (int axis = dim - 1, rest = n; axis >= 0; axis--, rest /= side) {
        const mpm_axis_node *along = &line[axis].node[inside[axis] = rest % side];
        node.at[axis] = (int32_t)along->at;
        node.flips |= (uint8_t)(along->flipped << axis);
        node.planes |= (uint8_t)(along->plane << axis);
        node.normals |= (uint8_t)(along->mirrored << axis);
        most *= along->images;
    }
    if (most == 1 && !node.planes)
        return MPM_OK;
    mpm_status status = collect_images(harvest, line, inside, finder);
    node.images = (int32_t)(harvest->list_count - (size_t)node.first);
    if (!status && node.images == 1 && !node.flips && !node.planes) { /* no image of it is in the grid */
        harvest->list_count--;
        return MPM_OK;
    }
    return status ? status : append_node(harvest, node);
}

/* Collects the nodes of block `b` that have images; counts the block if there are any. */
static mpm_status collect_block(struct harvest *harvest, mpm_grid *grid, size_t b, const struct line line[3],
                                struct finder *finder)
{
    mpm_images *images = harvest->images;
    const size_t nodes = harvest->node_count, folds = images->block_count;
    harvest->layer = grid->blocks[b].layer;
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        mpm_status status = collect_node(harvest, line, n, finder);
        if (status)
            return status;
    }
    if (harvest->node_count == nodes)
        return MPM_OK;
    if (harvest->node_count >= INT32_MAX)
        return MPM_TOO_LARGE;
    if (mpm_memory_grow(harvest->allocator, (void **)&images->blocks, &harvest->block_capacity, folds, folds + 1,
                        sizeof *images->blocks) ||
        mpm_memory_grow(harvest->allocator, (void **)&images->first_node, &harvest->first_capacity,
                        folds ? folds + 1 : 0, folds + 2, sizeof *images->first_node))
        return MPM_OUT_OF_MEMORY;
    images->first_node[folds] = (int32_t)nodes;
    images->first_node[folds + 1] = (int32_t)harvest->node_count;
    images->blocks[folds] = (int32_t)b;
    grid->blocks[b].fold = (int32_t)folds;
    images->block_count++;
    return MPM_OK;
}

mpm_status mpm_images_find(mpm_grid *grid, const mpm_allocator *allocator, const mpm_symmetry symmetry[3], int dim)
{
    struct harvest harvest = {.allocator = allocator, .images = &grid->images, .dim = dim};
    struct finder finder;
    struct line line[3];
    finder_begin(&finder, grid);
    for (size_t b = 0; b < grid->block_count; b++) {
        bool any = false;
        for (int axis = 0; axis < dim; axis++)
            any |= trace_line(&line[axis], &symmetry[axis], grid->blocks[b].block[axis], mpm_block_side(dim));
        grid->blocks[b].fold = NO_BLOCK;
        mpm_status status = any ? collect_block(&harvest, grid, b, line, &finder) : MPM_OK;
        if (status)
            return status;
    }
    mpm_images *images = &grid->images;
    for (size_t i = 0; i < harvest.list_count; i++) /* an image has images too, so its block was counted */
        images->list[i].fold = grid->blocks[images->list[i].fold].fold;
    images->bytes = images->block_count * (sizeof *images->blocks + sizeof *images->first_node) +
                    harvest.node_count * sizeof *images->nodes + harvest.list_count * sizeof *images->list;
    return MPM_OK;
}

void mpm_images_clear(mpm_images *images, const mpm_allocator *allocator)
{
    mpm_memory_free(allocator, images->blocks);
    mpm_memory_free(allocator, images->first_node);
    mpm_memory_free(allocator, images->nodes);
    mpm_memory_free(allocator, images->list);
    *images = (mpm_images){0};
}
