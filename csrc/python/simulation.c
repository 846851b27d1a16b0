/* SPDX-License-Identifier: MIT
 *
 * `mpm._core.Simulation`: what the Material Point Method has beyond `mpm._core.Core`.
 */
#include <float.h>
#include <string.h>

#include "mpm/gpu_backend.h"
#include "mpm/implicit.h"
#include "mpm/odd_backend.h"
#include "python/core.h"
#include "python/device_array.h"

/* ---- the object ------------------------------------------------------------------------------------------------- */

static PyObject *residuals(const void *self)
{
    const mpm_newton newton = mpm_simulation_solution(self)->newton; /* creating objects may run any Python code */
    return mpm_python_residuals(&newton);
}

static mpm_simulation *enter(PyObject *self)
{
    const mpm_python_core *core = mpm_python_core_enter(self);
    return core ? core->run->self : NULL;
}

static PyObject *simulation_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    mpm_settings settings = {0};
    if (mpm_python_get_settings(args, kwargs, &mpm_settings_options, &settings.common) ||
        mpm_python_refuse_flaw(mpm_settings_flaw(&settings)))
        return NULL;
    if (!mpm_dispatch_kernels(settings.isa, settings.dim, settings.real_size)->grid_block) {
        PyErr_Format(PyExc_ValueError, "isa: no kernels '%s' that take steps", settings.isa);
        return NULL;
    }
    mpm_python_core *core = mpm_python_core_new(type);
    mpm_simulation *simulation;
    if (core && mpm_simulation_new(&simulation, &mpm_python_state(type)->allocator, &settings)) {
        Py_DECREF(core);
        return PyErr_NoMemory();
    }
    if (core) {
        core->run = mpm_simulation_get_run(simulation);
        core->residuals = residuals;
        core->store = mpm_simulation_get_store(simulation);
    }
    return (PyObject *)core;
}

/* ---- particles, nodes ------------------------------------------------------------------------------------------- */

static int all_normal(const double *values, Py_ssize_t count, const mpm_simulation *core, int or_zero)
{
    const bool narrow = mpm_simulation_settings(core)->real_size == sizeof(float);
    const double least = narrow ? (double)FLT_MIN : DBL_MIN, most = narrow ? (double)FLT_MAX : DBL_MAX;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!(values[i] >= least && values[i] <= most) && !(or_zero && values[i] == 0))
            return 0;
    return 1;
}

/* Are all positions in the domain, or beyond it by no more than the walls are deep, and some rounding? */
static int all_inside(const double *x, Py_ssize_t count, const mpm_simulation *core)
{
    const mpm_settings *settings = mpm_simulation_settings(core);
    const double room = mpm_scheme_wall_depth(settings->scheme.degree) + 1e-5; /* [cells] */
    for (Py_ssize_t i = 0; i < count * settings->dim; i++) {
        const int axis = (int)(i % settings->dim);
        const double cells = (x[i] - settings->lower[axis]) / settings->dx;
        if (!(cells >= -room && cells <= (double)settings->cells[axis] + room))
            return 0;
    }
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
    Py_ssize_t left = 0, before = -1, after = -1;
    if (!PyArg_ParseTuple(args, "OOOOOOi|nnn", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4],
                          &objects[5], &material, &left, &before, &after))
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
    if (material < 0 || material >= mpm_run_materials(mpm_simulation_get_run(core))) {
        PyErr_SetString(PyExc_ValueError, "material: no such index");
        goto done;
    }
    if (left < 0) {
        PyErr_SetString(PyExc_ValueError, "left: must be >= 0");
        goto done;
    }
    const Py_ssize_t count = views[0].shape[0], dim = mpm_simulation_settings(core)->dim;
    for (int i = 0; i < ARRAYS; i++)
        for (int axis = 0; views[i].buf && axis < ndim[i]; axis++)
            if (views[i].shape[axis] != (axis == 0 ? count : dim)) {
                PyErr_Format(PyExc_ValueError, "%s: wrong shape", names[i]);
                goto done;
            }
    if (!all_inside(views[0].buf, count, core)) {
        PyErr_SetString(PyExc_ValueError, "x: must be in the domain");
        goto done;
    }
    /* In the core, a mass of 0 marks particles that wait to be deleted. */
    if (!all_normal(views[4].buf, count, core, 1) || !all_normal(views[5].buf, count, core, 0)) {
        PyErr_SetString(PyExc_ValueError, "volume, mass: must be positive and normal numbers of the precision");
        goto done;
    }
    const double *x = views[0].buf, *v = views[1].buf, *C = views[2].buf, *F = views[3].buf;
    const double *volume = views[4].buf, *mass = views[5].buf;
    result = mpm_python_core_finish(
        self, before < 0 && after < 0
                  ? mpm_simulation_add_piece(core, count, left, x, v, C, F, volume, mass, material)
                  : mpm_simulation_add_share(core, count, before, after, left, x, v, C, F, volume, mass, material));
done:
    for (int i = 0; i < held; i++)
        PyBuffer_Release(&views[i]);
    return result;
}

static PyObject *grid(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    const mpm_status status = mpm_simulation_share_grid(core);
    if (status)
        return mpm_python_raise(self, status);
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

/* Reads the form of a body; its arrays are borrowed from the views. */
static int take_form(PyObject *points, PyObject *own, PyObject *reference, PyObject *joint, mpm_rigid_form *form,
                     Py_buffer *view)
{
    double tensor[9], numbers[MPM_RIGID_JOINT] = {0};
    if (mpm_python_get_doubles(joint, "joint", numbers, MPM_RIGID_JOINT))
        return -1;
    memcpy(&form->joint, numbers, sizeof numbers);
    if (!(form->joint.held >= 0 && form->joint.held <= 3 && form->joint.turns >= 0 && form->joint.turns <= 3)) {
        PyErr_SetString(PyExc_ValueError, "joint: at most 3 directions and 3 axes");
        return -1;
    }
    if (mpm_python_get_doubles(reference, "reference", form->reference, 3) ||
        mpm_python_get_doubles(own, "own", tensor, 9) || mpm_python_get_buffer(points, view, "points", "d", 2, 0))
        return -1;
    memcpy(form->own, tensor, sizeof tensor);
    form->points = view->buf;
    form->count = (size_t)view->shape[0];
    if (view->shape[1] == MPM_RIGID_POINT)
        return 0;
    PyErr_Format(PyExc_ValueError, "points: expected %d columns", MPM_RIGID_POINT);
    PyBuffer_Release(view);
    return -1;
}

static PyObject *set_form(PyObject *self, PyObject *args)
{
    const mpm_allocator *allocator = &mpm_python_state(Py_TYPE(self))->allocator;
    const int dim = ((mpm_python_core *)self)->store->fields.dim;
    PyObject *nodes, *numbers, *reference, *points, *own, *joint, *result = NULL;
    Py_buffer number_view, point_view;
    mpm_rigid_form form = {0};
    int material;
    if (!PyArg_ParseTuple(args, "iOOOOdOO", &material, &nodes, &numbers, &reference, &points, &form.mass, &own,
                          &joint) ||
        take_form(points, own, reference, joint, &form, &point_view))
        return NULL;
    if (!mpm_python_take_shape(nodes, numbers, dim, allocator, &form.shape, &number_view)) {
        mpm_simulation *core = enter(self);
        if (core && (material < 0 || material >= mpm_run_materials(mpm_simulation_get_run(core)) || !(form.mass > 0)))
            PyErr_SetString(PyExc_ValueError, "material: no such index; or mass: must be > 0");
        else if (core)
            result = mpm_python_core_finish(self, mpm_simulation_form(core, material, &form));
        mpm_memory_free(allocator, form.shape.nodes);
        PyBuffer_Release(&number_view);
    }
    PyBuffer_Release(&point_view);
    return result;
}

static PyObject *name_joint(PyObject *self, PyObject *args)
{
    const char *name;
    int material;
    if (!PyArg_ParseTuple(args, "is", &material, &name))
        return NULL;
    mpm_simulation *core = enter(self);
    return core ? mpm_python_core_finish(self, mpm_simulation_name_joint(core, material, name)) : NULL;
}

static PyObject *rigid_forces(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    size_t count;
    const mpm_rigid_force *forces = mpm_simulation_rigid_forces(core, &count);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        const mpm_rigid_force *one = &forces[i];
        PyObject *row = Py_BuildValue("iii(ddd)(ddd)", one->material, (int)one->kind, one->index, one->force[0],
                                      one->force[1], one->force[2], one->torque[0], one->torque[1], one->torque[2]);
        if (!row || PyList_SetItem(list, (Py_ssize_t)i, row))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *set_layer(PyObject *self, PyObject *args)
{
    int material, layer;
    if (!PyArg_ParseTuple(args, "ii", &material, &layer))
        return NULL;
    mpm_simulation *core = enter(self);
    return core ? mpm_python_core_finish(self, mpm_simulation_layer(core, material, layer)) : NULL;
}

/* The rule of a contact's name; false with an exception. */
static bool take_rule(const char *contact, double friction, double adhesion, mpm_layer_rule *rule)
{
    const int found = mpm_rules_find(contact);
    if (found < 0)
        PyErr_Format(PyExc_ValueError, "contact: no contact '%s'", contact);
    *rule = (mpm_layer_rule){(mpm_contact)found, friction, adhesion};
    return found >= 0;
}

static PyObject *set_contact(PyObject *self, PyObject *args)
{
    const char *contact;
    double friction, adhesion;
    mpm_layer_rule rule;
    if (!PyArg_ParseTuple(args, "sdd", &contact, &friction, &adhesion) ||
        !take_rule(contact, friction, adhesion, &rule))
        return NULL;
    mpm_simulation *core = enter(self);
    return core ? mpm_python_core_finish(self, mpm_simulation_contact(core, &rule)) : NULL;
}

static PyObject *set_pair(PyObject *self, PyObject *args)
{
    const char *contact, *name;
    double friction, adhesion;
    int a, b;
    mpm_layer_rule rule;
    if (!PyArg_ParseTuple(args, "iizddz", &a, &b, &contact, &friction, &adhesion, &name) ||
        (contact && !take_rule(contact, friction, adhesion, &rule)))
        return NULL;
    mpm_simulation *core = enter(self);
    return core ? mpm_python_core_finish(self, mpm_simulation_pair(core, a, b, contact ? &rule : NULL, name)) : NULL;
}

/* Reads (parameter, temperatures, values), .... */
static int take_scales(PyObject *scales, int *count, mpm_scale list[MPM_MOST_SCALES])
{
    *count = (int)PyTuple_Size(scales);
    if (PyTuple_Size(scales) > MPM_MOST_SCALES) {
        PyErr_Format(PyExc_ValueError, "scales: at most %d", MPM_MOST_SCALES);
        return -1;
    }
    for (int i = 0; i < *count; i++) {
        mpm_scale *scale = &list[i];
        PyObject *row = PyTuple_GetItem(scales, i), *T, *values;
        if (!PyTuple_Check(row)) {
            PyErr_SetString(PyExc_TypeError, "scales: must be tuples");
            return -1;
        }
        if (!PyArg_ParseTuple(row, "iO!O!", &scale->parameter, &PyTuple_Type, &T, &PyTuple_Type, &values))
            return -1;
        const Py_ssize_t knots = PyTuple_Size(T);
        if (knots > MPM_MOST_KNOTS) {
            PyErr_Format(PyExc_ValueError, "scales: at most %d knots", MPM_MOST_KNOTS);
            return -1;
        }
        scale->knots = (int)knots;
        if (mpm_python_get_doubles(T, "temperatures", scale->temperature, knots) ||
            mpm_python_get_doubles(values, "values", scale->value, knots))
            return -1;
    }
    return 0;
}

static PyObject *set_thermal(PyObject *self, PyObject *args)
{
    int material;
    mpm_thermal thermal = {0};
    PyObject *scales;
    if (!PyArg_ParseTuple(args, "idddddd(ddddd)O!", &material, &thermal.conductivity, &thermal.specific_heat,
                          &thermal.temperature, &thermal.density, &thermal.expansion, &thermal.heating,
                          &thermal.melting, &thermal.latent_heat, &thermal.liquid_conductivity,
                          &thermal.liquid_specific_heat, &thermal.liquid_stretch, &PyTuple_Type, &scales) ||
        take_scales(scales, &thermal.scales, thermal.scale))
        return NULL;
    mpm_simulation *core = enter(self);
    return core ? mpm_python_core_finish(self, mpm_simulation_thermal(core, material, &thermal)) : NULL;
}

static PyObject *set_solute(PyObject *self, PyObject *args)
{
    int material, stretches;
    mpm_solute solute = {0};
    mpm_scale stretch[MPM_MOST_SCALES] = {0};
    PyObject *swelling, *scales;
    if (!PyArg_ParseTuple(args, "idddO!O!", &material, &solute.diffusivity, &solute.concentration, &solute.swelling,
                          &PyTuple_Type, &swelling, &PyTuple_Type, &scales) ||
        take_scales(swelling, &stretches, stretch) || take_scales(scales, &solute.scales, solute.scale))
        return NULL;
    if (stretches > 1) {
        PyErr_SetString(PyExc_ValueError, "stretch: at most one table");
        return NULL;
    }
    solute.stretch = stretch[0];
    mpm_simulation *core = enter(self);
    return core ? mpm_python_core_finish(self, mpm_simulation_solute(core, material, &solute)) : NULL;
}

static PyObject *set_pore(PyObject *self, PyObject *args)
{
    int material, surface;
    mpm_pore pore;
    if (!PyArg_ParseTuple(args, "iddddddi", &material, &pore.mobility, &pore.storage, &pore.biot, &pore.density,
                          &pore.water_density, &pore.pressure, &surface))
        return NULL;
    pore.surface = (mpm_pore_surface)surface;
    mpm_simulation *core = enter(self);
    return core ? mpm_python_core_finish(self, mpm_simulation_pore(core, material, &pore)) : NULL;
}

/* The number of a face or a collider, and what it does to heat. */
static bool take_surface(PyObject *args, int *number, mpm_heat_surface *surface)
{
    static const char *const kinds[MPM_HEAT_CONTACTS] = {
        [MPM_HEAT_INSULATED] = "insulated", [MPM_HEAT_TEMPERATURE] = "temperature", [MPM_HEAT_FLUX] = "flux",
        [MPM_HEAT_TRANSFER] = "transfer"};
    const char *kind;
    if (!PyArg_ParseTuple(args, "isdd", number, &kind, &surface->value, &surface->coefficient))
        return false;
    int k = 0;
    while (k < MPM_HEAT_CONTACTS && strcmp(kind, kinds[k]))
        k++;
    surface->kind = (mpm_heat_contact)k;
    return true;
}

static PyObject *set_heat_wall(PyObject *self, PyObject *args)
{
    int face;
    mpm_heat_surface surface;
    if (!take_surface(args, &face, &surface))
        return NULL;
    mpm_simulation *core = enter(self);
    return core ? mpm_python_core_finish(self, mpm_simulation_heat_wall(core, face, &surface)) : NULL;
}

static PyObject *set_heat_collider(PyObject *self, PyObject *args)
{
    int collider;
    mpm_heat_surface surface;
    if (!take_surface(args, &collider, &surface))
        return NULL;
    mpm_simulation *core = enter(self);
    return core ? mpm_python_core_finish(self, mpm_simulation_heat_collider(core, collider, &surface)) : NULL;
}

static PyObject *use_odd_backend(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    switch (mpm_odd_backend_use(core)) {
    case MPM_OK:
        Py_RETURN_NONE;
    case MPM_OUT_OF_MEMORY:
        return PyErr_NoMemory();
    default:
        PyErr_SetString(PyExc_ValueError, "the simulation has had particles");
        return NULL;
    }
}

/* Describes an image by its law, and whether its parameters vary. */
static bool describe_image(const char *name, int varies, mpm_gpu_law *image)
{
    *image = (mpm_gpu_law){.law = mpm_python_find_law(name), .varies = varies};
    if (image->law < 0)
        PyErr_Format(PyExc_ValueError, "law: unknown name '%s'", name);
    return image->law >= 0;
}

static PyObject *has_image(PyObject *self, PyObject *args)
{
    const char *name;
    int varies, collides;
    mpm_gpu_law image;
    if (!PyArg_ParseTuple(args, "spp", &name, &varies, &collides))
        return NULL;
    mpm_simulation *core = describe_image(name, varies, &image) ? enter(self) : NULL;
    return core ? PyBool_FromLong(mpm_gpu_backend_has(core, &image, collides)) : NULL;
}

/* Takes the driver out of its capsule, which has none from then on. */
static PyObject *use_gpu(PyObject *self, PyObject *args)
{
    const char *name;
    int varies;
    mpm_gpu_law image;
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "spO", &name, &varies, &capsule))
        return NULL;
    mpm_simulation *core = describe_image(name, varies, &image) ? enter(self) : NULL;
    if (!core || !(image.driver = PyCapsule_GetPointer(capsule, MPM_GPU_CAPSULE)))
        return NULL;
    const mpm_status status = mpm_gpu_backend_use(core, &image);
    if (status == MPM_BAD_ARGUMENT) {
        PyErr_SetString(PyExc_ValueError, "the simulation has had particles, its kernels have several lanes, the "
                                          "driver's image is of another precision, dimension or transfer, or there "
                                          "is one of the law");
        return NULL;
    }
    if (status == MPM_TOO_LARGE) {
        PyErr_SetString(PyExc_ValueError, "the domain is too large for it, which has a table of all blocks of 64 "
                                          "cells, 2^30 at most; choose a smaller domain, a larger dx or device='cpu'");
        return NULL;
    }
    if (!status && (PyCapsule_SetDestructor(capsule, NULL) || PyCapsule_SetName(capsule, MPM_GPU_CAPSULE ".taken")))
        return NULL;
    return mpm_python_core_finish(self, status);
}

static PyObject *lend(PyObject *self, PyObject *args)
{
    const char *name;
    mpm_gpu_shown shown;
    if (!PyArg_ParseTuple(args, "s", &name))
        return NULL;
    mpm_simulation *core = enter(self);
    if (!core)
        return NULL;
    const mpm_status status = mpm_gpu_backend_lend(core, name, &shown);
    if (status == MPM_BAD_ARGUMENT) {
        PyErr_SetString(PyExc_KeyError, name);
        return NULL;
    }
    return status ? mpm_python_core_finish(self, status) : mpm_python_lend(self, core, &shown);
}

static PyObject *changes(PyObject *self, PyObject *unused)
{
    (void)unused;
    mpm_simulation *core = enter(self);
    return core ? PyLong_FromUnsignedLongLong(mpm_gpu_backend_changes(core)) : NULL;
}

static PyMethodDef methods[] = {
    {"add_particles", add_particles, METH_VARARGS,
     "add_particles(x, v, C, F, volume, mass, material, left=0, before=-1, after=-1); C, F may be None: 0, identity. "
     "`left` particles of the body follow in further calls, and all are there after the last one, whose `left` is 0; "
     "`before` and `after`: particles that other processes add beside the own ones, where memory is distributed"},
    {"grid", grid, METH_NOARGS, "(x, mass, v) of the active nodes of the last step, as bytes."},
    {"name_joint", name_joint, METH_VARARGS, "name_joint(material, name): its columns in the history"},
    {"set_form", set_form, METH_VARARGS,
     "set_form(material, nodes, numbers, reference, points, mass, own, joint): what of a rigid body never changes"},
    {"rigid_forces", rigid_forces, METH_NOARGS,
     "Of the last step: a list of (material, kind, index, force, torque); kinds: wall, collider, body, nodes, joint"},
    {"set_layer", set_layer, METH_VARARGS, "set_layer(material, layer): of a material without particles"},
    {"set_contact", set_contact, METH_VARARGS, "set_contact(contact, friction, adhesion): of all pairs of layers"},
    {"set_pair", set_pair, METH_VARARGS,
     "set_pair(a, b, contact, friction, adhesion, name): of two layers; contact may be None, that of all pairs; name "
     "may be None: no column in the history"},
    MPM_PYTHON_SNAPSHOTS,
    {"set_thermal", set_thermal, METH_VARARGS,
     "set_thermal(material, conductivity, specific_heat, temperature, density, expansion, heating, (melting "
     "temperature, latent heat, conductivity, specific heat and stretch of the liquid), ((parameter, temperatures, "
     "values), ...)): of a material without particles"},
    {"set_pore", set_pore, METH_VARARGS,
     "set_pore(material, mobility, storage, biot, density, water_density, pressure, surface): lets a material hold "
     "pore water; the surface is 0 (closed), 1 (drained) or 2 (seepage)"},
    {"set_solute", set_solute, METH_VARARGS,
     "set_solute(material, diffusivity, concentration, swelling, stretch, ((parameter, concentrations, values), ...)): "
     "lets a material hold a solute; the stretch, (0, concentrations, values) in a tuple that may be empty, is in the "
     "place of a swelling"},
    {"set_heat_wall", set_heat_wall, METH_VARARGS,
     "set_heat_wall(face, kind, value, coefficient): 'insulated', a 'temperature', a 'flux' into the material, or a "
     "'transfer' from a temperature with a coefficient; before the first particles"},
    {"set_heat_collider", set_heat_collider, METH_VARARGS,
     "set_heat_collider(collider, kind, value, coefficient): the same, of a collider; between steps"},
    {"memory", memory, METH_NOARGS, "Bytes held."},
    {"lend", lend, METH_VARARGS,
     "lend(name): an array of a GPU, a field or 'row': (loan, address, shape, strides, format, (kind, number), "
     "changes); KeyError if the device has none"},
    {"changes", changes, METH_NOARGS, "How often the arrays of the GPU have changed."},
    {"has_image", has_image, METH_VARARGS,
     "has_image(law, varies, collides): has a driver of use_gpu the image of the law, which knows colliders if it "
     "must?"},
    {"use_gpu", use_gpu, METH_VARARGS,
     "use_gpu(law, varies, driver): a simulation without particles, whose kernels have one lane, runs on the GPU of a "
     "capsule, which has the image of the law, with parameters that vary or not; then adds other images, and those "
     "that know colliders in the place of those that do not"},
    {"_use_odd_backend", use_odd_backend, METH_NOARGS,
     "For tests: runs the new simulation on a back end with memory of its own and tasks in reverse order."},
    MPM_PYTHON_TEAMS,
    {NULL, NULL, 0, NULL},
};

MPM_PYTHON_METHOD(simulation, "Simulation", "A simulation in the C core. Private: use mpm.Simulation.");
