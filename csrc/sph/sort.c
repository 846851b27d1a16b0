/* SPDX-License-Identifier: MIT
 *
 * Sorts the particles of a cloud by cell, and by row within a cell: a counting sort by pages, and a merge within pages
 * of many cells. Pages have one cell each while the box of cells holds no more of them than particles; so the memory
 * grows with the particles, however far a single one has flown.
 */
#include "sph/sort.h"

#include <string.h>

#include "sph/state.h"

enum { CHUNKS = 8, LEAST_CHUNK = 4096, LEAST_PAGES = 64, LEAST_COUNTS = 8192, FEW = 16 };

struct sort {
    mpm_sph *sph;
    mpm_sph_cloud *cloud;
    ptrdiff_t chunks, pages, ranges;
    int32_t first[CHUNKS]; /* per range of pages: its particles, then the place of the first */
    int64_t low[CHUNKS][3], high[CHUNKS][3];
    int64_t *raw;    /* [count] keys before sorting */
    int32_t *counts; /* [chunk][page] */
    int32_t *moved;  /* [count] scratch of merges */
};

static ptrdiff_t chunk_begin(const struct sort *sort, ptrdiff_t chunk)
{
    return sort->cloud->count * chunk / sort->chunks;
}

static void find_bounds(void *context, ptrdiff_t chunk, int thread)
{
    struct sort *sort = context;
    (void)thread;
    for (int a = 0; a < 3; a++) {
        sort->low[chunk][a] = a < sort->sph->settings.dim ? INT64_MAX : 0;
        sort->high[chunk][a] = a < sort->sph->settings.dim ? INT64_MIN : 0;
    }
    sort->sph->kernels->bounds(&sort->sph->pass, sort->cloud, chunk_begin(sort, chunk), chunk_begin(sort, chunk + 1),
                               sort->low[chunk], sort->high[chunk]);
}

/* The box of cells, and as many pages as the particles allow. */
static void make_box(struct sort *sort)
{
    mpm_sph_cloud *cloud = sort->cloud;
    int64_t cells = 1;
    for (int a = 0; a < 3; a++) {
        int64_t low = sort->low[0][a], high = sort->high[0][a];
        for (ptrdiff_t c = 1; c < sort->chunks; c++) {
            low = sort->low[c][a] < low ? sort->low[c][a] : low;
            high = sort->high[c][a] > high ? sort->high[c][a] : high;
        }
        cloud->low[a] = low;
        cloud->cells[a] = high - low + 1;
        cells *= cloud->cells[a];
    }
    const int64_t most = cloud->count > LEAST_PAGES ? cloud->count : LEAST_PAGES;
    for (cloud->shift = 0; (cells >> cloud->shift) >= most; cloud->shift++)
        ;
    sort->pages = (ptrdiff_t)(cells >> cloud->shift) + 1;
}

static void count_keys(void *context, ptrdiff_t chunk, int thread)
{
    struct sort *sort = context;
    int32_t *counts = sort->counts + chunk * sort->pages;
    const ptrdiff_t begin = chunk_begin(sort, chunk), end = chunk_begin(sort, chunk + 1);
    (void)thread;
    memset(counts, 0, (size_t)sort->pages * sizeof *counts);
    sort->sph->kernels->keys(&sort->sph->pass, sort->cloud, begin, end, sort->raw + begin);
    for (ptrdiff_t i = begin; i < end; i++)
        counts[sort->raw[i] >> sort->cloud->shift]++;
}

/* The first page of a range. */
static ptrdiff_t range_begin(const struct sort *sort, ptrdiff_t range)
{
    return sort->pages * range / sort->ranges;
}

static void sum_range(void *context, ptrdiff_t range, int thread)
{
    struct sort *sort = context;
    int32_t sum = 0;
    (void)thread;
    for (ptrdiff_t c = 0; c < sort->chunks; c++)
        for (ptrdiff_t p = range_begin(sort, range); p < range_begin(sort, range + 1); p++)
            sum += sort->counts[c * sort->pages + p];
    sort->first[range] = sum;
}

static void place_range(void *context, ptrdiff_t range, int thread)
{
    struct sort *sort = context;
    int32_t sum = sort->first[range];
    (void)thread;
    for (ptrdiff_t p = range_begin(sort, range); p < range_begin(sort, range + 1); p++) {
        sort->cloud->page[p] = sum;
        for (ptrdiff_t c = 0; c < sort->chunks; c++) {
            const int32_t count = sort->counts[c * sort->pages + p];
            sort->counts[c * sort->pages + p] = sum;
            sum += count;
        }
    }
}

/* Counts become the places of the first particles, by ranges of pages. */
static void add_up(struct sort *sort)
{
    int32_t sum = 0;
    sort->ranges = sort->pages * sort->chunks < LEAST_COUNTS ? 1 : CHUNKS;
    mpm_pool_for(sort->sph->run.pool, sum_range, sort, sort->ranges);
    for (ptrdiff_t r = 0; r < sort->ranges; r++) {
        const int32_t count = sort->first[r];
        sort->first[r] = sum;
        sum += count;
    }
    sort->cloud->page[sort->pages] = sum;
    mpm_pool_for(sort->sph->run.pool, place_range, sort, sort->ranges);
}

static void place(void *context, ptrdiff_t chunk, int thread)
{
    struct sort *sort = context;
    int32_t *next = sort->counts + chunk * sort->pages;
    (void)thread;
    for (ptrdiff_t i = chunk_begin(sort, chunk); i < chunk_begin(sort, chunk + 1); i++) {
        const int32_t at = next[sort->raw[i] >> sort->cloud->shift]++;
        sort->cloud->key[at] = sort->raw[i];
        sort->cloud->order[at] = (int32_t)i;
    }
}

/* Sorts begin .. end - 1 by key; equal keys keep their order. */
static void merge_sort(struct sort *sort, ptrdiff_t begin, ptrdiff_t end)
{
    int64_t *key = sort->cloud->key;
    int32_t *order = sort->cloud->order;
    if (end - begin <= FEW) {
        for (ptrdiff_t i = begin + 1; i < end; i++) {
            const int64_t k = key[i];
            const int32_t o = order[i];
            ptrdiff_t j = i;
            for (; j > begin && key[j - 1] > k; j--) {
                key[j] = key[j - 1];
                order[j] = order[j - 1];
            }
            key[j] = k;
            order[j] = o;
        }
        return;
    }
    const ptrdiff_t middle = begin + (end - begin) / 2;
    merge_sort(sort, begin, middle);
    merge_sort(sort, middle, end);
    memcpy(sort->raw + begin, key + begin, (size_t)(middle - begin) * sizeof *key);
    memcpy(sort->moved + begin, order + begin, (size_t)(middle - begin) * sizeof *order);
    for (ptrdiff_t i = begin, j = middle, to = begin; i < middle; to++) {
        const bool right = j < end && key[j] < sort->raw[i];
        key[to] = right ? key[j] : sort->raw[i];
        order[to] = right ? order[j] : sort->moved[i];
        *(right ? &j : &i) += 1;
    }
}

static void sort_pages(void *context, ptrdiff_t chunk, int thread)
{
    struct sort *sort = context;
    (void)thread;
    for (ptrdiff_t p = sort->pages * chunk / CHUNKS; p < sort->pages * (chunk + 1) / CHUNKS; p++)
        merge_sort(sort, sort->cloud->page[p], sort->cloud->page[p + 1]);
}

static mpm_status reserve(struct sort *sort, struct sph_cloud_memory *memory)
{
    mpm_sph *sph = sort->sph;
    mpm_sph_cloud *cloud = sort->cloud;
    if (mpm_sph_grow(sph, &memory->key, cloud->count, sizeof(int64_t)) ||
        mpm_sph_grow(sph, &memory->raw, cloud->count, sizeof(int64_t)) ||
        mpm_sph_grow(sph, &memory->order, cloud->count, sizeof(int32_t)) ||
        mpm_sph_grow(sph, &memory->moved, cloud->count, sizeof(int32_t)) ||
        mpm_sph_grow(sph, &memory->page, sort->pages + 1, sizeof(int32_t)) ||
        mpm_sph_grow(sph, &memory->counts, sort->pages * sort->chunks, sizeof(int32_t)))
        return MPM_OUT_OF_MEMORY;
    cloud->key = memory->key.data;
    cloud->order = memory->order.data;
    cloud->page = memory->page.data;
    sort->raw = memory->raw.data;
    sort->moved = memory->moved.data;
    sort->counts = memory->counts.data;
    return MPM_OK;
}

mpm_status mpm_sph_sort_cloud(mpm_sph *sph, int index)
{
    struct sort sort = {.sph = sph, .cloud = &sph->clouds[index]};
    const ptrdiff_t count = sort.cloud->count;
    if (!count)
        return MPM_OK;
    sort.chunks = count < LEAST_CHUNK ? 1 : count > CHUNKS * LEAST_CHUNK ? CHUNKS : count / LEAST_CHUNK;
    mpm_pool_for(sph->run.pool, find_bounds, &sort, sort.chunks);
    make_box(&sort);
    if (reserve(&sort, &sph->memory[index]))
        return MPM_OUT_OF_MEMORY;
    mpm_pool_for(sph->run.pool, count_keys, &sort, sort.chunks);
    add_up(&sort);
    mpm_pool_for(sph->run.pool, place, &sort, sort.chunks);
    if (sort.cloud->shift)
        mpm_pool_for(sph->run.pool, sort_pages, &sort, CHUNKS);
    return MPM_OK;
}
