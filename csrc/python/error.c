/* SPDX-License-Identifier: MIT
 *
 * Turns statuses of the core into Python exceptions. mpm/base/messages.py words what happened and what helps.
 */
#include <stdio.h>
#include <string.h>

#include "python/core.h"

static PyObject *row_list(const mpm_error *error)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < error->row_count; i++)
        mpm_python_append(&list, PyLong_FromLong(error->rows[i]));
    return list;
}

static void set_and_drop(PyObject *object, const char *name, PyObject *value)
{
    if (value)
        PyObject_SetAttrString(object, name, value);
    Py_XDECREF(value);
}

PyObject *mpm_python_residuals(const mpm_newton *newton)
{
    return mpm_python_float_list(newton->residual, newton->iterations + 1);
}

/* Raises an exception of `type` with a message. Takes the message, `rows` and `residuals`; NULL for the latter: there
 * are none, for the others: an exception is set already. */
static PyObject *raise_error(PyObject *type, long long steps, double time, PyObject *text, PyObject *rows,
                             PyObject *residuals)
{
    PyObject *error = text && rows ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
    Py_XDECREF(text);
    if (!error) {
        Py_XDECREF(rows);
        Py_XDECREF(residuals);
        return NULL;
    }
    set_and_drop(error, "step", PyLong_FromLongLong(steps));
    set_and_drop(error, "time", PyFloat_FromDouble(time));
    set_and_drop(error, "rows", rows);
    set_and_drop(error, "residuals", residuals);
    if (!PyErr_Occurred())
        PyErr_SetObject(type, error);
    Py_DECREF(error);
    return NULL;
}

PyObject *mpm_python_raise_in_system(PyObject *type, long long steps, double time, const char *reason,
                                     const char *method, double dt, PyObject *said, PyObject *residuals)
{
    PyObject *module = PyImport_ImportModule("mpm.base.messages"), *text = NULL;
    if (module)
        text = PyObject_CallMethod(module, "in_system", "LdssdO", steps, time, reason, method, dt, said);
    Py_XDECREF(module);
    return raise_error(type, steps, time, text, text ? PyList_New(0) : NULL, residuals);
}

/* What a message says of an error. */
struct facts {
    long long steps;
    double time;
    mpm_error error;
    const char *reason, *row, *size;
    char name[400];
    mpm_field field;
    bool has_field;
};

static void take_facts(struct facts *facts, const mpm_run *run)
{
    const mpm_error *error = &run->error;
    facts->steps = run->steps;
    facts->time = run->time;
    facts->error = *error;
    facts->reason = mpm_error_reason(error->reason, run->method->reasons);
    facts->row = error->row ? error->row : run->method->row;
    facts->size = run->method->size;
    facts->has_field = error->field;
    facts->field = error->field ? *error->field : (mpm_field){0};
    snprintf(facts->name, sizeof facts->name, "%s", error->name ? error->name : "");
}

/* The words are Python's. */
static PyObject *message_of(const struct facts *facts)
{
    const mpm_error *t = &facts->error;
    const mpm_field *f = &facts->field;
    PyObject *module = PyImport_ImportModule("mpm.base.messages"), *text = NULL;
    PyObject *field = !facts->has_field
                          ? Py_NewRef(Py_None)
                          : Py_BuildValue("sddNNN", f->name, f->low, f->high, PyBool_FromLong(f->low_closed),
                                          PyBool_FromLong(f->check == MPM_CHECK_DET),
                                          PyBool_FromLong(f->owner == MPM_OWNER_LAW));
    if (module && field)
        text = PyObject_CallMethod(module, "message", "Ld(sdsssi(dd)LiO)", facts->steps, facts->time, facts->reason,
                                   t->dt, facts->row, facts->size, facts->name, t->kind, t->value[0], t->value[1],
                                   (long long)t->count, t->row_count > 0 ? (int)t->rows[0] : -1, field);
    Py_XDECREF(module);
    Py_XDECREF(field);
    return text;
}

static PyObject *raise_noted(PyObject *type, PyObject *self, bool with_residuals)
{
    /* Creating objects may collect garbage, which may run any Python code. So the facts are copied first. */
    const mpm_python_core *core = (mpm_python_core *)self;
    struct facts facts;
    take_facts(&facts, core->run);
    PyObject *residuals = with_residuals ? core->residuals(core->run->self) : NULL;
    PyObject *text = message_of(&facts);
    return raise_error(type, facts.steps, facts.time, text, text ? row_list(&facts.error) : NULL, residuals);
}

PyObject *mpm_python_raise(PyObject *self, mpm_status status)
{
    const module_state *state = mpm_python_state(Py_TYPE(self));
    switch (status) {
    case MPM_OUT_OF_MEMORY:
        return PyErr_NoMemory();
    case MPM_TOO_LARGE:
        PyErr_Format(PyExc_ValueError, "too many %ss for one simulation (the limit is 2^30)",
                     ((mpm_python_core *)self)->run->method->row);
        return NULL;
    case MPM_BAD_ARGUMENT:
        PyErr_SetString(PyExc_ValueError, "an argument does not exist or is out of its range");
        return NULL;
    case MPM_BAD_STATE:
        return raise_noted(state->simulation_error, self, false);
    case MPM_UNSTABLE:
        return raise_noted(state->instability_error, self, false);
    case MPM_NO_CONVERGENCE:
        return raise_noted(state->convergence_error, self, true);
    case MPM_ESCAPED:
        return raise_noted(state->escape_error, self, false);
    case MPM_DEVICE_FAILED:
        return raise_noted(state->device_error, self, false);
    default: /* interrupted: the signal handler has raised its exception */
        if (!PyErr_Occurred())
            PyErr_SetNone(PyExc_KeyboardInterrupt);
        return NULL;
    }
}
