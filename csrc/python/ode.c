/* SPDX-License-Identifier: MIT
 *
 * Integrators of ordinary differential equations for Python: the registry of steppers, runs of systems and of flows in
 * C, and of those that ask Python.
 */
#include "python/module.h"

#include <stdio.h>
#include <string.h>

/* ---- the registry ------------------------------------------------------------------------------------------------ */

static PyObject *describe(const mpm_stepper *s)
{
    return Py_BuildValue("{s:s,s:s,s:i,s:d,s:O,s:O,s:O,s:s}", "name", s->name, "formula", s->formula, "order", s->order,
                         "limit", s->limit, "symplectic", s->symplectic ? Py_True : Py_False, "implicit",
                         s->implicit ? Py_True : Py_False, "advects", s->advect ? Py_True : Py_False, "reference",
                         s->reference);
}

static PyObject *steppers(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && mpm_steppers_get(i); i++)
        mpm_python_append(&list, describe(mpm_steppers_get(i)));
    return list;
}

static const mpm_stepper *find_stepper(const char *name)
{
    for (int i = 0; mpm_steppers_get(i); i++)
        if (!strcmp(mpm_steppers_get(i)->name, name))
            return mpm_steppers_get(i);
    PyErr_Format(PyExc_ValueError, "method: there is no '%s'", name);
    return NULL;
}

/* ---- a call: its buffers, and the thread that lets Python in ----------------------------------------------------- */

enum {
    TIMES, X, V, ENERGY, DT, INVERSE_MASS, MASS, BODIES, NUMBERS,
    ASKED_X, ASKED_V, ASKED_F, ASKED_P, ASKED_Q, BUFFERS
};

struct call {
    Py_buffer buffer[BUFFERS]; /* releasing one that was not taken is harmless */
    mpm_allocator allocator;
    const mpm_stepper *stepper;
    mpm_trajectory trajectory;
    PyThreadState *saved; /* while Python is let go */
    ptrdiff_t count;      /* numbers of a state */
    PyObject *asked;      /* what answers for a system or a flow in Python, through arrays of its own */
    mpm_pair *pairs;
    mpm_pair_slope *slope;
    union {
        mpm_oscillator oscillator;
        mpm_pairs pairs;
        mpm_plane_field field;
    } model;
    mpm_system system;
    mpm_flow flow;
};

static void release(struct call *call)
{
    mpm_memory_free(&call->allocator, call->pairs);
    mpm_memory_free(&call->allocator, call->slope);
    for (int i = 0; i < BUFFERS; i++)
        PyBuffer_Release(&call->buffer[i]);
}

static int refuse(const char *what)
{
    PyErr_SetString(PyExc_ValueError, what);
    return -1;
}

static int take(struct call *call, int index, PyObject *object, const char *name, const char *format, int ndim,
                int writable)
{
    return mpm_python_get_buffer(object, &call->buffer[index], name, format, ndim, writable);
}

static Py_ssize_t length(const struct call *call, int index)
{
    return call->buffer[index].len / call->buffer[index].itemsize;
}

static int poll_signals(void *context)
{
    struct call *call = context;
    PyEval_RestoreThread(call->saved);
    const int stop = PyErr_CheckSignals();
    call->saved = PyEval_SaveThread();
    return stop;
}

/* ---- systems and flows in Python ----------------------------------------------------------------------------------
 * The object has methods that read and write the arrays. An exception waits in the thread until the run has ended. */

static mpm_status answer(struct call *call, PyObject *result, double *number)
{
    if (result && number)
        *number = PyFloat_AsDouble(result);
    Py_XDECREF(result);
    const mpm_status status = PyErr_Occurred() ? MPM_INTERRUPTED : MPM_OK;
    call->saved = PyEval_SaveThread();
    return status;
}

static mpm_status ask(struct call *call, const char *method, double t, double *number)
{
    PyEval_RestoreThread(call->saved);
    return answer(call, PyObject_CallMethod(call->asked, method, "d", t), number);
}

static void hand_over(struct call *call, int index, const double *numbers)
{
    memcpy(call->buffer[index].buf, numbers, (size_t)call->count * sizeof(double));
}

static void fetch(const struct call *call, int index, double *numbers)
{
    memcpy(numbers, call->buffer[index].buf, (size_t)call->count * sizeof(double));
}

static mpm_status ask_force(void *self, const double *x, const double *v, double t, double *f)
{
    struct call *call = self;
    hand_over(call, ASKED_X, x);
    hand_over(call, ASKED_V, v);
    const mpm_status status = ask(call, "force", t, NULL);
    fetch(call, ASKED_F, f);
    return status;
}

static mpm_status ask_linearize(void *self, const double *x, const double *v, double t)
{
    struct call *call = self;
    hand_over(call, ASKED_X, x);
    hand_over(call, ASKED_V, v);
    return ask(call, "linearize", t, NULL);
}

static mpm_status ask_multiply(void *self, double a, double b, const double *p, double *q)
{
    struct call *call = self;
    hand_over(call, ASKED_P, p);
    PyEval_RestoreThread(call->saved);
    const mpm_status status = answer(call, PyObject_CallMethod(call->asked, "multiply", "dd", a, b), NULL);
    fetch(call, ASKED_Q, q);
    return status;
}

static mpm_status ask_potential(void *self, const double *x, double t, double *energy)
{
    struct call *call = self;
    hand_over(call, ASKED_X, x);
    return ask(call, "potential", t, energy);
}

static mpm_status ask_rate(void *self, const double *x, double t, double *v)
{
    struct call *call = self;
    hand_over(call, ASKED_X, x);
    const mpm_status status = ask(call, "rate", t, NULL);
    fetch(call, ASKED_V, v);
    return status;
}

/* ---- from the tuples that describe a system or a flow ------------------------------------------------------------ */

static int read_oscillator(struct call *call, PyObject *description)
{
    mpm_oscillator *oscillator = &call->model.oscillator;
    if (!PyArg_ParseTuple(description, "sOdd", &(const char *){0}, &(PyObject *){0}, &oscillator->omega,
                          &oscillator->damping))
        return -1;
    oscillator->count = call->count;
    call->system = mpm_systems_oscillator(oscillator, call->buffer[INVERSE_MASS].buf);
    return 0;
}

static int copy_pairs(struct call *call)
{
    mpm_pairs *pairs = &call->model.pairs;
    const int32_t *bodies = call->buffer[BODIES].buf;
    const double *numbers = call->buffer[NUMBERS].buf;
    pairs->count = call->buffer[BODIES].shape[0];
    call->pairs = mpm_memory_new(&call->allocator, (size_t)pairs->count, sizeof *call->pairs);
    call->slope = mpm_memory_new(&call->allocator, (size_t)pairs->count, sizeof *call->slope);
    if (!call->pairs || !call->slope) {
        PyErr_NoMemory();
        return -1;
    }
    for (ptrdiff_t k = 0; k < pairs->count; k++, bodies += 2, numbers += 4) {
        if (bodies[0] < 0 || bodies[0] >= pairs->bodies || bodies[1] < 0 || bodies[1] >= pairs->bodies)
            return refuse("pairs: a body does not exist");
        call->pairs[k] = (mpm_pair){bodies[0], bodies[1], numbers[0], numbers[1], numbers[2], numbers[3]};
    }
    pairs->pairs = call->pairs;
    pairs->slope = call->slope;
    return 0;
}

static int read_pairs(struct call *call, PyObject *description)
{
    mpm_pairs *pairs = &call->model.pairs;
    PyObject *mass, *bodies, *numbers;
    double *g = pairs->gravity;
    if (!PyArg_ParseTuple(description, "sOiOOO(ddd)", &(const char *){0}, &(PyObject *){0}, &pairs->dim, &mass, &bodies,
                          &numbers, &g[0], &g[1], &g[2]) ||
        take(call, MASS, mass, "mass", "d", 1, 0) || take(call, BODIES, bodies, "bodies", "i", 2, 0) ||
        take(call, NUMBERS, numbers, "numbers", "d", 2, 0))
        return -1;
    if (pairs->dim < 1 || pairs->dim > 3 || call->count % pairs->dim ||
        length(call, MASS) != (pairs->bodies = call->count / pairs->dim) || call->buffer[BODIES].shape[1] != 2 ||
        call->buffer[NUMBERS].shape[1] != 4 || call->buffer[NUMBERS].shape[0] != call->buffer[BODIES].shape[0])
        return refuse("pairs: wrong shapes");
    pairs->mass = call->buffer[MASS].buf;
    if (copy_pairs(call))
        return -1;
    call->system = mpm_systems_pairs(pairs, call->buffer[INVERSE_MASS].buf);
    return 0;
}

static int read_asked(struct call *call, PyObject *description)
{
    PyObject *object[5];
    if (!PyArg_ParseTuple(description, "sOOOOOOO", &(const char *){0}, &(PyObject *){0}, &call->asked, &object[0],
                          &object[1], &object[2], &object[3], &object[4]))
        return -1;
    for (int i = 0; i < 5; i++)
        if (take(call, ASKED_X + i, object[i], "asked", "d", 0, 1))
            return -1;
        else if (length(call, ASKED_X + i) != call->count)
            return refuse("asked: wrong shapes");
    call->system = (mpm_system){call,         call->count,  call->buffer[INVERSE_MASS].buf, ask_force, ask_linearize,
                                ask_multiply, ask_potential};
    return 0;
}

static int read_system(struct call *call, PyObject *description)
{
    static const char *const kinds[] = {"oscillator", "pairs", "asked"};
    static int (*const read[])(struct call *, PyObject *) = {read_oscillator, read_pairs, read_asked};
    if (!PyTuple_Check(description) || PyTuple_Size(description) < 2)
        return refuse("system: expected a tuple");
    const char *kind = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(description, 0), NULL);
    const int index = kind ? mpm_python_find_name(kind, kinds, 3) : -1;
    if (index < 0)
        return PyErr_Occurred() ? -1 : refuse("system: unknown kind");
    if (take(call, INVERSE_MASS, PyTuple_GetItem(description, 1), "inverse_mass", "d", 0, 0))
        return -1;
    if (length(call, INVERSE_MASS) != call->count)
        return refuse("inverse_mass: wrong shape");
    return read[index](call, description);
}

static int read_asked_flow(struct call *call, PyObject *description)
{
    PyObject *x, *v;
    if (!PyArg_ParseTuple(description, "sOOO", &(const char *){0}, &call->asked, &x, &v) ||
        take(call, ASKED_X, x, "asked", "d", 0, 1) || take(call, ASKED_V, v, "asked", "d", 0, 1))
        return -1;
    if (length(call, ASKED_X) != call->count || length(call, ASKED_V) != call->count)
        return refuse("asked: wrong shapes");
    call->flow = (mpm_flow){call, call->count, ask_rate};
    return 0;
}

static int read_flow(struct call *call, PyObject *description)
{
    mpm_plane_field *field = &call->model.field;
    double *number = field->number;
    const mpm_plane_field_row *row;
    const char *kind;
    if (!PyTuple_Check(description) || PyTuple_Size(description) != 4 ||
        !(kind = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(description, 0), NULL)))
        return PyErr_Occurred() ? -1 : refuse("field: expected a tuple of four");
    if (!strcmp(kind, "asked"))
        return read_asked_flow(call, description);
    if (!PyArg_ParseTuple(description, "sddd", &kind, &number[0], &number[1], &number[2]))
        return -1;
    field->points = call->count / 2;
    for (int i = 0; (row = mpm_systems_plane_field(i)); i++)
        if (!strcmp(row->name, kind)) {
            call->flow = (mpm_flow){field, call->count, row->rate};
            return call->count % 2 ? refuse("x: not in the plane") : 0;
        }
    return refuse("field: unknown kind");
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* The arrays of the records; v and energy may be missing. */
static int read_records(struct call *call, PyObject *times, PyObject *x, PyObject *v, PyObject *energy, PyObject *dt)
{
    mpm_trajectory *run = &call->trajectory;
    if (run->steps < 0 || run->every < 1)
        return refuse("steps, every: expected at least 0 and 1");
    const int64_t records = run->steps / run->every + 1;
    if (take(call, TIMES, times, "times", "d", 1, 1) || take(call, X, x, "x", "d", 0, 1) ||
        take(call, DT, dt, "dt", "d", 1, 0) || (v && take(call, V, v, "v", "d", 0, 1)) ||
        (energy && take(call, ENERGY, energy, "energy", "d", 1, 1)))
        return -1;
    run->changing = length(call, DT) != 1;
    if (length(call, TIMES) != records || length(call, X) % records || (v && length(call, V) != length(call, X)) ||
        (energy && length(call, ENERGY) != records) || (run->changing && length(call, DT) != run->steps))
        return refuse("records: wrong shapes");
    call->count = length(call, X) / records;
    run->times = call->buffer[TIMES].buf;
    run->x = call->buffer[X].buf;
    run->v = call->buffer[V].buf;
    run->energy = call->buffer[ENERGY].buf;
    run->dt = call->buffer[DT].buf;
    return 0;
}

/* Places an error of the system's own functions among the steps. */
static PyObject *place_error(const mpm_stepper *stepper, const mpm_trajectory *run)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    const double taken_dt = run->taken ? run->dt[run->changing ? run->taken - 1 : 0] : 0;
    const char *where = run->failed_dt > 0 ? "next step" : run->taken ? "after a step" : "at the start";
    mpm_python_raise_in_system(type, run->taken, run->time, where, stepper->name,
                               run->failed_dt > 0 ? run->failed_dt : taken_dt, value, NULL);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return NULL;
}

static PyObject *raise(const module_state *state, mpm_status status, const mpm_stepper *stepper,
                       const mpm_trajectory *run)
{
    switch (status) {
    case MPM_OUT_OF_MEMORY:
        return PyErr_NoMemory();
    case MPM_UNSTABLE:
        return mpm_python_raise_in_system(state->instability_error, run->taken, run->time, "not finite",
                                          stepper->name, run->failed_dt, Py_None, NULL);
    case MPM_NO_CONVERGENCE:
        return mpm_python_raise_in_system(state->convergence_error, run->taken, run->time, "not solved",
                                          stepper->name, run->failed_dt, Py_None,
                                          mpm_python_residuals(&run->newton));
    default: /* interrupted: a signal handler or what was asked has raised its exception */
        if (!PyErr_Occurred())
            PyErr_SetNone(PyExc_KeyboardInterrupt);
        return PyErr_ExceptionMatches(state->simulation_error) ? place_error(stepper, run) : NULL;
    }
}

static PyObject *run(struct call *call, const module_state *state, bool flow)
{
    mpm_trajectory *trajectory = &call->trajectory;
    trajectory->poll = poll_signals;
    trajectory->context = call;
    call->saved = PyEval_SaveThread();
    const mpm_status status =
        flow ? mpm_trajectory_advect(trajectory, &call->allocator, call->stepper, &call->flow)
             : mpm_trajectory_integrate(trajectory, &call->allocator, call->stepper, &call->system);
    PyEval_RestoreThread(call->saved);
    if (status)
        return raise(state, status, call->stepper, trajectory);
    return PyErr_CheckSignals() ? NULL : Py_NewRef(Py_None);
}

static PyObject *integrate(PyObject *module, PyObject *args)
{
    const module_state *state = PyModule_GetState(module);
    struct call call = {.allocator = state->allocator};
    PyObject *system, *times, *x, *v, *energy, *dt, *result = NULL;
    long long steps, every;
    const char *method;
    if (!PyArg_ParseTuple(args, "OsOOOOOLL", &system, &method, &times, &x, &v, &energy, &dt, &steps, &every))
        return NULL;
    call.trajectory = (mpm_trajectory){.steps = steps, .every = every};
    if ((call.stepper = find_stepper(method)) && !read_records(&call, times, x, v, energy, dt) &&
        !read_system(&call, system))
        result = run(&call, state, false);
    release(&call);
    return result;
}

static PyObject *advect(PyObject *module, PyObject *args)
{
    const module_state *state = PyModule_GetState(module);
    struct call call = {.allocator = state->allocator};
    PyObject *field, *times, *x, *dt, *result = NULL;
    long long steps, every;
    const char *method;
    if (!PyArg_ParseTuple(args, "OsOOOLL", &field, &method, &times, &x, &dt, &steps, &every))
        return NULL;
    call.trajectory = (mpm_trajectory){.steps = steps, .every = every};
    if ((call.stepper = find_stepper(method)) && !call.stepper->advect)
        PyErr_Format(PyExc_ValueError, "method: '%s' does not advect", method);
    else if (call.stepper && !read_records(&call, times, x, NULL, NULL, dt) && !read_flow(&call, field))
        result = run(&call, state, true);
    release(&call);
    return result;
}

PyMethodDef mpm_python_ode_methods[] = {
    {"steppers", steppers, METH_NOARGS, "The registry of steppers as a list of dicts."},
    {"integrate", integrate, METH_VARARGS,
     "integrate(system, method, times, x, v, energy, dt, steps, every)\n--\n\n"
     "Steps the system from the first rows of x and v and fills the rows of records."},
    {"advect", advect, METH_VARARGS,
     "advect(field, method, times, x, dt, steps, every)\n--\n\n"
     "Moves the points of the first row of x with the field and fills the rows of records."},
    {NULL, NULL, 0, NULL},
};
