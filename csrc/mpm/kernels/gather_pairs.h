/* SPDX-License-Identifier: MIT
 *
 * Grid to particles in 2-D with AVX2. The pencils (stencil_pencils.h) keep only the two components of a velocity. Such
 * a pencil of pairs is half as long: one register of floats.
 *
 * The sums of a particle are pairs too. The loop takes particles in such an order that adding and interleaving their
 * pairs yields components by lane.
 */
#pragma once
#include "mpm/kernels/stencil_pencils.h"

#define PAIR_PARTS (8 / WIDTH)
#define PAIRS_TOGETHER (WIDTH / 2)

typedef real pair __attribute__((vector_size(2 * sizeof(real)), may_alias, aligned(2 * sizeof(real))));

struct velocities {
    real nodes[ARENA_REALS / 2] __attribute__((aligned(64)));
    real fourth[ARENA_NODES];
    struct stencil stencil; /* of the tile at hand */
};

NOINLINE void velocities_read(struct velocities *velocities, const mpm_group *group, const real *grid, bool fourth)
{
    real *arena = velocities->nodes + ARENA_SLACK / 2;
    ARENA_LINES(group, group->node_block, {
        UNROLL for (int n = 0; n < nodes; n++)
            *(pair *)(arena + in_arena / 2 + 2 * n) = *(const pair *)(grid + in_grid + 4 * n);
    });
    if (!fourth)
        return;
    ARENA_LINES(group, group->node_block, {
        UNROLL for (int n = 0; n < nodes; n++)
            velocities->fourth[in_arena / 4 + n] = grid[in_grid + 4 * n + 3];
    });
}

/* The weight of the node that each real belongs to. */
INLINE wide pair_weights(const real *four, int j)
{
#if REAL_IS_FLOAT
    (void)j;
    const __m256i nodes = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_load_ps(four)), nodes);
#else
    const __m256d two = _mm256_castpd128_pd256(_mm_load_pd(four + 2 * j));
    return _mm256_permute4x64_pd(two, 0x50);
#endif
}

/* The index 0 .. 3 of the node that each real belongs to. */
INLINE wide pair_nodes(int j)
{
    static const real index[8] __attribute__((aligned(64))) = {0, 0, 1, 1, 2, 2, 3, 3};
    return wide_load(index + j * WIDTH);
}

/* Sums node values and their first moments over the pencils of particle p, which is in lane q. */
INLINE void gather_one(const struct stencil *s, const real *arena, int p, int q, wide sum[1 + DIM])
{
    const real *first = arena + (s->offset[q] >> 1); /* pairs are half as long as vec4s */
    UNROLL for (int j = 0; j < PAIR_PARTS; j++) {
        wide pencil[PENCILS], value[1 + DIM];
        UNROLL for (int r = 0; r < PENCILS; r++)
            pencil[r] = wide_load_any(first + pencil_position(r) / 2 + j * WIDTH);
        const wide along = pair_weights(s->along[p], j);
        const wide plus = wide_set(s->across[2][q]) * pencil[2], minus = wide_set(s->across[0][q]) * pencil[0];
        value[0] = wide_fma(wide_set(s->across[1][q]), pencil[1], plus + minus) * along;
        value[1] = (plus - minus) * along;
        value[2] = value[0] * pair_nodes(j);
        UNROLL for (int k = 0; k < 1 + DIM; k++)
            if (j == 0)
                sum[k] = value[k];
            else
                sum[k] += value[k];
    }
}

/* {lower half of a + upper half of a, the same of b} */
INLINE wide halves_sum(wide a, wide b)
{
#if REAL_IS_FLOAT
    return _mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31);
#else
    return _mm256_permute2f128_pd(a, b, 0x20) + _mm256_permute2f128_pd(a, b, 0x31);
#endif
}

/* Sums the pencil of each of PAIRS_TOGETHER particles over its nodes, as (n0 + n2) + (n1 + n3). */
INLINE wide pair_sums(const wide pencil[PAIRS_TOGETHER])
{
#if REAL_IS_FLOAT
    const __m256d a = (__m256d)halves_sum(pencil[0], pencil[1]), b = (__m256d)halves_sum(pencil[2], pencil[3]);
    return (wide)_mm256_unpacklo_pd(a, b) + (wide)_mm256_unpackhi_pd(a, b);
#else
    return halves_sum(pencil[0], pencil[1]); /* the caller has already added the parts, to n0 + n2 and n1 + n3 */
#endif
}

/* The lane of the i-th particle of group g, so that `components` returns components by lane. */
INLINE int pair_lane(int g, int i)
{
    return REAL_IS_FLOAT ? 2 * g + i % 2 * 4 + i / 2 : g + 2 * i;
}

INLINE void components(const wide pairs[2], wide component[DIM])
{
#if REAL_IS_FLOAT
    component[0] = _mm256_shuffle_ps(pairs[0], pairs[1], 0x88);
    component[1] = _mm256_shuffle_ps(pairs[0], pairs[1], 0xdd);
#else
    component[0] = _mm256_unpacklo_pd(pairs[0], pairs[1]);
    component[1] = _mm256_unpackhi_pd(pairs[0], pairs[1]);
#endif
}

/* The sum of the fourth reals, particle by particle. */
INLINE wide gather_fourth(const struct velocities *velocities, const wide x[DIM])
{
    wide weight[DIM][3], first[DIM], result = wide_set(0);
    UNROLL for (int a = 0; a < DIM; a++) {
        wide e;
        first[a] = arena_first(quadratic_weights(x[a], weight[a], &e));
    }
    for (int q = 0; q < WIDTH; q++) {
        const real *node = velocities->fourth + (int)first[0][q] * ARENA_SIDE + (int)first[1][q];
        real sum = 0;
        UNROLL for (int i = 0; i < 3; i++)
            UNROLL for (int j = 0; j < 3; j++)
                sum += weight[0][i][q] * weight[1][j][q] * node[i * ARENA_SIDE + j];
        result[q] = sum;
    }
    return result;
}

/* `x`: in cells from the block's first node. `middle`: particle minus the origin node of the moments, in cells.
 * `fourth`: the sum of the fourth reals, if it was read; or NULL. */
INLINE void stencil_gather(struct velocities *velocities, const wide x[DIM], wide v[DIM], wide moment[DIM][DIM],
                           wide middle[DIM], wide *fourth)
{
    struct stencil *s = &velocities->stencil;
    wide pairs[1 + DIM][2];
    stencil_prepare(s, x);
    UNROLL for (int a = 0; a < DIM; a++)
        middle[a] = s->middle[a];
    UNROLL for (int g = 0; g < 2; g++) {
        wide sum[1 + DIM][PAIRS_TOGETHER];
        UNROLL for (int i = 0; i < PAIRS_TOGETHER; i++) {
            const int q = pair_lane(g, i), p = particle_of(q);
            wide one[1 + DIM];
            gather_one(s, velocities->nodes + ARENA_SLACK / 2, p, q, one);
            UNROLL for (int k = 0; k < 1 + DIM; k++)
                sum[k][i] = one[k];
        }
        UNROLL for (int k = 0; k < 1 + DIM; k++)
            pairs[k][g] = pair_sums(sum[k]);
    }
    components(pairs[0], v);
    UNROLL for (int a = 0; a < DIM; a++)
        components(pairs[1 + a], moment[a]);
    if (fourth)
        *fourth = gather_fourth(velocities, x);
}
