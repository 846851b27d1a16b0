/* SPDX-License-Identifier: MIT
 *
 * What is done at nodes, and how reports of CTAs become one. Compiled once per precision and dimension.
 */
#include "mpm/gpu/device.h"

#include "contact/collision.h"

/* Momentum and mass of a node: along every axis the tile of its own block holds it, and that of one neighbour. */
INLINE struct gpu_vec4 sum_tiles(const struct gpu_pass *pass, const int block[3], const int local[3])
{
    struct gpu_vec4 sum = {};
    for (int k = 0; k < 1 << DIM; k++) {
        int from[3] = {0, 0, 0}, at[3] = {0, 0, 0};
        bool holds = true;
        for (int a = 0; a < DIM; a++) {
            const int neighbour = local[a] <= 2 ? -1 : local[a] == GPU_SIDE - 1 ? 1 : 0;
            const int step = k >> a & 1 ? neighbour : 0;
            holds &= !(k >> a & 1) || neighbour;
            from[a] = block[a] + step;
            at[a] = local[a] - step * GPU_SIDE + 1;
        }
        const int place = holds && block_exists(&pass->blocks, from) ? pass->place_of[block_key(&pass->blocks, from)]
                                                                     : -1;
        if (place < 0)
            continue;
        const struct gpu_vec4 part =
            vec4_load(&pass->tiles[(size_t)place * GPU_TILE + cube_number(at, GPU_TILE_SIDE)]);
        UNROLL for (int b = 0; b < 4; b++)
            sum.c[b] += part.c[b];
    }
    return sum;
}

/* Applies the walls to a node, and adds the momentum that they give it to `impulse`. */
INLINE void touch_walls(const struct gpu_pass *pass, const int block[3], const int local[3], struct gpu_vec4 *node,
                        double impulse[3])
{
    int64_t at[3] = {0, 0, 0}, cells[3];
    double v[3] = {0, 0, 0};
    for (int a = 0; a < DIM; a++) {
        at[a] = (int64_t)(block[a] - GPU_MARGIN) * GPU_SIDE + local[a];
        v[a] = (double)node->c[a];
    }
    for (int a = 0; a < 3; a++)
        cells[a] = pass->cells[a];
    const unsigned held = mpm_walls_holding(at, DIM, pass->walls, cells);
    if (!held)
        return;
    mpm_collision_apply_walls(v, pass->walls, held);
    for (int a = 0; a < DIM; a++) {
        const real before = node->c[a];
        node->c[a] = (real)v[a];
        impulse[a] = (double)node->c[3] * ((double)node->c[a] - (double)before);
    }
}

/* Reports of the nodes with mass; a velocity that is not finite makes the speed infinite. */
INLINE void report_nodes(const struct gpu_vec4 *node, const double impulse[3], struct gpu_report *report,
                         double part[2][GPU_MAXIMA + 3])
{
    double value[GPU_MAXIMA + 3];
    bool finite = true;
    const bool has_mass = node->c[3] > 0;
    value[GPU_NODE_SPEED] = 0;
    for (int a = 0; a < 3; a++) {
        const double v = a < DIM && has_mass ? (double)node->c[a] : 0;
        finite &= v - v == 0;
        value[GPU_HIGHEST + a] = has_mass ? v : -__builtin_inf();
        value[GPU_FALLEST + a] = has_mass ? -v : -__builtin_inf();
        value[GPU_NODE_SPEED] = fabs(v) > value[GPU_NODE_SPEED] ? fabs(v) : value[GPU_NODE_SPEED];
        value[GPU_MAXIMA + a] = impulse[a];
    }
    if (!finite || !(node->c[3] - node->c[3] == 0))
        value[GPU_NODE_SPEED] = __builtin_inf();
    for (int k = 0; k < GPU_MAXIMA + 3; k++) {
        const bool adds = k >= GPU_MAXIMA;
        const double all = adds ? warp_sum(value[k]) : warp_most(value[k]);
        if (threadIdx.x % 32 == 0)
            part[threadIdx.x / 32][k] = all;
    }
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int k = 0; k < GPU_SUMS; k++)
        report->sum[k] = k < 3 ? part[0][GPU_MAXIMA + k] + part[1][GPU_MAXIMA + k] : 0;
    for (int k = 0; k < GPU_MAXIMA; k++)
        report->most[k] = part[0][k] > part[1][k] ? part[0][k] : part[1][k];
}

/** Velocities after forces, gravity and walls. A CTA of GPU_CELLS threads takes the nodes of a room. */
extern "C" __global__ void __launch_bounds__(GPU_CELLS) move_nodes(struct gpu_pass pass)
{
    __shared__ double part[2][GPU_MAXIMA + 3];
    int block[3], local[3];
    double impulse[3] = {0, 0, 0};
    block_at(&pass.blocks, pass.key_of[blockIdx.x], block);
    cube_at(threadIdx.x, GPU_SIDE, local);
    struct gpu_vec4 node = sum_tiles(&pass, block, local);
    for (int a = 0; a < 3; a++)
        node.c[a] = node.c[3] > 0 && a < DIM ? node.c[a] / node.c[3] + (real)(pass.dt * pass.gravity[a]) : 0;
    if (node.c[3] > 0)
        touch_walls(&pass, block, local, &node, impulse);
    vec4_store(&pass.velocity[(size_t)blockIdx.x * GPU_CELLS + threadIdx.x], node.c[0], node.c[1], node.c[2],
               node.c[3]);
    report_nodes(&node, impulse, &pass.reports[blockIdx.x], part);
}

/** The velocities that rooms of a new table have in an older one; 0 where they are in none. */
extern "C" __global__ void __launch_bounds__(GPU_CELLS)
    take_nodes(const int *key_of, const int *older_room_of, const struct gpu_vec4 *older, struct gpu_vec4 *velocity)
{
    const int room = older_room_of[key_of[blockIdx.x]];
    struct gpu_vec4 node = {};
    if (room >= 0)
        node = vec4_load(&older[(size_t)room * GPU_CELLS + threadIdx.x]);
    vec4_store(&velocity[(size_t)blockIdx.x * GPU_CELLS + threadIdx.x], node.c[0], node.c[1], node.c[2], node.c[3]);
}

/** Report i of `out`: the sums and maxima of reports 256 i .. 256 i + 255 of `in`. Launched until one is left. */
extern "C" __global__ void __launch_bounds__(GPU_SORT_THREADS)
    add_reports(int count, const struct gpu_report *in, struct gpu_report *out)
{
    __shared__ double part[GPU_SORT_THREADS / 32];
    const int i = blockIdx.x * GPU_SORT_THREADS + threadIdx.x;
    for (int k = 0; k < (int)GPU_SUMS + (int)GPU_MAXIMA; k++) {
        const bool adds = k < GPU_SUMS;
        double a = adds ? 0 : -__builtin_inf();
        if (i < count)
            a = adds ? in[i].sum[k] : in[i].most[k - GPU_SUMS];
        a = adds ? warp_sum(a) : warp_most(a);
        if (threadIdx.x % 32 == 0)
            part[threadIdx.x / 32] = a;
        __syncthreads();
        for (int w = 1; threadIdx.x == 0 && w < GPU_SORT_THREADS / 32; w++)
            a = adds ? a + part[w] : part[w] > a ? part[w] : a;
        if (threadIdx.x == 0)
            *(adds ? &out[blockIdx.x].sum[k] : &out[blockIdx.x].most[k - GPU_SUMS]) = a;
        __syncthreads();
    }
}
