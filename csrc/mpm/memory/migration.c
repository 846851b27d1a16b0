/* SPDX-License-Identifier: MIT */
#include "mpm/memory/migration.h"

#include <stdlib.h>

#include "mpm/memory/partition.h"
#include "mpm/memory/plan.h"

/* ---- the new groups ---------------------------------------------------------------------------------------------- */

static int32_t kind_of(const struct feed *feed)
{
    return feed->shift == PLACED ? 1 : feed->shift == ARRIVED ? 2 : 0;
}

/* The end of the feeds of one kind from `first` on, of a group whose feeds end at `end`. */
static const struct feed *end_of_kind(const struct feed *first, const struct feed *end)
{
    const struct feed *feed = first;
    while (feed < end && kind_of(feed) == kind_of(first))
        feed++;
    return feed;
}

static void count_one(const struct cursor *cursor, size_t slot)
{
    cursor->next[cursor->cell[slot]]++;
}

/* The part that some feeds of group `local` of the own plan make. */
static struct part part_of(const struct plan *plan, size_t local, const struct feed *first, const struct feed *end)
{
    const mpm_group *group = &plan->groups[local];
    struct part part = {{{group->block[0], group->block[1], group->block[2]}, group->material}, kind_of(first),
                        plan->team->transport.own, (int32_t)local, 0, 0};
    uint32_t histogram[CELLS] = {0};
    struct cursor cursor = cursor_of(plan, local);
    const bool whole = end - first == plan->first_feed[local + 1] - plan->first_feed[local];
    if (!whole) {
        cursor.next = histogram;
        for_each_slot(plan, first, end, &cursor, count_one);
    }
    for (int c = 0; c < CELLS; c++) {
        part.count += (int32_t)cursor.next[c];
        part.cells |= (uint64_t)(cursor.next[c] > 0) << c;
    }
    return part;
}

/* Lists the parts of the own plan, or only counts them. */
static size_t list_parts(const struct plan *plan, struct part *parts)
{
    size_t count = 0;
    for (size_t local = 0; local < plan->group_count; local++) {
        const struct feed *feed = plan->feeds + plan->first_feed[local];
        const struct feed *end = plan->feeds + plan->first_feed[local + 1];
        for (const struct feed *next; feed < end; feed = next, count++) {
            next = end_of_kind(feed, end);
            if (parts)
                parts[count] = part_of(plan, local, feed, next);
        }
    }
    return count;
}

/* Tells all processes the parts of all. `status`: of the own plan. The team agrees on errors. */
static mpm_status tell(struct plan *plan, mpm_status status)
{
    const mpm_allocator *allocator = plan->request->allocator;
    const size_t count = status ? 0 : list_parts(plan, NULL);
    struct part *own = mpm_memory_new_unset(allocator, count + 1, sizeof *own);
    void *all;
    size_t total;
    if (own && !status)
        list_parts(plan, own);
    status = mpm_team_gather(plan->team, allocator, status ? status : own ? MPM_OK : MPM_OUT_OF_MEMORY, own,
                             count, sizeof *own, &all, &total);
    plan->parts = all;
    plan->part_count = total;
    mpm_memory_free(allocator, own);
    return status;
}

/* Of one group: as the stable sort of all particles takes them. */
static int compare_parts(const void *a, const void *b)
{
    const struct part *one = a, *other = b;
    const int order = mpm_block_map_compare(a, b);
    if (order)
        return order;
    return one->kind != other->kind ? one->kind - other->kind : one->process - other->process;
}

/* Replaces the groups of the own plan by those of all processes. */
static mpm_status merge(struct plan *plan)
{
    const mpm_allocator *allocator = plan->request->allocator;
    size_t count = 0;
    qsort(plan->parts, plan->part_count, sizeof *plan->parts, compare_parts);
    for (size_t p = 0; p < plan->part_count; p++)
        count += p == 0 || mpm_block_map_compare(&plan->parts[p - 1], &plan->parts[p]) != 0;
    mpm_group *groups = mpm_memory_new(allocator, count, sizeof *groups);
    plan->first_part = mpm_memory_new(allocator, count + 1, sizeof *plan->first_part);
    if (!groups || !plan->first_part) {
        mpm_memory_free(allocator, groups);
        return MPM_OUT_OF_MEMORY;
    }
    size_t next = 0;
    for (size_t g = 0; g < count; g++) {
        const mpm_block_key key = plan->parts[next].key;
        uint64_t cells = 0;
        plan->first_part[g] = (int32_t)next;
        memcpy(groups[g].block, key.block, sizeof groups[g].block);
        groups[g].material = key.kind;
        groups[g].layer = plan->request->layers[key.kind];
        for (; next < plan->part_count && !mpm_block_map_compare(&plan->parts[next], &key); next++) {
            cells |= plan->parts[next].cells;
            groups[g].count += plan->parts[next].count;
        }
        mpm_binning_set_nodes(&groups[g], plan->old->dim, plan->old->degree, cells);
    }
    plan->first_part[count] = (int32_t)next;
    mpm_memory_free(allocator, plan->groups);
    plan->groups = groups;
    plan->group_count = count;
    return MPM_OK;
}

/* ---- the particles ----------------------------------------------------------------------------------------------- */

/* What travels. */
struct travel {
    struct plan *plan;
    mpm_particles *particles;
    int32_t own, processes;
    size_t *first;           /* per process: its first new group; one more at the end */
    size_t *out, *in;        /* per process: particles to and from it */
    size_t out_count, in_count, all_count; /* the last one: between all processes */
    size_t room;             /* bytes of a particle in one exchange */
    mpm_message *messages;
    int32_t *slots;          /* of the particles that go, by process */
    char *going, *coming;
    struct feed *feeds;      /* of the own new groups */
    int32_t *first_feed;
    uint32_t (*histogram)[CELLS];
};

/* Bytes of item `c` of a particle: a column; behind them its row, its cell and its shift. */
static size_t bytes_of(const struct plan *plan, int c)
{
    if (c == plan->old->columns)
        return sizeof(int32_t) + 2;
    return mpm_binning_moves(plan, c) ? (size_t)plan->old->width[c] * plan->old->real_size : 0;
}

/* All items go at once, unless they would take much memory: then column after column. */
static void find_room(struct travel *travel)
{
    static const size_t MUCH = (size_t)4 << 20; /* of messages, per process */
    size_t whole = 0, most = 0;
    for (int c = 0; c <= travel->plan->old->columns; c++) {
        const size_t bytes = bytes_of(travel->plan, c);
        whole += bytes;
        most = bytes > most ? bytes : most;
    }
    travel->room = travel->all_count / (size_t)travel->processes * whole > MUCH ? most : whole;
}

static void count_travellers(struct travel *travel)
{
    const struct plan *plan = travel->plan;
    for (int32_t r = 0; r < travel->processes; r++)
        for (int32_t p = plan->first_part[travel->first[r]]; p < plan->first_part[travel->first[r + 1]]; p++) {
            const struct part *part = &plan->parts[p];
            travel->all_count += part->process != r ? (size_t)part->count : 0;
            if (r == travel->own && part->process != r)
                travel->in[part->process] += (size_t)part->count, travel->in_count += (size_t)part->count;
            if (r != travel->own && part->process == travel->own)
                travel->out[r] += (size_t)part->count, travel->out_count += (size_t)part->count;
        }
}

/* Makes room behind the old slots for particles that come. */
static mpm_status make_room(struct travel *travel)
{
    struct plan *plan = travel->plan;
    const mpm_allocator *allocator = plan->request->allocator;
    const size_t slots = plan->slots + travel->in_count, lanes = (size_t)plan->old->lanes;
    if (slots > INT32_MAX)
        return MPM_TOO_LARGE;
    if (!travel->in_count)
        return MPM_OK;
    uint8_t *cell = mpm_memory_new_unset(allocator, slots, sizeof *cell);
    uint8_t *shift = mpm_memory_new_unset(allocator, slots, sizeof *shift);
    if (!cell || !shift) {
        mpm_memory_free(allocator, cell);
        mpm_memory_free(allocator, shift);
        return MPM_OUT_OF_MEMORY;
    }
    memcpy(cell + plan->first_slot, plan->cell + plan->first_slot, plan->end_slot - plan->first_slot);
    memcpy(shift + plan->first_slot, plan->shift + plan->first_slot, plan->end_slot - plan->first_slot);
    mpm_memory_free(allocator, plan->cell);
    mpm_memory_free(allocator, plan->shift);
    plan->cell = cell;
    plan->shift = shift;
    return mpm_particles_reserve(travel->particles, (slots + lanes - 1) / lanes - (size_t)plan->old->tiles);
}

/* Finds how much travels and makes room for it. */
static mpm_status begin(struct travel *travel, const mpm_grid *grid)
{
    struct plan *plan = travel->plan;
    const mpm_allocator *allocator = plan->request->allocator;
    const size_t processes = (size_t)travel->processes, locals = plan->end_group;
    travel->first = mpm_memory_new(allocator, processes + 1, sizeof *travel->first);
    travel->out = mpm_memory_new(allocator, processes, sizeof *travel->out);
    travel->in = mpm_memory_new(allocator, processes, sizeof *travel->in);
    travel->messages = mpm_memory_new(allocator, processes, sizeof *travel->messages);
    if (!travel->first || !travel->out || !travel->in || !travel->messages)
        return MPM_OUT_OF_MEMORY;
    for (int32_t r = 0; r <= travel->processes; r++)
        travel->first[r] = mpm_partition_first_group(grid, travel->processes, r);
    count_travellers(travel);
    find_room(travel);
    const size_t groups = travel->first[travel->own + 1] - travel->first[travel->own];
    travel->slots = mpm_memory_new_unset(allocator, travel->out_count + 1, sizeof *travel->slots);
    travel->going = mpm_memory_new_unset(allocator, travel->out_count + 1, travel->room);
    travel->coming = mpm_memory_new_unset(allocator, travel->in_count + 1, travel->room);
    travel->feeds = mpm_memory_new_unset(allocator, (size_t)plan->first_feed[locals] + plan->part_count + 1,
                                         sizeof *travel->feeds);
    travel->first_feed = mpm_memory_new(allocator, groups + 1, sizeof *travel->first_feed);
    travel->histogram = mpm_memory_new(allocator, groups + 1, sizeof *travel->histogram);
    if (!travel->slots || !travel->going || !travel->coming || !travel->feeds || !travel->first_feed ||
        !travel->histogram)
        return MPM_OUT_OF_MEMORY;
    return make_room(travel);
}

/* The feeds of an own part, which lie together. */
static const struct feed *feeds_of(const struct plan *plan, const struct part *part, const struct feed **end)
{
    const struct feed *first = plan->feeds + plan->first_feed[part->local];
    const struct feed *last = plan->feeds + plan->first_feed[part->local + 1];
    while (first < last && kind_of(first) != part->kind)
        first++;
    *end = end_of_kind(first, last);
    return first;
}

static void list_slot(const struct cursor *cursor, size_t slot)
{
    cursor->source[cursor->next[0]++] = (int32_t)slot;
}

/* Lists the slots of all particles that go. */
static void list_slots(struct travel *travel)
{
    const struct plan *plan = travel->plan;
    uint32_t listed = 0;
    struct cursor cursor = {.lane = plan->lane, .next = &listed, .source = travel->slots};
    for (int32_t r = 0; r < travel->processes; r++)
        for (int32_t p = plan->first_part[travel->first[r]]; p < plan->first_part[travel->first[r + 1]]; p++)
            if (r != travel->own && plan->parts[p].process == travel->own) {
                const struct feed *end, *first = feeds_of(plan, &plan->parts[p], &end);
                for_each_slot(plan, first, end, &cursor, list_slot);
            }
}

/* Copies an array of particles, `width` x `size` bytes each, to a message, or back. Those of the message are in the
 * slots `slots`, or, where that is NULL, in those from `first` on. */
static char *copy(char *array, char *message, const int32_t *slots, size_t first, size_t count, size_t width,
                  size_t size, size_t lanes)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < width; k++, message += size) {
            char *at = array + mpm_particles_index(slots ? (size_t)slots[i] : first + i, k, width, lanes) * size;
            memcpy(slots ? message : at, slots ? at : message, size);
        }
    return message;
}

/* Items `c` to `end` - 1 of particles, and the bytes of these of one. */
struct items {
    int c, end;
    size_t bytes;
};

/* Copies items of `count` particles to a message, or back; returns its end. */
static char *pack(const struct travel *travel, const struct items *items, char *message, const int32_t *slots,
                  size_t first, size_t count)
{
    const struct plan *plan = travel->plan;
    const mpm_particles *particles = travel->particles;
    const size_t lanes = (size_t)particles->lanes;
    for (int c = items->c; c < items->end && c < particles->columns; c++)
        if (mpm_binning_moves(plan, c))
            message = copy(particles->column[c], message, slots, first, count, (size_t)particles->width[c],
                           particles->real_size, lanes);
    if (items->end <= particles->columns)
        return message;
    message = copy((char *)particles->row, message, slots, first, count, 1, sizeof *particles->row, lanes);
    message = copy((char *)plan->cell, message, slots, first, count, 1, 1, lanes);
    return copy((char *)plan->shift, message, slots, first, count, 1, 1, lanes);
}

static void exchange_items(struct travel *travel, const struct items *items)
{
    const struct plan *plan = travel->plan;
    const size_t bytes = items->bytes;
    const int32_t *slots = travel->slots;
    char *going = travel->going, *coming = travel->coming;
    size_t used = 0, first = plan->slots;
    for (int32_t r = 0; r < travel->processes; r++) {
        const size_t out = travel->out[r], in = travel->in[r];
        if (out || in)
            travel->messages[used++] = (mpm_message){r, going, coming, out * bytes, in * bytes};
        going = out ? pack(travel, items, going, slots, 0, out) : going;
        slots += out;
        coming += in * bytes;
    }
    mpm_team_exchange(plan->team, travel->messages, used);
    coming = travel->coming;
    for (int32_t r = 0; r < travel->processes; r++) {
        coming = travel->in[r] ? pack(travel, items, coming, NULL, first, travel->in[r]) : coming;
        first += travel->in[r];
    }
}

static void exchange(struct travel *travel)
{
    const struct plan *plan = travel->plan;
    list_slots(travel);
    for (struct items items = {0}; items.c <= plan->old->columns; items.c = items.end) {
        items.bytes = 0;
        for (items.end = items.c; items.end <= plan->old->columns; items.end++) {
            const size_t bytes = bytes_of(plan, items.end);
            if (items.bytes + bytes > travel->room)
                break;
            items.bytes += bytes;
        }
        exchange_items(travel, &items);
    }
}

/* Adds an own part to new group `g`, or one that has come to the slots from `slot` on. */
static size_t add_part(struct travel *travel, size_t count, const struct part *part, size_t g, size_t slot)
{
    const struct plan *plan = travel->plan;
    uint32_t *histogram = travel->histogram[g];
    if (part->process == travel->own) {
        const struct feed *end, *first = feeds_of(plan, part, &end);
        const bool begins = first == plan->feeds + plan->first_feed[part->local];
        for (int c = 0; c < CELLS && begins; c++) /* of all kinds, once */
            histogram[c] += plan->histogram[part->local][c];
        memcpy(travel->feeds + count, first, (size_t)(end - first) * sizeof *first);
        return count + (size_t)(end - first);
    }
    travel->feeds[count] = (struct feed){(int32_t)slot, {part->count}, MIGRATED};
    for (size_t k = slot; k < slot + (size_t)part->count; k++) {
        plan->cell[k] %= CELLS; /* a message that has not arrived may be anything */
        histogram[plan->cell[k]]++;
    }
    return count + 1;
}

/* Lists the feeds of the own new groups, in place of those of the own plan. */
static void complete(struct travel *travel)
{
    struct plan *plan = travel->plan;
    size_t count = 0, slot = plan->slots;
    for (int32_t r = 0; r < travel->processes; r++) { /* `in` becomes the next slot */
        const size_t in = travel->in[r];
        travel->in[r] = slot;
        slot += in;
    }
    const size_t first = travel->first[travel->own], end = travel->first[travel->own + 1];
    for (size_t g = first; g < end; g++) {
        travel->first_feed[g - first] = (int32_t)count;
        for (int32_t p = plan->first_part[g]; p < plan->first_part[g + 1]; p++) {
            const struct part *part = &plan->parts[p];
            count = add_part(travel, count, part, g - first, travel->in[part->process]);
            travel->in[part->process] += (size_t)part->count;
        }
    }
    travel->first_feed[end - first] = (int32_t)count;
    const mpm_allocator *allocator = plan->request->allocator;
    mpm_memory_free(allocator, plan->feeds);
    mpm_memory_free(allocator, plan->first_feed);
    mpm_memory_free(allocator, plan->histogram);
    plan->feeds = travel->feeds;
    plan->first_feed = travel->first_feed;
    plan->histogram = travel->histogram;
    travel->feeds = NULL;
    travel->first_feed = NULL;
    travel->histogram = NULL;
    plan->first_group = first;
    plan->end_group = end;
}

/* Exchanges particles for the `fresh` grid, and completes the plan for the own new groups. The team agrees on
 * `status`, and on errors. */
static mpm_status migrate(struct plan *plan, mpm_status status, mpm_particles *particles, const mpm_grid *fresh)
{
    const mpm_allocator *allocator = plan->request->allocator;
    struct travel travel = {.plan = plan, .particles = particles, .own = plan->team->transport.own,
                            .processes = plan->team->transport.processes};
    if (!status)
        status = begin(&travel, fresh);
    status = mpm_team_agree(plan->team, status);
    if (!status) {
        exchange(&travel);
        complete(&travel);
    }
    void *scratch[] = {travel.first, travel.out, travel.in, travel.messages, travel.slots, travel.going, travel.coming,
                       travel.feeds, travel.first_feed, travel.histogram};
    for (size_t k = 0; k < sizeof scratch / sizeof *scratch; k++)
        mpm_memory_free(allocator, scratch[k]);
    return status;
}

mpm_status mpm_migration_run(mpm_team *team, const mpm_binning *binning, const mpm_arrivals *arrivals,
                             mpm_particles *particles, mpm_grid *grid)
{
    struct plan plan = {.request = binning, .team = team, .arrivals = *arrivals, .old = particles};
    mpm_grid fresh = {0};
    mpm_status status = mpm_binning_begin(&plan, grid);
    if (!(status = tell(&plan, status))) {
        if (!(status = merge(&plan)))
            status = mpm_binning_lay(&plan, particles, &fresh);
        if (!(status = migrate(&plan, status, particles, &fresh)))
            status = mpm_binning_finish(&plan, particles, grid, &fresh);
    }
    mpm_binning_end(&plan, &fresh);
    return status;
}
