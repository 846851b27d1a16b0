/* SPDX-License-Identifier: MIT */
#include "mpm/memory/grid.h"

#include <stdlib.h>
#include <string.h>

#include "mpm/memory/block_map.h"

enum {
    PARTICLES_PER_TASK = 8192, /* small enough to share out, large enough that private copies are cheap */
    LEAST_TASKS = 2
};

/* The offset of neighbour `k` along `axis`: -1, 0 or 1. x is slowest. */
static int neighbour_offset(int dim, int k, int axis)
{
    for (int faster = dim - 1; faster > axis; faster--)
        k /= 3;
    return k % 3 - 1;
}

/* The neighbours of which the group can touch a node, one bit each. `first_node` and `last_node` count from node -1 of
 * the block. */
static uint32_t touched_neighbours(const mpm_group *group, int dim)
{
    /* by axis: the neighbours at offset -1; those at offset 1 are twice `stride` bits further */
    static const uint32_t below[2][3] = {{0x7, 0x49}, {0x1ff, 0x1c0e07, 0x1249249}};
    static const int stride[2][3] = {{3, 1}, {9, 3, 1}};
    uint32_t touched = dim == 3 ? 0x7ffffff : 0x1ff;
    for (int axis = 0; axis < dim; axis++) {
        if (group->first_node[axis] > 0)
            touched &= ~below[dim - 2][axis];
        if (group->last_node[axis] <= mpm_block_side(dim))
            touched &= ~(below[dim - 2][axis] << 2 * stride[dim - 2][axis]);
    }
    return touched;
}

/* Adds blocks for the images of nodes, so that layers which meet at one image meet at all of them. */
static mpm_status add_images(mpm_block_map *map, const mpm_symmetry symmetry[3], int dim)
{
    const size_t count = map->count;
    for (size_t b = 0; b < count; b++) {
        const mpm_block_key key = map->keys[b];
        int32_t along[3][MPM_IMAGE_BLOCKS] = {{0}};
        int images[3] = {1, 1, 1};
        for (int axis = 0; axis < dim; axis++)
            images[axis] = mpm_images_along(&symmetry[axis], key.block[axis], mpm_block_side(dim), along[axis]);
        for (int k = 1; k < images[0] * images[1] * images[2]; k++) {
            const int at[3] = {k % images[0], k / images[0] % images[1], k / images[0] / images[1]};
            const mpm_block_key image = {{along[0][at[0]], along[1][at[1]], along[2][at[2]]}, key.kind};
            if (mpm_block_map_insert(map, image) < 0)
                return MPM_OUT_OF_MEMORY;
        }
    }
    return MPM_OK;
}

/* Finds the touched blocks, sorted along the curve and by layer, and writes their indices into the groups. */
static mpm_status find_blocks(mpm_grid *grid, const mpm_allocator *allocator, mpm_group *groups, size_t group_count,
                              const mpm_symmetry symmetry[3], int dim, bool faces)
{
    bool layered = false;
    const int neighbours = dim == 3 ? 27 : 9;
    mpm_status status = MPM_OUT_OF_MEMORY;
    mpm_block_map map = mpm_block_map_empty(allocator);
    struct {
        mpm_block_key key;
        int32_t found;
    } *order = NULL; /* key first, so that mpm_block_map_compare applies */
    int32_t *rank = NULL;
    for (size_t g = 0; g < group_count; g++) {
        layered |= groups[g].layer != groups[0].layer;
        for (int k = 0; k < neighbours; k++)
            groups[g].node_block[k] = groups[g].face_block[k] = -1;
        for (uint32_t left = touched_neighbours(&groups[g], dim); left; left &= left - 1) {
            const int k = __builtin_ctz(left);
            groups[g].node_block[k] =
                mpm_block_map_insert(&map, mpm_block_map_neighbour(groups[g].block, groups[g].layer, dim, k));
            if (groups[g].node_block[k] < 0)
                goto done;
            if (faces && (groups[g].face_block[k] = mpm_block_map_insert(
                              &map, mpm_block_map_neighbour(groups[g].block, groups[g].layer + 1, dim, k))) < 0)
                goto done;
        }
    }
    if (layered && add_images(&map, symmetry, dim))
        goto done;
    grid->block_count = map.count;
    grid->blocks = mpm_memory_new(allocator, map.count, sizeof *grid->blocks);
    order = mpm_memory_new(allocator, map.count, sizeof *order);
    rank = mpm_memory_new(allocator, map.count, sizeof *rank);
    if (!grid->blocks || !order || !rank)
        goto done;
    for (size_t b = 0; b < map.count; b++)
        order[b].key = map.keys[b], order[b].found = (int32_t)b;
    qsort(order, map.count, sizeof *order, mpm_block_map_compare);
    for (size_t b = 0; b < map.count; b++) {
        memcpy(grid->blocks[b].block, order[b].key.block, sizeof grid->blocks[b].block);
        grid->blocks[b].layer = order[b].key.kind;
        rank[order[b].found] = (int32_t)b;
    }
    for (size_t g = 0; g < group_count; g++)
        for (int k = 0; k < neighbours; k++) {
            if (groups[g].node_block[k] >= 0)
                groups[g].node_block[k] = rank[groups[g].node_block[k]];
            if (groups[g].face_block[k] >= 0)
                groups[g].face_block[k] = rank[groups[g].face_block[k]];
        }
    status = MPM_OK;
done:
    mpm_memory_free(allocator, rank);
    mpm_memory_free(allocator, order);
    mpm_block_map_clear(&map);
    return status;
}

/* Cuts the groups into tasks. The cuts depend on the particles alone, never on the threads. */
static mpm_status cut_tasks(mpm_grid *grid, const mpm_allocator *allocator, const mpm_group *groups,
                            size_t group_count, ptrdiff_t particles)
{
    ptrdiff_t tasks = (particles + PARTICLES_PER_TASK - 1) / PARTICLES_PER_TASK;
    if (tasks > LEAST_TASKS) /* a multiple, so that two or four threads share the work evenly */
        tasks = (tasks + 3) / 4 * 4;
    tasks = tasks < LEAST_TASKS ? LEAST_TASKS : tasks;
    grid->task_count = (size_t)tasks;
    grid->task_group = mpm_memory_new(allocator, (size_t)tasks + 1, sizeof *grid->task_group);
    grid->task_copy = mpm_memory_new(allocator, (size_t)tasks + 1, sizeof *grid->task_copy);
    if (!grid->task_group || !grid->task_copy)
        return MPM_OUT_OF_MEMORY;
    size_t g = 0;
    ptrdiff_t taken = 0;
    for (ptrdiff_t t = 0; t < tasks; t++) {
        grid->task_group[t] = (int32_t)g;
        while (g < group_count && taken + groups[g].count / 2 < particles * (t + 1) / tasks)
            taken += groups[g++].count;
    }
    grid->task_group[tasks] = (int32_t)group_count; /* rounding must not omit a group */
    return MPM_OK;
}

/* Table `side` of a group: of its nodes, or of those of the other side of cracks. */
static int32_t *blocks_of(mpm_group *group, int side)
{
    return side ? group->face_block : group->node_block;
}

static int32_t *copies_of(mpm_group *group, int side)
{
    return side ? group->face_copy : group->copy;
}

/* Numbers the private copies of every task, and lists the copies of every block in task order. */
static mpm_status number_copies(mpm_grid *grid, const mpm_allocator *allocator, mpm_group *groups, int dim)
{
    const int neighbours = dim == 3 ? 27 : 9;
    int32_t *owner = mpm_memory_new(allocator, grid->block_count, sizeof *owner); /* by block: 1 + its last task */
    int32_t *copy = mpm_memory_new(allocator, grid->block_count, sizeof *copy);
    mpm_status status = MPM_OUT_OF_MEMORY;
    if (!owner || !copy)
        goto done;
    size_t copies = 0;
    for (size_t t = 0; t < grid->task_count; t++) {
        grid->task_copy[t] = (int32_t)copies;
        for (int32_t g = grid->task_group[t]; g < grid->task_group[t + 1]; g++)
            for (int k = 0; k < 2 * neighbours; k++) {
                const int32_t b = blocks_of(&groups[g], k & 1)[k >> 1];
                int32_t *number = &copies_of(&groups[g], k & 1)[k >> 1];
                *number = -1;
                if (b < 0)
                    continue;
                if (owner[b] != (int32_t)t + 1) {
                    owner[b] = (int32_t)t + 1;
                    copy[b] = (int32_t)copies++;
                    grid->blocks[b].copies++;
                }
                *number = copy[b];
            }
        if (copies > INT32_MAX / 2) {
            status = MPM_TOO_LARGE;
            goto done;
        }
    }
    grid->task_copy[grid->task_count] = (int32_t)copies;
    grid->copy_count = copies;
    grid->copy_list = mpm_memory_new(allocator, copies, sizeof *grid->copy_list);
    if (!grid->copy_list)
        goto done;
    int32_t at = 0;
    for (size_t b = 0; b < grid->block_count; b++) {
        grid->blocks[b].first_copy = at;
        at += grid->blocks[b].copies;
        grid->blocks[b].copies = 0;
        owner[b] = 0;
    }
    for (size_t t = 0; t < grid->task_count; t++)
        for (int32_t g = grid->task_group[t]; g < grid->task_group[t + 1]; g++)
            for (int k = 0; k < 2 * neighbours; k++) {
                const int32_t b = blocks_of(&groups[g], k & 1)[k >> 1];
                if (b < 0 || owner[b] == (int32_t)t + 1)
                    continue;
                owner[b] = (int32_t)t + 1;
                grid->copy_list[grid->blocks[b].first_copy + grid->blocks[b].copies++] =
                    copies_of(&groups[g], k & 1)[k >> 1];
            }
    status = MPM_OK;
done:
    mpm_memory_free(allocator, copy);
    mpm_memory_free(allocator, owner);
    return status;
}

/* Lists the places whose blocks wait for each other. */
static mpm_status find_places(mpm_grid *grid, const mpm_allocator *allocator)
{
    size_t capacity = 0;
    for (size_t b = 0, end; b < grid->block_count; b = end) {
        const int32_t *block = grid->blocks[b].block;
        bool folds = grid->blocks[b].fold >= 0;
        for (end = b + 1; end < grid->block_count; end++) {
            if (mpm_block_map_compare_blocks(grid->blocks[end].block, block))
                break;
            folds |= grid->blocks[end].fold >= 0;
        }
        if (end == b + 1 && !folds)
            continue;
        if (mpm_memory_grow(allocator, (void **)&grid->places, &capacity, grid->place_count, grid->place_count + 1,
                            sizeof *grid->places))
            return MPM_OUT_OF_MEMORY;
        const size_t layers = end - b;
        if (grid->pair_count > INT32_MAX / 2 || layers > INT16_MAX)
            return MPM_TOO_LARGE;
        grid->places[grid->place_count++] = (mpm_place){(int32_t)b, (int32_t)layers, (int32_t)grid->pair_count};
        grid->pair_count += layers * (layers - 1) / 2;
        for (size_t k = b; k < end; k++)
            grid->blocks[k].waits = true;
    }
    grid->bytes += grid->place_count * sizeof *grid->places;
    return MPM_OK;
}

/* The nodes of neighbour `k` that the group can reach, one bit each. */
static uint64_t reached_nodes(const mpm_group *group, int dim, int k)
{
    const int side = mpm_block_side(dim);
    int low[3] = {0}, high[3] = {0};
    uint64_t nodes = 0;
    for (int axis = 0; axis < dim; axis++) { /* first_node and last_node count from node -1 */
        const int first = group->first_node[axis] - 1 - side * neighbour_offset(dim, k, axis);
        const int last = group->last_node[axis] - 1 - side * neighbour_offset(dim, k, axis);
        low[axis] = first < 0 ? 0 : first;
        high[axis] = last < side ? last : side - 1;
    }
    for (int x = low[0]; x <= high[0]; x++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int z = low[2]; z <= high[2]; z++)
                nodes |= UINT64_C(1) << (dim == 3 ? (x * side + y) * side + z : x * side + y);
    return nodes;
}

/* Finds the nodes that several layers can reach. Where nodes have images, others may bring a layer: these count all. */
static mpm_status find_shared_nodes(mpm_grid *grid, const mpm_allocator *allocator, const mpm_group *groups,
                                    size_t group_count, int dim)
{
    if (!grid->pair_count)
        return MPM_OK;
    uint64_t *reached = grid->shared_nodes = mpm_memory_new(allocator, grid->block_count, sizeof *reached);
    if (!reached)
        return MPM_OUT_OF_MEMORY;
    for (size_t g = 0; g < group_count; g++)
        for (int k = 0; k < (dim == 3 ? 27 : 9); k++)
            if (groups[g].node_block[k] >= 0) {
                const uint64_t nodes = reached_nodes(&groups[g], dim, k);
                reached[groups[g].node_block[k]] |= nodes;
                if (groups[g].face_block[k] >= 0)
                    reached[groups[g].face_block[k]] |= nodes;
            }
    for (size_t b = 0; b < grid->block_count; b++)
        reached[b] = grid->blocks[b].waits ? reached[b] : 0;
    for (size_t p = 0; p < grid->place_count; p++) {
        uint64_t *here = reached + grid->places[p].first, one = 0, several = 0;
        for (int32_t k = 0; k < grid->places[p].count; k++) {
            several |= one & here[k];
            one |= here[k];
            if (grid->blocks[grid->places[p].first + k].fold >= 0 && grid->places[p].count > 1)
                several = UINT64_MAX;
        }
        for (int32_t k = 0; k < grid->places[p].count; k++)
            here[k] = several;
    }
    grid->bytes += grid->block_count * sizeof *reached;
    return MPM_OK;
}

/* Numbers the copies of the blocks of places with several layers, task by task. */
static mpm_status number_shared_copies(mpm_grid *grid, const mpm_allocator *allocator)
{
    if (!grid->pair_count)
        return MPM_OK;
    grid->shared_copy = mpm_memory_new_unset(allocator, grid->copy_count, sizeof *grid->shared_copy);
    grid->task_shared = mpm_memory_new(allocator, grid->task_count + 1, sizeof *grid->task_shared);
    if (!grid->shared_copy || !grid->task_shared)
        return MPM_OUT_OF_MEMORY;
    memset(grid->shared_copy, -1, grid->copy_count * sizeof *grid->shared_copy);
    for (size_t p = 0; p < grid->place_count; p++)
        for (int32_t b = grid->places[p].first; b < grid->places[p].first + grid->places[p].count; b++)
            for (int32_t c = 0; c < grid->blocks[b].copies && grid->places[p].count > 1; c++)
                grid->shared_copy[grid->copy_list[grid->blocks[b].first_copy + c]] = 0;
    int32_t number = 0;
    for (size_t t = 0; t < grid->task_count; t++) {
        grid->task_shared[t] = number;
        for (int32_t c = grid->task_copy[t]; c < grid->task_copy[t + 1]; c++)
            if (grid->shared_copy[c] == 0)
                grid->shared_copy[c] = number++;
    }
    grid->task_shared[grid->task_count] = number;
    grid->shared_copy_count = (size_t)number;
    grid->bytes += (grid->copy_count + grid->task_count + 1) * sizeof *grid->shared_copy;
    return MPM_OK;
}

const mpm_grid_row mpm_grid_rows[MPM_GRID_FIELD_COUNT] = {
#define ROW(field, rule, has_nodes, copies_of, raw_of, when) [field] = {rule, has_nodes, copies_of, raw_of},
    MPM_GRID_FIELDS(ROW)
#undef ROW
};

/* Allocates the arrays that the table gives to the requested fields. */
static mpm_status allocate_fields(mpm_grid *grid, mpm_device *device, unsigned fields, size_t real_size, bool unset)
{
    const size_t block_bytes = MPM_BLOCK_NODES * 4 * real_size, folds = grid->images.block_count;
    for (int f = 0; f < MPM_GRID_FIELD_COUNT; f++) {
        const mpm_grid_row *row = &mpm_grid_rows[f];
        const bool at_shared = MPM_GRID_AT_SHARED >> f & 1;
        const bool wanted = fields >> f & 1 && !(at_shared && !grid->shared_copy_count), nodes = wanted && row->nodes;
        const bool copies = wanted && (int)row->copies == f, raw = wanted && (int)row->raw == f && folds;
        const size_t copy_count = at_shared ? grid->shared_copy_count : grid->copy_count;
        if ((nodes && !(grid->field[f] = unset ? mpm_device_new_unset(device, grid->block_count, block_bytes)
                                               : mpm_device_new(device, grid->block_count, block_bytes))) ||
            (copies && !(grid->copies[f] = mpm_device_new_unset(device, copy_count, block_bytes))) ||
            (raw && !(grid->raw[f] = mpm_device_new(device, folds, block_bytes))))
            return MPM_OUT_OF_MEMORY;
        grid->bytes += (nodes * grid->block_count + copies * copy_count + raw * folds) * block_bytes;
    }
    for (int f = 0; f < MPM_GRID_FIELD_COUNT; f++) {
        const mpm_grid_row *row = &mpm_grid_rows[f];
        if (fields >> f & 1 && row->copies != MPM_GRID_NONE)
            grid->copies[f] = grid->copies[row->copies];
        if (fields >> f & 1 && row->raw != MPM_GRID_NONE)
            grid->raw[f] = grid->raw[row->raw];
    }
    return MPM_OK;
}

mpm_status mpm_grid_build(mpm_grid *grid, mpm_device *device, mpm_group *groups, size_t group_count,
                          ptrdiff_t particles, const mpm_symmetry symmetry[3], int dim, size_t real_size,
                          unsigned fields, bool unset)
{
    const mpm_allocator *allocator = &device->allocator;
    *grid = (mpm_grid){0};
    mpm_status status = find_blocks(grid, allocator, groups, group_count, symmetry, dim,
                                    fields >> MPM_GRID_DAMAGE & 1);
    if (!status)
        status = cut_tasks(grid, allocator, groups, group_count, particles);
    if (!status)
        status = number_copies(grid, allocator, groups, dim);
    if (!status)
        status = mpm_images_find(grid, allocator, symmetry, dim);
    if (!status)
        status = find_places(grid, allocator);
    if (!status)
        status = number_shared_copies(grid, allocator);
    if (!status)
        status = find_shared_nodes(grid, allocator, groups, group_count, dim);
    if (!status)
        status = allocate_fields(grid, device, fields, real_size, unset);
    grid->bytes += grid->images.bytes;
    if (status)
        mpm_grid_clear(grid, device);
    return status;
}

static int compare_blocks(const mpm_node_block *a, const mpm_node_block *b)
{
    const int order = mpm_block_map_compare_blocks(a->block, b->block);
    return order ? order : (a->layer > b->layer) - (a->layer < b->layer);
}

void mpm_grid_clear_nodes(mpm_grid *grid, const uint8_t *reach, size_t real_size)
{
    const size_t bytes = MPM_BLOCK_NODES * 4 * real_size;
    for (int f = 0; f < MPM_GRID_FIELD_COUNT; f++)
        for (size_t b = 0; b < grid->block_count && grid->field[f]; b++)
            if (reach[b])
                memset((char *)grid->field[f] + b * bytes, 0, bytes);
}

void mpm_grid_take_velocities(mpm_grid *grid, const mpm_grid *older, const uint8_t *reach, size_t real_size)
{
    static const mpm_grid_field taken[] = {MPM_GRID_VELOCITY, MPM_GRID_FILL};
    const size_t bytes = MPM_BLOCK_NODES * 4 * real_size;
    size_t o = 0; /* the blocks of both grids are sorted */
    for (size_t b = 0; b < grid->block_count; b++) {
        while (o < older->block_count && compare_blocks(&older->blocks[o], &grid->blocks[b]) < 0)
            o++;
        if ((!reach || reach[b]) && o < older->block_count &&
            !compare_blocks(&older->blocks[o], &grid->blocks[b]))
            for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
                if (grid->field[taken[k]] && older->field[taken[k]])
                    memcpy((char *)grid->field[taken[k]] + b * bytes,
                           (const char *)older->field[taken[k]] + o * bytes, bytes);
    }
}

void mpm_grid_clear(mpm_grid *grid, mpm_device *device)
{
    const mpm_allocator *allocator = &device->allocator;
    mpm_memory_free(allocator, grid->blocks);
    mpm_memory_free(allocator, grid->places);
    mpm_memory_free(allocator, grid->copy_list);
    mpm_memory_free(allocator, grid->task_group);
    mpm_memory_free(allocator, grid->task_copy);
    mpm_memory_free(allocator, grid->shared_copy);
    mpm_memory_free(allocator, grid->task_shared);
    mpm_memory_free(allocator, grid->shared_nodes);
    for (int f = 0; f < MPM_GRID_FIELD_COUNT; f++) {
        mpm_device_free(device, grid->field[f]);
        if ((int)mpm_grid_rows[f].copies == f) /* otherwise they are another field's */
            mpm_device_free(device, grid->copies[f]);
        if ((int)mpm_grid_rows[f].raw == f)
            mpm_device_free(device, grid->raw[f]);
    }
    mpm_images_clear(&grid->images, allocator);
    *grid = (mpm_grid){0};
}
