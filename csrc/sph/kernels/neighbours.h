/* SPDX-License-Identifier: MIT
 *
 * The list of a tile: all slots within the support of any of its particles, cloud by cloud, by cells and rows.
 */
#pragma once
#include "sph/kernels/smoothing.h"

/* A list that is being made. */
struct neighbours {
    int32_t *entries; /* NULL: no room */
    size_t count, room;
};

/* The box of a tile's particles. */
struct tile_box {
    real low[DIM], high[DIM];
};

INLINE struct tile_box box_of(const mpm_sph_pass *pass, const mpm_sph_tile *tile)
{
    struct tile_box box;
    for (int a = 0; a < DIM; a++) {
        const real *x = (const real *)pass->place[a] + tile->slot;
        box.low[a] = box.high[a] = x[0];
        for (int q = 1; q < tile->count; q++) {
            box.low[a] = x[q] < box.low[a] ? x[q] : box.low[a];
            box.high[a] = x[q] > box.high[a] ? x[q] : box.high[a];
        }
    }
    return box;
}

/* Appends slots first .. first + WIDTH - 1 whose bit is set. */
INLINE size_t append_slots(int32_t *to, size_t count, int32_t first, unsigned bits)
{
#if defined(MPM_ISA_AVX512) && REAL_IS_FLOAT
    const __m512i slots = _mm512_add_epi32(_mm512_set1_epi32(first), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                                                                       11, 12, 13, 14, 15));
    _mm512_mask_compressstoreu_epi32(to + count, (__mmask16)bits, slots);
    return count + (size_t)__builtin_popcount(bits);
#elif defined(MPM_ISA_AVX512)
    const __m256i slots = _mm256_add_epi32(_mm256_set1_epi32(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    _mm256_mask_compressstoreu_epi32(to + count, (__mmask8)bits, slots);
    return count + (size_t)__builtin_popcount(bits);
#else
    for (int q = 0; q < WIDTH; q++) { /* without a branch: most bits are unpredictable */
        to[count] = first + q;
        count += bits >> q & 1;
    }
    return count;
#endif
}

/* Appends the particles first .. end - 1 of a cloud that are within `reach` of the box. */
INLINE void append_run(const mpm_sph_pass *pass, const struct tile_box *box, real reach, ptrdiff_t first, ptrdiff_t end,
                       struct neighbours *list)
{
    const wide zero = wide_set(0), reach2 = wide_set(reach * reach);
    if (list->count + (size_t)(end - first) + MPM_SPH_MOST_LANES > list->room) {
        list->entries = NULL;
        return;
    }
    for (ptrdiff_t j = first; j < end; j += WIDTH) {
        wide distance2 = zero;
        for (int a = 0; a < DIM; a++) {
            const wide x = wide_load_any((const real *)pass->place[a] + j);
            const wide apart = wide_max(wide_max(wide_set(box->low[a]) - x, x - wide_set(box->high[a])), zero);
            distance2 = wide_fma(apart, apart, distance2);
        }
        unsigned bits = mask_bits(wide_less(distance2, reach2));
        if (end - j < WIDTH)
            bits &= (1u << (end - j)) - 1;
        list->count = append_slots(list->entries, list->count, (int32_t)j, bits);
    }
}

INLINE void append_cloud(const mpm_sph_pass *pass, const mpm_sph_cloud *cloud, const struct tile_box *box, real reach,
                         struct neighbours *list)
{
    int64_t low[3] = {0}, high[3] = {0};
    for (int a = 0; a < DIM; a++) {
        const real from = (box->low[a] - reach - (real)pass->origin[a]) * (real)pass->inverse_side;
        const real to = (box->high[a] + reach - (real)pass->origin[a]) * (real)pass->inverse_side;
        low[a] = (int64_t)from - ((real)(int64_t)from > from) - cloud->low[a];
        high[a] = (int64_t)to - ((real)(int64_t)to > to) - cloud->low[a];
        low[a] = low[a] > 0 ? low[a] : 0;
        high[a] = high[a] < cloud->cells[a] - 1 ? high[a] : cloud->cells[a] - 1;
        if (low[a] > high[a])
            return;
    }
    for (int64_t z = low[2]; z <= high[2]; z++)
        for (int64_t y = low[1]; y <= high[1]; y++) {
            const int64_t line = ((DIM == 3 ? z * cloud->cells[1] : 0) + y) * cloud->cells[0];
            const ptrdiff_t first = mpm_sph_find(cloud, line + low[0]), end = mpm_sph_find(cloud, line + high[0] + 1);
            if (list->entries && first < end)
                append_run(pass, box, reach, cloud->first + first, cloud->first + end, list);
        }
}

/* Is the box within `reach` of a face? Images are no neighbours of others. */
INLINE bool is_near_face(const mpm_sph_pass *pass, const struct tile_box *box, real reach)
{
    bool near = false;
    for (int a = 0; a < DIM; a++)
        near |= box->low[a] - (real)pass->lower[a] < reach || (real)pass->upper[a] - box->high[a] < reach;
    return near;
}

/* Makes the candidates of a tile, behind room for the ends of the clouds' parts, which it sets; false: no room. */
INLINE bool find_neighbours(const mpm_sph_pass *pass, const mpm_sph_tile *tile, const mpm_sph_lists *lists)
{
    const real reach = (real)(2 * pass->h) * SUPPORT_MARGIN;
    const struct tile_box box = box_of(pass, tile);
    const size_t begin = tile->list + (size_t)pass->cloud_count;
    if (begin > lists->capacity)
        return false;
    const bool near_face = is_near_face(pass, &box, reach);
    struct neighbours list = {lists->entries + begin, 0, lists->capacity - begin};
    for (int c = 0; c < pass->cloud_count; c++) {
        const mpm_sph_cloud *cloud = &pass->clouds[c];
        const bool beyond = c == MPM_SPH_PERIODIC || c == MPM_SPH_IMAGES;
        if (cloud->count && (!beyond || near_face) && list.entries)
            append_cloud(pass, cloud, &box, reach, &list);
        lists->entries[tile->list + (size_t)c] = (int32_t)list.count;
    }
    return list.entries != NULL;
}
