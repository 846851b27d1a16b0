/* SPDX-License-Identifier: MIT */
#include "mpm/rigid_nodes.h"

#include <math.h>
#include <string.h>

#include "base/real.h"
#include "contact/collision.h"
#include "contact/contacts.h"

static const double REACH = 2; /* of a body, beyond its surface [cells] */
static const double FRONT = 1e-6; /* [cells] */

/* ---- the front of the material ---------------------------------------------------------------------------------- */

static double spline(int degree, double u)
{
    u = fabs(u);
    if (degree == 1)
        return u < 1 ? 1 - u : 0;
    if (degree == 2)
        return u < 0.5 ? 0.75 - u * u : u < 1.5 ? 0.5 * (1.5 - u) * (1.5 - u) : 0;
    return u < 1 ? 2.0 / 3 - u * u + 0.5 * u * u * u : u < 2 ? (2 - u) * (2 - u) * (2 - u) / 6 : 0;
}

/* B(u), the integral of the spline up to u: truncated powers. */
static double distribution(int degree, double u)
{
    double sum = 0, choose = 1, factorial = 1;
    const int n = degree + 1;
    for (int k = 1; k <= n; k++)
        factorial *= k;
    for (int k = 0; k <= n; k++) {
        const double t = u + 0.5 * n - k;
        if (t > 0)
            sum += choose * pow(t, n);
        choose *= -(double)(n - k) / (k + 1);
    }
    return sum / factorial;
}

/* f with B(f) = filled */
static double front_of(int degree, double filled)
{
    double low = -0.5 * (degree + 1), high = -low;
    if (filled >= 1)
        return high;
    while (high - low > FRONT) {
        const double middle = 0.5 * (low + high);
        *(distribution(degree, middle) < filled ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

/* ---- volumes at nodes ------------------------------------------------------------------------------------------- */

/* Blocks near bodies have a slot with the volumes of their nodes. */
struct search {
    mpm_simulation *simulation;
    int32_t *slot;   /* per block, -1: none */
    double *volume;  /* [slot][MPM_BLOCK_NODES] */
    int32_t slots;
};

static bool is_near(const mpm_simulation *simulation, const mpm_node_block *block, const mpm_rigid_state *body)
{
    const mpm_settings *settings = &simulation->settings;
    const double side = mpm_block_side(settings->dim), h = settings->dx;
    double moved[3];
    for (int a = 0; a < 3; a++)
        moved[a] = settings->lower[a] + h * (block->block[a] * side + 0.5 * (side - 1));
    mpm_touch_nearest(&simulation->boundary, body->centre, moved);
    for (int a = 0; a < settings->dim; a++) {
        const double low = settings->lower[a], high = low + h * (double)settings->cells[a];
        const double reach = (REACH + 0.5 * (side - 1)) * h;
        const mpm_symmetry symmetry = mpm_boundary_symmetry(&simulation->boundary, a);
        double x = moved[a]; /* of an image beyond a mirror: the place of the node in the domain */
        x = symmetry.mirror[0] && x < low ? 2 * low - x : symmetry.mirror[1] && x > high ? 2 * high - x : x;
        if (x + reach < body->lowest[a] || x - reach > body->highest[a])
            return false;
    }
    return true;
}

static void mark(struct search *search, int32_t block)
{
    if (search->slot[block] < 0)
        search->slot[block] = search->slots++;
}

/* Marks the blocks near bodies, and those with images of their nodes. */
static void mark_blocks(struct search *search)
{
    const mpm_simulation *simulation = search->simulation;
    const mpm_grid *grid = &simulation->grid;
    const mpm_images *images = &grid->images;
    for (size_t b = 0; b < grid->block_count; b++)
        search->slot[b] = -1;
    for (size_t k = 0; k < simulation->world.bodies; k++)
        for (size_t b = 0; simulation->world.body[k].form && b < grid->block_count; b++)
            if (is_near(simulation, &grid->blocks[b], &simulation->world.body[k]))
                mark(search, (int32_t)b);
    for (size_t b = 0; b < grid->block_count; b++) {
        const int32_t fold = grid->blocks[b].fold;
        if (search->slot[b] < 0 || fold < 0)
            continue;
        for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++)
            for (int32_t k = 0; k < images->nodes[i].images; k++)
                mark(search, images->blocks[images->list[images->nodes[i].first + k].fold]);
    }
}

static double column(const mpm_particles *p, int index, size_t slot, size_t component, size_t width)
{
    return mpm_real_at(p->column[index], mpm_particles_index(slot, component, width, (size_t)p->lanes), p->real_size);
}

/* J V0 of a particle [m^d]. */
static double volume_of(const mpm_particles *p, size_t slot, bool keeps_J)
{
    const int F = MPM_COLUMN_C + p->dim;
    const size_t d = (size_t)p->dim;
    double f[3][3] = {{0}}, J = column(p, F, slot, 0, d);
    if (!keeps_J) {
        for (size_t a = 0; a < d; a++)
            for (size_t b = 0; b < d; b++)
                f[a][b] = column(p, F + (int)a, slot, b, d);
        f[2][2] = d == 2 ? 1 : f[2][2];
        double cross[3];
        mpm_cross3(cross, f[1], f[2]);
        J = mpm_dot3(f[0], cross);
    }
    return J * column(p, MPM_COLUMN_VOLUME, slot, 0, 1);
}

/* Adds a particle to the nodes of the marked blocks. */
static void add_particle(const struct search *search, const mpm_group *group, size_t slot, bool keeps_J)
{
    const mpm_particles *p = &search->simulation->look.particles;
    const int degree = p->degree, side = mpm_block_side(p->dim), deep = p->dim == 3 ? degree + 1 : 1;
    double weight[3][4] = {{1}, {1}, {1}};
    int first[3] = {0};
    for (int a = 0; a < p->dim; a++) {
        const double x = column(p, MPM_COLUMN_X, slot, (size_t)a, (size_t)p->dim);
        first[a] = (int)floor(x - mpm_particles_reach(p));
        for (int k = 0; k <= degree; k++)
            weight[a][k] = spline(degree, x - first[a] - k);
    }
    const double volume = volume_of(p, slot, keeps_J);
    for (int i = 0; i <= degree; i++)
        for (int j = 0; j <= degree; j++)
            for (int k = 0; k < deep; k++) {
                const int at[3] = {first[0] + i, first[1] + j, p->dim == 3 ? first[2] + k : 0};
                int neighbour = 0, node = 0;
                bool inside = true;
                for (int a = 0; a < p->dim; a++) {
                    const int block = at[a] < 0 ? 0 : at[a] >= side ? 2 : 1;
                    inside &= at[a] >= -side && at[a] < 2 * side;
                    neighbour = 3 * neighbour + block;
                    node = side * node + at[a] - (block - 1) * side;
                }
                const int32_t b = inside ? group->node_block[neighbour] : -1;
                if (b >= 0 && search->slot[b] >= 0)
                    search->volume[search->slot[b] * MPM_BLOCK_NODES + node] +=
                        volume * weight[0][i] * weight[1][j] * (p->dim == 3 ? weight[2][k] : 1);
            }
}

static bool touches_marked(const struct search *search, const mpm_group *group)
{
    for (int k = 0; k < (search->simulation->look.particles.dim == 3 ? 27 : 9); k++)
        if (group->node_block[k] >= 0 && search->slot[group->node_block[k]] >= 0)
            return true;
    return false;
}

static void add_volumes(const struct search *search)
{
    const mpm_simulation *simulation = search->simulation;
    const mpm_particles *p = &simulation->look.particles;
    const size_t lanes = (size_t)p->lanes;
    for (size_t g = 0; g < p->group_count; g++) {
        const mpm_group *group = &p->groups[g];
        const mpm_law *law = mpm_material_law(&simulation->materials[group->material]);
        if (law->rigid || !touches_marked(search, group))
            continue;
        const size_t first = (size_t)group->first_tile * lanes;
        for (size_t slot = first; slot < first + (size_t)group->tiles * lanes; slot++)
            if (mpm_real_at(p->column[MPM_COLUMN_MASS], slot, p->real_size) > 0)
                add_particle(search, group, slot, law->strain == MPM_KEEPS_J);
    }
}

/* The volume at a node, with that of its images. */
static double whole_volume(const struct search *search, int32_t b, int node, const mpm_image_node *image)
{
    const mpm_images *images = &search->simulation->grid.images;
    double sum = 0;
    if (!image)
        return search->volume[search->slot[b] * MPM_BLOCK_NODES + node];
    for (int32_t k = image->first; k < image->first + image->images; k++) {
        const mpm_image *other = &images->list[k];
        sum += search->volume[search->slot[images->blocks[other->fold]] * MPM_BLOCK_NODES + other->node];
    }
    return sum * (1 << __builtin_popcount(image->planes));
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static const mpm_image_node *image_of(const mpm_grid *grid, int32_t b, int node)
{
    const int32_t fold = grid->blocks[b].fold;
    for (int32_t i = fold < 0 ? 0 : grid->images.first_node[fold];
         fold >= 0 && i < grid->images.first_node[fold + 1]; i++)
        if (grid->images.nodes[i].node == node)
            return &grid->images.nodes[i];
    return NULL;
}

static void velocity_of(double to[4], const mpm_simulation *simulation, int32_t b, int node)
{
    const void *vector = simulation->look.velocity;
    for (int a = 0; a < 4; a++)
        to[a] = mpm_real_at(vector, 4 * ((size_t)b * MPM_BLOCK_NODES + (size_t)node) + (size_t)a,
                            simulation->particles.real_size);
}

/* Where a node or its image in the domain lies [m]. */
static void place_of(double x[3], int64_t at[3], const mpm_simulation *simulation, int32_t b, int node,
                     const mpm_image_node *image)
{
    const mpm_settings *settings = &simulation->settings;
    const int side = mpm_block_side(settings->dim);
    memset(x, 0, 3 * sizeof *x);
    for (int a = settings->dim - 1; a >= 0; a--, node /= side) {
        at[a] = image ? image->at[a] : (int64_t)simulation->grid.blocks[b].block[a] * side + node % side;
        x[a] = settings->lower[a] + settings->dx * (double)at[a];
    }
}

static bool is_beside(const mpm_rigid_state *body, const double x[3], double reach, int dim)
{
    for (int a = 0; a < dim; a++)
        if (x[a] < body->lowest[a] - reach || x[a] > body->highest[a] + reach)
            return false;
    return true;
}

/* The distance of a body at a node; infinite if it is out of reach. */
static double distance(const mpm_simulation *simulation, size_t k, const double x[3], double y[3],
                       mpm_shape_reading *reading)
{
    const mpm_rigid_state *body = &simulation->world.body[k];
    const double reach = REACH * simulation->settings.dx;
    memcpy(y, x, 3 * sizeof *y);
    if (!body->form)
        return INFINITY;
    mpm_touch_nearest(&simulation->boundary, body->centre, y);
    if (!is_beside(body, y, reach, simulation->settings.dim))
        return INFINITY;
    *reading = mpm_touch_read(body, y);
    return reading->phi < reach ? reading->phi : INFINITY;
}

/* Adds a node to the list if body k is the one that touches it. */
static mpm_status add_node(struct search *search, size_t k, int32_t b, int node)
{
    mpm_simulation *simulation = search->simulation;
    const mpm_rigid_state *body = &simulation->world.body[k];
    const int dim = simulation->settings.dim;
    const double h = simulation->settings.dx;
    double v[4], x[3], y[3], other_y[3];
    int64_t at[3];
    mpm_shape_reading here, other;
    velocity_of(v, simulation, b, node);
    if (!(v[3] > 0))
        return MPM_OK;
    const mpm_image_node *image = image_of(&simulation->grid, b, node);
    place_of(x, at, simulation, b, node, image);
    const double phi = distance(simulation, k, x, y, &here);
    if (!isfinite(phi))
        return MPM_OK;
    for (size_t j = 0; j < simulation->world.bodies; j++) {
        const double deeper = j == k ? INFINITY : distance(simulation, j, x, other_y, &other);
        if (deeper < phi || (deeper == phi && j < k))
            return MPM_OK;
    }
    const double filled = whole_volume(search, b, node, image) / (dim == 3 ? h * h * h : h * h);
    mpm_rigid_node found = {.body = (int)k, .hold = (mpm_rigid_hold)body->hold, .friction = body->friction,
                            .mass = v[3], .gap = phi - h * front_of(simulation->particles.degree, filled), .block = b,
                            .node = node, .flips = image ? image->flips : 0, .planes = image ? image->planes : 0};
    for (int a = 0; a < dim; a++) {
        found.velocity[a] = found.flips >> a & 1 ? -v[a] : v[a];
        found.normal[a] = here.normal[a];
        found.arm[a] = y[a] - body->centre[a];
    }
    if (found.gap > h)
        return MPM_OK;
    if (mpm_memory_grow(&simulation->run.allocator, (void **)&simulation->rigid_nodes,
                        &simulation->rigid_node_capacity, simulation->rigid_node_count,
                        simulation->rigid_node_count + 1, sizeof found))
        return MPM_OUT_OF_MEMORY;
    simulation->rigid_nodes[simulation->rigid_node_count++] = found;
    return MPM_OK;
}

static mpm_status list_nodes(struct search *search)
{
    mpm_simulation *simulation = search->simulation;
    for (size_t k = 0; k < simulation->world.bodies; k++)
        for (size_t b = 0; simulation->world.body[k].form && b < simulation->grid.block_count; b++) {
            if (search->slot[b] < 0 || !is_near(simulation, &simulation->grid.blocks[b], &simulation->world.body[k]))
                continue;
            for (int node = 0; node < MPM_BLOCK_NODES; node++)
                if (add_node(search, k, (int32_t)b, node))
                    return MPM_OUT_OF_MEMORY;
        }
    return MPM_OK;
}

mpm_status mpm_rigid_nodes_find(mpm_simulation *simulation)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    const size_t blocks = simulation->grid.block_count;
    struct search search = {.simulation = simulation};
    mpm_status status = MPM_OK;
    simulation->rigid_node_count = 0;
    bool alone = true;
    for (size_t m = 0; m < simulation->material_count; m++)
        alone &= mpm_material_law(&simulation->materials[m])->rigid;
    if (alone)
        return MPM_OK;
    search.slot = mpm_memory_new_unset(allocator, blocks + 1, sizeof *search.slot);
    if (!search.slot)
        return MPM_OUT_OF_MEMORY;
    mark_blocks(&search);
    search.volume = mpm_memory_new(allocator, (size_t)search.slots + 1, MPM_BLOCK_NODES * sizeof *search.volume);
    if (search.volume) {
        add_volumes(&search);
        status = list_nodes(&search);
    } else {
        status = MPM_OUT_OF_MEMORY;
    }
    mpm_memory_free(allocator, search.volume);
    mpm_memory_free(allocator, search.slot);
    return status;
}

/* ---- impulses --------------------------------------------------------------------------------------------------- */

static void set(const mpm_simulation *simulation, void *target, const mpm_rigid_node *node, const double change[3],
                double after[3])
{
    const size_t size = simulation->particles.real_size;
    for (int a = 0; a < simulation->settings.dim; a++) {
        const size_t at = 4 * ((size_t)node->block * MPM_BLOCK_NODES + (size_t)node->node) + (size_t)a;
        const double v = mpm_real_at(target, at, size) + (node->flips >> a & 1 ? -change[a] : change[a]);
        if (size == sizeof(float))
            ((float *)target)[at] = (float)v;
        else
            ((double *)target)[at] = v;
        after[a] = mpm_real_at(target, at, size) * (node->flips >> a & 1 ? -1 : 1);
    }
}

/* Walls and colliders that hold the node have the last word. */
static void hold(const mpm_simulation *simulation, const mpm_rigid_node *node, double v[3])
{
    const mpm_settings *settings = &simulation->settings;
    const mpm_boundary *boundary = &simulation->boundary;
    const mpm_image_node *image = image_of(&simulation->grid, (int32_t)node->block, (int)node->node);
    mpm_faces faces = {.walls = settings->walls};
    mpm_contact_point point = {
        .mass = node->mass, .cell = settings->dx, .flips = node->flips, .planes = node->planes};
    mpm_block_report *report = &simulation->look.blocks[node->block];
    int64_t at[3], own[3];
    place_of(point.x, at, simulation, (int32_t)node->block, (int)node->node, image);
    place_of(point.image, own, simulation, (int32_t)node->block, (int)node->node, NULL);
    for (int a = 0; a < settings->dim; a++) {
        faces.lower[a] = settings->lower[a];
        faces.upper[a] = settings->lower[a] + settings->dx * (double)settings->cells[a];
        for (int upper = 0; upper < 2; upper++) {
            if (mpm_walls_hold(&settings->walls[2 * a + upper]) && (upper ? at[a] >= settings->cells[a] : at[a] <= 0))
                faces.held |= 1u << (2 * a + upper);
        }
    }
    const double before[3] = {v[0], v[1], v[2]};
    if (boundary->count &&
        mpm_contacts_touch(boundary->colliders, boundary->count, &point, &faces, v,
                           simulation->look.block_books + (size_t)node->block * boundary->count, report->impulse, NULL))
        return;
    mpm_collision_apply_walls(v, settings->walls, faces.held);
    for (int a = 0; a < 3; a++)
        report->impulse[a] += node->mass * (v[a] - before[a]);
}

static void widen(mpm_block_report *report, const double v[3], unsigned flips, int dim)
{
    for (int a = 0; a < dim; a++) {
        const double own = flips >> a & 1 ? -v[a] : v[a];
        report->lowest[a] = fmin(report->lowest[a], own);
        report->highest[a] = fmax(report->highest[a], own);
        report->speed = fmax(report->speed, fabs(own));
        report->speed = own - own == 0 ? report->speed : INFINITY;
    }
}

void mpm_rigid_nodes_push(mpm_simulation *simulation)
{
    const int dim = simulation->settings.dim;
    for (size_t i = 0; i < simulation->rigid_node_count; i++) {
        mpm_rigid_node *node = &simulation->rigid_nodes[i];
        mpm_block_report *report = &simulation->look.blocks[node->block];
        double change[3] = {0}, after[3] = {0}, held[3] = {0}, end[3] = {0};
        if (!node->pressed)
            continue;
        for (int a = 0; a < dim; a++)
            change[a] = node->planes >> a & 1 ? 0 : node->impulse[a] / node->mass;
        set(simulation, simulation->look.velocity, node, change, after);
        for (int a = 0; a < dim; a++) {
            const double given = node->mass * (after[a] - node->velocity[a]);
            if (node->planes >> a & 1)
                report->impulse[a] -= node->impulse[a]; /* the plane's image pushes back */
            else
                node->impulse[a] = given;
            if (node->flips >> a & 1)
                report->impulse[a] -= 2 * given;
            held[a] = after[a];
        }
        hold(simulation, node, held);
        for (int a = 0; a < dim; a++)
            change[a] = held[a] - after[a];
        set(simulation, simulation->look.velocity, node, change, end);
        if (simulation->look.before) {
            for (int a = 0; a < dim; a++)
                change[a] = end[a] - node->velocity[a];
            set(simulation, simulation->look.before, node, change, held);
        }
        widen(report, end, node->flips, dim);
    }
}
