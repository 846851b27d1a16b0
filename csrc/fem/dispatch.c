/* SPDX-License-Identifier: MIT */
#include "fem/dispatch.h"

#include "fem/state.h"
#include "run/variants.h"

#ifdef MPM_LAWS_ONLY /* a build without steps */
#define TABLES
#else
MPM_DECLARE_TABLES(mpm_fem_kernels, fem_table)
#define TABLES MPM_TABLES(fem_table)
#endif
static const mpm_fem_kernels *const tables[] = {TABLES NULL};

const mpm_fem_kernels *mpm_fem_dispatch_kernels(const char *isa, int dim, size_t real_size)
{
    const int variant = mpm_variants_find(isa, dim, real_size);
    return variant < 0 || !tables[0] ? NULL : tables[variant];
}
