/* SPDX-License-Identifier: MIT
 *
 * What the files of the extension share. Only csrc/python includes Python.h.
 */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/memory.h"

/** State of the module: no C global is mutable, so every interpreter has its own. */
typedef struct module_state {
    mpm_allocator allocator;
} module_state;

/** The method table of each file; `module.c` joins them. Ends with a NULL name. */
extern PyMethodDef mpm_sampling_methods[];

/** Reads a C-contiguous buffer of `format` ("f", "d", "i", "q") with `ndim` axes. Raises TypeError naming
 *  `name` and returns -1 when `object` is something else. Release with PyBuffer_Release. */
int mpm_python_get_buffer(PyObject *object, Py_buffer *view, const char *name, const char *format, int ndim,
                          int writable);
