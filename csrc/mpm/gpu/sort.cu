/* SPDX-License-Identifier: MIT
 *
 * Sorts the particles by block, material, cell and their order before, and finds places and rooms of blocks. Counts and
 * places are integers, and every cell sorts its few numbers, so that the order of atomic operations has no effect.
 *
 *     count_blocks   key of every particle, particles per block and material
 *     mark_blocks    has such a pair a place, has a block a room: 1 or 0
 *     scan, shift    the sums of all numbers before each
 *     list_blocks    key_of, place_of and room_of
 *     count_cells, scan, shift, put, sort_cells       start of every cell; the order
 *     move                                            all fields
 *     show_places                                     positions for users
 *
 * Compiled once per precision and dimension.
 */
#include "mpm/gpu/device.h"

INLINE int thread_number(void)
{
    return (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

/* Where a particle is: its block, which may be a neighbour of the one at the last sort, and its cell there; `moved`:
 * the first node of the old block less that of the new one [cells]. Beyond a periodic face it enters at the opposite
 * one. A position that is no number, or that has left the table, counts as one in the nearest block of the table. */
struct spot {
    int key, cell, moved[3];
};

INLINE struct spot find_spot(const struct gpu_blocks *blocks, const struct gpu_particles *from, int p)
{
    int at[3], local[3] = {0, 0, 0};
    struct spot spot = {};
    pair_at(blocks, from->key[p], at);
    for (int a = 0; a < DIM; a++) {
        const real x = from->x[(size_t)a * from->stride + p], base = wide_floor(x - (real)0.5);
        const real side = (real)GPU_SIDE, least = -side, most = side + side - 1;
        const int from_before = (int)wide_min(wide_max(base, least), most), before = at[a] * GPU_SIDE;
        int first = before + from_before; /* node of the stencil, from that of the table */
        if (blocks->period[a]) {
            const double place = (double)(before - GPU_MARGIN * GPU_SIDE) + (double)x;
            spot.moved[a] = place < 0 ? blocks->period[a] : place >= blocks->period[a] ? -blocks->period[a] : 0;
            first = first + spot.moved[a] > 0 ? first + spot.moved[a] : 0;
        }
        const int block = first / GPU_SIDE;
        at[a] = block < 1 ? 1 : block > blocks->count[a] - 2 ? blocks->count[a] - 2 : block;
        local[a] = first % GPU_SIDE;
        spot.moved[a] += before - at[a] * GPU_SIDE;
    }
    spot.cell = cube_number(local, GPU_SIDE);
    spot.key = pair_key(blocks, block_key(blocks, at), from->key[p] % blocks->materials);
    return spot;
}

extern "C" __global__ void count_blocks(struct gpu_blocks blocks, struct gpu_particles from, int *key, int *count)
{
    const int p = thread_number();
    if (p >= from.count)
        return;
    key[p] = find_spot(&blocks, &from, p).key;
    atomicAdd(&count[key[p]], 1);
}

/* Are there particles in a block from `low` to `high`? */
INLINE bool has_particles(const struct gpu_blocks *blocks, const int *count, const int low[3], const int high[3])
{
    for (int x = low[0]; x <= high[0]; x++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int z = low[2]; z <= high[2]; z++) {
                const int at[3] = {x, y, z}, first = pair_key(blocks, block_key(blocks, at), 0);
                for (int m = 0; m < blocks->materials; m++)
                    if (count[first + m] > 0)
                        return true;
            }
    return false;
}

/* A pair of block and material has a place if it has particles. A block has a room if there are particles in a block
 * around it. Across a periodic face, the images of these count, too: a particle that a sort moves there reads the
 * velocities of the pass before. */
extern "C" __global__ void mark_blocks(struct gpu_blocks blocks, const int *count, int *has_place, int *has_room)
{
    const int b = thread_number();
    if (b >= blocks.count[0] * blocks.count[1] * blocks.count[2])
        return;
    int at[3], shifts = 1;
    bool near = false;
    block_at(&blocks, b, at);
    for (int a = 0; a < DIM; a++)
        shifts *= blocks.period[a] ? 3 : 1;
    for (int k = 0; k < shifts && !near; k++) {
        int low[3] = {0, 0, 0}, high[3] = {0, 0, 0};
        for (int a = 0, rest = k; a < DIM; a++) {
            const int shift = blocks.period[a] ? (rest % 3 - 1) * blocks.period[a] : 0;
            const int first = (at[a] - 1) * GPU_SIDE + shift, last = (at[a] + 2) * GPU_SIDE - 1 + shift;
            rest /= blocks.period[a] ? 3 : 1;
            low[a] = first > 0 ? first / GPU_SIDE : 0;
            high[a] = last < 0 ? -1 : last / GPU_SIDE < blocks.count[a] ? last / GPU_SIDE : blocks.count[a] - 1;
        }
        near = has_particles(&blocks, count, low, high);
    }
    for (int m = 0; m < blocks.materials; m++) {
        const int pair = pair_key(&blocks, b, m);
        has_place[pair] = count[pair] > 0;
    }
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
    if (p >= from.count)
        return;
    const struct spot spot = find_spot(&blocks, &from, p);
    cell_of[p] = place_of[spot.key] * GPU_CELLS + spot.cell;
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
    const struct spot spot = find_spot(&blocks, &from, p);
    to.key[q] = key[p];
    to.row[q] = from.row[p];
    for (int a = 0; a < DIM; a++)
        to.x[(size_t)a * stride + q] = from.x[(size_t)a * stride + p] + (real)spot.moved[a];
    move_column(from.F, to.F, strains, p, q, stride);
    move_column(from.history, to.history, history, p, q, stride);
    move_column(from.mass, to.mass, 1, p, q, stride);
    move_column(from.volume, to.volume, 1, p, q, stride);
    if (with_motion) {
        move_column(from.v, to.v, DIM, p, q, stride);
        move_column(from.C, to.C, DIM * DIM, p, q, stride);
    }
}

/** Positions as users see them [m]: those beyond a periodic face are wrapped. */
extern "C" __global__ void show_places(struct gpu_blocks blocks, struct gpu_particles from, struct gpu_frame frame,
                                       real *x)
{
    const int p = thread_number();
    if (p >= from.count)
        return;
    int at[3];
    pair_at(&blocks, from.key[p], at);
    for (int a = 0; a < DIM; a++) {
        const size_t i = (size_t)a * from.stride + p;
        const double period = blocks.period[a], first = (at[a] - GPU_MARGIN) * GPU_SIDE;
        double cells = first + (double)from.x[i];
        cells += period > 0 && cells < 0 ? period : period > 0 && cells >= period ? -period : 0;
        x[i] = (real)(frame.lower[a] + cells * frame.dx);
        if (period > 0 && x[i] >= (real)(frame.lower[a] + period * frame.dx)) /* rounded up to the face */
            x[i] = (real)frame.lower[a];
    }
}
