/* SPDX-License-Identifier: MIT */
#include "mpm/memory/binning.h"

#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "mpm/memory/partition.h"
#include "mpm/memory/plan.h"

/* The move of one column from the old tiles to the new ones, with `components` reals (or row numbers) per lane. */
struct move {
    const void *from;
    void *to;
    size_t element;
    int components;
};

/* Columns that are moved together: their targets are different arrays. */
struct round {
    struct plan *plan;
    struct move moves[MPM_MOST_COLUMNS + 1];
    int count;
    bool first; /* the round that finds the sources; its first column holds the positions */
};

/* ---- where particles are ----------------------------------------------------------------------------------------- */

static bool stays(const struct plan *plan, size_t slot)
{
    const mpm_particles *old = plan->old;
    return old->row[slot] >= 0 && !(plan->request->drop_massless &&
                                    mpm_real_at(old->column[MPM_COLUMN_MASS], slot, old->real_size) == 0);
}

/* The first placement whose slot is not below `slot`. */
static size_t placement_from(const mpm_binning *request, ptrdiff_t slot)
{
    size_t low = 0, high = request->placement_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (request->placements[middle].slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Marks the placed particles in slots first .. last - 1: they come from placements, not from their old group. */
static void mark_placed(struct plan *plan, size_t first, size_t last)
{
    const mpm_binning *request = plan->request;
    for (size_t i = placement_from(request, (ptrdiff_t)first); i < request->placement_count; i++) {
        const size_t slot = (size_t)request->placements[i].slot;
        if (slot >= last)
            break;
        if (stays(plan, slot)) {
            plan->cell[slot] = request->placements[i].cell;
            plan->shift[slot] = PLACED;
        }
    }
}

static void mark_arrived(struct plan *plan)
{
    const mpm_arrivals *arrivals = &plan->arrivals;
    for (size_t i = 0; i < arrivals->count; i++) {
        const size_t first = (size_t)arrivals->list[i].slot, last = first + (size_t)arrivals->list[i].count;
        for (size_t slot = first; slot < last; slot++)
            if (stays(plan, slot)) {
                plan->cell[slot] = arrivals->cell[slot - plan->grouped];
                plan->shift[slot] = ARRIVED;
            }
    }
}

static void locate_item(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    struct plan *plan = context;
    const ptrdiff_t g = (ptrdiff_t)plan->first_old + item;
    const mpm_group *group = &plan->old->groups[g];
    const size_t lanes = (size_t)plan->old->lanes, first = (size_t)group->first_tile * lanes;
    const size_t last = first + (size_t)group->tiles * lanes;
    uint8_t *shift = plan->shift;
    plan->request->locate(plan->old, g, plan->cell, shift);
    for (size_t slot = first; slot < last; slot++)
        shift[slot] = stays(plan, slot) ? shift[slot] : NOBODY;
    mark_placed(plan, first, last);
    bool seen[256] = {false};
    for (size_t slot = first; slot < last; slot++)
        seen[shift[slot]] = true;
    plan->present[g] = 0;
    for (int k = 0; k < MPM_NEIGHBOURS; k++)
        plan->present[g] |= (uint32_t)seen[k] << k;
}

/* ---- where they go ----------------------------------------------------------------------------------------------- */

/* Appends a feed to the `count` existing ones. */
static mpm_status feed(struct plan *plan, struct feed *feeds, size_t *count, mpm_block_key key, size_t from, int shift)
{
    const int32_t to = mpm_block_map_insert(&plan->map, key);
    if (to < 0)
        return MPM_OUT_OF_MEMORY;
    feeds[(*count)++] = (struct feed){(int32_t)from, {to}, (uint8_t)shift};
    return MPM_OK;
}

/* Finds the new groups and their feeds. */
static mpm_status discover(struct plan *plan, struct feed *feeds, size_t *count)
{
    const mpm_particles *old = plan->old;
    const mpm_placement *placements = plan->request->placements;
    mpm_status status = MPM_OK;
    for (size_t g = plan->first_old; g < plan->end_old && !status; g++)
        for (uint32_t left = plan->present[g]; left && !status; left &= left - 1) {
            const mpm_group *from = &old->groups[g];
            const int shift = __builtin_ctz(left);
            status = feed(plan, feeds, count,
                          mpm_block_map_neighbour(from->block, from->material, old->dim, shift), g, shift);
        }
    for (size_t i = placement_from(plan->request, (ptrdiff_t)plan->first_slot);
         i < plan->request->placement_count && !status; i++) {
        const mpm_placement *mine = &placements[i];
        if ((size_t)mine->slot >= plan->end_slot)
            break;
        if (plan->shift[mine->slot] == PLACED)
            status = feed(plan, feeds, count,
                          (mpm_block_key){{mine->block[0], mine->block[1], mine->block[2]}, mine->material}, i, PLACED);
    }
    for (size_t i = 0; i < plan->arrivals.count && !status; i++) {
        const mpm_arrival *mine = &plan->arrivals.list[i];
        status = feed(plan, feeds, count,
                      (mpm_block_key){{mine->block[0], mine->block[1], mine->block[2]}, mine->material}, i, ARRIVED);
    }
    return status;
}

/* Sorts the new groups by block and material, and the feeds by group. */
static mpm_status sort_groups(struct plan *plan, const struct feed *feeds, size_t feed_count)
{
    const mpm_allocator *allocator = plan->request->allocator;
    const size_t count = plan->map.count;
    struct {
        mpm_block_key key;
        int32_t found;
    } *order = mpm_memory_new(allocator, count, sizeof *order); /* key first, so that mpm_block_map_compare applies */
    int32_t *rank = mpm_memory_new(allocator, count, sizeof *rank);
    plan->groups = mpm_memory_new(allocator, count, sizeof *plan->groups);
    plan->histogram = mpm_memory_new(allocator, count, sizeof *plan->histogram);
    plan->first_feed = mpm_memory_new(allocator, count + 1, sizeof *plan->first_feed);
    plan->feeds = mpm_memory_new_unset(allocator, feed_count, sizeof *plan->feeds);
    const bool failed =
        !order || !rank || !plan->groups || !plan->histogram || !plan->first_feed || !plan->feeds;
    if (!failed) {
        for (size_t i = 0; i < count; i++)
            order[i].key = plan->map.keys[i], order[i].found = (int32_t)i;
        qsort(order, count, sizeof *order, mpm_block_map_compare);
        for (size_t i = 0; i < count; i++) {
            rank[order[i].found] = (int32_t)i;
            memcpy(plan->groups[i].block, order[i].key.block, sizeof plan->groups[i].block);
            plan->groups[i].material = order[i].key.kind;
            plan->groups[i].layer = plan->request->layers[order[i].key.kind];
        }
        /* a counting sort, filled backwards from the end of every group's feeds */
        for (size_t i = 0; i < feed_count; i++)
            plan->first_feed[rank[feeds[i].to]]++;
        for (size_t i = 1; i <= count; i++)
            plan->first_feed[i] += plan->first_feed[i - 1];
        for (size_t i = feed_count; i-- > 0;)
            plan->feeds[--plan->first_feed[rank[feeds[i].to]]] = feeds[i];
    }
    mpm_memory_free(allocator, order);
    mpm_memory_free(allocator, rank);
    return failed ? MPM_OUT_OF_MEMORY : MPM_OK;
}

static mpm_status find_groups(struct plan *plan)
{
    const mpm_allocator *allocator = plan->request->allocator;
    size_t most = plan->request->placement_count + plan->arrivals.count, count = 0;
    for (size_t g = plan->first_old; g < plan->end_old; g++)
        most += (size_t)__builtin_popcount(plan->present[g]);
    if (most > INT32_MAX / 2)
        return MPM_TOO_LARGE;
    struct feed *feeds = mpm_memory_new_unset(allocator, most, sizeof *feeds);
    mpm_status status = feeds ? discover(plan, feeds, &count) : MPM_OUT_OF_MEMORY;
    if (!status)
        status = sort_groups(plan, feeds, count);
    mpm_memory_free(allocator, feeds);
    plan->group_count = plan->end_group = plan->map.count;
    return status;
}

static void count_one(const struct cursor *cursor, size_t slot)
{
    cursor->next[cursor->cell[slot]]++;
}

/* The nodes are counted from node -1; particles can touch them when each may still move by one cell. */
void mpm_binning_set_nodes(mpm_group *group, int dim, int degree, uint64_t cells)
{
    const int side = mpm_block_side(dim);
    for (int axis = 0; axis < 3; axis++)
        group->first_node[axis] = axis < dim ? side : 0, group->last_node[axis] = 0;
    for (; cells; cells &= cells - 1)
        for (int axis = dim - 1, rest = __builtin_ctzll(cells); axis >= 0; axis--, rest /= side) {
            const int base = rest % side; /* nodes base .. base + degree, moved by one either way */
            if (base < group->first_node[axis])
                group->first_node[axis] = base;
            if (base + degree + 2 > group->last_node[axis])
                group->last_node[axis] = base + degree + 2;
        }
}

/* Loops over the own groups of an item. */
#define FOR_GROUPS_OF_ITEM(plan, item, g) \
    for (size_t g = (plan)->first_group + (size_t)(item) * GROUPS_PER_ITEM, \
                end##g = g + GROUPS_PER_ITEM < (plan)->end_group ? g + GROUPS_PER_ITEM : (plan)->end_group; \
         g < end##g; g++)

static void count_item(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    struct plan *plan = context;
    FOR_GROUPS_OF_ITEM(plan, item, g) {
        const struct cursor cursor = cursor_of(plan, g);
        mpm_group *group = &plan->groups[g];
        uint64_t cells = 0;
        uint32_t particles = 0;
        for_each_of_group(plan, g, &cursor, count_one);
        for (int c = 0; c < CELLS; c++) {
            cells |= (uint64_t)(cursor.next[c] > 0) << c;
            particles += cursor.next[c];
        }
        group->count = (int32_t)particles;
        mpm_binning_set_nodes(group, plan->old->dim, plan->old->degree, cells);
    }
}

/* Calls `item` for all own new groups. */
static void for_groups(struct plan *plan, mpm_pool_item item, void *context)
{
    plan->request->loop(plan->request->pool, item, context,
                        (ptrdiff_t)((plan->end_group - plan->first_group + GROUPS_PER_ITEM - 1) / GROUPS_PER_ITEM));
}

static mpm_status count_particles(struct plan *plan)
{
    for (size_t g = 0; g < plan->group_count; g++)
        plan->count += plan->groups[g].count;
    return plan->count > INT32_MAX / 2 ? MPM_TOO_LARGE : MPM_OK;
}

/* Gives every group its tiles, if they are here. */
static mpm_status lay_groups(struct plan *plan, const mpm_grid *fresh)
{
    const uint32_t lanes = (uint32_t)plan->old->lanes;
    size_t first = 0, end = plan->group_count;
    if (plan->team && plan->team->distributed) {
        first = mpm_partition_first_group(fresh, plan->team, plan->team->transport.own);
        end = mpm_partition_first_group(fresh, plan->team, plan->team->transport.own + 1);
    }
    for (size_t g = 0; g < plan->group_count; g++) {
        mpm_group *group = &plan->groups[g];
        group->tiles = g >= first && g < end ? (int32_t)(((uint32_t)group->count + lanes - 1) / lanes) : 0;
        group->first_tile = plan->tiles;
        plan->tiles += group->tiles;
    }
    /* Old slots are named by an int32_t, and padded groups have up to `lanes` times as many as particles. */
    return plan->tiles > INT32_MAX / (ptrdiff_t)lanes ? MPM_TOO_LARGE : MPM_OK;
}

/* ---- the move ---------------------------------------------------------------------------------------------------- */

/* The entry of `source` for the p-th particle of a group, found without a division, which is slow. */
static int32_t *source_of(const struct cursor *cursor, uint32_t p)
{
    return cursor->source + (p >> cursor->lane_bits << cursor->lane_bits) +
           cursor->lane[p & ((1u << cursor->lane_bits) - 1)];
}

static void set_source(const struct cursor *cursor, size_t slot)
{
    *source_of(cursor, cursor->next[cursor->cell[slot]]++) = (int32_t)slot;
}

static void set_sources(const struct plan *plan, size_t g)
{
    const mpm_group *group = &plan->groups[g];
    struct cursor cursor = cursor_of(plan, g);
    uint32_t particles = 0;
    for (int c = 0; c < CELLS; c++) { /* the first place of each cell */
        const uint32_t here = cursor.next[c];
        cursor.next[c] = particles;
        particles += here;
    }
    cursor.source = plan->source + group->first_tile * plan->old->lanes;
    for_each_of_group(plan, g, &cursor, set_source);
    for (int32_t p = group->count; p < group->tiles * plan->old->lanes; p++)
        *source_of(&cursor, (uint32_t)p) = *cursor.source;
}

/* Moves a tile of one field; lane q comes from element `at[q]`. Where this is inlined, the numbers of lanes and
 * components are constants. Row numbers are copied as floats, which also have 32 bits. */
#define MOVE_TILE(type) \
    static inline __attribute__((always_inline)) void move_##type(const struct move *move, size_t tile, \
                                                                  const size_t *at, size_t components, size_t lanes) \
    { \
        const type *from = move->from; \
        type *to = (type *)move->to + tile * lanes * components; \
        for (size_t k = 0; k < components; k++, from += lanes, to += lanes) \
            for (size_t q = 0; q < lanes; q++) \
                to[q] = from[at[q]]; \
    }
MOVE_TILE(float)
MOVE_TILE(double)

static inline __attribute__((always_inline)) void move_tiles(const struct round *round, const mpm_group *group,
                                                             const size_t dim, const size_t lanes)
{
    const int32_t *source = round->plan->source + (size_t)group->first_tile * lanes;
    for (size_t tile = (size_t)group->first_tile; tile < (size_t)(group->first_tile + group->tiles); tile++) {
        size_t in_scalar[MOST_LANES], in_vector[MOST_LANES];
        for (size_t q = 0; q < lanes; q++) {
            in_scalar[q] = (size_t)*source++;
            in_vector[q] = mpm_particles_index(in_scalar[q], 0, dim, lanes);
        }
        for (int i = 0; i < round->count; i++) {
            const struct move *move = &round->moves[i];
            if (move->element == sizeof(float))
                move->components == 1 ? move_float(move, tile, in_scalar, 1, lanes)
                                      : move_float(move, tile, in_vector, dim, lanes);
            else
                move->components == 1 ? move_double(move, tile, in_scalar, 1, lanes)
                                      : move_double(move, tile, in_vector, dim, lanes);
        }
    }
}

static void move_group(const struct round *round, const mpm_group *group)
{
    const int dim = round->plan->old->dim;
#define CASE(lanes) \
    case lanes: \
        dim == 3 ? move_tiles(round, group, 3, lanes) : move_tiles(round, group, 2, lanes); \
        break;
    switch (round->plan->old->lanes) { CASE(1) CASE(2) CASE(4) CASE(8) CASE(16) }
#undef CASE
}

/* Positions count from the first node of the block, so this shifts those of particles from other blocks. */
static void shift_positions(const struct plan *plan, const struct move *move, const mpm_group *group)
{
    const size_t lanes = (size_t)plan->old->lanes, d = (size_t)move->components;
    const size_t first = (size_t)group->first_tile * lanes, last = first + (size_t)group->tiles * lanes;
    const int side = mpm_block_side(plan->old->dim);
    const uint8_t own = plan->old->dim == 3 ? 13 : 4;
    for (size_t t = first; t < last; t++) {
        int shift = plan->shift[plan->source[t]];
        if (shift == own || shift >= MPM_NEIGHBOURS)
            continue;
        for (size_t k = d; k-- > 0; shift /= 3) {
            const size_t at = mpm_particles_index(t, k, d, lanes);
            const int by = (shift % 3 - 1) * side;
            if (move->element == sizeof(double))
                ((double *)move->to)[at] -= (double)by;
            else
                ((float *)move->to)[at] -= (float)by;
        }
    }
}

static void round_item(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    const struct round *round = context;
    FOR_GROUPS_OF_ITEM(round->plan, item, g) {
        if (round->first)
            set_sources(round->plan, g);
        move_group(round, &round->plan->groups[g]);
        if (round->first)
            shift_positions(round->plan, &round->moves[0], &round->plan->groups[g]);
    }
}

static void swap(void **a, void **b)
{
    void *t = *a;
    *a = *b;
    *b = t;
}

bool mpm_binning_moves(const struct plan *plan, int column)
{
    const int F = mpm_fields_F(plan->old->dim);
    if (column == MPM_COLUMN_V || (column >= MPM_COLUMN_C && column < F))
        return !plan->request->mid_step;
    return plan->old->has_F || column <= F || column >= mpm_fields_core_columns(plan->old->dim);
}

static void add_move(struct round *round, const void *from, void *to, size_t element, int components)
{
    round->moves[round->count++] = (struct move){from, to, element, components};
}

/* The next column of that width, from `column` on, that moves; the number of columns if there is none. */
static int next_column(const struct plan *plan, const mpm_particles *particles, int column, int width)
{
    while (column < particles->columns && !(particles->width[column] == width && mpm_binning_moves(plan, column)))
        column++;
    return column;
}

/* Moves everything within the existing arrays, in as many rounds as the free arrays require: the spares, and in mid
 * step v and C. Each moved column leaves a free array for the next round. */
static void move_in_place(struct plan *plan, mpm_particles *particles)
{
    const int columns = particles->columns;
    int left_behind[MPM_MOST_COLUMNS], idle = 0;
    void *free[MPM_MOST_COLUMNS + 1] = {particles->spare_vector};
    for (int c = 0; c < columns; c++)
        if (particles->width[c] == particles->dim && c < mpm_fields_F(particles->dim) && !mpm_binning_moves(plan, c)) {
            left_behind[idle++] = c;
            free[idle] = particles->column[c];
        }
    struct round round = {.plan = plan, .first = true};
    int vector = next_column(plan, particles, 0, particles->dim), scalar = next_column(plan, particles, 0, 1);
    while (vector < columns || scalar < columns) {
        for (int i = 0; i <= idle && vector < columns; i++) {
            add_move(&round, particles->column[vector], free[i], particles->real_size, particles->dim);
            swap(&particles->column[vector], &free[i]);
            vector = next_column(plan, particles, vector + 1, particles->dim);
        }
        if (scalar < columns) {
            add_move(&round, particles->column[scalar], particles->spare_scalar, particles->real_size, 1);
            swap(&particles->column[scalar], &particles->spare_scalar);
            scalar = next_column(plan, particles, scalar + 1, 1);
        }
        if (round.first) {
            add_move(&round, particles->row, particles->spare_row, sizeof *particles->row, 1);
            int32_t *moved = particles->row;
            particles->row = particles->spare_row;
            particles->spare_row = moved;
        }
        for_groups(plan, round_item, &round);
        round.first = false;
        round.count = 0;
    }
    particles->spare_vector = free[0];
    for (int i = 0; i < idle; i++)
        particles->column[left_behind[i]] = free[i + 1];
}

struct padding {
    const struct plan *plan;
    mpm_particles *particles;
};

static void pad_item(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    const struct padding *padding = context;
    FOR_GROUPS_OF_ITEM(padding->plan, item, g)
    mpm_particles_pad(padding->particles, &padding->particles->groups[g]);
}

static void clear_plan(struct plan *plan)
{
    const mpm_allocator *allocator = plan->request->allocator;
    mpm_memory_free(allocator, plan->cell);
    mpm_memory_free(allocator, plan->shift);
    mpm_memory_free(allocator, plan->present);
    mpm_memory_free(allocator, plan->feeds);
    mpm_memory_free(allocator, plan->first_feed);
    mpm_memory_free(allocator, plan->histogram);
    mpm_memory_free(allocator, plan->groups);
    mpm_memory_free(allocator, plan->parts);
    mpm_memory_free(allocator, plan->first_part);
    mpm_memory_free(allocator, plan->rate);
    mpm_memory_free(allocator, plan->crossed);
    mpm_memory_free(allocator, plan->source);
    mpm_block_map_clear(&plan->map);
}

/* Finds the new groups of the own old ones. Does not change those. */
static mpm_status plan_own(struct plan *plan)
{
    const mpm_particles *old = plan->old;
    const mpm_allocator *allocator = plan->request->allocator;
    if (plan->slots > INT32_MAX)
        return MPM_TOO_LARGE;
    plan->cell = mpm_memory_new_unset(allocator, plan->slots, sizeof *plan->cell);
    plan->shift = mpm_memory_new_unset(allocator, plan->slots, sizeof *plan->shift);
    plan->present = mpm_memory_new_unset(allocator, old->group_count, sizeof *plan->present);
    if (!plan->cell || !plan->shift || !plan->present)
        return MPM_OUT_OF_MEMORY;
    plan->request->loop(plan->request->pool, locate_item, plan, (ptrdiff_t)(plan->end_old - plan->first_old));
    if (plan->end_slot > plan->grouped) {
        memset(plan->shift + plan->grouped, NOBODY, plan->slots - plan->grouped);
        mark_placed(plan, plan->grouped, plan->slots);
        mark_arrived(plan);
    } else {
        plan->arrivals.count = 0; /* the last process brings them */
    }
    const mpm_status status = find_groups(plan);
    if (!status)
        for_groups(plan, count_item, plan);
    return status;
}

/* What is here: everything, or the part of one of several processes. */
static void find_part(struct plan *plan, const mpm_grid *grid)
{
    const mpm_particles *old = plan->old;
    const size_t lanes = (size_t)old->lanes;
    const mpm_team *team = plan->team;
    plan->slots = (size_t)old->tiles * lanes;
    for (size_t g = 0; g < old->group_count; g++)
        plan->grouped += (size_t)old->groups[g].tiles * lanes;
    plan->end_old = old->group_count;
    plan->end_slot = plan->slots;
    if (!team)
        return;
    const int32_t own = team->transport.own, processes = team->transport.processes;
    plan->first_old = mpm_partition_first_group(grid, team, own);
    plan->end_old = mpm_partition_first_group(grid, team, own + 1);
    if (team->distributed)
        return; /* all slots are own ones */
    plan->first_slot = plan->first_old < old->group_count ? (size_t)old->groups[plan->first_old].first_tile * lanes
                                                          : plan->grouped;
    if (own + 1 < processes)
        plan->end_slot = plan->end_old < old->group_count ? (size_t)old->groups[plan->end_old].first_tile * lanes
                                                          : plan->grouped;
}

mpm_status mpm_binning_begin(struct plan *plan, const mpm_grid *grid)
{
    find_part(plan, grid);
    plan->map = mpm_block_map_empty(plan->request->allocator);
    for (int p = 0; p < plan->old->lanes; p++)
        plan->lane[p] = mpm_particles_lane(plan->old->lanes, p);
    return plan_own(plan);
}

mpm_status mpm_binning_build(struct plan *plan, const mpm_particles *particles, mpm_grid *fresh)
{
    const mpm_binning *request = plan->request;
    const mpm_status status = count_particles(plan);
    return status ? status
                  : mpm_grid_build(fresh, particles->device, plan->groups, plan->group_count, plan->count,
                                   request->symmetry, particles->dim, particles->real_size, request->fields,
                                   request->reach != NULL);
}

mpm_status mpm_binning_lay(struct plan *plan, mpm_particles *particles, const mpm_grid *fresh)
{
    const mpm_binning *request = plan->request;
    const mpm_status status = lay_groups(plan, fresh);
    if (status)
        return status;
    const size_t slots = (size_t)plan->tiles * (size_t)particles->lanes;
    plan->source = mpm_memory_new_unset(request->allocator, slots, sizeof *plan->source);
    if (!plan->source)
        return MPM_OUT_OF_MEMORY;
    if ((size_t)plan->tiles <= particles->capacity)
        return MPM_OK;
    return mpm_particles_reserve(particles, (size_t)(plan->tiles + plan->tiles / 16 - particles->tiles));
}

mpm_status mpm_binning_finish(struct plan *plan, mpm_particles *particles, mpm_grid *grid, mpm_grid *fresh)
{
    const mpm_binning *request = plan->request;
    const mpm_status status = request->prepare ? request->prepare(request->context, fresh) : MPM_OK;
    if (status)
        return status;
    const uint8_t *reach = request->reach ? *request->reach : NULL;
    if (reach)
        mpm_grid_clear_nodes(fresh, reach, particles->real_size);
    if (request->mid_step)
        mpm_grid_take_velocities(fresh, grid, reach, particles->real_size);
    move_in_place(plan, particles);
    mpm_memory_free(request->allocator, particles->groups);
    particles->groups = plan->groups;
    particles->group_count = plan->group_count;
    particles->tiles = plan->tiles;
    particles->count = plan->count;
    for_groups(plan, pad_item, &(struct padding){plan, particles});
    if (plan->team && plan->team->distributed)
        mpm_particles_trim(particles); /* those that went, and those that came, had room side by side */
    plan->groups = NULL;
    mpm_grid_clear(grid, particles->device);
    *grid = *fresh;
    *fresh = (mpm_grid){0};
    return MPM_OK;
}

void mpm_binning_end(struct plan *plan, mpm_grid *fresh)
{
    mpm_grid_clear(fresh, plan->old->device);
    clear_plan(plan);
}

mpm_status mpm_binning_run(const mpm_binning *binning, const mpm_arrivals *arrivals, mpm_particles *particles,
                           mpm_grid *grid)
{
    struct plan plan = {.request = binning, .arrivals = *arrivals, .old = particles};
    mpm_grid fresh = {0};
    mpm_status status = mpm_binning_begin(&plan, grid);
    if (!status && !(status = mpm_binning_build(&plan, particles, &fresh)) &&
        !(status = mpm_binning_lay(&plan, particles, &fresh)))
        status = mpm_binning_finish(&plan, particles, grid, &fresh);
    mpm_binning_end(&plan, &fresh);
    return status;
}
