/* SPDX-License-Identifier: MIT */
#include "integrate/dispatch.h"

#include <string.h>

#include "integrate/variants.h"

MPM_DECLARE_TABLES(mpm_kernels, kernel_table)
static const mpm_kernels *const tables[] = {MPM_TABLES(kernel_table)};

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

int mpm_dispatch_variant(const char *isa, int dim, size_t real_size)
{
    int found = -1;
    for (int i = 0; i < (int)(sizeof tables / sizeof *tables); i++) /* the fastest come last */
        if ((!isa || !strcmp(tables[i]->isa, isa)) && tables[i]->dim == dim && tables[i]->real_size == real_size &&
            can_run(tables[i]->isa))
            found = i;
    return found;
}

const mpm_kernels *mpm_dispatch_kernels(const char *isa, int dim, size_t real_size)
{
    const int variant = mpm_dispatch_variant(isa, dim, real_size);
    return variant < 0 ? NULL : tables[variant];
}

const char *mpm_dispatch_isa(int index)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i += 4) /* four variants each */
        if (can_run(tables[i]->isa) && index-- == 0)
            return tables[i]->isa;
    return NULL;
}
