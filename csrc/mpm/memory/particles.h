/* SPDX-License-Identifier: MIT
 *
 * The resident state of the particles, in the layout of the kernels.
 *
 * Tiles hold `lanes` particles each (the vector width). Every column is an array of tiles of width x lanes reals, so a
 * kernel reads one contiguous piece of each column per tile, and binning moves column by column through spare arrays.
 * The table in fields.h maps fields to columns. The last tile of a group is padded with particles of mass 0.
 *
 * A group is the particles of one material whose base node (the lowest node of the stencil) was in one block of nodes
 * at the last binning. Positions count in cells from that block's first node, so that precision does not depend on the
 * coordinates of the domain.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/device.h"
#include "base/status.h"
#include "run/fields.h"

enum {
    MPM_BLOCK_NODES = 64, /* nodes of a block: 8 x 8 or 4 x 4 x 4 */
    MPM_NEIGHBOURS = 27   /* blocks around a block, including itself (9 used in 2-D) */
};

/** Nodes of a block along one axis. */
static inline int mpm_block_side(int dim)
{
    return dim == 3 ? 4 : 8;
}

typedef struct mpm_group {
    int32_t block[3]; /* coordinates of its block, in blocks from node 0 of the domain; third 0 in 2-D */
    int32_t material;
    int32_t layer;      /* of the blocks of nodes that it touches: bodies of different layers share none */
    int32_t count;      /* particles */
    int32_t tiles;      /* whole tiles, the last one padded; 0 if another process alone has the particles */
    ptrdiff_t first_tile;
    /* The nodes that its particles can touch before the next binning, per axis, counted from node -1 of the block: the
     * part of the arena that is copied in and out. */
    int32_t first_node[3], last_node[3];
    /* Per neighbour block (x slowest, offsets -1, 0, 1 each): its index in the grid and that of the task's private
     * copy; -1 if the group can touch none of its nodes. */
    int32_t node_block[MPM_NEIGHBOURS], copy[MPM_NEIGHBOURS];
    /* The same of the other side of cracks (kernels/faces.h), in a grid that has faces. */
    int32_t face_block[MPM_NEIGHBOURS], face_copy[MPM_NEIGHBOURS];
} mpm_group;

/** The columns, `row` and the spares are memory of the device; a mapped set has them for the host. */
typedef struct mpm_particles {
    int dim, lanes;
    int degree;          /* of the kernel: a stencil has degree + 1 nodes along an axis */
    size_t real_size;    /* 4 or 8 */
    ptrdiff_t count;     /* particles of all processes, which are the rows of users */
    ptrdiff_t tiles;     /* tiles in use here */
    size_t capacity;     /* tiles allocated in every array below */
    bool has_F;          /* a law that keeps F is registered; otherwise the columns of F hold J alone */
    int columns;
    int width[MPM_MOST_COLUMNS];      /* d or 1 */
    double initial[MPM_MOST_COLUMNS]; /* value of a column of laws or users where no particle has set it */
    void *column[MPM_MOST_COLUMNS];   /* [tile][width][lanes]. Mass 0: padding, or a frozen particle */
    int32_t *row;                     /* [tile][lanes] row of the particle, -1 in padding */
    void *spare_vector, *spare_scalar; /* targets of the next move, or positions before a deferred store */
    int32_t *spare_row;
    mpm_group *groups;
    size_t group_count;
    mpm_device *device;
} mpm_particles;

/** The lane that holds the p-th particle of a tile in cell order: `lane_of` of base/simd.h for `lanes`. */
static inline int mpm_particles_lane(int lanes, int p)
{
    if (lanes < 4)
        return p;
    const int bits = __builtin_ctz((unsigned)lanes) - 2; /* of lanes/4: shifts are faster than divisions */
    return (p & ((1 << bits) - 1)) * 4 + (p >> bits);
}

/** The index in reals of component `c` of the particle in `slot`, within its column; the columns have width `width`. */
static inline size_t mpm_particles_index(size_t slot, size_t c, size_t width, size_t lanes)
{
    return (slot / lanes * width + c % width) * lanes + slot % lanes;
}

/** The offset to subtract from a position in cells before rounding down to the base node. */
static inline double mpm_particles_reach(const mpm_particles *particles)
{
    return 0.5 * (particles->degree - 1);
}

/** No particles and no arrays, of degree `degree`, with the columns of the core. */
mpm_particles mpm_particles_empty(mpm_device *device, int dim, int lanes, int degree, size_t real_size);

/** The set for the host: columns `first` .. `end` - 1 and `row`, mapped; the other arrays of the device are missing.
 *  The groups are those of `particles`. Until mpm_particles_unmap with the same columns. */
mpm_particles mpm_particles_map(const mpm_particles *particles, int first, int end, mpm_access access);
void mpm_particles_unmap(const mpm_particles *particles, int first, int end);

/** Adds `count` columns of width 1, filled with `initial`. On error (MPM_OUT_OF_MEMORY) nothing has changed. */
mpm_status mpm_particles_add_columns(mpm_particles *particles, int count, const double *initial);

/** No particles and no arrays, of the same kind. */
mpm_particles mpm_particles_empty_like(const mpm_particles *particles);

/** Allocates every array of `fresh`, which has none, with room for `capacity` tiles. On error (MPM_OUT_OF_MEMORY) the
 *  caller frees the rest with mpm_particles_clear. */
mpm_status mpm_particles_allocate(mpm_particles *fresh, size_t capacity);

/** Makes room for `extra` more tiles at the end, where new particles can wait. On error (MPM_OUT_OF_MEMORY) nothing has
 *  changed. */
mpm_status mpm_particles_reserve(mpm_particles *particles, size_t extra);

/** Gives back most of the room that no tile is in, if that is much. */
void mpm_particles_trim(mpm_particles *particles);

/** Pads the last tile of a group with particles of mass 0, at rest in the middle of the block and undeformed. For the
 *  host all columns are mapped; a back end may call it in its own memory. */
void mpm_particles_pad(mpm_particles *particles, const mpm_group *group);

/** Frees all arrays and leaves an empty set. */
void mpm_particles_clear(mpm_particles *particles);

/** Bytes held by the arrays. */
size_t mpm_particles_bytes(const mpm_particles *particles);
