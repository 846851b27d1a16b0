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
    PyObject *parameters, *F, *out[5] = {0}, *result = NULL;
    Py_buffer view;
    int dim;
    mpm_evaluation evaluation;
    if (!PyArg_ParseTuple(args, "sOOiss", &name, &parameters, &F, &dim, &isa, &dtype) ||
        mpm_python_get_material(name, parameters, &evaluation.material))
        return NULL;
    const size_t size = !strcmp(dtype, "float32") ? 4 : 8;
    const mpm_kernels *kernels = mpm_dispatch_kernels(isa, dim, size);
    if (!kernels) {
        PyErr_Format(PyExc_ValueError, "isa: no kernels '%s' for %d dimensions here", isa, dim);
        return NULL;
    }
    if (mpm_python_get_buffer(F, &view, "F", size == 4 ? "f" : "d", 3, 0))
        return NULL;
    if (view.shape[1] != dim || view.shape[2] != dim) {
        PyErr_Format(PyExc_ValueError, "F: expected shape (m, %d, %d)", dim, dim);
        goto done;
    }
    const Py_ssize_t m = view.shape[0];
    for (int i = 0; i < 5; i++)
        if (!(out[i] = PyBytes_FromStringAndSize(NULL, m * (Py_ssize_t)size * (i == 0 ? dim * dim : 1))))
            goto done;
    evaluation.count = m;
    evaluation.F = view.buf;
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
    PyBuffer_Release(&view);
    return result;
}

PyMethodDef mpm_python_law_methods[] = {
    {"laws", laws, METH_NOARGS, "The registry of constitutive laws."},
    {"evaluate", evaluate, METH_VARARGS, "evaluate(law, parameters, F, dim, isa, dtype)"},
    {NULL, NULL, 0, NULL},
};
