/* SPDX-License-Identifier: MIT
 *
 * Prepares the laws of elements whose parameters vary: once, not in every step, because parameters change only
 * where users write them.
 */
#include "fem/kernels/tiles.h"
#include "materials/prepared.h"

static void prepare_strip(const mpm_fem_sweep *sweep, const mpm_fem_strip *strip)
{
    const mpm_material *material = &sweep->materials[strip->material];
    mpm_material one = *material;
    for (ptrdiff_t tile = strip->first; tile < strip->end; tile++)
        for (int k = 0; k < WIDTH; k++) {
            const int32_t row = sweep->element_row[tile * WIDTH + k];
            for (int v = 0; v < material->varying; v++)
                one.values[material->parameter[v]] =
                    (double)((const real *)sweep->parameters[material->column[v]])[row];
            MPM_KERNEL(general_laws_prepare_lane)
            (&one, (char *)sweep->prepared + (size_t)tile * sweep->prepared_bytes, lane_of(k));
        }
}

void MPM_KERNEL(parameters_prepare)(const mpm_fem_sweep *sweep, ptrdiff_t task, int thread)
{
    const mpm_fem_mesh *mesh = sweep->mesh;
    (void)thread;
    for (int32_t s = mesh->task_strip[task]; s < mesh->task_strip[task + 1]; s++)
        if (sweep->materials[mesh->strips[s].material].varying)
            prepare_strip(sweep, &mesh->strips[s]);
}
