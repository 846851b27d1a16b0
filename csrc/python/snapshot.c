/* SPDX-License-Identifier: MIT
 *
 * Converts snapshots between the core and Python. In Python a snapshot is a dict from names to arrays: bytes on output,
 * C-contiguous buffers with the same number of bytes on input.
 */
#include <stddef.h>
#include <string.h>

#include "python/core.h"

enum { GROUP, ROW, ID, HISTORY, BOOKS, NUMBERS, COUNTERS, FIELDS, ARRAYS = FIELDS + MPM_MOST_FIELDS };

/* The arrays that are no fields, and which pointer of a snapshot is theirs. */
static const struct {
    const char *name;
    size_t pointer;
} arrays_beside_fields[FIELDS] = {
    [GROUP] = {"groups", offsetof(mpm_snapshot, group)},
    [ROW] = {"row", offsetof(mpm_snapshot, row)},
    [ID] = {"id", offsetof(mpm_snapshot, id)},
    [HISTORY] = {"history", offsetof(mpm_snapshot, history)},
    [BOOKS] = {"books", offsetof(mpm_snapshot, books)},
    [NUMBERS] = {"numbers", offsetof(mpm_snapshot, numbers)},
    [COUNTERS] = {"counters", offsetof(mpm_snapshot, counters)},
};

static const char *name_of(mpm_simulation *core, int array)
{
    return array < FIELDS ? arrays_beside_fields[array].name
                          : mpm_simulation_get_store(core)->fields.row[array - FIELDS].name;
}

static size_t length_of(const char *(*name)(int))
{
    int length = 0;
    while (name(length))
        length++;
    return (size_t)length;
}

/* Bytes of an array of the snapshot. */
static size_t bytes_of(mpm_simulation *core, const mpm_snapshot *snapshot, int array)
{
    const mpm_settings *settings = mpm_simulation_settings(core);
    switch (array) {
    case GROUP:
        return snapshot->groups * MPM_SNAPSHOT_GROUP * sizeof *snapshot->group;
    case ROW:
        return snapshot->particles * sizeof *snapshot->row;
    case ID:
        return snapshot->particles * sizeof *snapshot->id;
    case HISTORY:
        return snapshot->records * (size_t)mpm_history_length(&mpm_simulation_get_run(core)->history) * sizeof(double);
    case BOOKS:
        return mpm_simulation_get_boundary(core)->count * MPM_SNAPSHOT_BOOK * sizeof(double);
    case NUMBERS:
        return length_of(mpm_snapshot_number) * sizeof(double);
    case COUNTERS:
        return length_of(mpm_snapshot_counter) * sizeof(int64_t);
    default:
        return snapshot->particles * mpm_snapshot_components(core, array - FIELDS) *
               settings->real_size;
    }
}

static bool is_there(mpm_simulation *core, int array)
{
    const int field = array - FIELDS;
    return field < 0 || (field < mpm_simulation_get_store(core)->fields.count && mpm_snapshot_components(core, field));
}

static void set_array(mpm_snapshot *snapshot, int array, void *memory)
{
    if (array < FIELDS)
        memcpy((char *)snapshot + arrays_beside_fields[array].pointer, &memory, sizeof memory);
    else
        snapshot->field[array - FIELDS] = memory;
}

PyObject *mpm_python_snapshot(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_totals totals;
    mpm_snapshot snapshot = {0};
    PyObject *arrays = PyDict_New();
    const mpm_python_core *entered = arrays ? mpm_python_core_enter(self) : NULL;
    if (!entered) {
        Py_XDECREF(arrays);
        return NULL;
    }
    mpm_simulation *core = entered->run->self;
    const mpm_status status = mpm_run_totals(entered->run, &totals); /* reads in views */
    if (status) {
        Py_DECREF(arrays);
        return mpm_python_raise(self, status);
    }
    mpm_snapshot_measure(core, &snapshot);
    for (int k = 0; arrays && k < ARRAYS; k++) {
        if (!is_there(core, k))
            continue;
        PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes_of(core, &snapshot, k));
        if (bytes)
            set_array(&snapshot, k, PyBytes_AsString(bytes));
        if (!bytes || PyDict_SetItemString(arrays, name_of(core, k), bytes))
            Py_CLEAR(arrays);
        Py_XDECREF(bytes);
    }
    if (arrays)
        mpm_snapshot_take(core, &snapshot);
    return arrays;
}

/* The number of groups, particles or records, from the size of an array that has as many entries. */
static size_t count_by(mpm_simulation *core, const Py_buffer *view, int array)
{
    const mpm_snapshot one = {.groups = 1, .particles = 1, .records = 1};
    return (size_t)view->len / bytes_of(core, &one, array);
}

/* Do all arrays have the bytes that they must have? */
static bool fit(mpm_simulation *core, const Py_buffer *views, const mpm_snapshot *snapshot)
{
    bool fits = true;
    for (int k = 0; fits && k < ARRAYS; k++)
        fits = !is_there(core, k) ||
               mpm_python_has_bytes(name_of(core, k), &views[k], bytes_of(core, snapshot, k));
    return fits;
}

static PyObject *restore(mpm_simulation *core, const Py_buffer *views)
{
    const char *flaw = NULL;
    mpm_snapshot snapshot = {.groups = count_by(core, &views[GROUP], GROUP),
                             .particles = count_by(core, &views[ID], ID),
                             .records = count_by(core, &views[HISTORY], HISTORY)};
    if (!fit(core, views, &snapshot))
        return NULL;
    for (int k = 0; k < ARRAYS; k++)
        set_array(&snapshot, k, views[k].buf);
    switch (mpm_snapshot_restore(core, &snapshot, &flaw)) {
    case MPM_OK:
        Py_RETURN_NONE;
    case MPM_BAD_STATE:
        PyErr_SetString(PyExc_ValueError, flaw);
        return NULL;
    case MPM_TOO_LARGE:
        PyErr_SetString(PyExc_ValueError, "too many particles or blocks for one simulation");
        return NULL;
    default:
        return PyErr_NoMemory();
    }
}

PyObject *mpm_python_restore(PyObject *self, PyObject *arrays)
{
    Py_buffer views[ARRAYS] = {0}; /* releasing one that was not taken is harmless */
    PyObject *result = NULL;
    bool held = true;
    mpm_simulation *core = ((mpm_python_core *)self)->run->self; /* no run changes which fields there are */
    for (int k = 0; held && k < ARRAYS; k++)
        held = !is_there(core, k) || mpm_python_take_array(arrays, name_of(core, k), &views[k]);
    if (held && mpm_python_core_enter(self))
        result = restore(core, views);
    for (int k = 0; k < ARRAYS; k++)
        PyBuffer_Release(&views[k]);
    return result;
}

static PyObject *list_of(const char *(*name)(int))
{
    PyObject *list = PyList_New(0);
    for (int k = 0; list && name(k); k++)
        mpm_python_append(&list, PyUnicode_FromString(name(k)));
    return list;
}

PyObject *mpm_python_snapshot_names(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *numbers = list_of(mpm_snapshot_number), *counters = list_of(mpm_snapshot_counter);
    if (numbers && counters)
        return Py_BuildValue("NN", numbers, counters);
    Py_XDECREF(numbers);
    Py_XDECREF(counters);
    return NULL;
}
