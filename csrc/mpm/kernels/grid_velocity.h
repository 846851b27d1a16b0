/* SPDX-License-Identifier: MIT
 *
 * The first stages of the grid pass: sums of the tasks' copies, velocities, forces.
 */
#pragma once
#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"

INLINE real *nodes_of(const mpm_grid_pass *pass, mpm_grid_field field, ptrdiff_t b)
{
    return field_nodes(pass->grid, field, b);
}

INLINE void copy_block(real *to, const real *from)
{
    memcpy(to, from, 4 * MPM_BLOCK_NODES * sizeof(real));
}

/* Turns momentum into velocity and adds dt g. Nodes without mass get velocity 0. The mass stays in the fourth real. */
INLINE void to_velocity(real *node, const real gravity[4])
{
#if defined(MPM_ONE_LANE)
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        const real m = node[n + 3];
        for (int a = 0; a < DIM; a++)
            node[n + a] = m > 0 ? node[n + a] / m + gravity[a] : 0;
    }
#else
    real pattern[WIDTH] __attribute__((aligned(64))), is_mass[WIDTH] __attribute__((aligned(64)));
    for (int q = 0; q < WIDTH; q++) {
        pattern[q] = gravity[q % 4];
        is_mass[q] = q % 4 == 3;
    }
    const wide g = wide_load(pattern), zero = wide_set(0);
    const mask in_mass = wide_less(zero, wide_load(is_mass));
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH) {
        const wide p = wide_load(node + n), m = part_mass(p);
        const mask active = wide_less(zero, m);
        const wide v = wide_select(active, p / wide_select(active, m, wide_set(1)) + g, zero);
        wide_store(node + n, wide_select(in_mass, m, v));
    }
#endif
}

static const real no_gravity[4] = {0};

/* ---- sum --------------------------------------------------------------------------------------------------------- */

/* Momentum and mass of a block. Split schemes keep the momentum before forces, and add dt f. */
INLINE void sum_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_node_block *block = &grid->blocks[b];
    real *sum = field_sums(grid, MPM_GRID_VELOCITY, b);
    sum_copies(sum, grid, block, grid->copies[MPM_GRID_VELOCITY]);
    if (!mpm_scheme_is_split(&pass->scheme))
        return;
    real impulse[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    copy_block(field_sums(grid, MPM_GRID_BEFORE, b), sum);
    sum_copies(impulse, grid, block, grid->copies[MPM_GRID_IMPULSE]);
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH)
        wide_store(sum + n, wide_load(sum + n) + wide_load(impulse + n));
}

/* ---- velocity ---------------------------------------------------------------------------------------------------- */

/* The velocities of a block with images from the folded momentum of a field, without forces or walls. */
INLINE void fold_velocities(real *node, const mpm_grid *grid, mpm_grid_field field, int32_t fold)
{
    const mpm_images *images = &grid->images;
    fold_block(node, grid, field, fold);
    to_velocity(node, no_gravity);
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++)
        unfold_vector(node + 4 * images->nodes[i].node, &images->nodes[i]);
}

/* v^n, where the scheme keeps it. */
INLINE void find_velocities_before(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const int32_t fold = pass->grid->blocks[b].fold;
    if (!mpm_scheme_is_split(&pass->scheme))
        return;
    if (fold >= 0)
        fold_velocities(nodes_of(pass, MPM_GRID_BEFORE, b), pass->grid, MPM_GRID_BEFORE, fold);
    else
        to_velocity(nodes_of(pass, MPM_GRID_BEFORE, b), no_gravity);
}

/* ---- forces ------------------------------------------------------------------------------------------------------ */

/* Velocities of a block with images, in the frame of the domain and with the mass of all images. */
NOINLINE void apply_forces_folded(const mpm_grid_pass *pass, ptrdiff_t b, const real gravity[4])
{
    const mpm_images *images = &pass->grid->images;
    const int32_t fold = pass->grid->blocks[b].fold;
    real *node = nodes_of(pass, MPM_GRID_VELOCITY, b);
    fold_block(node, pass->grid, MPM_GRID_VELOCITY, fold);
    to_velocity(node, gravity);
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++)
        for (int a = 0; a < DIM; a++)
            if (images->nodes[i].planes >> a & 1) /* no gravity across a plane of symmetry */
                node[4 * images->nodes[i].node + a] = 0;
}

/* Velocities after forces and gravity. */
INLINE void apply_forces(const mpm_grid_pass *pass, ptrdiff_t b)
{
    real gravity[4] = {0};
    for (int a = 0; a < DIM; a++)
        gravity[a] = (real)(pass->dt * pass->gravity[a]);
    if (pass->grid->blocks[b].fold >= 0)
        apply_forces_folded(pass, b, gravity);
    else
        to_velocity(nodes_of(pass, MPM_GRID_VELOCITY, b), gravity);
}

/* Before a solve: gives velocities without contact to the images; nodes keep their own mass. */
NOINLINE void unfold_free(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_images *images = &pass->grid->images;
    const int32_t fold = pass->grid->blocks[b].fold;
    real *node = nodes_of(pass, MPM_GRID_VELOCITY, b);
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++)
        unfold_vector(node + 4 * images->nodes[i].node, &images->nodes[i]);
    for (int n = 0; n < MPM_BLOCK_NODES; n++)
        node[4 * n + 3] = fold_vec4(pass->grid->raw[MPM_GRID_VELOCITY], fold, n)[3];
}
