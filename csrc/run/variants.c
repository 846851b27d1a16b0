/* SPDX-License-Identifier: MIT */
#include "run/variants.h"

#include <stdbool.h>
#include <string.h>

#define NAME(isa, unused) #isa,
static const char *const isas[] = {MPM_FOR_ISAS(NAME, )}; /* the fastest come last */
enum { ISAS = sizeof isas / sizeof *isas };

static bool can_run(const char *isa)
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
    return true;
}

int mpm_variants_find(const char *isa, int dim, size_t real_size)
{
    if ((dim != 2 && dim != 3) || (real_size != sizeof(float) && real_size != sizeof(double)))
        return -1;
    const int variant = (real_size == sizeof(double) ? 2 : 0) + dim - 2;
    for (int i = ISAS - 1; i >= 0; i--)
        if ((!isa || !strcmp(isas[i], isa)) && can_run(isas[i]))
            return 4 * i + variant;
    return -1;
}

const char *mpm_variants_isa(int index)
{
    for (int i = 0; i < ISAS; i++)
        if (can_run(isas[i]) && index-- == 0)
            return isas[i];
    return NULL;
}
