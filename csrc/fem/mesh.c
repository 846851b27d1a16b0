/* SPDX-License-Identifier: MIT
 *
 * Lays out a mesh for the kernels: elements in tasks, strips and tiles; nodes of tasks; copies of nodes.
 */
#include "fem/mesh.h"

#include <math.h>
#include <string.h>

#include "base/real.h"
#include "base/status.h"
#include "fem/state.h"

enum { MOST = INT32_MAX / 2 };

/* What the layout is made from. */
struct source {
    const mpm_allocator *allocator;
    size_t real_size;
    const double *rest;
    const int32_t *cells, *material;
    int32_t *place; /* [nodes]: of a node among those of the task; -1 */
};

static int corners_of(const mpm_fem_mesh *mesh)
{
    return mesh->dim + 1;
}

static ptrdiff_t task_end(const mpm_fem_mesh *mesh, ptrdiff_t task)
{
    const ptrdiff_t end = (task + 1) * MPM_FEM_TASK;
    return end < mesh->elements ? end : mesh->elements;
}

/* D_m^-1, row by row, and the volume of an element; false if it has none. */
static bool find_shape(const mpm_fem_mesh *mesh, const struct source *source, ptrdiff_t element, double shape[10])
{
    const int dim = mesh->dim;
    const int32_t *cell = source->cells + element * corners_of(mesh);
    double D[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, inverse[3][3];
    for (int k = 0; k < dim; k++)
        for (int a = 0; a < dim; a++)
            D[a][k] = source->rest[(ptrdiff_t)cell[k + 1] * dim + a] - source->rest[(ptrdiff_t)cell[0] * dim + a];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            inverse[j][i] = D[i1][j1] * D[i2][j2] - D[i1][j2] * D[i2][j1]; /* cofactors, transposed */
        }
    const double det = D[0][0] * inverse[0][0] + D[0][1] * inverse[1][0] + D[0][2] * inverse[2][0];
    bool good = det > 0 && isfinite(det);
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) {
            shape[i * dim + j] = inverse[i][j] / det;
            good &= isfinite(shape[i * dim + j]);
        }
    shape[dim * dim] = det / (dim == 2 ? 2 : 6);
    return good;
}

/* Writes an element into a lane of a tile. */
static bool put_element(mpm_fem_mesh *mesh, const struct source *source, ptrdiff_t element, ptrdiff_t tile, int k)
{
    const int lanes = mesh->lanes, corners = corners_of(mesh), numbers = MPM_FEM_SHAPE(mesh->dim);
    const int lane = lanes < 4 ? k : (k % (lanes / 4)) * 4 + k / (lanes / 4); /* lane_of */
    double shape[10];
    if (!find_shape(mesh, source, element, shape))
        return false;
    for (int c = 0; c < corners; c++)
        mesh->tile_nodes[(tile * corners + c) * lanes + k] = source->place[source->cells[element * corners + c]];
    for (int i = 0; i < numbers; i++)
        mpm_real_set(mesh->shapes, (size_t)((tile * numbers + i) * lanes + lane), shape[i], source->real_size);
    return true;
}

/* Fills the rest of the last tile of a strip with its last element, without volume. */
static void pad(mpm_fem_mesh *mesh, const struct source *source, ptrdiff_t element, ptrdiff_t tile, int k)
{
    const int lanes = mesh->lanes, numbers = MPM_FEM_SHAPE(mesh->dim);
    for (; k < lanes; k++) {
        put_element(mesh, source, element, tile, k);
        const int lane = lanes < 4 ? k : (k % (lanes / 4)) * 4 + k / (lanes / 4);
        mpm_real_set(mesh->shapes, (size_t)((tile * numbers + numbers - 1) * lanes + lane), 0, source->real_size);
    }
}

static int32_t highest_material(const mpm_fem_mesh *mesh, const struct source *source)
{
    int32_t highest = 0;
    for (ptrdiff_t e = 0; e < mesh->elements; e++)
        highest = source->material[e] > highest ? source->material[e] : highest;
    return highest;
}

/* Numbers the nodes of a task; with `fill`, lists them. Returns how many there are. */
static int32_t number_nodes(mpm_fem_mesh *mesh, const struct source *source, ptrdiff_t task, bool fill)
{
    const int corners = corners_of(mesh);
    int32_t count = 0;
    for (ptrdiff_t i = task * MPM_FEM_TASK * corners; i < task_end(mesh, task) * corners; i++) {
        const int32_t node = source->cells[i];
        if (source->place[node] >= 0)
            continue;
        if (fill)
            mesh->copy_row[mesh->task_copy[task] + count] = node;
        source->place[node] = count++;
    }
    return count;
}

static void forget_numbers(const mpm_fem_mesh *mesh, const struct source *source, ptrdiff_t task)
{
    const int corners = corners_of(mesh);
    for (ptrdiff_t i = task * MPM_FEM_TASK * corners; i < task_end(mesh, task) * corners; i++)
        source->place[source->cells[i]] = -1;
}

/* Counts tiles, strips and copies. */
static void count_all(mpm_fem_mesh *mesh, const struct source *source, int32_t materials, ptrdiff_t *strips)
{
    for (ptrdiff_t task = 0; task < mesh->tasks; task++) {
        const int32_t nodes = number_nodes(mesh, source, task, false);
        forget_numbers(mesh, source, task);
        mesh->copies += nodes;
        mesh->most_nodes = nodes > mesh->most_nodes ? nodes : mesh->most_nodes;
        for (int32_t m = 0; m < materials; m++) {
            ptrdiff_t count = 0;
            for (ptrdiff_t e = task * MPM_FEM_TASK; e < task_end(mesh, task); e++)
                count += source->material[e] == m;
            mesh->tiles += (count + mesh->lanes - 1) / mesh->lanes;
            *strips += count > 0;
        }
    }
}

static mpm_status allocate(mpm_fem_mesh *mesh, const struct source *source, ptrdiff_t strips)
{
    const mpm_allocator *a = source->allocator;
    const size_t lanes = (size_t)mesh->lanes, tiles = (size_t)mesh->tiles, copies = (size_t)mesh->copies;
    mesh->task_strip = mpm_memory_new(a, (size_t)mesh->tasks + 1, sizeof(int32_t));
    mesh->task_copy = mpm_memory_new(a, (size_t)mesh->tasks + 1, sizeof(int32_t));
    mesh->strips = mpm_memory_new(a, (size_t)strips, sizeof *mesh->strips);
    mesh->copy_row = mpm_memory_new(a, copies, sizeof(int32_t));
    mesh->node_copy = mpm_memory_new(a, (size_t)mesh->nodes + 1, sizeof(int32_t));
    mesh->copies_of = mpm_memory_new(a, copies, sizeof(int32_t));
    mesh->tile_nodes = mpm_memory_new(a, tiles * (size_t)corners_of(mesh) * lanes, sizeof(int32_t));
    mesh->shapes = mpm_memory_new(a, tiles * (size_t)MPM_FEM_SHAPE(mesh->dim) * lanes, source->real_size);
    mesh->slot = mpm_memory_new(a, (size_t)mesh->elements, sizeof(int32_t));
    return mesh->task_strip && mesh->task_copy && mesh->strips && mesh->copy_row && mesh->node_copy &&
                   mesh->copies_of && mesh->tile_nodes && mesh->shapes && mesh->slot
               ? MPM_OK
               : MPM_OUT_OF_MEMORY;
}

/* Puts the elements of one material of a task into a strip. */
static bool put_strip(mpm_fem_mesh *mesh, const struct source *source, ptrdiff_t task, int32_t material, int32_t *strip,
                      ptrdiff_t *tile)
{
    const ptrdiff_t first = *tile;
    ptrdiff_t count = 0, last = -1;
    for (ptrdiff_t e = task * MPM_FEM_TASK; e < task_end(mesh, task); e++) {
        if (source->material[e] != material)
            continue;
        const ptrdiff_t at = first + count / mesh->lanes;
        const int k = (int)(count % mesh->lanes);
        if (!put_element(mesh, source, e, at, k))
            return false;
        mesh->slot[e] = (int32_t)(at * mesh->lanes + k);
        count++;
        last = e;
    }
    if (!count)
        return true;
    *tile = first + (count + mesh->lanes - 1) / mesh->lanes;
    if (count % mesh->lanes)
        pad(mesh, source, last, *tile - 1, (int)(count % mesh->lanes));
    mesh->strips[(*strip)++] = (mpm_fem_strip){(int32_t)first, (int32_t)*tile, material};
    return true;
}

static bool put_all(mpm_fem_mesh *mesh, const struct source *source, int32_t materials)
{
    int32_t strip = 0;
    ptrdiff_t tile = 0;
    bool good = true;
    for (ptrdiff_t task = 0; task < mesh->tasks && good; task++) {
        mesh->task_copy[task + 1] = mesh->task_copy[task] + number_nodes(mesh, source, task, true);
        for (int32_t m = 0; m < materials && good; m++)
            good = put_strip(mesh, source, task, m, &strip, &tile);
        mesh->task_strip[task + 1] = strip;
        forget_numbers(mesh, source, task);
    }
    return good;
}

/* Lists the copies of every node, in task order; false if a node has none. */
static bool list_copies(mpm_fem_mesh *mesh)
{
    for (ptrdiff_t c = 0; c < mesh->copies; c++)
        mesh->node_copy[mesh->copy_row[c] + 1]++;
    for (ptrdiff_t n = 0; n < mesh->nodes; n++) {
        if (!mesh->node_copy[n + 1])
            return false;
        mesh->node_copy[n + 1] += mesh->node_copy[n];
    }
    for (ptrdiff_t c = mesh->copies - 1; c >= 0; c--) /* from the end: node_copy[n + 1] moves back to node_copy[n] */
        mesh->copies_of[--mesh->node_copy[mesh->copy_row[c] + 1]] = (int32_t)c;
    memmove(mesh->node_copy, mesh->node_copy + 1, (size_t)mesh->nodes * sizeof *mesh->node_copy);
    mesh->node_copy[mesh->nodes] = (int32_t)mesh->copies;
    return true;
}

static bool are_cells(const mpm_fem_mesh *mesh, const struct source *source)
{
    bool good = true;
    for (ptrdiff_t i = 0; i < mesh->elements * corners_of(mesh); i++)
        good &= source->cells[i] >= 0 && source->cells[i] < mesh->nodes;
    for (ptrdiff_t e = 0; e < mesh->elements; e++)
        good &= source->material[e] >= 0;
    return good;
}

mpm_status mpm_fem_mesh_build(mpm_fem_mesh *mesh, const mpm_allocator *allocator, size_t real_size, const double *rest,
                              const int32_t *cells, const int32_t *material)
{
    struct source source = {allocator, real_size, rest, cells, material, NULL};
    ptrdiff_t strips = 0;
    if (mesh->elements < 1 || mesh->elements > MOST / 16 || mesh->nodes > MOST)
        return mesh->elements < 1 ? MPM_BAD_ARGUMENT : MPM_TOO_LARGE;
    if (!are_cells(mesh, &source))
        return MPM_BAD_ARGUMENT;
    mesh->tasks = (int32_t)((mesh->elements + MPM_FEM_TASK - 1) / MPM_FEM_TASK);
    source.place = mpm_memory_new(allocator, (size_t)mesh->nodes, sizeof *source.place);
    if (!source.place)
        return MPM_OUT_OF_MEMORY;
    memset(source.place, -1, (size_t)mesh->nodes * sizeof *source.place);
    const int32_t materials = highest_material(mesh, &source) + 1;
    count_all(mesh, &source, materials, &strips);
    mpm_status status = allocate(mesh, &source, strips);
    if (!status && !(put_all(mesh, &source, materials) && list_copies(mesh)))
        status = MPM_BAD_ARGUMENT;
    mpm_memory_free(allocator, source.place);
    return status;
}

void mpm_fem_mesh_clear(mpm_fem_mesh *mesh, const mpm_allocator *allocator)
{
    void *arrays[] = {mesh->task_strip, mesh->task_copy, mesh->strips, mesh->copy_row, mesh->node_copy,
                      mesh->copies_of, mesh->tile_nodes, mesh->shapes, mesh->slot};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        mpm_memory_free(allocator, arrays[k]);
    *mesh = (mpm_fem_mesh){.dim = mesh->dim, .lanes = mesh->lanes};
}
