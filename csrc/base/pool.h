/* SPDX-License-Identifier: MIT
 *
 * A pool of POSIX threads that lives for one run: it starts before the first step and ends after the last. Between runs
 * the process has no thread of ours, so fork is safe and Python does not warn.
 */
#pragma once
#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct mpm_pool mpm_pool;

/** One piece of work: item `item` of a loop, on thread `thread` (0 is the caller). */
typedef void (*mpm_pool_item)(void *context, ptrdiff_t item, int thread);

/** Starts `threads - 1` workers beside the caller (below 1 counts as 1), or fewer if the system refuses more. Workers
 *  block every signal except faults of their own. Errors: MPM_OUT_OF_MEMORY, and `*pool` is NULL. */
mpm_status mpm_pool_start(mpm_pool **pool, const mpm_allocator *allocator, int threads);

/** Calls `item(context, i, thread)` once for every i in [0, items), in any order, and returns when all are done; no
 *  call if `items` <= 0. What items write must not depend on the thread. On x86, items run with round-to-nearest and
 *  flushed denormals; the caller's floating-point state is restored on return. One loop at a time, never from inside an
 *  item, and only from the thread that started the pool. In a forked child all items run on the caller. */
void mpm_pool_for(mpm_pool *pool, mpm_pool_item item, void *context, ptrdiff_t items);

/** The number of threads, including the caller. */
int mpm_pool_threads(const mpm_pool *pool);

/** Ends the workers and frees the pool. NULL is allowed. */
void mpm_pool_stop(mpm_pool *pool);
