/* SPDX-License-Identifier: MIT
 *
 * The correction of the density of fluids. A fluid keeps J alone, which integrates the divergence of the velocity and
 * forgets where the particles are: after a splash they lie closer together than J says, and volume is lost. The grid
 * sees the place that they take. With the rest volume V0 (of laws with F the present volume V0 det F) node i is *full*
 * to
 *
 *     f_i = sum_p w_ip V_p/(h^d s_i),   g_i = f_i, but 1 where f_i < 0.8
 *
 * s_i is the share of the node's B-spline outside colliders. At the surfaces of walls and colliders, a node shares
 * volume and room with its reflection. A node at a free surface says nothing. At the particles, with D the symmetric
 * part of grad v less its mean,
 *
 *     G = sum_i w g_i,   o = J G,  but max(G, 1) where J > 1
 *     e = o - 1 without a dead band,   J <- J (1 - min(kappa dt sqrt(2 D:D), 1/20) e)
 *
 * after J <- det(I + dt grad v) J (particle_update.h), with the J before. o is the density of the grid over that of the
 * law. Where J > 1, the material has torn or is spray: the grid may tell that it is denser than at rest, but not that
 * it is as dense. It would be exact to count J in the sum f, too, but then the J of neighbours drift apart. Only J
 * changes: momentum and angular momentum do not know of it. Methods that move particles instead change momentum or
 * angular momentum, or solve a system (T. Kugelstadt et al., IEEE Trans. Vis. Comput. Graph. 27 (2021) 2385: density
 * projections).
 *
 * The masses that P2G has summed tell the volumes of the first fluid and of all fluids of its density. The sweep here
 * adds, for all other materials, their volumes less what the mass would tell. A node with images has the volumes of all
 * of them, and one with siblings (mpm_place) those of all layers.
 */
#include "mpm/kernels/any_scheme.h"
#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"
#include "mpm/kernels/reach.h"
#include "mpm/memory/block_map.h"

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

/* The present volume of solids, the rest volume of fluids; without what heat adds. */
INLINE wide volume_of(const struct tile *tile, const mpm_law *row)
{
    if (row->strain == MPM_KEEPS_J || row->rigid)
        return tile->volume;
    return tile->volume * matrix_det(tile->state.F) * law_volume_scale(row, &tile->state);
}

static void volume_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                         struct workspace *work)
{
    const bool expands = heat->materials && mpm_thermal_stretches(&heat->materials[group->material]);
    const mpm_material *material = &sweep->materials[group->material];
    const int law = mpm_material_kernel_law(material), history = law_history(law, material);
    const mpm_law *row = mpm_material_law(material);
    const bool keeps_J = row->strain == MPM_KEEPS_J;
    const wide told = wide_set(row->rigid ? 0 : (real)sweep->fluid_volume); /* rigid bodies scatter no mass */
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, keeps_J, false);
        tile_load_history(&tile, sweep->particles, group->first_tile + t, material, history);
        const mask alive = wide_less(wide_set(0), tile.mass);
        wide volume = volume_of(&tile, row);
        if (expands) {
            const wide s = wide_load(tile_scalar(sweep->particles, heat->stretch, group->first_tile + t));
            volume *= DIM == 2 ? s * s : s * s * s;
        }
        const wide missing = wide_fnma(told, tile.mass, volume);
        const struct deposit deposit = {.mass = wide_select(alive, missing, wide_set(0))};
        stencil_prepare(&work->stencil, tile.x, sweep->scheme.degree);
        stencil_scatter(&work->stencil, work->momentum + ARENA_SLACK, left < WIDTH ? (int)left : WIDTH,
                        sweep->scheme.degree, &deposit);
    }
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies[MPM_GRID_VELOCITY]);
}

void MPM_KERNEL(fill_volume)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    const mpm_grid *grid = sweep->grid;
    struct workspace *work = sweep->workspaces[thread];
    clear_copies(grid, MPM_GRID_VELOCITY, task);
    sweep->measures[task] = (mpm_measure){.least_det = 1};
    begin_scatter(work);
    for (int32_t g = grid->task_group[task]; g < grid->task_group[task + 1]; g++)
        if (sweep->materials[sweep->particles->groups[g].material].has_volumes)
            volume_group(sweep, &arguments->heat, &sweep->particles->groups[g], work);
}

/* ---- lookups ----------------------------------------------------------------------------------------------------- */

INLINE bool is_same(const int32_t a[3], const int32_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* The blocks of all layers at one place. Nodes ask for the same ones many times. */
struct found {
    int32_t wanted[3];
    ptrdiff_t first, end;
};

static const struct found nothing_found = {.wanted = {INT32_MAX, INT32_MAX, INT32_MAX}};

static void find_blocks(struct found *found, const mpm_grid *grid, const int32_t wanted[3])
{
    ptrdiff_t low = 0, high = (ptrdiff_t)grid->block_count;
    while (low < high) {
        const ptrdiff_t middle = low + (high - low) / 2;
        if (mpm_block_map_compare_blocks(grid->blocks[middle].block, wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    memcpy(found->wanted, wanted, sizeof found->wanted);
    for (found->first = low; low < (ptrdiff_t)grid->block_count && is_same(grid->blocks[low].block, wanted);)
        low++;
    found->end = low;
}

/* The volume at a node of all layers, with its images; -1 if there is no block. */
INLINE real volume_at(const mpm_grid_pass *pass, const int64_t at[DIM], struct found *found)
{
    const mpm_grid *grid = pass->grid;
    int32_t wanted[3] = {0};
    int node = 0;
    real sum = 0;
    UNROLL for (int a = 0; a < DIM; a++) {
        wanted[a] = (int32_t)(at[a] >= 0 ? at[a] / BLOCK_SIDE : -((BLOCK_SIDE - 1 - at[a]) / BLOCK_SIDE));
        node = node * BLOCK_SIDE + (int)(at[a] - (int64_t)wanted[a] * BLOCK_SIDE);
    }
    if (!is_same(found->wanted, wanted))
        find_blocks(found, grid, wanted);
    for (ptrdiff_t b = found->first; b < found->end; b++)
        sum += field_nodes(grid, MPM_GRID_VOLUME, b)[4 * node + 3];
    return found->first < found->end ? sum : -1;
}

typedef mpm_grid_pass fill_pass;
#define FILL_DEGREE(pass) ((pass)->scheme.degree)
#define FILL_COLLIDES 1
#include "mpm/kernels/fill_rule.h"

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Whether faces of the domain reach nodes of a block: those that end it, or periodic ones. */
static bool is_near_faces(const mpm_grid_pass *pass, const mpm_node_block *block, bool periodic)
{
    for (int f = 0; f < 2 * DIM; f++) {
        const int64_t first = (int64_t)block->block[f / 2] * BLOCK_SIDE, cells = pass->cells[f / 2];
        const int64_t reach = pass->scheme.degree - (periodic ? 0 : 1);
        const bool counts = periodic ? pass->walls[f].contact == MPM_PERIODIC : ends_domain(&pass->walls[f]);
        if (counts && (f % 2 ? first + BLOCK_SIDE - 1 >= cells - reach : first <= reach))
            return true;
    }
    return false;
}

INLINE bool is_sibling(const mpm_grid *grid, ptrdiff_t a, ptrdiff_t b)
{
    return b >= 0 && b < (ptrdiff_t)grid->block_count && is_same(grid->blocks[a].block, grid->blocks[b].block);
}

/* Whether masses tell the volumes of a block and no other block asks for them. These blocks, most of all, have no sums
 * of volumes: memory bounds these passes. */
static bool is_plain(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    return !pass->has_volumes && !pass->colliders.count && block->fold < 0 && !is_sibling(pass->grid, b, b - 1) &&
           !is_sibling(pass->grid, b, b + 1) && !is_near_faces(pass, block, false);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

void MPM_KERNEL(fill_sum)(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const real *mass = field_sums(grid, MPM_GRID_VELOCITY, b), per_mass = (real)pass->fluid_volume;
    real *sum = field_sums(grid, MPM_GRID_VOLUME, b);
    if (is_plain(pass, b))
        return;
    if (pass->has_volumes)
        sum_copies(sum, grid, &grid->blocks[b], grid->copies[MPM_GRID_VOLUME]);
    else
        memset(sum, 0, 4 * MPM_BLOCK_NODES * sizeof(real));
    for (int n = 3; n < 4 * MPM_BLOCK_NODES; n += 4)
        sum[n] += per_mass * mass[n];
}

void MPM_KERNEL(fill_fold)(const mpm_grid_pass *pass, ptrdiff_t fold)
{
    const mpm_images *images = &pass->grid->images;
    real *node = field_nodes(pass->grid, MPM_GRID_VOLUME, images->blocks[fold]);
    fold_block(node, pass->grid, MPM_GRID_VOLUME, (int32_t)fold);
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++) /* a plane is its own image */
        node[4 * images->nodes[i].node + 3] *= (real)(1 << __builtin_popcount(images->nodes[i].planes));
}

/* ---- walls ------------------------------------------------------------------------------------------------------- */

/* Adds the reflections of the nodes of a block near walls to their volumes. */
NOINLINE void add_reflections(const mpm_grid_pass *pass, const mpm_node_block *block, real volume[MPM_BLOCK_NODES])
{
    struct reflected along[DIM][BLOCK_SIDE];
    unsigned near[DIM] = {0}; /* the coordinates that have a reflection, or are on a wall, one bit each */
    struct found found[1 << DIM];
    for (unsigned k = 0; k < 1u << DIM; k++)
        found[k] = nothing_found;
    UNROLL for (int a = 0; a < DIM; a++)
        for (int k = 0; k < BLOCK_SIDE; k++) {
            along[a][k] = reflect(pass, a, (int64_t)block->block[a] * BLOCK_SIDE + k);
            near[a] |= (along[a][k].other != along[a][k].at || along[a][k].factor > 1 ? 1u : 0) << k;
        }
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        const int index[3] = {n % BLOCK_SIDE, n / BLOCK_SIDE % BLOCK_SIDE, n / (BLOCK_SIDE * BLOCK_SIDE)};
        unsigned is_near = 0;
        UNROLL for (int a = 0; a < DIM; a++)
            is_near |= near[a] >> index[DIM - 1 - a] & 1;
        if (!is_near)
            continue;
        struct reflected node[DIM];
        UNROLL for (int a = 0; a < DIM; a++)
            node[a] = along[a][index[DIM - 1 - a]];
        volume[n] = with_reflections(pass, node, volume[n], found);
    }
}

/* ---- colliders --------------------------------------------------------------------------------------------------- */

static uint64_t colliders_near(const mpm_grid_pass *pass, const mpm_node_block *block, double reach)
{
    const mpm_colliders *colliders = &pass->colliders;
    if (block->fold >= 0 || is_near_faces(pass, block, true)) /* its nodes stand for others */
        return UINT64_MAX;
    uint64_t near = 0;
    for (size_t k = 0; k < colliders->count; k++)
        if (collider_reaches(&colliders->list[k], block, colliders->lower, colliders->dx, reach))
            near |= bit_of(k);
    return near;
}

NOINLINE void fill_at_colliders(const mpm_grid_pass *pass, const mpm_node_block *block, uint64_t near,
                                const real *volume, real *node)
{
    const mpm_images *images = &pass->grid->images;
    const mpm_image_node *next = images->nodes, *end = next;
    if (block->fold >= 0)
        next = images->nodes + images->first_node[block->fold],
        end = images->nodes + images->first_node[block->fold + 1];
    struct found found[1 << DIM];
    for (unsigned k = 0; k < 1u << DIM; k++)
        found[k] = nothing_found;
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        const mpm_image_node *image = next < end && next->node == n ? next++ : NULL;
        int64_t at[DIM];
        node_coordinates(block, n, at);
        for (int a = 0; image && a < DIM; a++)
            at[a] = image->at[a];
        node[4 * n + 3] = fill_at_surface(pass, near, at, volume[n], found);
    }
}

/* ---- fill -------------------------------------------------------------------------------------------------------- */

void MPM_KERNEL(fill_block)(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_node_block *block = &grid->blocks[b];
    const double h = pass->colliders.dx, per_cell = 1 / (DIM == 3 ? h * h * h : h * h);
    const real *velocity = field_nodes(grid, MPM_GRID_VELOCITY, b);
    real *node = field_nodes(grid, MPM_GRID_FILL, b), volume[MPM_BLOCK_NODES] = {0};
    if (is_plain(pass, b)) {
        for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
            node4 value = *(const node4 *)(velocity + n);
            const real fill = (real)per_cell * ((real)pass->fluid_volume * value[3]);
            value[3] = fill >= (real)FULL ? fill : 1;
            *(node4 *)(node + n) = value;
        }
        return;
    }
    ptrdiff_t first = b, end = b + 1;
    while (is_sibling(grid, b, first - 1))
        first--;
    while (is_sibling(grid, b, end))
        end++;
    for (ptrdiff_t k = first; k < end; k++)
        for (int n = 0; n < MPM_BLOCK_NODES; n++)
            volume[n] += field_nodes(grid, MPM_GRID_VOLUME, k)[4 * n + 3];
    if (is_near_faces(pass, block, false))
        add_reflections(pass, block, volume);
    memcpy(node, velocity, 4 * MPM_BLOCK_NODES * sizeof(real));
    const double reach = 1.5 * (pass->scheme.degree + 1) * h; /* of the nodes at the other side, too */
    const uint64_t near = pass->colliders.count ? colliders_near(pass, block, reach) : 0;
    if (near) {
        fill_at_colliders(pass, block, near, volume, node);
        return;
    }
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        const real fill = (real)per_cell * volume[n];
        node[4 * n + 3] = fill >= (real)FULL ? fill : 1;
    }
}
