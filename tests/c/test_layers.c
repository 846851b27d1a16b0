/* SPDX-License-Identifier: MIT */
/* sources: base/device.c base/exact.c base/memory.c contact/collider.c contact/contacts.c contact/exposed.c
 *   contact/lattice.c contact/layers.c contact/motion.c contact/rules.c contact/shape.c mpm/kernels/collide.c
 *   mpm/kernels/grid_pass.c mpm/memory/block_map.c mpm/memory/grid.c mpm/memory/images.c */
/* variants: -DMPM_REAL=double -DMPM_DIM=2 -DMPM_ISA=scalar -DMPM_ISA_SCALAR */
/* Groups of two layers around one place, at a mirror: each layer has blocks, sums, images and velocities of its own. */
#include "check.h"
#include "mpm/kernels/nodes.h"

void MPM_KERNEL(grid_pass_block)(const mpm_grid_pass *pass, ptrdiff_t block);
void MPM_KERNEL(grid_pass_place)(const mpm_grid_pass *pass, ptrdiff_t place);

enum { GROUPS = 3, BOTH = 9, BLOCKS = 9 + 12 }; /* blocks that both layers touch; all: layer 0 has 9, layer 1 has 12 */
static const double speed[2] = {3, -5};

/* The groups touch all blocks around theirs. */
static void lay(mpm_grid *grid, mpm_device *device, mpm_group groups[GROUPS])
{
    const mpm_symmetry symmetry[3] = {{.cells = 32, .mirror = {true, false}}, {.cells = 32}};
    for (int g = 0; g < GROUPS; g++)
        groups[g] = (mpm_group){.block = {g == 2, 0}, .layer = g > 0, .count = 1,
                                .last_node = {BLOCK_SIDE + 2, BLOCK_SIDE + 2}};
    assert(!mpm_grid_build(grid, device, groups, GROUPS, GROUPS, symmetry, 2, sizeof(real),
                           1u << MPM_GRID_VELOCITY, false));
}

/* Mass and momentum of a group: that of layer k has the mass 1 + k and its speed along the mirror. */
static void add(const mpm_grid *grid, const mpm_group *group)
{
    const real mass = 1 + group->layer;
    for (int k = 0; k < 9; k++)
        for (int n = 0; n < MPM_BLOCK_NODES; n++) {
            real *node = block_vec4s(grid->copies[MPM_GRID_VELOCITY], group->copy[k]) + 4 * n;
            node[1] += mass * speed[group->layer];
            node[3] += mass;
        }
}

/* A node has the mass of its own groups, and their speed within the walls. */
static void check_velocities(const mpm_grid *grid, const mpm_node_block *block)
{
    const real *velocity = field_nodes(grid, MPM_GRID_VELOCITY, block - grid->blocks);
    const int mine = block->layer == 0 ? 1 : (block->block[0] < 2) + (block->block[0] >= 0);
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        int64_t at[2];
        node_coordinates(block, n, at);
        assert(velocity[4 * n] == 0 && velocity[4 * n + 3] == mine * (1 + block->layer));
        assert(velocity[4 * n + 1] == (at[1] > 0 ? speed[block->layer] : 0));
    }
}

/* All images of a node are in its layer. */
static void check_images(const mpm_grid *grid)
{
    const mpm_images *images = &grid->images;
    assert(images->block_count == 2 * 6); /* of both layers: those within four cells of the mirror */
    for (size_t fold = 0; fold < images->block_count; fold++) {
        const mpm_image *first = images->list + images->nodes[images->first_node[fold]].first;
        const mpm_image_node *last = &images->nodes[images->first_node[fold + 1] - 1];
        for (const mpm_image *image = first; image < images->list + last->first + last->images; image++)
            assert(grid->blocks[images->blocks[image->fold]].layer == grid->blocks[images->blocks[fold]].layer);
    }
}

int main(void)
{
    const mpm_allocator allocator = mpm_memory_default();
    mpm_device device = mpm_device_of_host(&allocator);
    mpm_block_report reports[BLOCKS];
    mpm_group groups[GROUPS];
    mpm_grid grid, fresh;
    lay(&grid, &device, groups);
    assert(grid.block_count == BLOCKS && grid.place_count == BOTH);
    for (int k = 0; k < BOTH; k++) {
        const mpm_node_block *block = &grid.blocks[grid.places[k].first];
        assert(grid.places[k].count == 2 && !memcmp(block[0].block, block[1].block, sizeof block->block));
        assert(block[0].layer == 0 && block[1].layer == 1 && block[0].waits && block[1].waits);
    }
    check_images(&grid);

    memset(grid.copies[MPM_GRID_VELOCITY], 0, grid.copy_count * 4 * MPM_BLOCK_NODES * sizeof(real));
    for (int g = 0; g < GROUPS; g++)
        add(&grid, &groups[g]);
    const mpm_grid_pass pass = {
        .grid = &grid, .cells = {32, 32}, .dt = 1, .reports = reports, .scheme = {.degree = MPM_QUADRATIC},
        .walls = {{MPM_MIRROR, 0, 0}, {MPM_SLIP, 0, 0}, {MPM_SLIP, 0, 0}, {MPM_SLIP, 0, 0}}};
    for (size_t b = 0; b < grid.block_count; b++)
        MPM_KERNEL(grid_pass_block)(&pass, (ptrdiff_t)b);
    for (size_t k = 0; k < grid.place_count; k++)
        MPM_KERNEL(grid_pass_place)(&pass, (ptrdiff_t)k);
    for (size_t b = 0; b < grid.block_count; b++)
        check_velocities(&grid, &grid.blocks[b]);

    lay(&fresh, &device, groups);
    mpm_grid_take_velocities(&fresh, &grid, NULL, sizeof(real));
    for (size_t b = 0; b < fresh.block_count; b++)
        check_velocities(&fresh, &fresh.blocks[b]);
    mpm_grid_clear(&fresh, &device);
    mpm_grid_clear(&grid, &device);
}
