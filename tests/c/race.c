/* SPDX-License-Identifier: MIT */
/* sources: base/pool.c base/memory.c */
/* Not a test but a control: two items write to one address, which the thread sanitizer must report. */
#include "check.h"

#include <unistd.h>

#include "base/pool.h"

static void write_one_place(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    usleep(2000); /* makes the writes overlap; the sanitizer misses a race that the schedule happens to order */
    *(ptrdiff_t *)context = item;
}

int main(void)
{
    const mpm_allocator allocator = mpm_memory_default();
    mpm_pool *pool;
    ptrdiff_t place = 0;
    assert(mpm_pool_start(&pool, &allocator, 4) == MPM_OK);
    for (int round = 0; round < 10; round++)
        mpm_pool_for(pool, write_one_place, &place, 8);
    mpm_pool_stop(pool);
    return 0;
}
