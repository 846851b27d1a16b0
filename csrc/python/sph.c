/* SPDX-License-Identifier: MIT
 *
 * `mpm._core.SPH`: what smoothed particle hydrodynamics has beyond `mpm._core.Core`.
 */
#include <stdio.h>
#include <string.h>

#include "python/core.h"

/* ---- the object ------------------------------------------------------------------------------------------------- */

static mpm_sph *enter(PyObject *self)
{
    const mpm_python_core *core = mpm_python_core_enter(self);
    return core ? core->run->self : NULL;
}

static PyObject *sph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    mpm_sph_settings settings = {0};
    if (mpm_python_get_settings(args, kwargs, &mpm_sph_options, &settings.common) ||
        mpm_python_refuse_flaw(mpm_sph_settings_flaw(&settings)))
        return NULL;
    mpm_python_core *core = mpm_python_core_new(type);
    mpm_sph *sph;
    if (core && mpm_sph_new(&sph, &mpm_python_state(type)->allocator, &settings)) {
        Py_DECREF(core);
        return PyErr_NoMemory();
    }
    if (core) {
        core->run = mpm_sph_get_run(sph);
        core->store = mpm_sph_get_store(sph);
    }
    return (PyObject *)core;
}

/* ---- particles and quantities ----------------------------------------------------------------------------------- */

static PyObject *add_particles(PyObject *self, PyObject *args)
{
    PyObject *x, *v, *result = NULL;
    Py_buffer places, velocities;
    if (!PyArg_ParseTuple(args, "OO", &x, &v) || mpm_python_get_buffer(x, &places, "x", "d", 2, 0))
        return NULL;
    if (mpm_python_get_buffer(v, &velocities, "v", "d", 2, 0)) {
        PyBuffer_Release(&places);
        return NULL;
    }
    mpm_sph *sph = enter(self);
    if (sph && (places.shape[1] != mpm_sph_get_settings(sph)->dim || velocities.shape[1] != places.shape[1] ||
                velocities.shape[0] != places.shape[0]))
        PyErr_SetString(PyExc_ValueError, "x, v: wrong shape");
    else if (sph)
        result = mpm_python_core_finish(self, mpm_sph_add(sph, places.shape[0], places.buf, velocities.buf));
    PyBuffer_Release(&velocities);
    PyBuffer_Release(&places);
    return result;
}

static PyObject *fill_collider(PyObject *self, PyObject *args)
{
    Py_ssize_t index;
    PyObject *lower, *upper;
    double low[3] = {0}, high[3] = {0};
    const int dim = ((mpm_python_core *)self)->store->fields.dim;
    if (!PyArg_ParseTuple(args, "nOO", &index, &lower, &upper) || mpm_python_get_doubles(lower, "low", low, dim) ||
        mpm_python_get_doubles(upper, "high", high, dim))
        return NULL;
    mpm_sph *sph = enter(self);
    if (!sph)
        return NULL;
    ((mpm_python_core *)self)->busy = 1;
    PyThreadState *saved = PyEval_SaveThread();
    const mpm_status status =
        mpm_sph_fill_collider(sph, (size_t)index, low, high, mpm_python_core_poll_signals, &saved);
    PyEval_RestoreThread(saved);
    ((mpm_python_core *)self)->busy = 0;
    return status ? mpm_python_raise(self, status)
                  : PyLong_FromSsize_t(mpm_sph_collider_particles(sph, (size_t)index));
}

static PyObject *drop_collider(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_sph *sph = enter(self);
    if (sph && !mpm_sph_get_run(sph)->boundary->count)
        PyErr_SetString(PyExc_ValueError, "there is no collider");
    else if (sph) {
        mpm_sph_drop_collider(sph);
        Py_RETURN_NONE;
    }
    return NULL;
}

static PyObject *interpolate(PyObject *self, PyObject *args)
{
    PyObject *points, *quantity, *bytes = NULL;
    Py_buffer x, values;
    const char *name;
    int is_velocity;
    if (!PyArg_ParseTuple(args, "OOsp", &points, &quantity, &name, &is_velocity) ||
        mpm_python_get_buffer(points, &x, "x", "d", 2, 0))
        return NULL;
    if (mpm_python_get_buffer(quantity, &values, "quantity", "d", 2, 0)) {
        PyBuffer_Release(&x);
        return NULL;
    }
    mpm_sph *sph = enter(self);
    const mpm_rank rank = mpm_python_rank_of(name);
    mpm_totals t;
    mpm_status status = sph ? mpm_run_totals(mpm_sph_get_run(sph), &t) : MPM_OK; /* rows may be deleted here */
    if (sph && !status &&
        ((unsigned)rank >= MPM_RANKS || x.shape[1] != mpm_sph_get_settings(sph)->dim ||
         values.shape[0] != mpm_sph_get_store(sph)->count ||
         values.shape[1] != mpm_rank_components(rank, mpm_sph_get_settings(sph)->dim)))
        PyErr_SetString(PyExc_ValueError, "x, quantity: wrong shape");
    else if (sph && !status)
        bytes = PyBytes_FromStringAndSize(NULL, x.shape[0] * values.shape[1] * (Py_ssize_t)sizeof(double));
    if (bytes)
        status = mpm_sph_interpolate(sph, x.shape[0], x.buf, rank, is_velocity, values.buf,
                                     (double *)PyBytes_AsString(bytes));
    if (status) {
        Py_CLEAR(bytes);
        mpm_python_raise(self, status);
    }
    PyBuffer_Release(&values);
    PyBuffer_Release(&x);
    return bytes;
}

static PyObject *memory(PyObject *self, PyObject *unused)
{
    (void)unused;
    const mpm_sph *sph = enter(self);
    if (!sph)
        return NULL;
    size_t particles, lists, views, colliders;
    mpm_sph_memory(sph, &particles, &lists, &views, &colliders);
    return Py_BuildValue("{s:n,s:n,s:n,s:n}", "particles", (Py_ssize_t)particles, "lists", (Py_ssize_t)lists, "views",
                         (Py_ssize_t)views, "colliders", (Py_ssize_t)colliders);
}

static PyMethodDef methods[] = {
    {"add_particles", add_particles, METH_VARARGS, "add_particles(x, v)"},
    {"drop_collider", drop_collider, METH_NOARGS, "Takes the last collider away."},
    {"fill_collider", fill_collider, METH_VARARGS,
     "fill_collider(index, low, high) -> how many particles it has, within a box of its own space [m]"},
    {"interpolate", interpolate, METH_VARARGS,
     "interpolate(x, quantity, rank, is_velocity) -> float64 (m, components) as bytes"},
    MPM_PYTHON_SNAPSHOTS,
    {"memory", memory, METH_NOARGS, "Bytes held."},
    {NULL, NULL, 0, NULL},
};

MPM_PYTHON_METHOD(sph, "SPH", "A run by SPH in the C core. Private: use mpm.sph.Simulation.");
