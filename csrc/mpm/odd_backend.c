/* SPDX-License-Identifier: MIT */
#include "mpm/odd_backend.h"

#include <string.h>

#include "mpm/cpu_backend.h"
#include "mpm/state.h"

static const uint64_t SCRAMBLE = UINT64_C(0x6b9d5a3c6b9d5a3c);
static const int SPOILT = 0xff; /* reals that are NaN, rows of padding */

/* A piece of memory: this header, the bytes of the device, the place where they are mapped. */
struct piece {
    struct piece *next, *previous;
    size_t bytes; /* a multiple of 64 */
    int mapped;
    bool written;
    char pad[64 - 3 * sizeof(void *) - sizeof(int) - sizeof(bool)];
};
_Static_assert(sizeof(struct piece) == 64, "the bytes after a header are aligned");

struct odd {
    mpm_backend backend; /* the first member */
    mpm_backend *cpu;
    struct piece *pieces;
    int running; /* launches under way: memory is as kernels need it */
};

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static struct piece *piece_of(void *memory)
{
    return (struct piece *)memory - 1;
}

static void *place_of(struct piece *piece)
{
    return (char *)(piece + 1) + piece->bytes;
}

/* Scrambles the bytes, or restores them. */
static void scramble(struct piece *piece)
{
    uint64_t *word = (uint64_t *)(void *)(piece + 1);
    for (size_t i = 0; i < piece->bytes / sizeof *word; i++)
        word[i] ^= SCRAMBLE;
}

static void *allocate(mpm_device *device, size_t bytes, bool cleared)
{
    struct odd *odd = (struct odd *)device;
    if (bytes > PTRDIFF_MAX / 4)
        return NULL;
    bytes = (bytes + 63) / 64 * 64;
    struct piece *piece = mpm_memory_new_unset(&device->allocator, sizeof *piece + 2 * bytes, 1);
    if (!piece)
        return NULL;
    *piece = (struct piece){.next = odd->pieces, .bytes = bytes};
    if (piece->next)
        piece->next->previous = piece;
    odd->pieces = piece;
    memset(piece + 1, cleared ? 0 : SPOILT, bytes);
    memset(place_of(piece), SPOILT, bytes);
    if (!odd->running)
        scramble(piece);
    return piece + 1;
}

static void release(mpm_device *device, void *memory)
{
    struct odd *odd = (struct odd *)device;
    struct piece *piece = piece_of(memory);
    if (piece->next)
        piece->next->previous = piece->previous;
    *(piece->previous ? &piece->previous->next : &odd->pieces) = piece->next;
    mpm_memory_free(&device->allocator, piece);
}

static void copy(const struct odd *odd, struct piece *piece, bool back)
{
    if (!odd->running)
        scramble(piece);
    memcpy(back ? (void *)(piece + 1) : place_of(piece), back ? place_of(piece) : (void *)(piece + 1), piece->bytes);
    if (!odd->running)
        scramble(piece);
}

static void *map(mpm_device *device, void *memory, mpm_access access)
{
    struct piece *piece = piece_of(memory);
    if (!piece->mapped++)
        copy((struct odd *)device, piece, false);
    piece->written |= access == MPM_WRITE;
    return place_of(piece);
}

static void forget(struct piece *piece)
{
    memset(place_of(piece), SPOILT, piece->bytes);
    piece->mapped = 0;
    piece->written = false;
}

static void unmap(mpm_device *device, void *memory)
{
    struct piece *piece = piece_of(memory);
    if (!piece->mapped || --piece->mapped) /* a launch has made the place void, or another one needs it */
        return;
    if (piece->written)
        copy((struct odd *)device, piece, true);
    forget(piece);
}

/* Before a launch. What is mapped is lost. */
static void begin_launch(struct odd *odd)
{
    for (struct piece *piece = odd->pieces; piece && !odd->running; piece = piece->next) {
        scramble(piece);
        if (piece->mapped)
            forget(piece);
    }
    odd->running++;
    odd->cpu->partition = odd->backend.partition;
}

static void end_launch(struct odd *odd)
{
    odd->running--;
    for (struct piece *piece = odd->pieces; piece && !odd->running; piece = piece->next)
        scramble(piece);
}

/* ---- launches: in reverse order, most of them those of the CPU --------------------------------------------------- */

struct reversal {
    mpm_pool_item item;
    void *context;
    ptrdiff_t items;
};

static void reversed_item(void *context, ptrdiff_t i, int thread)
{
    const struct reversal *reversal = context;
    reversal->item(reversal->context, reversal->items - 1 - i, thread);
}

static void for_reversed(mpm_pool *pool, mpm_pool_item item, void *context, ptrdiff_t items)
{
    struct reversal reversal = {item, context, items};
    mpm_pool_for(pool, reversed_item, &reversal, items);
}

static void free_odd(mpm_backend *backend)
{
    struct odd *odd = (struct odd *)backend;
    const mpm_allocator allocator = backend->device.allocator;
    odd->cpu->free(odd->cpu);
    mpm_memory_free(&allocator, odd);
}

static mpm_status begin(mpm_backend *backend, mpm_pool *pool)
{
    mpm_backend *cpu = ((struct odd *)backend)->cpu;
    return cpu->begin(cpu, pool);
}

static void end(mpm_backend *backend)
{
    mpm_backend *cpu = ((struct odd *)backend)->cpu;
    cpu->end(cpu);
}

static void clean(mpm_backend *backend)
{
    mpm_backend *cpu = ((struct odd *)backend)->cpu;
    cpu->clean(cpu);
}

static void sweep(mpm_backend *backend, const mpm_sweep *of, mpm_operation operation, const mpm_arguments *arguments)
{
    struct odd *odd = (struct odd *)backend;
    begin_launch(odd);
    odd->cpu->sweep(odd->cpu, of, operation, arguments);
    end_launch(odd);
}

static void pass(mpm_backend *backend, const mpm_pass *of)
{
    struct odd *odd = (struct odd *)backend;
    begin_launch(odd);
    odd->cpu->pass(odd->cpu, of);
    end_launch(odd);
}

static mpm_status bin(mpm_backend *backend, mpm_team *team, const mpm_binning *binning, const mpm_arrivals *arrivals,
                      mpm_particles *particles, mpm_grid *grid)
{
    struct odd *odd = (struct odd *)backend;
    begin_launch(odd);
    const mpm_status status = odd->cpu->bin(odd->cpu, team, binning, arrivals, particles, grid);
    end_launch(odd);
    return status;
}

/* The members of one part after those of all later ones. */
static void join_part(const mpm_reduction *of, const void *part, mpm_accumulator *at)
{
    for (const mpm_member *member = of->members; member < of->members + of->member_count; member++)
        for (size_t k = 0; k < (size_t)member->numbers; k++, at++) {
            double number;
            int64_t count;
            memcpy(&number, (const char *)part + member->offset + k * sizeof number, sizeof number);
            memcpy(&count, (const char *)part + member->offset + k * sizeof count, sizeof count);
            if (member->rule == MPM_REDUCE_SUM)
                mpm_exact_add(&at->sum, number);
            else if (member->rule == MPM_REDUCE_COUNT)
                at->count += count;
            else if (member->rule == MPM_REDUCE_LEAST ? number < at->extreme : number > at->extreme)
                at->extreme = number; /* NaN is left out */
        }
}

static void reduce(mpm_backend *backend, const mpm_reduction *of, mpm_accumulator *accumulators)
{
    struct odd *odd = (struct odd *)backend;
    const mpm_reduction nothing = {.members = of->members, .member_count = of->member_count};
    begin_launch(odd);
    mpm_reduction_accumulate(&nothing, accumulators);
    for (size_t i = of->count; i-- > 0;)
        if (!of->labels || of->labels[i] == of->wanted)
            join_part(of, (const char *)of->parts + i * of->stride, accumulators);
    end_launch(odd);
}

mpm_status mpm_odd_backend_use(mpm_simulation *simulation)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    if (simulation->particles.capacity)
        return MPM_BAD_ARGUMENT;
    struct odd *odd = mpm_memory_new(allocator, 1, sizeof *odd);
    if (!odd)
        return MPM_OUT_OF_MEMORY;
    *odd = (struct odd){
        .backend = {.device = {allocate, release, map, unmap, *allocator}, .free = free_odd, .begin = begin, .end = end,
                    .sweep = sweep, .pass = pass, .bin = bin, .reduce = reduce, .clean = clean},
    };
    if (mpm_cpu_backend_new(&odd->cpu, allocator, simulation->kernels, for_reversed)) {
        mpm_memory_free(allocator, odd);
        return MPM_OUT_OF_MEMORY;
    }
    simulation->backend->free(simulation->backend);
    simulation->backend = &odd->backend;
    simulation->particles.device = &odd->backend.device;
    return MPM_OK;
}
