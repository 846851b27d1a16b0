/* SPDX-License-Identifier: MIT
 *
 * The images of nodes that heat_nodes.c adds up, and the latent heat that a node may take.
 */
#pragma once
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

/* Latent heat that the particles of a node may take and give, and its melting temperature. */
struct latent {
    real most_room, most_held, melting;
    real room, held; /* until the front has passed the node by half a cell: its temperature is free then */
};

/* The share of a node's B-spline beyond half a cell from it. A front that has passed a node by half a cell leaves it,
 * as in finite volumes. If nodes stayed at Tm until all of their particles have melted, the front would be 1.5 cells
 * ahead, and heat would have a shorter way than it has (note 025). */
#define BEYOND_FRONT ((real)1 / 6)

enum { LATENT_ROOM, LATENT_HELD, LATENT_WEIGHTED, LATENT_SIDE }; /* of MPM_GRID_HEAT_LATENT */
enum { TAKEN = 2, GIVEN }; /* of MPM_GRID_HEAT_FLOW: the shares of both, for particles */

static struct latent make_latent(real room, real held, real weighted)
{
    const real all = room + held, spared = BEYOND_FRONT * all;
    return (struct latent){.most_room = room, .most_held = held, .melting = all > 0 ? weighted / all : 0,
                           .room = room > spared ? room - spared : 0, .held = held > spared ? held - spared : 0};
}

static struct latent latent_of(const real *own)
{
    return make_latent(own[LATENT_ROOM], own[LATENT_HELD], own[LATENT_WEIGHTED]);
}

/* The side of the melting temperature on which a node is at the end of the step. */
enum { SOLID, MELTS, LIQUID };

/* Latent heat that a node takes on a side; `left`: what is left for it at the melting temperature. */
static real latent_on(real side, const struct latent *latent, real left)
{
    if (side == LIQUID)
        return latent->room;
    if (side == SOLID)
        return -latent->held;
    return left > latent->room ? latent->room : left < -latent->held ? -latent->held : left;
}

/* Notes the latent heat that a node takes, for its particles. Returns it, for a share of it. */
static real take_latent(const struct latent *latent, real taken, real *flow, const struct latent *own)
{
    flow[TAKEN] = taken > 0 && latent->most_room > 0 ? taken / latent->most_room : 0;
    flow[GIVEN] = taken < 0 && latent->most_held > 0 ? -taken / latent->most_held : 0;
    return flow[TAKEN] * own->most_room - flow[GIVEN] * own->most_held;
}

/* At a given temperature, all is melted or frozen. Returns the latent heat that the node's own particles take. */
static real take_all(const real *own, real T, real *flow)
{
    const struct latent latent = latent_of(own);
    const real taken = T > latent.melting ? latent.most_room : T < latent.melting ? -latent.most_held : 0;
    return take_latent(&latent, taken, flow, &latent);
}

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

/* Of images inside odd faces. */
static struct latent sum_latent(const mpm_grid *grid, const struct axis axes[DIM], const struct place *place,
                                int32_t layer)
{
    int k[DIM] = {0};
    real room = 0, held = 0, weighted = 0;
    do {
        const struct image image = image_of_place(axes, place, k);
        const real *own = image.to_domain.count ? NULL : find_node(grid, MPM_GRID_HEAT_LATENT, image.at, layer);
        room += own ? own[LATENT_ROOM] : 0;
        held += own ? own[LATENT_HELD] : 0;
        weighted += own ? own[LATENT_WEIGHTED] : 0;
    } while (go_on(place, k));
    return make_latent(room, held, weighted);
}
