/* SPDX-License-Identifier: MIT
 *
 * What comes before every kernel of a GPU: C++ for NVRTC, with functions for the device alone (-default-device) and
 * without fused arithmetic of the compiler's own choice (--fmad=false). tests/gpu/cuda.h runs the same text on a CPU.
 */
#pragma once
#ifdef __CUDACC_RTC__ /* the builtins of other compilers that headers of laws use */
#define __builtin_ctz(a) (__ffs((int)(a)) - 1)
#define __builtin_popcount(a) __popc(a)
#define __builtin_fabs(a) fabs(a)
#define __builtin_sqrt(a) __dsqrt_rn(a)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000ll)
#define SHARED_MEMORY(name) extern __shared__ __align__(16) unsigned char name[]
#endif

#include "base/simd.h"

#define ALIGN_VEC4 __align__(16)
#include "mpm/gpu/launch.h"

/* ---- warps ------------------------------------------------------------------------------------------------------- */

#define ALL_LANES 0xffffffffu

/** The sum over the lanes of a warp, in a fixed order. */
template <class number> INLINE number warp_sum(number a)
{
    for (int d = 16; d; d /= 2)
        a += __shfl_xor_sync(ALL_LANES, a, d);
    return a;
}

/** The largest of a warp, in which no lane is NaN. */
template <class number> INLINE number warp_most(number a)
{
    for (int d = 16; d; d /= 2) {
        const number other = __shfl_xor_sync(ALL_LANES, a, d);
        a = other > a ? other : a;
    }
    return a;
}

/** The sums of the lanes up to this one. */
INLINE int warp_scan(int a)
{
    const int lane = threadIdx.x % 32;
    for (int d = 1; d < 32; d *= 2) {
        const int before = __shfl_up_sync(ALL_LANES, a, d);
        a += lane >= d ? before : 0;
    }
    return a;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

INLINE int block_key(const struct gpu_blocks *blocks, const int at[3])
{
    return (at[0] * blocks->count[1] + at[1]) * blocks->count[2] + at[2];
}

/** Coordinates of a block in the table; those in the domain are GPU_MARGIN less. */
INLINE void block_at(const struct gpu_blocks *blocks, int key, int at[3])
{
    at[2] = key % blocks->count[2];
    at[1] = key / blocks->count[2] % blocks->count[1];
    at[0] = key / blocks->count[2] / blocks->count[1];
}

/** The number of a block and a material in a table of pairs. */
INLINE int pair_key(const struct gpu_blocks *blocks, int key, int material)
{
    return key * blocks->materials + material;
}

/** The coordinates of the block of a pair. */
INLINE void pair_at(const struct gpu_blocks *blocks, int key, int at[3])
{
    block_at(blocks, key / blocks->materials, at);
}

INLINE bool block_exists(const struct gpu_blocks *blocks, const int at[3])
{
    bool exists = true;
    for (int a = 0; a < 3; a++)
        exists &= at[a] >= 0 && at[a] < blocks->count[a];
    return exists;
}

/** The coordinates of number n of a cube with so many along an axis. */
INLINE void cube_at(int n, int side, int at[3])
{
    at[2] = DIM == 3 ? n % side : 0;
    n = DIM == 3 ? n / side : n;
    at[1] = n % side;
    at[0] = n / side;
}

INLINE int cube_number(const int at[3], int side)
{
    return DIM == 3 ? (at[0] * side + at[1]) * side + at[2] : at[0] * side + at[1];
}

/* ---- nodes: four reals at once ----------------------------------------------------------------------------------- */

INLINE struct gpu_vec4 vec4_load(const struct gpu_vec4 *from)
{
    struct gpu_vec4 a;
#if REAL_IS_FLOAT
    const float4 all = *(const float4 *)from;
    a.c[0] = all.x, a.c[1] = all.y, a.c[2] = all.z, a.c[3] = all.w;
#else
    const double2 low = ((const double2 *)from)[0], high = ((const double2 *)from)[1];
    a.c[0] = low.x, a.c[1] = low.y, a.c[2] = high.x, a.c[3] = high.y;
#endif
    return a;
}

INLINE void vec4_store(struct gpu_vec4 *to, real a, real b, real c, real d)
{
#if REAL_IS_FLOAT
    *(float4 *)to = make_float4(a, b, c, d);
#else
    ((double2 *)to)[0] = make_double2(a, b);
    ((double2 *)to)[1] = make_double2(c, d);
#endif
}
