/* SPDX-License-Identifier: MIT
 *
 * Sorts the particles by block, cell and their order before, and finds places and rooms of blocks. Counts and places
 * are integers, and every cell sorts its few numbers, so that the order of atomic operations has no effect.
 *
 *     count_blocks   key of every particle, particles per block
 *     mark_blocks    has a block a place, has it a room: 1 or 0
 *     scan, shift    the sums of all numbers before each
 *     list_blocks    key_of, place_of and room_of
 *     count_cells, scan, shift, put, sort_cells       start of every cell; the order
 *     move                                            all fields
 *
 * Compiled once per precision and dimension.
 */
#include "mpm/gpu/device.h"

INLINE int thread_number(void)
{
    return (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

/* The cell of a particle in its block, which may be a neighbour of the one at the last sort. A position that is no
 * number, or that has left the table, counts as one in the nearest block of the table. */
INLINE int find_block(const struct gpu_blocks *blocks, const struct gpu_particles *from, int p, int *cell)
{
    int at[3], local[3] = {0, 0, 0};
    block_at(blocks, from->key[p], at);
    for (int a = 0; a < DIM; a++) {
        const real base = wide_floor(from->x[(size_t)a * from->stride + p] - (real)0.5);
        const real side = (real)GPU_SIDE, least = -side, most = side + side - 1;
        const int from_before = (int)wide_min(wide_max(base, least), most) + GPU_SIDE;
        const int block = at[a] + from_before / GPU_SIDE - 1;
        at[a] = block < 1 ? 1 : block > blocks->count[a] - 2 ? blocks->count[a] - 2 : block;
        local[a] = from_before % GPU_SIDE;
    }
    *cell = cube_number(local, GPU_SIDE);
    return block_key(blocks, at);
}

extern "C" __global__ void count_blocks(struct gpu_blocks blocks, struct gpu_particles from, int *key, int *count)
{
    const int p = thread_number();
    int cell;
    if (p >= from.count)
        return;
    key[p] = find_block(&blocks, &from, p, &cell);
    atomicAdd(&count[key[p]], 1);
}

extern "C" __global__ void mark_blocks(struct gpu_blocks blocks, const int *count, int *has_place, int *has_room)
{
    enum { AROUND = DIM == 3 ? 27 : 9 };
    const int b = thread_number();
    if (b >= blocks.count[0] * blocks.count[1] * blocks.count[2])
        return;
    int at[3];
    bool near = false;
    block_at(&blocks, b, at);
    for (int k = 0; k < AROUND; k++) {
        int other[3];
        cube_at(k, 3, other);
        for (int a = 0; a < 3; a++)
            other[a] = a < DIM ? at[a] + other[a] - 1 : 0;
        near |= block_exists(&blocks, other) && count[block_key(&blocks, other)] > 0;
    }
    has_place[b] = count[b] > 0;
    has_room[b] = near;
}

/** out[i]: the sum of in[j] over j < i among the GPU_SCAN_THREADS numbers of a CTA; `all`: of each CTA. */
extern "C" __global__ void __launch_bounds__(GPU_SCAN_THREADS) scan(int count, const int *in, int *out, int *all)
{
    __shared__ int part[32];
    const int i = thread_number(), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int own = i < count ? in[i] : 0;
    int sum = warp_scan(own);
    if (lane == 31)
        part[warp] = sum;
    __syncthreads();
    if (warp == 0)
        part[lane] = warp_scan(part[lane]);
    __syncthreads();
    sum += warp ? part[warp - 1] : 0;
    if (i < count)
        out[i] = sum - own;
    if (threadIdx.x == GPU_SCAN_THREADS - 1)
        all[blockIdx.x] = sum;
}

/** Adds to every number of `out` what the CTAs before have: the scan of `all`. out[count] is the sum of all. */
extern "C" __global__ void __launch_bounds__(GPU_SCAN_THREADS)
    shift(int count, int *out, const int *before, const int *in)
{
    const int i = thread_number();
    if (i >= count)
        return;
    out[i] += before[blockIdx.x];
    if (i == count - 1)
        out[count] = out[i] + in[i];
}

/** `number`: scanned marks. Lists the marked blocks, and makes -1 the number of the others. */
extern "C" __global__ void list_blocks(int blocks, const int *mark, int *number, int *key_of)
{
    const int b = thread_number();
    if (b >= blocks)
        return;
    if (mark[b])
        key_of[number[b]] = b;
    else
        number[b] = -1;
}

/** The number of every particle's cell, place by place, and how many each has. */
extern "C" __global__ void count_cells(struct gpu_blocks blocks, struct gpu_particles from, const int *place_of,
                                       int *cell_of, int *count)
{
    const int p = thread_number();
    int cell;
    if (p >= from.count)
        return;
    const int key = find_block(&blocks, &from, p, &cell);
    cell_of[p] = place_of[key] * GPU_CELLS + cell;
    atomicAdd(&count[cell_of[p]], 1);
}

extern "C" __global__ void put(int particles, const int *cell_of, const int *start, int *count, int *order)
{
    const int p = thread_number();
    if (p < particles)
        order[start[cell_of[p]] + atomicSub(&count[cell_of[p]], 1) - 1] = p;
}

extern "C" __global__ void sort_cells(int cells, const int *start, int *order)
{
    const int c = thread_number();
    if (c >= cells)
        return;
    for (int i = start[c] + 1; i < start[c + 1]; i++) {
        const int own = order[i];
        int k = i;
        for (; k > start[c] && order[k - 1] > own; k--)
            order[k] = order[k - 1];
        order[k] = own;
    }
}

INLINE void move_column(const real *from, real *to, int components, int p, int q, int stride)
{
    for (int c = 0; c < components; c++)
        to[(size_t)c * stride + q] = from[(size_t)c * stride + p];
}

/** Particle order[q] becomes number q. `with_motion`: v and C are kept. */
extern "C" __global__ void move(struct gpu_blocks blocks, const int *order, const int *key, struct gpu_particles from,
                                struct gpu_particles to, int strains, int history, bool with_motion)
{
    const int q = thread_number(), stride = from.stride;
    if (q >= from.count)
        return;
    const int p = order[q];
    int before[3], at[3];
    block_at(&blocks, from.key[p], before);
    block_at(&blocks, key[p], at);
    to.key[q] = key[p];
    to.row[q] = from.row[p];
    for (int a = 0; a < DIM; a++)
        to.x[(size_t)a * stride + q] = from.x[(size_t)a * stride + p] + (real)((before[a] - at[a]) * GPU_SIDE);
    move_column(from.F, to.F, strains, p, q, stride);
    move_column(from.history, to.history, history, p, q, stride);
    move_column(from.mass, to.mass, 1, p, q, stride);
    move_column(from.volume, to.volume, 1, p, q, stride);
    if (with_motion) {
        move_column(from.v, to.v, DIM, p, q, stride);
        move_column(from.C, to.C, DIM * DIM, p, q, stride);
    }
}
