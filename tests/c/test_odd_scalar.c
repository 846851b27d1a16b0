/* SPDX-License-Identifier: MIT */
/* sources: mpm/memory/block_map.c base/device.c base/memory.c */
/* variants: -DMPM_REAL=double -DMPM_DIM=2 -DMPM_ISA=scalar -DMPM_ISA_SCALAR */
/* A scalar that the core does not have, by rows of its table and the lines below: particles of mass m bring their
 * temperatures T to the nodes and take them back. Insulated walls keep sum m T; walls at T = 0, a linear profile. */
#define MPM_MORE_GRID_FIELDS(X) \
    X(INSULATED, MPM_FOLD_EVEN, true, INSULATED, INSULATED, false) \
    X(COLD, MPM_FOLD_ODD, true, INSULATED, COLD, false)
#include "mpm/kernels/node_means.c"
#include "mpm/kernels/stencil_any.h"
#include "mpm/memory/grid.c"
#include "mpm/memory/images.c"
#include "check.h"
#include "random.h"

enum { SIDE = 2 * BLOCK_SIDE, LINE = 2 * SIDE, COUNT = LINE * LINE }; /* two particles per cell and axis */
static double x[COUNT][2], m[COUNT], T[COUNT];
static mpm_group groups[9], *group_of[COUNT];
static arena nodes;
static struct stencil stencil;

static void prepare(int p)
{
    const wide at[2] = {x[p][0] - group_of[p]->block[0] * BLOCK_SIDE, x[p][1] - group_of[p]->block[1] * BLOCK_SIDE};
    stencil_prepare(&stencil, at, MPM_QUADRATIC);
}

static void exchange(mpm_grid *grid, mpm_grid_field field)
{
    memset(nodes, 0, sizeof nodes);
    for (size_t t = 0; t < grid->task_count; t++) {
        clear_copies(grid, field, (ptrdiff_t)t);
        for (mpm_group *group = groups + grid->task_group[t]; group < groups + grid->task_group[t + 1]; group++) {
            for (int p = 0; p < COUNT; p++) {
                const struct deposit deposit = {.Q = {m[p] * T[p]}, .mass = group == group_of[p] ? m[p] : 0};
                prepare(p);
                if (deposit.mass > 0)
                    stencil_scatter(&stencil, nodes + ARENA_SLACK, 1, MPM_QUADRATIC, &deposit);
            }
            arena_add(nodes + ARENA_SLACK, group, grid->copies[field]);
        }
    }
    for (size_t b = 0; b < grid->block_count; b++)
        MPM_KERNEL(node_means_block)(grid, field, (ptrdiff_t)b);
    for (size_t f = 0; f < grid->images.block_count; f++)
        MPM_KERNEL(node_means_fold)(grid, field, (ptrdiff_t)f);
    for (int p = 0; p < COUNT; p++) {
        arena_read(nodes + ARENA_SLACK, group_of[p], grid->field[field]);
        prepare(p);
        stencil_gather(&stencil, nodes + ARENA_SLACK, NULL, MPM_QUADRATIC, 0);
        T[p] = stencil_sum(&stencil, 0, 0);
    }
}

int main(void)
{
    const mpm_allocator allocator = mpm_memory_default();
    mpm_device device = mpm_device_of_host(&allocator);
    const mpm_symmetry symmetry[3] = {{.cells = SIDE, .mirror = {true, true}}, {.cells = SIDE, .periodic = true}};
    double before = 0, after = 0;
    mpm_grid grid;
    for (int p = 0; p < COUNT; p++) {
        const int i = p / LINE, j = p % LINE, a = (i + 15) / 16, b = (j + 15) / 16; /* base nodes begin at -1 */
        group_of[p] = &groups[3 * a + b];
        *group_of[p] = (mpm_group){.block = {a - 1, b - 1}, .count = group_of[p]->count + 1, .last_node = {10, 10}};
        x[p][0] = i / 2.0 + 0.25, x[p][1] = j / 2.0 + 0.25;
        m[p] = uniform(0.5, 1.5), T[p] = uniform(0, 1);
        before += m[p] * T[p];
    }
    assert(!mpm_grid_build(&grid, &device, groups, 9, COUNT, symmetry, 2, 8, 1u << INSULATED | 1u << COLD, false));
    exchange(&grid, INSULATED);
    for (int p = 0; p < COUNT; p++) {
        after += m[p] * T[p];
        m[p] = 1, T[p] = x[p][0];
    }
    assert(fabs(after / before - 1) < 1e-14); /* measured: 1e-15 */
    exchange(&grid, COLD);
    for (int p = 0; p < COUNT / 2; p++)
        assert(fabs(T[p] - x[p][0]) < 1e-14); /* measured: 0 */
    mpm_grid_clear(&grid, &device);
}
