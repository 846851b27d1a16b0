/* SPDX-License-Identifier: MIT
 *
 * `mpm._core.Simulation`. The Python layer checks arguments; this file checks only what memory safety needs.
 *
 * The interpreter lock is free while a run is in C. During that time `busy` is set (it is read and written with the
 * lock held), and any other call on the same object raises BusyError. A thread holds a run that pauses (`holder`) and
 * may query the state between its pieces; calls from other threads raise BusyError until the thread releases the run.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "python/module.h"

typedef struct {
    PyObject_HEAD
    mpm_simulation *core;
    int busy;
    int held;
    unsigned long holder; /* the thread that holds the run */
} simulation;

static module_state *state_of(PyObject *self)
{
    return mpm_python_state(Py_TYPE(self));
}

/* Returns the core, or NULL with an exception while another thread runs it. */
static mpm_simulation *enter(PyObject *self)
{
    simulation *s = (simulation *)self;
    if (!s->busy && (!s->held || s->holder == PyThread_get_thread_ident()))
        return s->core;
    PyErr_SetString(state_of(self)->busy_error,
                    "the simulation is being run by another thread; wait for its run to end");
    return NULL;
}

static PyObject *finish(PyObject *self, mpm_status status)
{
    if (status)
        return mpm_python_raise(state_of(self), status, ((simulation *)self)->core);
    Py_RETURN_NONE;
}

/* ---- construction ----------------------------------------------------------------------------------------------- */

static PyObject *simulation_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    mpm_settings settings;
    if (mpm_python_get_settings(args, kwargs, &settings))
        return NULL;
    module_state *state = mpm_python_state(type);
    simulation *self = (simulation *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self && mpm_simulation_new(&self->core, &state->allocator, &settings)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static int simulation_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void simulation_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    mpm_simulation_free(((simulation *)self)->core);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* ---- scene ------------------------------------------------------------------------------------------------------ */

static PyObject *add_material(PyObject *self, PyObject *args)
{
    const char *law;
    PyObject *parameters;
    mpm_material material;
    if (!PyArg_ParseTuple(args, "sO", &law, &parameters) || mpm_python_get_material(law, parameters, &material))
        return NULL;
    mpm_simulation *core = enter(self); /* after all conversions, which may run any Python code */
    if (!core)
        return NULL;
    mpm_status status = mpm_simulation_add_material(core, &material);
    return status ? finish(self, status) : PyLong_FromLong(mpm_simulation_materials(core) - 1);
}

static PyObject *use_collider(PyObject *self, const mpm_collider *collider)
{
    mpm_simulation *core = enter(self);
    return core ? finish(self, mpm_simulation_add_collider(core, collider)) : NULL;
}

static PyObject *add_collider(PyObject *self, PyObject *args)
{
    const int dim = mpm_simulation_settings(((simulation *)self)->core)->dim;
    return mpm_python_with_collider(args, dim, state_of(self), use_collider, self);
}

static int all_normal(const double *values, Py_ssize_t count, const mpm_simulation *core, int or_zero)
{
    const bool narrow = mpm_simulation_settings(core)->real_size == sizeof(float);
    const double least = narrow ? (double)FLT_MIN : DBL_MIN, most = narrow ? (double)FLT_MAX : DBL_MAX;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!(values[i] >= least && values[i] <= most) && !(or_zero && values[i] == 0))
            return 0;
    return 1;
}

static PyObject *add_particles(PyObject *self, PyObject *args)
{
    enum { ARRAYS = 6 };
    static const char *const names[ARRAYS] = {"x", "v", "C", "F", "volume", "mass"};
    static const int ndim[ARRAYS] = {2, 2, 3, 3, 1, 1};
    PyObject *objects[ARRAYS], *result = NULL;
    Py_buffer views[ARRAYS];
    int material, held = 0;
    if (!PyArg_ParseTuple(args, "OOOOOOi", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4],
                                   &objects[5], &material))
        return NULL;
    for (; held < ARRAYS; held++) {
        if (ndim[held] == 3 && objects[held] == Py_None) /* C, F */
            views[held] = (Py_buffer){0};
        else if (mpm_python_get_buffer(objects[held], &views[held], names[held], "d", ndim[held], 0))
            goto done;
    }
    mpm_simulation *core = enter(self);
    if (!core)
        goto done;
    if (material < 0 || material >= mpm_simulation_materials(core)) {
        PyErr_SetString(PyExc_ValueError, "material: no such index");
        goto done;
    }
    const Py_ssize_t count = views[0].shape[0], dim = mpm_simulation_settings(core)->dim;
    for (int i = 0; i < ARRAYS; i++)
        for (int axis = 0; views[i].buf && axis < ndim[i]; axis++)
            if (views[i].shape[axis] != (axis == 0 ? count : dim)) {
                PyErr_Format(PyExc_ValueError, "%s: wrong shape", names[i]);
                goto done;
            }
    /* In the core, a mass of 0 marks particles that wait to be deleted. */
    if (!all_normal(views[4].buf, count, core, 1) || !all_normal(views[5].buf, count, core, 0)) {
        PyErr_SetString(PyExc_ValueError, "volume, mass: must be positive and normal numbers of the precision");
        goto done;
    }
    result = finish(self, mpm_simulation_add(core, count, views[0].buf, views[1].buf, views[2].buf, views[3].buf,
                                             views[4].buf, views[5].buf, material));
done:
    for (int i = 0; i < held; i++)
        PyBuffer_Release(&views[i]);
    return result;
}

static PyObject *delete_particles(PyObject *self, PyObject *mask)
{
    Py_buffer view;
    if (mpm_python_get_buffer(mask, &view, "mask", "B", 1, 0))
        return NULL;
    mpm_simulation *core = enter(self);
    if (!core) {
        PyBuffer_Release(&view);
        return NULL;
    }
    const ptrdiff_t before = mpm_simulation_get_store(core)->count;
    if (view.shape[0] != before) {
        PyBuffer_Release(&view);
        PyErr_Format(PyExc_ValueError, "mask: expected %zd entries", (Py_ssize_t)before);
        return NULL;
    }
    const mpm_status status = mpm_simulation_delete(core, view.buf);
    PyBuffer_Release(&view);
    return status ? finish(self, status) : PyLong_FromSsize_t(before - mpm_simulation_get_store(core)->count);
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static int poll_signals(void *context)
{
    PyThreadState **saved = context; /* of the interpreter that runs this simulation, perhaps not the main one */
    PyEval_RestoreThread(*saved);
    const int stop = PyErr_CheckSignals();
    *saved = PyEval_SaveThread();
    return stop;
}

/* With a body force, this takes one step. */
static PyObject *run(PyObject *self, int64_t steps, double end, double pause, const double *body_force)
{
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    ((simulation *)self)->busy = 1;
    PyThreadState *saved = PyEval_SaveThread();
    const mpm_status status = body_force ? mpm_simulation_step_forced(core, body_force, end)
                                         : mpm_simulation_run(core, steps, end, pause, poll_signals, &saved);
    PyEval_RestoreThread(saved);
    ((simulation *)self)->busy = 0;
    if (!status && PyErr_CheckSignals()) /* handles a signal of a short run here, not one statement later */
        return NULL;
    return finish(self, status);
}

static PyObject *simulation_step(PyObject *self, PyObject *args)
{
    long long steps;
    double pause = INFINITY;
    if (!PyArg_ParseTuple(args, "L|d", &steps, &pause))
        return NULL;
    return run(self, steps < 0 ? 0 : steps, INFINITY, pause, NULL);
}

static PyObject *simulation_run(PyObject *self, PyObject *args)
{
    double end, pause = INFINITY;
    if (!PyArg_ParseTuple(args, "d|d", &end, &pause))
        return NULL;
    return run(self, INT64_MAX, end, pause, NULL);
}

static PyObject *simulation_step_forced(PyObject *self, PyObject *args)
{
    PyObject *body_force, *result = NULL;
    Py_buffer view;
    double end;
    if (!PyArg_ParseTuple(args, "Od", &body_force, &end) ||
        mpm_python_get_buffer(body_force, &view, "body_force", "d", 2, 0))
        return NULL;
    mpm_simulation *core = enter(self);
    if (core && (view.shape[0] != mpm_simulation_get_store(core)->count ||
                 view.shape[1] != mpm_simulation_settings(core)->dim))
        PyErr_SetString(PyExc_ValueError, "body_force: wrong shape");
    else if (core)
        result = run(self, 1, end, INFINITY, view.buf);
    PyBuffer_Release(&view);
    return result;
}

/* Holds and releases in one call: Ctrl-C could come between a separate `hold` and the `try` after it. */
static PyObject *hold(PyObject *self, PyObject *pieces)
{
    simulation *s = (simulation *)self;
    if (!enter(self))
        return NULL;
    if (s->held) {
        PyErr_SetString(state_of(self)->busy_error, "the simulation is being run: wait for the run to end");
        return NULL;
    }
    s->held = 1;
    s->holder = PyThread_get_thread_ident();
    PyObject *result = PyObject_CallNoArgs(pieces);
    s->held = 0;
    return result;
}

/* ---- looking ---------------------------------------------------------------------------------------------------- */

static PyObject *stable_dt(PyObject *self, PyObject *unused)
{
    (void)unused;
    static const char *const names[] = {
        [MPM_LIMIT_NONE] = "none", [MPM_LIMIT_ISOLATED] = "isolated", [MPM_LIMIT_VISCOSITY] = "viscosity",
        [MPM_LIMIT_WAVE] = "wave", [MPM_LIMIT_MOTION] = "motion", [MPM_LIMIT_ACCELERATION] = "acceleration"};
    mpm_stable_dt bound;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    mpm_status status = mpm_simulation_stable_dt(core, &bound);
    return status ? finish(self, status) : Py_BuildValue("dsi", bound.dt, names[bound.limit], (int)bound.row);
}

static PyObject *field(PyObject *self, PyObject *argument)
{
    Py_ssize_t length;
    const char *name = PyUnicode_AsUTF8AndSize(argument, &length); /* NULL of a text that has no UTF-8 */
    if (!name && !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return NULL;
    mpm_store *store = mpm_simulation_get_store(((simulation *)self)->core); /* no run changes which fields there are */
    const int found = name && strlen(name) == (size_t)length ? mpm_fields_find(&store->fields, name) : -1;
    if (found < 0) {
        PyErr_SetObject(PyExc_KeyError, argument);
        return NULL;
    }
    mpm_view *view;
    if (!enter(self))
        return NULL;
    const mpm_status status = mpm_store_get(store, found, &view);
    if (status)
        return finish(self, status);
    mpm_view_retain(view); /* creating an object may collect garbage, which may run any Python code */
    PyObject *object = mpm_python_field_new(state_of(self), view, store->fields.row[found].rank, store->fields.dim);
    mpm_view_release(view);
    return object;
}

static PyObject *fields(PyObject *self, PyObject *unused)
{
    (void)unused;
    return mpm_python_fields(&mpm_simulation_get_store(((simulation *)self)->core)->fields); /* safe: no run adds fields */
}

static PyObject *add_field(PyObject *self, PyObject *args)
{
    const char *name, *unit, *rank;
    double initial;
    if (!PyArg_ParseTuple(args, "sssd", &name, &unit, &rank, &initial))
        return NULL;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    const mpm_status status =
        mpm_store_add_field(mpm_simulation_get_store(core), name, unit, mpm_python_rank_of(rank), initial);
    if (status != MPM_TOO_LARGE)
        return finish(self, status);
    PyErr_Format(PyExc_ValueError, "fields: no room for '%s': a name has 31 bytes at most, a unit 15, and a simulation %d "
                 "fields", name, MPM_MOST_FIELDS);
    return NULL;
}

static PyObject *totals(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_totals t;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    mpm_status status = mpm_simulation_totals(core, &t);
    if (status)
        return finish(self, status);
    const int dim = mpm_simulation_settings(core)->dim;
    return Py_BuildValue("{s:d,s:d,s:N,s:N,s:N,s:d,s:d,s:d}", "time", t.time, "mass", t.mass, "momentum",
                         mpm_python_float_list(t.momentum, dim), "center_of_mass",
                         mpm_python_float_list(t.center_of_mass, dim), "angular_momentum",
                         mpm_python_float_list(t.angular_momentum + (dim == 2 ? 2 : 0), dim == 2 ? 1 : 3), "kinetic",
                         t.kinetic, "elastic", t.elastic, "gravitational", t.gravitational);
}

struct posed_collider {
    const mpm_collider *collider;
    mpm_collider_state state;
};

static mpm_shape_reading measure_collider(const void *context, const double x[3])
{
    const struct posed_collider *posed = context;
    return mpm_collider_read(posed->collider, &posed->state, x, UINT64_MAX);
}

static PyObject *collider_distance(PyObject *self, PyObject *args)
{
    Py_ssize_t index;
    PyObject *points;
    double time;
    mpm_simulation *core;
    if (!PyArg_ParseTuple(args, "nOd", &index, &points, &time) || !(core = enter(self)))
        return NULL;
    const mpm_boundary *boundary = mpm_simulation_get_boundary(core);
    if (index < 0 || (size_t)index >= boundary->count) {
        PyErr_SetString(PyExc_ValueError, "index: no such collider");
        return NULL;
    }
    const mpm_collider *collider = &boundary->colliders[index];
    struct posed_collider posed = {collider, mpm_collider_state_at(collider, time, 0)};
    return mpm_python_distances(points, boundary->dim, measure_collider, &posed);
}

static PyObject *history_names(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    const mpm_history *history = &mpm_simulation_get_run(core)->history;
    PyObject *list = PyList_New(0);
    mpm_history_column column;
    for (int i = 0; list && (column = mpm_history_get(history, i)).width; i++) {
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
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    const mpm_history *history = &mpm_simulation_get_run(core)->history;
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

static PyObject *grid(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    const mpm_settings *settings = mpm_simulation_settings(core);
    const Py_ssize_t nodes = (Py_ssize_t)mpm_simulation_grid(core, NULL, NULL, NULL), dim = settings->dim;
    const Py_ssize_t size = (Py_ssize_t)settings->real_size;
    PyObject *x = PyBytes_FromStringAndSize(NULL, nodes * dim * (Py_ssize_t)sizeof(double));
    PyObject *mass = PyBytes_FromStringAndSize(NULL, nodes * size);
    PyObject *v = PyBytes_FromStringAndSize(NULL, nodes * dim * size);
    if (!x || !mass || !v) {
        Py_XDECREF(x);
        Py_XDECREF(mass);
        Py_XDECREF(v);
        return NULL;
    }
    mpm_simulation_grid(core, (double *)PyBytes_AsString(x), PyBytes_AsString(mass), PyBytes_AsString(v));
    return Py_BuildValue("NNN", x, mass, v);
}

/* A dict from names to values; takes the references of the values. */
static PyObject *name_values(const char *const *names, PyObject *(*value)(const mpm_run *run, int index), PyObject *self)
{
    const mpm_simulation *core = enter(self);
    PyObject *dict = core ? PyDict_New() : NULL;
    for (int k = 0; dict && names[k]; k++) {
        PyObject *one = value(mpm_simulation_get_run(core), k);
        if (!one || PyDict_SetItemString(dict, names[k], one))
            Py_CLEAR(dict);
        Py_XDECREF(one);
    }
    return dict;
}

static const mpm_method *method_of(PyObject *self)
{
    return mpm_simulation_get_run(((simulation *)self)->core)->method;
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

static PyObject *snapshot(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_totals t;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    mpm_status status = mpm_simulation_totals(core, &t); /* reads in views */
    return status ? finish(self, status) : mpm_python_snapshot(core);
}

static PyObject *restore(PyObject *self, PyObject *arrays)
{
    mpm_simulation *core = enter(self);
    return core ? mpm_python_restore(core, arrays) : NULL;
}

static PyObject *memory(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    size_t particles, grid_bytes, views, colliders;
    mpm_simulation_memory(core, &particles, &grid_bytes, &views, &colliders);
    return Py_BuildValue("{s:n,s:n,s:n,s:n}", "particles", (Py_ssize_t)particles, "grid", (Py_ssize_t)grid_bytes,
                         "views", (Py_ssize_t)views, "colliders", (Py_ssize_t)colliders);
}

enum { TIME, DT, STEPS, PARTICLES, NEXT_ID, THREADS };

static PyObject *get_number(PyObject *self, void *which)
{
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    const mpm_run *run = mpm_simulation_get_run(core);
    const mpm_store *store = mpm_simulation_get_store(core);
    switch ((intptr_t)which) {
    case TIME:
        return PyFloat_FromDouble(run->time);
    case DT:
        return PyFloat_FromDouble(run->dt);
    case STEPS:
        return PyLong_FromLongLong(run->steps);
    case PARTICLES:
        return PyLong_FromSsize_t(store->count);
    case NEXT_ID:
        return PyLong_FromLongLong(store->next_id);
    default:
        return PyLong_FromLong(run->threads);
    }
}

static int set_threads(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    const long threads = value ? PyLong_AsLong(value) : -1;
    if (PyErr_Occurred())
        return -1;
    mpm_simulation *core = enter(self);
    if (!core)
        return -1;
    if (mpm_python_check_threads(threads))
        return -1;
    mpm_simulation_set_threads(core, (int)threads);
    return 0;
}

static PyMethodDef methods[] = {
    {"add_material", add_material, METH_VARARGS, "add_material(law, parameters) -> index"},
    {"add_collider", add_collider, METH_VARARGS,
     "add_collider(name, contact, friction, nodes, numbers, reference, motion, vector, frequency, keys)"},
    {"collider_distance", collider_distance, METH_VARARGS,
     "collider_distance(index, points, time) -> (phi (m,), normal (m, d)) at that time [s], float64 as bytes."},
    {"add_particles", add_particles, METH_VARARGS,
     "add_particles(x, v, C, F, volume, mass, material); C, F may be None: 0, identity"},
    {"delete_particles", delete_particles, METH_O, "delete_particles(mask) -> number removed"},
    {"step", simulation_step, METH_VARARGS, "step(n, pause=inf): n whole steps, or to the first that reaches pause [s]"},
    {"run", simulation_run, METH_VARARGS,
     "run(end, pause=inf): advance to exactly the time end [s], or to the first step that reaches pause [s]"},
    {"step_forced", simulation_step_forced, METH_VARARGS,
     "step_forced(body_force, end): one step with the accelerations (n, d), to the time end [s] at most"},
    {"hold", hold, METH_O, "Calls pieces(); meanwhile calls from other threads raise BusyError."},
    {"stable_dt", stable_dt, METH_NOARGS, "(bound [s], limit, row or -1)"},
    {"field", field, METH_O, "field(name) -> Field"},
    {"fields", fields, METH_NOARGS, "The table of fields, a dict per row."},
    {"add_field", add_field, METH_VARARGS, "add_field(name, unit, rank, initial): a field that no step changes"},
    {"totals", totals, METH_NOARGS, "Conserved quantities of the present state."},
    {"history_names", history_names, METH_NOARGS, "[(name, columns)]"},
    {"history_array", history_array, METH_O, "history_array(index) -> bytes of float64"},
    {"grid", grid, METH_NOARGS, "(x, mass, v) of the active nodes of the last step, as bytes."},
    {"health", health, METH_NOARGS, "Counters."},
    {"seconds", seconds, METH_NOARGS, "Seconds by the clock that all runs have spent, per phase."},
    {"snapshot", snapshot, METH_NOARGS, "The complete state as a dict of bytes."},
    {"restore", restore, METH_O, "restore(arrays): what `snapshot` gave, in a new simulation"},
    {"memory", memory, METH_NOARGS, "Bytes held."},
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

static PyType_Slot simulation_slots[] = {
    {Py_tp_doc, "A simulation in the C core. Private: use mpm.Simulation."},
    {Py_tp_new, simulation_new},
    {Py_tp_traverse, simulation_traverse},
    {Py_tp_dealloc, simulation_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

PyType_Spec mpm_python_simulation_spec = {
    .name = "mpm._core.Simulation",
    .basicsize = sizeof(simulation),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = simulation_slots,
};
