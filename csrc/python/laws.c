/* SPDX-License-Identifier: MIT
 *
 * The registry of laws as Python sees it, and the laws as functions.
 */
#include <math.h>
#include <string.h>

#include "python/module.h"

static PyObject *describe_parameter(const mpm_parameter *p)
{
    PyObject *fallback = isnan(p->fallback) ? Py_NewRef(Py_None) : PyFloat_FromDouble(p->fallback);
    if (!fallback)
        return NULL;
    return Py_BuildValue("{s:s,s:s,s:d,s:O,s:d,s:O,s:N,s:s}", "name", p->name, "unit", p->unit, "low", p->low,
                         "low_open", p->low_open ? Py_True : Py_False, "high", p->high, "high_open",
                         p->high_open ? Py_True : Py_False, "default", fallback, "meaning", p->meaning);
}

static PyObject *describe_law(const mpm_law *law)
{
    PyObject *parameters = PyList_New(law->parameters);
    for (int i = 0; parameters && i < law->parameters; i++) {
        PyObject *parameter = describe_parameter(&law->parameter[i]);
        if (!parameter || PyList_SetItem(parameters, i, parameter)) {
            Py_DECREF(parameters);
            return NULL;
        }
    }
    if (!parameters)
        return NULL;
    return Py_BuildValue("{s:s,s:N,s:s}", "name", law->name, "parameters", parameters, "reference", law->reference);
}

/* Which kernels, and how large their reals are. */
static const mpm_kernels *get_kernels(const char *isa, int dim, const char *dtype)
{
    const mpm_kernels *kernels = mpm_dispatch_kernels(isa, dim, !strcmp(dtype, "float32") ? 4 : 8);
    if (!kernels)
        PyErr_Format(PyExc_ValueError, "isa: no kernels '%s' for %d dimensions here", isa, dim);
    return kernels;
}

/* F (m, d, d) and, unless `plastic` is None, that many plastic states; -1 with an exception otherwise. */
static int get_states(PyObject *F, PyObject *plastic, const mpm_kernels *kernels, Py_buffer views[2])
{
    const char *format = kernels->real_size == sizeof(float) ? "f" : "d";
    if (mpm_python_get_buffer(F, &views[0], "F", format, 3, 0))
        return -1;
    views[1] = (Py_buffer){0};
    if (views[0].shape[1] != kernels->dim || views[0].shape[2] != kernels->dim)
        PyErr_Format(PyExc_ValueError, "F: expected shape (m, %d, %d)", kernels->dim, kernels->dim);
    else if (plastic == Py_None)
        return 0;
    else if (!mpm_python_get_buffer(plastic, &views[1], "plastic", format, 1, 0)) {
        if (views[1].shape[0] == views[0].shape[0])
            return 0;
        PyErr_Format(PyExc_ValueError, "plastic: expected %zd numbers", views[0].shape[0]);
        PyBuffer_Release(&views[1]);
    }
    PyBuffer_Release(&views[0]);
    return -1;
}

static void release_states(Py_buffer views[2])
{
    PyBuffer_Release(&views[0]);
    PyBuffer_Release(&views[1]); /* one that was not filled is left alone */
}

static PyObject *laws(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(MPM_LAW_COUNT);
    for (int i = 0; list && i < MPM_LAW_COUNT; i++) {
        PyObject *law = describe_law(mpm_laws_get(i));
        if (!law || PyList_SetItem(list, i, law)) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

int mpm_python_get_material(const char *name, PyObject *parameters, mpm_material *material)
{
    *material = (mpm_material){.law = -1};
    for (int i = 0; i < MPM_LAW_COUNT; i++)
        if (!strcmp(mpm_laws_get(i)->name, name))
            material->law = i;
    if (material->law < 0) {
        PyErr_Format(PyExc_ValueError, "law: unknown name '%s'", name);
        return -1;
    }
    /* all but the density, which comes last */
    return mpm_python_get_doubles(parameters, "parameters", material->values,
                                  mpm_laws_get(material->law)->parameters - 1);
}

static PyObject *evaluate(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name, *isa, *dtype;
    PyObject *parameters, *F, *plastic = Py_None, *out[5] = {0}, *result = NULL;
    Py_buffer views[2];
    int dim;
    mpm_evaluation evaluation;
    if (!PyArg_ParseTuple(args, "sOOiss|O", &name, &parameters, &F, &dim, &isa, &dtype, &plastic) ||
        mpm_python_get_material(name, parameters, &evaluation.material))
        return NULL;
    const mpm_kernels *kernels = get_kernels(isa, dim, dtype);
    if (!kernels || get_states(F, plastic, kernels, views))
        return NULL;
    const Py_ssize_t m = views[0].shape[0], size = (Py_ssize_t)kernels->real_size;
    for (int i = 0; i < 5; i++)
        if (!(out[i] = PyBytes_FromStringAndSize(NULL, m * size * (i == 0 ? dim * dim : 1))))
            goto done;
    evaluation.count = m;
    evaluation.F = views[0].buf;
    evaluation.plastic = views[1].buf;
    evaluation.tau = PyBytes_AsString(out[0]);
    evaluation.energy = PyBytes_AsString(out[1]);
    evaluation.tau_zz = PyBytes_AsString(out[2]);
    evaluation.isolated = PyBytes_AsString(out[3]);
    evaluation.wave = PyBytes_AsString(out[4]);
    kernels->evaluate(&evaluation);
    result = PyTuple_Pack(5, out[0], out[1], out[2], out[3], out[4]);
done:
    for (int i = 0; i < 5; i++)
        Py_XDECREF(out[i]);
    release_states(views);
    return result;
}

static PyObject *return_map(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name, *isa, *dtype;
    PyObject *parameters, *F, *plastic, *result = NULL;
    Py_buffer views[2];
    int dim;
    mpm_return_map states;
    if (!PyArg_ParseTuple(args, "sOOOiss", &name, &parameters, &F, &plastic, &dim, &isa, &dtype) ||
        mpm_python_get_material(name, parameters, &states.material))
        return NULL;
    if (!mpm_laws_plastic(states.material.law)) {
        PyErr_Format(PyExc_ValueError, "law: '%s' has no return map", name);
        return NULL;
    }
    if (plastic == Py_None) {
        PyErr_SetString(PyExc_TypeError, "plastic: expected a buffer");
        return NULL;
    }
    const mpm_kernels *kernels = get_kernels(isa, dim, dtype);
    if (!kernels || get_states(F, plastic, kernels, views))
        return NULL;
    PyObject *new_F = PyBytes_FromStringAndSize(views[0].buf, views[0].len);
    PyObject *new_plastic = PyBytes_FromStringAndSize(views[1].buf, views[1].len);
    if (new_F && new_plastic) {
        states.count = views[0].shape[0];
        states.F = PyBytes_AsString(new_F);
        states.plastic = PyBytes_AsString(new_plastic);
        kernels->return_map(&states);
        result = PyTuple_Pack(2, new_F, new_plastic);
    }
    Py_XDECREF(new_F);
    Py_XDECREF(new_plastic);
    release_states(views);
    return result;
}

PyMethodDef mpm_python_law_methods[] = {
    {"laws", laws, METH_NOARGS, "The registry of constitutive laws."},
    {"evaluate", evaluate, METH_VARARGS, "evaluate(law, parameters, F, dim, isa, dtype, plastic=None)"},
    {"return_map", return_map, METH_VARARGS, "return_map(law, parameters, F, plastic, dim, isa, dtype)"},
    {NULL, NULL, 0, NULL},
};
