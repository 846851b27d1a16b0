/* SPDX-License-Identifier: MIT */
#pragma once
#include "mpm/kernels/kernels.h"

/** The kernels of the variant that mpm_variants_find chooses; NULL if there is none. */
const mpm_kernels *mpm_dispatch_kernels(const char *isa, int dim, size_t real_size);
