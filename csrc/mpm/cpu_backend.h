/* SPDX-License-Identifier: MIT
 *
 * The back end that runs kernels on the threads of a pool, in the memory of the host: to map a piece is to hand out the
 * pointer.
 */
#pragma once
#include "mpm/backend.h"

/** `loop` calls the items: mpm_pool_for. Errors: MPM_OUT_OF_MEMORY, and `*backend` is NULL. */
mpm_status mpm_cpu_backend_new(mpm_backend **backend, const mpm_allocator *allocator, const mpm_kernels *kernels,
                               mpm_binning_loop loop);
