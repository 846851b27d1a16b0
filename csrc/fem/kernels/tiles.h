/* SPDX-License-Identifier: MIT
 *
 * Tiles of elements: from nodes to lanes, and back.
 */
#pragma once
#include "fem/kernels/kernels.h"
#include "math/matrix.h"

enum { CORNERS = DIM + 1, SHAPE = DIM * DIM + 1 };

/* A node, or what is added to one. */
typedef real vec4 __attribute__((vector_size(4 * sizeof(real)), may_alias));

/* A matrix per element that is constant in it, and the volume: D_m^-1 and V. */
struct shape {
    matrix inverse;
    wide volume;
};

INLINE struct shape shape_load(const mpm_fem_mesh *mesh, ptrdiff_t tile)
{
    const real *from = (const real *)mesh->shapes + tile * SHAPE * WIDTH;
    struct shape shape;
    UNROLL for (int i = 0; i < DIM * DIM; i++)
        shape.inverse.m[i / DIM][i % DIM] = wide_load(from + i * WIDTH);
    shape.volume = wide_load(from + DIM * DIM * WIDTH);
    return shape;
}

/* Reads one corner of every element of a tile. */
INLINE void corner_load(wide out[DIM], const vec4 *nodes, const int32_t *index)
{
#ifdef MPM_ONE_LANE
    for (int a = 0; a < DIM; a++)
        out[a] = nodes[index[0]][a];
#else
    wide r[4], component[4];
    UNROLL for (int j = 0; j < 4; j++) {
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
        __m512 parts = _mm512_castps128_ps512((__m128)nodes[index[4 * j]]);
        parts = _mm512_insertf32x4(parts, (__m128)nodes[index[4 * j + 1]], 1);
        parts = _mm512_insertf32x4(parts, (__m128)nodes[index[4 * j + 2]], 2);
        r[j] = _mm512_insertf32x4(parts, (__m128)nodes[index[4 * j + 3]], 3);
#elif defined(MPM_ISA_AVX512)
        r[j] = _mm512_insertf64x4(_mm512_castpd256_pd512((__m256d)nodes[index[2 * j]]),
                                  (__m256d)nodes[index[2 * j + 1]], 1);
#elif defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
        r[j] = _mm256_insertf128_ps(_mm256_castps128_ps256((__m128)nodes[index[2 * j]]),
                                    (__m128)nodes[index[2 * j + 1]], 1);
#else
        r[j] = (wide)nodes[index[j]];
#endif
    }
    wide_transpose4(r[0], r[1], r[2], r[3], component);
    UNROLL for (int a = 0; a < DIM; a++)
        out[a] = component[a];
#endif
}

/* Adds to one corner of every element of a tile, one element after the other. */
INLINE void corner_add(vec4 *nodes, const int32_t *index, const wide value[DIM], wide fourth)
{
#ifdef MPM_ONE_LANE
    for (int a = 0; a < DIM; a++)
        nodes[index[0]][a] += value[a];
    nodes[index[0]][3] += fourth;
#else
    wide r[4];
    wide_transpose4(value[0], value[1], DIM == 3 ? value[DIM - 1] : wide_set(0), fourth, r);
    UNROLL for (int j = 0; j < 4; j++) {
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
        nodes[index[4 * j]] += (vec4)_mm512_castps512_ps128(r[j]);
        nodes[index[4 * j + 1]] += (vec4)_mm512_extractf32x4_ps(r[j], 1);
        nodes[index[4 * j + 2]] += (vec4)_mm512_extractf32x4_ps(r[j], 2);
        nodes[index[4 * j + 3]] += (vec4)_mm512_extractf32x4_ps(r[j], 3);
#elif defined(MPM_ISA_AVX512)
        nodes[index[2 * j]] += (vec4)_mm512_castpd512_pd256(r[j]);
        nodes[index[2 * j + 1]] += (vec4)_mm512_extractf64x4_pd(r[j], 1);
#elif defined(MPM_ISA_AVX2) && REAL_IS_FLOAT
        nodes[index[2 * j]] += (vec4)_mm256_castps256_ps128(r[j]);
        nodes[index[2 * j + 1]] += (vec4)_mm256_extractf128_ps(r[j], 1);
#else
        nodes[index[j]] += (vec4)r[j];
#endif
    }
#endif
}

/* D_s D_m^-1: the gradient of what the nodes hold, constant in every element. */
INLINE matrix gradient_of(const vec4 *nodes, const int32_t *index, const matrix *inverse)
{
    wide corner[CORNERS][DIM];
    matrix edges; /* D_s */
    UNROLL for (int k = 0; k < CORNERS; k++)
        corner_load(corner[k], nodes, index + k * WIDTH);
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int k = 0; k < DIM; k++)
            edges.m[i][k] = corner[k + 1][i] - corner[0][i];
    return matrix_multiply(edges, *inverse);
}

/* Adds -V P grad N_k to every corner k, and to the fourth real V M |grad N_k|^2; row k - 1 of D_m^-1 is grad N_k, and
 * all gradients sum to 0. */
INLINE void scatter(vec4 *copies, const int32_t *index, const struct shape *shape, const matrix *P, wide modulus)
{
    const matrix H = matrix_multiply_transposed(*P, shape->inverse); /* column k - 1: P grad N_k */
    const wide stiffness = shape->volume * modulus;
    wide first[DIM], sum[DIM], size2 = wide_set(0);
    UNROLL for (int i = 0; i < DIM; i++)
        first[i] = sum[i] = wide_set(0);
    UNROLL for (int k = 0; k < DIM; k++) {
        wide force[DIM], norm2 = wide_set(0);
        UNROLL for (int i = 0; i < DIM; i++) {
            force[i] = -shape->volume * H.m[i][k];
            first[i] -= force[i];
            sum[i] += shape->inverse.m[k][i];
            norm2 = wide_fma(shape->inverse.m[k][i], shape->inverse.m[k][i], norm2);
        }
        corner_add(copies, index + (k + 1) * WIDTH, force, stiffness * norm2);
    }
    UNROLL for (int i = 0; i < DIM; i++)
        size2 = wide_fma(sum[i], sum[i], size2);
    corner_add(copies, index, first, stiffness * size2);
}

/* Copies the nodes of a task: reals [row][width] to vec4s. */
INLINE void nodes_load(vec4 *nodes, const mpm_fem_mesh *mesh, ptrdiff_t task, const real *rows, const int width)
{
    const int32_t *row = mesh->copy_row + mesh->task_copy[task];
    const int32_t count = mesh->task_copy[task + 1] - mesh->task_copy[task];
    for (int32_t i = 0; i < count; i++) {
        const real *from = rows + (ptrdiff_t)row[i] * width;
        nodes[i] = (vec4){from[0], from[1], width > 2 ? from[2] : 0, 0};
    }
}

/* The copies of a task, set to 0. */
INLINE vec4 *copies_begin(void *copies, const mpm_fem_mesh *mesh, ptrdiff_t task)
{
    vec4 *own = (vec4 *)copies + mesh->task_copy[task];
    memset(own, 0, (size_t)(mesh->task_copy[task + 1] - mesh->task_copy[task]) * sizeof *own);
    return own;
}
