/* SPDX-License-Identifier: MIT
 *
 * A pencil is four nodes along the last axis, with four reals each. It fills PENCIL_PARTS vectors of type `part`; part
 * j begins at real j PART_REALS. A vec4 is four reals side by side: the value of a node, a quantity of a particle, or
 * the weights of four nodes. Transposes turn quantities by lane into vec4s; vec4 p belongs to lane lane_of(p).
 */
#pragma once
#include "mpm/kernels/arena.h"

#ifdef MPM_ONE_LANE
typedef node4 part;
#else
typedef wide part;
#endif
#define PART_REALS ((int)(sizeof(part) / sizeof(real)))
#define PENCIL_PARTS (16 / PART_REALS)

/* ---- between lanes and vec4s ------------------------------------------------------------------------------------ */

/* Writes WIDTH vec4s, which are aligned. */
INLINE void vec4s_store(real *vec4s, const wide component[4])
{
#ifdef MPM_ONE_LANE
    for (int b = 0; b < 4; b++)
        vec4s[b] = component[b];
#else
    wide r[4];
    wide_transpose4(component[0], component[1], component[2], component[3], r);
    UNROLL for (int k = 0; k < 4; k++)
        wide_store(vec4s + k * WIDTH, r[k]);
#endif
}

/* Reads WIDTH vec4s of any alignment. */
INLINE void vec4s_load(wide component[4], const real *vec4s)
{
#ifdef MPM_ONE_LANE
    for (int b = 0; b < 4; b++)
        component[b] = vec4s[b];
#else
    wide_transpose4(wide_load_any(vec4s), wide_load_any(vec4s + WIDTH), wide_load_any(vec4s + 2 * WIDTH),
                    wide_load_any(vec4s + 3 * WIDTH), component);
#endif
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

INLINE part part_load(const real *p) /* any alignment */
{
    part a;
    memcpy(&a, p, sizeof a);
    return a;
}

INLINE void part_store(real *p, part a)
{
    memcpy(p, &a, sizeof a);
}

INLINE part part_set(real a)
{
#ifdef MPM_ONE_LANE
    return (node4){a, a, a, a};
#else
    return wide_set(a);
#endif
}

/** a b + c */
INLINE part part_fma(part a, part b, part c)
{
#ifdef MPM_ONE_LANE
    return a * b + c;
#else
    return wide_fma(a, b, c);
#endif
}

/* The weight of the node that each real belongs to. */
INLINE part pencil_weights(const real *four, int j)
{
#if WIDTH == 16
    (void)j;
    const __m512i nodes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    return _mm512_permutexvar_ps(nodes, _mm512_castps128_ps512(_mm_load_ps(four)));
#elif defined(MPM_ISA_AVX512)
    const __m512i nodes = _mm512_setr_epi64(2 * j, 2 * j, 2 * j, 2 * j, 2 * j + 1, 2 * j + 1, 2 * j + 1, 2 * j + 1);
    return _mm512_permutexvar_pd(nodes, _mm512_castpd256_pd512(_mm256_load_pd(four)));
#elif WIDTH == 8
    const __m256i nodes = _mm256_setr_epi32(2 * j, 2 * j, 2 * j, 2 * j, 2 * j + 1, 2 * j + 1, 2 * j + 1, 2 * j + 1);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_load_ps(four)), nodes);
#else
    return part_set(four[j]);
#endif
}

/* One vec4, repeated for every node. */
INLINE part pencil_repeat(const real *four)
{
#if WIDTH == 16
    return _mm512_broadcast_f32x4(_mm_load_ps(four));
#elif defined(MPM_ISA_AVX512)
    return _mm512_broadcast_f64x4(_mm256_load_pd(four));
#elif WIDTH == 8
    return _mm256_broadcast_ps((const __m128 *)four);
#else
    return part_load(four);
#endif
}

/* The index 0 .. 3 of the node that each real belongs to. */
INLINE part pencil_nodes(int j)
{
    static const real index[16] __attribute__((aligned(64))) = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    return part_load(index + j * PART_REALS);
}

/* 1 where the whole number `a` is odd, else 0. Pencils begin at every second node, so two cells share them. */
INLINE wide parity(wide a)
{
    const wide half = wide_floor(a * wide_set((real)0.5));
    return a - (half + half);
}

/* The number of particles whose vec4s fill one vector; loops treat them together. */
#define TOGETHER (WIDTH < 8 ? 1 : WIDTH / 4)

/* lane_of(p + i) for a multiple p of TOGETHER. An unrolled loop over i needs no arithmetic for it. */
INLINE int lane_together(int p, int i)
{
    return TOGETHER == 1 ? lane_of(p) : p / TOGETHER + 4 * i;
}

/* Sums the pencil of each of TOGETHER particles over its four nodes, as (n0 + n2) + (n1 + n3). */
INLINE void pencil_sums(real *vec4s, const part pencil[TOGETHER])
{
#if WIDTH == 16
    __m512 pair[2]; /* n0 + n2 and n1 + n3 of two particles each */
    UNROLL for (int i = 0; i < 2; i++) {
        const __m512 a = pencil[2 * i], b = pencil[2 * i + 1];
        pair[i] = _mm512_add_ps(_mm512_mask_blend_ps(0xff00, a, b), _mm512_shuffle_f32x4(a, b, 0x4e));
    }
    _mm512_store_ps(vec4s, _mm512_add_ps(_mm512_shuffle_f32x4(pair[0], pair[1], 0x88),
                                           _mm512_shuffle_f32x4(pair[0], pair[1], 0xdd)));
#elif defined(MPM_ISA_AVX512)
    _mm512_store_pd(vec4s, _mm512_add_pd(_mm512_shuffle_f64x2(pencil[0], pencil[1], 0x44),
                                           _mm512_shuffle_f64x2(pencil[0], pencil[1], 0xee)));
#elif WIDTH == 8
    _mm256_store_ps(vec4s, _mm256_add_ps(_mm256_permute2f128_ps(pencil[0], pencil[1], 0x20),
                                           _mm256_permute2f128_ps(pencil[0], pencil[1], 0x31)));
#else
    part_store(vec4s, pencil[0]);
#endif
}
