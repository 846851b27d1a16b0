/* SPDX-License-Identifier: MIT
 *
 * The extension module `mpm._core`: multi-phase initialisation, heap types, limited API of CPython 3.11.
 */
#include "python/module.h"

#include <string.h>

int mpm_python_get_buffer(PyObject *object, Py_buffer *view, const char *name, const char *format, int ndim,
                          int writable)
{
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)))
        return -1;
    /* NumPy spells int64 as "l" where a long has 64 bits. */
    int same = view->format && (!strcmp(view->format, format) ||
                                (!strcmp(format, "q") && !strcmp(view->format, "l") && view->itemsize == 8));
    if (same && view->ndim == ndim)
        return 0;
    PyErr_Format(PyExc_TypeError, "%s: expected a C-contiguous %d-d buffer of format '%s'", name, ndim, format);
    PyBuffer_Release(view);
    return -1;
}

static int module_exec(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    state->allocator = mpm_memory_default();
    return PyModule_AddFunctions(module, mpm_sampling_methods);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "mpm._core",
    .m_doc = "The C core of mpm.",
    .m_size = sizeof(module_state),
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
