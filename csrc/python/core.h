/* SPDX-License-Identifier: MIT
 *
 * The base of the types of all methods: an object around a run and its store. A method's type adds a constructor and
 * what it has beyond the others.
 */
#pragma once
#include "python/module.h"

typedef struct mpm_python_core {
    PyObject_HEAD
    mpm_run *run;    /* of the method; NULL until it is made */
    mpm_store *store;
    int busy;
    int held;
    unsigned long holder; /* the thread that holds the run */
    /** A list: the residuals of a solve that did not converge. NULL: the method does not solve. */
    PyObject *(*residuals)(const void *self);
    PyObject *team;  /* what moves bytes to the other processes in a run; NULL: the process is alone (python/team.c) */
    int team_broken; /* it has raised an exception */
} mpm_python_core;

/** A new object of a method's type, still without the method's struct. */
mpm_python_core *mpm_python_core_new(PyTypeObject *type);

/** Slots of a method's type. */
int mpm_python_core_traverse(PyObject *self, visitproc visit, void *arg);
void mpm_python_core_dealloc(PyObject *self);

/** The type of a method, from its constructor and its table `methods`. */
#define MPM_PYTHON_METHOD(method, title, text) \
    static PyType_Slot slots[] = { \
        {Py_tp_doc, text}, \
        {Py_tp_new, method##_new}, \
        {Py_tp_traverse, mpm_python_core_traverse}, \
        {Py_tp_dealloc, mpm_python_core_dealloc}, \
        {Py_tp_methods, methods}, \
        {0, NULL}, \
    }; \
    PyType_Spec mpm_python_##method##_spec = { \
        .name = "mpm._core." title, \
        .basicsize = sizeof(mpm_python_core), \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, \
        .slots = slots, \
    }

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

/** The methods of every type that give and take the state, as entries of its table. */
PyObject *mpm_python_snapshot(PyObject *self, PyObject *args);
PyObject *mpm_python_snapshot_rows(PyObject *self, PyObject *args);
PyObject *mpm_python_restore(PyObject *self, PyObject *arrays);
#define MPM_PYTHON_SNAPSHOTS \
    {"snapshot", mpm_python_snapshot, METH_VARARGS, "snapshot(fields=True): the complete state as a dict of bytes"}, \
    {"snapshot_rows", mpm_python_snapshot_rows, METH_VARARGS, "snapshot_rows(name, first, count) -> bytes"}, \
    {"restore", mpm_python_restore, METH_O, "restore(arrays): what `snapshot` gave, in a new object"}

/** The methods that let later runs sweep the tasks of one process, as entries of a table. */
PyObject *mpm_python_team_join(PyObject *self, PyObject *args);
PyObject *mpm_python_team_leave(PyObject *self, PyObject *unused);
PyObject *mpm_python_team_failing(PyObject *self, PyObject *unused);
PyObject *mpm_python_team_holder(PyObject *self, PyObject *args);
PyObject *mpm_python_team_migrations(PyObject *self, PyObject *unused);
PyObject *mpm_python_team_of_threads(PyObject *self, PyObject *args);
PyObject *mpm_python_team_join_threads(PyObject *self, PyObject *args);
#define MPM_PYTHON_TEAMS \
    {"join_team", mpm_python_team_join, METH_VARARGS, \
     "join_team(team, processes, process, distributed=False): later runs sweep the tasks of one process, and call " \
     "exchange([(process, out, in), ...]), reduce(sums, most) and answer() of the team. distributed: the process has " \
     "their particles alone, so other calls do so, too"}, \
    {"leave_team", mpm_python_team_leave, METH_NOARGS, "Later runs sweep all tasks."}, \
    {"failing_process", mpm_python_team_failing, METH_NOARGS, \
     "failing_process() -> int: of the team, whose failure has ended a run; -1: none"}, \
    {"holder", mpm_python_team_holder, METH_VARARGS, \
     "holder(row) -> int: the process of the team that moves a particle, after a run; -1: none"}, \
    {"migrations", mpm_python_team_migrations, METH_NOARGS, \
     "migrations() -> (int, int, int): particles that binnings have moved to other processes, those of them that had " \
     "crossed a cut, and what own tasks have spent up to the last binning [ns]"}, \
    {"_new_team", mpm_python_team_of_threads, METH_VARARGS, "_new_team(processes): for tests: one of threads"}, \
    {"_join_team", mpm_python_team_join_threads, METH_VARARGS, "_join_team(team, process): for tests: of threads"}
