/* SPDX-License-Identifier: MIT
 *
 * Drivers of NVIDIA's GPUs, as capsules, and the devices that there are.
 */
#include <string.h>

#include "mpm/gpu/cuda_driver.h"
#include "python/module.h"

/* The exception for a failed call, with the words of the core. */
static PyObject *refuse(PyObject *module, mpm_status status, const char *words)
{
    const module_state *state = PyModule_GetState(module);
    PyObject *type = status == MPM_OUT_OF_MEMORY  ? PyExc_MemoryError
                     : status == MPM_BAD_ARGUMENT ? PyExc_ValueError
                     : status == MPM_TOO_LARGE    ? PyExc_OverflowError
                                                  : state->device_error;
    PyObject *text = PyUnicode_DecodeUTF8(words, (Py_ssize_t)strlen(words), "replace");
    if (text)
        PyErr_SetObject(type, text);
    Py_XDECREF(text);
    return NULL;
}

static PyObject *cuda_devices(PyObject *module, PyObject *args)
{
    const char *library = MPM_CUDA_LIBRARY;
    char words[MPM_CUDA_WORDS] = "";
    mpm_cuda_list found = {0};
    mpm_status status;
    if (!PyArg_ParseTuple(args, "|s", &library))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mpm_cuda_driver_list(library, &found, words);
    Py_END_ALLOW_THREADS
    if (status)
        return refuse(module, status, words);
    PyObject *list = PyList_New(0);
    for (int k = 0; k < found.count && list; k++) {
        const mpm_cuda_device *one = &found.device[k];
        PyObject *name = PyUnicode_DecodeUTF8(one->name, (Py_ssize_t)strlen(one->name), "replace");
        mpm_python_append(&list, name ? Py_BuildValue("(Nini)", name, one->capability, (Py_ssize_t)one->bytes,
                                                      one->shared_bytes)
                                      : NULL);
    }
    return list ? Py_BuildValue("(iN)", found.version, list) : NULL;
}

static void free_driver(PyObject *capsule)
{
    mpm_gpu_driver *driver = PyCapsule_GetPointer(capsule, MPM_GPU_CAPSULE);
    if (driver)
        driver->free(driver);
}

static PyObject *cuda_driver(PyObject *module, PyObject *args)
{
    const char *image, *library = MPM_CUDA_LIBRARY;
    Py_ssize_t bytes;
    int ordinal;
    char words[MPM_CUDA_WORDS] = "";
    const mpm_allocator allocator = mpm_memory_default();
    mpm_gpu_driver *driver;
    mpm_status status;
    PyObject *code; /* its bytes end with a zero byte */
    if (!PyArg_ParseTuple(args, "Si|s", &code, &ordinal, &library))
        return NULL;
    if (PyBytes_AsStringAndSize(code, (char **)&image, &bytes))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mpm_cuda_driver_new(&driver, &allocator, library, ordinal, image, words);
    Py_END_ALLOW_THREADS
    if (status)
        return refuse(module, status, words);
    PyObject *capsule = PyCapsule_New(driver, MPM_GPU_CAPSULE, free_driver);
    if (!capsule)
        driver->free(driver);
    return capsule;
}

PyMethodDef mpm_python_cuda_methods[] = {
    {"cuda_devices", cuda_devices, METH_VARARGS,
     "(version of CUDA that the driver knows, [(name, 10 x compute capability, bytes of memory, bytes of shared\n"
     "memory of a block)]); of another library than libcuda.so.1, if its name is given. DeviceError without a driver\n"
     "or a device."},
    {"cuda_driver", cuda_driver, METH_VARARGS,
     "The driver, a capsule, of device number `ordinal` with the kernels of an image; of another library, if its name\n"
     "is given. MemoryError, ValueError: no such device, OverflowError: too little shared memory, DeviceError."},
    {NULL, NULL, 0, NULL},
};
