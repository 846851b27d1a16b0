/* SPDX-License-Identifier: MIT
 *
 * Declarations that the files of the extension share. Only csrc/python includes Python.h.
 */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "mpm.h"

/** State of the module: no C global is mutable, so every interpreter has its own. */
typedef struct module_state {
    mpm_allocator allocator;
    PyTypeObject *core_type, *simulation_type, *sph_type, *fem_type, *field_type, *colliders_type;
    PyObject *simulation_error, *instability_error, *convergence_error, *escape_error, *busy_error, *device_error;
} module_state;

/** State of the module that defined `type`. */
module_state *mpm_python_state(PyTypeObject *type);

/** The types, made for one module. */
extern PyType_Spec mpm_python_core_spec; /* the base of the types of methods */
extern PyType_Spec mpm_python_simulation_spec;
extern PyType_Spec mpm_python_sph_spec;
extern PyType_Spec mpm_python_fem_spec;
extern PyType_Spec mpm_python_field_spec;
extern PyType_Spec mpm_python_colliders_spec;

/** The method tables of the files; `module.c` joins them. Each ends with a NULL name. */
extern PyMethodDef mpm_python_law_methods[];
extern PyMethodDef mpm_python_settings_methods[];
extern PyMethodDef mpm_python_user_law_methods[];
extern PyMethodDef mpm_sampling_methods[];
extern PyMethodDef mpm_drawing_methods[];
extern PyMethodDef mpm_python_collider_methods[];
extern PyMethodDef mpm_python_ode_methods[];
extern PyMethodDef mpm_python_cuda_methods[];
extern PyMethodDef mpm_python_device_array_methods[];

/** The number of a law of the registry; -1, without an exception, if it has none of that name. */
int mpm_python_find_law(const char *name);

/** A field object that shares `view` (a reference is taken). */
PyObject *mpm_python_field_new(module_state *state, mpm_view *view, mpm_rank rank, int dim);

/** The name of a rank, and the rank of that name; -1, which is none, for another one. */
const char *mpm_python_rank_name(mpm_rank rank);
mpm_rank mpm_python_rank_of(const char *name);

/** The table of fields as a list of dicts; "kept" are those that snapshots of `store`, which may be NULL, have. */
PyObject *mpm_python_fields(const mpm_fields *fields, const mpm_store *store);

/** Appends an item to a list and takes its reference. If either is NULL or this fails, frees the list and sets it
 *  NULL. */
void mpm_python_append(PyObject **list, PyObject *item);

/** Reads a C-contiguous buffer of `format` ("f", "d", "i", "q", "B") with `ndim` axes (0: any number). For any other
 *  object, raises TypeError with `name` and returns -1. Release with PyBuffer_Release. */
int mpm_python_get_buffer(PyObject *object, Py_buffer *view, const char *name, const char *format, int ndim,
                          int writable);

/** Reads exactly `count` doubles from a sequence; -1 with an exception naming `name` otherwise. */
int mpm_python_get_doubles(PyObject *sequence, const char *name, double *out, Py_ssize_t count);

/** Returns -1 with a ValueError unless the number of threads is allowed. */
int mpm_python_check_threads(long threads);

/** Index of `name` among `names`, -1 if it is not there. */
int mpm_python_find_name(const char *name, const char *const *names, int count);

/** Settings from the keywords of a constructor, which are the names of the rows of `options`, common ones included. The
 *  settings are zero before. Texts belong to the keywords. -1 with an exception otherwise. */
int mpm_python_get_settings(PyObject *args, PyObject *kwargs, const mpm_options *options, mpm_common *settings);

/** -1 with a ValueError if `flaw` names a setting. */
int mpm_python_refuse_flaw(const char *flaw);

/** The law that `user_law` has made; NULL with an exception if the object is another one. */
const mpm_user_law *mpm_python_get_user_law(PyObject *capsule);

/** A list of `count` floats. */
PyObject *mpm_python_float_list(const double *values, Py_ssize_t count);

/** A material from the name of its law, or a user's law (which must outlive it), and its parameters but the density; -1
 *  with an exception otherwise. */
int mpm_python_get_material(PyObject *law, PyObject *parameters, PyObject *varying, mpm_material *material);

/** Reads the description of a shape; its numbers are borrowed from `view`, its nodes belong to the caller. -1: an
 *  exception. */
int mpm_python_take_shape(PyObject *nodes, PyObject *numbers, int dim, const mpm_allocator *allocator,
                          mpm_shape *shape, Py_buffer *view);

/** Reads a collider from add_collider's arguments and passes it to `use`; it lives until `use` returns. */
typedef PyObject *(*mpm_python_collider_user)(PyObject *self, const mpm_collider *collider);
PyObject *mpm_python_with_collider(PyObject *args, int dim, module_state *state, mpm_python_collider_user use,
                                   PyObject *self);

/** Distance and normal of a collider where it is at `time` [s], (phi (m,), normal (m, d)) as bytes, at each of the
 *  points, float64 (m, d). ValueError if there is no collider of that index. */
PyObject *mpm_python_collider_distances(const mpm_boundary *boundary, Py_ssize_t index, const Py_buffer *points,
                                        double time);

/** (names of the snapshot's numbers, of its counters). */
PyObject *mpm_python_snapshot_names(PyObject *module, PyObject *unused);

/** Raises the exception for `status` and returns NULL; `self`, a `Core`, provides the details of its error. */
PyObject *mpm_python_raise(PyObject *self, mpm_status status);

/** Raises an exception of `type` in the trajectory of a system of ordinary differential equations, and returns NULL.
 *  messages.py has the words of `reason`; `said`: by the system's own functions. Takes `residuals`, a list; NULL: there
 *  are none. */
PyObject *mpm_python_raise_in_system(PyObject *type, long long steps, double time, const char *reason,
                                     const char *method, double dt, PyObject *said, PyObject *residuals);

/** The residuals of a solve as a list. */
PyObject *mpm_python_residuals(const mpm_newton *newton);
