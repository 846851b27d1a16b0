/* SPDX-License-Identifier: MIT
 *
 * Laws of users, from addresses of compiled functions. Python has checked what it is given (mpm/materials/userlaws.py).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/module.h"

#define CAPSULE "mpm.user_law"

enum { TEXT = 64 };

/* A law with the texts that its row refers to. */
typedef struct user_law {
    mpm_user_law law; /* first, so that a pointer to it is one to the whole */
    char name[TEXT], field_name[MPM_LAW_FIELDS][TEXT], field_unit[MPM_LAW_FIELDS][TEXT];
} user_law;

static void free_law(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, CAPSULE));
}

/* Copies a text that must fit. Returns -1 with an exception if it does not. */
static int copy_text(char text[TEXT], const char *given, const char *what)
{
    if (snprintf(text, TEXT, "%s", given) < TEXT)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s: must have fewer than %d characters", what, TEXT);
    return -1;
}

/* Reads (name, unit, rank, initial, low, high, closed, scales_volume). */
static int get_field(PyObject *tuple, user_law *user, int index)
{
    mpm_history_field *field = &user->law.row.field[index];
    const char *name, *unit, *rank;
    int closed, scales_volume;
    if (!PyArg_ParseTuple(tuple, "sssdddpp", &name, &unit, &rank, &field->initial, &field->low, &field->high, &closed,
                          &scales_volume) ||
        copy_text(user->field_name[index], name, "history") || copy_text(user->field_unit[index], unit, "unit"))
        return -1;
    const int found = (int)mpm_python_rank_of(rank);
    if (found < 0) {
        PyErr_Format(PyExc_ValueError, "rank: unknown name '%s'", rank);
        return -1;
    }
    field->rank = (mpm_rank)found;
    field->name = user->field_name[index];
    field->unit = user->field_unit[index];
    field->meaning = "";
    field->closed = closed;
    field->scales_volume = scales_volume;
    return 0;
}

static int get_history(PyObject *fields, user_law *user)
{
    const Py_ssize_t count = PySequence_Size(fields);
    if (count < 0)
        return -1;
    if (count > MPM_LAW_FIELDS) {
        PyErr_Format(PyExc_ValueError, "history: has %zd fields; must have at most %d", count, (int)MPM_LAW_FIELDS);
        return -1;
    }
    for (int f = 0; f < (int)count; f++) {
        PyObject *item = PySequence_GetItem(fields, f);
        const int flaw = item ? get_field(item, user, f) : -1;
        Py_XDECREF(item);
        if (flaw)
            return -1;
    }
    user->law.row.fields = (int)count;
    if (mpm_law_history(&user->law.row, 3) > MPM_LAW_HISTORY) {
        PyErr_Format(PyExc_ValueError, "history: has %d components in 3-D; must have at most %d",
                     mpm_law_history(&user->law.row, 3), (int)MPM_LAW_HISTORY);
        return -1;
    }
    return 0;
}

static PyObject *new_user_law(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    PyObject *parameters, *fields;
    unsigned long long evaluate, context, map, map_context;
    int moduli, kinked;
    static const mpm_parameter density = {.name = "density", "kg/m3", 0, INFINITY, true, true, "initial density"};
    user_law *user = PyMem_Calloc(1, sizeof *user);
    if (!user)
        return PyErr_NoMemory();
    mpm_law *row = &user->law.row;
    if (!PyArg_ParseTuple(args, "sOOddKKKKidp", &name, &parameters, &fields, &row->J_low, &row->J_high, &evaluate,
                          &context, &map, &map_context, &moduli, &user->law.bound, &kinked) ||
        copy_text(user->name, name, "name") || get_history(fields, user))
        goto wrong;
    const Py_ssize_t count = PySequence_Size(parameters);
    if (count < 0 || count > MPM_USER_PARAMETERS) {
        if (count >= 0)
            PyErr_Format(PyExc_ValueError, "parameters: has %zd numbers; must have at most %d", count,
                         (int)MPM_USER_PARAMETERS);
        goto wrong;
    }
    if (mpm_python_get_doubles(parameters, "parameters", user->law.parameters, count))
        goto wrong;
    if (!evaluate || moduli < MPM_USER_OWN || moduli > MPM_USER_BOUND) {
        PyErr_SetString(PyExc_ValueError, "evaluate, moduli: out of range");
        goto wrong;
    }
    row->name = user->name;
    row->strain = MPM_KEEPS_F;
    row->kinked = kinked;
    row->parameters = 1;
    row->parameter = &density;
    row->reference = "";
    user->law.evaluate = (mpm_user_evaluate *)(uintptr_t)evaluate;
    user->law.return_map = (mpm_user_return_map *)(uintptr_t)map;
    user->law.context = (void *)(uintptr_t)context;
    user->law.map_context = (void *)(uintptr_t)map_context;
    user->law.moduli = (mpm_user_moduli)moduli;
    PyObject *capsule = PyCapsule_New(user, CAPSULE, free_law);
    if (capsule)
        return capsule;
wrong:
    PyMem_Free(user);
    return NULL;
}

const mpm_user_law *mpm_python_get_user_law(PyObject *capsule)
{
    const user_law *user = PyCapsule_GetPointer(capsule, CAPSULE);
    return user ? &user->law : NULL;
}

PyMethodDef mpm_python_user_law_methods[] = {
    {"user_law", new_user_law, METH_VARARGS,
     "user_law(name, parameters, history, J_low, J_high, evaluate, context, map, context, moduli, bound, kinked) -> "
     "law"},
    {NULL, NULL, 0, NULL},
};
