/* SPDX-License-Identifier: MIT */
/* sources: base/memory.c */
/* The pool when the system refuses memory or threads: this includes its source, with replaced system calls. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static int threads_left;

static int scarce_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    return threads_left-- > 0 ? pthread_create(thread, attributes, run, argument) : EAGAIN;
}

#define pthread_create scarce_create
#include "../../csrc/base/pool.c"
#undef pthread_create

static long calls, live, fail_at;

static void *scarce_allocate(void *user, size_t bytes)
{
    if (++calls == fail_at)
        return NULL;
    live++;
    return mpm_memory_default().allocate(user, bytes);
}

static void count_release(void *user, void *memory)
{
    live--;
    mpm_memory_default().release(user, memory);
}

static void count(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    ((int *)context)[item]++;
}

int main(void)
{
    const mpm_allocator allocator = {scarce_allocate, count_release, NULL};
    mpm_pool *pool;
    for (int granted = 0; granted < 5; granted++) {
        threads_left = granted;
        assert(mpm_pool_start(&pool, &allocator, 6) == MPM_OK);
        assert(mpm_pool_threads(pool) == granted + 1);
        int visits[100] = {0};
        for (int round = 0; round < 100; round++)
            mpm_pool_for(pool, count, visits, 100);
        for (int i = 0; i < 100; i++)
            assert(visits[i] == 100);
        mpm_pool_stop(pool);
        assert(live == 0);
    }
    threads_left = 100;
    for (fail_at = 1;; fail_at++) {
        calls = 0;
        if (mpm_pool_start(&pool, &allocator, 4) == MPM_OK)
            break;
        assert(!pool && live == 0);
    }
    assert(fail_at > 1);
    mpm_pool_stop(pool);
    assert(live == 0);
    return 0;
}
