/* SPDX-License-Identifier: MIT
 *
 * Arrays in the memory of a device for other libraries, without a copy.
 */
#pragma once
#include "mpm/gpu_backend.h"
#include "python/module.h"

/** Lends an array of a simulation to Python: (loan, address, shape, strides [bytes], format, (kind, number) of the
 *  device as DLPack counts them, changes). The loan, a capsule, keeps the simulation and the memory alive; takes over
 *  the array. */
PyObject *mpm_python_lend(PyObject *core, mpm_simulation *simulation, const mpm_gpu_shown *shown);
