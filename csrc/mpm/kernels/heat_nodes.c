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
 *
 * Where bodies melt, a node takes latent heat as well, L in all: at most the room R+ = sum w m l (1 - f) less a sixth
 * of sum w m l, at least -R- = -sum w m l f plus a sixth, with the latent heat l of particles and their liquid share f,
 *
 *     C X + L = Q(T + X) + dt (S - H (T + X)),   L = R+ where T + X > Tm,   L = -R- where T + X < Tm,   between at Tm
 *
 * With the sides of Tm given, this is the system above, in which nodes at Tm take no part. The primal-dual active set
 * strategy (M. Hintermueller, K. Ito, K. Kunisch, SIAM J. Optim. 13 (2002) 865), which is Newton's method, sorts the
 * nodes anew by each solution, until none changes. Images take L and Tm from those inside odd faces.
 */
#include "mpm/kernels/heat_images.h"
#include "mpm/kernels/reach.h"

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

/* The part of a wall or a collider in what comes to a node of the temperature T' at the end of a sub-step. */
static double supplied(struct supply part, double dt, double end)
{
    return dt * (part.source - part.conductance * end);
}

static struct supply supply_of_colliders(const real *node)
{
    return node ? (struct supply){(double)node[1], (double)node[2]} : (struct supply){0};
}

/* Heat that comes through surfaces in a sub-step to a node that has `capacity` and the temperature T without it:
 * dt (S - H T'), T' = (C T + dt S)/(C + dt H). Where bodies melt, T is T', which has been solved for. */
static mpm_heat_book supply(const mpm_heat_pass *pass, struct supply wall, struct supply collider, double capacity,
                            double T)
{
    const struct supply all = {wall.conductance + collider.conductance, wall.source + collider.source};
    const double dt = pass->dt;
    const double end = pass->melts ? T : (capacity * T + dt * all.source) / (capacity + dt * all.conductance);
    return (mpm_heat_book){.wall = supplied(wall, dt, end), .collider = supplied(collider, dt, end)};
}

/* The same at a temperature that is known. */
static real supply_at(const mpm_heat_pass *pass, struct supply wall, struct supply collider, real T)
{
    return (real)(pass->dt * (wall.source + collider.source) -
                  pass->dt * (wall.conductance + collider.conductance) * (double)T);
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
        double T = (double)temperature[4 * n + 2] + (double)flow[4 * n] / capacity;
        if (pass->melts)
            T = (double)temperature[4 * n];
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

static bool is_held(const real *collider)
{
    return collider && collider[3] > 0;
}

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

/* Takes the latent heat out of the heat that has come to the nodes of a block, for their particles. */
static void melt_nodes(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const real *heat = field_nodes(grid, MPM_GRID_HEAT, b), *latents = field_nodes(grid, MPM_GRID_HEAT_LATENT, b);
    const real *temperature = field_nodes(grid, MPM_GRID_TEMPERATURE, b);
    const real *colliders = pass->surface_count ? field_nodes(grid, MPM_GRID_HEAT_COLLIDERS, b) : NULL;
    real *flow = field_nodes(grid, MPM_GRID_HEAT_FLOW, b);
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        const struct latent latent = latent_of(latents + n);
        if (is_held(colliders ? colliders + n : NULL))
            continue;
        const real left = flow[n] - heat[n + 3] * (latent.melting - temperature[n + 2]);
        flow[n] -= take_latent(&latent, latent_on(latents[n + LATENT_SIDE], &latent, left), flow + n, &latent);
    }
}

/* All of what is in colliders of given temperature melts or freezes. Returns the heat that this takes. */
static double melt_held(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const real *latents = field_nodes(pass->grid, MPM_GRID_HEAT_LATENT, b);
    const real *heat = field_nodes(pass->grid, MPM_GRID_HEAT, b);
    const real *colliders = field_nodes(pass->grid, MPM_GRID_HEAT_COLLIDERS, b);
    real *flow = field_nodes(pass->grid, MPM_GRID_HEAT_FLOW, b);
    double sum = 0;
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4)
        if (colliders[n + 3] > 0 && heat[n + 3] > 0)
            sum += (double)take_all(latents + n, colliders[n], flow + n);
    return sum;
}

static void add_copies(const mpm_grid *grid, mpm_grid_field field, ptrdiff_t b)
{
    sum_copies(field_nodes(grid, field, b), grid, &grid->blocks[b], grid->copies[field]);
}

/* ---- implicit steps --------------------------------------------------------------------------------------------- */

enum { CHANGE, RESIDUAL, PRODUCT, DIAGONAL }; /* of MPM_GRID_RESIDUAL; the direction is where T is, for the sweep */
enum { FLOWED, SHARE };                       /* of MPM_GRID_HEAT_FLOW: its share in products of vectors */

/* The first guess: as if the node shared its own heat alone. */
static real begin_side(const struct latent *latent, real capacity, real T, real *change)
{
    const real above = capacity * (T - latent->melting);
    *change = 0;
    if (!(latent->room + latent->held > 0))
        return SOLID;
    if (above > latent->room || above < -latent->held) {
        *change = -(above > 0 ? latent->room : -latent->held) / capacity;
        return above > 0 ? LIQUID : SOLID;
    }
    *change = latent->melting - T;
    return MELTS;
}

/* The side of a node by a solution: what is beyond Tm stops there; what takes more than it can leaves it. `heat` has
 * come at the temperature T + change. */
static real next_side(const struct latent *latent, real side, real capacity, real T, real heat, real *change)
{
    const real all = latent->room + latent->held, small = (real)(REAL_IS_FLOAT ? 1e-5 : 1e-12) * all;
    if (!(all > 0))
        return side;
    const real above = T + *change - latent->melting;
    if ((side == SOLID && above > 0) || (side == LIQUID && above < 0)) {
        *change = latent->melting - T;
        return MELTS;
    }
    const real taken = heat - capacity * *change;
    if (side != MELTS || (taken <= latent->room + small && taken >= -latent->held - small))
        return side;
    return taken > 0 ? LIQUID : SOLID;
}

/* The equation of a node that has `capacity` and the temperature T, to which heat has flowed at T and the change so
 * far, and which takes `latent`. Returns its part in the first product, residual and direction. */
static double begin_node(const mpm_heat_pass *pass, struct supply wall, struct supply collider, real capacity, real T,
                         real flow, real latent, real share, real *direction, real *solve)
{
    const double H = wall.conductance + collider.conductance, S = wall.source + collider.source;
    if (!pass->melts)
        solve[CHANGE] = 0;
    solve[PRODUCT] = 0;
    solve[DIAGONAL] = capacity + (real)(pass->dt * H);
    solve[RESIDUAL] = flow + (real)(pass->dt * (S - H * (double)(T + solve[CHANGE])));
    if (pass->melts)
        solve[RESIDUAL] -= capacity * solve[CHANGE] + latent;
    *direction = solve[RESIDUAL] / solve[DIAGONAL];
    return (double)share * (double)solve[RESIDUAL] * (double)*direction;
}

static void leave_out(real *direction, real *solve, real change)
{
    memset(solve, 0, 4 * sizeof *solve);
    solve[CHANGE] = change;
    *direction = 0;
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
        struct latent latent = {0};
        real side = SOLID;
        if (!(heat[4 * n + 3] > 0) || is_held(collider)) {
            leave_out(value, solve + 4 * n, 0);
            continue;
        }
        if (pass->melts) {
            const real *own = field_nodes(grid, MPM_GRID_HEAT_LATENT, b) + 4 * n;
            latent = latent_of(own);
            side = own[LATENT_SIDE];
        }
        if (side == MELTS) {
            leave_out(value, solve + 4 * n, solve[4 * n + CHANGE]);
            continue;
        }
        node_coordinates(&grid->blocks[b], n, at);
        const struct supply wall = areas ? supply_of_walls(pass, at, areas + 4 * n) : (struct supply){0};
        sum += begin_node(pass, wall, supply_of_colliders(collider), heat[4 * n + 3], value[2], flow[4 * n],
                          latent_on(side, &latent, 0), 1, value, solve + 4 * n);
    }
    return sum;
}

/* Sorts the nodes of a block away from images. Returns how many have changed. */
static double sort_block(const mpm_heat_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const real *heat = field_nodes(grid, MPM_GRID_HEAT, b), *flow = field_nodes(grid, MPM_GRID_HEAT_FLOW, b);
    const real *areas = pass->has_areas ? field_nodes(grid, MPM_GRID_HEAT_AREAS, b) : NULL;
    const real *colliders = pass->surface_count ? field_nodes(grid, MPM_GRID_HEAT_COLLIDERS, b) : NULL;
    real *temperature = field_nodes(grid, MPM_GRID_TEMPERATURE, b), *solve = field_nodes(grid, MPM_GRID_RESIDUAL, b);
    real *latents = field_nodes(grid, MPM_GRID_HEAT_LATENT, b);
    const bool begins = pass->stage == MPM_HEAT_STAGE_LATENT;
    double changed = 0;
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        const real *collider = colliders ? colliders + n : NULL;
        const real capacity = heat[n + 3], T = temperature[n + 2];
        if (!(capacity > 0) || is_held(collider)) {
            leave_out(temperature + n, solve + n, 0);
            temperature[n] = T;
            continue;
        }
        const struct latent latent = latent_of(latents + n);
        real *side = &latents[n + LATENT_SIDE], *change = &solve[n + CHANGE];
        if (begins) {
            *side = begin_side(&latent, capacity, T, change);
        } else {
            int64_t at[DIM];
            node_coordinates(&grid->blocks[b], n / 4, at);
            const struct supply wall = areas ? supply_of_walls(pass, at, areas + n) : (struct supply){0};
            const real came = flow[n] + supply_at(pass, wall, supply_of_colliders(collider), T + *change);
            const real next = next_side(&latent, *side, capacity, T, came, change);
            changed += next != *side;
            *side = next;
        }
        temperature[n] = T + *change;
    }
    return changed;
}

/* What walls do to a node with images. */
static struct supply fold_walls(const mpm_heat_pass *pass, const struct axis axes[DIM], const struct place *place,
                                int32_t layer)
{
    real area[DIM];
    if (!pass->has_areas)
        return (struct supply){0};
    sum_areas(pass->grid, axes, place, layer, area);
    return supply_of_walls(pass, place->at, area);
}

/* The equation of a node with images. */
static double fold_begin(const mpm_heat_pass *pass, const struct axis axes[DIM], const struct place *place,
                         int32_t layer, const real *own, const real *collider, real side, real value[4], real *solve)
{
    const struct sums sum = sum_images(pass->grid, axes, place, layer, true);
    const real sign = sign_of(&place->own), T = sign * value[2] + offset_of(&place->own);
    struct latent latent = {0};
    if (place->given || is_held(collider)) {
        leave_out(value, solve, 0);
        return 0;
    }
    if (side == MELTS) {
        leave_out(value, solve, solve[CHANGE]);
        return 0;
    }
    if (pass->melts)
        latent = sum_latent(pass->grid, axes, place, layer);
    solve[CHANGE] *= sign;
    const double product = begin_node(pass, fold_walls(pass, axes, place, layer), supply_of_colliders(collider),
                                      sum.capacity, T, sum.flow, latent_on(side, &latent, 0), own[3] / sum.capacity,
                                      value, solve);
    solve[CHANGE] *= sign;
    value[0] *= sign;
    solve[RESIDUAL] *= sign;
    return product;
}

/* Sorts a node with images. Has its side changed? */
static bool fold_sort(const mpm_heat_pass *pass, const struct axis axes[DIM], const struct place *place, int32_t layer,
                      const real *collider, real value[4], real *solve, real *side)
{
    const struct sums sum = sum_images(pass->grid, axes, place, layer, pass->stage == MPM_HEAT_STAGE_SORT);
    const real sign = sign_of(&place->own), T = sum.heat / sum.capacity;
    const struct latent latent = sum_latent(pass->grid, axes, place, layer);
    real change = sign * solve[CHANGE], next = SOLID;
    if (place->given || is_held(collider)) {
        leave_out(value, solve, 0);
        value[0] = value[2];
        return false;
    }
    if (pass->stage == MPM_HEAT_STAGE_LATENT) {
        *side = next = begin_side(&latent, sum.capacity, T, &change);
    } else {
        const struct supply wall = fold_walls(pass, axes, place, layer);
        const real came = sum.flow + supply_at(pass, wall, supply_of_colliders(collider), T + change);
        next = next_side(&latent, *side, sum.capacity, T, came, &change);
    }
    const bool changed = next != *side;
    *side = next;
    solve[CHANGE] = sign * change;
    value[0] = value[2] + solve[CHANGE];
    return changed;
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
    case MPM_HEAT_STAGE_LATENT:
    case MPM_HEAT_STAGE_SORT:
        pass->sums[b] = near ? 0 : sort_block(pass, b);
        return;
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
        if (pass->melts)
            melt_nodes(pass, b);
        finish_changes(temperature, heat, field_nodes(grid, MPM_GRID_HEAT_FLOW, b));
        return;
    case MPM_HEAT_STAGE_HOLD:
    case MPM_HEAT_STAGE_HOLD_CHANGES:
        pass->books[b].collider += hold_nodes(temperature, heat, field_nodes(grid, MPM_GRID_HEAT_COLLIDERS, b),
                                              pass->stage == MPM_HEAT_STAGE_HOLD_CHANGES);
        if (pass->melts && pass->stage == MPM_HEAT_STAGE_HOLD_CHANGES)
            pass->books[b].collider += melt_held(pass, b);
        return;
    case MPM_HEAT_STAGE_LATENT:
        add_copies(grid, MPM_GRID_HEAT_LATENT, b);
        break;
    case MPM_HEAT_STAGE_SORT:
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

/* Takes the latent heat of a node out of the heat that has come to `all` of its images. What lies beyond a face of
 * given temperature, or on it, takes what that temperature says. Returns what its own particles take. */
static real fold_melt(const mpm_heat_pass *pass, const struct axis axes[DIM], const struct place *place, int32_t layer,
                      const struct sums *sum, const real *own, real *flow, const real value[4], real *all)
{
    const struct latent latent = sum_latent(pass->grid, axes, place, layer), inside = latent_of(own);
    const real left = *all - sum->capacity * (latent.melting - sum->heat / sum->capacity);
    const real taken = latent_on(own[LATENT_SIDE], &latent, left);
    if (place->given)
        return take_all(own, place->temperature, flow);
    *all -= taken;
    return place->own.count ? take_all(own, value[0], flow) : take_latent(&latent, taken, flow, &inside);
}

/* Its change, with the pull. Returns what its own particles have from walls and colliders. */
static mpm_heat_book fold_change(const mpm_heat_pass *pass, const struct axis axes[DIM], const struct place *place,
                                 int32_t layer, const real *own, real *flow, const real *latent, const real *collider,
                                 real value[4])
{
    const struct sums sum = sum_images(pass->grid, axes, place, layer, true);
    const double capacity = (double)sum.capacity, share = (double)own[3] / capacity;
    mpm_heat_book found = {0};
    double melted = 0;
    if (pass->has_areas && !place->given) {
        const real sign = sign_of(&place->own), offset = offset_of(&place->own);
        double T = (double)(sign * value[2] + offset) + (double)sum.flow / capacity;
        if (pass->melts)
            T = (double)(sign * value[0] + offset);
        found = supply(pass, fold_walls(pass, axes, place, layer), supply_of_colliders(collider), capacity, T);
    }
    real all = sum.flow + (real)(found.wall + found.collider);
    if (pass->melts && !is_held(collider))
        melted = (double)fold_melt(pass, axes, place, layer, &sum, latent, flow, value, &all);
    const real change = place->given ? 0 : sign_of(&place->own) * all / sum.capacity;
    value[1] += change;
    value[2] += change;
    found.collider *= share;
    found.wall = share * found.wall;
    if (place->odd)
        found.wall = (double)own[3] * (double)value[1] - (double)*flow - found.collider + melted;
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
    real *latents = pass->melts ? field_nodes(grid, MPM_GRID_HEAT_LATENT, b) : NULL;
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
        real *latent = latents ? latents + 4 * n : NULL;
        if (pass->stage == MPM_HEAT_STAGE_LATENT || pass->stage == MPM_HEAT_STAGE_SORT) {
            pass->sums[b] += fold_sort(pass, axes, &place, block->layer, collider, value, solve + 4 * n,
                                       &latent[LATENT_SIDE]);
            continue;
        }
        if (pass->stage == MPM_HEAT_STAGE_SYSTEM) {
            const real side = latent ? latent[LATENT_SIDE] : (real)SOLID;
            pass->sums[b] += fold_begin(pass, axes, &place, block->layer, own, collider, side, value, solve + 4 * n);
            continue;
        }
        if (pass->stage == MPM_HEAT_STAGE_PRODUCT) {
            pass->sums[b] += fold_product(grid, axes, &place, block->layer, own, value, flow + 4 * n, solve + 4 * n);
            continue;
        }
        const mpm_heat_book found =
            fold_change(pass, axes, &place, block->layer, own, flow + 4 * n, latent, collider, value);
        pass->books[b].wall += found.wall;
        pass->books[b].collider += found.collider;
    }
}
