/* SPDX-License-Identifier: MIT
 *
 * Names the nodes of the elements whose J is out of the range of their law, and the nodes outside of the domain. It is
 * called once per error, row by row.
 */
#include "fem/error.h"

#include <stdio.h>

#include "base/real.h"
#include "fem/state.h"

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

/* Elements at fault. */
struct search {
    const mpm_fem *fem;
    const void *x;
    bool stiffened; /* those whose modulus changes too much, not those out of range */
    uint8_t *flags; /* of their nodes */
    char *first;    /* the nodes of the first, in words; empty: none was found */
};

static bool is_at_fault(const struct search *search, const mpm_law *law, const int32_t rows[4], ptrdiff_t tile,
                          int lane)
{
    const mpm_fem *fem = search->fem;
    const size_t at = (size_t)(tile * fem->mesh.lanes + lane), size = fem->settings.real_size;
    const double before = mpm_real_at(fem->modulus, at, size), after = mpm_real_at(fem->next_modulus, at, size);
    const double J = find_J(fem, search->x, rows, tile, lane);
    if (search->stiffened)
        return !(after <= MPM_FEM_MOST_CHANGE * before && before <= MPM_FEM_MOST_CHANGE * after);
    return !(J > law->J_low && J < law->J_high);
}

/* Names the nodes of an element: "3, 4 and 7". */
static void name_nodes(char *text, const int32_t *rows, int corners)
{
    int end = 0;
    for (int c = 0; c < corners; c++)
        end += snprintf(text + end, (size_t)(MPM_FEM_NAME - end), "%s%d",
                        c == 0 ? "" : c < corners - 1 ? ", " : " and ", (int)rows[c]);
}

static void flag_strip(const struct search *search, int32_t task, const mpm_fem_strip *strip)
{
    const mpm_fem_mesh *mesh = &search->fem->mesh;
    const int index = search->fem->materials[strip->material].law, corners = mesh->dim + 1, lanes = mesh->lanes;
    if (!search->stiffened && mpm_laws_invert(index))
        return;
    for (ptrdiff_t tile = strip->first; tile < strip->end; tile++)
        for (int k = 0; k < lanes; k++) {
            int32_t rows[4];
            for (int c = 0; c < corners; c++)
                rows[c] = mesh->copy_row[mesh->task_copy[task] + mesh->tile_nodes[(tile * corners + c) * lanes + k]];
            const int lane = lanes < 4 ? k : (k % (lanes / 4)) * 4 + k / (lanes / 4);
            if (!is_at_fault(search, mpm_laws_get(index), rows, tile, lane))
                continue;
            if (!search->first[0])
                name_nodes(search->first, rows, corners);
            for (int c = 0; c < corners; c++)
                search->flags[rows[c]] = 1;
        }
}

mpm_status mpm_fem_error_elements(mpm_fem *fem, const void *x, mpm_reason reason, double dt)
{
    const mpm_fem_mesh *mesh = &fem->mesh;
    uint8_t *flags = mpm_memory_new(&fem->run.allocator, (size_t)mesh->nodes, 1);
    if (!flags)
        return MPM_OUT_OF_MEMORY;
    const struct search search = {fem, x, reason == MPM_FEM_WOULD_STIFFEN, flags, fem->element};
    fem->element[0] = 0;
    for (int32_t task = 0; task < mesh->tasks; task++)
        for (int32_t s = mesh->task_strip[task]; s < mesh->task_strip[task + 1]; s++)
            flag_strip(&search, task, &mesh->strips[s]);
    mpm_error_note(&fem->run.error, MPM_UNSTABLE, reason, dt);
    mpm_error_add_rows(&fem->run.error, flags, mesh->nodes, 1);
    fem->run.error.name = fem->element;
    fem->run.error.value[0] = fem->settings.dt > 0;
    fem->run.error.value[1] = MPM_FEM_MOST_CHANGE;
    mpm_memory_free(&fem->run.allocator, flags);
    return MPM_UNSTABLE;
}

/* A wall holds a node from the step on that begins beyond its face, and no node moves farther than `dx` in a step. */
double mpm_fem_error_room(const mpm_fem *fem)
{
    return fem->settings.dx * (1 + 1e-3);
}

/* Flags the nodes that are farther beyond a face than that. */
mpm_status mpm_fem_error_outside(mpm_fem *fem, const void *x)
{
    const mpm_fem_settings *settings = &fem->settings;
    const double room = mpm_fem_error_room(fem);
    uint8_t *flags = mpm_memory_new(&fem->run.allocator, (size_t)fem->mesh.nodes, 1);
    if (!flags)
        return MPM_OUT_OF_MEMORY;
    for (ptrdiff_t row = 0; row < fem->mesh.nodes; row++)
        for (int a = 0; a < settings->dim; a++) {
            const double at = mpm_real_at(x, (size_t)(row * settings->dim + a), settings->real_size);
            flags[row] |= settings->lower[a] - at > room || at - settings->upper[a] > room;
        }
    mpm_error_note(&fem->run.error, MPM_ESCAPED, MPM_FEM_OUTSIDE, fem->run.dt);
    mpm_error_add_rows(&fem->run.error, flags, fem->mesh.nodes, 1);
    mpm_memory_free(&fem->run.allocator, flags);
    return MPM_ESCAPED;
}
