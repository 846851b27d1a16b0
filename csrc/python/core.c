/* SPDX-License-Identifier: MIT
 *
 * `mpm._core.Core`, the base of the types of all methods. The Python layer checks arguments; this file checks only what
 * memory safety needs.
 *
 * The interpreter lock is free while a run is in C. During that time `busy` is set (it is read and written with the
 * lock held), and any other call on the same object raises BusyError. A thread holds a run that pauses (`holder`) and
 * may query the state between its pieces; calls from other threads raise BusyError until the thread releases the run.
 */
#include <math.h>
#include <string.h>

#include "python/core.h"
#include "run/alter.h"

/* ---- the object ------------------------------------------------------------------------------------------------- */

mpm_python_core *mpm_python_core_new(PyTypeObject *type)
{
    return (mpm_python_core *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

int mpm_python_core_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

void mpm_python_core_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    mpm_python_core *core = (mpm_python_core *)self;
    PyObject_GC_UnTrack(self);
    if (core->run)
        core->run->method->free(core->run->self);
    Py_XDECREF(core->team);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

mpm_python_core *mpm_python_core_enter(PyObject *self)
{
    mpm_python_core *core = (mpm_python_core *)self;
    if (!core->busy && (!core->held || core->holder == PyThread_get_thread_ident()))
        return core;
    PyErr_SetString(mpm_python_state(Py_TYPE(self))->busy_error,
                    "the simulation is being run by another thread; wait for its run to end");
    return NULL;
}

PyObject *mpm_python_core_finish(PyObject *self, mpm_status status)
{
    if (status)
        return mpm_python_raise(self, status);
    Py_RETURN_NONE;
}

bool mpm_python_take_array(PyObject *arrays, const char *name, Py_buffer *view)
{
    if (!PyDict_Check(arrays)) {
        PyErr_SetString(PyExc_TypeError, "arrays: must be a dict");
        return false;
    }
    PyObject *array = PyDict_GetItemString(arrays, name);
    if (!array) {
        PyErr_Format(PyExc_ValueError, "arrays: '%s' is missing", name);
        return false;
    }
    Py_INCREF(array); /* an array may be an object of Python that takes itself out of the dict */
    const bool taken = !PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS);
    Py_DECREF(array);
    return taken;
}

bool mpm_python_has_bytes(const char *name, const Py_buffer *view, size_t bytes)
{
    if ((size_t)view->len == bytes)
        return true;
    PyErr_Format(PyExc_ValueError, "arrays: '%s' has %zd bytes, not %zd", name, view->len, (Py_ssize_t)bytes);
    return false;
}

static int dim_of(const mpm_python_core *core)
{
    return core->store->fields.dim;
}

/* ---- scene ------------------------------------------------------------------------------------------------------ */

static PyObject *add_material(PyObject *self, PyObject *args)
{
    PyObject *law, *parameters, *varying = NULL;
    double density = 0;
    mpm_material material;
    if (!PyArg_ParseTuple(args, "OO|Od", &law, &parameters, &varying, &density) ||
        mpm_python_get_material(law, parameters, varying, &material))
        return NULL;
    if (density > 0 && material.law != MPM_USER)
        material.values[mpm_material_law(&material)->parameters - 1] = density;
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    const mpm_status status = mpm_run_add_material(core->run, &material);
    if (status == MPM_TOO_LARGE) {
        PyErr_Format(PyExc_ValueError, "material: no room for its fields: a simulation has %d at most",
                     MPM_MOST_FIELDS);
        return NULL;
    }
    return status ? mpm_python_raise(self, status) : PyLong_FromLong(mpm_run_materials(core->run) - 1);
}

static PyObject *use_collider(PyObject *self, const mpm_collider *collider)
{
    mpm_python_core *core = mpm_python_core_enter(self);
    return core ? mpm_python_core_finish(self, mpm_run_add_collider(core->run, collider)) : NULL;
}

static PyObject *add_collider(PyObject *self, PyObject *args)
{
    const int dim = dim_of((mpm_python_core *)self);
    return mpm_python_with_collider(args, dim, mpm_python_state(Py_TYPE(self)), use_collider, self);
}

static PyObject *alter(PyObject *self, const mpm_alteration *change)
{
    mpm_python_core *core = mpm_python_core_enter(self);
    return core ? mpm_python_core_finish(self, mpm_run_alter(core->run, change)) : NULL;
}

static PyObject *set_gravity(PyObject *self, PyObject *argument)
{
    double gravity[3];
    if (mpm_python_get_doubles(argument, "gravity", gravity, 3))
        return NULL;
    return alter(self, &(mpm_alteration){.gravity = gravity});
}

static PyObject *set_friction(PyObject *self, PyObject *argument)
{
    double friction[6];
    if (mpm_python_get_doubles(argument, "friction", friction, 6))
        return NULL;
    return alter(self, &(mpm_alteration){.friction = friction});
}

static PyObject *set_material(PyObject *self, PyObject *args)
{
    PyObject *law, *parameters, *varying = NULL;
    mpm_material material;
    int index;
    if (!PyArg_ParseTuple(args, "iOO|O", &index, &law, &parameters, &varying) ||
        mpm_python_get_material(law, parameters, varying, &material))
        return NULL;
    return alter(self, &(mpm_alteration){.material = &material, .index = index});
}

static PyObject *alter_collider(PyObject *self, const mpm_collider *collider)
{
    return alter(self, &(mpm_alteration){.collider = collider});
}

static PyObject *set_collider(PyObject *self, PyObject *args)
{
    const int dim = dim_of((mpm_python_core *)self);
    return mpm_python_with_collider(args, dim, mpm_python_state(Py_TYPE(self)), alter_collider, self);
}

static PyObject *collider_distance(PyObject *self, PyObject *args)
{
    Py_ssize_t index;
    PyObject *points;
    Py_buffer x;
    double time;
    if (!PyArg_ParseTuple(args, "nOd", &index, &points, &time) ||
        mpm_python_get_buffer(points, &x, "points", "d", 2, 0))
        return NULL;
    const mpm_python_core *core = mpm_python_core_enter(self);
    PyObject *result = core ? mpm_python_collider_distances(core->run->boundary, index, &x, time) : NULL;
    PyBuffer_Release(&x);
    return result;
}

static PyObject *delete_particles(PyObject *self, PyObject *mask)
{
    Py_buffer view;
    if (mpm_python_get_buffer(mask, &view, "mask", "B", 1, 0))
        return NULL;
    mpm_python_core *core = mpm_python_core_enter(self);
    const ptrdiff_t before = core ? core->store->count : 0;
    PyObject *result = NULL;
    if (core && view.shape[0] != before)
        PyErr_Format(PyExc_ValueError, "mask: expected %zd entries", (Py_ssize_t)before);
    else if (core) {
        const mpm_status status = mpm_run_remove(core->run, view.buf);
        result = status ? mpm_python_raise(self, status) : PyLong_FromSsize_t(before - core->store->count);
    }
    PyBuffer_Release(&view);
    return result;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

int mpm_python_core_poll_signals(void *context)
{
    PyThreadState **saved = context; /* of the interpreter that runs this simulation, perhaps not the main one */
    PyEval_RestoreThread(*saved);
    const int stop = PyErr_CheckSignals();
    *saved = PyEval_SaveThread();
    return stop;
}

/* The poll of a run. */
struct poll {
    PyThreadState *saved;
    mpm_python_core *core;
};

/* Lets a team handle the signals that wait in a run; -1: a handler has raised an exception. */
static int answer(const mpm_python_core *core)
{
    PyObject *result = core->team ? PyObject_CallMethod(core->team, "answer", NULL) : Py_NewRef(Py_None);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int poll_signals(void *context)
{
    struct poll *poll = context;
    PyEval_RestoreThread(poll->saved);
    const int stop = PyErr_CheckSignals() || answer(poll->core);
    poll->saved = PyEval_SaveThread();
    return stop;
}

/* With a forcing, this takes one step. */
static PyObject *run(PyObject *self, int64_t steps, double end, double pause, const mpm_forcing *forcing)
{
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    core->busy = 1;
    struct poll poll = {PyEval_SaveThread(), core};
    const mpm_status status = forcing ? mpm_run_step_forced(core->run, forcing, end)
                                      : mpm_run_advance(core->run, steps, end, pause, poll_signals, &poll);
    PyEval_RestoreThread(poll.saved);
    core->busy = 0;
    if (!status && PyErr_CheckSignals()) /* handles a signal of a short run here, not one statement later */
        return NULL;
    return mpm_python_core_finish(self, status);
}

static PyObject *step(PyObject *self, PyObject *args)
{
    long long steps;
    double pause = INFINITY;
    if (!PyArg_ParseTuple(args, "L|d", &steps, &pause))
        return NULL;
    return run(self, steps < 0 ? 0 : steps, INFINITY, pause, NULL);
}

static PyObject *run_to(PyObject *self, PyObject *args)
{
    double end, pause = INFINITY;
    long long steps = INT64_MAX;
    if (!PyArg_ParseTuple(args, "d|dL", &end, &pause, &steps))
        return NULL;
    return run(self, steps < 0 ? 0 : steps, end, pause, NULL);
}

/* ---- loads ------------------------------------------------------------------------------------------------------ */

static PyObject *add_load(PyObject *self, PyObject *args)
{
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name))
        return NULL;
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    if (core->store->count || core->run->steps) {
        PyErr_SetString(PyExc_ValueError, "loads: must come before particles");
        return NULL;
    }
    const mpm_status status = mpm_run_add_load(core->run, name);
    if (status == MPM_TOO_LARGE) {
        PyErr_Format(PyExc_ValueError, "loads: a simulation has at most %d", MPM_MOST_LOADS);
        return NULL;
    }
    return mpm_python_core_finish(self, status);
}

enum { BODY_FORCE, FIRST, LOAD, FORCE, COUPLE, HOLDS, VELOCITY, HEAT, FORCING };

/* Their names, and the formats and dimensions of their items. */
static const struct {
    const char *name, *format;
    int ndim;
} forcing_arrays[FORCING] = {
    [BODY_FORCE] = {"body_force", "d", 2}, [FIRST] = {"first", "i", 1}, [LOAD] = {"load", "i", 1},
    [FORCE] = {"force", "d", 2}, [COUPLE] = {"couple", "d", 3}, [HOLDS] = {"holds", "q", 1},
    [VELOCITY] = {"velocity", "d", 2}, [HEAT] = {"heat", "d", 1},
};

/* Do the arrays belong to so many rows and loads, and the entries to rows and loads that there are? */
static bool fits_forcing(const mpm_python_core *core, const Py_buffer *views)
{
    const Py_ssize_t rows = core->store->count, dim = dim_of(core), loads = (Py_ssize_t)core->run->loads.count;
    const int32_t *first = views[FIRST].buf, *load = views[LOAD].buf;
    const Py_ssize_t entries = first && views[FIRST].shape[0] == rows + 1 ? first[rows] : 0;
    bool fits = !first || (load && views[FORCE].buf && views[FIRST].shape[0] == rows + 1 && first[0] == 0 &&
                           entries >= 0 && views[LOAD].shape[0] == entries && views[FORCE].shape[0] == entries &&
                           views[FORCE].shape[1] == dim);
    for (Py_ssize_t k = 0; fits && first && k < rows; k++)
        fits = first[k] <= first[k + 1];
    for (Py_ssize_t e = 0; fits && e < entries; e++)
        fits = load[e] >= 0 && load[e] < loads;
    if (views[BODY_FORCE].buf)
        fits = fits && views[BODY_FORCE].shape[0] == rows && views[BODY_FORCE].shape[1] == dim;
    if (views[COUPLE].buf)
        fits = fits && first && views[BODY_FORCE].buf && views[COUPLE].shape[0] == entries &&
               views[COUPLE].shape[1] == dim && views[COUPLE].shape[2] == dim;
    if (views[HOLDS].buf)
        fits = fits && views[HOLDS].shape[0] == rows && views[VELOCITY].buf && views[VELOCITY].shape[0] == loads &&
               views[VELOCITY].shape[1] == dim;
    if (views[HEAT].buf)
        fits = fits && views[HEAT].shape[0] == rows;
    return fits;
}

static PyObject *step_forced(PyObject *self, PyObject *args)
{
    PyObject *objects[FORCING] = {Py_None, Py_None, Py_None, Py_None, Py_None, Py_None, Py_None, Py_None};
    PyObject *result = NULL;
    Py_buffer views[FORCING] = {0};
    double end;
    int held = 0;
    if (!PyArg_ParseTuple(args, "Od|OOOOOOO", &objects[0], &end, &objects[1], &objects[2], &objects[3], &objects[4],
                          &objects[5], &objects[6], &objects[7]))
        return NULL;
    for (; held < FORCING; held++)
        if (objects[held] != Py_None &&
            mpm_python_get_buffer(objects[held], &views[held], forcing_arrays[held].name, forcing_arrays[held].format,
                                  forcing_arrays[held].ndim, 0))
            break;
    mpm_python_core *core = held == FORCING ? mpm_python_core_enter(self) : NULL;
    const mpm_forcing forcing = {views[BODY_FORCE].buf, views[FIRST].buf, views[LOAD].buf, views[FORCE].buf,
                                 views[COUPLE].buf, views[HOLDS].buf, views[VELOCITY].buf, views[HEAT].buf};
    if (core && !fits_forcing(core, views))
        PyErr_SetString(PyExc_ValueError, "forcing: its arrays do not fit the rows and loads");
    else if (core)
        result = run(self, 1, end, INFINITY, &forcing);
    for (int k = 0; k < FORCING; k++)
        PyBuffer_Release(&views[k]);
    return result;
}

/* Holds and releases in one call: Ctrl-C could come between a separate `hold` and the `try` after it. */
static PyObject *hold(PyObject *self, PyObject *args)
{
    PyObject *pieces;
    int again = false;
    if (!PyArg_ParseTuple(args, "O|p", &pieces, &again))
        return NULL;
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    if (core->held && again)
        return PyObject_CallNoArgs(pieces);
    if (core->held) {
        PyErr_SetString(mpm_python_state(Py_TYPE(self))->busy_error,
                        "the simulation is being run: wait for the run to end");
        return NULL;
    }
    core->held = 1;
    core->holder = PyThread_get_thread_ident();
    PyObject *result = PyObject_CallNoArgs(pieces);
    core->held = 0;
    return result;
}

/* ---- looking ---------------------------------------------------------------------------------------------------- */

static PyObject *stable_dt(PyObject *self, PyObject *unused)
{
    (void)unused;
    static const char *const names[MPM_LIMIT_COUNT] = {
        [MPM_LIMIT_NONE] = "none", [MPM_LIMIT_ISOLATED] = "isolated", [MPM_LIMIT_VISCOSITY] = "viscosity",
        [MPM_LIMIT_WAVE] = "wave", [MPM_LIMIT_MOTION] = "motion", [MPM_LIMIT_ACCELERATION] = "acceleration",
        [MPM_LIMIT_CONDUCTION] = "conduction"};
    mpm_stable_dt bound;
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    const mpm_status status = mpm_run_stable_dt(core->run, &bound);
    return status ? mpm_python_raise(self, status) : Py_BuildValue("dsi", bound.dt, names[bound.limit], (int)bound.row);
}

static PyObject *totals(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_totals t;
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    const mpm_status status = mpm_run_totals(core->run, &t);
    if (status)
        return mpm_python_raise(self, status);
    const int dim = dim_of(core);
    PyObject *kept = t.dissipates ? Py_BuildValue("(ddd)", t.plastic_dissipation, t.viscous_dissipation, t.heat)
                                  : Py_NewRef(Py_None);
    PyObject *heat = t.conducts ? PyFloat_FromDouble(t.heat) : Py_NewRef(Py_None);
    if (!kept || !heat) {
        Py_XDECREF(kept);
        Py_XDECREF(heat);
        return NULL;
    }
    return Py_BuildValue("{s:d,s:d,s:N,s:N,s:N,s:d,s:d,s:d,s:N,s:N}", "time", t.time, "mass", t.mass, "momentum",
                         mpm_python_float_list(t.momentum, dim), "center_of_mass",
                         mpm_python_float_list(t.center_of_mass, dim), "angular_momentum",
                         mpm_python_float_list(t.angular_momentum + (dim == 2 ? 2 : 0), dim == 2 ? 1 : 3), "kinetic",
                         t.kinetic, "elastic", t.elastic, "gravitational", t.gravitational, "dissipation", kept,
                         "heat", heat);
}

/* The names of the fields whose views users may have written since the last call, also if they were read in since. */
static PyObject *written(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *list = PyList_New(0);
    const mpm_python_core *core = list ? mpm_python_core_enter(self) : NULL;
    if (!core)
        Py_CLEAR(list);
    for (int f = 0; list && f < core->store->fields.count; f++) {
        mpm_view *view = core->store->views[f];
        if (!mpm_view_may_be_written(view) && !(view && view->read_in))
            continue;
        view->read_in = false;
        mpm_python_append(&list, PyUnicode_FromString(core->store->fields.row[f].name));
    }
    return list;
}

PyObject *mpm_python_core_field(PyObject *self, mpm_store *store, PyObject *argument)
{
    Py_ssize_t length;
    const char *name = PyUnicode_AsUTF8AndSize(argument, &length); /* NULL of a text that has no UTF-8 */
    if (!name && !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return NULL;
    const int found = name && strlen(name) == (size_t)length ? mpm_fields_find(&store->fields, name) : -1;
    if (found < 0) {
        PyErr_SetObject(PyExc_KeyError, argument);
        return NULL;
    }
    mpm_view *view;
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    core->busy = store->team != NULL; /* Python moves the rows of other processes */
    const mpm_status status = mpm_store_get(store, found, &view);
    core->busy = 0;
    if (status)
        return mpm_python_raise(self, status);
    mpm_view_retain(view); /* creating an object may collect garbage, which may run any Python code */
    PyObject *object = mpm_python_field_new(mpm_python_state(Py_TYPE(self)), view, store->fields.row[found].rank,
                                            store->fields.dim);
    mpm_view_release(view);
    return object;
}

static PyObject *field(PyObject *self, PyObject *argument)
{
    /* No lock: no run changes which fields there are. */
    return mpm_python_core_field(self, ((mpm_python_core *)self)->store, argument);
}

static PyObject *fields(PyObject *self, PyObject *unused)
{
    (void)unused;
    const mpm_store *store = ((mpm_python_core *)self)->store;
    return mpm_python_fields(&store->fields, store); /* safe: no run adds fields */
}

static PyObject *add_field(PyObject *self, PyObject *args)
{
    const char *name, *unit, *rank;
    double initial;
    if (!PyArg_ParseTuple(args, "sssd", &name, &unit, &rank, &initial))
        return NULL;
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    const mpm_status status = mpm_store_add_field(core->store, name, unit, mpm_python_rank_of(rank), initial);
    if (status != MPM_TOO_LARGE)
        return mpm_python_core_finish(self, status);
    PyErr_Format(PyExc_ValueError,
                 "fields: no room for '%s': a name has 31 bytes at most, a unit 15, and a simulation %d fields", name,
                 MPM_MOST_FIELDS);
    return NULL;
}

/* ---- history and health ----------------------------------------------------------------------------------------- */

static PyObject *history_names(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    PyObject *list = PyList_New(0);
    mpm_history_column column;
    for (int i = 0; list && (column = mpm_history_get(&core->run->history, i)).width; i++) {
        PyObject *name = column.owner ? PyUnicode_FromFormat("%s:%s", column.name, column.owner)
                                      : PyUnicode_FromString(column.name);
        mpm_python_append(&list, name ? Py_BuildValue("Ni", name, column.width) : NULL);
    }
    return list;
}

static PyObject *history_array(PyObject *self, PyObject *argument)
{
    const long index = PyLong_AsLong(argument);
    if (index == -1 && PyErr_Occurred())
        return NULL;
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    const mpm_history *history = &core->run->history;
    const mpm_history_column column = mpm_history_get(history, index < 0 || index > INT32_MAX ? INT32_MAX : (int)index);
    if (!column.width) {
        PyErr_SetString(PyExc_IndexError, "index: no such column");
        return NULL;
    }
    const size_t width = (size_t)column.width, length = (size_t)mpm_history_length(history);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(history->count * width * sizeof(double)));
    if (!bytes)
        return NULL;
    double *to = (double *)PyBytes_AsString(bytes);
    for (size_t r = 0; r < history->count; r++)
        memcpy(to + r * width, history->records + r * length + column.offset, width * sizeof(double));
    return bytes;
}

/* A dict from names to values; takes the references of the values. */
static PyObject *name_values(const char *const *names, PyObject *(*value)(const mpm_run *run, int index),
                             PyObject *self)
{
    const mpm_python_core *core = mpm_python_core_enter(self);
    PyObject *dict = core ? PyDict_New() : NULL;
    for (int k = 0; dict && names[k]; k++) {
        PyObject *one = value(core->run, k);
        if (!one || PyDict_SetItemString(dict, names[k], one))
            Py_CLEAR(dict);
        Py_XDECREF(one);
    }
    return dict;
}

static const mpm_method *method_of(PyObject *self)
{
    return ((mpm_python_core *)self)->run->method;
}

static PyObject *counter(const mpm_run *run, int index)
{
    return PyLong_FromLongLong(run->health[index]);
}

static PyObject *health(PyObject *self, PyObject *unused)
{
    (void)unused;
    return name_values(method_of(self)->counters, counter, self);
}

static PyObject *seconds_of(const mpm_run *run, int index)
{
    return PyFloat_FromDouble(run->seconds[index]);
}

static PyObject *seconds(PyObject *self, PyObject *unused)
{
    (void)unused;
    return name_values(method_of(self)->phases, seconds_of, self);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

enum { TIME, DT, STEPS, PARTICLES, NEXT_ID, THREADS };

static PyObject *get_number(PyObject *self, void *which)
{
    const mpm_python_core *core = mpm_python_core_enter(self);
    if (!core)
        return NULL;
    const mpm_store *store = core->store;
    switch ((intptr_t)which) {
    case TIME:
        return PyFloat_FromDouble(store->run->time);
    case DT:
        return PyFloat_FromDouble(store->run->dt);
    case STEPS:
        return PyLong_FromLongLong(store->run->steps);
    case PARTICLES:
        return PyLong_FromSsize_t(store->count);
    case NEXT_ID:
        return PyLong_FromLongLong(store->next_id);
    default:
        return PyLong_FromLong(store->run->threads);
    }
}

static int set_threads(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    const long threads = value ? PyLong_AsLong(value) : -1;
    if (PyErr_Occurred())
        return -1;
    mpm_python_core *core = mpm_python_core_enter(self);
    if (!core || mpm_python_check_threads(threads))
        return -1;
    core->run->threads = (int)threads;
    return 0;
}

static PyMethodDef methods[] = {
    {"add_material", add_material, METH_VARARGS, "add_material(law, parameters, varying=(), density=0) -> index"},
    {"add_collider", add_collider, METH_VARARGS,
     "add_collider(name, contact, friction, restitution, speeds, nodes, numbers, reference, motion, vector, frequency, "
     "keys, friction_heat=0)"},
    {"set_gravity", set_gravity, METH_O, "set_gravity((3,)): between runs; the state stays as it is"},
    {"set_friction", set_friction, METH_O, "set_friction((6,)): of the walls, likewise"},
    {"set_material", set_material, METH_VARARGS,
     "set_material(index, law, parameters, varying=()): other parameters of its law, likewise"},
    {"set_collider", set_collider, METH_VARARGS,
     "set_collider(...): as add_collider, in place of the collider of its name, likewise"},
    {"collider_distance", collider_distance, METH_VARARGS,
     "collider_distance(index, points, time) -> (phi (m,), normal (m, d)) at that time [s], float64 as bytes."},
    {"delete_particles", delete_particles, METH_O, "delete_particles(mask) -> number removed"},
    {"step", step, METH_VARARGS, "step(n, pause=inf): n whole steps, or to the first that reaches pause [s]"},
    {"run", run_to, METH_VARARGS,
     "run(end, pause=inf, steps=2**63 - 1): advance to exactly the time end [s], or to the first step that reaches "
     "pause [s], by so many steps at most"},
    {"add_load", add_load, METH_VARARGS, "add_load(name): before colliders; a load has impulse:NAME and work:NAME"},
    {"step_forced", step_forced, METH_VARARGS,
     "step_forced(body_force, end, first, load, force, couple, holds, velocity): one step with accelerations (n, d) "
     "and loads, whose arrays may be None, to the time end [s] at most (csrc/run/loads.h)"},
    {"hold", hold, METH_VARARGS, "hold(pieces, again=False): calls pieces(), and keeps other threads out"},
    {"stable_dt", stable_dt, METH_NOARGS, "(bound [s], limit, row or -1)"},
    {"totals", totals, METH_NOARGS, "Conserved quantities of the present state."},
    {"field", field, METH_O, "field(name) -> Field"},
    {"written", written, METH_NOARGS, "Names of the fields whose views may have been written since the last call."},
    {"fields", fields, METH_NOARGS, "The table of fields, a dict per row."},
    {"add_field", add_field, METH_VARARGS, "add_field(name, unit, rank, initial): a field that no step changes"},
    {"history_names", history_names, METH_NOARGS, "[(name, columns)]"},
    {"history_array", history_array, METH_O, "history_array(index) -> bytes of float64"},
    {"health", health, METH_NOARGS, "Counters."},
    {"seconds", seconds, METH_NOARGS, "Seconds by the clock that all runs have spent, per phase."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"time", get_number, NULL, "time [s]", (void *)TIME},
    {"dt", get_number, NULL, "last step [s]", (void *)DT},
    {"steps", get_number, NULL, "steps taken", (void *)STEPS},
    {"particles", get_number, NULL, "number of particles", (void *)PARTICLES},
    {"next_id", get_number, NULL, "of the next particle that is added", (void *)NEXT_ID},
    {"threads", get_number, set_threads, "threads of a run", (void *)THREADS},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "What computes for a solver: the base of the types of methods. Private: use mpm.Simulation."},
    {Py_tp_traverse, mpm_python_core_traverse},
    {Py_tp_dealloc, mpm_python_core_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

PyType_Spec mpm_python_core_spec = {
    .name = "mpm._core.Core",
    .basicsize = sizeof(mpm_python_core),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
