/* SPDX-License-Identifier: MIT
 *
 * The kernels of SPH in this build, and which of them this processor can run.
 */
#pragma once
#include "sph/state.h"

const mpm_sph_kernels *mpm_sph_dispatch_kernels(const char *isa, int dim, size_t real_size);
