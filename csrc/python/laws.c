/* SPDX-License-Identifier: MIT
 *
 * The registry of laws as Python sees it, and the laws as functions.
 */
#include <math.h>
#include <string.h>

#include "python/module.h"

int mpm_python_find_law(const char *name)
{
    for (int i = 0; i < MPM_LAW_COUNT; i++)
        if (!strcmp(mpm_laws_get(i)->name, name))
            return i;
    return -1;
}

static PyObject *describe_parameter(const mpm_parameter *p)
{
    return Py_BuildValue("{s:s,s:s,s:d,s:O,s:d,s:O,s:O,s:s}", "name", p->name, "unit", p->unit, "low", p->low,
                         "low_open", p->low_open ? Py_True : Py_False, "high", p->high, "high_open",
                         p->high_open ? Py_True : Py_False, "branches", p->branches ? Py_True : Py_False, "meaning",
                         p->meaning);
}

static PyObject *describe_history(const mpm_law *law, const mpm_history_field *field)
{
    const int p = field->initial_parameter, c = field->heat_capacity; /* counted from 1 */
    return Py_BuildValue("{s:s,s:s,s:s,s:d,s:z,s:d,s:d,s:O,s:O,s:z,s:s}", "name", field->name, "unit", field->unit,
                         "rank", mpm_python_rank_name(field->rank), "initial", field->initial, "initial_parameter",
                         p ? law->parameter[p - 1].name : NULL, "low", field->low, "high", field->high, "closed",
                         field->closed ? Py_True : Py_False, "scales_volume",
                         field->scales_volume ? Py_True : Py_False, "heat_capacity",
                         c ? law->parameter[c - 1].name : NULL, "meaning", field->meaning);
}

static PyObject *describe_law(const mpm_law *law)
{
    static const char *const tangents[] = {
        [MPM_LAW_NO_TANGENT] = NULL, [MPM_LAW_TANGENT] = "energy", [MPM_LAW_MAPPED] = "mapped",
        [MPM_LAW_MODULI] = "moduli"};
    PyObject *parameters = PyList_New(0), *history = PyList_New(0);
    for (int i = 0; parameters && i < law->parameters; i++)
        mpm_python_append(&parameters, describe_parameter(&law->parameter[i]));
    for (int i = 0; history && i < law->fields; i++)
        mpm_python_append(&history, describe_history(law, &law->field[i]));
    if (parameters && history)
        return Py_BuildValue("{s:s,s:z,s:s,s:O,s:O,s:O,s:O,s:z,s:N,s:N,s:s}", "name", law->name,
                             "variant_of", law->variant_of, "strain",
                             law->strain == MPM_KEEPS_J ? "J" : "F", "viscous",
                             law->viscous ? Py_True : Py_False, "rigid", law->rigid ? Py_True : Py_False,
                             "kinked", law->kinked ? Py_True : Py_False, "return_map",
                             mpm_laws_inelastic(mpm_python_find_law(law->name)) ? Py_True : Py_False, "tangent",
                             tangents[mpm_laws_tangent(mpm_python_find_law(law->name))], "parameters",
                             parameters, "history", history, "reference", law->reference);
    Py_XDECREF(parameters);
    Py_XDECREF(history);
    return NULL;
}

static const mpm_kernels *get_kernels(const char *isa, int dim, const char *dtype)
{
    const mpm_kernels *kernels = mpm_dispatch_kernels(isa, dim, !strcmp(dtype, "float32") ? 4 : 8);
    if (!kernels)
        PyErr_Format(PyExc_ValueError, "isa: no kernels '%s' for %d dimensions here", isa, dim);
    return kernels;
}

enum { VIEW_F, VIEW_HISTORY, VIEW_GRADIENT, VIEWS };

static void release_states(Py_buffer views[VIEWS])
{
    for (int i = 0; i < VIEWS; i++)
        PyBuffer_Release(&views[i]); /* harmless if it was not filled */
}

/* Gets so many numbers; none from None. Returns -1 with an exception on error. */
static int get_numbers(PyObject *object, Py_buffer *view, const char *name, const char *format, Py_ssize_t numbers)
{
    if (object == Py_None)
        return 0;
    if (mpm_python_get_buffer(object, view, name, format, 0, 0))
        return -1;
    if (view->len / view->itemsize == numbers)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s: expected %zd numbers", name, numbers);
    return -1;
}

/* Gets F (m, d, d) and, unless they are None, the history that the law keeps, (m,) or (m, components), and the velocity
 * gradient (m, d, d). Returns -1 with an exception on error. */
static int get_states(PyObject *F, PyObject *history, PyObject *gradient, const mpm_material *material,
                      const mpm_kernels *kernels, Py_buffer views[VIEWS])
{
    const char *format = kernels->real_size == sizeof(float) ? "f" : "d";
    const int dim = kernels->dim;
    memset(views, 0, VIEWS * sizeof *views);
    if (mpm_python_get_buffer(F, &views[VIEW_F], "F", format, 3, 0)) {
        views[VIEW_F] = (Py_buffer){0};
        return -1;
    }
    const Py_ssize_t m = views[VIEW_F].shape[0];
    const Py_ssize_t components = mpm_law_history(mpm_material_law(material), dim) + material->varying;
    if (views[VIEW_F].shape[1] != dim || views[VIEW_F].shape[2] != dim)
        PyErr_Format(PyExc_ValueError, "F: expected shape (m, %d, %d)", dim, dim);
    else if (!get_numbers(history, &views[VIEW_HISTORY], "history", format, m * components) &&
             !get_numbers(gradient, &views[VIEW_GRADIENT], "velocity_gradient", format, m * dim * dim))
        return 0;
    release_states(views);
    return -1;
}

static PyObject *laws(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < MPM_LAW_COUNT; i++)
        mpm_python_append(&list, describe_law(mpm_laws_get(i)));
    return list;
}

/* Gets the indices of parameters that vary, ascending; NULL: none. Returns -1 with an exception on error. */
static int get_varying(PyObject *varying, mpm_material *material)
{
    const mpm_law *law = mpm_material_law(material);
    const int most = law->parameters - 1;                       /* all but the density */
    const int room = MPM_LAW_HISTORY - mpm_law_history(law, 3); /* behind the history */
    double indices[MPM_LAW_PARAMETERS];
    const Py_ssize_t count = varying ? PySequence_Size(varying) : 0;
    if (count < 0 || (count && count <= most && mpm_python_get_doubles(varying, "varying", indices, count)))
        return -1;
    for (Py_ssize_t k = 0; k < count && count <= most && count <= room; k++) {
        if (!(indices[k] > (k ? indices[k - 1] : -1) && indices[k] < most) || indices[k] != floor(indices[k]))
            break;
        material->parameter[material->varying++] = (int)indices[k];
    }
    if (material->varying == count)
        return 0;
    PyErr_Format(PyExc_ValueError, "varying: expected at most %d ascending indices of parameters",
                 most < room ? most : room);
    return -1;
}

int mpm_python_get_material(PyObject *law, PyObject *parameters, PyObject *varying, mpm_material *material)
{
    *material = (mpm_material){.law = MPM_USER};
    if (PyCapsule_CheckExact(law))
        return (material->user = mpm_python_get_user_law(law)) ? 0 : -1; /* it has its parameters */
    PyObject *name = PyUnicode_AsUTF8String(law);
    if (!name)
        return -1;
    material->law = mpm_python_find_law(PyBytes_AsString(name));
    Py_DECREF(name);
    if (material->law < 0) {
        PyErr_Format(PyExc_ValueError, "law: unknown name '%U'", law);
        return -1;
    }
    /* all but the density, which comes last */
    if (mpm_python_get_doubles(parameters, "parameters", material->values,
                               mpm_laws_get(material->law)->parameters - 1))
        return -1;
    return get_varying(varying, material);
}

static PyObject *evaluate(PyObject *module, PyObject *args)
{
    (void)module;
    const char *isa, *dtype;
    PyObject *law, *parameters, *F, *history = Py_None, *gradient = Py_None, *varying = NULL;
    PyObject *out[5] = {0}, *result = NULL;
    Py_buffer views[VIEWS];
    int dim;
    mpm_evaluation evaluation;
    if (!PyArg_ParseTuple(args, "OOOiss|OOO", &law, &parameters, &F, &dim, &isa, &dtype, &history, &gradient,
                          &varying) ||
        mpm_python_get_material(law, parameters, varying, &evaluation.material))
        return NULL;
    if (evaluation.material.varying && history == Py_None) {
        PyErr_SetString(PyExc_TypeError, "history: expected a buffer, which ends with the values that vary");
        return NULL;
    }
    const mpm_kernels *kernels = get_kernels(isa, dim, dtype);
    if (!kernels || get_states(F, history, gradient, &evaluation.material, kernels, views))
        return NULL;
    const Py_ssize_t m = views[VIEW_F].shape[0], size = (Py_ssize_t)kernels->real_size;
    for (int i = 0; i < 5; i++)
        if (!(out[i] = PyBytes_FromStringAndSize(NULL, m * size * (i == 0 ? dim * dim : 1))))
            goto done;
    evaluation.count = m;
    evaluation.F = views[VIEW_F].buf;
    evaluation.history = views[VIEW_HISTORY].buf;
    evaluation.velocity_gradient = views[VIEW_GRADIENT].buf;
    evaluation.tau = PyBytes_AsString(out[0]);
    evaluation.energy = PyBytes_AsString(out[1]);
    evaluation.tau_zz = PyBytes_AsString(out[2]);
    evaluation.isolated = PyBytes_AsString(out[3]);
    evaluation.wave = PyBytes_AsString(out[4]);
    kernels->evaluate(&evaluation);
    result = PyTuple_Pack(5, out[0], out[1], out[2], out[3], out[4]);
done:
    for (int i = 0; i < 5; i++)
        Py_XDECREF(out[i]);
    release_states(views);
    return result;
}

static PyObject *return_map(PyObject *module, PyObject *args)
{
    (void)module;
    const char *isa, *dtype;
    PyObject *law, *parameters, *F, *history, *gradient = Py_None, *varying = NULL, *result = NULL;
    Py_buffer views[VIEWS];
    int dim;
    mpm_return_map states = {.dt = 0};
    if (!PyArg_ParseTuple(args, "OOOOiss|dOO", &law, &parameters, &F, &history, &dim, &isa, &dtype, &states.dt,
                          &gradient, &varying) ||
        mpm_python_get_material(law, parameters, varying, &states.material))
        return NULL;
    if (!mpm_laws_inelastic(states.material.law)) {
        PyErr_Format(PyExc_ValueError, "law: '%S' has no return map", law);
        return NULL;
    }
    if (history == Py_None) {
        PyErr_SetString(PyExc_TypeError, "history: expected a buffer");
        return NULL;
    }
    const mpm_kernels *kernels = get_kernels(isa, dim, dtype);
    if (!kernels || get_states(F, history, gradient, &states.material, kernels, views))
        return NULL;
    PyObject *new_F = PyBytes_FromStringAndSize(views[VIEW_F].buf, views[VIEW_F].len);
    PyObject *new_history = PyBytes_FromStringAndSize(views[VIEW_HISTORY].buf, views[VIEW_HISTORY].len);
    if (new_F && new_history) {
        states.count = views[VIEW_F].shape[0];
        states.velocity_gradient = views[VIEW_GRADIENT].buf;
        states.F = PyBytes_AsString(new_F);
        states.history = PyBytes_AsString(new_history);
        kernels->return_map(&states);
        result = PyTuple_Pack(2, new_F, new_history);
    }
    Py_XDECREF(new_F);
    Py_XDECREF(new_history);
    release_states(views);
    return result;
}

/* The first row whose parameters break a condition, with its words; None if there is none. */
static PyObject *unfit(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *name, *values;
    Py_buffer view = {0};
    if (!PyArg_ParseTuple(args, "UO", &name, &values))
        return NULL;
    PyObject *text = PyUnicode_AsUTF8String(name);
    const int law = text ? mpm_python_find_law(PyBytes_AsString(text)) : -1;
    Py_XDECREF(text);
    if (law < 0) {
        PyErr_Format(PyExc_ValueError, "law: unknown name '%U'", name);
        return NULL;
    }
    if (mpm_python_get_buffer(values, &view, "values", "d", 2, 0))
        return NULL;
    PyObject *result = NULL;
    const char *words = NULL;
    Py_ssize_t row = 0;
    if (view.shape[1] != mpm_laws_get(law)->parameters - 1)
        PyErr_SetString(PyExc_ValueError, "values: expected all parameters but the density");
    else {
        while (row < view.shape[0] && !(words = mpm_laws_unfit(law, (double *)view.buf + row * view.shape[1])))
            row++;
        result = words ? Py_BuildValue("ns", row, words) : Py_NewRef(Py_None);
    }
    PyBuffer_Release(&view);
    return result;
}

static PyObject *core_fields(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    const mpm_fields fields = mpm_fields_of_core(3);
    return mpm_python_fields(&fields, NULL);
}

PyMethodDef mpm_python_law_methods[] = {
    {"core_fields", core_fields, METH_NOARGS, "The fields that every simulation has, a dict per row."},
    {"laws", laws, METH_NOARGS, "The registry of constitutive laws."},
    {"unfit", unfit, METH_VARARGS, "unfit(law, values)"},
    {"evaluate", evaluate, METH_VARARGS,
     "evaluate(law, parameters, F, dim, isa, dtype, history=None, velocity_gradient=None, varying=())"},
    {"return_map", return_map, METH_VARARGS,
     "return_map(law, parameters, F, history, dim, isa, dtype, dt=0.0, velocity_gradient=None, varying=())"},
    {NULL, NULL, 0, NULL},
};
