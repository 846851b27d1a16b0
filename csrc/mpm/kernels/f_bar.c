/* SPDX-License-Identifier: MIT
 *
 * F-bar. Where a material hardly changes its volume, each particle's det F is a constraint, and there are more
 * particles than degrees of freedom at the nodes: bodies are too stiff, and the pressure oscillates from particle to
 * particle. F-bar averages the volume change of a step around the centres c of cells, which leaves about one constraint
 * per cell,
 *
 *     e_p = det(I + dt grad v) - 1,   e_c = sum_p n V0 K e_p/sum_p n V0 K,   e = sum_c n e_c
 *     F <- s (I + dt grad v) F,  s^d = (1 + e)/(1 + e_p);   J <- (1 + e) J
 *
 * (E. A. de Souza Neto, D. Peric, M. Dutko, D. R. J. Owen, Int. J. Solids Struct. 33 (1996) 3277: F-bar; W. M. Coombs,
 * T. J. Charlton, M. Cortis, C. E. Augarde, Comput. Methods Appl. Mech. Eng. 333 (2018) 1: F-bar of increments in the
 * material point method; Y. Zhao, C. Jiang, J. Choo, Int. J. Numer. Methods Eng. 124 (2023) 5334: averages by the
 * transfers of explicit steps, at the nodes). K is the law's modulus of volume changes, d times the bulk modulus in d
 * dimensions, at the beginning of the step, and n are linear B-splines. Averages at the nodes, where velocities are,
 * would miss volume changes that alternate from node to node, and bodies would be too soft. With the weight V0 K the
 * force is symmetric in the volume changes of any two particles, also of different materials, and no mode is stiffer
 * than without the average. Momentum does not know of the average.
 *
 * It is found after the grid pass: this sweep scatters, node_means.c divides the sums, and G2P reads e (sweep_any.c).
 * Images of nodes at mirrors are not those of centres, but there are no sums beyond a mirror, except with the linear
 * kernel, which averages at nodes.
 */
#include "mpm/kernels/f_bar.h"
#include "mpm/kernels/any_scheme.h"

/* The least weight over the mass of a particle, where the stiffest one has about 1: a law without stiffness, such as
 * that of sand that has parted, still has an average. It is far below the share of the softest solid beside the
 * stiffest, for averages weighed by mass gain energy. */
#define LEAST_WEIGHT ((real)(REAL_IS_FLOAT ? 1e-14 : 1e-28))

/* Adds {n a e_p, 0, 0, n a} to the centres, with a proportional to V0 K. */
static void average_group(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group,
                          struct workspace *work)
{
    const mpm_material *material = &sweep->materials[group->material];
    const int law = mpm_material_kernel_law(material), history = law_history(law, material);
    const bool keeps_J = law_keeps_J(material->law);
    const struct constants k = group_constants(sweep, (struct durations){arguments->average.dt, 0}, group);
    const wide scale = wide_set((real)arguments->average.scale);
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, material);
    arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_VELOCITY]);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, keeps_J, true);
        tile_load_history(&tile, sweep->particles, group->first_tile + t, material, history);
        if (!keeps_J)
            tile.state.J = matrix_det(tile.state.F);
        const wide K = evaluate_law(law, &parameters, tile.state, tile.C).isolated;
        const wide weight = wide_max(scale * tile.volume * K, wide_set(LEAST_WEIGHT) * tile.mass);
        const matrix G = gather_gradient(sweep, work, &k, &tile);
        f_bar_prepare_stencil(&work->stencil, &k, tile.x, sweep->scheme.degree);
        struct deposit deposit = {.mass = weight};
        deposit.Q[0] = weight * f_bar_volume_change(matrix_scale(k.gather_dt, G));
        stencil_scatter(&work->stencil, work->momentum + ARENA_SLACK, left < WIDTH ? (int)left : WIDTH, MPM_LINEAR,
                        &deposit);
    }
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies[MPM_GRID_VOLUME_CHANGE]);
}

void MPM_KERNEL(f_bar_average)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    const mpm_grid *grid = sweep->grid;
    struct workspace *work = sweep->workspaces[thread];
    clear_copies(grid, MPM_GRID_VOLUME_CHANGE, task);
    sweep->measures[task] = (mpm_measure){.least_det = 1};
    begin_scatter(work);
    for (int32_t g = grid->task_group[task]; g < grid->task_group[task + 1]; g++)
        average_group(sweep, arguments, &sweep->particles->groups[g], work);
}
