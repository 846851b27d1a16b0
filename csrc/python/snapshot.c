/* SPDX-License-Identifier: MIT
 *
 * Converts snapshots between the core and Python. In Python a snapshot is a dict from names to arrays: bytes on output,
 * C-contiguous buffers with the same number of bytes on input. Instead of a field of all particles, input may have an
 * iterator over buffers of consecutive particles, and output gives such pieces one by one.
 */
#include <stddef.h>
#include <string.h>

#include "python/core.h"

enum { GROUP, ROW, ID, HISTORY, BOOKS, LOADS, NUMBERS, COUNTERS, FIELDS, ARRAYS = FIELDS + MPM_MOST_FIELDS };

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
    [LOADS] = {"loads", offsetof(mpm_snapshot, loads)},
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
        return mpm_snapshot_books(core) * sizeof(double);
    case LOADS:
        return mpm_simulation_get_run(core)->loads.count * MPM_LOAD_BOOK * sizeof(double);
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
    if (array == LOADS)
        return mpm_simulation_get_run(core)->loads.count > 0;
    return field < 0 || (field < mpm_simulation_get_store(core)->fields.count && mpm_snapshot_components(core, field));
}

static void set_array(mpm_snapshot *snapshot, int array, void *memory)
{
    memcpy((char *)snapshot + arrays_beside_fields[array].pointer, &memory, sizeof memory);
}

/* New bytes for an array of the snapshot: one beside the fields is filled later, a field at once. */
static PyObject *new_array(mpm_simulation *core, mpm_snapshot *snapshot, int array)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes_of(core, snapshot, array));
    if (bytes && array < FIELDS)
        set_array(snapshot, array, PyBytes_AsString(bytes));
    else if (bytes)
        mpm_snapshot_take_field(core, array - FIELDS, 0, snapshot->particles, PyBytes_AsString(bytes));
    return bytes;
}

PyObject *mpm_python_snapshot(PyObject *self, PyObject *args)
{
    int with_fields = true;
    if (!PyArg_ParseTuple(args, "|p", &with_fields))
        return NULL;
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
    for (int k = 0; arrays && k < (with_fields ? ARRAYS : FIELDS); k++) {
        if (!is_there(core, k))
            continue;
        PyObject *bytes = new_array(core, &snapshot, k);
        if (!bytes || PyDict_SetItemString(arrays, name_of(core, k), bytes))
            Py_CLEAR(arrays);
        Py_XDECREF(bytes);
    }
    if (arrays)
        mpm_snapshot_take(core, &snapshot);
    return arrays;
}

/* The index of a field that snapshots have, or -1 with a KeyError. */
static int find_field(mpm_simulation *core, const char *name)
{
    const int field = mpm_fields_find(&mpm_simulation_get_store(core)->fields, name);
    if (field >= 0 && is_there(core, FIELDS + field))
        return field;
    PyErr_Format(PyExc_KeyError, "no field of snapshots is called '%s'", name);
    return -1;
}

PyObject *mpm_python_snapshot_rows(PyObject *self, PyObject *args)
{
    const char *name;
    Py_ssize_t first, count;
    if (!PyArg_ParseTuple(args, "snn", &name, &first, &count))
        return NULL;
    const mpm_python_core *entered = mpm_python_core_enter(self);
    const int field = entered ? find_field(entered->run->self, name) : -1;
    if (field < 0)
        return NULL;
    mpm_simulation *core = entered->run->self;
    mpm_snapshot snapshot = {0};
    mpm_snapshot_measure(core, &snapshot);
    const Py_ssize_t particles = (Py_ssize_t)snapshot.particles;
    if (first < 0 || count < 0 || first > particles || count > particles - first) {
        PyErr_Format(PyExc_ValueError, "first, count: must be within the %zd particles", particles);
        return NULL;
    }
    snapshot.particles = (size_t)count;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes_of(core, &snapshot, FIELDS + field));
    if (bytes)
        mpm_snapshot_take_field(core, field, (size_t)first, (size_t)count, PyBytes_AsString(bytes));
    return bytes;
}

/* ---- restoring -------------------------------------------------------------------------------------------------- */

/* The arrays of a dict while they are restored: each a buffer, or an iterator over buffers. */
struct given {
    mpm_simulation *core;
    Py_buffer views[ARRAYS];
    PyObject *pieces[ARRAYS]; /* iterators; the buffer is that of the present piece */
};

/* Takes an array of the dict; false with an exception. */
static bool take_array(struct given *given, PyObject *arrays, int array)
{
    const char *name = name_of(given->core, array);
    PyObject *found = array >= FIELDS && PyDict_Check(arrays) ? PyDict_GetItemString(arrays, name) : NULL;
    if (!found || !PyIter_Check(found))
        return mpm_python_take_array(arrays, name, &given->views[array]);
    given->pieces[array] = Py_NewRef(found);
    return true;
}

/* The number of groups, particles or records, from the size of an array that has as many entries. */
static size_t count_by(const struct given *given, int array)
{
    const mpm_snapshot one = {.groups = 1, .particles = 1, .records = 1};
    return (size_t)given->views[array].len / bytes_of(given->core, &one, array);
}

/* Do all arrays that are given as a whole have the bytes that they must have? */
static bool fit(const struct given *given, const mpm_snapshot *snapshot)
{
    bool fits = true;
    for (int k = 0; fits && k < ARRAYS; k++)
        fits = !is_there(given->core, k) || given->pieces[k] ||
               mpm_python_has_bytes(name_of(given->core, k), &given->views[k], bytes_of(given->core, snapshot, k));
    return fits;
}

/* Takes the next buffer of an iterator; false with an exception. */
static bool take_piece(PyObject *pieces, const char *name, Py_buffer *view)
{
    PyBuffer_Release(view);
    PyObject *piece = PyIter_Next(pieces);
    if (!piece && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "arrays: '%s' ends before its last particle", name);
    const bool taken = piece && !PyObject_GetBuffer(piece, view, PyBUF_C_CONTIGUOUS);
    Py_XDECREF(piece);
    return taken;
}

/* See mpm_snapshot_source. */
static const void *next_particles(void *context, int field, size_t most, size_t *count)
{
    struct given *given = context;
    const int array = FIELDS + field;
    const mpm_snapshot one = {.particles = 1};
    const size_t size = bytes_of(given->core, &one, array);
    Py_buffer *view = &given->views[array];
    if (given->pieces[array] && !take_piece(given->pieces[array], name_of(given->core, array), view))
        return NULL;
    const size_t bytes = (size_t)view->len;
    if (bytes && bytes % size == 0 && bytes / size <= most) {
        *count = bytes / size;
        return view->buf;
    }
    PyErr_Format(PyExc_ValueError, "arrays: a piece of '%s' has %zd bytes", name_of(given->core, array), view->len);
    return NULL;
}

static PyObject *restore(struct given *given)
{
    const char *flaw = NULL;
    const mpm_snapshot_source source = {.next = next_particles, .context = given};
    mpm_snapshot snapshot = {.groups = count_by(given, GROUP),
                             .particles = count_by(given, ID),
                             .records = count_by(given, HISTORY)};
    if (!fit(given, &snapshot))
        return NULL;
    for (int k = 0; k < FIELDS; k++)
        set_array(&snapshot, k, given->views[k].buf);
    const mpm_status status = mpm_snapshot_restore(given->core, &snapshot, &source, &flaw);
    if (!status)
        Py_RETURN_NONE;
    if (PyErr_Occurred())
        return NULL;
    if (status == MPM_OUT_OF_MEMORY)
        return PyErr_NoMemory();
    PyErr_SetString(PyExc_ValueError, flaw ? flaw : "too many particles or blocks for one simulation");
    return NULL;
}

PyObject *mpm_python_restore(PyObject *self, PyObject *arrays)
{
    mpm_python_core *core = (mpm_python_core *)self;
    struct given given = {.core = core->run->self}; /* releasing a buffer that was not taken is harmless */
    PyObject *result = NULL;
    bool taken = true;
    for (int k = 0; taken && k < ARRAYS; k++) /* no run changes which fields there are */
        taken = !is_there(given.core, k) || take_array(&given, arrays, k);
    if (taken && mpm_python_core_enter(self)) {
        core->busy = 1; /* iterators are Python code, which must not touch the core */
        result = restore(&given);
        core->busy = 0;
    }
    for (int k = 0; k < ARRAYS; k++) {
        PyBuffer_Release(&given.views[k]);
        Py_XDECREF(given.pieces[k]);
    }
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
