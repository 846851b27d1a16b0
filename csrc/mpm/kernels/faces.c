/* SPDX-License-Identifier: MIT
 *
 * What tells the sides of cracks (faces.h). Before P2G,
 *
 *     D_i = sum w V0 D_p/sum w V0,  B_i likewise of broken particles: 1, else 0    MPM_DAMAGE, damage_block
 *     T_i = sum w V0 grad D_p grad D_p^T                                           MPM_AXES
 *     d_i = first principal axis of T_i where B_i > 0, else 0                      axes_block
 *
 * Homel and Herbold take the longest grad D_p around the node for d_i, a maximum of vectors. A sum has a fixed order
 * like all others, and its axis has no sign, which is free: it only tells the two sides apart. A particle is broken
 * where 0.01 f_t are left of its strength. A bound of the damage itself would let faces part early on fine grids, where
 * a crack still bears much when it has lost most of its stiffness.
 *
 * Faces part where both sides of a node have broken particles (grid_pairs.h), which the moments of both tell. These are
 * those of bodies (contact.c) and sum w V of broken particles,
 *
 *     2-D   {s_x, s_y, S_xx, W}, {S_yy, broken, 0, S_xy}
 *     3-D   {s_x, s_y, s_z, W}, {S_yy, S_zz, S_xx, S_xy}, {S_yz, S_xz, broken, 0}
 */
#include "mpm/kernels/any_scheme.h"

/* The share of the strength that broken particles have left, and its logarithm. */
#define LEFT 0.01
#define LOG_LEFT (-4.605170185988091)

enum { ROWS = DIM == 3 ? 3 : 2, AXIS_ROWS = DIM - 1 };
static const mpm_grid_field fields[3] = {MPM_GRID_MOMENTS_0, MPM_GRID_MOMENTS_1, MPM_GRID_MOMENTS_2};

/* Runs `visit` for the groups of a task with particles that deform. */
typedef void group_visitor(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work);

INLINE void visit_groups(const mpm_sweep *sweep, ptrdiff_t task, struct workspace *work, group_visitor *visit)
{
    for (int32_t g = sweep->grid->task_group[task]; g < sweep->grid->task_group[task + 1]; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        if (!mpm_material_law(&sweep->materials[group->material])->rigid)
            visit(sweep, group, work);
    }
}

/* A parameter of the brittle law, which may vary over the particles. */
INLINE wide parameter_of(const mpm_sweep *sweep, const mpm_material *material, ptrdiff_t t, int parameter)
{
    for (int k = 0; k < material->varying; k++)
        if (material->parameter[k] == parameter)
            return wide_load(tile_scalar(sweep->particles, material->column[1 + k], t));
    return wide_set((real)material->values[parameter]);
}

/* The damage of a tile, 0 without a law of cracks; `broken`: 1 where less than LEFT of the strength is left, else 0. */
INLINE wide damage_of(const mpm_sweep *sweep, const mpm_group *group, ptrdiff_t t, wide *broken)
{
    const mpm_material *material = &sweep->materials[group->material];
    const wide zero = wide_set(0), one = wide_set(1);
    *broken = zero;
    if (material->law != MPM_BRITTLE)
        return zero;
#define OF(name) parameter_of(sweep, material, t, (int)(offsetof(struct brittle_parameters, name) / sizeof(double)))
    const wide f = OF(tensile_strength);
    const wide range = OF(E) / f * (OF(fracture_energy) / (OF(crack_band) * f)) - wide_set((real)0.5);
#undef OF
    const wide damage = wide_load(tile_scalar(sweep->particles, material->column[0], t));
    const wide least = wide_set((real)LEFT) / wide_fma(wide_set((real)-LOG_LEFT), range, one); /* of 1 - w */
    *broken = wide_select(wide_less_equal(one - damage, least), one, zero);
    return damage;
}

/* ---- damage ----------------------------------------------------------------------------------------------------- */

static void damage_of_group(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    const int degree = sweep->scheme.degree;
    const wide zero = wide_set(0);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        wide broken;
        const wide damage = damage_of(sweep, group, group->first_tile + t, &broken);
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, true, false);
        struct deposit deposit = {.mass = wide_select(wide_less(zero, tile.mass), tile.volume, zero)};
        deposit.Q[0] = deposit.mass * damage;
        deposit.Q[1] = deposit.mass * broken;
        stencil_prepare(&work->stencil, tile.x, degree);
        stencil_scatter(&work->stencil, work->momentum + ARENA_SLACK, left < WIDTH ? (int)left : WIDTH, degree,
                        &deposit);
    }
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies[MPM_GRID_DAMAGE]);
}

void MPM_KERNEL(faces_damage)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    (void)arguments;
    struct workspace *work = sweep->workspaces[thread];
    clear_copies(sweep->grid, MPM_GRID_DAMAGE, task);
    begin_scatter(work);
    visit_groups(sweep, task, work, damage_of_group);
}

void MPM_KERNEL(faces_damage_block)(const mpm_grid *grid, ptrdiff_t b)
{
    real *node = field_nodes(grid, MPM_GRID_DAMAGE, b);
    bool cracked = false;
    sum_copies(node, grid, &grid->blocks[b], grid->copies[MPM_GRID_DAMAGE]);
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        for (int c = 0; c < 2; c++)
            node[n + c] = node[n + 3] > 0 ? node[n + c] / node[n + 3] : 0;
        cracked |= node[n + 1] > 0;
    }
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4)
        node[n + 2] = cracked;
}

/* ---- axes ------------------------------------------------------------------------------------------------------- */

/* The blocks of both layers at cracks share nodes: copies of these alone are cleared and written. */
INLINE void clear_at_cracks(const mpm_sweep *sweep, ptrdiff_t task, int rows, bool both)
{
    const mpm_grid *grid = sweep->grid;
    const size_t block = MPM_BLOCK_NODES * 4 * sizeof(real);
    for (int32_t g = grid->task_group[task]; g < grid->task_group[task + 1]; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        for (int k = 0; k < (DIM == 3 ? 27 : 9); k++) {
            if (group->node_block[k] < 0 || !is_cracked(grid, group->node_block[k]))
                continue;
            for (int r = 0; r < rows; r++) {
                char *copies = grid->copies[fields[r]];
                memset(copies + (size_t)grid->shared_copy[group->copy[k]] * block, 0, block);
                if (both)
                    memset(copies + (size_t)grid->shared_copy[group->face_copy[k]] * block, 0, block);
            }
        }
    }
}

/* The group with the numbers of its copies at cracks, on one side. */
INLINE mpm_group at_cracks(const mpm_grid *grid, const mpm_group *group, int side)
{
    mpm_group shared = *group;
    const int32_t *copies = side ? group->face_copy : group->copy;
    for (int k = 0; k < (DIM == 3 ? 27 : 9); k++)
        shared.copy[k] = group->node_block[k] >= 0 && is_cracked(grid, group->node_block[k])
                             ? grid->shared_copy[copies[k]] : -1;
    return shared;
}

/* Adds what arenas have collected at cracks, and clears them. */
INLINE void add_at_cracks(const mpm_sweep *sweep, const mpm_group *group, int side, real *const arenas[], int rows)
{
    const mpm_group shared = at_cracks(sweep->grid, group, side);
    for (int r = 0; r < rows; r++)
        arena_add(arenas[r], &shared, sweep->grid->copies[fields[r]]);
}

static void axes_of_group(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    const int degree = sweep->scheme.degree;
    struct stencil *s = &work->stencil;
    real *const arenas[2] = {work->momentum + ARENA_SLACK, work->impulse + ARENA_SLACK};
    const wide zero = wide_set(0), least = wide_set(LEAST_GRADIENT * LEAST_GRADIENT);
    if (!is_near_crack(sweep->grid, group))
        return;
    arena_read(work->sides.damage + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_DAMAGE]);
    memset(work->momentum, 0, sizeof work->momentum);
    memset(work->impulse, 0, sizeof work->impulse);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        struct tile tile;
        wide g[DIM], square = zero;
        tile_load(&tile, sweep->particles, group->first_tile + t, true, false);
        stencil_prepare(s, tile.x, degree);
        stencil_gather(s, work->sides.damage + ARENA_SLACK, NULL, degree, WANT_SLOPE);
        UNROLL for (int a = 0; a < DIM; a++) {
            g[a] = stencil_sum(s, 1 + DIM + a, 0);
            square = wide_fma(g[a], g[a], square);
        }
        const mask counts = wide_less(least, square) & wide_less(zero, tile.mass);
        if (!mask_any(counts))
            continue;
        const wide V = wide_select(counts, tile.volume, zero);
        struct deposit deposit = {.Q = {V * g[0] * g[0], V * g[1] * g[1]}, .mass = zero};
        if (DIM == 2) {
            deposit.third = V * g[0] * g[1];
        } else {
            deposit.Q[DIM - 1] = V * g[0] * g[1];
            deposit.mass = V * g[DIM - 1] * g[DIM - 1];
        }
        stencil_scatter(s, arenas[0], left < WIDTH ? (int)left : WIDTH, degree, &deposit);
        if (DIM == 3) {
            const struct deposit more = {.Q = {V * g[1] * g[DIM - 1], V * g[0] * g[DIM - 1]}, .mass = zero};
            stencil_scatter(s, arenas[1], left < WIDTH ? (int)left : WIDTH, degree, &more);
        }
    }
    add_at_cracks(sweep, group, 0, arenas, AXIS_ROWS);
}

void MPM_KERNEL(faces_axes)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    (void)arguments;
    clear_at_cracks(sweep, task, AXIS_ROWS, false);
    visit_groups(sweep, task, sweep->workspaces[thread], axes_of_group);
}

/* The first principal axis of a tensor with positive trace: the longest column of its 128th power. Axes of nearly equal
 * principal values mix, and are no better than each other. */
static void principal_axis(double T[DIM][DIM], real axis[4])
{
    enum { SQUARES = 7 };
    int longest = 0;
    double length = 0;
    for (int square = 0; square < SQUARES; square++) {
        double trace = 0, power[DIM][DIM];
        for (int a = 0; a < DIM; a++)
            trace += T[a][a];
        for (int a = 0; a < DIM; a++)
            for (int b = 0; b < DIM; b++) {
                power[a][b] = 0;
                for (int c = 0; c < DIM; c++)
                    power[a][b] += T[a][c] / trace * (T[c][b] / trace);
            }
        memcpy(T, power, sizeof power);
    }
    for (int a = 1; a < DIM; a++)
        longest = T[a][a] > T[longest][longest] ? a : longest;
    for (int a = 0; a < DIM; a++)
        length += T[a][longest] * T[a][longest];
    for (int a = 0; a < DIM; a++)
        axis[a] = (real)(T[a][longest] / sqrt(length));
}

static node4 sum_row(const mpm_grid *grid, const mpm_node_block *block, int row, int n)
{
    const node4 *copies = grid->copies[fields[row]];
    node4 sum = {0};
    for (int32_t c = block->first_copy; c < block->first_copy + block->copies; c++)
        sum += copies[(ptrdiff_t)grid->shared_copy[grid->copy_list[c]] * MPM_BLOCK_NODES + n];
    return sum;
}

void MPM_KERNEL(faces_axes_block)(const mpm_grid *grid, ptrdiff_t b)
{
    const mpm_node_block *block = &grid->blocks[b];
    const real *damage = field_nodes(grid, MPM_GRID_DAMAGE, b);
    real *axes = field_nodes(grid, MPM_GRID_AXIS, b);
    memset(axes, 0, 4 * MPM_BLOCK_NODES * sizeof(real));
    for (int n = 0; n < MPM_BLOCK_NODES && damage[2] > 0; n++) {
        if (!(damage[4 * n + 1] > 0))
            continue;
        const node4 row = sum_row(grid, block, 0, n);
        double T[DIM][DIM];
        T[0][0] = (double)row[0];
        T[1][1] = (double)row[1];
        T[0][1] = T[1][0] = (double)row[2];
        double trace = T[0][0] + T[1][1];
#if DIM == 3
        const node4 more = sum_row(grid, block, 1, n);
        T[2][2] = (double)row[3];
        T[1][2] = T[2][1] = (double)more[0];
        T[0][2] = T[2][0] = (double)more[1];
        trace += T[2][2];
#endif
        if (trace > 0)
            principal_axis(T, axes + 4 * n);
    }
}

/* ---- moments ---------------------------------------------------------------------------------------------------- */

/* Adds the moments of a particle at r from a node in cells, with the volume w. */
INLINE void add_at_node(real *const rows[3], ptrdiff_t at, const real r[DIM], real w, real broken)
{
#if DIM == 2
    *(node4 *)(rows[0] + at) += w * (node4){r[0], r[1], r[0] * r[0], 1};
    *(node4 *)(rows[1] + at) += w * (node4){r[1] * r[1], broken, 0, r[0] * r[1]};
#else
    *(node4 *)(rows[0] + at) += w * (node4){r[0], r[1], r[2], 1};
    *(node4 *)(rows[1] + at) += w * (node4){r[1] * r[1], r[2] * r[2], r[0] * r[0], r[0] * r[1]};
    *(node4 *)(rows[2] + at) += w * (node4){r[1] * r[2], r[0] * r[2], broken, 0};
#endif
}

/* Adds particle p, in lane q, of the volume V over that of a cell, at nodes with an axis. */
static void add_moments(const struct workspace *work, real *const arenas[2][3], int p, int q, real V, real broken,
                        int degree)
{
    const struct stencil *s = &work->stencil;
    const real *axes = work->sides.axis + ARENA_SLACK;
    FOR_NODES(s, p, q, degree, {
        const struct node_weights of = weights_at(s, p, q, i, k, j);
        real r[DIM];
        real length = 0;
        for (int a = 0; a < DIM; a++) {
            r[a] = wide_lane(s->e[a], q) - of.k[a];
            length += axes[at + a] * axes[at + a];
        }
        if (length > 0)
            add_at_node(arenas[work->sides.second[q] >> n & 1], at, r, of.w * V, broken);
    })
}

static void moments_of_group(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    const mpm_material *material = &sweep->materials[group->material];
    const int history = law_history(mpm_material_kernel_law(material), material), degree = sweep->scheme.degree;
    const struct constants constants = group_constants(sweep, (struct durations){0}, group);
    const bool keeps_J = law_keeps_J(material->law);
    const double h = sweep->dx;
    const wide cell = wide_set((real)(DIM == 3 ? 1 / (h * h * h) : 1 / (h * h))), zero = wide_set(0);
    real *const arenas[2][3] = {
        {work->momentum + ARENA_SLACK, work->impulse + ARENA_SLACK, work->midpoint + ARENA_SLACK},
        {work->second_momentum + ARENA_SLACK, work->second_impulse + ARENA_SLACK, work->spin + ARENA_SLACK}};
    read_sides(sweep, group, &work->sides);
    if (!work->sides.exist)
        return;
    for (int side = 0; side < 2; side++)
        for (int r = 0; r < ROWS; r++)
            memset(arenas[side][r] - ARENA_SLACK, 0, sizeof(arena));
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        struct tile tile;
        wide broken;
        damage_of(sweep, group, group->first_tile + t, &broken);
        tile_load(&tile, sweep->particles, group->first_tile + t, keeps_J, false);
        tile_load_history(&tile, sweep->particles, group->first_tile + t, material, history);
        wide J = tile.state.J;
        if (!keeps_J)
            J = matrix_det(tile.state.F) * law_volume_scale(constants.row, &tile.state);
        const wide volume = wide_select(wide_less(zero, tile.mass), cell * tile.volume * J, zero);
        stencil_prepare(&work->stencil, tile.x, degree);
        find_sides(&work->sides, &work->stencil, degree);
        for (int p = 0; p < (left < WIDTH ? (int)left : WIDTH); p++) {
            const int q = lane_of(p);
            if (wide_lane(volume, q) > 0)
                add_moments(work, arenas, p, q, wide_lane(volume, q), wide_lane(broken, q), degree);
        }
    }
    for (int side = 0; side < 2; side++)
        add_at_cracks(sweep, group, side, arenas[side], ROWS);
}

void MPM_KERNEL(faces_moments)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    (void)arguments;
    clear_at_cracks(sweep, task, ROWS, true);
    visit_groups(sweep, task, sweep->workspaces[thread], moments_of_group);
}
