/* SPDX-License-Identifier: MIT
 *
 * The settings of a simulation, from the keywords with which Python makes one, and the tables behind them.
 */
#include <string.h>

#include "python/module.h"

/* ---- from keywords ---------------------------------------------------------------------------------------------- */

/* The number of a word; -1, which the core refuses, for others. -2 with an exception. */
static int get_word(PyObject *object, const mpm_option *row)
{
    const char *word;
    return PyArg_Parse(object, "s", &word) ? mpm_options_find_word(row, word) : -2;
}

static int get_cells(PyObject *object, const mpm_option *row, int dim, int64_t *out)
{
    double values[3];
    if (mpm_python_get_doubles(object, row->name, values, dim))
        return -1;
    for (int a = 0; a < dim; a++)
        out[a] = values[a] >= 0 && values[a] <= row->range.high ? (int64_t)values[a] : -1; /* which the core refuses */
    return 0;
}

static int get_walls(PyObject *walls, const char *name, int count, mpm_wall *out)
{
    if (!PySequence_Check(walls) || PySequence_Size(walls) != count) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s: expected %d tuples", name, count);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        PyObject *wall = PySequence_GetItem(walls, i);
        const char *contact;
        int found = -1;
        if (wall && PyTuple_Check(wall) &&
            PyArg_ParseTuple(wall, "sddddd", &contact, &out[i].friction, &out[i].restitution, &out[i].speeds[0],
                             &out[i].speeds[1], &out[i].friction_heat))
            found = mpm_rules_find(contact);
        Py_XDECREF(wall);
        if (found < 0) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_ValueError,
                             "%s: entry %d is not (contact, friction, restitution, speeds, friction_heat)", name, i);
            return -1;
        }
        out[i].contact = (mpm_contact)found;
    }
    return 0;
}

static int get_leave(PyObject *fates, const mpm_option *row, int count, mpm_leave *out)
{
    if (!PyTuple_Check(fates) || PyTuple_Size(fates) != count) {
        PyErr_Format(PyExc_ValueError, "%s: expected a tuple of %d names", row->name, count);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        PyObject *fate = PyTuple_GetItem(fates, i);
        const int found = fate ? get_word(fate, row) : -2;
        if (found == -1)
            PyErr_Format(PyExc_ValueError, "%s: %R is none of the words", row->name, fate);
        if (found < 0)
            return -1;
        out[i] = (mpm_leave)found;
    }
    return 0;
}

/* Reads the value of a row into the settings. */
static int get_value(PyObject *value, const mpm_option *row, mpm_common *settings)
{
    void *place = (char *)settings + row->offset;
    const int dim = settings->dim;
    const char *text;
    int number = 0;
    switch (row->kind) {
    case MPM_OPTION_NUMBER:
        return PyArg_Parse(value, "d", place) ? 0 : -1;
    case MPM_OPTION_PAIR:
        return mpm_python_get_doubles(value, row->name, place, 2);
    case MPM_OPTION_WHOLE:
        return PyArg_Parse(value, "i", place) ? 0 : -1;
    case MPM_OPTION_FLAG:
        number = PyObject_IsTrue(value);
        *(bool *)place = number > 0;
        return number < 0 ? -1 : 0;
    case MPM_OPTION_WORD:
        *(int *)place = number = get_word(value, row);
        return number < -1 ? -1 : 0;
    case MPM_OPTION_EITHER:
        number = get_word(value, row);
        *(bool *)place = number > 0;
        return number == -1 ? mpm_python_refuse_flaw(row->name) : number < 0 ? -1 : 0;
    case MPM_OPTION_REAL:
        if (!PyArg_Parse(value, "s", &text))
            return -1;
        /* The core refuses 0. */
        *(size_t *)place = !strcmp(text, "float32") ? sizeof(float) : !strcmp(text, "float64") ? sizeof(double) : 0;
        return 0;
    case MPM_OPTION_VECTOR:
        return mpm_python_get_doubles(value, row->name, place, dim);
    case MPM_OPTION_CELLS:
        return get_cells(value, row, dim, place);
    case MPM_OPTION_WALLS:
        return get_walls(value, row->name, 2 * dim, place);
    case MPM_OPTION_LEAVE:
        return get_leave(value, row, 2 * dim, place);
    default:
        return PyArg_Parse(value, "s", place) ? 0 : -1;
    }
}

int mpm_python_get_settings(PyObject *args, PyObject *kwargs, const mpm_options *options, mpm_common *settings)
{
    const mpm_option *tables[] = {mpm_options_common.rows, options->rows};
    Py_ssize_t count = 0;
    for (int k = 0; k < 2; k++)
        for (const mpm_option *row = tables[k]; row->name; row++, count++) {
            PyObject *value = kwargs ? PyDict_GetItemString(kwargs, row->name) : NULL;
            if (!value)
                PyErr_Format(PyExc_TypeError, "%s: is missing", row->name);
            if (!value || get_value(value, row, settings)) /* `kwargs`, which nobody else has, holds value and text */
                return -1;
            if (settings->dim != 2 && settings->dim != 3) /* the first row: others depend on it */
                return mpm_python_refuse_flaw("dim");
        }
    if (PyTuple_Size(args) == 0 && PyDict_Size(kwargs) == count)
        return 0;
    PyErr_Format(PyExc_TypeError, "expected %zd keywords and nothing else", count);
    return -1;
}

int mpm_python_refuse_flaw(const char *flaw)
{
    if (flaw)
        PyErr_Format(PyExc_ValueError, "%s: out of range or not supported by this build", flaw);
    return flaw ? -1 : 0;
}

/* ---- the tables ------------------------------------------------------------------------------------------------- */

static PyObject *range_of(const mpm_option *row, size_t real_size)
{
    const mpm_range range = mpm_options_range(row, real_size);
    return Py_BuildValue("(ddO)", range.low, range.high, range.low_open ? Py_True : Py_False);
}

static PyObject *described(const mpm_option *row)
{
    PyObject *words = PyList_New(0);
    for (int k = 0; words && k < MPM_MOST_WORDS; k++)
        if (row->words[k])
            mpm_python_append(&words, PyUnicode_FromString(row->words[k]));
    return Py_BuildValue("{s:N,s:N,s:O,s:N}", "float64", range_of(row, sizeof(double)), "float32",
                         range_of(row, sizeof(float)), "whole", row->kind == MPM_OPTION_WHOLE ? Py_True : Py_False,
                         "words", words);
}

static PyObject *options(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const mpm_options *tables[] = {&mpm_options_common, &mpm_settings_options, &mpm_sph_options, &mpm_fem_options};
    PyObject *all = PyDict_New();
    for (size_t k = 0; all && k < sizeof tables / sizeof *tables; k++) {
        PyObject *table = PyDict_New();
        for (const mpm_option *row = tables[k]->rows; table && row->name; row++) {
            PyObject *entry = described(row);
            if (!entry || PyDict_SetItemString(table, row->name, entry))
                Py_CLEAR(table);
            Py_XDECREF(entry);
        }
        if (!table || PyDict_SetItemString(all, tables[k]->method ? tables[k]->method : "common", table))
            Py_CLEAR(all);
        Py_XDECREF(table);
    }
    return all;
}

static PyObject *contacts(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    static const mpm_options *const methods[] = {&mpm_settings_options, &mpm_sph_options, &mpm_fem_options};
    PyObject *list = PyList_New(0);
    const mpm_rule *rule;
    for (int k = 0; list && (rule = mpm_rules_get(k)); k++) {
        PyObject *names = PyList_New(0);
        for (size_t m = 0; names && m < sizeof methods / sizeof *methods; m++)
            if (rule->methods & methods[m]->contacts)
                mpm_python_append(&names, PyUnicode_FromString(methods[m]->method));
#define FLAG(flag) #flag, rule->flag ? Py_True : Py_False
        mpm_python_append(&list, Py_BuildValue("{s:s,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:N}", "name", rule->name,
                                               FLAG(wall), FLAG(collider), FLAG(frictional), FLAG(rebounds),
                                               FLAG(absorbs), FLAG(images), FLAG(joins), "methods", names));
#undef FLAG
    }
    return list;
}

PyMethodDef mpm_python_settings_methods[] = {
    {"options", options, METH_NOARGS, "Ranges and words of the options of all methods, and of each."},
    {"contacts", contacts, METH_NOARGS, "The contacts of walls and colliders, and what they have."},
    {NULL, NULL, 0, NULL},
};
