/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define RELAX() _mm_pause()
#else
#define RELAX() ((void)0)
#endif

/* Long enough to bridge the serial part of a step (a few microseconds), short enough not to disturb other programs. */
enum { SPINS = 2000 };

/* Fixed, because some C libraries give a thread only 128 KiB, and `ulimit -s` must not matter. */
enum { STACK_BYTES = 2 << 20 };

struct worker {
    mpm_pool *pool;
    pthread_t handle;
    int thread;
};

/* The items next .. end - 1 of a loop, which one thread takes first. Two threads never write to one cache line. */
struct share {
    _Alignas(64) atomic_ptrdiff_t next;
    ptrdiff_t end;
};

struct mpm_pool {
    mpm_allocator allocator;
    struct worker *workers;
    struct share *shares; /* by thread */
    int threads;
    pid_t owner; /* a forked child inherits the pool but not its workers */

    /* The current loop: written by the caller before `round` is raised. */
    mpm_pool_item item;
    void *context;

    atomic_uint round;   /* raised once per loop, and once to stop */
    atomic_int working;  /* workers that have not finished the current round */
    atomic_bool stopping;

    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_int sleepers;      /* workers parked on `wake` */
    atomic_bool caller_sleeps; /* caller parked on `done` */
};

/* On x86, items run with round-to-nearest, all exceptions masked and denormals flushed to zero, whatever the caller has
 * set; elsewhere they run with the thread's initial settings. */
static unsigned enter_kernel_mode(void)
{
#if defined(__x86_64__)
    unsigned saved = _mm_getcsr();
    _mm_setcsr(0x1f80 | 0x8040); /* defaults, FTZ and DAZ */
    return saved;
#else
    return 0;
#endif
}

static void leave_kernel_mode(unsigned saved)
{
#if defined(__x86_64__)
    _mm_setcsr(saved);
#else
    (void)saved;
#endif
}

/* Every thread gets as many consecutive items as any other: in the next loop of the same kind it finds in its caches
 * what it left there, on its socket what it touched first, and few results of other threads beside its own. */
static void share_out(mpm_pool *pool, ptrdiff_t items)
{
    ptrdiff_t first = 0;
    for (int t = 0; t < pool->threads; t++) {
        atomic_store_explicit(&pool->shares[t].next, first, memory_order_relaxed);
        first += items / pool->threads + (t < items % pool->threads);
        pool->shares[t].end = first;
    }
}

/* Its own share first, then what others have left of theirs. The counters may be relaxed: `round` publishes what an
 * item may read, and `working` publishes what it wrote. */
static void take_items(mpm_pool *pool, int thread)
{
    mpm_pool_item item = pool->item;
    void *context = pool->context;
    for (int k = 0; k < pool->threads; k++) {
        struct share *share = &pool->shares[(thread + k) % pool->threads];
        while (atomic_load_explicit(&share->next, memory_order_relaxed) < share->end) {
            const ptrdiff_t i = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
            if (i < share->end)
                item(context, i, thread);
        }
    }
}

/* No wake-up is lost. The worker adds itself to `sleepers` before it reads `round` a last time, and the caller raises
 * `round` before it reads `sleepers`. These four accesses are sequentially consistent, so at least one thread sees the
 * other's. `await_workers` and the end of a round do the same with `caller_sleeps`. */
static void await_round(mpm_pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&pool->round) != seen)
            return;
        RELAX();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->round) == seen)
        pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    mpm_pool *pool = worker->pool;
    enter_kernel_mode();
    for (unsigned seen = 0;; seen++) {
        await_round(pool, seen);
        if (atomic_load(&pool->stopping))
            return NULL;
        take_items(pool, worker->thread);
        if (atomic_fetch_sub(&pool->working, 1) == 1 && atomic_load(&pool->caller_sleeps)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

static void raise_round(mpm_pool *pool)
{
    atomic_fetch_add(&pool->round, 1);
    if (atomic_load(&pool->sleepers)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void await_workers(mpm_pool *pool)
{
    for (int i = 0; i < SPINS; i++) {
        if (!atomic_load(&pool->working))
            return;
        RELAX();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true);
    while (atomic_load(&pool->working))
        pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->lock);
}

/* Workers block signals, so that the interpreter's main thread gets them. Synchronous signals (faults) stay unblocked:
 * otherwise they would end the process without the report of a crash handler. */
static sigset_t signals_of_others(void)
{
    sigset_t set;
    sigfillset(&set);
    const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&set, own[i]);
    return set;
}

static void start_workers(mpm_pool *pool, int threads)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes))
        return; /* fewer threads, the same bits */
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES); /* on failure the default will do */
    const sigset_t blocked = signals_of_others();
    sigset_t saved;
    pthread_sigmask(SIG_BLOCK, &blocked, &saved);
    for (int t = 1; t < threads; t++) {
        pool->workers[t] = (struct worker){.pool = pool, .thread = t};
        if (pthread_create(&pool->workers[t].handle, &attributes, work, &pool->workers[t]))
            break;
        pool->threads = t + 1;
    }
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    pthread_attr_destroy(&attributes);
}

mpm_status mpm_pool_start(mpm_pool **result, const mpm_allocator *allocator, int threads)
{
    *result = NULL;
    if (threads < 1)
        threads = 1;
    mpm_pool *pool = mpm_memory_new(allocator, 1, sizeof *pool);
    struct worker *workers = mpm_memory_new(allocator, (size_t)threads, sizeof *workers);
    struct share *shares = mpm_memory_new(allocator, (size_t)threads, sizeof *shares);
    if (!pool || !workers || !shares) {
        mpm_memory_free(allocator, shares);
        mpm_memory_free(allocator, workers);
        mpm_memory_free(allocator, pool);
        return MPM_OUT_OF_MEMORY;
    }
    pool->allocator = *allocator;
    pool->workers = workers;
    pool->shares = shares;
    pool->threads = 1;
    pool->owner = getpid();
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    if (threads > 1)
        start_workers(pool, threads);
    *result = pool;
    return MPM_OK;
}

void mpm_pool_for(mpm_pool *pool, mpm_pool_item item, void *context, ptrdiff_t items)
{
    unsigned saved = enter_kernel_mode();
    if (items <= 1 || pool->threads == 1 || pool->owner != getpid()) {
        for (ptrdiff_t i = 0; i < items; i++)
            item(context, i, 0);
    } else {
        pool->item = item;
        pool->context = context;
        share_out(pool, items);
        atomic_store(&pool->working, pool->threads - 1);
        raise_round(pool);
        take_items(pool, 0);
        await_workers(pool);
    }
    leave_kernel_mode(saved);
}

int mpm_pool_threads(const mpm_pool *pool)
{
    return pool->threads;
}

void mpm_pool_stop(mpm_pool *pool)
{
    if (!pool)
        return;
    /* A forked child has no workers to join, and lock and conditions are in an unknown state: free the memory only. */
    if (pool->owner == getpid()) {
        atomic_store(&pool->stopping, true);
        raise_round(pool);
        for (int t = 1; t < pool->threads; t++)
            pthread_join(pool->workers[t].handle, NULL);
        pthread_cond_destroy(&pool->done);
        pthread_cond_destroy(&pool->wake);
        pthread_mutex_destroy(&pool->lock);
    }
    mpm_allocator allocator = pool->allocator;
    mpm_memory_free(&allocator, pool->shares);
    mpm_memory_free(&allocator, pool->workers);
    mpm_memory_free(&allocator, pool);
}
