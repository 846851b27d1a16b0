/* SPDX-License-Identifier: MIT
 *
 * `wide`: as many reals as the instruction set has lanes, one particle per lane. Arithmetic uses the ordinary operators
 * (vector extensions of gcc and clang); this header adds what operators cannot express.
 *
 * Only sources that are compiled once per (MPM_ISA, MPM_DIM, MPM_REAL) include this header. It defines
 *
 *     real        float or double               WIDTH   lanes of `wide`
 *     wide        WIDTH reals                   DIM     2 or 3
 *     wide_int    integers of the same width    mask    one truth value per lane
 *     MPM_KERNEL(f)   the name mpm_f_ISA_REALDIM of an exported function
 *
 * Only `wide_fma` fuses multiplication and addition (-ffp-contract=off); the scalar and portable builds round twice
 * there. No libm.
 *
 * MPM_ISA_CUDA is a thread of a GPU, one particle per thread: the header is then C++ for the device (mpm/gpu/).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DIM MPM_DIM
#define MPM_PASTE5(a, b, c, d, e) a##b##_##c##_##d##e
#define MPM_PASTE(a, b, c, d, e) MPM_PASTE5(a, b, c, d, e)
#define MPM_KERNEL(name) MPM_PASTE(mpm_, name, MPM_ISA, MPM_REAL, MPM_DIM)

#define MPM_REAL_IS_float 1
#define MPM_REAL_IS_double 0
#define MPM_GLUE2(a, b) a##b
#define MPM_GLUE(a, b) MPM_GLUE2(a, b)
#define REAL_IS_FLOAT MPM_GLUE(MPM_REAL_IS_, MPM_REAL)

/* Loops over axes and pencils must unroll completely, so that arrays of `wide` stay in registers. */
#ifdef MPM_ISA_CUDA
#define INLINE static __device__ __forceinline__
#define NOINLINE static __device__ __noinline__
#define UNROLL _Pragma("unroll")
#else
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef MPM_REAL real;
#if REAL_IS_FLOAT
typedef int32_t real_int;
typedef uint32_t real_uint;
#define REAL_EPSILON 1.1920929e-7f
#define MANTISSA_BITS 23
#define EXPONENT_BIAS 127
#define REAL_LARGEST 3.0e38f
#else
typedef int64_t real_int;
typedef uint64_t real_uint;
#define REAL_EPSILON 2.220446049250313e-16
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023
#define REAL_LARGEST 1.0e308
#endif

#if defined(MPM_ISA_AVX512)
#include <immintrin.h>
#define WIDTH (REAL_IS_FLOAT ? 16 : 8)
#elif defined(MPM_ISA_AVX2)
#include <immintrin.h>
#define WIDTH (REAL_IS_FLOAT ? 8 : 4)
#elif defined(MPM_ISA_PORTABLE)
#define WIDTH 4
#else
#define MPM_ONE_LANE 1
#define WIDTH 1
#endif

#ifdef MPM_ONE_LANE
typedef real wide;
typedef real_int wide_int;
typedef real_uint wide_uint;
#else
typedef real wide __attribute__((vector_size(WIDTH * sizeof(real)), may_alias));
typedef real_int wide_int __attribute__((vector_size(WIDTH * sizeof(real)), may_alias));
typedef real_uint wide_uint __attribute__((vector_size(WIDTH * sizeof(real)), may_alias));
#endif

/* ---- loads, stores, constants: aligned to the width unless stated otherwise -------------------------------------- */

INLINE wide wide_load(const real *p)
{
    return *(const wide *)p;
}

INLINE void wide_store(real *p, wide a)
{
    *(wide *)p = a;
}

INLINE wide wide_load_any(const real *p) /* any alignment */
{
    wide a;
    memcpy(&a, p, sizeof a);
    return a;
}

INLINE void wide_store_any(real *p, wide a)
{
    memcpy(p, &a, sizeof a);
}

INLINE wide wide_set(real a)
{
#ifdef MPM_ONE_LANE
    return a;
#elif defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    return _mm512_set1_ps(a);
#elif defined(MPM_ISA_AVX512)
    return _mm512_set1_pd(a);
#elif defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
    return _mm256_set1_ps(a);
#elif defined(MPM_ISA_AVX2)
    return _mm256_set1_pd(a);
#else
    return (wide){a, a, a, a};
#endif
}

INLINE wide_int wide_as_int(wide a)
{
    wide_int b;
    memcpy(&b, &a, sizeof b);
    return b;
}

INLINE wide wide_as_real(wide_int a)
{
    wide b;
    memcpy(&b, &a, sizeof b);
    return b;
}

INLINE wide_int wide_int_set(real_int a)
{
    wide_int b;
#ifdef MPM_ONE_LANE
    b = a;
#else
    b = a - (wide_int){0};
#endif
    return b;
}

/* ---- masks ------------------------------------------------------------------------------------------------ */

#if defined(MPM_ONE_LANE)
typedef bool mask;
#define MASK_LESS(a, b) ((a) < (b))
#define MASK_LESS_EQUAL(a, b) ((a) <= (b))
INLINE wide wide_select(mask m, wide a, wide b) { return m ? a : b; }
INLINE unsigned mask_bits(mask m) { return m; }
INLINE mask mask_not(mask m) { return !m; }
#elif defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
typedef __mmask16 mask;
#define MASK_LESS(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define MASK_LESS_EQUAL(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
INLINE wide wide_select(mask m, wide a, wide b) { return _mm512_mask_blend_ps(m, b, a); }
INLINE unsigned mask_bits(mask m) { return m; }
INLINE mask mask_not(mask m) { return (mask)~m; }
#elif defined(MPM_ISA_AVX512)
typedef __mmask8 mask;
#define MASK_LESS(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define MASK_LESS_EQUAL(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ)
INLINE wide wide_select(mask m, wide a, wide b) { return _mm512_mask_blend_pd(m, b, a); }
INLINE unsigned mask_bits(mask m) { return m; }
INLINE mask mask_not(mask m) { return (mask)~m; }
#else
typedef wide_int mask;
#define MASK_LESS(a, b) ((a) < (b))
#define MASK_LESS_EQUAL(a, b) ((a) <= (b))
INLINE wide wide_select(mask m, wide a, wide b)
{
#if defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
    return _mm256_blendv_ps(b, a, (__m256)m);
#elif defined(MPM_ISA_AVX2)
    return _mm256_blendv_pd(b, a, (__m256d)m);
#else
    return wide_as_real((m & wide_as_int(a)) | (~m & wide_as_int(b)));
#endif
}
INLINE unsigned mask_bits(mask m)
{
#if defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
    return (unsigned)_mm256_movemask_ps((__m256)m);
#elif defined(MPM_ISA_AVX2)
    return (unsigned)_mm256_movemask_pd((__m256d)m);
#else
    return (m[0] ? 1u : 0) | (m[1] ? 2u : 0) | (m[2] ? 4u : 0) | (m[3] ? 8u : 0);
#endif
}
INLINE mask mask_not(mask m) { return ~m; }
#endif

/* A comparison with a NaN is false, so `mask_not(wide_less(...))` catches NaN. */
INLINE mask wide_less(wide a, wide b) { return MASK_LESS(a, b); }
INLINE mask wide_less_equal(wide a, wide b) { return MASK_LESS_EQUAL(a, b); }
INLINE bool mask_any(mask m) { return mask_bits(m) != 0; }

/* ---- arithmetic ------------------------------------------------------------------------------------------- */

/** a b + c */
INLINE wide wide_fma(wide a, wide b, wide c)
{
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    return _mm512_fmadd_ps(a, b, c);
#elif defined(MPM_ISA_AVX512)
    return _mm512_fmadd_pd(a, b, c);
#elif defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
    return _mm256_fmadd_ps(a, b, c);
#elif defined(MPM_ISA_AVX2)
    return _mm256_fmadd_pd(a, b, c);
#elif defined(MPM_ISA_CUDA)
    return REAL_IS_FLOAT ? (real)__fmaf_rn((float)a, (float)b, (float)c) : (real)__fma_rn(a, b, c);
#else
    return a * b + c;
#endif
}

/** c - a b */
INLINE wide wide_fnma(wide a, wide b, wide c)
{
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    return _mm512_fnmadd_ps(a, b, c);
#elif defined(MPM_ISA_AVX512)
    return _mm512_fnmadd_pd(a, b, c);
#elif defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
    return _mm256_fnmadd_ps(a, b, c);
#elif defined(MPM_ISA_AVX2)
    return _mm256_fnmadd_pd(a, b, c);
#elif defined(MPM_ISA_CUDA)
    return wide_fma(-a, b, c);
#else
    return c - a * b;
#endif
}

/** The smaller; `b` if either is NaN. */
INLINE wide wide_min(wide a, wide b)
{
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    return _mm512_min_ps(a, b);
#elif defined(MPM_ISA_AVX512)
    return _mm512_min_pd(a, b);
#elif defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
    return _mm256_min_ps(a, b);
#elif defined(MPM_ISA_AVX2)
    return _mm256_min_pd(a, b);
#else
    return wide_select(wide_less(a, b), a, b);
#endif
}

/** The larger; `b` if either is NaN. */
INLINE wide wide_max(wide a, wide b)
{
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    return _mm512_max_ps(a, b);
#elif defined(MPM_ISA_AVX512)
    return _mm512_max_pd(a, b);
#elif defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
    return _mm256_max_ps(a, b);
#elif defined(MPM_ISA_AVX2)
    return _mm256_max_pd(a, b);
#else
    return wide_select(wide_less(b, a), a, b);
#endif
}

INLINE wide wide_sqrt(wide a)
{
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    return _mm512_sqrt_ps(a);
#elif defined(MPM_ISA_AVX512)
    return _mm512_sqrt_pd(a);
#elif defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
    return _mm256_sqrt_ps(a);
#elif defined(MPM_ISA_AVX2)
    return _mm256_sqrt_pd(a);
#elif defined(MPM_ISA_CUDA)
    return REAL_IS_FLOAT ? (real)__fsqrt_rn((float)a) : (real)__dsqrt_rn(a);
#elif defined(MPM_ONE_LANE)
    return REAL_IS_FLOAT ? (real)__builtin_sqrtf((float)a) : (real)__builtin_sqrt((double)a);
#else
    for (int q = 0; q < WIDTH; q++)
        a[q] = REAL_IS_FLOAT ? (real)__builtin_sqrtf((float)a[q]) : (real)__builtin_sqrt((double)a[q]);
    return a;
#endif
}

INLINE wide wide_abs(wide a)
{
    return wide_max(a, -a);
}

/* Adding 1.5 * 2^(mantissa bits) rounds to the nearest integer and leaves that integer in the low bits. This converts
 * both ways on every instruction set, for |a| < 2^(mantissa bits - 1). */
#define ROUNDER ((real)(REAL_IS_FLOAT ? 12582912.0 : 6755399441055744.0))

INLINE wide wide_round(wide a)
{
    return (a + wide_set(ROUNDER)) - wide_set(ROUNDER);
}

INLINE wide wide_floor(wide a)
{
    wide r = wide_round(a);
    return r - wide_select(wide_less(a, r), wide_set(1), wide_set(0));
}

/* Modulo 2^32 or 2^64 for any bits, because overflow of signed integers is undefined. */

/** a 2^bits. */
INLINE wide_int wide_int_shift_left(wide_int a, int bits)
{
    return (wide_int)((wide_uint)a << bits);
}

INLINE wide_int wide_int_subtract(wide_int a, wide_int b)
{
    return (wide_int)((wide_uint)a - (wide_uint)b);
}

/** The nearest integer as an integer. */
INLINE wide_int wide_to_int(wide a)
{
    return wide_int_subtract(wide_as_int(a + wide_set(ROUNDER)), wide_as_int(wide_set(ROUNDER)));
}

INLINE wide wide_from_int(wide_int a)
{
    return wide_as_real(a + wide_as_int(wide_set(ROUNDER))) - wide_set(ROUNDER);
}

INLINE void wide_store_int32(int32_t *p, wide a) /* `a` holds integers */
{
#if defined(MPM_ONE_LANE)
    *p = (int32_t)a;
#elif defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    _mm512_store_si512(p, _mm512_cvttps_epi32(a));
#elif defined(MPM_ISA_AVX512)
    _mm256_store_si256((__m256i *)p, _mm512_cvttpd_epi32(a));
#elif defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
    _mm256_store_si256((__m256i *)p, _mm256_cvttps_epi32(a));
#elif defined(MPM_ISA_AVX2)
    _mm_store_si128((__m128i *)p, _mm256_cvttpd_epi32(a));
#else
    for (int q = 0; q < WIDTH; q++)
        p[q] = (int32_t)a[q];
#endif
}

INLINE real wide_lane(wide a, int q)
{
#ifdef MPM_ONE_LANE
    (void)q;
    return a;
#else
    return a[q];
#endif
}

/** Sum over lanes in double; its order depends on the instruction set only. */
INLINE double wide_sum(wide a)
{
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a));
    return _mm512_reduce_add_pd(_mm512_add_pd(low, _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1))));
#elif defined(MPM_ISA_AVX512)
    return _mm512_reduce_add_pd(a);
#else
    double s = 0;
    for (int q = 0; q < WIDTH; q++)
        s += (double)wide_lane(a, q);
    return s;
#endif
}

/** The largest lane; no lane may be NaN. */
INLINE double wide_largest(wide a)
{
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    return (double)_mm512_reduce_max_ps(a);
#elif defined(MPM_ISA_AVX512)
    return _mm512_reduce_max_pd(a);
#else
    double s = (double)wide_lane(a, 0);
    for (int q = 1; q < WIDTH; q++)
        s = s > (double)wide_lane(a, q) ? s : (double)wide_lane(a, q);
    return s;
#endif
}

/** The lane that holds the p-th particle (in cell order) of a tile. In this order, a 4 x 4 transpose inside each group
 *  of four reals of a register turns four `wide` into WIDTH vec4s, and back. */
INLINE int lane_of(int p)
{
    return WIDTH < 4 ? p : (p % (WIDTH / 4)) * 4 + p / (WIDTH / 4);
}

/** The inverse of lane_of. */
INLINE int particle_of(int lane)
{
    return WIDTH < 4 ? lane : (lane % 4) * (WIDTH / 4) + lane / 4;
}

#ifndef MPM_ONE_LANE
#if !REAL_IS_FLOAT && (defined(MPM_ISA_AVX512) || defined(MPM_ISA_AVX2))
/** {a0, b0, a2, b2, ...} and {a1, b1, a3, b3, ...}. On integers, because GCC 12 turns the unpacklo of doubles, or any
 *  equal shuffle, into a vmovddup of `a` alone where `a` was spilled. */
INLINE wide wide_interleave_low(wide a, wide b)
{
#ifdef MPM_ISA_AVX512
    return (wide)_mm512_unpacklo_epi64((__m512i)a, (__m512i)b);
#else
    return (wide)_mm256_unpacklo_epi64((__m256i)a, (__m256i)b);
#endif
}

INLINE wide wide_interleave_high(wide a, wide b)
{
#ifdef MPM_ISA_AVX512
    return (wide)_mm512_unpackhi_epi64((__m512i)a, (__m512i)b);
#else
    return (wide)_mm256_unpackhi_epi64((__m256i)a, (__m256i)b);
#endif
}
#endif

/** WIDTH vec4s {a, b, c, d}; that of lane lane_of(p) is in reals 4p .. 4p + 3 of `r[0..3]`. Its own inverse. */
INLINE void wide_transpose4(wide a, wide b, wide c, wide d, wide r[4])
{
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    __m512 t = _mm512_unpacklo_ps(a, b), u = _mm512_unpackhi_ps(a, b);
    __m512 v = _mm512_unpacklo_ps(c, d), w = _mm512_unpackhi_ps(c, d);
    r[0] = _mm512_shuffle_ps(t, v, 0x44);
    r[1] = _mm512_shuffle_ps(t, v, 0xee);
    r[2] = _mm512_shuffle_ps(u, w, 0x44);
    r[3] = _mm512_shuffle_ps(u, w, 0xee);
#elif defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
    __m256 t = _mm256_unpacklo_ps(a, b), u = _mm256_unpackhi_ps(a, b);
    __m256 v = _mm256_unpacklo_ps(c, d), w = _mm256_unpackhi_ps(c, d);
    r[0] = _mm256_shuffle_ps(t, v, 0x44);
    r[1] = _mm256_shuffle_ps(t, v, 0xee);
    r[2] = _mm256_shuffle_ps(u, w, 0x44);
    r[3] = _mm256_shuffle_ps(u, w, 0xee);
#elif defined(MPM_ISA_AVX512)
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const __m512i high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    const wide t = wide_interleave_low(a, b), u = wide_interleave_high(a, b);
    const wide v = wide_interleave_low(c, d), w = wide_interleave_high(c, d);
    r[0] = _mm512_permutex2var_pd(t, low, v);
    r[1] = _mm512_permutex2var_pd(u, low, w);
    r[2] = _mm512_permutex2var_pd(t, high, v);
    r[3] = _mm512_permutex2var_pd(u, high, w);
#elif defined(MPM_ISA_AVX2)
    const wide t = wide_interleave_low(a, b), u = wide_interleave_high(a, b);
    const wide v = wide_interleave_low(c, d), w = wide_interleave_high(c, d);
    r[0] = _mm256_permute2f128_pd(t, v, 0x20);
    r[1] = _mm256_permute2f128_pd(u, w, 0x20);
    r[2] = _mm256_permute2f128_pd(t, v, 0x31);
    r[3] = _mm256_permute2f128_pd(u, w, 0x31);
#else
    for (int q = 0; q < 4; q++)
        r[q] = (wide){a[q], b[q], c[q], d[q]};
#endif
}
#endif

#ifdef MPM_ISA_AVX512
INLINE mask mask_all(void)
{
    return (mask)-1;
}

/** The least of the lanes in `m`, which must not be empty. */
INLINE real wide_least_of(mask m, wide a)
{
#if REAL_IS_FLOAT
    return _mm512_mask_reduce_min_ps(m, a);
#else
    return _mm512_mask_reduce_min_pd(m, a);
#endif
}

/** Each lane picks one of the 2 WIDTH reals in `low` and `high`. */
INLINE wide wide_look_up(wide low, wide high, wide_int index)
{
#if REAL_IS_FLOAT
    return _mm512_permutex2var_ps(low, (__m512i)index, high);
#else
    return _mm512_permutex2var_pd(low, (__m512i)index, high);
#endif
}

/** Permutes lanes into cell order: real p of the result comes from lane lane_of(p). */
INLINE wide wide_in_cell_order(wide a)
{
#if REAL_IS_FLOAT
    const __m512i lanes = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_ps(lanes, a);
#else
    return _mm512_permutexvar_pd(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), a);
#endif
}
#endif
