/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "integrate/dispatch.h"
#include "integrate/sph_state.h"

#define FOR_VARIANTS(X, isa) X(isa, float2) X(isa, float3) X(isa, double2) X(isa, double3)
#define DECLARE(isa, variant) extern const mpm_sph_kernels mpm_sph_table_##isa##_##variant;
#define ADDRESS(isa, variant) &mpm_sph_table_##isa##_##variant,

#ifndef MPM_LAWS_ONLY /* a build without steps */
#ifdef MPM_WITH_SCALAR
FOR_VARIANTS(DECLARE, scalar)
#endif
#ifdef MPM_WITH_PORTABLE
FOR_VARIANTS(DECLARE, portable)
#endif
#ifdef MPM_WITH_AVX2
FOR_VARIANTS(DECLARE, avx2)
#endif
#ifdef MPM_WITH_AVX512
FOR_VARIANTS(DECLARE, avx512)
#endif
#endif

static const mpm_sph_kernels *const tables[] = {
#ifndef MPM_LAWS_ONLY
#ifdef MPM_WITH_SCALAR
    FOR_VARIANTS(ADDRESS, scalar)
#endif
#ifdef MPM_WITH_PORTABLE
    FOR_VARIANTS(ADDRESS, portable)
#endif
#ifdef MPM_WITH_AVX2
    FOR_VARIANTS(ADDRESS, avx2)
#endif
#ifdef MPM_WITH_AVX512
    FOR_VARIANTS(ADDRESS, avx512)
#endif
#endif
    NULL};

const mpm_sph_kernels *mpm_sph_dispatch_kernels(const char *isa, int dim, size_t real_size)
{
    const mpm_kernels *chosen = mpm_dispatch_kernels(isa, dim, real_size); /* that this processor can run */
    for (const mpm_sph_kernels *const *table = tables; chosen && *table; table++)
        if (!strcmp((*table)->isa, chosen->isa) && (*table)->dim == dim && (*table)->real_size == real_size)
            return *table;
    return NULL;
}
