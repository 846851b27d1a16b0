/* SPDX-License-Identifier: MIT
 *
 * The settings of a simulation, from the keywords with which Python makes one.
 */
#include <string.h>

#include "mpm/integrator.h"
#include "python/module.h"

int mpm_python_get_walls(PyObject *walls, int count, mpm_wall *out)
{
    if (!PySequence_Check(walls) || PySequence_Size(walls) != count) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "walls: expected %d tuples", count);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        PyObject *pair = PySequence_GetItem(walls, i);
        const char *name;
        int contact = -1;
        if (pair && PyTuple_Check(pair) && PyArg_ParseTuple(pair, "sdd", &name, &out[i].friction, &out[i].restitution))
            contact = mpm_python_find_contact(name);
        Py_XDECREF(pair);
        if (contact < 0) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_ValueError, "walls: entry %d is not (contact, friction, restitution)", i);
            return -1;
        }
        out[i].contact = (mpm_contact)contact;
    }
    return 0;
}

int mpm_python_get_cells(PyObject *cells, int dim, int64_t *out)
{
    double values[3];
    if (mpm_python_get_doubles(cells, "cells", values, dim))
        return -1;
    for (int a = 0; a < dim; a++) {
        if (!(values[a] >= 1 && values[a] <= MPM_MOST_CELLS)) {
            PyErr_Format(PyExc_ValueError, "cells: the domain must have 1 to %d cells along every axis",
                         MPM_MOST_CELLS);
            return -1;
        }
        out[a] = (int64_t)values[a];
    }
    return 0;
}

int mpm_python_get_leave(PyObject *fates, int count, mpm_leave *out)
{
    static const char *const names[] = {
        [MPM_LEAVE_RAISE] = "raise", [MPM_LEAVE_CLAMP] = "clamp", [MPM_LEAVE_DELETE] = "delete"};
    if (!PyTuple_Check(fates) || PyTuple_Size(fates) != count) {
        PyErr_Format(PyExc_ValueError, "on_leave: expected a tuple of %d names", count);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        PyObject *fate = PyTuple_GetItem(fates, i), *text = fate ? PyUnicode_AsUTF8String(fate) : NULL;
        if (!text)
            return -1;
        const int found = mpm_python_find_name(PyBytes_AsString(text), names, 3);
        if (found < 0)
            PyErr_Format(PyExc_ValueError, "on_leave: %R is not \"raise\", \"clamp\" or \"delete\"", fate);
        Py_DECREF(text);
        if (found < 0)
            return -1;
        out[i] = (mpm_leave)found;
    }
    return 0;
}

static int get_scheme(PyObject *scheme, mpm_scheme *out)
{
    static const char *const transfers[] = {
        [MPM_PIC] = "pic", [MPM_FLIP] = "flip", [MPM_APIC] = "apic", [MPM_AFLIP] = "aflip",
        [MPM_ASFLIP] = "asflip", [MPM_XPIC] = "xpic", [MPM_TPIC] = "tpic"};
    static const char *const kernels[] = {"linear", "quadratic", "cubic"};
    static const char *const gradients[] = {[MPM_GRADIENT_MLS] = "mls", [MPM_GRADIENT_BSPLINE] = "bspline"};
    static const char *const f_updates[] = {
        [MPM_F_LINEAR] = "linear", [MPM_F_CAYLEY] = "cayley", [MPM_F_TRACE] = "trace"};
    const char *transfer, *kernel, *gradient, *f_update;
    int advect_particle, f_bar;
    if (!PyTuple_Check(scheme) ||
        !PyArg_ParseTuple(scheme, "sssdipsdp(dd)", &transfer, &kernel, &gradient, &out->flip_ratio, &out->xpic_order,
                          &advect_particle, &f_update, &out->c_keep, &f_bar, &out->viscosity[0], &out->viscosity[1])) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "scheme: must be a tuple");
        return -1;
    }
    /* What is not known becomes -1 or 0, which the core refuses. */
    out->transfer = (mpm_transfer)mpm_python_find_name(transfer, transfers, MPM_TRANSFER_COUNT);
    out->degree = mpm_python_find_name(kernel, kernels, 3) + 1;
    out->gradient = (mpm_gradient)mpm_python_find_name(gradient, gradients, 2);
    out->advect_particle = advect_particle;
    out->f_update = (mpm_f_update)mpm_python_find_name(f_update, f_updates, 3);
    out->f_bar = f_bar;
    return 0;
}

static int get_integrator(PyObject *integrator, mpm_settings *out)
{
    static const char *const preconditioners[] = {"mass", "stiffness"};
    static const char *const projections[] = {"semidefinite", "none"};
    const char *name, *preconditioner, *projection;
    if (!PyTuple_Check(integrator) ||
        !PyArg_ParseTuple(integrator, "sddissd", &name, &out->beta, &out->tolerance, &out->max_iterations,
                          &preconditioner, &projection, &out->load)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "integrator: must be a tuple");
        return -1;
    }
    out->preconditioner =
        (mpm_preconditioner)mpm_python_find_name(preconditioner, preconditioners, MPM_PRECONDITIONER_COUNT);
    out->projection = (mpm_projection)mpm_python_find_name(projection, projections, MPM_PROJECTION_COUNT);
    out->integrator = -1; /* a name that is not known stays -1, which the core refuses */
    for (int i = 0; mpm_integrator_get(i); i++)
        if (!strcmp(mpm_integrator_get(i)->name, name))
            out->integrator = i;
    return 0;
}

int mpm_python_get_settings(PyObject *args, PyObject *kwargs, mpm_settings *settings)
{
    static char *names[] = {"dim", "dtype", "lower", "cells", "dx", "gravity", "walls", "scheme", "integrator",
                            "particle_collisions", "dt", "max_dt", "allow_unstable", "on_leave", "dissipation",
                            "history", "threads", "isa", NULL};
    static const char *const collisions[] = {
        [MPM_PARTICLES_DEEP] = "deep", [MPM_PARTICLES_SURFACE] = "surface", [MPM_PARTICLES_OFF] = "off"};
    const char *dtype, *particle_collisions;
    PyObject *lower, *cells, *gravity, *walls, *on_leave, *scheme, *integrator;
    int allow_unstable, dissipation;
    *settings = (mpm_settings){0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$isOOdOOOOsddpOpiis", names, &settings->dim, &dtype, &lower, &cells,
                                     &settings->dx, &gravity, &walls, &scheme, &integrator, &particle_collisions,
                                     &settings->dt, &settings->max_dt, &allow_unstable, &on_leave, &dissipation,
                                     &settings->history, &settings->threads, &settings->isa))
        return -1;
    if (settings->dim != 2 && settings->dim != 3) {
        PyErr_SetString(PyExc_ValueError, "dim: must be 2 or 3");
        return -1;
    }
    settings->real_size = !strcmp(dtype, "float32") ? 4 : 8;
    settings->particle_collisions = (mpm_particle_collisions)mpm_python_find_name(particle_collisions, collisions,
                                                                                  MPM_PARTICLE_COLLISIONS_COUNT);
    settings->allow_unstable = allow_unstable;
    settings->dissipation = dissipation;
    if (mpm_python_get_doubles(lower, "lower", settings->lower, settings->dim) ||
        mpm_python_get_doubles(gravity, "gravity", settings->gravity, settings->dim) ||
        mpm_python_get_cells(cells, settings->dim, settings->cells) ||
        mpm_python_get_walls(walls, 2 * settings->dim, settings->walls) ||
        get_scheme(scheme, &settings->scheme) ||
        get_integrator(integrator, settings) ||
        mpm_python_get_leave(on_leave, 2 * settings->dim, settings->on_leave) ||
        mpm_python_check_threads(settings->threads))
        return -1;
    const char *flaw = mpm_settings_flaw(settings);
    if (flaw) {
        PyErr_Format(PyExc_ValueError, "%s: out of range, or not supported by this build", flaw);
        return -1;
    }
    if (!mpm_dispatch_kernels(settings->isa, settings->dim, settings->real_size)->grid_block) {
        PyErr_Format(PyExc_ValueError, "isa: no kernels '%s' that take steps", settings->isa);
        return -1;
    }
    return 0;
}
