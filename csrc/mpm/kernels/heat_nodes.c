/* SPDX-License-Identifier: MIT
 *
 * Conduction of heat, the passes over the nodes: temperatures and their changes from the sums of the sweeps (heat.c).
 *
 * Planes of symmetry and periodic faces have the images of the motion (mpm/memory/images.h), which are even. A face of
 * given temperature Tw is a plane of odd images whatever its contact: node -i has the temperature 2 Tw - T_i, so the
 * material has Tw on the plane to second order; nodes that are set to Tw would be of first order. With the sums H = sum
 * w m c T and C = sum w m c of all images in the frame of the domain,
 *
 *     H -> 2 Tw C - H,  Q -> -Q   by a reflection across a face of given temperature, and unchanged by any other
 *     T_i = sum H/sum C,  dT_i = sum Q/sum C;  on the plane T_i = Tw, dT_i = 0
 *
 * The values S, which particles exchange among themselves, know no image across such a face.
 *
 * What the wall gives is what particles gain at such nodes beyond the heat that has flowed there. Images are found by
 * their coordinates, in ascending order, so that all images of a node have the same bits. Where two faces meet at an
 * edge, the first axis has the temperature of its nodes.
 */
#include "mpm/kernels/nodes.h"

enum { ALONG_MOST = 2 * MPM_IMAGE_REACH + 3 };

/* How the nodes go on beyond the faces of an axis. */
struct axis {
    int64_t cells;
    bool periodic, reflects[2], odd[2];
    real wall[2]; /* temperatures, of odd faces */
};

/* A node along one axis, as an image: its place and the face across which it is reflected, -1: none. */
struct along {
    int64_t at;
    int face;
};

/* T -> sign T + offset, from an image to the domain. */
struct reflection {
    real sign, offset;
};

static struct axis axis_of(const mpm_heat_pass *pass, int a)
{
    const mpm_symmetry *symmetry = &pass->symmetry[a];
    struct axis axis = {.cells = symmetry->cells, .periodic = symmetry->periodic};
    for (int side = 0; side < 2; side++) {
        const mpm_heat_wall *wall = &pass->walls[2 * a + side];
        axis.odd[side] = wall->kind == MPM_HEAT_TEMPERATURE;
        axis.reflects[side] = axis.odd[side] || symmetry->mirror[side];
        axis.wall[side] = axis.odd[side] ? (real)wall->value : 0;
    }
    return axis;
}

static bool has_images(const struct axis *axis)
{
    return axis->periodic || axis->reflects[0] || axis->reflects[1];
}

static int64_t remainder_of(int64_t a, int64_t b)
{
    return ((a % b) + b) % b;
}

/* The image in the domain of the node at `at`. Odd faces are at least MPM_IMAGE_REACH cells apart, so that no image is
 * reflected across both. */
static struct along into_domain(const struct axis *axis, int64_t at)
{
    const int64_t cells = axis->cells;
    if (axis->periodic)
        return (struct along){remainder_of(at, cells), -1};
    if (axis->reflects[0] && axis->reflects[1]) {
        const int64_t turned = remainder_of(at, 2 * cells);
        return turned > cells ? (struct along){2 * cells - turned, at < 0 ? 0 : 1} : (struct along){turned, -1};
    }
    if (axis->reflects[0] && at < 0)
        return (struct along){-at, 0};
    if (axis->reflects[1] && at > cells)
        return (struct along){2 * cells - at, 1};
    return (struct along){at, -1};
}

/* Can a node have images along the axis, or lie on a plane? */
static bool is_near(const struct axis *axis, int64_t at)
{
    const int64_t reach = MPM_IMAGE_REACH;
    if (!has_images(axis) || at < -reach || at > axis->cells + reach)
        return false;
    return at <= reach || at >= axis->cells - reach;
}

/* All images of the node `inside` the domain, ascending. */
static int list_along(const struct axis *axis, int64_t inside, struct along list[ALONG_MOST])
{
    const int64_t reach = MPM_IMAGE_REACH, cells = axis->cells;
    int count = 0;
    for (int part = 0; part < 2; part++) {
        /* the nodes about the lower face, then those about the upper one that are not among them */
        const int64_t first = part == 0 ? -reach : cells - reach > reach + 1 ? cells - reach : reach + 1;
        const int64_t last = part == 0 ? reach : cells + reach;
        for (int64_t at = first; at <= last; at++) {
            const struct along found = into_domain(axis, at);
            if (found.at == inside && count < ALONG_MOST)
                list[count++] = (struct along){at, found.face};
        }
    }
    return count;
}

static struct reflection across(const struct axis *axis, int face, struct reflection r)
{
    if (face < 0 || !axis->odd[face])
        return r;
    return (struct reflection){-r.sign, 2 * axis->wall[face] - r.offset};
}

/* Where the nodes of a block of the layer are; NULL: it is not in the grid. */
static const real *find_node(const mpm_grid *grid, mpm_grid_field field, const int64_t at[DIM], int32_t layer)
{
    mpm_block_key key = {.kind = layer};
    int node = 0;
    for (int a = 0; a < DIM; a++) {
        const int64_t inside = remainder_of(at[a], BLOCK_SIDE);
        key.block[a] = (int32_t)((at[a] - inside) / BLOCK_SIDE);
        node = node * BLOCK_SIDE + (int)inside;
    }
    const int32_t found = mpm_images_block(grid, key);
    return found < 0 ? NULL : field_nodes(grid, field, found) + 4 * node;
}

static bool is_block_near(const mpm_heat_pass *pass, const mpm_node_block *block)
{
    for (int a = 0; a < DIM; a++) {
        const struct axis axis = axis_of(pass, a);
        const int64_t first = (int64_t)block->block[a] * BLOCK_SIDE;
        for (int i = 0; i < BLOCK_SIDE; i++)
            if (is_near(&axis, first + i))
                return true;
    }
    return false;
}

/* A node with its images along the axes. */
struct place {
    struct along image[DIM][ALONG_MOST];
    int images[DIM];
    int face[DIM];         /* across which the node is reflected; -1: none */
    struct reflection own; /* from the node to the domain */
    bool odd;              /* has an odd image, or lies on an odd plane */
    bool given;            /* lies on an odd plane, at the temperature */
    real temperature;
};

static struct place find_place(const struct axis axes[DIM], const int64_t at[DIM])
{
    struct place place = {.own = {1, 0}};
    for (int a = 0; a < DIM; a++) {
        const struct axis *axis = &axes[a];
        place.image[a][0] = (struct along){at[a], -1};
        place.images[a] = 1;
        place.face[a] = -1;
        if (!is_near(axis, at[a]))
            continue;
        const struct along inside = into_domain(axis, at[a]);
        place.images[a] = list_along(axis, inside.at, place.image[a]);
        place.face[a] = inside.face;
        place.own = across(axis, inside.face, place.own);
        for (int side = 0; side < 2; side++) {
            const bool on = axis->odd[side] && inside.at == (side ? axis->cells : 0);
            if (on && !place.given) {
                place.given = true;
                place.temperature = axis->wall[side];
            }
            place.odd |= on;
        }
        for (int k = 0; k < place.images[a]; k++)
            place.odd |= place.image[a][k].face >= 0 && axis->odd[place.image[a][k].face];
    }
    return place;
}

/* Sums of a place over its images, in the frame of the domain. */
struct sums {
    real heat, flow, capacity; /* H, Q, C */
    real own_heat, own_capacity, own_weighted, own_weight; /* H, C, B S, B of images on this side of odd faces */
};

static bool is_odd(const struct axis *axis, int face)
{
    return face >= 0 && axis->odd[face];
}

static struct sums sum_images(const mpm_grid *grid, const struct axis axes[DIM], const struct place *place,
                              int32_t layer, bool flows)
{
    int k[DIM] = {0};
    struct sums sum = {0};
    for (;;) {
        bool crosses = false;
        int64_t at[DIM];
        struct reflection r = {1, 0};
        for (int a = 0; a < DIM; a++) {
            at[a] = place->image[a][k[a]].at;
            const int face = place->image[a][k[a]].face;
            r = across(&axes[a], face, r);
            crosses |= face != place->face[a] && (is_odd(&axes[a], face) || is_odd(&axes[a], place->face[a]));
        }
        const real *sums = find_node(grid, MPM_GRID_HEAT, at, layer);
        if (sums && sums[3] > 0) {
            sum.heat += r.sign * sums[0] + r.offset * sums[3];
            sum.capacity += sums[3];
            sum.own_heat += crosses ? 0 : sums[0];
            sum.own_capacity += crosses ? 0 : sums[3];
            sum.own_weighted += crosses ? 0 : sums[1];
            sum.own_weight += crosses ? 0 : sums[2];
            if (flows)
                sum.flow += r.sign * find_node(grid, MPM_GRID_HEAT_FLOW, at, layer)[0];
        }
        int a = DIM - 1;
        while (a >= 0 && ++k[a] == place->images[a])
            k[a--] = 0;
        if (a < 0)
            return sum;
    }
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* Adds the flux through faces, which acts on the nodes within a cell of them. Returns its sum. */
static double add_flux(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    double sum = 0;
    for (int face = 0; face < 2 * DIM; face++) {
        const int axis = face / 2;
        const double out = face % 2 ? 1 : -1;
        if (pass->walls[face].kind != MPM_HEAT_FLUX)
            continue;
        const real *areas = field_nodes(grid, MPM_GRID_HEAT_AREAS, b), *heat = field_nodes(grid, MPM_GRID_HEAT, b);
        real *flow = field_nodes(grid, MPM_GRID_HEAT_FLOW, b);
        for (int n = 0; n < MPM_BLOCK_NODES; n++) {
            int64_t at[DIM];
            node_coordinates(&grid->blocks[b], n, at);
            const int64_t beyond = face % 2 ? at[axis] - pass->symmetry[axis].cells : -at[axis];
            if (beyond < -1 || !(heat[4 * n + 3] > 0))
                continue;
            const real given = (real)(pass->dt * pass->walls[face].value * out * (double)areas[4 * n + axis]);
            flow[4 * n] += given;
            sum += (double)given;
        }
    }
    return sum;
}

static real over(real a, real b)
{
    return b > 0 ? a / b : 0;
}

/* {T, -, T, S} */
static void finish_means(real *temperature, const real *heat)
{
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        temperature[n] = temperature[n + 2] = over(heat[n], heat[n + 3]);
        temperature[n + 1] = 0;
        temperature[n + 3] = over(heat[n + 1], heat[n + 2]);
    }
}

/* {T, dT, T + dT, S} */
static void finish_changes(real *temperature, const real *heat, const real *flow)
{
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        const real change = over(flow[n], heat[n + 3]);
        temperature[n + 1] = change;
        temperature[n + 2] = temperature[n] + change;
    }
}

void MPM_KERNEL(heat_nodes_block)(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_grid_field field = pass->stage == MPM_HEAT_STAGE_AREAS   ? MPM_GRID_HEAT_AREAS
                                 : pass->stage == MPM_HEAT_STAGE_MEANS ? MPM_GRID_HEAT
                                                                       : MPM_GRID_HEAT_FLOW;
    sum_copies(field_nodes(grid, field, b), grid, &grid->blocks[b], grid->copies[field]);
    if (pass->stage == MPM_HEAT_STAGE_AREAS)
        return;
    if (pass->stage == MPM_HEAT_STAGE_CHANGES)
        pass->wall_heat[b] = add_flux(pass, b);
    if (is_block_near(pass, &grid->blocks[b])) /* heat_nodes_fold goes on after the barrier */
        return;
    real *temperature = field_nodes(grid, MPM_GRID_TEMPERATURE, b);
    const real *heat = field_nodes(grid, MPM_GRID_HEAT, b);
    if (pass->stage == MPM_HEAT_STAGE_MEANS)
        finish_means(temperature, heat);
    else
        finish_changes(temperature, heat, field_nodes(grid, MPM_GRID_HEAT_FLOW, b));
}

/* The temperatures of a node, {T, pull, T, S} */
static void fold_mean(const mpm_grid *grid, const struct axis axes[DIM], const struct place *place, int32_t layer,
                      real value[4])
{
    const struct sums sum = sum_images(grid, axes, place, layer, false);
    const real mean = over(sum.heat, sum.capacity);
    const real T = place->given ? place->temperature : place->own.sign * (mean - place->own.offset);
    value[0] = value[2] = T;
    value[1] = place->odd ? T - over(sum.own_heat, sum.own_capacity) : 0;
    value[3] = over(sum.own_weighted, sum.own_weight);
}

/* Its change, with the pull. Returns what the node has from walls of given temperature. */
static double fold_change(const mpm_grid *grid, const struct axis axes[DIM], const struct place *place, int32_t layer,
                          const real *own, real flow, real value[4])
{
    const struct sums sum = sum_images(grid, axes, place, layer, true);
    const real change = place->given ? 0 : place->own.sign * over(sum.flow, sum.capacity);
    value[1] += change;
    value[2] = value[0] + change;
    return place->odd ? (double)own[3] * (double)value[1] - (double)flow : 0;
}

void MPM_KERNEL(heat_nodes_fold)(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_node_block *block = &grid->blocks[b];
    if (!is_block_near(pass, block))
        return;
    struct axis axes[DIM];
    for (int a = 0; a < DIM; a++)
        axes[a] = axis_of(pass, a);
    real *temperature = field_nodes(grid, MPM_GRID_TEMPERATURE, b);
    const real *heat = field_nodes(grid, MPM_GRID_HEAT, b), *flow = field_nodes(grid, MPM_GRID_HEAT_FLOW, b);
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        real *value = temperature + 4 * n;
        const real *own = heat + 4 * n;
        int64_t at[DIM];
        if (!(own[3] > 0)) {
            memset(value, 0, 4 * sizeof *value);
            continue;
        }
        node_coordinates(block, n, at);
        const struct place place = find_place(axes, at);
        if (pass->stage == MPM_HEAT_STAGE_MEANS)
            fold_mean(grid, axes, &place, block->layer, value);
        else
            pass->wall_heat[b] += fold_change(grid, axes, &place, block->layer, own, flow[4 * n], value);
    }
}
