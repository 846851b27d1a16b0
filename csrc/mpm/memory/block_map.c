/* SPDX-License-Identifier: MIT */
#include "mpm/memory/block_map.h"

#include <stdbool.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

mpm_block_map mpm_block_map_empty(const mpm_allocator *allocator)
{
    return (mpm_block_map){.allocator = *allocator};
}

static size_t hash(mpm_block_key key)
{
    uint64_t h = (uint32_t)key.block[0];
    h = (h ^ (h >> 29)) * 0x9e3779b97f4a7c15u + (uint32_t)key.block[1];
    h = (h ^ (h >> 31)) * 0x9e3779b97f4a7c15u + (uint32_t)key.block[2];
    h = (h ^ (h >> 30)) * 0x9e3779b97f4a7c15u + (uint32_t)key.kind;
    h = (h ^ (h >> 32)) * 0x9e3779b97f4a7c15u;
    return (size_t)(h ^ (h >> 32));
}

static int32_t *find(const mpm_block_map *map, mpm_block_key key)
{
    size_t at = hash(key) & (map->slot_count - 1); /* slot_count is a power of two */
    for (;; at = (at + 1) & (map->slot_count - 1)) {
        int32_t index = map->slots[at];
        if (index < 0 || !memcmp(&map->keys[index], &key, sizeof key))
            return &map->slots[at];
    }
}

static int grow_slots(mpm_block_map *map)
{
    size_t wanted = map->slot_count ? 2 * map->slot_count : FIRST_SLOTS;
    int32_t *slots = mpm_memory_new(&map->allocator, wanted, sizeof *slots);
    if (!slots)
        return -1;
    memset(slots, 0xff, wanted * sizeof *slots);
    mpm_memory_free(&map->allocator, map->slots);
    map->slots = slots;
    map->slot_count = wanted;
    for (size_t i = 0; i < map->count; i++)
        *find(map, map->keys[i]) = (int32_t)i;
    return 0;
}

/* memcmp would wait until the numbers of a new key have left the registers. */
static bool is_key(const mpm_block_key *a, mpm_block_key b)
{
    return a->block[0] == b.block[0] && a->block[1] == b.block[1] && a->block[2] == b.block[2] && a->kind == b.kind;
}

/* Where the index of `key` is kept if it was found last. */
static int32_t *recent_index(mpm_block_map *map, mpm_block_key key)
{
    const uint32_t x = (uint32_t)key.block[0], y = (uint32_t)key.block[1], z = (uint32_t)(key.block[2] ^ key.kind);
    return &map->recent[(x & 7) << 6 | (y & 7) << 3 | (z & 7)];
}

int32_t mpm_block_map_insert(mpm_block_map *map, mpm_block_key key)
{
    int32_t *recent = recent_index(map, key);
    if ((size_t)*recent < map->count && is_key(&map->keys[*recent], key))
        return *recent;
    if (2 * map->count >= map->slot_count && grow_slots(map))
        return -1;
    int32_t *slot = find(map, key);
    if (*slot >= 0)
        return *recent = *slot;
    if (map->count >= INT32_MAX || mpm_memory_grow(&map->allocator, (void **)&map->keys, &map->capacity, map->count,
                                                   map->count + 1, sizeof *map->keys))
        return -1;
    map->keys[map->count] = key;
    *slot = (int32_t)map->count;
    *recent = *slot;
    return (int32_t)map->count++;
}

/* The curve interleaves the bits of the coordinates, so the axis whose coordinates differ in the highest bit decides,
 * and of two such axes the first. Negative coordinates come before the others. */
int mpm_block_map_compare_blocks(const int32_t a[3], const int32_t b[3])
{
    uint32_t most = 0;
    int axis = -1;
    for (int k = 0; k < 3; k++) {
        const uint32_t differs = (uint32_t)a[k] ^ (uint32_t)b[k];
        if (most < differs && most < (most ^ differs)) /* the highest bit of `differs` is higher */
            most = differs, axis = k;
    }
    return axis < 0 ? 0 : a[axis] < b[axis] ? -1 : 1;
}

int mpm_block_map_compare(const void *a, const void *b)
{
    const mpm_block_key *p = a, *q = b;
    const int order = mpm_block_map_compare_blocks(p->block, q->block);
    return order ? order : (p->kind > q->kind) - (p->kind < q->kind);
}

void mpm_block_map_clear(mpm_block_map *map)
{
    mpm_memory_free(&map->allocator, map->keys);
    mpm_memory_free(&map->allocator, map->slots);
    *map = mpm_block_map_empty(&map->allocator);
}
