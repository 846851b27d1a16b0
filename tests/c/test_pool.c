/* SPDX-License-Identifier: MIT */
/* sources: base/pool.c base/memory.c */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__has_feature)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

enum { MANY = 1000 };

static mpm_pool *start(int threads)
{
    const mpm_allocator allocator = mpm_memory_default();
    mpm_pool *pool;
    assert(mpm_pool_start(&pool, &allocator, threads) == MPM_OK);
    assert(mpm_pool_threads(pool) == (threads < 1 ? 1 : threads));
    return pool;
}

struct tally {
    int visits[MANY]; /* not atomic, so that the sanitizer detects an item that two threads take */
    int threads;
    ptrdiff_t items;
};

static void visit(void *context, ptrdiff_t item, int thread)
{
    struct tally *tally = context;
    assert(item >= 0 && item < tally->items && thread >= 0 && thread < tally->threads);
    tally->visits[item]++;
}

static void every_item_is_taken_exactly_once(void)
{
    const ptrdiff_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 64, MANY, -5};
    for (int threads = 1; threads <= 8; threads++) {
        mpm_pool *pool = start(threads);
        struct tally *tally = calloc(1, sizeof *tally);
        tally->threads = threads;
        for (int round = 0; round < 300; round++) {
            tally->items = sizes[round % 10];
            memset(tally->visits, 0, sizeof tally->visits);
            mpm_pool_for(pool, visit, tally, tally->items);
            for (ptrdiff_t i = 0; i < MANY; i++)
                assert(tally->visits[i] == (i < tally->items));
        }
        free(tally);
        mpm_pool_stop(pool);
    }
}

/* Each loop reads what the previous loop wrote: the end of a loop orders memory, without atomics in the items. */
static void add_neighbour(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    long(*buffers)[2][64] = context;
    (*buffers)[1][item] = (*buffers)[0][(item + 1) % 64] + 1;
}

static void loops_are_ordered(void)
{
    mpm_pool *pool = start(4);
    long buffers[2][64] = {{0}};
    for (int round = 0; round < 2000; round++) {
        mpm_pool_for(pool, add_neighbour, &buffers, 64);
        memcpy(buffers[0], buffers[1], sizeof buffers[0]);
    }
    for (int i = 0; i < 64; i++)
        assert(buffers[0][i] == 2000);
    mpm_pool_stop(pool);
}

struct shares {
    ptrdiff_t items;
    int threads, first[8]; /* by thread: 1 + the item that it took first */
    atomic_int here, done;
};

/* The first item of a thread waits until every thread has one, and item 0 until all others are done. */
static void share_item(void *context, ptrdiff_t item, int thread)
{
    struct shares *shares = context;
    if (!shares->first[thread]) {
        shares->first[thread] = 1 + (int)item;
        atomic_fetch_add(&shares->here, 1);
        while (atomic_load(&shares->here) < shares->threads)
            usleep(10);
    }
    while (item == 0 && atomic_load(&shares->done) < shares->items - 1)
        usleep(10);
    atomic_fetch_add(&shares->done, 1);
}

static void threads_begin_with_their_shares_and_help_the_others(void)
{
    for (int threads = 2; threads <= 8; threads += 3) {
        mpm_pool *pool = start(threads);
        for (ptrdiff_t items = threads; items < 30; items += 7) {
            struct shares shares = {.items = items, .threads = threads};
            mpm_pool_for(pool, share_item, &shares, items);
            int begin = 0;
            for (int t = 0; t < threads; t++) {
                assert(shares.first[t] == 1 + begin);
                begin += (int)(items / threads) + (t < items % threads);
            }
            assert(shares.done == items);
        }
        mpm_pool_stop(pool);
    }
}

static void busy_item(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    atomic_int *sum = context;
    if (item == 1)
        usleep(3000); /* long enough for all other threads to park, including the caller */
    atomic_fetch_add(sum, 1);
}

static void parked_threads_wake_up(void)
{
    mpm_pool *pool = start(3);
    atomic_int sum = 0;
    for (int round = 0; round < 20; round++) {
        usleep(round % 2 ? 0 : 3000); /* workers park while the caller is away */
        mpm_pool_for(pool, busy_item, &sum, 6);
    }
    assert(sum == 20 * 6);
    usleep(3000);
    mpm_pool_stop(pool); /* stops parked workers as well */
    for (int k = 0; k < 50; k++) {
        pool = start(4); /* and workers that have only just started */
        mpm_pool_stop(pool);
    }
}

static void nest(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    int(*sums)[4] = context;
    mpm_pool *inner = start(2); /* a separate pool inside an item */
    struct tally tally = {.threads = 2, .items = 100};
    mpm_pool_for(inner, visit, &tally, 100);
    for (int i = 0; i < 100; i++)
        (*sums)[item] += tally.visits[i];
    mpm_pool_stop(inner);
}

static void pools_nest(void)
{
    mpm_pool *a = start(3), *b = start(2);
    int sums[4] = {0};
    mpm_pool_for(a, nest, &sums, 4);
    for (int i = 0; i < 4; i++)
        assert(sums[i] == 100);
    mpm_pool_stop(a); /* in the order of their start, because they are independent */
    struct tally tally = {.threads = 2, .items = 5};
    mpm_pool_for(b, visit, &tally, 5);
    assert(tally.visits[4] == 1);
    mpm_pool_stop(b);
    mpm_pool_stop(NULL);
    mpm_pool_stop(start(0));
    mpm_pool_stop(start(-3));
}

#if defined(__x86_64__)
static void record_mode(void *context, ptrdiff_t item, int thread)
{
    (void)thread;
    unsigned *modes = context;
    volatile double zero = 0, one = 1;
    volatile double infinity = one / zero; /* raises a sticky flag, which must not reach the caller */
    (void)infinity;
    modes[item] = _mm_getcsr() & ~0x3fu;
}

static void floating_point_state_is_ours_inside_and_the_callers_after(void)
{
    const unsigned saved = _mm_getcsr();
    for (int threads = 1; threads <= 3; threads += 2) {
        mpm_pool *pool = start(threads);
        for (int items = 1; items <= 64; items += 63) {
            const unsigned mine = (saved & ~0x6000u) | 0x4000; /* rounds up, no flag set */
            _mm_setcsr(mine & ~0x3fu);
            unsigned modes[64];
            mpm_pool_for(pool, record_mode, modes, items);
            assert(_mm_getcsr() == (mine & ~0x3fu));
            for (int i = 0; i < items; i++)
                assert(modes[i] == 0x9fc0); /* nearest, FTZ, DAZ, everything masked */
        }
        mpm_pool_stop(pool);
        assert((_mm_getcsr() & 0x6000) == 0x4000);
    }
    _mm_setcsr(saved);
}
#else
static void floating_point_state_is_ours_inside_and_the_callers_after(void) {}
#endif

static void record_mask(void *context, ptrdiff_t item, int thread)
{
    sigset_t *masks = context;
    usleep(200);
    if (thread)
        pthread_sigmask(SIG_SETMASK, NULL, &masks[item]);
}

static void workers_block_the_signals_of_others(void)
{
    sigset_t before, after, masks[64];
    memset(masks, 0, sizeof masks);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    mpm_pool *pool = start(3);
    mpm_pool_for(pool, record_mask, masks, 64);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert(sigismember(&before, SIGINT) == sigismember(&after, SIGINT) && !sigismember(&after, SIGSEGV));
    int seen = 0;
    for (int i = 0; i < 64; i++)
        if (sigismember(&masks[i], SIGINT) == 1) {
            seen++;
            assert(sigismember(&masks[i], SIGTERM) == 1 && sigismember(&masks[i], SIGALRM) == 1);
            assert(!sigismember(&masks[i], SIGSEGV) && !sigismember(&masks[i], SIGABRT));
        }
    assert(seen > 0);
    mpm_pool_stop(pool);
}

/* A forked child has the pool but none of its workers: it works alone and can stop the pool. */
static void a_forked_child_neither_hangs_nor_crashes(void)
{
    if (UNDER_TSAN) /* which does not support threads in a child */
        return;
    for (int k = 0; k < 8; k++) {
        mpm_pool *pool = start(3);
        struct tally tally = {.threads = 3, .items = 50};
        mpm_pool_for(pool, visit, &tally, 50);
        usleep(k % 2 ? 3000 : 0); /* workers parked, or spinning */
        const pid_t child = fork();
        assert(child >= 0);
        if (!child) {
            alarm(20);
            mpm_pool_for(pool, visit, &tally, 50);
            int whole = 1;
            for (int i = 0; i < 50; i++)
                whole &= tally.visits[i] == 2;
            mpm_pool_stop(pool);
            pool = start(2);
            mpm_pool_for(pool, visit, &tally, 50);
            mpm_pool_stop(pool);
            _exit(whole && tally.visits[49] == 3 ? 0 : 1);
        }
        int status;
        assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        mpm_pool_for(pool, visit, &tally, 50); /* the parent's pool still works */
        assert(tally.visits[0] == 2);
        mpm_pool_stop(pool);
    }
}

/* Two callers, two pools, at once. */
static void *run_alone(void *argument)
{
    struct tally *tally = argument;
    mpm_pool *pool = start(2);
    for (int round = 0; round < 500; round++)
        mpm_pool_for(pool, visit, tally, tally->items);
    mpm_pool_stop(pool);
    return NULL;
}

static void pools_do_not_meet(void)
{
    struct tally tallies[2] = {{.threads = 2, .items = 17}, {.threads = 2, .items = 4}};
    pthread_t other;
    assert(!pthread_create(&other, NULL, run_alone, &tallies[0]));
    run_alone(&tallies[1]);
    assert(!pthread_join(other, NULL));
    assert(tallies[0].visits[16] == 500 && tallies[1].visits[3] == 500 && tallies[1].visits[4] == 0);
}

int main(void)
{
    every_item_is_taken_exactly_once();
    loops_are_ordered();
    threads_begin_with_their_shares_and_help_the_others();
    parked_threads_wake_up();
    pools_nest();
    floating_point_state_is_ours_inside_and_the_callers_after();
    workers_block_the_signals_of_others();
    a_forked_child_neither_hangs_nor_crashes();
    pools_do_not_meet();
    return 0;
}
