/* SPDX-License-Identifier: MIT
 *
 * A stage of the grid pass: contact between the layers of a place (contact/layers.h). At nodes with images, moments and
 * momentum are those of all images, in the frame of the domain.
 */
#pragma once
#include "contact/layers.h"
#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"

enum { MOMENT_ROWS = DIM == 3 ? 3 : 2 };
static const mpm_grid_field moment_fields[3] = {MPM_GRID_MOMENTS_0, MPM_GRID_MOMENTS_1, MPM_GRID_MOMENTS_2};

/* One node of a block: the sum of the copies of a field. */
INLINE node4 sum_node(const mpm_grid *grid, const mpm_node_block *block, mpm_grid_field field, int n)
{
    const node4 *copies = grid->copies[field];
    node4 sum = {0};
    for (int32_t c = block->first_copy; c < block->first_copy + block->copies; c++)
        sum += copies[(ptrdiff_t)grid->shared_copy[grid->copy_list[c]] * MPM_BLOCK_NODES + n];
    return sum;
}

/* Before the images are added: the sums of a block that shares its place. */
NOINLINE void sum_moments(const mpm_grid *grid, ptrdiff_t b)
{
    const mpm_node_block *block = &grid->blocks[b];
    if (block->fold < 0 || (block->copies && grid->shared_copy[grid->copy_list[block->first_copy]] < 0))
        return;
    for (int r = 0; r < MOMENT_ROWS; r++)
        for (int n = 0; n < MPM_BLOCK_NODES; n++)
            ((node4 *)block_vec4s(grid->raw[moment_fields[r]], block->fold))[n] =
                sum_node(grid, block, moment_fields[r], n);
}

/* The moments of a node, folded if it has images. */
INLINE node4 moments_at(const mpm_grid *grid, const mpm_node_block *block, const mpm_image_node *image, int row, int n)
{
    const mpm_grid_field field = moment_fields[row];
    if (block->fold < 0)
        return sum_node(grid, block, field, n);
    if (!image)
        return *(const node4 *)fold_vec4(grid->raw[field], block->fold, n);
    const mpm_fold_rule rule = mpm_grid_rows[field].fold;
    node4 sum = {0};
    for (int32_t k = image->first; k < image->first + image->images; k++) {
        const mpm_image *one = &grid->images.list[k];
        sum += signs_after(one->flips, rule) * *(const node4 *)fold_vec4(grid->raw[field], one->fold, one->node);
    }
    const real times = (real)(1 << __builtin_popcount(image->planes)); /* on a plane, a node is its own image */
    for (int c = 0; c < 4; c++)
        sum[c] = image->planes & rule.odd[c] ? 0 : times * sum[c];
    return sum;
}

/* The vec4s of a node (contact.c) as moments. */
INLINE void take_moments(mpm_layer_body *body, const node4 row[MOMENT_ROWS])
{
    body->volume = (double)row[0][3];
    for (int a = 0; a < DIM; a++)
        body->offset[a] = (double)row[0][a];
    body->square[0] = (double)(DIM == 3 ? row[1][2] : row[0][2]);
    body->square[1] = (double)row[1][0];
    body->square[5] = (double)row[1][3];
#if DIM == 3
    body->square[2] = (double)row[1][1];
    body->square[3] = (double)row[2][0];
    body->square[4] = (double)row[2][1];
#endif
}

/* The share of the kernel within walls that bound the material, by axis, and that of the mass at planes of symmetry. */
INLINE void find_room(const mpm_grid_pass *pass, const int64_t at[DIM], double room[3], double *part)
{
    const int degree = pass->scheme.degree;
    *part = 1;
    for (int a = 0; a < DIM; a++) {
        const mpm_wall *walls = &pass->walls[2 * a];
        room[a] = 1;
        if ((walls[0].contact == MPM_MIRROR && at[a] == 0) ||
            (walls[1].contact == MPM_MIRROR && at[a] == pass->cells[a]))
            *part *= 0.5;
        if (walls[0].contact != MPM_MIRROR && walls[0].contact != MPM_PERIODIC && at[a] < 2)
            room[a] -= 1 - mpm_layers_share(degree, (double)at[a]);
        if (walls[1].contact != MPM_MIRROR && walls[1].contact != MPM_PERIODIC && at[a] > pass->cells[a] - 2)
            room[a] -= 1 - mpm_layers_share(degree, (double)(pass->cells[a] - at[a]));
    }
}

/* Enters what a pair did. An image enters the share of its own particles, in its own frame. */
INLINE void enter_touch(const mpm_grid_pass *pass, const mpm_place *place, const mpm_image_node *image, int n,
                        const mpm_layer_body *bodies, const mpm_layer_touch *touch)
{
    const mpm_layer_body *a = &bodies[touch->a], *b = &bodies[touch->b];
    const int32_t layers = place->count, i = a->index, j = b->index;
    mpm_layer_book *book = &pass->pair_books[place->first_pair + i * (2 * layers - i - 1) / 2 + (j - i - 1)];
    double share = 1, sign[3] = {1, 1, 1};
    if (image) {
        const mpm_node_block *block = &pass->grid->blocks[place->first + j];
        share = (double)fold_vec4(pass->grid->raw[MPM_GRID_VELOCITY], block->fold, n)[3] / b->mass;
        for (int k = 0; k < DIM; k++)
            sign[k] = image->flips >> k & 1 ? -1 : 1;
    }
    for (int k = 0; k < DIM; k++)
        book->impulse[k] += share * sign[k] * touch->impulse[k];
    book->friction_work += share * touch->friction_work;
    book->adhesion_work += share * touch->adhesion_work;
}

/* Friction heats both bodies of a pair, each by half of its work: the first real of the node is heat per mass. */
INLINE void warm_node(const mpm_grid *grid, const mpm_place *place, int n, const mpm_layer_body *bodies,
                      const mpm_layer_touch *touch)
{
    const int pair[2] = {touch->a, touch->b};
    for (int k = 0; k < 2; k++) {
        const mpm_layer_body *body = &bodies[pair[k]];
        field_nodes(grid, MPM_GRID_TEMPERATURE, place->first + body->index)[4 * n] +=
            (real)(0.5 * touch->friction_work / body->mass);
    }
}

/* Do both sides of a crack have broken particles? The free real of the moments (faces.c) tells. */
INLINE bool is_open(const mpm_grid *grid, const mpm_place *place, int n)
{
    bool open = true;
    for (int32_t b = place->first; b < place->first + 2; b++) {
        const node4 row = sum_node(grid, &grid->blocks[b], moment_fields[MOMENT_ROWS - 1], n);
        open &= row[DIM == 3 ? 2 : 1] > 0;
    }
    return open;
}

/* Gives both sides of a node the velocity of their sum. */
INLINE void join_sides(const mpm_grid *grid, const mpm_place *place, mpm_grid_field field, int n)
{
    node4 *a = (node4 *)(field_nodes(grid, field, place->first) + 4 * n);
    node4 *b = (node4 *)(field_nodes(grid, field, place->first + 1) + 4 * n);
    const real mass[2] = {(*a)[3], (*b)[3]};
    for (int c = 0; c < DIM; c++)
        (*a)[c] = (*b)[c] = (mass[0] * (*a)[c] + mass[1] * (*b)[c]) / (mass[0] + mass[1]);
}

/* All contacts of node n of a place. */
NOINLINE void meet_at_node(const mpm_grid_pass *pass, const mpm_place *place, int n, const int32_t *layers, int count)
{
    const mpm_grid *grid = pass->grid;
    const mpm_node_block *blocks = &grid->blocks[place->first];
    const mpm_image_node *image = image_of(grid, place->first, n);
    mpm_layer_body bodies[MPM_MOST_AT_NODE];
    mpm_layer_touch touches[MPM_MOST_AT_NODE * (MPM_MOST_AT_NODE - 1) / 2];
    mpm_layer_node node = {.dim = DIM, .degree = pass->scheme.degree, .dt = pass->dt, .h = pass->colliders.dx};
    int64_t at[DIM];
    node_coordinates(blocks, n, at);
    for (int a = 0; image && a < DIM; a++)
        at[a] = image->at[a];
    find_room(pass, at, node.room, &node.part);
    for (int k = 0; k < count; k++) {
        const real *v = field_nodes(grid, MPM_GRID_VELOCITY, place->first + layers[k]) + 4 * n;
        const mpm_image_node *own = image_of(grid, place->first + layers[k], n); /* the images of its layer */
        node4 row[MOMENT_ROWS];
        bodies[k] = (mpm_layer_body){.layer = blocks[layers[k]].layer, .index = layers[k], .mass = (double)v[3]};
        for (int r = 0; r < MOMENT_ROWS; r++)
            row[r] = moments_at(grid, &blocks[layers[k]], own, r, n);
        take_moments(&bodies[k], row);
        for (int a = 0; a < DIM; a++)
            bodies[k].v[a] = (double)v[a];
    }
    const int touching = mpm_layers_solve(pass->layers, &node, bodies, count, touches);
    for (int k = 0; k < touching; k++)
        enter_touch(pass, place, image, n, bodies, &touches[k]);
    for (int k = 0; k < touching && pass->rubs; k++)
        warm_node(grid, place, n, bodies, &touches[k]);
    for (int k = 0; k < count && touching; k++)
        for (int a = 0; a < DIM; a++)
            field_nodes(grid, MPM_GRID_VELOCITY, place->first + layers[k])[4 * n + a] = (real)bodies[k].v[a];
}

/* Asks for the copies of the moments at the shared nodes of a place, whose sums would wait for memory node by node. */
INLINE void fetch_moments(const mpm_grid *grid, const mpm_place *place)
{
    const uint64_t nodes = grid->shared_nodes[place->first];
    for (int32_t b = place->first; b < place->first + place->count; b++) {
        const mpm_node_block *block = &grid->blocks[b];
        if (block->fold >= 0)
            continue;
        for (int32_t c = block->first_copy; c < block->first_copy + block->copies; c++)
            for (int r = 0; r < MOMENT_ROWS; r++) {
                const node4 *copy = (const node4 *)grid->copies[moment_fields[r]] +
                                    (ptrdiff_t)grid->shared_copy[grid->copy_list[c]] * MPM_BLOCK_NODES;
                enum { STRIDE = 64 / sizeof(node4) }; /* nodes in a line of the cache */
                for (int n = 0; n < MPM_BLOCK_NODES; n += STRIDE)
                    if (nodes >> n & ((1u << STRIDE) - 1))
                        __builtin_prefetch(&copy[n]);
            }
    }
}

/* The contacts of all nodes of a place where several layers have mass. */
INLINE void meet(const mpm_grid_pass *pass, const mpm_place *place)
{
    memset(&pass->pair_books[place->first_pair], 0,
           (size_t)place->count * (size_t)(place->count - 1) / 2 * sizeof *pass->pair_books);
    const bool faces = pass->scheme.faces;
    if (faces && !is_cracked(pass->grid, place->first))
        return;
    fetch_moments(pass->grid, place);
    for (uint64_t left = pass->grid->shared_nodes[place->first]; left; left &= left - 1) {
        const int n = __builtin_ctzll(left);
        int32_t layers[MPM_MOST_AT_NODE];
        int count = 0;
        for (int32_t k = 0; k < place->count && count < MPM_MOST_AT_NODE; k++)
            if (field_nodes(pass->grid, MPM_GRID_VELOCITY, place->first + k)[4 * n + 3] > 0)
                layers[count++] = k;
        if (count > 1 && faces && !is_open(pass->grid, place, n)) {
            join_sides(pass->grid, place, MPM_GRID_VELOCITY, n);
            if (mpm_scheme_is_split(&pass->scheme))
                join_sides(pass->grid, place, MPM_GRID_BEFORE, n);
        } else if (count > 1) {
            meet_at_node(pass, place, n, layers, count);
        }
    }
}
