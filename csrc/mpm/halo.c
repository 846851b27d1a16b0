/* SPDX-License-Identifier: MIT */
#include "mpm/halo.h"

#include <string.h>

#include "mpm/memory/block_map.h"

static size_t block_bytes(const mpm_simulation *simulation)
{
    return MPM_BLOCK_NODES * 4 * simulation->settings.real_size;
}

/* The fields with private copies of their own. */
static bool has_copies(const mpm_grid *grid, int field)
{
    return grid->copies[field] && (int)mpm_grid_rows[field].copies == field;
}

/* Where a block is in a grid; -1: nowhere. `from` begins with 0 and grows, as later calls have later blocks. */
static ptrdiff_t find_older(const mpm_grid *grid, const mpm_node_block *block, size_t *from)
{
    for (; *from < grid->block_count; ++*from) {
        const mpm_node_block *older = &grid->blocks[*from];
        const int order = mpm_block_map_compare_blocks(older->block, block->block);
        if (order > 0 || (!order && older->layer >= block->layer))
            return order || older->layer > block->layer ? -1 : (ptrdiff_t)*from;
    }
    return -1;
}

/* The process that has the velocities of the nodes of each new block; -1: nobody. */
static void find_holders(const mpm_simulation *simulation, const mpm_grid *grid, int32_t *holder)
{
    const mpm_partition *old = &simulation->reports.halo.partition;
    size_t from = 0;
    for (size_t b = 0; b < grid->block_count; b++) {
        const ptrdiff_t o = old->processes ? find_older(&simulation->grid, &grid->blocks[b], &from) : -1;
        holder[b] = o < 0 ? -1 : old->counting[o];
    }
}

/* Counts the blocks whose nodes move to and from each process, or lists them. */
static void find_moving(struct halo *halo, const int32_t *holder, size_t blocks, bool lists)
{
    const mpm_partition *partition = &halo->partition;
    size_t out = 0, in = 0;
    for (int32_t r = 0; r < partition->processes; r++) {
        const uint8_t *reach = partition->reaches + (size_t)r * blocks;
        halo->first_out[r] = out;
        halo->first_in[r] = in;
        for (size_t b = 0; b < blocks && r != partition->own; b++) {
            const bool goes = holder[b] == partition->own && reach[b] == MPM_FINISHED;
            const bool comes = holder[b] == r && partition->reach[b] == MPM_FINISHED;
            if (lists && goes)
                halo->out_blocks[out] = (int32_t)b;
            if (lists && comes)
                halo->in_blocks[in] = (int32_t)b;
            out += goes;
            in += comes;
        }
    }
    halo->first_out[partition->processes] = out;
    halo->first_in[partition->processes] = in;
}

/* Finds which nodes move in mid step, and makes room for them. */
static mpm_status fit_moving(const mpm_simulation *simulation, const mpm_grid *grid, struct halo *halo)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    const size_t processes = (size_t)halo->partition.processes;
    int32_t *holder = mpm_memory_new(allocator, grid->block_count + 1, sizeof *holder);
    halo->first_out = mpm_memory_new(allocator, processes + 1, sizeof *halo->first_out);
    halo->first_in = mpm_memory_new(allocator, processes + 1, sizeof *halo->first_in);
    if (!holder || !halo->first_out || !halo->first_in) {
        mpm_memory_free(allocator, holder);
        return MPM_OUT_OF_MEMORY;
    }
    find_holders(simulation, grid, holder);
    find_moving(halo, holder, grid->block_count, false);
    const size_t moving = halo->first_out[processes] + halo->first_in[processes];
    halo->out_blocks = mpm_memory_new_unset(allocator, halo->first_out[processes] + 1, sizeof *halo->out_blocks);
    halo->in_blocks = mpm_memory_new_unset(allocator, halo->first_in[processes] + 1, sizeof *halo->in_blocks);
    const size_t shared = simulation->distributed ? 0 : grid->block_count;
    halo->blocks = mpm_memory_new_unset(allocator, (moving > shared ? moving : shared) + 1, block_bytes(simulation));
    halo->needs = mpm_memory_new_unset(allocator, grid->block_count + 1, 1);
    const bool failed = !halo->out_blocks || !halo->in_blocks || !halo->blocks || !halo->needs;
    if (!failed) {
        find_moving(halo, holder, grid->block_count, true);
        memcpy(halo->needs, halo->partition.reach, grid->block_count);
        for (size_t i = 0; i < halo->first_out[processes]; i++)
            halo->needs[halo->out_blocks[i]] = 1;
    }
    mpm_memory_free(allocator, holder);
    return failed ? MPM_OUT_OF_MEMORY : MPM_OK;
}

mpm_status mpm_halo_fit(const mpm_simulation *simulation, const mpm_grid *grid, struct halo *halo)
{
    const mpm_team *team = simulation->team;
    const mpm_allocator *allocator = &simulation->run.allocator;
    mpm_symmetry symmetry[3] = {{0}};
    *halo = (struct halo){0};
    if (!team)
        return MPM_OK;
    for (int axis = 0; axis < simulation->settings.dim; axis++) {
        symmetry[axis] = mpm_boundary_symmetry(&simulation->boundary, axis);
        symmetry[axis].cells = simulation->settings.cells[axis];
    }
    const bool reflects = simulation->settings.heat || grid->field[MPM_GRID_FILL];
    /* Fill reads the volumes beyond surfaces, which move. */
    const bool all = grid->field[MPM_GRID_FILL] && simulation->boundary.count;
    if (mpm_partition_find(&halo->partition, allocator, grid, symmetry, simulation->settings.dim, reflects, all,
                           team))
        return MPM_OUT_OF_MEMORY;
    size_t fields = 0;
    for (int f = 0; f < MPM_GRID_FIELD_COUNT; f++)
        fields += has_copies(grid, f);
    const size_t bytes = fields * block_bytes(simulation);
    halo->out = mpm_memory_new_unset(allocator, halo->partition.out_count + 1, bytes);
    halo->in = mpm_memory_new_unset(allocator, halo->partition.in_count + 1, bytes);
    halo->messages = mpm_memory_new(allocator, halo->partition.neighbour_count + 1, sizeof *halo->messages);
    const size_t processes = (size_t)team->transport.processes;
    halo->to_all = mpm_memory_new(allocator, processes, sizeof *halo->to_all);
    halo->first = mpm_memory_new(allocator, processes + 1, sizeof *halo->first);
    if (!fit_moving(simulation, grid, halo) && halo->out && halo->in && halo->messages && halo->to_all && halo->first)
        return MPM_OK;
    mpm_halo_clear(halo, allocator);
    return MPM_OUT_OF_MEMORY;
}

void mpm_halo_clear(struct halo *halo, const mpm_allocator *allocator)
{
    mpm_partition_clear(&halo->partition, allocator);
    mpm_memory_free(allocator, halo->messages);
    mpm_memory_free(allocator, halo->out);
    mpm_memory_free(allocator, halo->in);
    mpm_memory_free(allocator, halo->to_all);
    mpm_memory_free(allocator, halo->first);
    mpm_memory_free(allocator, halo->blocks);
    mpm_memory_free(allocator, halo->needs);
    mpm_memory_free(allocator, halo->out_blocks);
    mpm_memory_free(allocator, halo->in_blocks);
    mpm_memory_free(allocator, halo->first_out);
    mpm_memory_free(allocator, halo->first_in);
    *halo = (struct halo){0};
}

/* The fields in whose copies an operation leaves anything, one bit each. */
static unsigned scattered_by(mpm_operation operation, const mpm_arguments *arguments)
{
    const unsigned momentum = 1u << MPM_GRID_VELOCITY, impulse = 1u << MPM_GRID_IMPULSE;
    switch (operation) {
    case MPM_P2G:
    case MPM_G2P2G:
    case MPM_BODY_FORCE:
        return momentum | impulse;
    case MPM_MOMENTS:
    case MPM_AXES:
    case MPM_FACE_MOMENTS:
        return MPM_GRID_AT_SHARED;
    case MPM_FILTER:
    case MPM_AVERAGE:
    case MPM_VOLUME:
    case MPM_DAMAGE:
    case MPM_LINEARIZE:
    case MPM_TANGENT:
    case MPM_RESIDUAL:
    case MPM_PRODUCT:
    case MPM_SHARE:
        return momentum;
    case MPM_HEAT:
        if (arguments->heat.sweep == MPM_HEAT_PUSH)
            return momentum | impulse;
        return arguments->heat.sweep == MPM_HEAT_BEGIN || arguments->heat.sweep == MPM_HEAT_AREAS ||
                       arguments->heat.sweep == MPM_HEAT_LATENT || arguments->heat.sweep == MPM_HEAT_FLOW ||
                       arguments->heat.sweep == MPM_HEAT_ON
                   ? momentum : 0;
    default:
        return 0;
    }
}

void mpm_halo_note(mpm_simulation *simulation, mpm_operation operation, const mpm_arguments *arguments)
{
    if (simulation->team)
        simulation->reports.halo.scattered |= scattered_by(operation, arguments);
}

/* Where a copy is among those of a field; -1: it has none there. */
static ptrdiff_t place_of(const mpm_grid *grid, int field, int32_t copy)
{
    return MPM_GRID_AT_SHARED >> field & 1 ? grid->shared_copy[copy] : copy;
}

/* The lines of nodes of a box in a copy, which are along the last axis. */
struct lines {
    size_t x, end_x, y, end_y; /* the first ones, and the ends; in 2-D, y is 0 */
    size_t first, bytes;       /* within a line */
    size_t stride_x, stride_y;
};

static struct lines lines_of(const mpm_simulation *simulation, const mpm_node_box *box)
{
    const size_t node = 4 * simulation->settings.real_size, side = (size_t)mpm_block_side(simulation->settings.dim);
    const bool flat = simulation->settings.dim == 2;
    const int last = flat ? 1 : 2;
    return (struct lines){.x = box->first[0], .end_x = box->end[0], .y = flat ? 0 : box->first[1],
                          .end_y = flat ? 1 : box->end[1], .first = box->first[last] * node,
                          .bytes = (size_t)(box->end[last] - box->first[last]) * node,
                          .stride_x = (flat ? 1 : side) * side * node, .stride_y = side * node};
}

/* Fetches a box of a copy, which a sweep has left in memory long ago, while another one is copied. */
static void fetch_box(const mpm_simulation *simulation, const mpm_node_box *box, const char *copy)
{
    const struct lines of = lines_of(simulation, box);
    for (size_t x = of.x; x < of.end_x; x++)
        for (size_t y = of.y; y < of.end_y; y++)
            __builtin_prefetch(copy + x * of.stride_x + y * of.stride_y + of.first);
}

/* Copies the nodes of a box to a message, or back. Returns the bytes. */
static size_t move_box(const mpm_simulation *simulation, const mpm_node_box *box, char *copy, char *message, bool back)
{
    enum { PIECE = 16 }; /* bytes; nodes have multiples of it */
    const struct lines of = lines_of(simulation, box);
    size_t at = 0;
    for (size_t x = of.x; x < of.end_x; x++)
        for (size_t y = of.y; y < of.end_y; y++) {
            char *line = copy + x * of.stride_x + y * of.stride_y + of.first;
            for (size_t k = 0; k < of.bytes; k += PIECE, at += PIECE)
                memcpy(back ? line + k : message + at, back ? message + at : line + k, PIECE);
        }
    return at;
}

/* Copies nodes of all fields that have been scattered to a message, or back. Returns the bytes. */
static size_t move(mpm_simulation *simulation, const int32_t *copies, size_t count, char *message, bool back)
{
    const mpm_grid *grid = &simulation->grid;
    const mpm_node_box *boxes = simulation->reports.halo.partition.box;
    mpm_device *device = &simulation->backend->device;
    size_t at = 0;
    for (int f = 0; f < MPM_GRID_FIELD_COUNT; f++) {
        if (!(simulation->reports.halo.scattered >> f & 1) || !has_copies(grid, f) || !count)
            continue;
        char *blocks = mpm_device_map(device, grid->copies[f], back ? MPM_WRITE : MPM_READ);
        const size_t bytes = block_bytes(simulation);
        for (size_t i = 0; i < count; i++) {
            const ptrdiff_t place = place_of(grid, f, copies[i]);
            const ptrdiff_t next = i + 1 < count ? place_of(grid, f, copies[i + 1]) : -1;
            if (next >= 0)
                fetch_box(simulation, &boxes[copies[i + 1]], blocks + (size_t)next * bytes);
            if (place >= 0 && back && !(simulation->reports.halo.cleared >> f & 1))
                memset(blocks + (size_t)place * bytes, 0, bytes); /* once: nothing else is written there */
            if (place >= 0)
                at += move_box(simulation, &boxes[copies[i]], blocks + (size_t)place * bytes, message + at, back);
        }
        mpm_device_unmap(device, grid->copies[f]);
    }
    return at;
}

/* The bytes of `count` copies. */
static size_t size_of(const mpm_simulation *simulation, const int32_t *copies, size_t count)
{
    const mpm_grid *grid = &simulation->grid;
    const mpm_node_box *boxes = simulation->reports.halo.partition.box;
    size_t nodes = 0;
    for (int f = 0; f < MPM_GRID_FIELD_COUNT; f++)
        for (size_t i = 0; i < count && simulation->reports.halo.scattered >> f & 1 && has_copies(grid, f); i++)
            nodes += place_of(grid, f, copies[i]) < 0 ? 0 : mpm_partition_nodes(&boxes[copies[i]]);
    return nodes * 4 * simulation->settings.real_size;
}

void mpm_halo_exchange(mpm_simulation *simulation)
{
    struct halo *halo = &simulation->reports.halo;
    const mpm_partition *partition = &halo->partition;
    char *out = halo->out, *in = halo->in;
    if (!simulation->team || !halo->scattered)
        return;
    if (!halo->has_boxes) /* a binning has replaced the groups since mpm_halo_fit */
        mpm_partition_find_boxes(partition->box, &simulation->grid, simulation->particles.groups,
                                 simulation->settings.dim);
    halo->has_boxes = true;
    for (size_t n = 0; n < partition->neighbour_count; n++) {
        const mpm_neighbour *one = &partition->neighbours[n];
        mpm_message *message = &halo->messages[n];
        *message = (mpm_message){.process = one->process, .out = out, .in = in};
        message->out_bytes = move(simulation, partition->out + one->first_out, one->out_count, out, false);
        message->in_bytes = size_of(simulation, partition->in + one->first_in, one->in_count);
        out += message->out_bytes;
        in += message->in_bytes;
    }
    mpm_team_exchange(simulation->team, halo->messages, partition->neighbour_count);
    for (size_t n = 0; n < partition->neighbour_count; n++) {
        const mpm_neighbour *one = &partition->neighbours[n];
        move(simulation, partition->in + one->first_in, one->in_count, halo->messages[n].in, true);
    }
    halo->cleared |= halo->scattered;
    halo->scattered = 0;
}

mpm_status mpm_halo_agree(mpm_simulation *simulation, mpm_status status)
{
    return simulation->team ? mpm_team_agree(simulation->team, status) : status;
}

mpm_status mpm_halo_status(mpm_simulation *simulation)
{
    return simulation->team ? mpm_team_take(simulation->team) : MPM_OK;
}
