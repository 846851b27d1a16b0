/* SPDX-License-Identifier: MIT
 *
 * The back end of a GPU, or of its emulation (mpm/gpu/driver.h): explicit steps of the standard scheme with one
 * material, between walls that do not absorb. Whoever makes the simulation refuses the rest.
 *
 * The host has a copy of every column, in the layout of kernels with one lane. What is rare works on it: particles that
 * come and go, files, searches for rows. Columns are copied when they are mapped, and back after they were written.
 */
#pragma once
#include "mpm/gpu/driver.h"
#include "mpm/simulation.h"

/** Makes a simulation that has never had particles, and whose kernels have one lane, run on a GPU. The driver belongs
 *  to the simulation from then on. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if the simulation is another one, or the
 *  image is of another precision or dimension; MPM_TOO_LARGE if the domain has too many blocks. */
mpm_status mpm_gpu_backend_use(mpm_simulation *simulation, mpm_gpu_driver *driver);
