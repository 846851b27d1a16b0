/* SPDX-License-Identifier: MIT
 *
 * Shared by the other files of the extension: its state, and the conversion of arguments and results.
 */
#include "python/module.h"

#include <string.h>

module_state *mpm_python_state(PyTypeObject *type)
{
    return PyType_GetModuleState(type);
}

int mpm_python_get_buffer(PyObject *object, Py_buffer *view, const char *name, const char *format, int ndim,
                          int writable)
{
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)))
        return -1;
    /* NumPy spells int64 as "l" where a long has 64 bits. */
    int same = view->format && (!strcmp(view->format, format) ||
                                (!strcmp(format, "q") && !strcmp(view->format, "l") && view->itemsize == 8));
    if (same && (view->ndim == ndim || ndim == 0))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s: expected a C-contiguous %d-d buffer of format '%s'", name, ndim, format);
    PyBuffer_Release(view);
    return -1;
}

int mpm_python_get_doubles(PyObject *sequence, const char *name, double *out, Py_ssize_t count)
{
    if (!PySequence_Check(sequence) || PySequence_Size(sequence) != count) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s: expected a sequence of %zd numbers", name, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        if (!item)
            return -1;
        out[i] = PyFloat_AsDouble(item);
        Py_DECREF(item);
        if (out[i] == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

int mpm_python_check_threads(long threads)
{
    if (threads >= 1 && threads <= MPM_MOST_THREADS)
        return 0;
    PyErr_Format(PyExc_ValueError, "threads: expected 1 to %d, got %ld", MPM_MOST_THREADS, threads);
    return -1;
}

int mpm_python_find_name(const char *name, const char *const *names, int count)
{
    for (int k = 0; k < count; k++)
        if (!strcmp(names[k], name))
            return k;
    return -1;
}

PyObject *mpm_python_float_list(const double *values, Py_ssize_t count)
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < count; i++)
        mpm_python_append(&list, PyFloat_FromDouble(values[i]));
    return list;
}

void mpm_python_append(PyObject **list, PyObject *item)
{
    if (!item || PyList_Append(*list, item))
        Py_CLEAR(*list);
    Py_XDECREF(item);
}
