/* SPDX-License-Identifier: MIT
 *
 * A hash table from block coordinates, with a material or a layer, to an index. Its cost grows with the number of
 * occupied blocks, not with the size of the domain.
 */
#pragma once
#include <stdint.h>

#include "base/memory.h"

enum { MPM_BLOCK_MAP_RECENT = 512 };

typedef struct mpm_block_key {
    int32_t block[3];
    int32_t kind; /* of a group: its material; of a block of nodes: its layer */
} mpm_block_key;

typedef struct mpm_block_map {
    mpm_allocator allocator;
    mpm_block_key *keys; /* by index, in order of insertion */
    size_t count, capacity;
    int32_t *slots; /* open addressing; -1: free */
    size_t slot_count;
    int32_t recent[MPM_BLOCK_MAP_RECENT]; /* indices found last, by the low bits of coordinates: groups along the curve
                                           * ask for the same blocks again and again */
} mpm_block_map;

/** An empty map. Clear it when done. */
mpm_block_map mpm_block_map_empty(const mpm_allocator *allocator);

/** Index of `key`, inserted if new; -1: out of memory (the map is unchanged). */
int32_t mpm_block_map_insert(mpm_block_map *map, mpm_block_key key);

/** The key of neighbour `k` of a block: offsets of -1, 0 or 1 along every axis, x slowest. */
static inline mpm_block_key mpm_block_map_neighbour(const int32_t block[3], int32_t kind, int dim, int k)
{
    if (dim == 2)
        return (mpm_block_key){{block[0] + k / 3 - 1, block[1] + k % 3 - 1, block[2]}, kind};
    return (mpm_block_key){{block[0] + k / 9 - 1, block[1] + k / 3 % 3 - 1, block[2] + k % 3 - 1}, kind};
}

/** The order of blocks along Morton's Z-curve (Morton 1966): blocks that follow each other are near each other along
 *  all axes, so that a range of them has a small surface. Of keys: block, then kind. */
int mpm_block_map_compare_blocks(const int32_t a[3], const int32_t b[3]);
int mpm_block_map_compare(const void *a, const void *b);

void mpm_block_map_clear(mpm_block_map *map);
