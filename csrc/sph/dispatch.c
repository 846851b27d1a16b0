/* SPDX-License-Identifier: MIT */
#include "sph/dispatch.h"

#include "run/variants.h"
#include "sph/state.h"

#ifdef MPM_LAWS_ONLY /* a build without steps */
#define TABLES
#else
MPM_DECLARE_TABLES(mpm_sph_kernels, sph_table)
#define TABLES MPM_TABLES(sph_table)
#endif
static const mpm_sph_kernels *const tables[] = {TABLES NULL};

const mpm_sph_kernels *mpm_sph_dispatch_kernels(const char *isa, int dim, size_t real_size)
{
    const int variant = mpm_variants_find(isa, dim, real_size);
    return variant < 0 || !tables[0] ? NULL : tables[variant];
}
