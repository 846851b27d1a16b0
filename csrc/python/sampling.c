/* SPDX-License-Identifier: MIT
 *
 * Sampling for Python: which points are inside a triangle mesh, their distance to it, and parts of cells for particles.
 */
#include "python/module.h"

#include "sampling/crossings.h"
#include "sampling/distance.h"
#include "sampling/parts.h"
#include "sampling/winding.h"

struct query {
    Py_buffer vertices, faces, points; /* (nv, 3) float64, (nf, 3) int32, (m, 3) float64 */
    int threads;
};

static void release_query(struct query *query)
{
    PyBuffer_Release(&query->vertices); /* no-op for a buffer that was not taken */
    PyBuffer_Release(&query->faces);
    PyBuffer_Release(&query->points);
}

static int check_query(const struct query *query)
{
    const Py_buffer *buffers[] = {&query->vertices, &query->faces, &query->points};
    const char *names[] = {"vertices", "faces", "points"};
    for (int i = 0; i < 3; i++)
        if (buffers[i]->shape[1] != 3) {
            PyErr_Format(PyExc_ValueError, "%s: expected the shape (n, 3), got (%zd, %zd)", names[i],
                         buffers[i]->shape[0], buffers[i]->shape[1]);
            return -1;
        }
    if (mpm_python_check_threads(query->threads))
        return -1;
    const int32_t *index = query->faces.buf;
    for (Py_ssize_t i = 0; i < 3 * query->faces.shape[0]; i++)
        if (index[i] < 0 || index[i] >= query->vertices.shape[0]) {
            PyErr_Format(PyExc_ValueError, "faces: vertex %d of face %zd is not one of the %zd vertices",
                         (int)index[i], i / 3, query->vertices.shape[0]);
            return -1;
        }
    return 0;
}

static int take_query(struct query *query, PyObject *args)
{
    PyObject *vertices, *faces, *points;
    *query = (struct query){0};
    if (!PyArg_ParseTuple(args, "OOOi", &vertices, &faces, &points, &query->threads))
        return -1;
    if (mpm_python_get_buffer(vertices, &query->vertices, "vertices", "d", 2, 0) ||
        mpm_python_get_buffer(faces, &query->faces, "faces", "i", 2, 0) ||
        mpm_python_get_buffer(points, &query->points, "points", "d", 2, 0) || check_query(query)) {
        release_query(query);
        return -1;
    }
    return 0;
}

static PyObject *answer(struct query *query, PyObject *result, mpm_status status)
{
    release_query(query);
    if (status == MPM_OK)
        return result;
    Py_DECREF(result);
    if (status == MPM_TOO_LARGE)
        PyErr_SetString(PyExc_ValueError, "faces: too many for 32-bit indices");
    else
        PyErr_NoMemory();
    return NULL;
}

static PyObject *winding_numbers(PyObject *module, PyObject *args)
{
    const module_state *state = PyModule_GetState(module);
    struct query query;
    if (take_query(&query, args))
        return NULL;
    PyObject *result = PyBytes_FromStringAndSize(NULL, query.points.shape[0] * (Py_ssize_t)sizeof(double));
    if (!result) {
        release_query(&query);
        return NULL;
    }
    double *out = (double *)PyBytes_AsString(result);
    mpm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = mpm_winding_numbers(&state->allocator, query.vertices.buf, query.faces.buf, query.faces.shape[0],
                                 query.points.buf, query.points.shape[0], out, query.threads);
    Py_END_ALLOW_THREADS
    return answer(&query, result, status);
}

static PyObject *ray_crossings(PyObject *module, PyObject *args)
{
    const module_state *state = PyModule_GetState(module);
    struct query query;
    if (take_query(&query, args))
        return NULL;
    PyObject *result = PyBytes_FromStringAndSize(NULL, query.points.shape[0] * (Py_ssize_t)sizeof(int32_t));
    if (!result) {
        release_query(&query);
        return NULL;
    }
    int32_t *out = (int32_t *)PyBytes_AsString(result);
    mpm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = mpm_crossings_count(&state->allocator, query.vertices.buf, query.faces.buf, query.faces.shape[0],
                                 query.points.buf, query.points.shape[0], out, query.threads);
    Py_END_ALLOW_THREADS
    return answer(&query, result, status);
}

static PyObject *mesh_distances(PyObject *module, PyObject *args)
{
    const module_state *state = PyModule_GetState(module);
    struct query query;
    if (take_query(&query, args))
        return NULL;
    const Py_ssize_t points = query.points.shape[0], size = (Py_ssize_t)sizeof(double);
    PyObject *distance = PyBytes_FromStringAndSize(NULL, points * size);
    PyObject *face = PyBytes_FromStringAndSize(NULL, points * (Py_ssize_t)sizeof(int32_t));
    PyObject *weights = PyBytes_FromStringAndSize(NULL, points * 3 * size);
    PyObject *result = distance && face && weights ? PyTuple_Pack(3, distance, face, weights) : NULL;
    Py_XDECREF(distance); /* the tuple holds them */
    Py_XDECREF(face);
    Py_XDECREF(weights);
    if (!result || !query.faces.shape[0]) {
        if (result)
            PyErr_SetString(PyExc_ValueError, "faces: there are none");
        Py_XDECREF(result);
        release_query(&query);
        return NULL;
    }
    double *distances = (double *)PyBytes_AsString(distance), *shares = (double *)PyBytes_AsString(weights);
    int32_t *nearest = (int32_t *)PyBytes_AsString(face);
    mpm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = mpm_distance_to_faces(&state->allocator, query.vertices.buf, query.faces.buf, query.faces.shape[0],
                                   query.points.buf, points, distances, nearest, shares, query.threads);
    Py_END_ALLOW_THREADS
    return answer(&query, result, status);
}

/* Whether the arrays belong together; -1 with an exception. */
static int check_parts(const mpm_parts *parts, const Py_buffer views[5])
{
    const ptrdiff_t d = parts->dim, neighbours = d == 3 ? 27 : 9;
    if ((d != 2 && d != 3) || parts->side < 2 || parts->side > 64 || parts->most < 1 || views[4].shape[1] != d ||
        parts->cut > parts->cells || views[1].shape[1] != (d == 3 ? parts->side : 1) * parts->side * parts->side ||
        views[2].shape[0] != parts->cells || views[2].shape[1] != neighbours) {
        PyErr_SetString(PyExc_ValueError, "middle, filled, around, members, x: shapes do not belong together");
        return -1;
    }
    for (ptrdiff_t k = 0; k < parts->cells * neighbours; k++)
        if (parts->around[k] < 0 || parts->around[k] >= parts->rows) {
            PyErr_Format(PyExc_ValueError, "around: %d is not one of the %zd rows", (int)parts->around[k], parts->rows);
            return -1;
        }
    for (ptrdiff_t k = 0; k < parts->rows * parts->most; k++)
        if (parts->members[k] < -1 || parts->members[k] >= parts->particles) {
            PyErr_Format(PyExc_ValueError, "members: %d is not one of the %zd particles", (int)parts->members[k],
                         parts->particles);
            return -1;
        }
    return 0;
}

static PyObject *hand_out(PyObject *module, PyObject *args)
{
    static const char *names[5] = {"middle", "filled", "around", "members", "x"};
    static const char *formats[5] = {"d", "d", "i", "i", "d"};
    const module_state *state = PyModule_GetState(module);
    mpm_parts parts = {0};
    Py_buffer views[5] = {{0}};
    PyObject *given[5], *result = NULL, *share = NULL, *moment = NULL;
    bool fits = PyArg_ParseTuple(args, "idOOOOO", &parts.side, &parts.dx, &given[0], &given[1], &given[2], &given[3],
                                 &given[4]);
    for (int k = 0; k < 5 && fits; k++)
        fits = !mpm_python_get_buffer(given[k], &views[k], names[k], formats[k], 2, 0);
    if (fits) {
        parts.dim = (int)views[0].shape[1];
        parts.cells = views[0].shape[0], parts.cut = views[1].shape[0], parts.rows = views[3].shape[0];
        parts.most = views[3].shape[1], parts.particles = views[4].shape[0];
        parts.middle = views[0].buf, parts.filled = views[1].buf, parts.around = views[2].buf;
        parts.members = views[3].buf, parts.x = views[4].buf;
        fits = !check_parts(&parts, views);
    }
    if (fits) {
        share = PyBytes_FromStringAndSize(NULL, parts.particles * (Py_ssize_t)sizeof(double));
        moment = PyBytes_FromStringAndSize(NULL, parts.dim * parts.particles * (Py_ssize_t)sizeof(double));
        result = share && moment ? PyTuple_Pack(2, share, moment) : NULL;
        Py_XDECREF(share); /* the tuple holds them */
        Py_XDECREF(moment);
    }
    if (result) {
        double *shares = (double *)PyBytes_AsString(share), *moments = (double *)PyBytes_AsString(moment);
        mpm_status status;
        Py_BEGIN_ALLOW_THREADS
        status = mpm_parts_hand_out(&state->allocator, &parts, shares, moments);
        Py_END_ALLOW_THREADS
        if (status != MPM_OK) {
            Py_CLEAR(result);
            PyErr_NoMemory();
        }
    }
    for (int k = 0; k < 5; k++)
        PyBuffer_Release(&views[k]); /* no-op for a buffer that was not taken */
    return result;
}

PyMethodDef mpm_sampling_methods[] = {
    {"winding_numbers", winding_numbers, METH_VARARGS,
     "winding_numbers(vertices, faces, points, threads)\n--\n\n"
     "Generalised winding number of the mesh at each point, float64 (m,) as bytes."},
    {"ray_crossings", ray_crossings, METH_VARARGS,
     "ray_crossings(vertices, faces, points, threads)\n--\n\n"
     "Faces above each point, those facing up +1, those facing down -1: int32 (m,) as bytes."},
    {"mesh_distances", mesh_distances, METH_VARARGS,
     "mesh_distances(vertices, faces, points, threads)\n--\n\n"
     "Distance (m,) float64, nearest face (m,) int32, weights of its corners there (m, 3) float64: as bytes."},
    {"hand_out", hand_out, METH_VARARGS,
     "hand_out(side, dx, middle, filled, around, members, x)\n--\n\n"
     "Volumes (n,) [cells] of the parts of cells that are nearest to particles x (n, d), and their first moments "
     "(n, d): float64 as bytes. Cells have their middle (m, d), rows of members around (m, 3^d) int32, and side^d "
     "sub-cells, whose filled shares are given for the first cells; the others are full. Members (rows, most) int32; "
     "-1: none."},
    {NULL, NULL, 0, NULL},
};
