/* SPDX-License-Identifier: MIT */
#include "integrate/dispatch.h"

#include <string.h>

#define FOR_VARIANTS(X, isa) X(isa, float2) X(isa, float3) X(isa, double2) X(isa, double3)
#define DECLARE(isa, variant) extern const mpm_kernels mpm_kernel_table_##isa##_##variant;
#define ADDRESS(isa, variant) &mpm_kernel_table_##isa##_##variant,

/* setup.py defines MPM_WITH_... for the instruction sets that it builds. */
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

static const mpm_kernels *const tables[] = {
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
};

static int can_run(const char *isa)
{
#if defined(MPM_WITH_AVX2) || defined(MPM_WITH_AVX512)
    __builtin_cpu_init();
    if (!strcmp(isa, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (!strcmp(isa, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#endif
    (void)isa;
    return 1;
}

const mpm_kernels *mpm_dispatch_kernels(const char *isa, int dim, size_t real_size)
{
    const mpm_kernels *found = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) /* the fastest come last */
        if ((!isa || !strcmp(tables[i]->isa, isa)) && tables[i]->dim == dim && tables[i]->real_size == real_size &&
            can_run(tables[i]->isa))
            found = tables[i];
    return found;
}

const char *mpm_dispatch_isa(int index)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i += 4) /* four variants each */
        if (can_run(tables[i]->isa) && index-- == 0)
            return tables[i]->isa;
    return NULL;
}
