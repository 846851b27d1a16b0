/* SPDX-License-Identifier: MIT
 *
 * The plan of a binning: which particles form the new groups, and from where they come. Private to binning.c, and to
 * migration.c, which completes the plans of several processes.
 */
#pragma once
#include <string.h>

#include "mpm/memory/binning.h"
#include "mpm/memory/block_map.h"
#include "ranks/team.h"

enum { CELLS = 64, GROUPS_PER_ITEM = 8, MOST_LANES = 16 };
enum { MIGRATED = 252, ARRIVED, NOBODY, PLACED }; /* in place of a shift */

/* A source of particles of one new group: those of old group `from` that have moved by `shift`; if `shift` is PLACED,
 * the particle of placement `from`; if it is ARRIVED, those of arrival `from`; and if it is MIGRATED, the `count` ones
 * from slot `from` on. */
struct feed {
    int32_t from;
    union {
        int32_t to; /* the new group, until feeds are sorted by it */
        int32_t count;
    };
    uint8_t shift;
};

/* What an old process brings to a new group: the feeds of one kind of its group `local`. */
struct part {
    mpm_block_key key; /* the first member, so that mpm_block_map_compare applies */
    int32_t kind;      /* in the order of feeds: 0, placements, arrivals */
    int32_t process, local, count;
    uint64_t cells;    /* of base nodes, one bit each */
    int64_t cost;      /* what sweeps over these particles have spent [ns]; 0: unknown */
};

/* Scratch of one binning. A process alone has all groups. Of several, each plans those of its old groups first, as if
 * there were no others; migration.c puts the plans together. */
struct plan {
    const mpm_binning *request;
    mpm_arrivals arrivals;
    mpm_team *team; /* NULL: one process, which has all particles */
    const mpm_particles *old;
    int lane[MOST_LANES]; /* of the p-th particle of a tile */
    size_t first_old, end_old;   /* the own ones of the old groups */
    size_t first_slot, end_slot; /* and of the old slots */
    size_t grouped, slots; /* old slots in groups; the same with those of waiting tiles */
    uint8_t *cell, *shift; /* of the particle in every old slot; of particles from other processes behind them */
    uint32_t *present;     /* the shifts that occur in every old group, one bit each */
    mpm_block_map map;     /* keys of the new groups in order of discovery */
    size_t group_count, first_group, end_group; /* new groups; the own ones, which the next three are about */
    struct feed *feeds;    /* by new group: old groups ascending, then placements, then arrivals */
    int32_t *first_feed;   /* of every new group; one more at the end */
    uint32_t (*histogram)[CELLS];
    mpm_group *groups; /* the new groups, sorted */
    struct part *parts;  /* of several processes: of all new groups */
    size_t part_count;
    int32_t *first_part; /* of every new group; one more at the end */
    double *rate;        /* of every own old group: what its task has spent per particle [ns]; 0: unknown */
    int64_t *crossed;    /* per process: particles that have crossed the cut before it */
    bool has_cut;        /* the team has the new cut, and the old one in reserve */
    bool was_equal;
    int32_t *source;   /* old slot, by new slot; padding: that of the group's first particle */
    ptrdiff_t tiles, count;
};

/* The loop over the particles of one new group. */
struct cursor {
    const int *lane;
    const uint8_t *cell;
    uint32_t *next; /* by cell: the number of particles, later the index of the next particle */
    int32_t *source;
    int lane_bits;
};

static struct cursor cursor_of(const struct plan *plan, size_t g)
{
    return (struct cursor){plan->lane, plan->cell, plan->histogram[g - plan->first_group], NULL,
                           __builtin_ctz((unsigned)plan->old->lanes)};
}

typedef void visitor(const struct cursor *cursor, size_t slot);

/* Calls `visit` for the old slot of every particle of some feeds of a new group: old groups ascending, particles in
 * cell order. The sort keeps this order within a cell. */
static inline __attribute__((always_inline)) void for_each_slot(const struct plan *plan, const struct feed *first,
                                                                const struct feed *end_feed,
                                                                const struct cursor *cursor, visitor *visit)
{
    const size_t lanes = (size_t)plan->old->lanes;
    for (; first < end_feed; first++) {
        const struct feed feed = *first;
        if (feed.shift == PLACED) {
            visit(cursor, (size_t)plan->request->placements[feed.from].slot);
            continue;
        }
        if (feed.shift == ARRIVED) {
            const mpm_arrival *arrival = &plan->arrivals.list[feed.from];
            for (size_t slot = (size_t)arrival->slot; slot < (size_t)(arrival->slot + arrival->count); slot++)
                if (plan->shift[slot] == ARRIVED)
                    visit(cursor, slot);
            continue;
        }
        if (feed.shift == MIGRATED) {
            for (int32_t k = 0; k < feed.count; k++)
                visit(cursor, (size_t)(feed.from + k));
            continue;
        }
        const mpm_group *from = &plan->old->groups[feed.from];
        const uint8_t *shift = plan->shift + (size_t)from->first_tile * lanes,
                      *end = shift + (size_t)from->tiles * lanes;
        /* memchr finds the next tile with such a particle */
        for (const uint8_t *next = shift; (next = memchr(next, feed.shift, (size_t)(end - next)));) {
            const uint8_t *tile = shift + (size_t)(next - shift) / lanes * lanes;
            const size_t slot = (size_t)(tile - plan->shift);
            for (size_t p = 0; p < lanes; p++)
                if (tile[cursor->lane[p]] == feed.shift)
                    visit(cursor, slot + (size_t)cursor->lane[p]);
            next = tile + lanes;
        }
    }
}

/* The same, for all feeds of an own new group. */
static inline __attribute__((always_inline)) void for_each_of_group(const struct plan *plan, size_t g,
                                                                    const struct cursor *cursor, visitor *visit)
{
    const int32_t *feed = plan->first_feed + (g - plan->first_group);
    for_each_slot(plan, plan->feeds + feed[0], plan->feeds + feed[1], cursor, visit);
}

/* Does a column move? Empty columns, and v and C in mid step, are left out. */
bool mpm_binning_moves(const struct plan *plan, int column);

/* Sets the range of nodes of a group whose particles have base nodes in the cells of a mask. */
void mpm_binning_set_nodes(mpm_group *group, int dim, int degree, uint64_t cells);

/* The stages of a binning. The first one finds what is here and plans for it; the second one gives the new groups their
 * grid, and the third one their tiles; the last one prepares, moves everything, and cannot fail after that. */
mpm_status mpm_binning_begin(struct plan *plan, const mpm_grid *grid);
mpm_status mpm_binning_build(struct plan *plan, const mpm_particles *particles, mpm_grid *fresh);
mpm_status mpm_binning_lay(struct plan *plan, mpm_particles *particles, const mpm_grid *fresh);
mpm_status mpm_binning_finish(struct plan *plan, mpm_particles *particles, mpm_grid *grid, mpm_grid *fresh);

/* Frees the plan, and what is left of the new grid. */
void mpm_binning_end(struct plan *plan, mpm_grid *fresh);
