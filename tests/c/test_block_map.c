/* SPDX-License-Identifier: MIT */
/* sources: mpm/memory/block_map.c base/memory.c */
/* The order of blocks, and the table that finds them. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "mpm/memory/block_map.h"
#include "random.h"

/* The place on the curve: the bits of the coordinates in turn, x first, as digits in base 8. */
static void place_of(const int32_t block[3], unsigned char digits[32])
{
    for (int bit = 31; bit >= 0; bit--) {
        unsigned digit = 0;
        for (int a = 0; a < 3; a++)
            digit = digit << 1 | (((uint32_t)block[a] ^ 0x80000000u) >> bit & 1);
        digits[31 - bit] = (unsigned char)digit;
    }
}

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

static void blocks_follow_the_curve(void)
{
    for (int i = 0; i < 100000; i++) {
        int32_t a[3], b[3];
        unsigned char of_a[32], of_b[32];
        const int bits = i % 32; /* small coordinates, and the largest */
        for (int k = 0; k < 3; k++) {
            a[k] = (int32_t)((int64_t)(random_bits() >> 32) >> bits) * (random_bits() & 1 ? 1 : -1);
            b[k] = random_bits() & 1 ? a[k] : (int32_t)((int64_t)(random_bits() >> 32) >> bits);
        }
        place_of(a, of_a);
        place_of(b, of_b);
        assert(sign(mpm_block_map_compare_blocks(a, b)) == sign(memcmp(of_a, of_b, sizeof of_a)));
    }
    /* in a range of a power of two the curve ends one cube before it begins the next */
    const int32_t in_cube[3] = {3, 3, 3}, next[3] = {0, 0, 4}, outside[3] = {-1, 3, 3};
    assert(mpm_block_map_compare_blocks(in_cube, next) < 0 && mpm_block_map_compare_blocks(outside, in_cube) < 0);
}

static void keys_are_found(void)
{
    enum { KEYS = 5000 };
    const mpm_allocator allocator = mpm_memory_default();
    mpm_block_map map = mpm_block_map_empty(&allocator);
    for (int round = 0; round < 2; round++)
        for (int32_t i = 0; i < KEYS; i++) {
            const mpm_block_key key = {{i / 2 % 17 - 3, i / 34 % 19, i / 646 - 5}, i % 2 * 8};
            const int32_t at = mpm_block_map_insert(&map, key);
            assert(at == i && !memcmp(&map.keys[at], &key, sizeof key));
        }
    assert(map.count == KEYS);
    mpm_block_map_clear(&map);
}

int main(void)
{
    blocks_follow_the_curve();
    keys_are_found();
    return 0;
}
