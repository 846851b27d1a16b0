/* SPDX-License-Identifier: MIT
 *
 * The moments of the volume around nodes, from which contact between layers finds normals and gaps (contact/layers.h):
 *
 *     W = sum w V,  s = sum w V r,  S = sum w V r r^T,  r = (x_p - x_i)/h
 *
 * with V = J V0. They are scattered after P2G and do not depend on dt. Only the groups near places with several layers
 * take part, and only the copies of these places are written. The vec4s of the fields (mpm/memory/grid_fields.h) are
 *
 *     2-D   {s_x, s_y, S_xx, W}, {S_yy, 0, 0, S_xy}
 *     3-D   {s_x, s_y, s_z, W}, {S_yy, S_zz, S_xx, S_xy}, {S_yz, S_xz, 0, 0}
 *
 * Each real is a product of factors of the axes: the weight w, w r or w r^2.
 */
#include "mpm/kernels/any_scheme.h"

enum { ROWS = DIM == 3 ? 3 : 2 };
static const mpm_grid_field fields[3] = {MPM_GRID_MOMENTS_0, MPM_GRID_MOMENTS_1, MPM_GRID_MOMENTS_2};

/* Which factor of an axis a real has. */
enum factor { NONE, W_, R_, RR, FACTORS };
static const uint8_t factors[DIM][ROWS][4] = {
#if DIM == 2
    {{R_, W_, RR, W_}, {W_, NONE, NONE, R_}},
    {{W_, R_, W_, W_}, {RR, NONE, NONE, R_}},
#else
    {{R_, W_, W_, W_}, {W_, W_, RR, R_}, {W_, R_, NONE, NONE}},
    {{W_, R_, W_, W_}, {RR, W_, W_, R_}, {R_, W_, NONE, NONE}},
    {{W_, W_, R_, W_}, {W_, RR, W_, W_}, {R_, R_, NONE, NONE}},
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

/* The factors of a tile across pencils, as vec4s: those of the first axis with the volume V. */
struct across {
    real factor[ACROSS][MOST_NODES][ROWS][4 * WIDTH] __attribute__((aligned(64)));
};

INLINE void find_across(struct across *across, const struct stencil *s, wide volume, const int degree)
{
    UNROLL for (int axis = 0; axis < ACROSS; axis++)
        for (int k = 0; k <= degree; k++) {
            const wide w = wide_load(s->weight[axis][k]), r = s->e[axis] - wide_set((real)k), wr = w * r;
            const wide of[FACTORS] = {wide_set(0), w, wr, wr * r};
            UNROLL for (int row = 0; row < ROWS; row++) {
                wide four[4];
                UNROLL for (int c = 0; c < 4; c++) {
                    four[c] = of[factors[axis][row][c]];
                    if (axis == 0)
                        four[c] *= volume;
                }
                vec4s_store(across->factor[axis][k][row], four);
            }
        }
}

/* The nodes of a stencil along the first axis that are in a box of nodes. */
struct slabs {
    int32_t first[WIDTH] __attribute__((aligned(64))), last[WIDTH] __attribute__((aligned(64)));
};

/* Adds particle p of the tile, in lane q. Factors that slabs share are multiplied once. */
INLINE void add_particle(const struct stencil *s, const struct patterns *patterns, const struct across *across,
                         const struct slabs *slabs, real *const arenas[ROWS], int p, int q, const int degree)
{
    enum { LINES = DIM == 3 ? MOST_NODES : 1 }; /* pencils in a slab */
    const int lines = DIM == 3 ? degree : 0, first = slabs->first[q], last = slabs->last[q];
    part along[FACTORS][PENCIL_PARTS];
    const part e = part_set(wide_lane(s->e[DIM - 1], q));
    UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
        along[W_][j] = pencil_weights(s->along[p], j);
        const part r = e - pencil_nodes(j);
        along[R_][j] = along[W_][j] * r;
        along[RR][j] = along[R_][j] * r;
    }
    UNROLL for (int row = 0; row < ROWS; row++) {
        part line[LINES][PENCIL_PARTS];
        UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
            const part *of = patterns->along[row];
            const part all = part_fma(of[W_], along[W_][j], part_fma(of[R_], along[R_][j], of[RR] * along[RR][j]));
            UNROLL for (int k = 0; k <= lines; k++) {
                line[k][j] = all;
                if (DIM == 3)
                    line[k][j] *= pencil_repeat(across->factor[ACROSS - 1][k][row] + 4 * p);
            }
        }
        for (int i = first; i <= last; i++) {
            const part slab = pencil_repeat(across->factor[0][i][row] + 4 * p);
            real *to = arenas[row] + s->offset[q] + part_position(i, 0, 0);
            UNROLL for (int k = 0; k <= lines; k++)
                UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
                    real *at = to + part_position(0, k, j);
                    part_store(at, part_fma(slab, line[k][j], part_load(at)));
                }
        }
    }
}

/* Where a group reaches nodes that other layers can reach, too: the copies of these blocks, and a box of arena indices
 * around the nodes. */
struct meeting {
    int32_t copies[MPM_NEIGHBOURS]; /* -1: none */
    int low[DIM], high[DIM];
};

/* The nodes of a block whose index along the axis is i, one bit each. */
INLINE uint64_t slab_of_nodes(int axis, int i)
{
    static const uint64_t first[3] = {DIM == 3 ? 0xffff : 0xff, DIM == 3 ? 0x000f000f000f000f : 0x0101010101010101,
                                      0x1111111111111111};
    static const int apart[3] = {DIM == 3 ? 16 : 8, DIM == 3 ? 4 : 1, 1};
    return first[axis] << i * apart[axis];
}

/* Returns whether there are any. */
static bool find_meeting(const mpm_grid *grid, const mpm_group *group, struct meeting *meeting)
{
    bool any = false;
    for (int a = 0; a < DIM; a++)
        meeting->low[a] = ARENA_SIDE, meeting->high[a] = -1;
    for (int k = 0; k < (DIM == 3 ? 27 : 9); k++) {
        const int offset[3] = {DIM == 3 ? k / 9 : k / 3, DIM == 3 ? k / 3 % 3 : k % 3, k % 3}; /* less 1 */
        const uint64_t nodes = group->copy[k] < 0 ? 0 : grid->shared_nodes[group->node_block[k]];
        meeting->copies[k] = nodes ? grid->shared_copy[group->copy[k]] : -1;
        any |= nodes != 0;
        for (int a = 0; a < DIM && nodes; a++)
            for (int i = 0; i < BLOCK_SIDE; i++) {
                const int at = 1 + (offset[a] - 1) * BLOCK_SIDE + i;
                if (!(nodes & slab_of_nodes(a, i)))
                    continue;
                meeting->low[a] = at < meeting->low[a] ? at : meeting->low[a];
                meeting->high[a] = at > meeting->high[a] ? at : meeting->high[a];
            }
    }
    return any;
}

/* 1 for the particles whose stencils reach the box, else 0, and the slabs of their stencils within it. */
INLINE wide find_near(const struct meeting *meeting, const real *x, int degree, struct slabs *slabs)
{
    const wide zero = wide_set(0), most = wide_set((real)degree);
    wide found = wide_set(1);
    UNROLL for (int a = 0; a < DIM; a++) {
        const wide first = wide_floor(wide_load(x + a * WIDTH) - wide_set((real)(0.5 * (degree - 1)))) + wide_set(1);
        const wide before = wide_set((real)meeting->low[a]) - first, after = wide_set((real)meeting->high[a]) - first;
        found = wide_select(wide_less_equal(before, most), found, zero);
        found = wide_select(wide_less_equal(zero, after), found, zero);
        if (a == 0) {
            wide_store_int32(slabs->first, wide_min(wide_max(before, zero), most));
            wide_store_int32(slabs->last, wide_min(wide_max(after, zero), most));
        }
    }
    return found;
}

/* Asks for what a tile needs, which the sweep before has moved out of the cache. */
INLINE void fetch_tile(const mpm_particles *particles, ptrdiff_t t, const bool keeps_J)
{
    __builtin_prefetch(tile_scalar(particles, MPM_COLUMN_MASS, t));
    __builtin_prefetch(tile_scalar(particles, MPM_COLUMN_VOLUME, t));
    for (int a = 0; a < DIM; a++) {
        __builtin_prefetch(tile_vector(particles, MPM_COLUMN_X, t) + a * WIDTH);
        for (int b = 0; b < (keeps_J ? a == 0 : DIM); b++)
            __builtin_prefetch(tile_vector(particles, MPM_COLUMN_C + DIM + a, t) + b * WIDTH);
    }
}

static void moments_of_group(const mpm_sweep *sweep, const mpm_group *group, const struct meeting *meeting,
                             struct workspace *work)
{
    const mpm_material *material = &sweep->materials[group->material];
    const int law = mpm_material_kernel_law(material), history = law_history(law, material);
    const struct constants k = group_constants(sweep, (struct durations){0}, group);
    const bool keeps_J = law_keeps_J(material->law);
    const int degree = sweep->scheme.degree;
    const struct patterns patterns = make_patterns();
    const double h = sweep->dx;
    const wide cell = wide_set((real)(DIM == 3 ? 1 / (h * h * h) : 1 / (h * h))), zero = wide_set(0);
    real *const all[3] = {work->momentum, work->impulse, work->midpoint};
    real *arenas[ROWS];
    struct across across;
    struct slabs slabs;
    /* Pencils that slabs of the box hold, and what is beyond them. */
    const ptrdiff_t slab = part_position(1, 0, 0), first = meeting->low[0] * slab;
    const size_t count = (size_t)((meeting->high[0] + 1) * slab + ARENA_REALS - 4 * ARENA_NODES - first);
    for (int r = 0; r < ROWS; r++) {
        memset(all[r] + first, 0, count * sizeof(real));
        arenas[r] = all[r] + ARENA_SLACK;
    }
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        struct tile tile;
        if (t + 1 < group->tiles)
            fetch_tile(sweep->particles, group->first_tile + t + 1, keeps_J);
        const wide near =
            find_near(meeting, tile_vector(sweep->particles, MPM_COLUMN_X, group->first_tile + t), degree, &slabs);
        if (!mask_any(wide_less(zero, near)))
            continue;
        tile_load(&tile, sweep->particles, group->first_tile + t, keeps_J, false);
        tile_load_history(&tile, sweep->particles, group->first_tile + t, material, history);
        wide J = tile.state.J;
        if (!keeps_J)
            J = matrix_det(tile.state.F) * law_volume_scale(k.row, &tile.state);
        const wide volume = wide_select(wide_less(zero, tile.mass), near * cell * tile.volume * J, zero);
        stencil_prepare(&work->stencil, tile.x, degree);
        find_across(&across, &work->stencil, volume, degree);
        for (int p = 0; p < (left < WIDTH ? (int)left : WIDTH); p++) {
            const int q = lane_of(p);
            if (!(wide_lane(volume, q) > 0))
                continue;
            if (degree == MPM_QUADRATIC)
                add_particle(&work->stencil, &patterns, &across, &slabs, arenas, p, q, MPM_QUADRATIC);
            else
                add_particle(&work->stencil, &patterns, &across, &slabs, arenas, p, q, MPM_CUBIC);
        }
    }
    mpm_group shared = *group;
    memcpy(shared.copy, meeting->copies, sizeof shared.copy);
    for (int a = 0; a < ACROSS; a++) {
        shared.first_node[a] = meeting->low[a] > group->first_node[a] ? meeting->low[a] : group->first_node[a];
        shared.last_node[a] = meeting->high[a] < group->last_node[a] ? meeting->high[a] : group->last_node[a];
    }
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
        struct meeting meeting;
        if (!mpm_material_law(&sweep->materials[group->material])->rigid && find_meeting(grid, group, &meeting))
            moments_of_group(sweep, group, &meeting, sweep->workspaces[thread]);
    }
}
