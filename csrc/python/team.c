/* SPDX-License-Identifier: MIT
 *
 * Teams of processes: a transport whose bytes an object of Python moves (mpm/solver/team.py), and one of threads, for
 * tests.
 *
 * A run has released the interpreter lock, so every call takes it. An exception that a poll has left waits meanwhile.
 */
#include <math.h>
#include <string.h>

#include "mpm/replicas.h"
#include "ranks/threads.h"
#include "python/core.h"

/* ---- a transport in Python -------------------------------------------------------------------------------------- */

/* What a call of the object needs, and what it leaves behind. */
struct call {
    mpm_python_core *core;
    PyGILState_STATE lock;
    PyObject *type, *value, *traceback; /* of the exception before it */
};

static struct call begin(void *context)
{
    struct call call = {.core = context, .lock = PyGILState_Ensure()};
    PyErr_Fetch(&call.type, &call.value, &call.traceback);
    return call;
}

/* Calls a method with a tuple, which it takes. After an exception no bytes move any more, and the run raises it. */
static mpm_status end(struct call *call, const char *name, PyObject *arguments)
{
    PyObject *method = arguments ? PyObject_GetAttrString(call->core->team, name) : NULL;
    PyObject *result = method ? PyObject_CallObject(method, arguments) : NULL;
    const mpm_status status = result ? MPM_OK : MPM_INTERRUPTED;
    call->core->team_broken |= !result;
    Py_XDECREF(arguments);
    Py_XDECREF(method);
    Py_XDECREF(result);
    if (call->type)
        PyErr_Restore(call->type, call->value, call->traceback);
    PyGILState_Release(call->lock);
    return status;
}

static PyObject *bytes_of(void *memory, size_t bytes)
{
    return PyMemoryView_FromMemory(bytes ? memory : "", (Py_ssize_t)bytes, PyBUF_WRITE);
}

static mpm_status exchange(void *context, const mpm_message *messages, size_t count)
{
    if (((mpm_python_core *)context)->team_broken)
        return MPM_INTERRUPTED;
    struct call call = begin(context);
    PyObject *list = PyList_New(0);
    for (size_t m = 0; m < count && list; m++) {
        const mpm_message *one = &messages[m];
        mpm_python_append(&list, Py_BuildValue("(iNN)", (int)one->process, bytes_of((void *)one->out, one->out_bytes),
                                               bytes_of(one->in, one->in_bytes)));
    }
    return end(&call, "exchange", list ? Py_BuildValue("(N)", list) : NULL);
}

/* Doubles as integers of the same order, so that no comparison of doubles elsewhere decides; NaN is below all. */
static int64_t key_of(double number)
{
    int64_t bits;
    if (isnan(number))
        return INT64_MIN;
    memcpy(&bits, &number, sizeof bits);
    return bits >= 0 ? bits : bits ^ INT64_MAX;
}

static double number_of(int64_t key)
{
    double number;
    if (key == INT64_MIN)
        return (double)NAN;
    key = key >= 0 ? key : key ^ INT64_MAX;
    memcpy(&number, &key, sizeof number);
    return number;
}

static mpm_status reduce(void *context, int64_t *sums, size_t sum_count, double *most, size_t most_count)
{
    int64_t keys[MPM_TEAM_NUMBERS + 1];
    if (((mpm_python_core *)context)->team_broken)
        return MPM_INTERRUPTED;
    if (most_count > sizeof keys / sizeof *keys)
        return MPM_TOO_LARGE;
    for (size_t k = 0; k < most_count; k++)
        keys[k] = key_of(most[k]);
    struct call call = begin(context);
    PyObject *arguments = Py_BuildValue("(NN)", bytes_of(sums, sum_count * sizeof *sums),
                                        bytes_of(keys, most_count * sizeof *keys));
    const mpm_status status = end(&call, "reduce", arguments);
    for (size_t k = 0; k < most_count && !status; k++)
        most[k] = number_of(keys[k]);
    return status;
}

static mpm_simulation *enter(PyObject *self)
{
    const mpm_python_core *core = mpm_python_core_enter(self);
    return core ? core->run->self : NULL;
}

static PyObject *join(PyObject *self, mpm_simulation *simulation, const mpm_transport *transport, bool distributed,
                      PyObject *team)
{
    mpm_status status = mpm_replicas_join(simulation, transport);
    if (!status && distributed && (status = mpm_replicas_distribute(simulation)))
        mpm_replicas_leave(simulation);
    if (status == MPM_BAD_ARGUMENT) {
        PyErr_SetString(PyExc_NotImplementedError, "rigid bodies, a team already, or particles before memory is "
                                                   "distributed");
        return NULL;
    }
    mpm_python_core *core = (mpm_python_core *)self;
    if (!status && team && !core->team)
        core->team = Py_NewRef(team);
    return mpm_python_core_finish(self, status);
}

PyObject *mpm_python_team_join(PyObject *self, PyObject *args)
{
    PyObject *team;
    int processes, own, distributed = 0;
    if (!PyArg_ParseTuple(args, "Oii|p", &team, &processes, &own, &distributed))
        return NULL;
    if (processes < 1 || processes >= MPM_TEAM_PROCESSES || own < 0 || own >= processes) {
        PyErr_SetString(PyExc_ValueError, "process: the team has no such process");
        return NULL;
    }
    mpm_simulation *simulation = enter(self);
    if (!simulation)
        return NULL;
    mpm_python_core *core = (mpm_python_core *)self;
    const mpm_transport transport = {core, processes, own, exchange, reduce};
    core->team_broken = 0;
    return join(self, simulation, &transport, distributed, team);
}

PyObject *mpm_python_team_failing(PyObject *self, PyObject *unused)
{
    (void)unused;
    const mpm_simulation *simulation = enter(self);
    return simulation ? PyLong_FromLong(simulation->team ? simulation->team->failing : -1) : NULL;
}

PyObject *mpm_python_team_holder(PyObject *self, PyObject *args)
{
    int row;
    if (!PyArg_ParseTuple(args, "i", &row))
        return NULL;
    const mpm_simulation *simulation = enter(self);
    return simulation ? PyLong_FromLong(mpm_replicas_holder(simulation, row)) : NULL;
}

PyObject *mpm_python_team_migrations(PyObject *self, PyObject *unused)
{
    (void)unused;
    const mpm_simulation *simulation = enter(self);
    const mpm_team *team = simulation ? &simulation->own_team : NULL;
    return team ? Py_BuildValue("(LLL)", (long long)team->migrated, (long long)team->crossed, (long long)team->spent)
                : NULL;
}

PyObject *mpm_python_team_leave(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_simulation *simulation = enter(self);
    if (!simulation)
        return NULL;
    if (mpm_replicas_leave(simulation))
        Py_CLEAR(((mpm_python_core *)self)->team);
    Py_RETURN_NONE;
}

/* ---- a team of threads ------------------------------------------------------------------------------------------ */

static const char of_threads[] = "mpm._core.threads";

static void free_threads(PyObject *capsule)
{
    mpm_threads_free(PyCapsule_GetPointer(capsule, of_threads));
}

PyObject *mpm_python_team_of_threads(PyObject *self, PyObject *args)
{
    int processes;
    mpm_threads *threads;
    const mpm_allocator allocator = mpm_memory_default();
    (void)self;
    if (!PyArg_ParseTuple(args, "i", &processes))
        return NULL;
    if (mpm_threads_new(&threads, &allocator, processes)) {
        PyErr_SetString(PyExc_ValueError, "processes: none can be made");
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(threads, of_threads, free_threads);
    if (!capsule)
        mpm_threads_free(threads);
    return capsule;
}

PyObject *mpm_python_team_join_threads(PyObject *self, PyObject *args)
{
    PyObject *capsule;
    int process;
    mpm_simulation *simulation = enter(self);
    if (!simulation || !PyArg_ParseTuple(args, "Oi", &capsule, &process))
        return NULL;
    mpm_threads *threads = PyCapsule_GetPointer(capsule, of_threads);
    if (!threads)
        return NULL;
    if (process < 0 || process >= mpm_threads_transport(threads, 0).processes) {
        PyErr_SetString(PyExc_ValueError, "process: the team has no such process");
        return NULL;
    }
    const mpm_transport transport = mpm_threads_transport(threads, process);
    return join(self, simulation, &transport, false, NULL);
}
