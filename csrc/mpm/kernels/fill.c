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

/* A node less full than this says nothing, nor does one whose B-spline has a smaller share in the domain. */
static const double FULL = 0.8, LEAST_SHARE = 0.01;

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

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static bool ends_domain(const mpm_wall *wall)
{
    return wall->contact != MPM_MIRROR && wall->contact != MPM_PERIODIC;
}

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

INLINE bool is_same(const int32_t a[3], const int32_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
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

/* At a wall that is no mirror, too, the sums of the nodes beyond it count for those within, and the other way round.
 * Shares of the B-splines within the domain would know nothing of the particles that are a little beyond the wall: with
 * them, the pressure there is wrong, and water that has come to rest gains energy. */

/* The place of a node reflected at the walls of an axis that it is near, else its own. */
INLINE int64_t beyond_wall(const mpm_grid_pass *pass, int axis, int64_t at)
{
    const int64_t reach = pass->scheme.degree - 1, cells = pass->cells[axis];
    if (at >= -reach && at <= reach && ends_domain(&pass->walls[2 * axis]))
        return -at;
    if (at - cells >= -reach && at - cells <= reach && ends_domain(&pass->walls[2 * axis + 1]))
        return 2 * cells - at;
    return at;
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
INLINE real volume_at(const mpm_grid *grid, const int64_t at[DIM], struct found *found)
{
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

INLINE real volume_of_any(const mpm_grid_pass *pass, const int64_t at[DIM], int axis, struct found *found);

/* The volume at an image of a node without a block; 0 if no image has one. `axis`: the first one to look along. */
NOINLINE real volume_of_image(const mpm_grid_pass *pass, const int64_t at[DIM], int axis, struct found *found)
{
    for (; axis < DIM; axis++) {
        const int64_t cells = pass->cells[axis];
        const bool periodic = pass->walls[2 * axis].contact == MPM_PERIODIC;
        const bool mirrors[2] = {pass->walls[2 * axis].contact == MPM_MIRROR,
                                 pass->walls[2 * axis + 1].contact == MPM_MIRROR};
        for (int side = 0; side < 2; side++) {
            int64_t image[DIM];
            memcpy(image, at, sizeof image);
            if (periodic)
                image[axis] += side ? cells : -cells;
            else if (mirrors[side])
                image[axis] = side ? 2 * cells - at[axis] : -at[axis];
            else
                continue;
            const real other = volume_of_any(pass, image, axis + 1, found);
            if (other > 0)
                return other;
        }
    }
    return 0;
}

/* The volume at a node, from any of its images; all of them hold the same bits. 0 if there is none. */
INLINE real volume_of_any(const mpm_grid_pass *pass, const int64_t at[DIM], int axis, struct found *found)
{
    const real own = volume_at(pass->grid, at, found);
    return own >= 0 ? own : volume_of_image(pass, at, axis, found);
}

/* The image in the domain of a node beyond mirrors and periodic faces. Returns whether it is another node. */
static bool into_domain(const mpm_grid_pass *pass, int64_t at[DIM])
{
    bool moves = false;
    for (int a = 0; a < DIM; a++) {
        const int64_t cells = pass->cells[a], before = at[a];
        if (pass->walls[2 * a].contact == MPM_PERIODIC)
            at[a] = (at[a] % cells + cells) % cells;
        else if (pass->walls[2 * a].contact == MPM_MIRROR && at[a] < 0)
            at[a] = -at[a];
        else if (pass->walls[2 * a + 1].contact == MPM_MIRROR && at[a] > cells)
            at[a] = 2 * cells - at[a];
        moves |= at[a] != before;
    }
    return moves;
}

/* The reflection of a coordinate; a node on a wall is its own. */
struct reflected {
    int64_t at, other;
    real factor;
};

INLINE struct reflected reflect(const mpm_grid_pass *pass, int axis, int64_t at)
{
    const bool is_own = (at == 0 && ends_domain(&pass->walls[2 * axis])) ||
                        (at == pass->cells[axis] && ends_domain(&pass->walls[2 * axis + 1]));
    return (struct reflected){at, beyond_wall(pass, axis, at), is_own ? 2 : 1};
}

/* Adds the reflections of a node near walls to its volume. `found`: of each reflection. */
INLINE real with_reflections(const mpm_grid_pass *pass, const struct reflected node[DIM], real volume,
                             struct found found[1 << DIM])
{
    unsigned near = 0;
    real sum = 0, factor = 1;
    UNROLL for (int a = 0; a < DIM; a++) {
        near |= (node[a].other != node[a].at ? 1u : 0) << a;
        factor *= node[a].factor;
    }
    for (unsigned chosen = near; chosen; chosen = (chosen - 1) & near) {
        int64_t image[DIM];
        UNROLL for (int a = 0; a < DIM; a++)
            image[a] = chosen >> a & 1 ? node[a].other : node[a].at;
        sum += volume_of_any(pass, image, 0, &found[chosen]);
    }
    return (volume + sum) * factor;
}

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

/* The share of a B-spline on the outer side of a plane at the signed distance s [cells], positive inside. Every
 * direction counts as an axis: their second moments are the same. */
static double share_beyond(double s, int degree)
{
    const double t = s < 0 ? -s : s, end = 0.5 * (degree + 1), left = end - t;
    double tail = 0;
    if (t >= end)
        tail = 0;
    else if (degree == MPM_LINEAR)
        tail = left * left / 2;
    else if (degree == MPM_QUADRATIC)
        tail = t > 0.5 ? left * left * left / 6 : 0.5 - t * (0.75 - t * t / 3);
    else
        tail = t > 1 ? left * left * left * left / 24 : 0.5 - t * (2.0 / 3 - t * t * (1.0 / 3 - t / 8));
    return s < 0 ? tail : 1 - tail;
}

/* The colliders that reach a block, by bits; those beyond the 63rd share the last one. */
INLINE uint64_t bit_of(size_t collider)
{
    return (uint64_t)1 << (collider < 63 ? collider : 63);
}

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

/* The colliders near `at` that are nearer than the surface found before. */
static void find_surface(const mpm_colliders *colliders, uint64_t near, const int64_t at[DIM],
                         mpm_shape_reading *nearest)
{
    double x[3] = {0};
    for (int a = 0; a < DIM; a++)
        x[a] = colliders->lower[a] + (double)at[a] * colliders->dx;
    for (size_t k = 0; k < colliders->count; k++) {
        if (!(near & bit_of(k)))
            continue;
        const mpm_collider *collider = &colliders->list[k];
        const mpm_shape_reading reading = mpm_collider_read(collider, &collider->now, x, UINT64_MAX);
        if (reading.phi < nearest->phi)
            *nearest = reading;
    }
}

/* The same at the images of a node behind periodic faces that are within `reach` cells, from an axis on. */
static void find_surface_of_images(const mpm_grid_pass *pass, uint64_t near, const int64_t at[DIM], int axis,
                                   int64_t reach, mpm_shape_reading *nearest)
{
    for (; axis < DIM; axis++) {
        const int64_t cells = pass->cells[axis];
        if (pass->walls[2 * axis].contact != MPM_PERIODIC)
            continue;
        for (int side = 0; side < 2; side++) {
            if (side ? at[axis] < cells - reach : at[axis] > reach)
                continue;
            int64_t image[DIM];
            memcpy(image, at, sizeof image);
            image[axis] += side ? -cells : cells;
            find_surface(&pass->colliders, near, image, nearest);
            find_surface_of_images(pass, near, image, axis + 1, reach, nearest);
        }
    }
}

/* The share of a node's B-spline outside of colliders, and the surface that decides it. Colliders are one union: where
 * surfaces meet or overlap, the least distance counts. So a union gives what its parts give as colliders of their own.
 * A product of shares would be nearer the truth in corners. */
static double share_outside(const mpm_grid_pass *pass, uint64_t near, const int64_t at[DIM],
                            mpm_shape_reading *nearest)
{
    *nearest = (mpm_shape_reading){.phi = INFINITY};
    find_surface(&pass->colliders, near, at, nearest);
    find_surface_of_images(pass, near, at, 0, pass->scheme.degree, nearest);
    return share_beyond(nearest->phi / pass->colliders.dx, pass->scheme.degree);
}

/* How full the nodes of a block near colliders are. A node shares volume and room with the node that is nearest to its
 * reflection at the surface: particles may be up to half a cell within a collider, and what they add to a node inside,
 * those outside lack. Walls, where the reflection of a node is a node, have the same rule. */
NOINLINE void fill_at_colliders(const mpm_grid_pass *pass, const mpm_node_block *block, uint64_t near,
                                const real *volume, real *node)
{
    const mpm_images *images = &pass->grid->images;
    const double h = pass->colliders.dx, reach = 0.5 * (pass->scheme.degree + 1) * h;
    const double per_cell = 1 / (DIM == 3 ? h * h * h : h * h);
    const mpm_image_node *next = images->nodes, *end = next;
    if (block->fold >= 0)
        next = images->nodes + images->first_node[block->fold],
        end = images->nodes + images->first_node[block->fold + 1];
    struct found found[1 << DIM];
    for (unsigned k = 0; k < 1u << DIM; k++)
        found[k] = nothing_found;
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        const mpm_image_node *image = next < end && next->node == n ? next++ : NULL;
        int64_t at[DIM], other[DIM];
        bool is_own = true;
        mpm_shape_reading surface, unused;
        node[4 * n + 3] = 1;
        if (!(volume[n] > 0))
            continue;
        node_coordinates(block, n, at);
        for (int a = 0; image && a < DIM; a++)
            at[a] = image->at[a];
        double share = share_outside(pass, near, at, &surface), sum = (double)volume[n];
        if (fabs(surface.phi) < reach)
            for (int a = 0; a < DIM; a++) {
                other[a] = at[a] - (int64_t)floor(2 * surface.phi / h * surface.normal[a] + 0.5);
                is_own &= other[a] == at[a];
            }
        if (!is_own) {
            struct reflected reflected[DIM];
            const bool moves = into_domain(pass, other);
            for (int a = 0; a < DIM; a++)
                reflected[a] = reflect(pass, a, other[a]);
            share += share_outside(pass, moves ? UINT64_MAX : near, other, &unused);
            sum += (double)with_reflections(pass, reflected, volume_of_any(pass, other, 0, found), found);
        }
        if (share >= LEAST_SHARE && per_cell * sum >= FULL * share)
            node[4 * n + 3] = (real)(per_cell * sum / share);
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
