/* SPDX-License-Identifier: MIT */
#include "mpm/dispatch.h"

#include "run/variants.h"

MPM_DECLARE_TABLES(mpm_kernels, kernel_table)
static const mpm_kernels *const tables[] = {MPM_TABLES(kernel_table)};

const mpm_kernels *mpm_dispatch_kernels(const char *isa, int dim, size_t real_size)
{
    const int variant = mpm_variants_find(isa, dim, real_size);
    return variant < 0 ? NULL : tables[variant];
}
