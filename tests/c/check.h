/* SPDX-License-Identifier: MIT
 *
 * A C test is a program: exit status 0 is a pass, SKIPPED what cannot run here. It names the core's sources that it
 * links in a comment line `sources: ...`, and, where it is compiled more than once, the flags of each time in a line
 * `variants: ... | ...`; the language's own `assert` is the framework.
 */
#pragma once
#undef NDEBUG
#include <assert.h>
#include <stdbool.h>

enum { SKIPPED = 77 };

/* Has this processor the instructions that the program was compiled for? */
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
