/* SPDX-License-Identifier: MIT
 *
 * The nodes of a block: coordinates, walls, fields of vec4s.
 */
#pragma once
#include "mpm/kernels/pencil.h"

INLINE real *block_vec4s(void *array, ptrdiff_t block)
{
    return (real *)array + block * 4 * MPM_BLOCK_NODES;
}

INLINE real *field_nodes(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t b)
{
    return block_vec4s(grid->field[field], b);
}

/* Gives a node the heat of friction [J/kg]; `mass` is that of its own particles. */
INLINE void rub_node(const mpm_grid_pass *pass, ptrdiff_t b, int n, real mass, double heat)
{
    field_nodes(pass->grid, MPM_GRID_TEMPERATURE, b)[4 * n] += (real)heat;
    pass->reports[b].friction_heat += (double)mass * (double)(real)heat;
}

/* Does a block have broken particles around it (faces.c)? */
INLINE bool is_cracked(const mpm_grid *grid, int32_t block)
{
    return field_nodes(grid, MPM_GRID_DAMAGE, block)[2] > 0;
}

/* Where the sums of a block go: to its nodes or, if it has images, to the raw sums, which every image must find. */
INLINE real *field_sums(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t b)
{
    const int32_t fold = grid->blocks[b].fold;
    return fold >= 0 ? block_vec4s(grid->raw[field], fold) : field_nodes(grid, field, b);
}

/* The coordinates of node `n` of a block. */
INLINE void node_coordinates(const mpm_node_block *block, int n, int64_t at[DIM])
{
    for (int a = DIM - 1; a >= 0; a--, n /= BLOCK_SIDE)
        at[a] = (int64_t)block->block[a] * BLOCK_SIDE + n % BLOCK_SIDE;
}

/* The image that node `n` of block `b` is; NULL if it is in the domain and on no plane of symmetry. */
INLINE const mpm_image_node *image_of(const mpm_grid *grid, ptrdiff_t b, int n)
{
    const mpm_images *images = &grid->images;
    const int32_t fold = grid->blocks[b].fold;
    if (fold < 0)
        return NULL;
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++)
        if (images->nodes[i].node == n)
            return &images->nodes[i];
    return NULL;
}

/* The nodes of a block at or beyond walls, one bit each. */
INLINE uint64_t nodes_at_walls(const mpm_node_block *block, const int64_t cells[3])
{
    _Static_assert(MPM_BLOCK_NODES == 64, "as many as there are bits");
    const uint64_t all = UINT64_MAX;
    uint64_t found = 0;
    for (int a = DIM - 1, apart = 1; a >= 0; a--, apart *= BLOCK_SIDE) {
        const int period = apart * BLOCK_SIDE; /* of the first nodes along the axis, which come in runs of `apart` */
        const uint64_t first_nodes =
            (period < 64 ? all / ((UINT64_C(1) << period) - 1) : 1) * ((UINT64_C(1) << apart) - 1);
        const int64_t first = (int64_t)block->block[a] * BLOCK_SIDE;
        for (int k = 0; k < BLOCK_SIDE; k++)
            if (first + k <= 0 || first + k >= cells[a])
                found |= first_nodes << k * apart;
    }
    return found;
}

INLINE unsigned faces_that_hold(const int64_t at[DIM], const mpm_wall walls[6], const int64_t cells[3])
{
    return mpm_walls_holding(at, DIM, walls, cells);
}

/* Sums the copies of a block and prefetches those of the next block, whose addresses no hardware can guess. */
INLINE void sum_copies(real *node, const mpm_grid *grid, const mpm_node_block *block, const real *copies)
{
    const int32_t *list = grid->copy_list + block->first_copy, *next = list + block->copies;
    if (!block->copies) { /* it holds images of nodes of its layer, and no group touches it */
        memset(node, 0, 4 * MPM_BLOCK_NODES * sizeof(real));
        return;
    }
    const int32_t next_copies = block + 1 < grid->blocks + grid->block_count ? block[1].copies : 0;
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH) {
        for (int32_t c = 0; c < next_copies; c++)
            __builtin_prefetch(copies + (size_t)next[c] * 4 * MPM_BLOCK_NODES + n);
        wide sum = wide_load(copies + (size_t)list[0] * 4 * MPM_BLOCK_NODES + n);
        for (int32_t c = 1; c < block->copies; c++)
            sum += wide_load(copies + (size_t)list[c] * 4 * MPM_BLOCK_NODES + n);
        wide_store(node + n, sum);
    }
}

/* Repeats the mass of each node in all four of its reals. */
INLINE part part_mass(part a)
{
#if defined(MPM_ONE_LANE)
    return part_set(a[3]);
#elif WIDTH == 16
    return _mm512_permute_ps(a, 0xff);
#elif defined(MPM_ISA_AVX512)
    return _mm512_permutex_pd(a, 0xff);
#elif WIDTH == 8
    return _mm256_permute_ps(a, 0xff);
#elif defined(MPM_ISA_AVX2)
    return _mm256_permute4x64_pd(a, 0xff);
#else
    return (wide){a[3], a[3], a[3], a[3]};
#endif
}

/* a/m, and 0 where m is 0. */
INLINE part part_over(part a, part m)
{
#if defined(MPM_ONE_LANE)
    if (!(m[3] > 0))
        return part_set(0);
    return a / m;
#else
    const mask active = wide_less(wide_set(0), m);
    return wide_select(active, a / wide_select(active, m, wide_set(1)), wide_set(0));
#endif
}

/* a where m > 0, else 0. */
INLINE part part_where(part m, part a)
{
#if defined(MPM_ONE_LANE)
    if (!(m[3] > 0))
        return part_set(0);
    return a;
#else
    return wide_select(wide_less(wide_set(0), m), a, wide_set(0));
#endif
}

/* 1 for the components of a vector, 0 for the mass. */
INLINE part part_components(void)
{
    static const real pattern[16] __attribute__((aligned(64))) = {1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0};
    return part_load(pattern);
}

INLINE double part_sum(part a)
{
#if defined(MPM_ONE_LANE)
    return ((double)a[0] + (double)a[1]) + ((double)a[2] + (double)a[3]);
#else
    return wide_sum(a);
#endif
}
