/* SPDX-License-Identifier: MIT
 *
 * A team of threads of one process, each with a simulation of its own, for tests: messages are copies.
 */
#pragma once
#include "base/memory.h"
#include "ranks/team.h"

typedef struct mpm_threads mpm_threads;

/** Makes the transports of `processes` threads. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT below 1. */
mpm_status mpm_threads_new(mpm_threads **threads, const mpm_allocator *allocator, int32_t processes);

/** The transport of one of them. */
mpm_transport mpm_threads_transport(mpm_threads *threads, int32_t process);

/** Ends all calls that wait now or later with MPM_INTERRUPTED, as after the death of a process. */
void mpm_threads_break(mpm_threads *threads);

/** No thread may be in a call. NULL is allowed. */
void mpm_threads_free(mpm_threads *threads);
