/* SPDX-License-Identifier: MIT
 *
 * Triangle meshes for Python: which points are inside, and their distance to the mesh.
 */
#include "python/module.h"

#include "sampling/crossings.h"
#include "sampling/distance.h"
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
    {NULL, NULL, 0, NULL},
};
