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

static int get_walls(PyObject *walls, int count, mpm_wall *out)
{
    static const char *const names[] = {
        [MPM_STICKY] = "sticky", [MPM_SLIP] = "slip", [MPM_SEPARATE] = "separate", [MPM_MIRROR] = "mirror",
        [MPM_PERIODIC] = "periodic"};
    enum { CONTACTS = sizeof names / sizeof *names };
    if (!PySequence_Check(walls) || PySequence_Size(walls) != count) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "walls: expected %d pairs", count);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        PyObject *pair = PySequence_GetItem(walls, i);
        const char *name;
        double friction;
        int known = 0, parsed = pair && PyTuple_Check(pair) && PyArg_ParseTuple(pair, "sd", &name, &friction);
        for (int k = 0; parsed && k < CONTACTS; k++)
            if (!strcmp(names[k], name)) {
                out[i] = (mpm_wall){(mpm_contact)k, friction};
                known = 1;
            }
        Py_XDECREF(pair);
        if (!known) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_ValueError, "walls: entry %d is not (contact, friction)", i);
            return -1;
        }
    }
    return 0;
}

static int get_cells(PyObject *cells, int dim, int64_t *out)
{
    double values[3];
    if (mpm_python_get_doubles(cells, "cells", values, dim))
        return -1;
    for (int a = 0; a < dim; a++) {
        if (!(values[a] >= 1 && values[a] <= MPM_MOST_CELLS)) {
            PyErr_Format(PyExc_ValueError, "cells: the domain must have 1 to %d cells along every axis", MPM_MOST_CELLS);
            return -1;
        }
        out[a] = (int64_t)values[a];
    }
    return 0;
}

static int get_leave(const char *name, mpm_leave *out)
{
    static const char *const names[] = {
        [MPM_LEAVE_RAISE] = "raise", [MPM_LEAVE_CLAMP] = "clamp", [MPM_LEAVE_DELETE] = "delete"};
    for (int k = 0; k < 3; k++)
        if (!strcmp(names[k], name)) {
            *out = (mpm_leave)k;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "on_leave: '%s' is not \"raise\", \"clamp\" or \"delete\"", name);
    return -1;
}

/* Index of `name` among `names`, or -1. */
static int find_name(const char *name, const char *const *names, int count)
{
    for (int k = 0; k < count; k++)
        if (!strcmp(names[k], name))
            return k;
    return -1;
}

static int get_scheme(PyObject *scheme, mpm_scheme *out)
{
    static const char *const transfers[] = {
        [MPM_PIC] = "pic", [MPM_FLIP] = "flip", [MPM_APIC] = "apic", [MPM_AFLIP] = "aflip",
        [MPM_ASFLIP] = "asflip", [MPM_XPIC] = "xpic", [MPM_TPIC] = "tpic"};
    static const char *const kernels[] = {"linear", "quadratic", "cubic"};
    static const char *const gradients[] = {[MPM_GRADIENT_MLS] = "mls", [MPM_GRADIENT_BSPLINE] = "bspline"};
    const char *transfer, *kernel, *gradient;
    int advect_particle, cayley;
    if (!PyTuple_Check(scheme) ||
        !PyArg_ParseTuple(scheme, "sssdippd", &transfer, &kernel, &gradient, &out->flip_ratio, &out->xpic_order,
                          &advect_particle, &cayley, &out->c_keep)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "scheme: must be a tuple");
        return -1;
    }
    const int t = find_name(transfer, transfers, MPM_TRANSFER_COUNT), k = find_name(kernel, kernels, 3);
    const int g = find_name(gradient, gradients, 2);
    const int fits = t >= 0 && k >= 0 && g >= 0 && (k + 1 != MPM_LINEAR || g == MPM_GRADIENT_BSPLINE);
    if (!fits || !(out->flip_ratio >= 0 && out->flip_ratio <= 1) || !(out->c_keep >= 0 && out->c_keep <= 1) ||
        out->xpic_order < 1) {
        PyErr_SetString(PyExc_ValueError, "scheme: no such transfer, kernel or gradient, or a number out of range");
        return -1;
    }
    out->transfer = (mpm_transfer)t;
    out->degree = k + 1;
    out->gradient = (mpm_gradient)g;
    out->advect_particle = advect_particle;
    out->cayley = cayley;
    return 0;
}

static PyObject *simulation_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"dim",   "dtype",  "lower",          "cells",    "dx",      "gravity", "walls", "scheme", "dt",
                            "max_dt", "allow_unstable", "on_leave", "history", "threads", "isa",     NULL};
    mpm_settings settings = {0};
    const char *dtype, *on_leave;
    PyObject *lower, *cells, *gravity, *walls, *scheme;
    int allow_unstable;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$isOOdOOOddpsiis", names, &settings.dim, &dtype, &lower, &cells,
                                     &settings.dx, &gravity, &walls, &scheme, &settings.dt, &settings.max_dt, &allow_unstable,
                                     &on_leave, &settings.history, &settings.threads, &settings.isa))
        return NULL;
    if (settings.dim != 2 && settings.dim != 3) {
        PyErr_SetString(PyExc_ValueError, "dim: must be 2 or 3");
        return NULL;
    }
    settings.real_size = !strcmp(dtype, "float32") ? 4 : 8;
    settings.allow_unstable = allow_unstable;
    if (mpm_python_get_doubles(lower, "lower", settings.lower, settings.dim) ||
        mpm_python_get_doubles(gravity, "gravity", settings.gravity, settings.dim) ||
        get_cells(cells, settings.dim, settings.cells) || get_walls(walls, 2 * settings.dim, settings.walls) ||
        get_scheme(scheme, &settings.scheme) ||
        get_leave(on_leave, &settings.on_leave) || mpm_python_check_threads(settings.threads))
        return NULL;
    const char *flaw = mpm_settings_flaw(&settings);
    if (flaw) {
        PyErr_Format(PyExc_ValueError, "%s: out of range, or not to be had here", flaw);
        return NULL;
    }
    if (!mpm_dispatch_kernels(settings.isa, settings.dim, settings.real_size)->grid_block) {
        PyErr_Format(PyExc_ValueError, "isa: no kernels '%s' that take steps", settings.isa);
        return NULL;
    }
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
    if (core && (view.shape[0] != mpm_simulation_get_store(core)->count || view.shape[1] != mpm_simulation_settings(core)->dim))
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
    PyObject *name = PyUnicode_AsUTF8String(argument);
    if (!name)
        return NULL;
    mpm_simulation *core = enter(self);
    mpm_store *store = core ? mpm_simulation_get_store(core) : NULL;
    const int found = core ? mpm_fields_find(&store->fields, PyBytes_AsString(name)) : -1;
    Py_DECREF(name);
    if (!core)
        return NULL;
    if (found < 0) {
        PyErr_SetObject(PyExc_KeyError, argument);
        return NULL;
    }
    mpm_view *view;
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
    mpm_store *store = mpm_simulation_get_store(core);
    if (mpm_python_rank_of(rank) == MPM_RANKS || mpm_fields_find(&store->fields, name) >= 0) {
        PyErr_SetString(PyExc_ValueError, "rank: unknown, or name: there is such a field already");
        return NULL;
    }
    const mpm_status status = mpm_store_add_field(store, name, unit, mpm_python_rank_of(rank), initial);
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

static PyObject *get_time(PyObject *self, void *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    return core ? PyFloat_FromDouble(mpm_simulation_get_run(core)->time) : NULL;
}

static PyObject *get_dt(PyObject *self, void *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    return core ? PyFloat_FromDouble(mpm_simulation_get_run(core)->dt) : NULL;
}

static PyObject *get_steps(PyObject *self, void *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    return core ? PyLong_FromLongLong(mpm_simulation_get_run(core)->steps) : NULL;
}

static PyObject *get_particles(PyObject *self, void *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    return core ? PyLong_FromSsize_t(mpm_simulation_get_store(core)->count) : NULL;
}

static PyObject *get_next_id(PyObject *self, void *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    return core ? PyLong_FromLongLong(mpm_simulation_get_store(core)->next_id) : NULL;
}

static PyObject *get_threads(PyObject *self, void *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    return core ? PyLong_FromLong(mpm_simulation_get_run(core)->threads) : NULL;
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
    {"time", get_time, NULL, "time [s]", NULL},
    {"dt", get_dt, NULL, "last step [s]", NULL},
    {"steps", get_steps, NULL, "steps taken", NULL},
    {"particles", get_particles, NULL, "number of particles", NULL},
    {"next_id", get_next_id, NULL, "of the next particle that is added", NULL},
    {"threads", get_threads, set_threads, "threads of a run", NULL},
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
