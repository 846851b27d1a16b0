/* SPDX-License-Identifier: MIT
 *
 * An allocator for tests in which any one allocation is refused: {count_allocate, count_release, &ledger}.
 */
#pragma once
#include "base/memory.h"

/* Counts live allocations, and refuses the allocation whose number is `fail_at`. */
struct ledger {
    long calls, live, fail_at;
};

static void *count_allocate(void *user, size_t bytes)
{
    struct ledger *ledger = user;
    if (++ledger->calls == ledger->fail_at)
        return NULL;
    ledger->live++;
    return mpm_memory_default().allocate(NULL, bytes);
}

static void count_release(void *user, void *memory)
{
    ((struct ledger *)user)->live--;
    mpm_memory_default().release(NULL, memory);
}
