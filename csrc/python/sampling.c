/* SPDX-License-Identifier: MIT */
#include "python/module.h"

PyMethodDef mpm_sampling_methods[] = {{NULL, NULL, 0, NULL}};
