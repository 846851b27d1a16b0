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
 * Surfaces give heat to the areas of all images of a node inside odd faces; each image has the share of its
 * capacity. What a wall of given temperature gives is what particles gain at such nodes beyond the heat that has flowed
 * there. Images are found by their coordinates, in ascending order, so that all images of a node have the same bits.
 * Where two faces meet at an edge, its nodes have the mean of the temperatures.
 *
 * An implicit step finds the changes X of temperature such that, with what surfaces do to a node (struct supply),
 *
 *     (M + dt K) X = Q(T) + dt (S - H T),   M = sum C + dt H,   -dt K X = Q(X)
 *
 * by conjugate gradients, which M preconditions: w'^2/w of B-splines is bounded, and so is K/C at any node. All images
 * of a node have the same X and residual but for signs, so a product of vectors counts each in proportion to its C.
 * Nodes of given temperature have M = 0 and take no part.
 */
#include "mpm/kernels/nodes.h"
#include "mpm/kernels/reach.h"

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

/* The reflections at faces of given temperature from an image to the domain: their number, and the sum of the
 * temperatures. */
struct reflection {
    int count;
    real sum;
};

static struct axis axis_of(const mpm_heat_pass *pass, int a)
{
    const mpm_symmetry *symmetry = &pass->symmetry[a];
    struct axis axis = {.cells = symmetry->cells, .periodic = symmetry->periodic};
    for (int side = 0; side < 2; side++) {
        const mpm_heat_surface *wall = &pass->walls[2 * a + side];
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
    return (struct reflection){r.count + 1, r.sum + axis->wall[face]};
}

/* T -> sign T + offset. Where faces of several temperatures meet, the offset is the mean over their orders. */
static real sign_of(const struct reflection *r)
{
    return r->count % 2 ? -1 : 1;
}

static real offset_of(const struct reflection *r)
{
    return r->count % 2 ? 2 * r->sum / (real)r->count : 0;
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
    int64_t at[DIM]; /* in the domain */
    struct along image[DIM][ALONG_MOST];
    int images[DIM];
    int face[DIM];         /* across which the node is reflected; -1: none */
    struct reflection own; /* from the node to the domain */
    bool odd;              /* has an odd image, or lies on an odd plane */
    int given;             /* lies on so many odd planes, at the mean of their temperatures */
    real temperature;
};

static struct place find_place(const struct axis axes[DIM], const int64_t at[DIM])
{
    struct place place = {.own = {0, 0}};
    for (int a = 0; a < DIM; a++) {
        const struct axis *axis = &axes[a];
        place.at[a] = at[a];
        place.image[a][0] = (struct along){at[a], -1};
        place.images[a] = 1;
        place.face[a] = -1;
        if (!is_near(axis, at[a]))
            continue;
        const struct along inside = into_domain(axis, at[a]);
        place.at[a] = inside.at;
        place.images[a] = list_along(axis, inside.at, place.image[a]);
        place.face[a] = inside.face;
        place.own = across(axis, inside.face, place.own);
        for (int side = 0; side < 2; side++) {
            const bool on = axis->odd[side] && inside.at == (side ? axis->cells : 0);
            if (on) {
                place.temperature += axis->wall[side];
                place.given++;
            }
            place.odd |= on;
        }
        for (int k = 0; k < place.images[a]; k++)
            place.odd |= place.image[a][k].face >= 0 && axis->odd[place.image[a][k].face];
    }
    if (place.given)
        place.temperature /= (real)place.given;
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

/* One image of a place. */
struct image {
    int64_t at[DIM];
    struct reflection to_domain;
    unsigned flips; /* axes along which it is reflected */
    bool crosses;   /* lies on the other side of an odd face */
};

static struct image image_of_place(const struct axis axes[DIM], const struct place *place, const int k[DIM])
{
    struct image image = {.flips = 0};
    for (int a = 0; a < DIM; a++) {
        const int face = place->image[a][k[a]].face;
        image.at[a] = place->image[a][k[a]].at;
        image.to_domain = across(&axes[a], face, image.to_domain);
        image.flips |= (face >= 0 ? 1u : 0) << a;
        image.crosses |= face != place->face[a] && (is_odd(&axes[a], face) || is_odd(&axes[a], place->face[a]));
    }
    return image;
}

/* k: the next image, if there is one. */
static bool go_on(const struct place *place, int k[DIM])
{
    int a = DIM - 1;
    while (a >= 0 && ++k[a] == place->images[a])
        k[a--] = 0;
    return a >= 0;
}

static struct sums sum_images(const mpm_grid *grid, const struct axis axes[DIM], const struct place *place,
                              int32_t layer, bool flows)
{
    int k[DIM] = {0};
    struct sums sum = {0};
    do {
        const struct image image = image_of_place(axes, place, k);
        const real *sums = find_node(grid, MPM_GRID_HEAT, image.at, layer);
        if (!sums || !(sums[3] > 0))
            continue;
        sum.heat += sign_of(&image.to_domain) * sums[0] + offset_of(&image.to_domain) * sums[3];
        sum.capacity += sums[3];
        sum.own_heat += image.crosses ? 0 : sums[0];
        sum.own_capacity += image.crosses ? 0 : sums[3];
        sum.own_weighted += image.crosses ? 0 : sums[1];
        sum.own_weight += image.crosses ? 0 : sums[2];
        if (flows)
            sum.flow += sign_of(&image.to_domain) * find_node(grid, MPM_GRID_HEAT_FLOW, image.at, layer)[0];
    } while (go_on(place, k));
    return sum;
}

/* The areas of a place, in the frame of the domain, over the images inside odd faces: the same for all images, so that
 * their changes agree, without which conjugate gradients do not end. */
static void sum_areas(const mpm_grid *grid, const struct axis axes[DIM], const struct place *place, int32_t layer,
                      real area[DIM])
{
    int k[DIM] = {0};
    memset(area, 0, DIM * sizeof *area);
    do {
        const struct image image = image_of_place(axes, place, k);
        const real *own = image.to_domain.count ? NULL : find_node(grid, MPM_GRID_HEAT_AREAS, image.at, layer);
        for (int a = 0; own && a < DIM; a++)
            area[a] += image.flips >> a & 1 ? -own[a] : own[a];
    } while (go_on(place, k));
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static real over(real a, real b)
{
    return b > 0 ? a / b : 0;
}

/* What surfaces do to a node: they give it sum (h T + q) A less sum h A times its temperature. */
struct supply {
    double conductance, source; /* [W/K], [W] */
};

/* Of walls: on the nodes within a cell of a face. A transfer counts areas that face it only. */
static struct supply supply_of_walls(const mpm_heat_pass *pass, const int64_t at[DIM], const real *area)
{
    struct supply supply = {0};
    for (int face = 0; face < 2 * DIM; face++) {
        const mpm_heat_surface *wall = &pass->walls[face];
        const int axis = face / 2;
        if (wall->kind < MPM_HEAT_FLUX || (face % 2 ? at[axis] - pass->symmetry[axis].cells : -at[axis]) < -1)
            continue;
        const double out = face % 2 ? (double)area[axis] : -(double)area[axis];
        if (wall->kind == MPM_HEAT_FLUX)
            supply.source += wall->value * out;
        else if (out > 0) {
            supply.conductance += wall->coefficient * out;
            supply.source += wall->coefficient * wall->value * out;
        }
    }
    return supply;
}

/* The part of a wall or a collider in what comes to a node that has `capacity` and the temperature T without it, if all
 * of them act at the end of a sub-step: dt (S - H T'), T' = (C T + dt S)/(C + dt H). */
static double supplied(struct supply all, struct supply part, double dt, double capacity, double T)
{
    const double end = (capacity * T + dt * all.source) / (capacity + dt * all.conductance);
    return dt * (part.source - part.conductance * end);
}

static struct supply supply_of_colliders(const real *node)
{
    return node ? (struct supply){(double)node[1], (double)node[2]} : (struct supply){0};
}

/* Heat that comes through surfaces in a sub-step to a node of the temperature T without it. */
static mpm_heat_book supply(const mpm_heat_pass *pass, struct supply wall, struct supply collider, double capacity,
                            double T)
{
    const struct supply all = {wall.conductance + collider.conductance, wall.source + collider.source};
    return (mpm_heat_book){.wall = supplied(all, wall, pass->dt, capacity, T),
                           .collider = supplied(all, collider, pass->dt, capacity, T)};
}

/* Adds what comes through surfaces to the heat that has flowed to the nodes of a block away from images. */
static mpm_heat_book add_supplies(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const real *heat = field_nodes(grid, MPM_GRID_HEAT, b), *areas = field_nodes(grid, MPM_GRID_HEAT_AREAS, b);
    const real *temperature = field_nodes(grid, MPM_GRID_TEMPERATURE, b);
    const real *colliders = pass->surface_count ? field_nodes(grid, MPM_GRID_HEAT_COLLIDERS, b) : NULL;
    real *flow = field_nodes(grid, MPM_GRID_HEAT_FLOW, b);
    mpm_heat_book book = {0};
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        const double capacity = (double)heat[4 * n + 3];
        int64_t at[DIM];
        if (!(capacity > 0))
            continue;
        node_coordinates(&grid->blocks[b], n, at);
        const double T = (double)temperature[4 * n + 2] + (double)flow[4 * n] / capacity;
        const mpm_heat_book found = supply(pass, supply_of_walls(pass, at, areas + 4 * n),
                                           supply_of_colliders(colliders ? colliders + 4 * n : NULL), capacity, T);
        flow[4 * n] += (real)(found.wall + found.collider);
        book.wall += found.wall;
        book.collider += found.collider;
    }
    return book;
}

/* ---- colliders -------------------------------------------------------------------------------------------------- */

/* Material at rest on a collider has its surface half a cell to a cell before it: its area is on nodes within this
 * distance [cells]. */
#define COLLIDER_REACH 1.5

/* Of the last real of MPM_GRID_HEAT_COLLIDERS, which is 0 where a node is free: it has the temperature of the first. */
enum { HELD = MPM_PORE_DRAINED };

/* Adds what a collider does to a node, {T, sum h A, sum (h T + q) A, held}. */
static void meet_collider(const mpm_heat_surface *surface, const mpm_shape_reading *at, const real area[DIM], double dx,
                          real *node)
{
    if (surface->kind == MPM_HEAT_TEMPERATURE) {
        if (at->phi <= 0 && !(node[3] > 0)) {
            node[0] = (real)surface->value;
            node[3] = HELD;
        }
        return;
    }
    double facing = 0;
    for (int a = 0; a < DIM; a++)
        facing -= (double)area[a] * at->normal[a];
    if (at->phi > COLLIDER_REACH * dx || (surface->kind == MPM_HEAT_TRANSFER && !(facing > 0)))
        return;
    if (surface->kind == MPM_HEAT_TRANSFER)
        node[1] += (real)(surface->coefficient * facing);
    node[2] += (real)(surface->value * facing * (surface->kind == MPM_HEAT_TRANSFER ? surface->coefficient : 1));
}

/* What the colliders do to the nodes of a block; `near`: with images, which have the sums of their places. */
static void meet_colliders(const mpm_heat_pass *pass, ptrdiff_t b, bool near)
{
    const mpm_grid *grid = pass->grid;
    const mpm_node_block *block = &grid->blocks[b];
    const real *heat = field_nodes(grid, MPM_GRID_HEAT, b), *areas = field_nodes(grid, MPM_GRID_HEAT_AREAS, b);
    real *nodes = field_nodes(grid, MPM_GRID_HEAT_COLLIDERS, b);
    struct axis axes[DIM];
    memset(nodes, 0, 4 * MPM_BLOCK_NODES * sizeof *nodes);
    for (int a = 0; a < DIM; a++)
        axes[a] = axis_of(pass, a);
    for (size_t k = 0; k < pass->surface_count; k++) {
        const mpm_collider *collider = &pass->colliders[k];
        bool whole = true; /* the block lies in the domain */
        if (pass->surfaces[k].kind == MPM_HEAT_INSULATED)
            continue;
        for (int a = 0; a < DIM; a++) {
            const int64_t first = (int64_t)block->block[a] * BLOCK_SIDE;
            whole &= first >= 0 && first + BLOCK_SIDE - 1 <= axes[a].cells;
        }
        if (whole && !collider_reaches(collider, block, pass->lower, pass->dx, COLLIDER_REACH * pass->dx))
            continue;
        for (int n = 0; n < MPM_BLOCK_NODES; n++) {
            int64_t at[DIM];
            double x[3] = {0};
            real area[DIM];
            if (!(heat[4 * n + 3] > 0))
                continue;
            node_coordinates(block, n, at);
            memcpy(area, areas + 4 * n, sizeof area);
            if (near) {
                const struct place place = find_place(axes, at);
                sum_areas(grid, axes, &place, block->layer, area);
                memcpy(at, place.at, sizeof at);
            }
            for (int a = 0; a < DIM; a++)
                x[a] = pass->lower[a] + (double)at[a] * pass->dx;
            const mpm_shape_reading reading = mpm_collider_read(collider, &collider->now, x, UINT64_MAX);
            meet_collider(&pass->surfaces[k], &reading, area, pass->dx, nodes + 4 * n);
        }
    }
}

/* ---- open surfaces ----------------------------------------------------------------------------------------------- */

/* A node that is full to a share of its B-spline between these lies on a free surface, where half is full, or less than
 * a cell beyond it. One that is farther away keeps the mean, which continues the slope of the pressure inside: held
 * as well, it would move the surface outwards by a quarter of a cell. */
#define OPEN_BELOW 0.6
#define OPEN_ABOVE(degree) ((degree) == MPM_CUBIC ? 0.05 : 0.03)
enum { SEALED = MPM_PORE_SEEPAGE + 1 }; /* a node of such a surface, through which water would come in */

/* The share of a node's B-spline on the inner side of a face, at so many cells from it, >= 0. */
static double share_inside(int64_t from, int degree)
{
    const double beyond = degree == MPM_CUBIC ? 1.0 / 24 : 1.0 / 48;
    return from == 0 ? 0.5 : from == 1 ? 1 - beyond : 1;
}

/* The volume at a place over that of its B-spline in the domain. */
static double fullness(const mpm_heat_pass *pass, const struct axis axes[DIM], const struct place *place, int32_t layer)
{
    int k[DIM] = {0};
    double volume = 0, room = 1;
    do {
        const struct image image = image_of_place(axes, place, k);
        const real *own = image.crosses ? NULL : find_node(pass->grid, MPM_GRID_HEAT_AREAS, image.at, layer);
        volume += own ? (double)own[3] : 0;
    } while (go_on(place, k));
    for (int a = 0; a < DIM; a++) {
        const int64_t last = pass->symmetry[a].cells;
        room *= pass->dx;
        for (int side = 0; side < 2 && !axes[a].periodic; side++) {
            const int64_t from = side ? last - place->at[a] : place->at[a];
            room *= from && axes[a].reflects[side] ? 1 : share_inside(from, pass->degree);
        }
    }
    return volume / room;
}

static bool is_near_collider(const mpm_heat_pass *pass, const double x[3])
{
    bool near = false;
    for (size_t k = 0; k < pass->collider_count && !near; k++)
        near = mpm_collider_read(&pass->colliders[k], &pass->colliders[k].now, x, UINT64_MAX).phi < pass->dx;
    return near;
}

/* Is a place so near a face of given pressure that particles reach its image across the face? */
static bool is_near_odd(const struct axis axes[DIM], const struct place *place)
{
    bool near = false;
    for (int a = 0; a < DIM; a++)
        near |= (axes[a].odd[0] && place->at[a] <= 2) || (axes[a].odd[1] && place->at[a] >= axes[a].cells - 2);
    return near;
}

/* Finds the nodes of a block at free surfaces of saturated material, and what is p - w.x there: {-w.x, 0, 0, open}.
 * Faces of given pressure are none, nor is what is near them or near colliders. A node beyond a face is what its
 * reflection is. */
static void find_open(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    const real *heat = field_nodes(pass->grid, MPM_GRID_HEAT, b);
    real *nodes = field_nodes(pass->grid, MPM_GRID_HEAT_COLLIDERS, b);
    struct axis axes[DIM];
    memset(nodes, 0, 4 * MPM_BLOCK_NODES * sizeof *nodes);
    for (int a = 0; a < DIM; a++)
        axes[a] = axis_of(pass, a);
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        int64_t at[DIM];
        double x[3] = {0}, u = 0;
        if (!(heat[4 * n + 3] > 0))
            continue;
        node_coordinates(block, n, at);
        for (int a = 0; a < DIM; a++)
            if (!axes[a].periodic) {
                const int64_t last = pass->symmetry[a].cells;
                at[a] = at[a] < 0 ? -at[a] : at[a] > last ? 2 * last - at[a] : at[a];
            }
        const struct place place = find_place(axes, at);
        const double full = is_near_odd(axes, &place) ? 1 : fullness(pass, axes, &place, block->layer);
        if (!(full > OPEN_ABOVE(pass->degree) && full < OPEN_BELOW))
            continue;
        for (int a = 0; a < DIM; a++) {
            x[a] = pass->lower[a] + (double)place.at[a] * pass->dx;
            u -= pass->weight[a] * x[a];
        }
        if (is_near_collider(pass, x))
            continue;
        nodes[4 * n] = (real)u;
        nodes[4 * n + 3] = (real)pass->open;
    }
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

/* Gives nodes within colliders, or at open surfaces, their temperatures: {T, -, T, S} before the flow, {T, pull, T, S}
 * after it. Returns what has come from there. */
static double hold_nodes(real *temperature, const real *heat, real *colliders, bool flowed)
{
    double sum = 0;
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        if (!(colliders[n + 3] > 0 && heat[n + 3] > 0))
            continue;
        if (!flowed && colliders[n + 3] >= MPM_PORE_SEEPAGE)
            colliders[n + 3] = temperature[n] > colliders[n] ? MPM_PORE_SEEPAGE : SEALED;
        if (colliders[n + 3] == SEALED)
            continue;
        temperature[n] = temperature[n + 2] = colliders[n];
        if (flowed) {
            const real pull = colliders[n] - heat[n] / heat[n + 3];
            sum += (double)heat[n + 3] * ((double)pull - (double)temperature[n + 1]);
            temperature[n + 1] = pull;
        }
    }
    return sum;
}

/* {T, dT, T + dT, S} */
static void finish_changes(real *temperature, const real *heat, const real *flow)
{
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        const real change = over(flow[n], heat[n + 3]);
        temperature[n + 1] = change;
        temperature[n + 2] += change;
    }
}

static void add_copies(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t b)
{
    sum_copies(field_nodes(grid, field, b), grid, &grid->blocks[b], grid->copies[field]);
}

/* ---- implicit steps --------------------------------------------------------------------------------------------- */

enum { CHANGE, RESIDUAL, PRODUCT, DIAGONAL }; /* of MPM_GRID_RESIDUAL; the direction is where T is, for the sweep */
enum { FLOWED, SHARE };                       /* of MPM_GRID_HEAT_FLOW: its share in products of vectors */

/* The equation of a node that has `capacity` and the temperature T, to which heat has flowed at T. Returns its part in
 * the first product, residual and direction. */
static double begin_node(const mpm_heat_pass *pass, struct supply wall, struct supply collider, real capacity, real T,
                         real flow, real share, real *direction, real *solve)
{
    const double H = wall.conductance + collider.conductance, S = wall.source + collider.source;
    solve[CHANGE] = solve[PRODUCT] = 0;
    solve[DIAGONAL] = capacity + (real)(pass->dt * H);
    solve[RESIDUAL] = flow + (real)(pass->dt * (S - H * (double)T));
    *direction = solve[RESIDUAL] / solve[DIAGONAL];
    return (double)share * (double)solve[RESIDUAL] * (double)*direction;
}

static void leave_out(real *direction, real *solve)
{
    memset(solve, 0, 4 * sizeof *solve);
    *direction = 0;
}

static bool is_held(const real *collider)
{
    return collider && collider[3] > 0;
}

/* The equations of a block away from images. */
static double begin_solve(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const real *heat = field_nodes(grid, MPM_GRID_HEAT, b), *flow = field_nodes(grid, MPM_GRID_HEAT_FLOW, b);
    const real *areas = pass->has_areas ? field_nodes(grid, MPM_GRID_HEAT_AREAS, b) : NULL;
    const real *colliders = pass->surface_count ? field_nodes(grid, MPM_GRID_HEAT_COLLIDERS, b) : NULL;
    real *temperature = field_nodes(grid, MPM_GRID_TEMPERATURE, b), *solve = field_nodes(grid, MPM_GRID_RESIDUAL, b);
    double sum = 0;
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        const real *collider = colliders ? colliders + 4 * n : NULL;
        real *value = temperature + 4 * n;
        int64_t at[DIM];
        if (!(heat[4 * n + 3] > 0) || is_held(collider)) {
            leave_out(value, solve + 4 * n);
            continue;
        }
        node_coordinates(&grid->blocks[b], n, at);
        const struct supply wall = areas ? supply_of_walls(pass, at, areas + 4 * n) : (struct supply){0};
        sum += begin_node(pass, wall, supply_of_colliders(collider), heat[4 * n + 3], value[2], flow[4 * n], 1, value,
                          solve + 4 * n);
    }
    return sum;
}

/* The equation of a node with images. */
static double fold_begin(const mpm_heat_pass *pass, const struct axis axes[DIM], const struct place *place,
                         int32_t layer, const real *own, const real *collider, real value[4], real *solve)
{
    const struct sums sum = sum_images(pass->grid, axes, place, layer, true);
    const real sign = sign_of(&place->own), T = sign * value[2] + offset_of(&place->own);
    struct supply wall = {0};
    real area[DIM];
    if (place->given || is_held(collider)) {
        leave_out(value, solve);
        return 0;
    }
    if (pass->has_areas) {
        sum_areas(pass->grid, axes, place, layer, area);
        wall = supply_of_walls(pass, place->at, area);
    }
    const double product = begin_node(pass, wall, supply_of_colliders(collider), sum.capacity, T, sum.flow,
                                      own[3] / sum.capacity, value, solve);
    value[0] *= sign;
    solve[RESIDUAL] *= sign;
    return product;
}

/* The product of a node; `flow` is that of the direction, with its images. Returns its part of their product. */
static double multiply_node(real direction, real flow, real *solve, real share)
{
    solve[PRODUCT] = solve[DIAGONAL] > 0 ? solve[DIAGONAL] * direction - flow : 0;
    return (double)share * (double)direction * (double)solve[PRODUCT];
}

static double multiply_block(const real *temperature, real *flow, real *solve)
{
    double sum = 0;
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        flow[n + SHARE] = 1;
        sum += multiply_node(temperature[n], flow[n + FLOWED], solve + n, 1);
    }
    return sum;
}

static double fold_product(const mpm_grid *grid, const struct axis axes[DIM], const struct place *place, int32_t layer,
                           const real *own, const real value[4], real *flow, real *solve)
{
    const struct sums sum = sum_images(grid, axes, place, layer, true);
    flow[SHARE] = own[3] / sum.capacity;
    return multiply_node(value[0], sign_of(&place->own) * sum.flow, solve, flow[SHARE]);
}

static double advance_block(const real *temperature, const real *flow, real *solve, double factor)
{
    const real a = (real)factor;
    double sum = 0;
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        solve[n + CHANGE] += a * temperature[n];
        solve[n + RESIDUAL] -= a * solve[n + PRODUCT];
        const real residual = solve[n + RESIDUAL];
        sum += (double)flow[n + SHARE] * (double)residual * (double)over(residual, solve[n + DIAGONAL]);
    }
    return sum;
}

static void redirect_block(real *temperature, const real *solve, double factor)
{
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4)
        temperature[n] = over(solve[n + RESIDUAL], solve[n + DIAGONAL]) + (real)factor * temperature[n];
}

/* Heat flows from the temperatures at the end of the step. */
static void end_solve(real *temperature, const real *solve)
{
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4)
        temperature[n] = temperature[n + 2] + solve[n + CHANGE];
}

/* A stage of a solve in a block; those that need images go on after the barrier. */
static void visit_solve(const mpm_heat_pass *pass, ptrdiff_t b, bool near)
{
    const mpm_grid *grid = pass->grid;
    real *temperature = field_nodes(grid, MPM_GRID_TEMPERATURE, b), *solve = field_nodes(grid, MPM_GRID_RESIDUAL, b);
    real *flow = field_nodes(grid, MPM_GRID_HEAT_FLOW, b);
    switch (pass->stage) {
    case MPM_HEAT_STAGE_SYSTEM:
        pass->sums[b] = near ? 0 : begin_solve(pass, b);
        return;
    case MPM_HEAT_STAGE_PRODUCT:
        pass->sums[b] = near ? 0 : multiply_block(temperature, flow, solve);
        return;
    case MPM_HEAT_STAGE_ADVANCE:
        pass->sums[b] = advance_block(temperature, flow, solve, pass->factor);
        return;
    case MPM_HEAT_STAGE_REDIRECT:
        redirect_block(temperature, solve, pass->factor);
        return;
    default:
        end_solve(temperature, solve);
    }
}

/* ---- passes ----------------------------------------------------------------------------------------------------- */

/* Blocks near faces with images go on in heat_nodes_fold, after the barrier. */
void MPM_KERNEL(heat_nodes_block)(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    real *temperature = field_nodes(grid, MPM_GRID_TEMPERATURE, b);
    const real *heat = field_nodes(grid, MPM_GRID_HEAT, b);
    const bool near = is_block_near(pass, &grid->blocks[b]);
    switch (pass->stage) {
    case MPM_HEAT_STAGE_MEANS:
        add_copies(grid, MPM_GRID_HEAT, b);
        pass->books[b] = (mpm_heat_book){0};
        if (!near)
            finish_means(temperature, heat);
        return;
    case MPM_HEAT_STAGE_AREAS:
        add_copies(grid, MPM_GRID_HEAT_AREAS, b);
        if (pass->surface_count && !near)
            meet_colliders(pass, b, false);
        return;
    case MPM_HEAT_STAGE_CHANGES:
        add_copies(grid, MPM_GRID_HEAT_FLOW, b);
        if (near)
            return;
        if (pass->has_areas)
            pass->books[b] = add_supplies(pass, b);
        finish_changes(temperature, heat, field_nodes(grid, MPM_GRID_HEAT_FLOW, b));
        return;
    case MPM_HEAT_STAGE_HOLD:
    case MPM_HEAT_STAGE_HOLD_CHANGES:
        pass->books[b].collider += hold_nodes(temperature, heat, field_nodes(grid, MPM_GRID_HEAT_COLLIDERS, b),
                                              pass->stage == MPM_HEAT_STAGE_HOLD_CHANGES);
        return;
    case MPM_HEAT_STAGE_SYSTEM:
    case MPM_HEAT_STAGE_PRODUCT:
        add_copies(grid, MPM_GRID_HEAT_FLOW, b);
        break;
    default:
        break;
    }
    visit_solve(pass, b, near);
}

/* The temperatures of a node, {T, pull, T, S} */
static void fold_mean(const mpm_grid *grid, const struct axis axes[DIM], const struct place *place, int32_t layer,
                      real value[4])
{
    const struct sums sum = sum_images(grid, axes, place, layer, false);
    const real mean = over(sum.heat, sum.capacity);
    const real T = place->given ? place->temperature : sign_of(&place->own) * (mean - offset_of(&place->own));
    value[0] = value[2] = T;
    value[1] = place->odd ? T - over(sum.own_heat, sum.own_capacity) : 0;
    value[3] = over(sum.own_weighted, sum.own_weight);
}

/* Its change, with the pull. Returns what its own particles have from walls and colliders. */
static mpm_heat_book fold_change(const mpm_heat_pass *pass, const struct axis axes[DIM], const struct place *place,
                                 int32_t layer, const real *own, real flow, const real *collider, real value[4])
{
    const struct sums sum = sum_images(pass->grid, axes, place, layer, true);
    const double capacity = (double)sum.capacity, share = (double)own[3] / capacity;
    mpm_heat_book found = {0};
    if (pass->has_areas && !place->given) {
        const double mean = (double)(sign_of(&place->own) * value[2] + offset_of(&place->own));
        real area[DIM];
        sum_areas(pass->grid, axes, place, layer, area);
        found = supply(pass, supply_of_walls(pass, place->at, area), supply_of_colliders(collider), capacity,
                       mean + (double)sum.flow / capacity);
    }
    const real all = sum.flow + (real)(found.wall + found.collider);
    const real change = place->given ? 0 : sign_of(&place->own) * all / sum.capacity;
    value[1] += change;
    value[2] += change;
    found.collider *= share;
    found.wall = place->odd ? (double)own[3] * (double)value[1] - (double)flow - found.collider : share * found.wall;
    return found;
}

void MPM_KERNEL(heat_nodes_fold)(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_node_block *block = &grid->blocks[b];
    if (pass->open && pass->stage == MPM_HEAT_STAGE_AREAS) {
        find_open(pass, b);
        return;
    }
    if (!is_block_near(pass, block))
        return;
    if (pass->stage == MPM_HEAT_STAGE_AREAS) {
        if (pass->surface_count)
            meet_colliders(pass, b, true);
        return;
    }
    struct axis axes[DIM];
    for (int a = 0; a < DIM; a++)
        axes[a] = axis_of(pass, a);
    real *temperature = field_nodes(grid, MPM_GRID_TEMPERATURE, b), *flow = field_nodes(grid, MPM_GRID_HEAT_FLOW, b);
    real *solve = pass->sums ? field_nodes(grid, MPM_GRID_RESIDUAL, b) : NULL;
    const real *heat = field_nodes(grid, MPM_GRID_HEAT, b);
    const real *colliders = pass->surface_count ? field_nodes(grid, MPM_GRID_HEAT_COLLIDERS, b) : NULL;
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        real *value = temperature + 4 * n;
        const real *own = heat + 4 * n;
        int64_t at[DIM];
        if (!(own[3] > 0)) {
            memset(value, 0, 4 * sizeof *value);
            if (solve)
                memset(solve + 4 * n, 0, 4 * sizeof *solve);
            continue;
        }
        node_coordinates(block, n, at);
        const struct place place = find_place(axes, at);
        if (pass->stage == MPM_HEAT_STAGE_MEANS) {
            fold_mean(grid, axes, &place, block->layer, value);
            continue;
        }
        const real *collider = colliders ? colliders + 4 * n : NULL;
        if (pass->stage == MPM_HEAT_STAGE_SYSTEM) {
            pass->sums[b] += fold_begin(pass, axes, &place, block->layer, own, collider, value, solve + 4 * n);
            continue;
        }
        if (pass->stage == MPM_HEAT_STAGE_PRODUCT) {
            pass->sums[b] += fold_product(grid, axes, &place, block->layer, own, value, flow + 4 * n, solve + 4 * n);
            continue;
        }
        const mpm_heat_book found =
            fold_change(pass, axes, &place, block->layer, own, flow[4 * n], collider, value);
        pass->books[b].wall += found.wall;
        pass->books[b].collider += found.collider;
    }
}
