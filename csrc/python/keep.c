/* SPDX-License-Identifier: MIT
 *
 * What a method keeps whose fields are all kept by row, as a dict from names to arrays: bytes on output, C-contiguous
 * buffers with the same number of bytes on input. "times", "counters", "history", "books" (colliders), "numbers" (the
 * method's own), and every field by its name.
 */
#include <math.h>
#include <string.h>

#include "python/core.h"
#include "run/kept.h"

enum { TIMES, COUNTERS, HISTORY, BOOKS, NUMBERS, BESIDE_FIELDS, ARRAYS = BESIDE_FIELDS + MPM_MOST_FIELDS };
enum { BOOK = sizeof(mpm_collider_book) };
_Static_assert(BOOK % sizeof(double) == 0, "a book is made of doubles");

static const char *name_of(const mpm_python_core *core, int array)
{
    static const char *const names[BESIDE_FIELDS] = {
        [TIMES] = "times", [COUNTERS] = "counters", [HISTORY] = "history", [BOOKS] = "books", [NUMBERS] = "numbers"};
    return array < BESIDE_FIELDS ? names[array] : core->store->fields.row[array - BESIDE_FIELDS].name;
}

static int arrays_of(const mpm_python_core *core)
{
    return BESIDE_FIELDS + core->store->fields.count;
}

/* Copies the method's own numbers to `out` or from `in`, either of which may be NULL; their number. */
static size_t copy_numbers(const mpm_python_core *core, double *out, const double *in)
{
    const mpm_run *run = core->run;
    size_t sum = 0, count = 0;
    double *span;
    for (int k = 0; run->method->numbers && (span = run->method->numbers(run->self, k, &count)); k++, sum += count) {
        if (out)
            memcpy(out + sum, span, count * sizeof *out);
        if (in)
            memcpy(span, in + sum, count * sizeof *in);
    }
    return sum;
}

static size_t record_bytes(const mpm_python_core *core)
{
    return (size_t)mpm_history_length(&core->store->run->history) * sizeof(double);
}

/* Bytes of an array for so many rows and records. */
static size_t bytes_of(const mpm_python_core *core, int array, size_t rows, size_t records)
{
    switch (array) {
    case TIMES:
        return MPM_KEPT_TIMES * sizeof(double);
    case COUNTERS:
        return MPM_KEPT_COUNTERS * sizeof(int64_t);
    case HISTORY:
        return records * record_bytes(core);
    case BOOKS:
        return core->boundary->count * BOOK;
    case NUMBERS:
        return copy_numbers(core, NULL, NULL) * sizeof(double);
    default:
        return rows * mpm_store_row_bytes(core->store, array - BESIDE_FIELDS);
    }
}

static void take(const mpm_python_core *core, int array, const mpm_kept *kept, void *out, size_t bytes)
{
    const void *from[ARRAYS] = {[TIMES] = kept->times, [COUNTERS] = kept->counters, [HISTORY] = kept->records,
                                [BOOKS] = core->boundary->books};
    memcpy(from + BESIDE_FIELDS, kept->field, sizeof kept->field);
    if (array == NUMBERS)
        copy_numbers(core, out, NULL);
    else if (bytes)
        memcpy(out, from[array], bytes);
}

PyObject *mpm_python_keep(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_totals totals;
    PyObject *dict = PyDict_New();
    const mpm_python_core *core = dict ? mpm_python_core_enter(self) : NULL;
    if (!core) {
        Py_XDECREF(dict);
        return NULL;
    }
    const mpm_status status = mpm_run_totals(core->run, &totals); /* reads in views */
    if (status) {
        Py_DECREF(dict);
        return mpm_python_raise(self, status);
    }
    for (int k = 0; dict && k < arrays_of(core); k++) {
        const mpm_kept kept = mpm_kept_take(core->store);
        const size_t bytes = bytes_of(core, k, kept.rows, kept.record_count);
        PyObject *array = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
        if (array)
            take(core, k, &kept, PyBytes_AsString(array), bytes);
        if (!array || PyDict_SetItemString(dict, name_of(core, k), array))
            Py_CLEAR(dict);
        Py_XDECREF(array);
    }
    return dict;
}

/* Are all numbers finite, and the first ones not negative? */
static bool are_numbers(const Py_buffer *view, size_t lengths)
{
    const double *values = view->buf;
    for (size_t i = 0; i < (size_t)view->len / sizeof *values; i++)
        if (!isfinite(values[i]) || (i < lengths && values[i] < 0))
            return false;
    return true;
}

/* Takes the sums of a book. What it says about nearness is of a step alone. */
static void take_books(mpm_collider_book *books, size_t count, const void *from)
{
    for (size_t k = 0; k < count; k++) {
        memcpy(&books[k], (const char *)from + k * sizeof *books, sizeof *books);
        books[k].near = false;
        books[k].parts = books[k].beside = 0;
    }
}

/* Do all arrays have the bytes that they must have? */
static bool fit(const mpm_python_core *core, const Py_buffer *views, const mpm_kept *kept)
{
    bool fits = true;
    for (int k = 0; fits && k < arrays_of(core); k++)
        fits = mpm_python_has_bytes(name_of(core, k), &views[k],
                                    bytes_of(core, k, kept->rows, kept->record_count));
    return fits;
}

static PyObject *resume(mpm_python_core *core, const Py_buffer *views)
{
    const char *flaw = NULL;
    mpm_kept kept = {.records = views[HISTORY].buf,
                     .record_count = (size_t)views[HISTORY].len / record_bytes(core)};
    for (int f = 0; f < core->store->fields.count; f++) {
        kept.field[f] = views[BESIDE_FIELDS + f].buf;
        if (core->store->fields.row[f].type == MPM_TYPE_INT64)
            kept.rows = (size_t)views[BESIDE_FIELDS + f].len / sizeof(int64_t);
    }
    if (!fit(core, views, &kept))
        return NULL;
    memcpy(kept.times, views[TIMES].buf, sizeof kept.times);
    memcpy(kept.counters, views[COUNTERS].buf, sizeof kept.counters);
    if (!are_numbers(&views[BOOKS], 0) || !are_numbers(&views[NUMBERS], core->run->method->lengths)) {
        PyErr_SetString(PyExc_ValueError, "a number of the method is out of range");
        return NULL;
    }
    switch (mpm_kept_restore(core->store, &kept, mpm_run_materials(core->run), &flaw)) {
    case MPM_OK:
        copy_numbers(core, NULL, views[NUMBERS].buf);
        take_books(core->boundary->books, core->boundary->count, views[BOOKS].buf);
        Py_RETURN_NONE;
    case MPM_BAD_STATE:
        PyErr_SetString(PyExc_ValueError, flaw);
        return NULL;
    case MPM_TOO_LARGE:
        PyErr_SetString(PyExc_ValueError, "too many particles for one simulation");
        return NULL;
    default:
        return PyErr_NoMemory();
    }
}

PyObject *mpm_python_resume(PyObject *self, PyObject *arrays)
{
    Py_buffer views[ARRAYS] = {0}; /* releasing one that was not taken is harmless */
    PyObject *result = NULL;
    bool held = true;
    mpm_python_core *core = (mpm_python_core *)self; /* no run changes which fields there are */
    for (int k = 0; held && k < arrays_of(core); k++)
        held = mpm_python_take_array(arrays, name_of(core, k), &views[k]);
    if (held && mpm_python_core_enter(self))
        result = resume(core, views);
    for (int k = 0; k < ARRAYS; k++)
        PyBuffer_Release(&views[k]);
    return result;
}
