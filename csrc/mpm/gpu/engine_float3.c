/* SPDX-License-Identifier: MIT */
#define MPM_ISA scalar
#define MPM_ISA_SCALAR 1
#define MPM_REAL float
#define MPM_DIM 3
#include "mpm/gpu/engine_variant.h"

const mpm_gpu_variant mpm_engine_float3_variant = VARIANT;
