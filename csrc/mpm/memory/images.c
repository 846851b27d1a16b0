/* SPDX-License-Identifier: MIT */
#include "mpm/memory/images.h"

#include <stdlib.h>
#include <string.h>

#include "mpm/memory/grid.h"

enum {
    SIDE_MOST = 8,
    IMAGES_MOST = 2 * MPM_IMAGE_REACH + 2, /* along one axis, in a domain of one periodic cell */
    NO_BLOCK = -1
};

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The image of node `at` of an axis that is in the domain, and whether it is reflected. */
static int64_t into_domain(const mpm_symmetry *symmetry, int64_t at, bool *flipped)
{
    const int64_t cells = symmetry->cells;
    *flipped = false;
    if (symmetry->periodic)
        return at - cells * floor_divide(at, cells);
    if (symmetry->mirror[0] && symmetry->mirror[1]) {
        at -= 2 * cells * floor_divide(at, 2 * cells);
        *flipped = at > cells;
        return *flipped ? 2 * cells - at : at;
    }
    *flipped = (symmetry->mirror[0] && at < 0) || (symmetry->mirror[1] && at > cells);
    return !*flipped ? at : symmetry->mirror[0] ? -at : 2 * cells - at;
}

static bool is_on_plane(const mpm_symmetry *symmetry, int64_t inside)
{
    return (symmetry->mirror[0] && inside == 0) || (symmetry->mirror[1] && inside == symmetry->cells);
}

static bool has_symmetry(const mpm_symmetry *symmetry)
{
    return symmetry->periodic || symmetry->mirror[0] || symmetry->mirror[1];
}

/* The nodes along one axis of a block, with their images along that axis. */
struct line {
    int64_t at[SIDE_MOST]; /* in the domain */
    bool flipped[SIDE_MOST], plane[SIDE_MOST], mirrored[SIDE_MOST];
    int images[SIDE_MOST];
    struct {
        int32_t block; /* coordinate */
        uint8_t inside;
        bool flipped;
    } image[SIDE_MOST][IMAGES_MOST];
};

static void add_image(struct line *line, int i, int64_t at, bool flipped, int side)
{
    const int k = line->images[i]++;
    const int64_t block = floor_divide(at, side);
    line->image[i][k].block = (int32_t)block;
    line->image[i][k].inside = (uint8_t)(at - block * side);
    line->image[i][k].flipped = flipped;
    line->mirrored[i] |= flipped;
}

/* Lists the images of `inside` in ascending order; those of either orientation repeat after one period. */
static void list_images(struct line *line, int i, const mpm_symmetry *symmetry, int64_t inside, int side)
{
    const int64_t cells = symmetry->cells, low = -MPM_IMAGE_REACH, high = cells + MPM_IMAGE_REACH;
    const bool both = symmetry->mirror[0] && symmetry->mirror[1];
    const int64_t period = symmetry->periodic ? cells : both ? 2 * cells : 4 * (high - low);
    const int64_t mirrored = symmetry->mirror[0] ? -inside : 2 * cells - inside;
    const bool mirrors = (symmetry->mirror[0] || symmetry->mirror[1]) && !line->plane[i];
    int64_t straight_at = inside + period * -floor_divide(inside - low, period);
    int64_t mirrored_at = mirrored + period * -floor_divide(mirrored - low, period);
    while (straight_at <= high || (mirrors && mirrored_at <= high)) {
        if (!mirrors || straight_at < mirrored_at) {
            add_image(line, i, straight_at, false, side);
            straight_at += period;
        } else {
            add_image(line, i, mirrored_at, true, side);
            mirrored_at += period;
        }
    }
}

/* Returns whether a node of the line can have images or lie on a plane. */
static bool trace_line(struct line *line, const mpm_symmetry *symmetry, int32_t block, int side)
{
    bool any = false;
    memset(line, 0, sizeof *line);
    for (int i = 0; i < side; i++) {
        const int64_t at = (int64_t)block * side + i;
        const bool reached = at >= -MPM_IMAGE_REACH && at <= symmetry->cells + MPM_IMAGE_REACH;
        line->at[i] = at;
        if (!has_symmetry(symmetry) || !reached) {
            add_image(line, i, at, false, side);
            continue;
        }
        line->at[i] = into_domain(symmetry, at, &line->flipped[i]);
        line->plane[i] = is_on_plane(symmetry, line->at[i]);
        list_images(line, i, symmetry, line->at[i], side);
        line->mirrored[i] |= line->plane[i];
        any |= line->plane[i] || line->images[i] > 1;
    }
    return any;
}

int mpm_images_along(const mpm_symmetry *symmetry, int32_t block, int side, int32_t blocks[MPM_IMAGE_BLOCKS])
{
    struct line line;
    int count = 1;
    blocks[0] = block;
    if (!has_symmetry(symmetry))
        return count;
    trace_line(&line, symmetry, block, side);
    for (int i = 0; i < side; i++)
        for (int k = 0; k < line.images[i]; k++) {
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
            image.flips |= (uint8_t)(line[axis].image[inside[axis]][k[axis]].flipped << axis);
        }
        image.fold = find_block(finder, key);
        mpm_status status = image.fold == NO_BLOCK ? MPM_OK : append_image(harvest, image);
        if (status)
            return status;
        int axis = dim - 1;
        while (axis >= 0 && ++k[axis] == line[axis].images[inside[axis]])
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
        const int i = inside[axis] = rest % side;
        node.at[axis] = (int32_t)line[axis].at[i];
        node.flips |= (uint8_t)(line[axis].flipped[i] << axis);
        node.planes |= (uint8_t)(line[axis].plane[i] << axis);
        node.normals |= (uint8_t)(line[axis].mirrored[i] << axis);
        most *= line[axis].images[i];
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
