/* SPDX-License-Identifier: MIT */
#include "state/binning.h"

#include <stdlib.h>
#include <string.h>

#include "state/block_map.h"

enum { CELLS = 64, NOWHERE = -1, PLACED = 255, TILES_PER_ITEM = 256, MOST_LANES = 16 };

/* Scratch of one binning. */
struct plan {
    const mpm_binning *request;
    const mpm_particles *old;
    size_t slots;
    uint8_t *cell, *shift;
    int32_t *found;      /* old slot -> discovery index of its new group */
    int32_t *source;     /* new slot -> old slot; padding: that of the group's first particle */
    mpm_block_map map;   /* new groups in order of discovery */
    uint32_t (*histogram)[CELLS];
    size_t histogram_capacity;
    int32_t *rank;       /* discovery index -> sorted index */
    mpm_group *groups;   /* the new groups, sorted */
    ptrdiff_t tiles, count;
};

static void locate_item(void *context, ptrdiff_t g, int thread)
{
    (void)thread;
    struct plan *plan = context;
    plan->request->locate(plan->old, g, plan->cell, plan->shift);
}

/* Waiting and moved particles have no valid group: their place is told by the request. */
static void mark_placed(struct plan *plan, size_t grouped_slots)
{
    const mpm_binning *request = plan->request;
    memset(plan->shift + grouped_slots, PLACED, plan->slots - grouped_slots);
    for (size_t i = 0; i < request->placement_count; i++) {
        plan->shift[request->placements[i].slot] = PLACED;
        plan->cell[request->placements[i].slot] = request->placements[i].cell;
    }
}

static int is_massless(const mpm_particles *particles, size_t slot)
{
    return particles->real_size == 4 ? ((const float *)particles->mass)[slot] == 0
                                     : ((const double *)particles->mass)[slot] == 0;
}

static mpm_block_key shifted_key(const mpm_group *group, int dim, int shift)
{
    mpm_block_key key = {{group->block[0], group->block[1], group->block[2]}, group->material};
    for (int axis = dim - 1; axis >= 0; axis--, shift /= 3)
        key.block[axis] += shift % 3 - 1;
    return key;
}

static int enter(struct plan *plan, size_t slot, int32_t group)
{
    if (group < 0 || mpm_memory_grow(plan->request->allocator, (void **)&plan->histogram, &plan->histogram_capacity,
                                     (size_t)group, (size_t)group + 1, sizeof *plan->histogram))
        return -1;
    plan->found[slot] = group;
    plan->histogram[group][plan->cell[slot]]++;
    plan->count++;
    return 0;
}

/* The first scan: the new group of every particle, and how many come into every cell. */
static mpm_status count_cells(struct plan *plan)
{
    const mpm_particles *old = plan->old;
    const mpm_binning *request = plan->request;
    const mpm_placement *next = request->placements, *end = next + request->placement_count;
    size_t slot = 0;
    for (size_t g = 0; g <= old->group_count; g++) { /* the last round: the waiting tiles, all placed */
        const mpm_group *group = old->groups + g;
        const size_t stop = g == old->group_count
                                ? plan->slots
                                : (size_t)(group->first_tile + group->tiles) * (size_t)old->lanes;
        int32_t seen[MPM_NEIGHBOURS];
        memset(seen, 0xff, sizeof seen);
        /* particles in cell order, so that the sort is stable with respect to it */
        for (; slot < stop; slot += (size_t)old->lanes)
            for (int p = 0; p < old->lanes; p++) {
                const size_t s = slot + (size_t)mpm_particles_lane(old->lanes, p);
                const uint8_t shift = plan->shift[s];
                plan->found[s] = NOWHERE;
                if (old->row[s] < 0 || (request->drop_massless && is_massless(old, s)))
                    continue;
                if (shift == PLACED) {
                    while (next < end && next->slot < (ptrdiff_t)slot)
                        next++;
                    const mpm_placement *mine = next; /* at most one tile away */
                    while (mine < end && mine->slot != (ptrdiff_t)s)
                        mine++;
                    if (mine == end)
                        continue;
                    mpm_block_key key = {{mine->block[0], mine->block[1], mine->block[2]}, mine->material};
                    if (enter(plan, s, mpm_block_map_insert(&plan->map, key)))
                        return MPM_OUT_OF_MEMORY;
                    continue;
                }
                if (seen[shift] < 0)
                    seen[shift] = mpm_block_map_insert(&plan->map, shifted_key(group, old->dim, shift));
                if (enter(plan, s, seen[shift]))
                    return MPM_OUT_OF_MEMORY;
            }
    }
    return plan->count > INT32_MAX / 2 ? MPM_TOO_LARGE : MPM_OK;
}

/* The range of nodes, counted from node -1, that particles with base nodes in `histogram` can touch when each may
 * still move by one cell. */
static void set_node_range(mpm_group *group, int dim, int degree, const uint32_t histogram[CELLS])
{
    const int side = mpm_block_side(dim);
    for (int axis = 0; axis < 3; axis++)
        group->first_node[axis] = axis < dim ? side : 0, group->last_node[axis] = 0;
    for (int c = 0; c < CELLS; c++) {
        if (!histogram[c])
            continue;
        for (int axis = dim - 1, rest = c; axis >= 0; axis--, rest /= side) {
            const int base = rest % side; /* nodes base .. base + degree, moved by one either way */
            if (base < group->first_node[axis])
                group->first_node[axis] = base;
            if (base + degree + 2 > group->last_node[axis])
                group->last_node[axis] = base + degree + 2;
        }
    }
}

/* Sorts the new groups and gives every group its tiles; the histogram becomes the next free place of each cell. */
static mpm_status lay_groups(struct plan *plan)
{
    const mpm_allocator *allocator = plan->request->allocator;
    const size_t count = plan->map.count;
    const int lanes = plan->old->lanes, dim = plan->old->dim;
    struct {
        mpm_block_key key;
        int32_t found;
    } *order = mpm_memory_new(allocator, count, sizeof *order); /* the key first: compared as a key */
    plan->rank = mpm_memory_new(allocator, count, sizeof *plan->rank);
    plan->groups = mpm_memory_new(allocator, count, sizeof *plan->groups);
    if (!order || !plan->rank || !plan->groups) {
        mpm_memory_free(allocator, order);
        return MPM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        order[i].key = plan->map.keys[i], order[i].found = (int32_t)i;
    qsort(order, count, sizeof *order, mpm_block_map_compare);
    for (size_t i = 0; i < count; i++) {
        mpm_group *group = &plan->groups[i];
        uint32_t *histogram = plan->histogram[order[i].found];
        plan->rank[order[i].found] = (int32_t)i;
        memcpy(group->block, order[i].key.block, sizeof group->block);
        group->material = order[i].key.material;
        set_node_range(group, dim, plan->old->degree, histogram);
        uint32_t particles = 0;
        for (int c = 0; c < CELLS; c++) {
            uint32_t here = histogram[c];
            histogram[c] = particles;
            particles += here;
        }
        group->count = (int32_t)particles;
        group->tiles = (int32_t)((particles + (uint32_t)lanes - 1) / (uint32_t)lanes);
        group->first_tile = plan->tiles;
        plan->tiles += group->tiles;
    }
    mpm_memory_free(allocator, order);
    return MPM_OK;
}

/* The second scan, in the same order: where the particle of every new slot is now. */
static void set_sources(struct plan *plan)
{
    const int lanes = plan->old->lanes, lane_bits = __builtin_ctz((unsigned)lanes);
    for (size_t tile = 0; tile < plan->slots; tile += (size_t)lanes)
        for (int p = 0; p < lanes; p++) {
            const size_t s = tile + (size_t)mpm_particles_lane(lanes, p);
            const int32_t found = plan->found[s];
            if (found == NOWHERE)
                continue;
            const mpm_group *group = &plan->groups[plan->rank[found]];
            const uint32_t place = plan->histogram[found][plan->cell[s]]++;
            plan->source[(group->first_tile + (place >> lane_bits)) * lanes +
                         mpm_particles_lane(lanes, (int)(place & (uint32_t)(lanes - 1)))] = (int32_t)s;
        }
    for (size_t g = 0; g < plan->map.count; g++) {
        const mpm_group *group = &plan->groups[g];
        int32_t *first = plan->source + group->first_tile * lanes, *last = first + (group->tiles - 1) * (ptrdiff_t)lanes;
        for (int p = group->count - (group->tiles - 1) * lanes; p < lanes; p++)
            last[mpm_particles_lane(lanes, p)] = *first;
    }
}

/* One field on its way from the old tiles to the new ones. `components` reals (or row numbers) per lane. */
struct move {
    const struct plan *plan;
    const char *from;
    char *to;
    size_t element;
    int components;
    bool is_position;
};

/* Numbers of lanes are powers of two, and divisions take long. The number of components is a constant where this is
 * inlined. Row numbers move as floats: 32 bits are 32 bits, and they are only copied. */
#define MOVE_TILES(type) \
    static inline __attribute__((always_inline)) void move_##type(const struct move *move, ptrdiff_t first, \
                                                                  ptrdiff_t last, const size_t components) \
    { \
        const size_t lanes = (size_t)move->plan->old->lanes, lane = lanes - 1; \
        const type *from = (const type *)move->from; \
        type *to = (type *)move->to + (size_t)first * lanes * components; \
        const int32_t *source = move->plan->source + (size_t)first * lanes; \
        for (ptrdiff_t tile = first; tile < last; tile++, source += lanes, to += lanes * components) { \
            const type *at[MOST_LANES]; \
            for (size_t q = 0; q < lanes; q++) \
                at[q] = from + ((size_t)source[q] & ~lane) * components + ((size_t)source[q] & lane); \
            for (size_t k = 0; k < components; k++) \
                for (size_t q = 0; q < lanes; q++) \
                    to[k * lanes + q] = at[q][k * lanes]; \
        } \
    }
MOVE_TILES(float)
MOVE_TILES(double)

/* Positions count from the first node of the block: of particles that have come to another one. */
static void shift_positions(const struct move *move, ptrdiff_t first, ptrdiff_t last)
{
    const struct plan *plan = move->plan;
    const size_t lanes = (size_t)plan->old->lanes, d = (size_t)move->components;
    const int side = mpm_block_side(plan->old->dim);
    const uint8_t own = plan->old->dim == 3 ? 13 : 4;
    for (size_t t = (size_t)first * lanes; t < (size_t)last * lanes; t++) {
        int shift = plan->shift[plan->source[t]];
        if (shift == own || shift >= MPM_NEIGHBOURS)
            continue;
        for (size_t k = d; k-- > 0; shift /= 3) {
            const size_t at = t / lanes * lanes * d + k * lanes + t % lanes;
            const int by = (shift % 3 - 1) * side;
            if (move->element == sizeof(double))
                ((double *)move->to)[at] -= (double)by;
            else
                ((float *)move->to)[at] -= (float)by;
        }
    }
}

static void move_item(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    const struct move *move = context;
    const ptrdiff_t first = item * TILES_PER_ITEM, tiles = move->plan->tiles;
    const ptrdiff_t last = first + TILES_PER_ITEM < tiles ? first + TILES_PER_ITEM : tiles;
#define CASE(type, d) \
    case d: \
        move_##type(move, first, last, d); \
        break;
    if (move->element == sizeof(double)) {
        switch (move->components) { CASE(double, 1) CASE(double, 2) CASE(double, 3) }
    } else {
        switch (move->components) { CASE(float, 1) CASE(float, 2) CASE(float, 3) }
    }
#undef CASE
    if (move->is_position)
        shift_positions(move, first, last);
}

static void move_field(struct plan *plan, const void *from, void *to, size_t element, int components, bool is_position)
{
    struct move move = {plan, from, to, element, components, is_position};
    mpm_pool_for(plan->request->pool, move_item, &move, (plan->tiles + TILES_PER_ITEM - 1) / TILES_PER_ITEM);
}

static void set_real(void *array, size_t index, size_t real_size, double value)
{
    if (real_size == 4)
        ((float *)array)[index] = (float)value;
    else
        ((double *)array)[index] = value;
}

void mpm_binning_pad(mpm_particles *particles)
{
    const int dim = particles->dim, lanes = particles->lanes;
    for (size_t g = 0; g < particles->group_count; g++) {
        const mpm_group *group = &particles->groups[g];
        const size_t tile = (size_t)(group->first_tile + group->tiles - 1);
        for (int p = group->count - (group->tiles - 1) * lanes; p < lanes; p++) {
            const size_t lane = (size_t)mpm_particles_lane(lanes, p), slot = tile * (size_t)lanes + lane;
            set_real(particles->mass, slot, particles->real_size, 0);
            set_real(particles->volume, slot, particles->real_size, 0);
            if (particles->has_plastic)
                set_real(particles->plastic, slot, particles->real_size, 1);
            particles->row[slot] = -1;
            for (int f = 0; f < mpm_particles_vectors(particles); f++)
                for (int k = 0; k < dim; k++) {
                    const int row_of_F = f - mpm_particles_F(dim);
                    const bool one = row_of_F == k && (k == 0 || particles->has_F);
                    const double value = f == MPM_X ? mpm_block_side(dim) / 2.0 : one ? 1 : 0;
                    set_real(particles->vector[f], (tile * (size_t)dim + (size_t)k) * (size_t)lanes + lane,
                             particles->real_size, value);
                }
        }
    }
}

mpm_status mpm_binning_allocate(mpm_particles *fresh, const mpm_allocator *allocator, size_t capacity)
{
    const size_t lanes = (size_t)fresh->lanes, vector = lanes * (size_t)fresh->dim * fresh->real_size;
    const size_t scalar = lanes * fresh->real_size;
    int failed = 0;
    for (int f = 0; f < mpm_particles_vectors(fresh); f++)
        failed |= !(fresh->vector[f] = mpm_memory_new(allocator, capacity, vector));
    failed |= !(fresh->spare_vector = mpm_memory_new(allocator, capacity, vector));
    failed |= !(fresh->mass = mpm_memory_new(allocator, capacity, scalar));
    failed |= !(fresh->volume = mpm_memory_new(allocator, capacity, scalar));
    failed |= !(fresh->spare_scalar = mpm_memory_new(allocator, capacity, scalar));
    if (fresh->has_plastic)
        failed |= !(fresh->plastic = mpm_memory_new(allocator, capacity, scalar));
    failed |= !(fresh->row = mpm_memory_new(allocator, capacity, lanes * sizeof(int32_t)));
    fresh->capacity = capacity;
    return failed ? MPM_OUT_OF_MEMORY : MPM_OK;
}

static void swap(void **a, void **b)
{
    void *t = *a;
    *a = *b;
    *b = t;
}

/* Fields that hold nothing, or nothing that is needed, stay behind. */
static bool moves(const struct plan *plan, int field)
{
    const int F = mpm_particles_F(plan->old->dim);
    return field == MPM_X || (field < F ? !plan->request->mid_step : field == F || plan->old->has_F);
}

/* Moves everything within the arrays at hand, through the spares. */
static void move_in_place(struct plan *plan, mpm_particles *particles)
{
    const size_t real_size = particles->real_size;
    for (int f = 0; f < mpm_particles_vectors(particles); f++) {
        if (!moves(plan, f))
            continue;
        move_field(plan, particles->vector[f], particles->spare_vector, real_size, particles->dim, f == MPM_X);
        swap(&particles->vector[f], &particles->spare_vector);
    }
    move_field(plan, particles->mass, particles->spare_scalar, real_size, 1, false);
    swap(&particles->mass, &particles->spare_scalar);
    move_field(plan, particles->volume, particles->spare_scalar, real_size, 1, false);
    swap(&particles->volume, &particles->spare_scalar);
    if (particles->has_plastic) {
        move_field(plan, particles->plastic, particles->spare_scalar, real_size, 1, false);
        swap(&particles->plastic, &particles->spare_scalar);
    }
    move_field(plan, particles->row, particles->spare_scalar, sizeof(int32_t), 1, false);
    memcpy(particles->row, particles->spare_scalar,
           (size_t)plan->tiles * (size_t)particles->lanes * sizeof *particles->row);
}

/* Moves everything into larger arrays. */
static void move_to(struct plan *plan, const mpm_particles *particles, mpm_particles *fresh)
{
    const size_t real_size = particles->real_size;
    for (int f = 0; f < mpm_particles_vectors(particles); f++)
        if (moves(plan, f))
            move_field(plan, particles->vector[f], fresh->vector[f], real_size, particles->dim, f == MPM_X);
    move_field(plan, particles->mass, fresh->mass, real_size, 1, false);
    move_field(plan, particles->volume, fresh->volume, real_size, 1, false);
    if (particles->has_plastic)
        move_field(plan, particles->plastic, fresh->plastic, real_size, 1, false);
    move_field(plan, particles->row, fresh->row, sizeof(int32_t), 1, false);
}

static void clear_plan(struct plan *plan)
{
    const mpm_allocator *allocator = plan->request->allocator;
    mpm_memory_free(allocator, plan->cell);
    mpm_memory_free(allocator, plan->shift);
    mpm_memory_free(allocator, plan->found);
    mpm_memory_free(allocator, plan->source);
    mpm_memory_free(allocator, plan->histogram);
    mpm_memory_free(allocator, plan->rank);
    mpm_memory_free(allocator, plan->groups);
    mpm_block_map_clear(&plan->map);
}

mpm_status mpm_binning_run(const mpm_binning *binning, mpm_particles *particles, mpm_grid *grid)
{
    const mpm_allocator *allocator = binning->allocator;
    struct plan plan = {.request = binning, .old = particles, .map = mpm_block_map_empty(allocator)};
    mpm_particles fresh = mpm_particles_empty_like(particles);
    mpm_grid fresh_grid = {0};
    plan.slots = (size_t)particles->tiles * (size_t)particles->lanes;
    size_t grouped = 0;
    for (size_t g = 0; g < particles->group_count; g++)
        grouped += (size_t)particles->groups[g].tiles * (size_t)particles->lanes;

    mpm_status status = MPM_OUT_OF_MEMORY;
    plan.cell = mpm_memory_new(allocator, plan.slots, sizeof *plan.cell);
    plan.shift = mpm_memory_new(allocator, plan.slots, sizeof *plan.shift);
    plan.found = mpm_memory_new(allocator, plan.slots, sizeof *plan.found);
    if (!plan.cell || !plan.shift || !plan.found)
        goto done;
    mpm_pool_for(binning->pool, locate_item, &plan, (ptrdiff_t)particles->group_count);
    mark_placed(&plan, grouped);
    if ((status = count_cells(&plan)) || (status = lay_groups(&plan)) ||
        (status = mpm_grid_build(&fresh_grid, allocator, plan.groups, plan.map.count, plan.count, binning->symmetry,
                                 particles->dim, particles->real_size, binning->records)))
        goto done;
    plan.source = mpm_memory_new(allocator, (size_t)plan.tiles * (size_t)particles->lanes, sizeof *plan.source);
    if (!plan.source) {
        status = MPM_OUT_OF_MEMORY;
        goto done;
    }
    const bool grows = (size_t)plan.tiles > particles->capacity;
    if (grows && (status = mpm_binning_allocate(&fresh, allocator, (size_t)plan.tiles + (size_t)plan.tiles / 16)))
        goto done;
    if (binning->prepare && (status = binning->prepare(binning->context, &fresh_grid)))
        goto done;

    /* Nothing can fail from here on. */
    set_sources(&plan);
    if (binning->mid_step)
        mpm_grid_take_velocities(&fresh_grid, grid, particles->real_size);
    if (grows) {
        move_to(&plan, particles, &fresh);
        mpm_particles_clear(particles, allocator);
        *particles = fresh;
        fresh = mpm_particles_empty_like(particles);
    } else {
        move_in_place(&plan, particles);
        mpm_memory_free(allocator, particles->groups);
    }
    particles->groups = plan.groups;
    particles->group_count = plan.map.count;
    particles->tiles = plan.tiles;
    particles->count = plan.count;
    plan.groups = NULL;
    mpm_binning_pad(particles);
    mpm_grid_clear(grid, allocator);
    *grid = fresh_grid;
    fresh_grid = (mpm_grid){0};
done:
    mpm_grid_clear(&fresh_grid, allocator);
    mpm_particles_clear(&fresh, allocator);
    clear_plan(&plan);
    return status;
}

mpm_status mpm_binning_reserve(const mpm_allocator *allocator, mpm_particles *particles, size_t extra)
{
    const size_t wanted = (size_t)particles->tiles + extra;
    if (wanted <= particles->capacity)
        return MPM_OK;
    mpm_particles fresh = mpm_particles_empty_like(particles);
    fresh.count = particles->count;
    fresh.tiles = particles->tiles;
    if (mpm_binning_allocate(&fresh, allocator, wanted)) {
        mpm_particles_clear(&fresh, allocator);
        return MPM_OUT_OF_MEMORY;
    }
    const size_t lanes = (size_t)particles->lanes * (size_t)particles->tiles;
    for (int f = 0; f < mpm_particles_vectors(particles); f++)
        if (lanes)
            memcpy(fresh.vector[f], particles->vector[f], lanes * (size_t)particles->dim * particles->real_size);
    if (lanes) {
        memcpy(fresh.mass, particles->mass, lanes * particles->real_size);
        memcpy(fresh.volume, particles->volume, lanes * particles->real_size);
        if (particles->has_plastic)
            memcpy(fresh.plastic, particles->plastic, lanes * particles->real_size);
        memcpy(fresh.row, particles->row, lanes * sizeof *fresh.row);
    }
    mpm_group *groups = particles->groups;
    size_t group_count = particles->group_count;
    particles->groups = NULL;
    mpm_particles_clear(particles, allocator);
    fresh.groups = groups;
    fresh.group_count = group_count;
    *particles = fresh;
    return MPM_OK;
}
