/* SPDX-License-Identifier: MIT
 *
 * A C test is a program. Exit status 0 is a pass; SKIPPED means that it cannot run here. A comment line `sources: ...`
 * names the core's sources that it links. If it is compiled more than once, a line `variants: ... | ...` lists the
 * flags of each build. The framework is C's `assert`.
 */
#pragma once
#undef NDEBUG
#include <assert.h>
#include <stdbool.h>

enum { SKIPPED = 77 };

/* Does this processor have the instructions that the program was compiled for? */
static inline bool instructions_are_here(void)
{
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return true;
#endif
}
