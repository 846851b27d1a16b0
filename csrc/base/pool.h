/* SPDX-License-Identifier: MIT
 *
 * A pool of POSIX threads that lives for one run: started before the first step, ended after the last, so that
 * between runs the process has no thread of ours (fork is safe, and Python has nothing to warn about).
 */
#pragma once
#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct mpm_pool mpm_pool;

/** One piece of work: item `item` of a loop, on thread `thread` (0 is the caller). */
typedef void (*mpm_pool_item)(void *context, ptrdiff_t item, int thread);

/** Starts `threads - 1` workers beside the caller; fewer if the system has no more to give. Workers block all
 *  signals and flush denormals to zero; the caller's floating-point state is saved and set alike until
 *  `mpm_pool_stop`. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_pool_start(mpm_pool **pool, const mpm_allocator *allocator, int threads);

/** Calls `item(context, i, thread)` once for every i in [0, items), in any order, and returns when all are done.
 *  Whatever the items write must not depend on the thread. */
void mpm_pool_for(mpm_pool *pool, mpm_pool_item item, void *context, ptrdiff_t items);

/** Threads that work, the caller among them. */
int mpm_pool_threads(const mpm_pool *pool);

/** Ends the workers, restores the caller's floating-point state and frees the pool. NULL is allowed. */
void mpm_pool_stop(mpm_pool *pool);
