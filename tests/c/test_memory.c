/* SPDX-License-Identifier: MIT */
/* sources: base/memory.c */
#include "check.h"
#include "ledger.h"

#include <stdint.h>

static void is_zeroed_aligned_and_whole_lines(const mpm_allocator *allocator, const struct ledger *ledger)
{
    for (size_t count = 0; count < 200; count++) {
        unsigned char *memory = mpm_memory_new(allocator, count, 3);
        assert(memory && (uintptr_t)memory % 64 == 0);
        assert(ledger->last_bytes % 64 == 0 && ledger->last_bytes >= 3 * count && ledger->last_bytes > 0);
        for (size_t i = 0; i < 3 * count; i++)
            assert(memory[i] == 0);
        memset(memory, 1, 3 * count); /* the sanitizer checks the end */
        mpm_memory_free(allocator, memory);
    }
}

static void may_be_left_unset(const mpm_allocator *allocator, const struct ledger *ledger)
{
    unsigned char *memory = mpm_memory_new_unset(allocator, 7, 3);
    assert(memory && (uintptr_t)memory % 64 == 0 && ledger->last_bytes == 64);
    assert(memory[0] == 0xa5 && memory[63] == 0xa5);
    mpm_memory_free(allocator, memory);
}

static void refuses_products_that_overflow(const mpm_allocator *allocator, const struct ledger *ledger)
{
    const size_t sizes[][2] = {
        {SIZE_MAX, 1},          {SIZE_MAX, 2},     {2, SIZE_MAX},     {SIZE_MAX, SIZE_MAX},
        {SIZE_MAX / 8 + 1, 8},  {SIZE_MAX / 2, 3}, {PTRDIFF_MAX, 1},  {PTRDIFF_MAX, 2},
        {(size_t)1 << 33, (size_t)1 << 33},        {(size_t)1 << 32, (size_t)1 << 32},
    };
    const long calls = ledger->calls;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert(!mpm_memory_new(allocator, sizes[i][0], sizes[i][1]));
        assert(!mpm_memory_new_unset(allocator, sizes[i][0], sizes[i][1]));
    }
    assert(ledger->calls == calls); /* the allocator never gets a wrapped size */
}

static void grows_by_half_and_keeps_what_was_used(const mpm_allocator *allocator, struct ledger *ledger)
{
    int *array = NULL;
    size_t capacity = 0;
    const long calls = ledger->calls;
    for (int used = 0; used < 10000; used++) {
        assert(!mpm_memory_grow(allocator, (void **)&array, &capacity, (size_t)used, (size_t)used + 1, sizeof *array));
        assert(capacity > (size_t)used && array[used] == 0);
        array[used] = used;
    }
    assert(ledger->calls - calls < 30);
    for (int i = 0; i < 10000; i++)
        assert(array[i] == i);

    int *const before = array; /* enough already: nothing moves */
    const size_t held = capacity;
    assert(!mpm_memory_grow(allocator, (void **)&array, &capacity, 10000, 5, sizeof *array));
    assert(array == before && capacity == held);

    ledger->fail_at = ledger->calls + 1; /* refused: nothing changes */
    assert(mpm_memory_grow(allocator, (void **)&array, &capacity, 10000, held + 1, sizeof *array) == -1);
    assert(array == before && capacity == held && array[9999] == 9999);
    ledger->fail_at = 0;
    assert(mpm_memory_grow(allocator, (void **)&array, &capacity, 10000, SIZE_MAX / 2, sizeof *array) == -1);
    assert(mpm_memory_grow(allocator, (void **)&array, &capacity, 10000, SIZE_MAX, sizeof *array) == -1);
    assert(array == before && capacity == held);
    mpm_memory_free(allocator, array);
}

int main(void)
{
    struct ledger ledger = {0};
    const mpm_allocator allocator = {count_allocate, count_release, &ledger};
    is_zeroed_aligned_and_whole_lines(&allocator, &ledger);
    may_be_left_unset(&allocator, &ledger);
    refuses_products_that_overflow(&allocator, &ledger);
    grows_by_half_and_keeps_what_was_used(&allocator, &ledger);

    ledger.fail_at = ledger.calls + 1;
    assert(!mpm_memory_new(&allocator, 1, 1));
    mpm_memory_free(&allocator, NULL);
    assert(ledger.live == 0);
    return 0;
}
