/* SPDX-License-Identifier: MIT
 *
 * Converts snapshots between the core and Python. In Python a snapshot is a dict from names to arrays: bytes on output,
 * C-contiguous buffers with the same number of bytes on input. Instead of a field of all particles, input may have an
 * iterator over buffers of consecutive particles, and output gives such pieces one by one.
 */
#include <string.h>

#include "python/core.h"
#include "run/snapshot.h"

enum { FIELDS = MPM_SNAPSHOT_ARRAYS, ARRAYS = FIELDS + MPM_MOST_FIELDS };

/* The arrays that a core has, those beside the fields first. Entries without a name are not there. */
struct layout {
    const mpm_store *store;
    const mpm_snapshot_method *method;
    mpm_snapshot_array array[ARRAYS];
};

static struct layout layout_of(const mpm_python_core *core)
{
    const mpm_store *store = core->store;
    struct layout layout = {.store = store, .method = core->run->method->snapshot};
    for (int k = 0; k < FIELDS && (k == 0 || layout.array[k - 1].name); k++)
        layout.array[k] = layout.method->array(store, k);
    for (int f = 0; f < store->fields.count; f++) {
        const size_t bytes = layout.method->row_bytes(store, f);
        layout.array[FIELDS + f] = (mpm_snapshot_array){
            .name = bytes ? store->fields.row[f].name : NULL, .bytes = bytes, .per = MPM_PER_PARTICLE};
    }
    return layout;
}

/* Bytes of an array of the snapshot. */
static size_t bytes_of(const mpm_snapshot_array *array, const mpm_snapshot *snapshot)
{
    const size_t counts[] = {[MPM_PER_RUN] = 1,
                             [MPM_PER_GROUP] = snapshot->groups,
                             [MPM_PER_PARTICLE] = snapshot->particles,
                             [MPM_PER_RECORD] = snapshot->records};
    return array->bytes * counts[array->per];
}

static void set_array(mpm_snapshot *snapshot, const mpm_snapshot_array *array, void *memory)
{
    memcpy((char *)snapshot + array->pointer, &memory, sizeof memory);
}

/* New bytes for an array of the snapshot: one beside the fields is filled later, a field at once. */
static PyObject *new_array(const struct layout *layout, int k, mpm_snapshot *snapshot)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes_of(&layout->array[k], snapshot));
    if (bytes && k < FIELDS)
        set_array(snapshot, &layout->array[k], PyBytes_AsString(bytes));
    else if (bytes)
        layout->method->take_field(layout->store, k - FIELDS, 0, snapshot->particles, PyBytes_AsString(bytes));
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
    const mpm_python_core *core = arrays ? mpm_python_core_enter(self) : NULL;
    if (!core) {
        Py_XDECREF(arrays);
        return NULL;
    }
    const mpm_status status = mpm_run_totals(core->run, &totals); /* reads in views */
    if (status) {
        Py_DECREF(arrays);
        return mpm_python_raise(self, status);
    }
    const struct layout layout = layout_of(core);
    layout.method->measure(core->store, &snapshot);
    for (int k = 0; arrays && k < (with_fields ? ARRAYS : FIELDS); k++) {
        if (!layout.array[k].name)
            continue;
        PyObject *bytes = new_array(&layout, k, &snapshot);
        if (!bytes || PyDict_SetItemString(arrays, layout.array[k].name, bytes))
            Py_CLEAR(arrays);
        Py_XDECREF(bytes);
    }
    if (arrays)
        layout.method->take(core->store, &snapshot);
    return arrays;
}

/* The index of a field that snapshots have, or -1 with a KeyError. */
static int find_field(const mpm_python_core *core, const char *name)
{
    const int field = mpm_fields_find(&core->store->fields, name);
    if (field >= 0 && core->run->method->snapshot->row_bytes(core->store, field))
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
    const mpm_python_core *core = mpm_python_core_enter(self);
    const int field = core ? find_field(core, name) : -1;
    if (field < 0)
        return NULL;
    const Py_ssize_t particles = core->store->count;
    if (first < 0 || count < 0 || first > particles || count > particles - first) {
        PyErr_Format(PyExc_ValueError, "first, count: must be within the %zd particles", particles);
        return NULL;
    }
    const mpm_snapshot_method *method = core->run->method->snapshot;
    const size_t bytes = (size_t)count * method->row_bytes(core->store, field);
    PyObject *rows = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    if (rows)
        method->take_field(core->store, field, (size_t)first, (size_t)count, PyBytes_AsString(rows));
    return rows;
}

/* ---- restoring -------------------------------------------------------------------------------------------------- */

/* The arrays of a dict while they are restored: each a buffer, or an iterator over buffers. */
struct given {
    struct layout layout;
    Py_buffer views[ARRAYS];
    PyObject *pieces[ARRAYS]; /* iterators; the buffer is that of the present piece */
};

/* Takes an array of the dict; false with an exception. */
static bool take_array(struct given *given, PyObject *arrays, int array)
{
    const char *name = given->layout.array[array].name;
    PyObject *found = array >= FIELDS && PyDict_Check(arrays) ? PyDict_GetItemString(arrays, name) : NULL;
    if (!found || !PyIter_Check(found))
        return mpm_python_take_array(arrays, name, &given->views[array]);
    given->pieces[array] = Py_NewRef(found);
    return true;
}

/* The number of groups, particles or records, from the size of the first array that has as many entries. */
static size_t count_by(const struct given *given, int per)
{
    for (int k = 0; k < FIELDS; k++)
        if (given->layout.array[k].name && (int)given->layout.array[k].per == per)
            return (size_t)given->views[k].len / given->layout.array[k].bytes;
    return 0;
}

/* Do all arrays that are given as a whole have the bytes that they must have? */
static bool fit(const struct given *given, const mpm_snapshot *snapshot)
{
    bool fits = true;
    for (int k = 0; fits && k < ARRAYS; k++) {
        const mpm_snapshot_array *array = &given->layout.array[k];
        fits = !array->name || given->pieces[k] ||
               mpm_python_has_bytes(array->name, &given->views[k], bytes_of(array, snapshot));
    }
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
    const char *name = given->layout.array[array].name;
    const size_t size = given->layout.array[array].bytes;
    Py_buffer *view = &given->views[array];
    if (given->pieces[array] && !take_piece(given->pieces[array], name, view))
        return NULL;
    const size_t bytes = (size_t)view->len;
    if (bytes && bytes % size == 0 && bytes / size <= most) {
        *count = bytes / size;
        return view->buf;
    }
    PyErr_Format(PyExc_ValueError, "arrays: a piece of '%s' has %zd bytes", name, view->len);
    return NULL;
}

static PyObject *restore(mpm_store *store, struct given *given)
{
    const char *flaw = NULL;
    const mpm_snapshot_source source = {.next = next_particles, .context = given};
    mpm_snapshot snapshot = {.groups = count_by(given, MPM_PER_GROUP),
                             .particles = count_by(given, MPM_PER_PARTICLE),
                             .records = count_by(given, MPM_PER_RECORD)};
    if (!fit(given, &snapshot))
        return NULL;
    for (int k = 0; k < FIELDS; k++)
        if (given->layout.array[k].name)
            set_array(&snapshot, &given->layout.array[k], given->views[k].buf);
    const mpm_status status = given->layout.method->restore(store, &snapshot, &source, &flaw);
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
    struct given given = {.layout = layout_of(core)};
    PyObject *result = NULL;
    bool taken = true;
    for (int k = 0; taken && k < ARRAYS; k++)
        taken = !given.layout.array[k].name || take_array(&given, arrays, k);
    if (taken && mpm_python_core_enter(self)) {
        given.layout = layout_of(core); /* what gave buffers was Python code, which may have added to the core */
        core->busy = 1; /* iterators are Python code, which must not touch the core */
        result = restore(core->store, &given);
        core->busy = 0;
    }
    for (int k = 0; k < ARRAYS; k++) {
        PyBuffer_Release(&given.views[k]); /* releasing one that was not taken is harmless */
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
