/* SPDX-License-Identifier: MIT
 *
 * Turns statuses of the core into Python exceptions whose messages say what happened and what helps.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "python/core.h"

static const char *limit_text(mpm_limit limit)
{
    static const char *const text[MPM_LIMIT_COUNT] = {
        [MPM_LIMIT_NONE] = "nothing", [MPM_LIMIT_ISOLATED] = "the stiffness of one particle alone",
        [MPM_LIMIT_VISCOSITY] = "viscosity", [MPM_LIMIT_WAVE] = "the wave speed",
        [MPM_LIMIT_MOTION] = "motion", [MPM_LIMIT_ACCELERATION] = "the acceleration of gravity"};
    return text[limit];
}

/* Describes a value outside the range of its field. */
static void describe_range(const mpm_field *field, char *text, size_t size)
{
    if (field->check == MPM_CHECK_DET)
        snprintf(text, size, "det %s <= 0", field->name);
    else if (isinf(field->high))
        snprintf(text, size, "%s %s %g", field->name, field->low_closed ? "<" : "<=", field->low);
    else
        snprintf(text, size, "%s not between %g and %g", field->name, field->low, field->high);
}

static bool is_parameter(const char *name)
{
    for (int law = 0; law < MPM_LAW_COUNT; law++)
        for (int p = 0; p < mpm_laws_get(law)->parameters; p++)
            if (!strcmp(mpm_laws_get(law)->parameter[p].name, name))
                return true;
    return false;
}

/* Names the laws that own a field of history: "Jp is a state of snow and sand only". */
static void describe_owners(const char *name, char *text, size_t size)
{
    const char *owners[MPM_LAW_COUNT];
    int count = 0;
    for (int law = 0; law < MPM_LAW_COUNT; law++)
        for (int f = 0; f < mpm_laws_get(law)->fields; f++)
            if (!strcmp(mpm_laws_get(law)->field[f].name, name))
                owners[count++] = mpm_laws_get(law)->name;
    if (count == 0 && is_parameter(name)) {
        snprintf(text, size, "%s is one value for a whole material there", name);
        return;
    }
    size_t end = (size_t)snprintf(text, size, "%s is a state of", name);
    for (int k = 0; k < count && end < size; k++)
        end += (size_t)snprintf(text + end, size - end, "%s %s", k == 0 ? "" : k == count - 1 ? " and" : ",",
                                owners[k]);
    if (end < size)
        snprintf(text + end, size - end, count ? " only" : " other materials only"); /* of a user's law */
}

static void describe(const mpm_python_method *method, const mpm_trouble *t, char *text, size_t size)
{
    const char *row = t->row ? t->row : method->row;
    char range[256] = "";
    switch (t->reason) {
    case MPM_DT_ABOVE_BOUND:
        snprintf(text, size,
                 "dt = %g s is above the stable bound %g s, set by %s; choose dt=\"auto\", a smaller dt, or pass "
                 "allow_unstable=True",
                 t->dt, t->value[0], limit_text((mpm_limit)t->kind));
        return;
    case MPM_DT_TOO_SMALL:
        snprintf(text, size,
                 "dt = %g s is too small to advance the time; the step was not taken: stiffness, viscosity, speed or "
                 "gravity is too large for the %s and the density",
                 t->dt, method->size);
        return;
    case MPM_COLLIDER_TOO_FAST:
        if (t->value[1] <= 0)
            snprintf(text, size,
                     "collider '%.100s', which moves with up to %g m/s near material, and that material come together "
                     "by too much at every dt down to %g s; the step was not taken: look at their motion",
                     t->name, t->value[0], t->dt);
        else
            snprintf(text, size,
                     "collider '%.100s' moves with up to %g m/s near material, too far at dt = %g s; the step was not "
                     "taken: choose dt=\"auto\" or dt <= %.3g s",
                     t->name, t->value[0], t->dt, t->value[1]);
        return;
    case MPM_NOT_CONVERGED:
        snprintf(text, size,
                 "the implicit step was not solved at dt = %g s and was not taken: choose dt=\"auto\" or a smaller dt, "
                 "more max_iterations, or a larger tolerance",
                 t->dt);
        return;
    case MPM_LEFT_RANGE:
        snprintf(text, size,
                 "the volume ratio J of %lld particle(s) has left the range of its law%s%.100s%s: the material is "
                 "crushed or torn apart; a smaller dt, a stiffer material or a finer grid may help, or mend F and J by "
                 "hand",
                 (long long)t->count, t->name ? " '" : "", t->name ? t->name : "", t->name ? "'" : "");
        return;
    case MPM_STATE_NOT_FINITE:
        snprintf(text, size,
                 "the return map of the law '%.100s' has made F or the history of %lld particle(s) NaN or infinite: "
                 "mend the law (mpm.testing.check_law examines it), or the state by hand",
                 t->name, (long long)t->count);
        return;
    case MPM_RESPONSE_NOT_FINITE:
        snprintf(text, size,
                 "the law '%.100s' gives NaN or infinite numbers at %lld particle(s): mend the law "
                 "(mpm.testing.check_law examines it), or the state by hand",
                 t->name, (long long)t->count);
        return;
    case MPM_LEFT_DOMAIN:
        snprintf(text, size,
                 "%lld particle(s) left the domain%s%.100s%s; enlarge it, use on_leave=\"clamp\" or \"delete\", or "
                 "delete or move the particles",
                 (long long)t->count, t->name ? ", the first one at the collider '" : "",
                 t->name ? t->name : "", t->name ? "'" : "");
        return;
    case MPM_WRITTEN_NOT_FINITE:
        snprintf(text, size,
                 "values that are not finite were written to %lld %s(s); the arrays still hold them: correct them",
                 (long long)t->count, row);
        return;
    case MPM_WRITTEN_INVERTED:
        describe_range(t->field, range, sizeof range);
        snprintf(text, size, "%s was written to %lld %s(s); the arrays still hold it: correct it", range,
                 (long long)t->count, row);
        return;
    case MPM_WRITTEN_OUTSIDE:
        snprintf(text, size,
                 "positions outside the domain were written to %lld particle(s); the arrays still hold them: correct "
                 "them, or use on_leave=\"clamp\" or \"delete\"",
                 (long long)t->count);
        return;
    case MPM_WRITTEN_NOT_STATE:
        if (t->field->owner == MPM_OWNER_LAW)
            describe_owners(t->field->name, range, sizeof range);
        snprintf(text, size, "%lld %s(s): %s%s", (long long)t->count, row, range,
                 t->field->owner == MPM_OWNER_LAW
                     ? ""
                     : "J of a solid follows from F, and F of a fluid from J: write the other one");
        return;
    case MPM_WRITTEN_TOGETHER:
        snprintf(text, size,
                 "values that do not go together were written to %lld %s(s): %s; the arrays still hold them: correct "
                 "them",
                 (long long)t->count, row, t->name);
        return;
    default:
        method->describe(t, text, size);
    }
}

void mpm_python_describe_simulation(const mpm_trouble *t, char *text, size_t size)
{
    switch (t->reason) {
    case MPM_GRID_NOT_FINITE:
        snprintf(text, size, "node velocities are not finite at dt = %g s: stresses overflow; the step was not taken",
                 t->dt);
        if (t->count)
            snprintf(text + strlen(text), size - strlen(text),
                     "; the law '%.100s' gives NaN or infinite numbers at %lld particle(s)", t->name,
                     (long long)t->count);
        return;
    case MPM_MOVES_TOO_FAR:
        snprintf(text, size,
                 "a node would move more than one cell at dt = %g s; the step was not taken: choose a smaller dt",
                 t->dt);
        return;
    case MPM_WOULD_INVERT:
        snprintf(text, size,
                 "a particle would be turned inside out at dt = %g s; the step was not taken: choose a smaller dt, or "
                 "look for colliding stiff bodies",
                 t->dt);
        return;
    case MPM_BODY_TOO_LONG:
        snprintf(text, size,
                 "the rigid body of materials[%d] has at least half the length of a periodic axis, so its particles "
                 "cannot be told from their images; the step was not taken: lengthen the domain, or take a moving "
                 "collider", t->kind);
        return;
    default:
        snprintf(text, size, "unknown trouble");
    }
}

static PyObject *row_list(const mpm_trouble *trouble)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < trouble->row_count; i++)
        mpm_python_append(&list, PyLong_FromLong(trouble->rows[i]));
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

PyObject *mpm_python_raise_at(PyObject *type, long long steps, double time, const char *text, PyObject *rows,
                              PyObject *residuals)
{
    char whole[700];
    snprintf(whole, sizeof whole, "step %lld, t = %.9g s: %s", steps, time, text);
    PyObject *error = rows ? PyObject_CallFunction(type, "s", whole) : NULL;
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

static PyObject *raise_trouble(PyObject *type, PyObject *self, bool with_residuals)
{
    /* Creating objects may collect garbage, which may run any Python code. So the message is copied first. */
    const mpm_python_core *core = (mpm_python_core *)self;
    const mpm_run *run = core->store->run;
    const mpm_trouble trouble = run->trouble;
    const long long steps = run->steps;
    const double time = run->time;
    char text[512], first[64] = "", whole[600];
    describe(core->method, &trouble, text, sizeof text);
    if (trouble.row_count > 0)
        snprintf(first, sizeof first, " (first row %d)", (int)trouble.rows[0]);
    snprintf(whole, sizeof whole, "%s%s", text, first);
    PyObject *residuals = with_residuals ? core->method->residuals(core->run->self) : NULL;
    return mpm_python_raise_at(type, steps, time, whole, row_list(&trouble), residuals);
}

PyObject *mpm_python_raise(PyObject *self, mpm_status status)
{
    const module_state *state = mpm_python_state(Py_TYPE(self));
    switch (status) {
    case MPM_OUT_OF_MEMORY:
        return PyErr_NoMemory();
    case MPM_TOO_LARGE:
        PyErr_Format(PyExc_ValueError, "too many %ss for one simulation (the limit is 2^30)",
                     ((mpm_python_core *)self)->method->row);
        return NULL;
    case MPM_BAD_ARGUMENT:
        PyErr_SetString(PyExc_ValueError, "an argument does not exist or is out of its range");
        return NULL;
    case MPM_BAD_STATE:
        return raise_trouble(state->simulation_error, self, false);
    case MPM_UNSTABLE:
        return raise_trouble(state->instability_error, self, false);
    case MPM_NO_CONVERGENCE:
        return raise_trouble(state->convergence_error, self, true);
    case MPM_ESCAPED:
        return raise_trouble(state->escape_error, self, false);
    default: /* interrupted: the signal handler has raised its exception */
        if (!PyErr_Occurred())
            PyErr_SetNone(PyExc_KeyboardInterrupt);
        return NULL;
    }
}
