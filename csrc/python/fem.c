/* SPDX-License-Identifier: MIT
 *
 * `mpm._core.FEM`: what finite elements have beyond `mpm._core.Core`.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fem/fem.h"
#include "python/core.h"

/* ---- the object ------------------------------------------------------------------------------------------------- */

static PyObject *residuals(const void *self)
{
    const double both[] = {1, mpm_fem_residual(self)};
    return mpm_python_float_list(both, 2);
}

static mpm_fem *enter(PyObject *self)
{
    const mpm_python_core *core = mpm_python_core_enter(self);
    return core ? core->run->self : NULL;
}

/* ---- making one ------------------------------------------------------------------------------------------------- */

static PyObject *fem_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    mpm_fem_settings settings = {0};
    if (mpm_python_get_settings(args, kwargs, &mpm_fem_options, &settings.common) ||
        mpm_python_refuse_flaw(mpm_fem_settings_flaw(&settings)))
        return NULL;
    mpm_python_core *core = mpm_python_core_new(type);
    mpm_fem *fem;
    if (core && mpm_fem_new(&fem, &mpm_python_state(type)->allocator, &settings)) {
        Py_DECREF(core);
        return PyErr_NoMemory();
    }
    if (core) {
        core->run = mpm_fem_get_run(fem);
        core->residuals = residuals;
        core->store = mpm_fem_get_store(fem);
    }
    return (PyObject *)core;
}

/* ---- nodes and elements ----------------------------------------------------------------------------------------- */

enum { MOST_ARRAYS = 5 };

/* Arrays of one length, with `width[k]` columns; 0: without the second axis. */
static int hold_arrays(PyObject *const *objects, const char *const *names, const char *const *formats, const int *width,
                       int count, Py_buffer *views)
{
    int held = 0;
    for (; held < count; held++) {
        if (mpm_python_get_buffer(objects[held], &views[held], names[held], formats[held], width[held] ? 2 : 1, 0))
            break;
        if (views[held].shape[0] != views[0].shape[0] || (width[held] && views[held].shape[1] != width[held])) {
            PyErr_Format(PyExc_ValueError, "%s: wrong shape", names[held]);
            PyBuffer_Release(&views[held]);
            break;
        }
    }
    if (held == count)
        return 0;
    while (held > 0)
        PyBuffer_Release(&views[--held]);
    return -1;
}

static int are_within(const Py_buffer *view, double least, double most, const char *name)
{
    const double *values = view->buf;
    for (Py_ssize_t i = 0; i < view->len / (Py_ssize_t)sizeof *values; i++)
        if (!(values[i] >= least && values[i] <= most)) {
            PyErr_Format(PyExc_ValueError, "%s: out of the range of the precision", name);
            return 0;
        }
    return 1;
}

static PyObject *add_nodes(PyObject *self, PyObject *args)
{
    static const char *const names[] = {"x", "v", "mass", "volume", "material"};
    static const char *const formats[] = {"d", "d", "d", "d", "i"};
    PyObject *objects[MOST_ARRAYS], *result = NULL;
    Py_buffer views[MOST_ARRAYS];
    if (!PyArg_ParseTuple(args, "OOOOO", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4]))
        return NULL;
    mpm_fem *fem = ((mpm_python_core *)self)->run->self;
    const mpm_fem_settings *settings = mpm_fem_get_settings(fem);
    const int dim = settings->dim, width[] = {dim, dim, 0, 0, 0};
    const bool narrow = settings->real_size == sizeof(float);
    const double least = narrow ? (double)FLT_MIN : DBL_MIN, most = narrow ? (double)FLT_MAX : DBL_MAX;
    if (hold_arrays(objects, names, formats, width, MOST_ARRAYS, views))
        return NULL;
    if (are_within(&views[0], -most, most, "x") && are_within(&views[1], -most, most, "v") &&
        are_within(&views[2], least, most, "mass") && are_within(&views[3], least, most, "volume") && enter(self))
        result = mpm_python_core_finish(self, mpm_fem_add_nodes(fem, views[0].shape[0], views[0].buf, views[1].buf,
                                                                views[2].buf, views[3].buf, views[4].buf));
    for (int k = 0; k < MOST_ARRAYS; k++)
        PyBuffer_Release(&views[k]);
    return result;
}

static PyObject *set_mesh(PyObject *self, PyObject *args)
{
    static const char *const names[] = {"nodes", "material"}, *const formats[] = {"i", "i"};
    PyObject *rest, *objects[2], *result = NULL;
    Py_buffer positions, views[2];
    if (!PyArg_ParseTuple(args, "OOO", &rest, &objects[0], &objects[1]))
        return NULL;
    const int dim = ((mpm_python_core *)self)->store->fields.dim, width[] = {dim + 1, 0};
    if (mpm_python_get_buffer(rest, &positions, "rest", "d", 2, 0))
        return NULL;
    if (!hold_arrays(objects, names, formats, width, 2, views)) {
        mpm_fem *fem = enter(self);
        if (fem && (positions.shape[0] != mpm_fem_get_store(fem)->count || positions.shape[1] != dim))
            PyErr_SetString(PyExc_ValueError, "rest: wrong shape");
        else if (fem)
            result = mpm_python_core_finish(
                self, mpm_fem_set_mesh(fem, positions.buf, views[0].shape[0], views[0].buf, views[1].buf));
        for (int k = 0; k < 2; k++)
            PyBuffer_Release(&views[k]);
    }
    PyBuffer_Release(&positions);
    return result;
}

static PyObject *set_parameters(PyObject *self, PyObject *args)
{
    PyObject *row, *values, *result = NULL;
    Py_buffer rows, numbers;
    if (!PyArg_ParseTuple(args, "OO", &row, &values) || mpm_python_get_buffer(row, &rows, "row", "i", 1, 0))
        return NULL;
    if (!mpm_python_get_buffer(values, &numbers, "values", "d", 2, 0)) {
        mpm_fem *fem = enter(self);
        if (fem && (rows.shape[0] != mpm_fem_elements(fem) || numbers.shape[0] != rows.shape[0] ||
                    numbers.shape[1] != mpm_fem_parameters_get(fem)->fields.count - 1))
            PyErr_SetString(PyExc_ValueError, "row, values: wrong shape");
        else if (fem)
            result = mpm_python_core_finish(self, mpm_fem_parameters_set(fem, rows.buf, numbers.buf));
        PyBuffer_Release(&numbers);
    }
    PyBuffer_Release(&rows);
    return result;
}

static PyObject *set_dashpots(PyObject *self, PyObject *argument)
{
    Py_buffer view;
    if (mpm_python_get_buffer(argument, &view, "dashpots", "d", 2, 0))
        return NULL;
    mpm_fem *fem = enter(self);
    PyObject *result = NULL;
    if (fem && (view.shape[0] != mpm_fem_get_store(fem)->count || view.shape[1] != mpm_fem_get_settings(fem)->dim))
        PyErr_SetString(PyExc_ValueError, "dashpots: wrong shape");
    else if (fem)
        result = mpm_python_core_finish(self, mpm_fem_set_dashpots(fem, view.buf));
    PyBuffer_Release(&view);
    return result;
}

static PyObject *element_field(PyObject *self, PyObject *name)
{
    return mpm_python_core_field(self, mpm_fem_parameters_get(((mpm_python_core *)self)->run->self), name);
}

static PyObject *element_fields(PyObject *self, PyObject *unused)
{
    (void)unused;
    return mpm_python_fields(&mpm_fem_parameters_get(((mpm_python_core *)self)->run->self)->fields, NULL);
}

static PyObject *forces(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_fem *fem = enter(self);
    if (!fem)
        return NULL;
    const Py_ssize_t numbers_of = (Py_ssize_t)mpm_fem_get_store(fem)->count * mpm_fem_get_settings(fem)->dim;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, numbers_of * (Py_ssize_t)sizeof(double));
    if (!bytes)
        return NULL;
    const mpm_status status = mpm_fem_forces(fem, (double *)PyBytes_AsString(bytes));
    if (!status)
        return bytes;
    Py_DECREF(bytes);
    return mpm_python_raise(self, status);
}

static PyObject *memory(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_fem *fem = enter(self);
    if (!fem)
        return NULL;
    size_t rows, views, mesh, colliders;
    mpm_fem_memory(fem, &rows, &views, &mesh, &colliders);
    return Py_BuildValue("{s:n,s:n,s:n,s:n}", "nodes", (Py_ssize_t)rows, "views", (Py_ssize_t)views, "elements",
                         (Py_ssize_t)mesh, "colliders", (Py_ssize_t)colliders);
}

static PyMethodDef methods[] = {
    {"add_nodes", add_nodes, METH_VARARGS, "add_nodes(x, v, mass, volume, material)"},
    {"set_mesh", set_mesh, METH_VARARGS,
     "set_mesh(rest, nodes, material): positions at rest of all nodes, and elements"},
    {"set_parameters", set_parameters, METH_VARARGS,
     "set_parameters(row, values): the row of each element of the mesh, and by row the parameters that vary"},
    {"set_dashpots", set_dashpots, METH_O, "set_dashpots(coefficients (n, d) [kg/s]): of absorbing walls"},
    {"element_field", element_field, METH_O, "As `field`, of the elements: \"material\", or a parameter that varies."},
    {"element_fields", element_fields, METH_NOARGS, "As `fields`, of the elements."},
    {"forces", forces, METH_NOARGS, "Forces of the elements on the nodes (n, d), float64 as bytes."},
    MPM_PYTHON_SNAPSHOTS,
    {"memory", memory, METH_NOARGS, "Bytes held."},
    {NULL, NULL, 0, NULL},
};

MPM_PYTHON_METHOD(fem, "FEM", "Finite elements in the C core. Private: use mpm.fem.Simulation.");
