/* SPDX-License-Identifier: MIT
 *
 * Stages of the grid pass: colliders and walls, all contacts of a node at once (contact/contacts.h). The momentum that
 * they change is their impulse on the material.
 */
#pragma once
#include "contact/collision.h"
#include "mpm/kernels/collide.h"
#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"

/* A bound of the speed of the colliders near a block [m/s], -1 if there are none. */
INLINE double begin_colliders(const mpm_grid_pass *pass, ptrdiff_t b)
{
    if (!pass->colliders.count)
        return -1;
    return MPM_KERNEL(collide_begin_nodes)(&pass->colliders, &pass->grid->blocks[b], b, pass->dt);
}

/* ---- blocks without images --------------------------------------------------------------------------------------- */

/* Returns the heat of friction [J/kg], where the pass rubs. */
INLINE double touch_walls(real v[4], const int64_t at[DIM], const mpm_grid_pass *pass)
{
    const unsigned held = faces_that_hold(at, pass->walls, pass->cells);
    double w[3] = {0};
    for (int a = 0; a < DIM; a++)
        w[a] = (double)v[a];
    const double before[3] = {w[0], w[1], w[2]};
    mpm_collision_apply_walls(w, pass->walls, held);
    for (int a = 0; a < DIM; a++)
        v[a] = (real)w[a];
    return pass->rubs ? mpm_collision_walls_heat(before, w, pass->walls, held) : 0;
}

/* Returns the nodes that colliders hold, one bit each; the walls there have acted beside them. */
NOINLINE uint64_t apply_colliders(real *node, const mpm_node_block *block, const mpm_grid_pass *pass, ptrdiff_t b)
{
    mpm_faces faces = MPM_KERNEL(collide_faces)(&pass->colliders, pass->walls, pass->cells);
    uint64_t touched = 0;
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        int64_t at[DIM];
        double heat = 0;
        if (!(node[4 * n + 3] > 0))
            continue;
        node_coordinates(block, n, at);
        faces.held = faces_that_hold(at, pass->walls, pass->cells);
        touched |= (uint64_t)MPM_KERNEL(collide_node)(&pass->colliders, b, at, at, NULL, &faces, node[4 * n + 3],
                                                      node + 4 * n, pass->reports[b].impulse, &heat)
                   << n;
        if (pass->rubs && heat > 0)
            rub_node(pass, b, n, node[4 * n + 3], heat);
    }
    return touched;
}

NOINLINE void apply_walls(real *node, const mpm_node_block *block, const mpm_grid_pass *pass, uint64_t at_walls,
                          ptrdiff_t b)
{
    double *impulse = pass->reports[b].impulse;
    for (; at_walls; at_walls &= at_walls - 1) {
        const int n = __builtin_ctzll(at_walls);
        real *v = node + 4 * n;
        const real m = v[3], before[3] = {v[0], v[1], v[2]};
        int64_t at[DIM];
        if (!(m > 0))
            continue;
        node_coordinates(block, n, at);
        const double heat = touch_walls(v, at, pass);
        if (heat > 0)
            rub_node(pass, b, n, m, heat);
        for (int a = 0; a < DIM; a++)
            impulse[a] += (double)m * ((double)v[a] - (double)before[a]);
    }
}

/* ---- blocks with images ------------------------------------------------------------------------------------------ */

/* A node of a block with images, with its velocity in the frame of the domain. */
struct folded_node {
    const mpm_image_node *image; /* NULL: the node is in the domain, on no plane of symmetry, and has no images */
    const real *momentum;        /* and mass, of its own particles */
    real *v;
    real pushed[DIM], before[DIM]; /* the change that colliders have caused; the velocity after them */
    int64_t at[DIM], own[DIM];     /* coordinates in the domain; its own */
};

INLINE void begin_folded(struct folded_node *node, const mpm_node_block *block, int n)
{
    node_coordinates(block, n, node->own);
    memcpy(node->at, node->own, sizeof node->at);
    memset(node->pushed, 0, sizeof node->pushed);
    for (int a = 0; node->image && a < DIM; a++)
        node->at[a] = node->image->at[a];
}

/* Does a collider hold the node? */
INLINE bool apply_colliders_folded(struct folded_node *node, const mpm_grid_pass *pass, ptrdiff_t b, mpm_faces *faces,
                                   double *heat)
{
    real before[DIM];
    memcpy(before, node->v, sizeof before);
    faces->held = faces_that_hold(node->at, pass->walls, pass->cells);
    const bool touched = MPM_KERNEL(collide_node)(&pass->colliders, b, node->at, node->own, node->image, faces,
                                                  node->momentum[3], node->v, pass->reports[b].impulse, heat);
    for (int a = 0; a < DIM; a++) {
        node->pushed[a] = node->v[a] - before[a];
        if (node->image && node->image->planes >> a & 1)
            node->v[a] = 0; /* the collider's own image pushes back */
    }
    return touched;
}

/* The mass of a node together with its images. A node on a plane of symmetry is its own image and counts twice. */
INLINE real whole_mass(real folded, const mpm_image_node *image)
{
    return image ? folded * (real)(1 << __builtin_popcount(image->planes)) : folded;
}

/* Restores the frame and the mass of the node. Across a mirror, the wall's impulse is the momentum that it gains beyond
 * gravity and other contacts. Along other axes, images only exchange momentum; the sum is zero and is not reported. */
INLINE void unfold_node(struct folded_node *node, const mpm_grid_pass *pass, double impulse[3])
{
    const mpm_image_node *image = node->image;
    const real m = node->momentum[3], *v = node->v;
    if (image) {
        unfold_vector(node->v, image);
        unfold_vector(node->pushed, image);
    }
    node->v[3] = pass->stage == MPM_GRID_DENSITY ? whole_mass(v[3], image) : m;
    if (!(m > 0))
        return;
    for (int a = 0; a < DIM; a++)
        impulse[a] += image && image->normals >> a & 1
                          ? (double)m * ((double)v[a] - (double)node->pushed[a] - pass->dt * pass->gravity[a]) -
                                (double)node->momentum[a]
                          : (double)m * ((double)v[a] - (double)node->before[a]);
}

/* Colliders (if `near`) and walls, node by node; then every image gets the velocity in its own frame. */
NOINLINE void touch_folded(const mpm_grid_pass *pass, ptrdiff_t b, bool near)
{
    const mpm_images *images = &pass->grid->images;
    const mpm_node_block *block = &pass->grid->blocks[b];
    const mpm_image_node *next = images->nodes + images->first_node[block->fold];
    const mpm_image_node *end = images->nodes + images->first_node[block->fold + 1];
    real *velocity = field_nodes(pass->grid, MPM_GRID_VELOCITY, b);
    mpm_faces faces = MPM_KERNEL(collide_faces)(&pass->colliders, pass->walls, pass->cells);
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        struct folded_node node = {
            .image = next < end && next->node == n ? next++ : NULL,
            .momentum = fold_vec4(pass->grid->raw[MPM_GRID_VELOCITY], block->fold, n),
            .v = velocity + 4 * n,
        };
        double heat = 0;
        begin_folded(&node, block, n);
        const bool touched = near && node.momentum[3] > 0 && apply_colliders_folded(&node, pass, b, &faces, &heat);
        memcpy(node.before, node.v, sizeof node.before);
        if (node.v[3] > 0 && !touched)
            heat = touch_walls(node.v, node.at, pass);
        if (pass->rubs && heat > 0) /* per mass, as the velocity: all images get the same */
            rub_node(pass, b, n, node.momentum[3], heat);
        unfold_node(&node, pass, pass->reports[b].impulse);
    }
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

/* Applies colliders and walls to the velocities of a block, and reports the impulse of the walls. Returns the bound of
 * the colliders' speed. */
INLINE double apply_contacts(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    const double collider_speed = begin_colliders(pass, b);
    if (block->fold >= 0) {
        touch_folded(pass, b, collider_speed >= 0);
        return collider_speed;
    }
    real *node = field_nodes(pass->grid, MPM_GRID_VELOCITY, b);
    const uint64_t touched = collider_speed >= 0 ? apply_colliders(node, block, pass, b) : 0;
    const uint64_t at_walls = nodes_at_walls(block, pass->cells) & ~touched;
    if (at_walls)
        apply_walls(node, block, pass, at_walls, b);
    return collider_speed;
}
