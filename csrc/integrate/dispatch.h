/* SPDX-License-Identifier: MIT
 *
 * The kernels in this build, and which of them this processor can run.
 */
#pragma once
#include "transfer/kernels.h"

/** The variant of the kernels of all methods (variants.h) for `isa`, as below; -1: none. */
int mpm_dispatch_variant(const char *isa, int dim, size_t real_size);

/** The kernels of `isa` ("scalar", "portable", "avx2", "avx512"; NULL: the fastest), or NULL if there are none or this
 *  processor cannot run them. `real_size` 4 or 8. */
const mpm_kernels *mpm_dispatch_kernels(const char *isa, int dim, size_t real_size);

/** Name of the `index`-th usable instruction set, slowest first; NULL past the last. */
const char *mpm_dispatch_isa(int index);
