/* SPDX-License-Identifier: MIT
 *
 * `mpm._core.Field`: one field of the particles as a buffer. It shares the view with the simulation, so its arrays
 * outlive both.
 */
#include "python/module.h"

typedef struct {
    PyObject_HEAD
    mpm_view *source;
    int ndim;
    Py_ssize_t shape[3], strides[3];
} field;

static const char *format_of(const mpm_view *source)
{
    if (source->integer)
        return source->element == 4 ? "i" : "q";
    return source->element == 4 ? "f" : "d";
}

static int field_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    field *f = (field *)self;
    mpm_view *source = f->source;
    if (!view) {
        PyErr_SetString(PyExc_BufferError, "NULL view");
        return -1;
    }
    view->obj = NULL;
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS) {
        PyErr_SetString(PyExc_BufferError, "the array is C-contiguous");
        return -1;
    }
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && source->read_only) {
        PyErr_SetString(PyExc_BufferError, "the field is read-only");
        return -1;
    }
    view->buf = source->data;
    view->obj = Py_NewRef(self);
    view->len = source->rows * source->components * (Py_ssize_t)source->element;
    view->itemsize = (Py_ssize_t)source->element;
    view->readonly = source->read_only;
    view->ndim = f->ndim;
    view->format = (flags & PyBUF_FORMAT) ? (char *)format_of(source) : NULL;
    view->shape = (flags & PyBUF_ND) ? f->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? f->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    source->exports++;
    source->touched |= !source->read_only; /* even a consumer that asked for no write access may write */
    return 0;
}

static void field_releasebuffer(PyObject *self, Py_buffer *view)
{
    (void)view;
    ((field *)self)->source->exports--;
}

/* A copy, unlike a view, cannot write to the field, so the next run has nothing to compare. */
static PyObject *field_copy(PyObject *self, PyObject *unused)
{
    (void)unused;
    const field *f = (field *)self;
    const mpm_view *source = f->source;
    const Py_ssize_t bytes = source->rows * source->components * (Py_ssize_t)source->element;
    PyObject *shape = PyTuple_New(f->ndim);
    for (int k = 0; shape && k < f->ndim; k++)
        if (PyTuple_SetItem(shape, k, PyLong_FromSsize_t(f->shape[k])))
            Py_CLEAR(shape);
    PyObject *data = shape ? PyBytes_FromStringAndSize(source->data, bytes) : NULL;
    if (data)
        return Py_BuildValue("NsN", data, format_of(source), shape);
    Py_XDECREF(shape);
    return NULL;
}

static int field_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void field_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    mpm_view_release(((field *)self)->source);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyObject *mpm_python_field_new(module_state *state, mpm_view *source, mpm_rank rank, int dim)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(state->field_type, Py_tp_alloc);
    field *f = (field *)allocate(state->field_type, 0);
    if (!f)
        return NULL;
    mpm_view_retain(source);
    f->source = source;
    f->ndim = rank == MPM_SCALAR ? 1 : rank == MPM_TENSOR ? 3 : 2;
    f->shape[0] = source->rows;
    f->shape[1] = rank == MPM_TENSOR ? dim : source->components;
    f->shape[2] = dim;
    Py_ssize_t stride = (Py_ssize_t)source->element;
    for (int k = f->ndim - 1; k >= 0; k--) {
        f->strides[k] = stride;
        stride *= f->shape[k];
    }
    return (PyObject *)f;
}

static const char *const rank_names[MPM_RANKS] = {
    [MPM_SCALAR] = "scalar", [MPM_VECTOR] = "vector", [MPM_SYMMETRIC] = "symmetric",
    [MPM_TENSOR] = "tensor"};

const char *mpm_python_rank_name(mpm_rank rank)
{
    return rank_names[rank];
}

mpm_rank mpm_python_rank_of(const char *name)
{
    return (mpm_rank)mpm_python_find_name(name, rank_names, MPM_RANKS);
}

PyObject *mpm_python_fields(const mpm_fields *fields, const mpm_store *store)
{
    static const char *const owners[] = {
        [MPM_OWNER_CORE] = "core", [MPM_OWNER_LAW] = "law", [MPM_OWNER_USER] = "user"};
    PyObject *list = PyList_New(0);
    for (int f = 0; list && f < fields->count; f++) {
        const mpm_field *row = &fields->row[f];
        const bool kept = store && store->run->method->snapshot->row_bytes(store, f);
        mpm_python_append(&list, Py_BuildValue("{s:s,s:s,s:s,s:s,s:d,s:O,s:O}", "name", row->name, "unit", row->unit,
                                               "rank", rank_names[row->rank], "owner", owners[row->owner], "initial",
                                               row->initial, "lasting", row->lasting ? Py_True : Py_False, "kept",
                                               kept ? Py_True : Py_False));
    }
    return list;
}

static PyMethodDef field_methods[] = {
    {"copy", field_copy, METH_NOARGS,
     "copy() -> (bytes, format, shape), as it is now. Unlike a view it is no possible write."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot field_slots[] = {
    {Py_tp_doc, "One live particle field; numpy.asarray makes a view of it."},
    {Py_tp_methods, field_methods},
    {Py_tp_traverse, field_traverse},
    {Py_tp_dealloc, field_dealloc},
    {Py_bf_getbuffer, field_getbuffer},
    {Py_bf_releasebuffer, field_releasebuffer},
    {0, NULL},
};

PyType_Spec mpm_python_field_spec = {
    .name = "mpm._core.Field",
    .basicsize = sizeof(field),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = field_slots,
};
