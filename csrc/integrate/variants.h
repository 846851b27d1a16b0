/* SPDX-License-Identifier: MIT
 *
 * The variants of the kernels in this build: instruction set x precision x dimension, slowest set first, four variants
 * each. A method has a table of kernels per variant, mpm_NAME_table_ISA_VARIANT, and lists them in this order:
 *
 *     MPM_DECLARE_TABLES(mpm_fem_kernels, fem_table)
 *     static const mpm_fem_kernels *const tables[] = {MPM_TABLES(fem_table) NULL};
 */
#pragma once

#define MPM_VARIANTS_OF(X, isa, type, name) \
    X(type, name, isa##_float2) X(type, name, isa##_float3) X(type, name, isa##_double2) X(type, name, isa##_double3)

/* setup.py defines MPM_WITH_... for the instruction sets that it builds. */
#ifdef MPM_WITH_SCALAR
#define MPM_SCALAR_VARIANTS(X, type, name) MPM_VARIANTS_OF(X, scalar, type, name)
#else
#define MPM_SCALAR_VARIANTS(X, type, name)
#endif
#ifdef MPM_WITH_PORTABLE
#define MPM_PORTABLE_VARIANTS(X, type, name) MPM_VARIANTS_OF(X, portable, type, name)
#else
#define MPM_PORTABLE_VARIANTS(X, type, name)
#endif
#ifdef MPM_WITH_AVX2
#define MPM_AVX2_VARIANTS(X, type, name) MPM_VARIANTS_OF(X, avx2, type, name)
#else
#define MPM_AVX2_VARIANTS(X, type, name)
#endif
#ifdef MPM_WITH_AVX512
#define MPM_AVX512_VARIANTS(X, type, name) MPM_VARIANTS_OF(X, avx512, type, name)
#else
#define MPM_AVX512_VARIANTS(X, type, name)
#endif

#define MPM_FOR_VARIANTS(X, type, name) \
    MPM_SCALAR_VARIANTS(X, type, name) MPM_PORTABLE_VARIANTS(X, type, name) \
    MPM_AVX2_VARIANTS(X, type, name) MPM_AVX512_VARIANTS(X, type, name)

#define MPM_DECLARE_TABLE(type, name, variant) extern const type mpm_##name##_##variant;
#define MPM_TABLE_ADDRESS(type, name, variant) &mpm_##name##_##variant,
#define MPM_DECLARE_TABLES(type, name) MPM_FOR_VARIANTS(MPM_DECLARE_TABLE, type, name)
#define MPM_TABLES(name) MPM_FOR_VARIANTS(MPM_TABLE_ADDRESS, unused, name)
