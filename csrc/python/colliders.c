/* SPDX-License-Identifier: MIT
 *
 * Converts colliders and their shapes from Python to the core, and answers questions on their places. The Python layer
 * checks arguments; this file checks only what memory safety needs.
 *
 * `mpm._core.Colliders` has colliders alone, without a run: those of a recording. Threads may ask it at once, because
 * poses are functions of time and nothing is kept; colliders are added before it is shared.
 */
#include <string.h>

#include "python/module.h"

enum { NODE_COLUMNS = 3 }; /* kind, mapped, numbers */

int mpm_python_take_shape(PyObject *nodes, PyObject *numbers, int dim, const mpm_allocator *allocator,
                          mpm_shape *shape, Py_buffer *view)
{
    Py_buffer table;
    *shape = (mpm_shape){.dim = dim};
    if (dim != 2 && dim != 3) {
        PyErr_SetString(PyExc_ValueError, "dim: must be 2 or 3");
        return -1;
    }
    if (mpm_python_get_buffer(nodes, &table, "nodes", "q", 2, 0))
        return -1;
    if (mpm_python_get_buffer(numbers, view, "numbers", "d", 1, 0)) {
        PyBuffer_Release(&table);
        return -1;
    }
    const char *flaw = table.shape[1] != NODE_COLUMNS ? "nodes have three columns" : NULL;
    shape->numbers = view->buf;
    shape->number_count = (size_t)view->shape[0];
    shape->node_count = (size_t)table.shape[0];
    shape->nodes = flaw ? NULL : mpm_memory_new(allocator, shape->node_count, sizeof *shape->nodes);
    for (size_t n = 0; shape->nodes && n < shape->node_count; n++) {
        const int64_t *row = (const int64_t *)table.buf + NODE_COLUMNS * n;
        const int known = row[0] >= 0 && row[0] < MPM_SHAPE_KIND_COUNT;
        shape->nodes[n] = (mpm_shape_node){known ? (int32_t)row[0] : -1, row[1] != 0, row[2]};
    }
    PyBuffer_Release(&table);
    if (shape->nodes)
        flaw = mpm_shape_flaw(shape);
    if (!flaw && shape->nodes)
        return 0;
    if (flaw)
        PyErr_Format(PyExc_ValueError, "shape: %s", flaw);
    else
        PyErr_NoMemory();
    mpm_memory_free(allocator, shape->nodes);
    PyBuffer_Release(view);
    return -1;
}

static int take_contact(const char *name, mpm_contact *contact)
{
    const int found = mpm_rules_find(name);
    *contact = (mpm_contact)found;
    if (found >= 0 && mpm_rules_get(found)->collider)
        return 0;
    PyErr_Format(PyExc_ValueError, "contact: '%s' is not known", name);
    return -1;
}

static int take_motion(const char *name, PyObject *vector, PyObject *keys, mpm_motion *motion, Py_buffer *view)
{
    static const char *const names[] = {
        [MPM_MOTION_NONE] = "none", [MPM_MOTION_LINEAR] = "linear", [MPM_MOTION_ROTATION] = "rotation",
        [MPM_MOTION_SINUSOID] = "sinusoid", [MPM_MOTION_KEYFRAMES] = "keyframes",
        [MPM_MOTION_CONTINUED] = "continued"};
    const int kind = mpm_python_find_name(name, names, MPM_MOTION_CONTINUED + 1);
    if (kind < 0) {
        PyErr_Format(PyExc_ValueError, "motion: '%s' is not known", name);
        return -1;
    }
    motion->kind = (mpm_motion_kind)kind;
    if (mpm_python_get_doubles(vector, "vector", motion->vector, 3) ||
        mpm_python_get_buffer(keys, view, "keys", "d", 2, 0))
        return -1;
    motion->keys = view->buf;
    motion->key_count = (size_t)view->shape[0];
    if (view->shape[1] == MPM_KEYFRAME && motion->key_count >= mpm_motion_least_keys(motion->kind))
        return 0;
    PyErr_SetString(PyExc_ValueError, "keys: wrong shape");
    PyBuffer_Release(view);
    return -1;
}

PyObject *mpm_python_with_collider(PyObject *args, int dim, module_state *state, mpm_python_collider_user use,
                                   PyObject *self)
{
    const char *name, *contact, *motion;
    PyObject *speeds, *nodes, *numbers, *reference, *vector, *keys, *result = NULL;
    Py_buffer number_view, key_view;
    mpm_collider collider = {0};
    if (!PyArg_ParseTuple(args, "ssddOOOOsOdO|d", &name, &contact, &collider.friction, &collider.restitution, &speeds,
                          &nodes, &numbers, &reference, &motion, &vector, &collider.motion.frequency, &keys,
                          &collider.friction_heat) ||
        mpm_python_get_doubles(speeds, "speeds", collider.speeds, 2) ||
        take_contact(contact, &collider.contact) ||
        mpm_python_get_doubles(reference, "reference", collider.reference, 3) ||
        mpm_python_take_shape(nodes, numbers, dim, &state->allocator, &collider.shape, &number_view))
        return NULL;
    if (!take_motion(motion, vector, keys, &collider.motion, &key_view)) {
        collider.name = (char *)name;
        result = use(self, &collider);
        PyBuffer_Release(&key_view);
    }
    mpm_memory_free(&state->allocator, collider.shape.nodes);
    PyBuffer_Release(&number_view);
    return result;
}

typedef mpm_shape_reading (*distance_at)(const void *context, const double x[3]);

/* (phi (m,), normal (m, d)) as bytes, at each of the points, float64 (m, d). */
static PyObject *distances(const Py_buffer *points, int dim, distance_at measure, const void *context)
{
    const Py_ssize_t count = points->shape[0];
    if (points->shape[1] != dim) {
        PyErr_Format(PyExc_ValueError, "points: expected the shape (m, %d)", dim);
        return NULL;
    }
    PyObject *phi = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(double));
    PyObject *normal = PyBytes_FromStringAndSize(NULL, count * dim * (Py_ssize_t)sizeof(double));
    if (!phi || !normal) {
        Py_XDECREF(phi);
        Py_XDECREF(normal);
        return NULL;
    }
    double *phis = (double *)PyBytes_AsString(phi), *normals = (double *)PyBytes_AsString(normal);
    for (Py_ssize_t i = 0; i < count; i++) {
        double x[3] = {0};
        memcpy(x, (const double *)points->buf + i * dim, (size_t)dim * sizeof *x);
        const mpm_shape_reading at = measure(context, x);
        phis[i] = at.phi;
        memcpy(normals + i * dim, at.normal, (size_t)dim * sizeof *normals);
    }
    return Py_BuildValue("NN", phi, normal);
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

PyObject *mpm_python_collider_distances(const mpm_boundary *boundary, Py_ssize_t index, const Py_buffer *points,
                                        double time)
{
    if (index < 0 || (size_t)index >= boundary->count) {
        PyErr_SetString(PyExc_ValueError, "index: no such collider");
        return NULL;
    }
    const mpm_collider *collider = &boundary->colliders[index];
    struct posed_collider posed = {collider, mpm_collider_state_at(collider, time, 0)};
    return distances(points, boundary->dim, measure_collider, &posed);
}

static mpm_shape_reading measure_shape(const void *context, const double x[3])
{
    return mpm_shape_read(context, 0, x);
}

static PyObject *shape_distance(PyObject *module, PyObject *args)
{
    module_state *state = PyModule_GetState(module);
    PyObject *nodes, *numbers, *points;
    PyObject *result = NULL;
    Py_buffer x, view;
    mpm_shape shape;
    int dim;
    if (!PyArg_ParseTuple(args, "iOOO", &dim, &nodes, &numbers, &points) ||
        mpm_python_get_buffer(points, &x, "points", "d", 2, 0))
        return NULL;
    if (!mpm_python_take_shape(nodes, numbers, dim, &state->allocator, &shape, &view)) {
        result = distances(&x, dim, measure_shape, &shape);
        mpm_memory_free(&state->allocator, shape.nodes);
        PyBuffer_Release(&view);
    }
    PyBuffer_Release(&x);
    return result;
}

static PyObject *shape_kinds(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    const char *name;
    for (int kind = 0; list && (name = mpm_shape_kind_name(kind)); kind++)
        mpm_python_append(&list, PyUnicode_FromString(name));
    return list;
}

PyMethodDef mpm_python_collider_methods[] = {
    {"shape_distance", shape_distance, METH_VARARGS,
     "shape_distance(dim, nodes, numbers, points) -> (phi (m,), normal (m, d)), float64 as bytes."},
    {"shape_kinds", shape_kinds, METH_NOARGS, "Names of the nodes of which shapes are made, in the core's order."},
    {NULL, NULL, 0, NULL},
};

/* ---- Colliders -------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    mpm_boundary boundary; /* without walls and cells */
} colliders;

static PyObject *colliders_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"dim", NULL};
    int dim;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i", names, &dim))
        return NULL;
    if (dim != 2 && dim != 3) {
        PyErr_SetString(PyExc_ValueError, "dim: must be 2 or 3");
        return NULL;
    }
    colliders *self = (colliders *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self)
        self->boundary.dim = dim;
    return (PyObject *)self;
}

static int colliders_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void colliders_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    mpm_boundary_clear(&((colliders *)self)->boundary, &mpm_python_state(type)->allocator);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *keep_collider(PyObject *self, const mpm_collider *collider)
{
    const mpm_allocator *allocator = &mpm_python_state(Py_TYPE(self))->allocator;
    switch (mpm_boundary_add(&((colliders *)self)->boundary, allocator, collider)) {
    case MPM_OK:
        Py_RETURN_NONE;
    case MPM_OUT_OF_MEMORY:
        return PyErr_NoMemory();
    default:
        PyErr_SetString(PyExc_ValueError, "collider: shape, contact or motion is invalid");
        return NULL;
    }
}

static PyObject *colliders_add(PyObject *self, PyObject *args)
{
    const int dim = ((colliders *)self)->boundary.dim;
    return mpm_python_with_collider(args, dim, mpm_python_state(Py_TYPE(self)), keep_collider, self);
}

static PyObject *colliders_distance(PyObject *self, PyObject *args)
{
    Py_ssize_t index;
    PyObject *points;
    Py_buffer x;
    double time;
    if (!PyArg_ParseTuple(args, "nOd", &index, &points, &time) ||
        mpm_python_get_buffer(points, &x, "points", "d", 2, 0))
        return NULL;
    PyObject *result = mpm_python_collider_distances(&((colliders *)self)->boundary, index, &x, time);
    PyBuffer_Release(&x);
    return result;
}

static PyObject *colliders_time(PyObject *self, void *unused)
{
    (void)self;
    (void)unused;
    return PyFloat_FromDouble(0);
}

static PyGetSetDef colliders_getset[] = {
    {"time", colliders_time, NULL, "0 s: nothing runs", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef colliders_methods[] = {
    {"add_collider", colliders_add, METH_VARARGS, "As of Core."},
    {"collider_distance", colliders_distance, METH_VARARGS, "As of Core."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot colliders_slots[] = {
    {Py_tp_doc, "Colliders(dim): without a run."},
    {Py_tp_new, colliders_new},
    {Py_tp_traverse, colliders_traverse},
    {Py_tp_dealloc, colliders_dealloc},
    {Py_tp_methods, colliders_methods},
    {Py_tp_getset, colliders_getset},
    {0, NULL},
};

PyType_Spec mpm_python_colliders_spec = {
    .name = "mpm._core.Colliders",
    .basicsize = sizeof(colliders),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = colliders_slots,
};
