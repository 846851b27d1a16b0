/* SPDX-License-Identifier: MIT */
#include "mpm/memory/partition.h"

#include <string.h>

size_t mpm_partition_first_group(const mpm_grid *grid, const mpm_team *team, int32_t process)
{
    return grid->task_count ? (size_t)grid->task_group[mpm_team_first_task(team, grid->task_count, process)] : 0;
}

/* The search for what processes reach. */
struct search {
    const mpm_grid *grid;
    const mpm_symmetry *symmetry;
    int dim;
    bool reflects, all;
    int32_t processes;
    int32_t *sender; /* per copy: the process whose task adds to it */
    uint8_t *reach, *before;
};

static void raise(struct search *search, ptrdiff_t block, mpm_reach reach)
{
    if (block >= 0 && search->reach[block] < reach)
        search->reach[block] = (uint8_t)reach;
}

/* Blocks of one place are finished together, because their layers meet there. */
static void finish_places(struct search *search)
{
    const mpm_grid *grid = search->grid;
    for (size_t p = 0; p < grid->place_count; p++) {
        const mpm_place *place = &grid->places[p];
        bool finished = false;
        for (int32_t b = place->first; b < place->first + place->count; b++)
            finished |= search->reach[b] == MPM_FINISHED;
        for (int32_t b = place->first; b < place->first + place->count && finished; b++)
            raise(search, b, MPM_FINISHED);
    }
}

/* Raises the blocks with images of nodes of each block that is at least at `from`. */
static void raise_images(struct search *search, mpm_reach from, mpm_reach to)
{
    const mpm_grid *grid = search->grid;
    const mpm_images *images = &grid->images;
    memcpy(search->before, search->reach, grid->block_count);
    for (size_t f = 0; f < images->block_count; f++)
        for (int32_t i = images->first_node[f]; i < images->first_node[f + 1]; i++)
            for (int32_t k = 0; k < images->nodes[i].images && search->before[images->blocks[f]] >= from; k++)
                raise(search, images->blocks[images->list[images->nodes[i].first + k].fold], to);
}

/* Raises the blocks, of any layer, with nodes that a face reflects into a finished block. */
static void raise_reflections(struct search *search)
{
    const mpm_grid *grid = search->grid;
    memcpy(search->before, search->reach, grid->block_count);
    for (size_t b = 0; b < grid->block_count; b++) {
        int32_t along[3][MPM_IMAGE_BLOCKS] = {{0}};
        int count[3] = {1, 1, 1};
        for (int axis = 0; axis < search->dim && search->before[b] == MPM_FINISHED; axis++) {
            mpm_symmetry faces = search->symmetry[axis];
            faces.mirror[0] = faces.mirror[1] = !faces.periodic;
            count[axis] = mpm_images_along(&faces, grid->blocks[b].block[axis], mpm_block_side(search->dim),
                                           along[axis]);
        }
        for (int k = 1; k < count[0] * count[1] * count[2]; k++) {
            const int at[3] = {k % count[0], k / count[0] % count[1], k / count[0] / count[1]};
            const int32_t block[3] = {along[0][at[0]], along[1][at[1]], along[2][at[2]]};
            for (size_t other = 0; other < grid->block_count; other++)
                if (!memcmp(grid->blocks[other].block, block, sizeof block))
                    raise(search, (ptrdiff_t)other, MPM_FINISHED);
        }
    }
}

/* A block without copies, which stands for images of others, is finished by those who finish them. */
static void finish_empty(struct search *search)
{
    const mpm_grid *grid = search->grid;
    const mpm_images *images = &grid->images;
    memcpy(search->before, search->reach, grid->block_count);
    for (size_t f = 0; f < images->block_count; f++) {
        const int32_t block = images->blocks[f];
        for (int32_t i = images->first_node[f]; i < images->first_node[f + 1] && !grid->blocks[block].copies; i++)
            for (int32_t k = 0; k < images->nodes[i].images; k++)
                if (search->before[images->blocks[images->list[images->nodes[i].first + k].fold]] == MPM_FINISHED)
                    raise(search, block, MPM_FINISHED);
    }
}

/* Finds what a process reaches, in an array of 0. */
static void find_reach(struct search *search, int32_t process, uint8_t *reach)
{
    const mpm_grid *grid = search->grid;
    search->reach = reach;
    if (search->all) {
        memset(reach, MPM_FINISHED, grid->block_count);
        return;
    }
    for (size_t b = 0; b < grid->block_count; b++) {
        const int32_t *copy = grid->copy_list + grid->blocks[b].first_copy;
        for (int32_t c = 0; c < grid->blocks[b].copies; c++)
            if (search->sender[copy[c]] == process)
                raise(search, (ptrdiff_t)b, MPM_FINISHED);
    }
    finish_empty(search);
    finish_places(search);
    if (search->reflects) {
        raise_reflections(search);
        finish_places(search);
    }
    raise_images(search, MPM_FINISHED, MPM_SUMMED);
}

/* Lists the copies of process `from` in blocks that are reached, from `count` on; returns the number after them. */
static size_t list_copies(const struct search *search, const uint8_t *reach, int32_t from, int32_t *list, size_t count)
{
    const mpm_grid *grid = search->grid;
    for (size_t b = 0; b < grid->block_count; b++) {
        const int32_t *copy = grid->copy_list + grid->blocks[b].first_copy;
        for (int32_t c = 0; c < grid->blocks[b].copies && reach[b] != MPM_BEYOND; c++)
            if (search->sender[copy[c]] == from) {
                if (list)
                    list[count] = copy[c];
                count++;
            }
    }
    return count;
}

static void note_senders(const mpm_grid *grid, const mpm_team *team, int32_t *sender)
{
    for (int32_t r = 0; r < team->transport.processes; r++) {
        const size_t first = mpm_team_first_task(team, grid->task_count, r);
        const size_t end = mpm_team_first_task(team, grid->task_count, r + 1);
        for (int32_t c = grid->task_copy[first]; c < grid->task_copy[end]; c++)
            sender[c] = r;
    }
}

/* Finds what all processes reach, and who counts each block. */
static void find_reaches(struct search *search, mpm_partition *partition)
{
    const size_t blocks = search->grid->block_count;
    for (size_t b = 0; b < blocks; b++)
        partition->counting[b] = -1;
    for (int32_t r = 0; r < partition->processes; r++) {
        uint8_t *reach = partition->reaches + (size_t)r * blocks;
        find_reach(search, r, reach);
        for (size_t b = 0; b < blocks; b++)
            if (partition->counting[b] < 0 && reach[b] == MPM_FINISHED)
                partition->counting[b] = r;
    }
}

/* Counts what is exchanged with every other process, then lists it. */
static void visit_processes(const struct search *search, mpm_partition *partition, bool lists)
{
    const size_t blocks = search->grid->block_count;
    partition->neighbour_count = partition->out_count = partition->in_count = 0;
    for (int32_t r = 0; r < partition->processes; r++) {
        if (r == partition->own)
            continue;
        mpm_neighbour neighbour = {r, partition->out_count, 0, partition->in_count, 0};
        partition->out_count = list_copies(search, partition->reaches + (size_t)r * blocks, partition->own,
                                           lists ? partition->out : NULL, partition->out_count);
        partition->in_count =
            list_copies(search, partition->reach, r, lists ? partition->in : NULL, partition->in_count);
        neighbour.out_count = partition->out_count - neighbour.first_out;
        neighbour.in_count = partition->in_count - neighbour.first_in;
        if (neighbour.out_count || neighbour.in_count)
            partition->neighbours[partition->neighbour_count++] = neighbour;
    }
}

mpm_status mpm_partition_find(mpm_partition *partition, const mpm_allocator *allocator, const mpm_grid *grid,
                              const mpm_symmetry symmetry[3], int dim, bool reflects, bool all, const mpm_team *team)
{
    const int32_t processes = team->transport.processes, own = team->transport.own;
    struct search search = {.grid = grid, .symmetry = symmetry, .dim = dim, .reflects = reflects, .all = all,
                            .processes = processes};
    *partition = (mpm_partition){
        .processes = processes, .own = own,
        .first_task = mpm_team_first_task(team, grid->task_count, own),
        .end_task = mpm_team_first_task(team, grid->task_count, own + 1),
        .reaches = mpm_memory_new(allocator, grid->block_count + 1, (size_t)processes),
        .counting = mpm_memory_new(allocator, grid->block_count + 1, sizeof *partition->counting),
        .neighbours = mpm_memory_new(allocator, (size_t)processes, sizeof *partition->neighbours),
    };
    mpm_status status = MPM_OUT_OF_MEMORY;
    partition->box = mpm_memory_new(allocator, grid->copy_count + 1, sizeof *partition->box);
    partition->spent = mpm_memory_new(allocator, grid->task_count + 1, sizeof *partition->spent);
    search.sender = mpm_memory_new(allocator, grid->copy_count + 1, sizeof *search.sender);
    search.before = mpm_memory_new(allocator, grid->block_count + 1, 1);
    if (!partition->reaches || !partition->counting || !partition->neighbours || !partition->box ||
        !partition->spent || !search.sender || !search.before)
        goto done;
    partition->reach = partition->reaches + (size_t)own * grid->block_count;
    if (grid->task_count)
        note_senders(grid, team, search.sender);
    find_reaches(&search, partition);
    visit_processes(&search, partition, false);
    partition->out = mpm_memory_new(allocator, partition->out_count + 1, sizeof *partition->out);
    partition->in = mpm_memory_new(allocator, partition->in_count + 1, sizeof *partition->in);
    if (!partition->out || !partition->in)
        goto done;
    visit_processes(&search, partition, true);
    status = MPM_OK;
done:
    mpm_memory_free(allocator, search.before);
    mpm_memory_free(allocator, search.sender);
    if (status)
        mpm_partition_clear(partition, allocator);
    return status;
}

/* Widens the boxes of a group's `copies` by the nodes that it can reach. */
static void widen_boxes(mpm_node_box *boxes, const mpm_group *group, const int32_t *copies, int dim)
{
    const int side = mpm_block_side(dim);
    for (int k = 0; k < (dim == 3 ? 27 : 9); k++) {
        int rest = k;
        for (int axis = dim - 1; axis >= 0 && copies[k] >= 0; axis--, rest /= 3) {
            const int begin = 1 + side * (rest % 3 - 1); /* first_node and last_node count from node -1 */
            const int first = group->first_node[axis] - begin, last = group->last_node[axis] - begin;
            mpm_node_box *box = &boxes[copies[k]];
            const uint8_t low = (uint8_t)(first < 0 ? 0 : first), end = (uint8_t)(last < side ? last + 1 : side);
            box->first[axis] = box->first[axis] < low ? box->first[axis] : low;
            box->end[axis] = box->end[axis] > end ? box->end[axis] : end;
        }
    }
}

void mpm_partition_find_boxes(mpm_node_box *boxes, const mpm_grid *grid, const mpm_group *groups, int dim)
{
    for (size_t c = 0; c < grid->copy_count; c++) {
        boxes[c] = (mpm_node_box){{UINT8_MAX, UINT8_MAX, UINT8_MAX}, {0}};
        for (int axis = dim; axis < 3; axis++)
            boxes[c].first[axis] = 0, boxes[c].end[axis] = 1;
    }
    for (int32_t g = 0; grid->task_count && g < grid->task_group[grid->task_count]; g++) {
        widen_boxes(boxes, &groups[g], groups[g].copy, dim);
        widen_boxes(boxes, &groups[g], groups[g].face_copy, dim);
    }
}

void mpm_partition_clear(mpm_partition *partition, const mpm_allocator *allocator)
{
    mpm_memory_free(allocator, partition->reaches);
    mpm_memory_free(allocator, partition->counting);
    mpm_memory_free(allocator, partition->neighbours);
    mpm_memory_free(allocator, partition->out);
    mpm_memory_free(allocator, partition->in);
    mpm_memory_free(allocator, partition->box);
    mpm_memory_free(allocator, partition->spent);
    *partition = (mpm_partition){0};
}
