/* SPDX-License-Identifier: MIT
 *
 * An allocator for tests in which any one allocation is refused: {count_allocate, count_release, &ledger}.
 */
#pragma once
#include <string.h>

#include "base/memory.h"
#include "check.h"

/* Counts live allocations, and refuses the allocation whose number is `fail_at`. */
struct ledger {
    long calls, live, fail_at;
    size_t last_bytes;
};

static void *count_allocate(void *user, size_t bytes)
{
    struct ledger *ledger = user;
    ledger->last_bytes = bytes;
    if (++ledger->calls == ledger->fail_at)
        return NULL;
    void *memory = mpm_memory_default().allocate(NULL, bytes);
    assert(memory);
    memset(memory, 0xa5, bytes); /* so that zeroing is seen */
    ledger->live++;
    return memory;
}

static void count_release(void *user, void *memory)
{
    assert(memory);
    ((struct ledger *)user)->live--;
    mpm_memory_default().release(NULL, memory);
}
