/* SPDX-License-Identifier: MIT
 *
 * The base of the types of all methods: an object around a run and its store. A method's type adds a constructor and
 * what it has beyond the others.
 */
#pragma once
#include "python/module.h"

/** What the base asks of a method; `self` is the method's struct. */
typedef struct mpm_python_method {
    const char *row, *size; /* in messages: what a row is, and what resolves the domain: "particle", "cell size" */
    void (*free)(void *self);
    mpm_status (*add_material)(void *self, const mpm_material *material);
    int (*materials)(const void *self); /* their number */
    mpm_status (*add_collider)(void *self, const mpm_collider *collider);
    mpm_status (*remove)(void *self, const uint8_t *mask); /* the rows that are not 0 */
    mpm_status (*run)(void *self, int64_t steps, double end, double pause, mpm_poll poll, void *context);
    mpm_status (*step_forced)(void *self, const double *body_force, double end); /* one step; b by row, [n][d] */
    mpm_status (*totals)(void *self, mpm_totals *totals);
    mpm_status (*stable_dt)(void *self, mpm_stable_dt *bound);
    /** The message for a reason of the method's own. */
    void (*describe)(const mpm_trouble *trouble, char *text, size_t size);
    /** A list: the residuals of a solve that did not converge. NULL: the method does not solve. */
    PyObject *(*residuals)(const void *self);
    /** State in other places than rows, run and colliders: span `index`, all finite numbers, any of which is safe. NULL
     *  beyond the last. Used by mpm_python_keep and mpm_python_resume. */
    double *(*numbers)(void *self, int index, size_t *count);
    size_t lengths; /* so many of these numbers, the first ones, are not negative */
} mpm_python_method;

typedef struct mpm_python_core {
    PyObject_HEAD
    const mpm_python_method *method;
    void *self;      /* the method's struct; NULL until it is made */
    mpm_store *store; /* of the method */
    const mpm_boundary *boundary;
    int busy;
    int held;
    unsigned long holder; /* the thread that holds the run */
} mpm_python_core;

/** A new object of a method's type, still without the method's struct. */
mpm_python_core *mpm_python_core_new(PyTypeObject *type, const mpm_python_method *method);

/** Slots of a method's type. */
int mpm_python_core_traverse(PyObject *self, visitproc visit, void *arg);
void mpm_python_core_dealloc(PyObject *self);

/** Begins a call: the object itself, or NULL with an exception while another thread runs it. All that may run Python
 *  code comes before it, because that code may begin a run: what reads arguments, their buffers included, and what
 *  makes containers, which may collect garbage. */
mpm_python_core *mpm_python_core_enter(PyObject *self);

/** An `mpm_poll` that handles signals; `context`: the PyThreadState ** of the caller, which has released the GIL. */
int mpm_python_core_poll_signals(void *context);

/** None, or the exception of a status. */
PyObject *mpm_python_core_finish(PyObject *self, mpm_status status);

/** The view of a store's field of that name as a buffer, or NULL with an exception: KeyError if there is none. */
PyObject *mpm_python_core_field(PyObject *self, mpm_store *store, PyObject *name);

/** Takes the buffer of that name out of a dict of arrays. False with an exception: no dict, or no such buffer. */
bool mpm_python_take_array(PyObject *arrays, const char *name, Py_buffer *view);

/** Has an array the bytes that it must have? False with a ValueError. A view that is not held has none. */
bool mpm_python_has_bytes(const char *name, const Py_buffer *view, size_t bytes);

/** Methods `keep` and `resume` for types whose fields are all kept by row: (self, unused), (self, dict). */
PyObject *mpm_python_keep(PyObject *self, PyObject *unused);
PyObject *mpm_python_resume(PyObject *self, PyObject *arrays);

/** Methods `snapshot` and `restore` of a simulation of the Material Point Method, likewise. */
PyObject *mpm_python_snapshot(PyObject *self, PyObject *unused);
PyObject *mpm_python_restore(PyObject *self, PyObject *arrays);

/** The messages of a simulation of the Material Point Method. */
void mpm_python_describe_simulation(const mpm_trouble *trouble, char *text, size_t size);
