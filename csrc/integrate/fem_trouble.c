/* SPDX-License-Identifier: MIT
 *
 * Names the nodes of the elements whose J is out of the range of their law, and the nodes outside of the domain. It is
 * called once per error, row by row.
 */
#include "base/real.h"
#include "integrate/fem_state.h"

/* det (D_s D_m^-1) */
static double find_J(const mpm_fem *fem, const void *x, const int32_t *rows, ptrdiff_t tile, int lane)
{
    const int dim = fem->settings.dim, lanes = fem->mesh.lanes;
    const size_t size = fem->settings.real_size;
    double F[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) {
            F[i][j] = 0;
            for (int k = 0; k < dim; k++) {
                const size_t at = (size_t)((tile * MPM_FEM_SHAPE(dim) + k * dim + j) * lanes + lane);
                const double edge = mpm_real_at(x, (size_t)rows[k + 1] * (size_t)dim + (size_t)i, size) -
                                    mpm_real_at(x, (size_t)rows[0] * (size_t)dim + (size_t)i, size);
                F[i][j] += edge * mpm_real_at(fem->mesh.shapes, at, size);
            }
        }
    return F[0][0] * (F[1][1] * F[2][2] - F[1][2] * F[2][1]) - F[0][1] * (F[1][0] * F[2][2] - F[1][2] * F[2][0]) +
           F[0][2] * (F[1][0] * F[2][1] - F[1][1] * F[2][0]);
}

/* Flags the nodes of the elements of a strip that are out of range. */
static void flag_strip(const mpm_fem *fem, const void *x, int32_t task, const mpm_fem_strip *strip, uint8_t *flags)
{
    const mpm_fem_mesh *mesh = &fem->mesh;
    const mpm_law *law = mpm_laws_get(fem->materials[strip->material].law);
    const int corners = mesh->dim + 1, lanes = mesh->lanes;
    for (ptrdiff_t tile = strip->first; tile < strip->end; tile++)
        for (int k = 0; k < lanes; k++) {
            int32_t rows[4];
            for (int c = 0; c < corners; c++)
                rows[c] = mesh->copy_row[mesh->task_copy[task] + mesh->tile_nodes[(tile * corners + c) * lanes + k]];
            const int lane = lanes < 4 ? k : (k % (lanes / 4)) * 4 + k / (lanes / 4);
            const double J = find_J(fem, x, rows, tile, lane);
            for (int c = 0; c < corners && !(J > law->J_low && J < law->J_high); c++)
                flags[rows[c]] = 1;
        }
}

mpm_status mpm_fem_trouble_rows(mpm_fem *fem, const void *x, mpm_reason reason, double dt)
{
    const mpm_fem_mesh *mesh = &fem->mesh;
    uint8_t *flags = mpm_memory_new(&fem->run.allocator, (size_t)mesh->nodes, 1);
    if (!flags)
        return MPM_OUT_OF_MEMORY;
    for (int32_t task = 0; task < mesh->tasks; task++)
        for (int32_t s = mesh->task_strip[task]; s < mesh->task_strip[task + 1]; s++)
            if (!mpm_laws_invert(fem->materials[mesh->strips[s].material].law))
                flag_strip(fem, x, task, &mesh->strips[s], flags);
    mpm_trouble_note(&fem->run.trouble, MPM_UNSTABLE, reason, dt);
    mpm_trouble_add_rows(&fem->run.trouble, flags, mesh->nodes, 1);
    mpm_memory_free(&fem->run.allocator, flags);
    return MPM_UNSTABLE;
}

/* A wall holds a node from the step on that begins beyond its face, and no node moves farther than `dx` in a step. */
double mpm_fem_trouble_room(const mpm_fem *fem)
{
    return fem->settings.dx * (1 + 1e-3);
}

/* Flags the nodes that are farther beyond a face than that. */
mpm_status mpm_fem_trouble_outside(mpm_fem *fem, const void *x)
{
    const mpm_fem_settings *settings = &fem->settings;
    const double room = mpm_fem_trouble_room(fem);
    uint8_t *flags = mpm_memory_new(&fem->run.allocator, (size_t)fem->mesh.nodes, 1);
    if (!flags)
        return MPM_OUT_OF_MEMORY;
    for (ptrdiff_t row = 0; row < fem->mesh.nodes; row++)
        for (int a = 0; a < settings->dim; a++) {
            const double at = mpm_real_at(x, (size_t)(row * settings->dim + a), settings->real_size);
            flags[row] |= settings->lower[a] - at > room || at - settings->upper[a] > room;
        }
    mpm_trouble_note(&fem->run.trouble, MPM_ESCAPED, MPM_FEM_OUTSIDE, fem->run.dt);
    mpm_trouble_add_rows(&fem->run.trouble, flags, fem->mesh.nodes, 1);
    mpm_memory_free(&fem->run.allocator, flags);
    return MPM_ESCAPED;
}
