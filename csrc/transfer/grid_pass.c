/* SPDX-License-Identifier: MIT
 *
 * The grid pass, one block of nodes at a time:
 *
 *     m, p = sum of the tasks' copies, in task order
 *     v = p/m + dt g,  then the colliders and, last, the walls, so that nothing is pushed out of the domain;
 *     what they change is their impulse on the material
 */
#include <math.h>

#include "transfer/collide.h"

/* The mass of each record in all of its four reals. */
INLINE wide spread_mass(wide a)
{
#if defined(MPM_ONE_LANE)
    return a;
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

INLINE void sum_copies(real *node, const mpm_grid *grid, const mpm_node_block *block)
{
    const int32_t *list = grid->copy_list + block->first_copy;
    const real *copies = grid->copies;
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH) {
        wide sum = wide_load(copies + (size_t)list[0] * 4 * MPM_BLOCK_NODES + n);
        for (int32_t c = 1; c < block->copies; c++)
            sum += wide_load(copies + (size_t)list[c] * 4 * MPM_BLOCK_NODES + n);
        wide_store(node + n, sum);
    }
}

/* Momentum to velocity, with gravity; nodes without mass rest. The mass stays in the fourth real. */
INLINE void to_velocity(real *node, const mpm_grid_pass *pass)
{
    real gravity[4] = {0};
    for (int a = 0; a < DIM; a++)
        gravity[a] = (real)(pass->dt * pass->gravity[a]);
#if defined(MPM_ONE_LANE)
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        const real m = node[n + 3];
        for (int a = 0; a < DIM; a++)
            node[n + a] = m > 0 ? node[n + a] / m + gravity[a] : 0;
    }
#else
    real pattern[WIDTH] __attribute__((aligned(64))), is_mass[WIDTH] __attribute__((aligned(64)));
    for (int q = 0; q < WIDTH; q++) {
        pattern[q] = gravity[q % 4];
        is_mass[q] = q % 4 == 3;
    }
    const wide g = wide_load(pattern), zero = wide_set(0);
    const mask in_mass = wide_less(zero, wide_load(is_mass));
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH) {
        const wide p = wide_load(node + n), m = spread_mass(p);
        const mask active = wide_less(zero, m);
        const wide v = wide_select(active, p / wide_select(active, m, wide_set(1)) + g, zero);
        wide_store(node + n, wide_select(in_mass, m, v));
    }
#endif
}

/* One wall and one node: see contact/walls.h. `into` is +1 where the domain lies above the face, -1 below. */
static void touch_wall(real v[4], int axis, real into, const mpm_wall *wall)
{
    if (wall->contact == MPM_STICKY) {
        v[0] = v[1] = v[2] = 0;
        return;
    }
    const real normal = into * v[axis];
    if (wall->contact == MPM_SEPARATE && normal >= 0)
        return;
    v[axis] = 0;
    if (wall->friction == 0 || normal >= 0)
        return;
    real tangent2 = 0;
    for (int a = 0; a < DIM; a++)
        tangent2 += v[a] * v[a];
    const real lost = (real)wall->friction * -normal;
    const real tangent = REAL_IS_FLOAT ? (real)__builtin_sqrtf((float)tangent2) : (real)__builtin_sqrt((double)tangent2);
    const real kept = tangent <= lost ? 0 : 1 - lost / tangent;
    for (int a = 0; a < DIM; a++)
        v[a] *= kept;
}

/* Node coordinates of node `n` of a block. */
INLINE void node_coordinates(const mpm_node_block *block, int n, int64_t at[DIM])
{
    for (int a = DIM - 1; a >= 0; a--, n /= BLOCK_SIDE)
        at[a] = (int64_t)block->block[a] * BLOCK_SIDE + n % BLOCK_SIDE;
}

static bool reaches_wall(const mpm_node_block *block, const mpm_grid_pass *pass)
{
    for (int a = 0; a < DIM; a++) {
        const int64_t first = (int64_t)block->block[a] * BLOCK_SIDE;
        if (first <= 0 || first + BLOCK_SIDE - 1 >= pass->cells[a])
            return true;
    }
    return false;
}

NOINLINE void apply_walls(real *node, const mpm_node_block *block, const mpm_grid_pass *pass, double impulse[3])
{
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        real *v = node + 4 * n;
        const real m = v[3], before[3] = {v[0], v[1], v[2]};
        if (!(m > 0))
            continue;
        int64_t at[DIM];
        node_coordinates(block, n, at);
        for (int a = 0; a < DIM; a++) {
            if (at[a] <= 0)
                touch_wall(v, a, 1, &pass->walls[2 * a]);
            if (at[a] >= pass->cells[a])
                touch_wall(v, a, -1, &pass->walls[2 * a + 1]);
        }
        for (int a = 0; a < DIM; a++)
            impulse[a] += (double)m * ((double)v[a] - (double)before[a]);
    }
}

/* Extremes of the velocity components; anything that is not finite makes the speed infinite. */
INLINE void report_motion(const real *node, mpm_block_report *report)
{
    real low[4] = {0}, high[4] = {0};
    bool finite = true;
#if defined(MPM_ONE_LANE)
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n++) {
        const real v = node[n];
        finite &= v - v == 0;
        low[n % 4] = v < low[n % 4] ? v : low[n % 4];
        high[n % 4] = v > high[n % 4] ? v : high[n % 4];
    }
#else
    wide lowest = wide_set(0), highest = lowest, defect = lowest;
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH) {
        const wide v = wide_load(node + n);
        lowest = wide_min(v, lowest);
        highest = wide_max(v, highest);
        defect += v - v; /* NaN from the first value that is not finite */
    }
    finite = !mask_any(mask_not(wide_less_equal(wide_abs(defect), wide_set(0))));
    for (int q = 0; q < WIDTH; q++) {
        const real l = wide_lane(lowest, q), h = wide_lane(highest, q);
        low[q % 4] = l < low[q % 4] ? l : low[q % 4];
        high[q % 4] = h > high[q % 4] ? h : high[q % 4];
    }
#endif
    report->speed = finite ? 0 : (double)INFINITY;
    for (int a = 0; a < DIM; a++) {
        report->lowest[a] = (double)low[a];
        report->highest[a] = (double)high[a];
        const double largest = (double)(high[a] > -low[a] ? high[a] : -low[a]);
        report->speed = report->speed > largest ? report->speed : largest;
    }
}

void MPM_KERNEL(grid_pass_block)(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    real *node = (real *)pass->grid->velocity + (size_t)b * 4 * MPM_BLOCK_NODES;
    mpm_block_report *report = &pass->reports[b];
    *report = (mpm_block_report){0};
    sum_copies(node, pass->grid, block);
    to_velocity(node, pass);
    const double collider_speed =
        pass->colliders.count ? MPM_KERNEL(collide_nodes)(&pass->colliders, block, b, pass->dt, node) : -1;
    if (reaches_wall(block, pass))
        apply_walls(node, block, pass, report->impulse);
    report_motion(node, report);
    report->approach = collider_speed < 0 ? 0 : report->speed + collider_speed;
}
