/* SPDX-License-Identifier: MIT */
#include "python/device_array.h"

#include <stdint.h>

#define LOAN "mpm.gpu.loan"

typedef struct loan {
    PyObject *core;
    mpm_simulation *simulation;
    mpm_gpu_shown shown;
} loan;

/* ---- DLPack: https://dmlc.github.io/dlpack/latest/c_api.html ----------------------------------------------------- */

typedef struct tensor {
    void *data;
    struct {
        int32_t kind, number;
    } device;
    int32_t axes;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } type;
    int64_t *shape, *strides; /* in numbers */
    uint64_t byte_offset;
} tensor;

/* The older struct, which cannot say that it is read-only. */
typedef struct managed {
    tensor array;
    void *context;
    void (*deleter)(struct managed *);
} managed;

typedef struct versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct versioned *);
    uint64_t flags;
    tensor array;
} versioned;

enum { CODE_INT = 0, CODE_FLOAT = 2, FLAG_READ_ONLY = 1 };

/* What a consumer owns: one of the structs, and the loan. Freed from any thread. */
typedef struct exported {
    union {
        managed managed;
        versioned versioned;
    } as;
    PyObject *loan;
} exported;

static void free_export(exported *owned)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(owned->loan);
    PyMem_Free(owned);
    PyGILState_Release(state);
}

static void delete_managed(managed *it)
{
    free_export(it->context);
}

static void delete_versioned(versioned *it)
{
    free_export(it->context);
}

/* Of a capsule that nobody has consumed: a consumer renames it. */
static void end_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor"))
        delete_managed(PyCapsule_GetPointer(capsule, "dltensor"));
    else if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        delete_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
}

static PyObject *dlpack(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *lent;
    int is_versioned;
    if (!PyArg_ParseTuple(args, "Op", &lent, &is_versioned))
        return NULL;
    loan *from = PyCapsule_GetPointer(lent, LOAN);
    if (!from)
        return NULL;
    exported *made = PyMem_Calloc(1, sizeof *made);
    if (!made)
        return PyErr_NoMemory();
    mpm_gpu_shown *shown = &from->shown;
    tensor array = {.data = shown->at, .axes = shown->axes, .shape = shown->shape, .strides = shown->strides};
    array.device.kind = shown->device_kind;
    array.device.number = shown->device_number;
    array.type.code = shown->is_integer ? CODE_INT : CODE_FLOAT;
    array.type.bits = (uint8_t)(8 * shown->size);
    array.type.lanes = 1;
    made->loan = lent;
    if (is_versioned)
        made->as.versioned = (versioned){.version = {1, 0}, .context = made, .deleter = delete_versioned,
                                         .flags = FLAG_READ_ONLY, .array = array};
    else
        made->as.managed = (managed){.array = array, .context = made, .deleter = delete_managed};
    Py_INCREF(lent);
    PyObject *capsule = PyCapsule_New(made, is_versioned ? "dltensor_versioned" : "dltensor", end_capsule);
    if (!capsule)
        free_export(made);
    return capsule;
}

/* ---- loans ------------------------------------------------------------------------------------------------------- */

static void end_loan(PyObject *capsule)
{
    loan *ended = PyCapsule_GetPointer(capsule, LOAN);
    mpm_gpu_backend_return(ended->simulation);
    Py_DECREF(ended->core);
    PyMem_Free(ended);
}

static PyObject *tuple_of(const int64_t *numbers, int count, int64_t factor)
{
    PyObject *made = PyTuple_New(count);
    for (int k = 0; k < count && made; k++) {
        PyObject *one = PyLong_FromLongLong(numbers[k] * factor);
        if (!one || PyTuple_SetItem(made, k, one)) {
            Py_DECREF(made);
            return NULL;
        }
    }
    return made;
}

PyObject *mpm_python_lend(PyObject *core, mpm_simulation *simulation, const mpm_gpu_shown *shown)
{
    loan *made = PyMem_Calloc(1, sizeof *made);
    if (!made) {
        mpm_gpu_backend_return(simulation);
        return PyErr_NoMemory();
    }
    *made = (loan){core, simulation, *shown};
    Py_INCREF(core);
    PyObject *capsule = PyCapsule_New(made, LOAN, end_loan);
    if (!capsule) {
        mpm_gpu_backend_return(simulation);
        Py_DECREF(core);
        PyMem_Free(made);
        return NULL;
    }
    const char *format = shown->is_integer ? "<i4" : shown->size == sizeof(float) ? "<f4" : "<f8";
    return Py_BuildValue("NKNNs(ii)K", capsule, (unsigned long long)(uintptr_t)shown->at,
                         tuple_of(shown->shape, shown->axes, 1),
                         tuple_of(shown->strides, shown->axes, (int64_t)shown->size), format, shown->device_kind,
                         shown->device_number, (unsigned long long)shown->changes);
}

PyMethodDef mpm_python_device_array_methods[] = {
    {"dlpack", dlpack, METH_VARARGS, "dlpack(loan, versioned): a capsule of DLPack for an array that was lent"},
    {NULL, NULL, 0, NULL},
};
