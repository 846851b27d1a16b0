/* SPDX-License-Identifier: MIT
 *
 * The variants of the kernels in this build: instruction set x precision x dimension, slowest set first, four variants
 * each. A method has a table of kernels per variant, mpm_NAME_table_ISA_VARIANT, and lists them in this order:
 *
 *     MPM_DECLARE_TABLES(mpm_fem_kernels, fem_table)
 *     static const mpm_fem_kernels *const tables[] = {MPM_TABLES(fem_table) NULL};
 */
#pragma once
#include <stddef.h>

/* setup.py defines MPM_WITH_... for the instruction sets that it builds. */
#ifdef MPM_WITH_SCALAR
#define MPM_IF_SCALAR(...) __VA_ARGS__
#else
#define MPM_IF_SCALAR(...)
#endif
#ifdef MPM_WITH_PORTABLE
#define MPM_IF_PORTABLE(...) __VA_ARGS__
#else
#define MPM_IF_PORTABLE(...)
#endif
#ifdef MPM_WITH_AVX2
#define MPM_IF_AVX2(...) __VA_ARGS__
#else
#define MPM_IF_AVX2(...)
#endif
#ifdef MPM_WITH_AVX512
#define MPM_IF_AVX512(...) __VA_ARGS__
#else
#define MPM_IF_AVX512(...)
#endif

#define MPM_FOR_ISAS(X, ...) \
    MPM_IF_SCALAR(X(scalar, __VA_ARGS__)) MPM_IF_PORTABLE(X(portable, __VA_ARGS__)) \
    MPM_IF_AVX2(X(avx2, __VA_ARGS__)) MPM_IF_AVX512(X(avx512, __VA_ARGS__))

/* The set whose kernels serve a set in double precision. Compilers cut the four doubles of a portable vector into
 * halves, which made most steps slower than the scalar ones. */
#define MPM_DOUBLES_OF_scalar scalar
#define MPM_DOUBLES_OF_portable scalar
#define MPM_DOUBLES_OF_avx2 avx2
#define MPM_DOUBLES_OF_avx512 avx512

#define MPM_DECLARE_TABLES_OF(isa, type, name) \
    extern const type mpm_##name##_##isa##_float2, mpm_##name##_##isa##_float3, mpm_##name##_##isa##_double2, \
        mpm_##name##_##isa##_double3;
#define MPM_TABLES_OF(isa, name) MPM_TABLES_FROM(isa, MPM_DOUBLES_OF_##isa, name)
#define MPM_TABLES_FROM(isa, doubles, name) MPM_TABLES_FROM_SETS(isa, doubles, name)
#define MPM_TABLES_FROM_SETS(isa, doubles, name) \
    &mpm_##name##_##isa##_float2, &mpm_##name##_##isa##_float3, &mpm_##name##_##doubles##_double2, \
        &mpm_##name##_##doubles##_double3,
#define MPM_DECLARE_TABLES(type, name) MPM_FOR_ISAS(MPM_DECLARE_TABLES_OF, type, name)
#define MPM_TABLES(name) MPM_FOR_ISAS(MPM_TABLES_OF, name)

/** The place in these tables of the variant for `isa` ("scalar", "portable", "avx2", "avx512"; NULL: the fastest that
 *  this processor can run); -1 if there is none, or the processor cannot run it. `real_size` 4 or 8. */
int mpm_variants_find(const char *isa, int dim, size_t real_size);

/** Name of the `index`-th instruction set that this processor can run, slowest first; NULL past the last. */
const char *mpm_variants_isa(int index);
