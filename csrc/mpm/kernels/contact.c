/* SPDX-License-Identifier: MIT
 *
 * The moments of the volume around nodes, from which contact between layers finds normals and gaps (contact/layers.h):
 *
 *     W = sum w V,  g = sum V h grad w (by the particle),  s = sum w V r,  S = sum w V r r^T,  r = (x_p - x_i)/h
 *
 * with V = J V0. They are scattered after P2G and do not depend on dt. Only the groups near places with several layers
 * take part, and only the copies of these places are written. The vec4s of the fields (mpm/memory/grid_fields.h) are
 *
 *     2-D   {g_x, g_y, S_xx, W}, {s_x, s_y, S_yy, S_xy}
 *     3-D   {g_x, g_y, g_z, W}, {s_x, s_y, s_z, S_xy}, {S_xx, S_yy, S_zz, S_xz}, {S_yz, 0, 0, 0}
 *
 * Each real is a product of factors of the axes: the weight w, its slope d, w r or w r^2.
 */
#include "mpm/kernels/any_scheme.h"

enum { ROWS = DIM == 3 ? 4 : 2 };
static const mpm_grid_field fields[4] = {MPM_GRID_MOMENTS_0, MPM_GRID_MOMENTS_1, MPM_GRID_MOMENTS_2,
                                         MPM_GRID_MOMENTS_3};

/* Which factor of an axis a real has. */
enum factor { NONE, W_, D_, R_, RR, FACTORS };
static const uint8_t factors[DIM][ROWS][4] = {
#if DIM == 2
    {{D_, W_, RR, W_}, {R_, W_, W_, R_}},
    {{W_, D_, W_, W_}, {W_, R_, RR, R_}},
#else
    {{D_, W_, W_, W_}, {R_, W_, W_, R_}, {RR, W_, W_, R_}, {W_, NONE, NONE, NONE}},
    {{W_, D_, W_, W_}, {W_, R_, W_, R_}, {W_, RR, W_, W_}, {R_, NONE, NONE, NONE}},
    {{W_, W_, D_, W_}, {W_, W_, R_, W_}, {W_, W_, RR, R_}, {R_, NONE, NONE, NONE}},
#endif
};

/* The factors along pencils, by row: 1 where a real has this factor. */
struct patterns {
    part along[ROWS][FACTORS];
};

static struct patterns make_patterns(void)
{
    struct patterns patterns;
    real ones[16] __attribute__((aligned(64)));
    for (int r = 0; r < ROWS; r++)
        for (int f = 0; f < FACTORS; f++) {
            for (int c = 0; c < 16; c++)
                ones[c] = factors[DIM - 1][r][c % 4] == f;
            patterns.along[r][f] = part_load(ones);
        }
    return patterns;
}

/* The four factors of node k across pencils. */
INLINE node4 across_factors(const struct stencil *s, int axis, int row, int k, int q, real e)
{
    const real w = s->weight[axis][k][q], r = e - (real)k;
    const real of[FACTORS] = {0, w, s->slope[axis][k][q], w * r, w * r * r};
    node4 four;
    UNROLL for (int c = 0; c < 4; c++)
        four[c] = of[factors[axis][row][c]];
    return four;
}

/* Adds particle p of the tile, in lane q, with the volume V. */
INLINE void add_particle(const struct stencil *s, const struct patterns *patterns, real *const arenas[ROWS], int p,
                         int q, real V, const int degree)
{
    real e[DIM];
    UNROLL for (int a = 0; a < DIM; a++)
        e[a] = wide_lane(s->e[a], q);
    part along[ROWS][PENCIL_PARTS];
    UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
        const part w = pencil_weights(s->along[p], j), d = pencil_weights(s->along_slope[p], j);
        const part r = part_set(e[DIM - 1]) - pencil_nodes(j), wr = w * r, wrr = wr * r;
        UNROLL for (int row = 0; row < ROWS; row++) {
            const part *of = patterns->along[row];
            along[row][j] = part_fma(of[W_], w, part_fma(of[D_], d, part_fma(of[R_], wr, of[RR] * wrr)));
        }
    }
    for (int i = 0; i <= degree; i++)
        for (int k = 0; k <= (DIM == 3 ? degree : 0); k++)
            UNROLL for (int row = 0; row < ROWS; row++) {
                node4 four = V * across_factors(s, 0, row, i, q, e[0]);
                if (DIM == 3)
                    four *= across_factors(s, DIM - 2, row, k, q, e[DIM - 2]);
                real repeated[4] __attribute__((aligned(64)));
                memcpy(repeated, &four, sizeof repeated);
                UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
                    real *at = arenas[row] + s->offset[q] + part_position(i, k, j);
                    part_store(at, part_fma(pencil_repeat(repeated), along[row][j], part_load(at)));
                }
            }
}

/* The shared copies of the task where the group can reach; false: there are none. */
INLINE bool find_copies(const mpm_grid *grid, const mpm_group *group, int32_t copies[MPM_NEIGHBOURS])
{
    bool any = false;
    for (int k = 0; k < (DIM == 3 ? 27 : 9); k++) {
        copies[k] = group->copy[k] < 0 ? -1 : grid->shared_copy[group->copy[k]];
        any |= copies[k] >= 0;
    }
    return any;
}

static void moments_of_group(const mpm_sweep *sweep, const mpm_group *group, const int32_t copies[MPM_NEIGHBOURS],
                             struct workspace *work)
{
    const mpm_material *material = &sweep->materials[group->material];
    const int law = mpm_material_kernel_law(material), history = law_history(law, material);
    const struct constants k = group_constants(sweep, (struct durations){0}, group);
    const bool keeps_J = law_keeps_J(material->law);
    const struct patterns patterns = make_patterns();
    const double h = sweep->dx;
    const wide cell = wide_set((real)(DIM == 3 ? 1 / (h * h * h) : 1 / (h * h)));
    real *const all[4] = {work->momentum, work->impulse, work->midpoint, work->spin};
    real *arenas[ROWS];
    for (int r = 0; r < ROWS; r++) {
        memset(all[r], 0, sizeof(arena));
        arenas[r] = all[r] + ARENA_SLACK;
    }
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, keeps_J, false);
        tile_load_history(&tile, sweep->particles, group->first_tile + t, material, history);
        wide J = tile.state.J;
        if (!keeps_J)
            J = matrix_det(tile.state.F) * law_volume_scale(k.row, &tile.state);
        const wide volume = wide_select(wide_less(wide_set(0), tile.mass), cell * tile.volume * J, wide_set(0));
        stencil_prepare(&work->stencil, tile.x, sweep->scheme.degree);
        for (int p = 0; p < (left < WIDTH ? (int)left : WIDTH); p++) {
            const int q = lane_of(p);
            if (sweep->scheme.degree == MPM_QUADRATIC)
                add_particle(&work->stencil, &patterns, arenas, p, q, wide_lane(volume, q), MPM_QUADRATIC);
            else
                add_particle(&work->stencil, &patterns, arenas, p, q, wide_lane(volume, q), MPM_CUBIC);
        }
    }
    mpm_group shared = *group;
    memcpy(shared.copy, copies, sizeof shared.copy);
    for (int r = 0; r < ROWS; r++)
        arena_add(arenas[r], &shared, sweep->grid->copies[fields[r]]);
}

void MPM_KERNEL(contact_moments)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    (void)arguments;
    const mpm_grid *grid = sweep->grid;
    const size_t block = MPM_BLOCK_NODES * 4 * sizeof(real), first = (size_t)grid->task_shared[task];
    const size_t count = (size_t)grid->task_shared[task + 1] - first;
    for (int r = 0; r < ROWS && count; r++)
        memset((char *)grid->copies[fields[r]] + first * block, 0, count * block);
    for (int32_t g = grid->task_group[task]; g < grid->task_group[task + 1] && count; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        int32_t copies[MPM_NEIGHBOURS];
        if (find_copies(grid, group, copies) && !mpm_material_law(&sweep->materials[group->material])->rigid)
            moments_of_group(sweep, group, copies, sweep->workspaces[thread]);
    }
}
