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
                        plan->team->transport.own, (int32_t)local, 0, 0, 0};
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
    if (!part.kind && plan->rate) /* feeds of one group hardly differ */
        part.cost = (int64_t)(plan->rate[(size_t)first->from - plan->first_old] * part.count);
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

/* Finds what sweeps over the own old groups have spent, and makes room for the choice of the cut. */
static mpm_status find_rates(struct plan *plan, const mpm_grid *grid, const int64_t *spent)
{
    const mpm_team *team = plan->team;
    plan->crossed = mpm_memory_new(plan->request->allocator, (size_t)team->transport.processes + 1,
                                   sizeof *plan->crossed);
    if (!plan->crossed)
        return MPM_OUT_OF_MEMORY;
    if (!spent || plan->end_old == plan->first_old)
        return MPM_OK;
    plan->rate = mpm_memory_new(plan->request->allocator, plan->end_old - plan->first_old, sizeof *plan->rate);
    if (!plan->rate)
        return MPM_OUT_OF_MEMORY;
    const size_t first = mpm_team_first_task(team, grid->task_count, team->transport.own);
    const size_t end = mpm_team_first_task(team, grid->task_count, team->transport.own + 1);
    for (size_t t = first; t < end; t++) {
        double count = 0;
        plan->team->spent += spent[t];
        for (int32_t g = grid->task_group[t]; g < grid->task_group[t + 1]; g++)
            count += plan->old->groups[g].count;
        for (int32_t g = grid->task_group[t]; g < grid->task_group[t + 1]; g++)
            plan->rate[(size_t)g - plan->first_old] = (double)spent[t] / count;
    }
    return MPM_OK;
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

/* ---- the new cut ------------------------------------------------------------------------------------------------- */

/* What a cut is chosen by. The numbers are integers, so that all processes choose the same. */
struct choice {
    const struct plan *plan;
    const mpm_grid *fresh;
    double rate;   /* of particles whose cost is not known */
    int64_t total, per_task; /* costs */
};

static int64_t cost_of(const struct choice *choice, const struct part *part)
{
    return part->cost > 0 ? part->cost : (int64_t)(choice->rate * part->count);
}

/* Of the groups before `end`. */
static int64_t cost_before(const struct choice *choice, size_t first, size_t end)
{
    const struct plan *plan = choice->plan;
    int64_t cost = 0;
    for (int32_t p = plan->first_part[first]; p < plan->first_part[end]; p++)
        cost += cost_of(choice, &plan->parts[p]);
    return cost;
}

/* Finds the costs of all particles; true if some have come that no process had. */
static bool find_costs(struct choice *choice)
{
    const struct plan *plan = choice->plan;
    int64_t known = 0, count = 0;
    bool arrivals = false;
    for (size_t p = 0; p < plan->part_count; p++) {
        const struct part *part = &plan->parts[p];
        arrivals |= part->kind == 2;
        if (part->cost > 0)
            known += part->cost, count += part->count;
    }
    choice->rate = count ? (double)known / (double)count : 1024;
    choice->total = cost_before(choice, 0, plan->group_count);
    choice->per_task = choice->total / (int64_t)choice->fresh->task_count;
    return arrivals;
}

/* The first new group that does not come before what a process began with. */
static size_t first_of_old(const struct plan *plan, const mpm_grid *grid, int32_t process)
{
    const size_t old = mpm_partition_first_group(grid, plan->team, process);
    if (process == 0 || old >= plan->old->group_count)
        return process ? plan->group_count : 0;
    const mpm_group *group = &plan->old->groups[old];
    const mpm_block_key key = {{group->block[0], group->block[1], group->block[2]}, group->material};
    size_t low = 0, high = plan->group_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const mpm_group *at = &plan->groups[middle];
        const mpm_block_key there = {{at->block[0], at->block[1], at->block[2]}, at->material};
        if (mpm_block_map_compare(&there, &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t cost_of_task(const struct choice *choice, int32_t task)
{
    const int32_t *task_group = choice->fresh->task_group;
    return cost_before(choice, (size_t)task_group[task], (size_t)task_group[task + 1]);
}

static int64_t particles_of_task(const struct choice *choice, int32_t task)
{
    const int32_t *task_group = choice->fresh->task_group;
    int64_t count = 0;
    for (int32_t g = task_group[task]; g < task_group[task + 1]; g++)
        count += choice->plan->groups[g].count;
    return count;
}

/* The end of a task next to group `at`, where a cut was, before which costs are nearest to `share`. The one before it,
 * `task`, costs `before`; another one has to be better by a quarter of a task. Beyond the next one in either direction,
 * a cut moves by as many particles as have crossed it at most: material that flows through it must not take it away. */
static int32_t choose(const struct choice *choice, size_t at, int32_t task, int64_t before, int64_t share,
                      int64_t crossed)
{
    const int32_t tasks = (int32_t)choice->fresh->task_count;
    int64_t least = llabs(before - share) - choice->per_task / 4, cost = before, room = crossed;
    const int32_t nearest = task;
    for (int32_t t = nearest; t < tasks && cost < share; t++) {
        room -= t > nearest ? particles_of_task(choice, t) : 0;
        cost += cost_of_task(choice, t);
        if (room < 0 || llabs(cost - share) >= least)
            break;
        least = llabs(cost - share);
        task = t + 1;
    }
    cost = before;
    room = crossed;
    const int32_t last = (size_t)choice->fresh->task_group[nearest] == at ? nearest - 1 : nearest; /* within a task */
    for (int32_t t = nearest - 1; t >= 0 && cost > share; t--) {
        room -= t < last ? particles_of_task(choice, t) : 0;
        cost -= cost_of_task(choice, t);
        if (room < 0 || llabs(cost - share) >= least)
            break;
        least = llabs(cost - share);
        task = t;
    }
    return task;
}

/* The particles that are not where they were: new ones have been nowhere. */
static int64_t migrants(const struct part *part, int32_t process)
{
    return part->kind < 2 && part->process != process ? part->count : 0;
}

/* Counts the particles that have crossed the cut before each process; those that have crossed several, at one. */
static void count_crossing(struct plan *plan, const mpm_grid *grid)
{
    const int32_t processes = plan->team->transport.processes;
    for (int32_t r = 0; r < processes; r++) {
        const size_t first = first_of_old(plan, grid, r), end = first_of_old(plan, grid, r + 1);
        for (int32_t p = plan->first_part[first]; p < plan->first_part[end]; p++) {
            const int32_t from = plan->parts[p].process;
            plan->crossed[from < r ? r : r + 1] += migrants(&plan->parts[p], r);
            plan->team->crossed += migrants(&plan->parts[p], r);
        }
    }
}

static void count_migrants(const struct plan *plan, const mpm_grid *fresh, const int32_t *cut)
{
    for (int32_t r = 0; r < plan->team->transport.processes; r++) {
        const int32_t first = fresh->task_group[cut[r]], end = fresh->task_group[cut[r + 1]];
        for (int32_t p = plan->first_part[first]; p < plan->first_part[end]; p++)
            plan->team->migrated += migrants(&plan->parts[p], r);
    }
}

/* Every cut stays where it is, up to the next end of a task before or behind it, whichever shares the costs better, and
 * further by as many particles as have crossed it. So at most twice those and a task move. After particles have been
 * added, the cuts are those of equal costs. */
static void cut_tasks(struct plan *plan, const mpm_grid *grid, const mpm_grid *fresh)
{
    mpm_team *team = plan->team;
    struct choice choice = {.plan = plan, .fresh = fresh};
    const int32_t processes = team->transport.processes, tasks = (int32_t)fresh->task_count;
    const bool anew = find_costs(&choice) || !plan->old->group_count;
    int32_t *cut = team->spare_cut, t = 0;
    int64_t before = 0; /* costs of the tasks before t */
    count_crossing(plan, grid);
    cut[0] = 0;
    for (int32_t r = 1; r < processes; r++) {
        const int64_t share = choice.total / processes * r;
        const size_t at = first_of_old(plan, grid, r);
        for (; t < tasks; t++) {
            const int64_t cost = cost_of_task(&choice, t);
            if (anew ? before + cost / 2 >= share : (size_t)fresh->task_group[t + 1] > at)
                break;
            before += cost;
        }
        cut[r] = anew ? t : choose(&choice, at, t, before, share, plan->crossed[r]);
        cut[r] = cut[r] < cut[r - 1] ? cut[r - 1] : cut[r];
    }
    cut[processes] = tasks;
    count_migrants(plan, fresh, cut);
    plan->was_equal = team->equal;
    team->spare_cut = team->cut;
    team->cut = cut;
    team->equal = false;
    plan->has_cut = true;
}

/* Gives the team the cut of before the binning. */
static void restore_cut(struct plan *plan)
{
    mpm_team *team = plan->team;
    int32_t *cut = team->cut;
    if (!plan->has_cut)
        return;
    team->cut = team->spare_cut;
    team->spare_cut = cut;
    team->equal = plan->was_equal;
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
        travel->first[r] = mpm_partition_first_group(grid, plan->team, r);
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
static inline __attribute__((always_inline)) char *copy_of_size(char *array, char *message, const int32_t *slots,
                                                                size_t first, size_t count, size_t width, size_t size,
                                                                size_t lanes)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < width; k++, message += size) {
            char *at = array + mpm_particles_index(slots ? (size_t)slots[i] : first + i, k, width, lanes) * size;
            memcpy(slots ? message : at, slots ? at : message, size);
        }
    return message;
}

/* A call of memcpy for every number would take longer than all else that a binning does with the particles that go. */
static char *copy(char *array, char *message, const int32_t *slots, size_t first, size_t count, size_t width,
                  size_t size, size_t lanes)
{
    switch (size) {
    case 1:
        return copy_of_size(array, message, slots, first, count, width, 1, lanes);
    case 4:
        return copy_of_size(array, message, slots, first, count, width, 4, lanes);
    default:
        return copy_of_size(array, message, slots, first, count, width, 8, lanes);
    }
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
                             const int64_t *spent, mpm_particles *particles, mpm_grid *grid)
{
    struct plan plan = {.request = binning, .team = team, .arrivals = *arrivals, .old = particles};
    mpm_grid fresh = {0};
    mpm_status status = mpm_binning_begin(&plan, grid);
    if (!status)
        status = mpm_team_fit(team, binning->allocator);
    if (!status)
        status = find_rates(&plan, grid, spent);
    if (!(status = tell(&plan, status))) {
        if (!(status = merge(&plan)))
            status = mpm_binning_build(&plan, particles, &fresh);
        if (!status) {
            cut_tasks(&plan, grid, &fresh);
            status = mpm_binning_lay(&plan, particles, &fresh);
        }
        if (!(status = migrate(&plan, status, particles, &fresh)))
            status = mpm_binning_finish(&plan, particles, grid, &fresh);
    }
    if (status)
        restore_cut(&plan);
    mpm_binning_end(&plan, &fresh);
    return status;
}
