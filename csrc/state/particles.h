/* SPDX-License-Identifier: MIT
 *
 * The resident state of the particles: what the core steps on, in the layout the kernels want.
 *
 * Particles are held in tiles of `lanes` (the vector width). Every column is an array of tiles, each tile width x lanes
 * reals; so a kernel reads one contiguous piece of each column per tile, and re-binning moves column by column through
 * spare arrays. Which field has which columns is told by the table in fields.h. The last tile of a group is padded with
 * particles of mass 0.
 *
 * A group is the particles of one material whose base node (the lowest node of the stencil) lay in one block of
 * nodes at the last binning. Positions are kept in cells relative to that block's first node, so that precision
 * does not depend on where the domain lies.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "state/fields.h"

enum {
    MPM_BLOCK_NODES = 64, /* nodes of a block: 8 x 8 or 4 x 4 x 4 */
    MPM_NEIGHBOURS = 27   /* blocks around a block, itself among them (9 used in 2-D) */
};

/** Nodes of a block along one axis. */
static inline int mpm_block_side(int dim)
{
    return dim == 3 ? 4 : 8;
}

typedef struct mpm_group {
    int32_t block[3]; /* coordinates of its block, in blocks from node 0 of the domain; third 0 in 2-D */
    int32_t material;
    int32_t count;      /* particles */
    int32_t tiles;      /* whole tiles, the last one padded */
    ptrdiff_t first_tile;
    /* Nodes its particles can touch before the next binning, per axis, counted from node -1 of the block: the
     * part of the arena that is copied in and out. */
    int32_t first_node[3], last_node[3];
    /* Per neighbour block (x slowest, offsets -1, 0, 1 each): index in the grid's blocks and of the task's
     * private copy; -1 where no node of it can be touched. */
    int32_t node_block[MPM_NEIGHBOURS], copy[MPM_NEIGHBOURS];
} mpm_group;

typedef struct mpm_particles {
    int dim, lanes;
    int degree;          /* of the kernel: a stencil has degree + 1 nodes along an axis */
    size_t real_size;    /* 4 or 8 */
    ptrdiff_t count;     /* particles = rows the user sees */
    ptrdiff_t tiles;     /* tiles in use */
    size_t capacity;     /* tiles allocated in every array below */
    bool has_F;          /* a law that keeps F is registered; otherwise F is but one number, J, and 0 beyond it */
    int columns;
    int width[MPM_MOST_COLUMNS];      /* d or 1 */
    double initial[MPM_MOST_COLUMNS]; /* what a column of laws or users holds of particles that have nothing to say */
    void *column[MPM_MOST_COLUMNS];   /* [tile][width][lanes]. Mass 0: padding, or taken out of the run */
    int32_t *row;                     /* [tile][lanes] row of the particle, -1 in padding */
    void *spare_vector, *spare_scalar; /* targets of the next move; or positions before a deferred step */
    int32_t *spare_row;
    mpm_group *groups;
    size_t group_count;
} mpm_particles;

/** Which lane of its tile holds the p-th particle in cell order; `lane_of` of base/simd.h for `lanes`. */
static inline int mpm_particles_lane(int lanes, int p)
{
    if (lanes < 4)
        return p;
    const int bits = __builtin_ctz((unsigned)lanes) - 2; /* of lanes/4: divisions take long */
    return (p & ((1 << bits) - 1)) * 4 + (p >> bits);
}

/** Where component `c` of what the particle in `slot` keeps in columns of `width` reals lies within its column, counted
 *  in reals. */
static inline size_t mpm_particles_index(size_t slot, size_t c, size_t width, size_t lanes)
{
    return (slot / lanes * width + c % width) * lanes + slot % lanes;
}

/** What a position, in cells, is lessened by before it is rounded down to the base node. */
static inline double mpm_particles_reach(const mpm_particles *particles)
{
    return 0.5 * (particles->degree - 1);
}

/** No particles and no arrays, of degree `degree`, with the columns of the core. */
mpm_particles mpm_particles_empty(int dim, int lanes, int degree, size_t real_size);

/** Lays out `count` more columns of width 1, that hold `initial` everywhere. On error (MPM_OUT_OF_MEMORY) nothing has
 *  changed. */
mpm_status mpm_particles_add_columns(mpm_particles *particles, const mpm_allocator *allocator, int count,
                                     const double *initial);

/** No particles and no arrays, of the same kind. */
mpm_particles mpm_particles_empty_like(const mpm_particles *particles);

/** Allocates every array of `fresh`, which has none, with room for `capacity` tiles. On error (MPM_OUT_OF_MEMORY) what
 *  there is goes with mpm_particles_clear. */
mpm_status mpm_particles_allocate(mpm_particles *fresh, const mpm_allocator *allocator, size_t capacity);

/** Makes room for `extra` more tiles at the end, where new particles can wait. On error (MPM_OUT_OF_MEMORY) nothing has
 *  changed. */
mpm_status mpm_particles_reserve(mpm_particles *particles, const mpm_allocator *allocator, size_t extra);

/** Fills what is left of the last tile of a group: particles of mass 0 at rest in the middle of the block,
 *  undeformed. */
void mpm_particles_pad(mpm_particles *particles, const mpm_group *group);

/** Frees all arrays and leaves an empty set. */
void mpm_particles_clear(mpm_particles *particles, const mpm_allocator *allocator);

/** Bytes held by the arrays. */
size_t mpm_particles_bytes(const mpm_particles *particles);
