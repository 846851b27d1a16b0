/* SPDX-License-Identifier: MIT
 *
 * The extension module `mpm._core`: multi-phase initialisation, heap types, limited API of CPython 3.11.
 */
#include "materials/bounds.h"
#include "mpm/gpu/cuda_driver.h"
#include "mpm/memory/particles.h"
#include "python/module.h"

static PyObject *isas(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    const char *name;
    for (int i = 0; list && (name = mpm_variants_isa(i)); i++)
        mpm_python_append(&list, PyUnicode_FromString(name));
    return list;
}

static PyObject *build_info(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
#ifdef __clang__
    const char *compiler = "clang " __clang_version__;
#else
    const char *compiler = "gcc " __VERSION__;
#endif
#ifdef Py_LIMITED_API
    const char *abi = "abi3";
#else
    const char *abi = "version-specific";
#endif
    return Py_BuildValue("{s:s,s:s,s:s}", "compiler", compiler, "abi", abi, "flags", MPM_FLAGS);
}

static PyMethodDef module_methods[] = {
    {"isas", isas, METH_NOARGS, "Kernel sets this processor can run, slowest first."},
    {"snapshot_names", mpm_python_snapshot_names, METH_NOARGS, "(names of a snapshot's numbers, of its counters)"},
    {"build_info", build_info, METH_NOARGS, "Facts about the build."},
    {NULL, NULL, 0, NULL},
};

static PyObject *add_exception(PyObject *module, const char *name, const char *full_name, const char *doc,
                               PyObject *base)
{
    PyObject *exception = PyErr_NewExceptionWithDoc(full_name, doc, base, NULL);
    if (exception && PyModule_AddObjectRef(module, name, exception))
        Py_CLEAR(exception);
    return exception;
}

static int add_exceptions(PyObject *module, module_state *state)
{
    state->simulation_error = add_exception(
        module, "SimulationError", "mpm.SimulationError",
        "A run ended early, at its last whole step. Attributes: step (steps taken), time [s], rows (the particles\n"
        "concerned, ascending, at most 1000).",
        PyExc_RuntimeError);
    if (!state->simulation_error)
        return -1;
    state->instability_error =
        add_exception(module, "InstabilityError", "mpm.InstabilityError",
                      "The time step is too large, or a material left the range of its law.", state->simulation_error);
    state->convergence_error = add_exception(
        module, "ConvergenceError", "mpm.ConvergenceError",
        "An implicit step was not solved. Attribute: residuals, relative to the first one, before the first\n"
        "and after every iteration.",
        state->simulation_error);
    state->escape_error = add_exception(module, "EscapeError", "mpm.EscapeError", "Particles left the domain.",
                                        state->simulation_error);
    state->busy_error = add_exception(module, "BusyError", "mpm.BusyError",
                                      "The simulation is being run by another thread.", PyExc_RuntimeError);
    state->device_error =
        add_exception(module, "DeviceError", "mpm.DeviceError",
                      "A GPU or its driver is missing, does not suit or failed, in the words of the driver.",
                      state->simulation_error);
    return state->instability_error && state->convergence_error && state->escape_error && state->busy_error &&
                   state->device_error
               ? 0
               : -1;
}

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, (PyObject *)base);
    if (type && PyModule_AddType(module, type))
        Py_CLEAR(type);
    return type;
}

static int add_double(PyObject *module, const char *name, double value)
{
    PyObject *number = PyFloat_FromDouble(value);
    const int failed = !number || PyModule_AddObjectRef(module, name, number);
    Py_XDECREF(number);
    return failed;
}

/* Numbers of the core that the Python layer needs. */
static int add_numbers(PyObject *module)
{
    return add_double(module, "LARGEST_STRESS", MPM_LARGEST_STRESS(false)) ||
           PyModule_AddIntConstant(module, "FEWEST_PERIODIC_CELLS", MPM_FEWEST_PERIODIC_CELLS) ||
           PyModule_AddIntConstant(module, "CUDA_LEAST_CAPABILITY", MPM_CUDA_LEAST_CAPABILITY) ||
           PyModule_AddIntConstant(module, "GROUP_COLUMNS", MPM_SNAPSHOT_GROUP) ||
           PyModule_AddIntConstant(module, "BOOK_COLUMNS", MPM_SNAPSHOT_BOOK) ||
           PyModule_AddIntConstant(module, "MOTION_COLUMNS", MPM_SNAPSHOT_MOTION) ||
           PyModule_AddIntConstant(module, "BLOCK_SIDE_2D", mpm_block_side(2)) ||
           PyModule_AddIntConstant(module, "BLOCK_SIDE_3D", mpm_block_side(3));
}

static int module_exec(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    state->allocator = mpm_memory_default();
    if (add_exceptions(module, state) || add_numbers(module) || PyModule_AddFunctions(module, module_methods) ||
        PyModule_AddFunctions(module, mpm_python_law_methods) ||
        PyModule_AddFunctions(module, mpm_python_settings_methods) ||
        PyModule_AddFunctions(module, mpm_python_user_law_methods) ||
        PyModule_AddFunctions(module, mpm_sampling_methods) ||
        PyModule_AddFunctions(module, mpm_drawing_methods) ||
        PyModule_AddFunctions(module, mpm_python_collider_methods) ||
        PyModule_AddFunctions(module, mpm_python_ode_methods) ||
        PyModule_AddFunctions(module, mpm_python_cuda_methods) ||
        PyModule_AddFunctions(module, mpm_python_device_array_methods))
        return -1;
    if (!(state->core_type = add_type(module, &mpm_python_core_spec, NULL)))
        return -1;
    state->simulation_type = add_type(module, &mpm_python_simulation_spec, state->core_type);
    state->sph_type = add_type(module, &mpm_python_sph_spec, state->core_type);
    state->fem_type = add_type(module, &mpm_python_fem_spec, state->core_type);
    state->field_type = add_type(module, &mpm_python_field_spec, NULL);
    state->colliders_type = add_type(module, &mpm_python_colliders_spec, NULL);
    return state->simulation_type && state->sph_type && state->fem_type && state->field_type && state->colliders_type
               ? 0
               : -1;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    module_state *state = PyModule_GetState(module);
    Py_VISIT(state->core_type);
    Py_VISIT(state->simulation_type);
    Py_VISIT(state->sph_type);
    Py_VISIT(state->fem_type);
    Py_VISIT(state->field_type);
    Py_VISIT(state->colliders_type);
    Py_VISIT(state->simulation_error);
    Py_VISIT(state->instability_error);
    Py_VISIT(state->convergence_error);
    Py_VISIT(state->escape_error);
    Py_VISIT(state->busy_error);
    Py_VISIT(state->device_error);
    return 0;
}

static int module_clear(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->core_type);
    Py_CLEAR(state->simulation_type);
    Py_CLEAR(state->sph_type);
    Py_CLEAR(state->fem_type);
    Py_CLEAR(state->field_type);
    Py_CLEAR(state->colliders_type);
    Py_CLEAR(state->simulation_error);
    Py_CLEAR(state->instability_error);
    Py_CLEAR(state->convergence_error);
    Py_CLEAR(state->escape_error);
    Py_CLEAR(state->busy_error);
    Py_CLEAR(state->device_error);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "mpm._core",
    .m_doc = "The C core of mpm.",
    .m_size = sizeof(module_state),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
