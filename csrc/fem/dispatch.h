/* SPDX-License-Identifier: MIT
 *
 * The kernels of finite elements in this build, and which of them this processor can run.
 */
#pragma once
#include "fem/state.h"

const mpm_fem_kernels *mpm_fem_dispatch_kernels(const char *isa, int dim, size_t real_size);
