/* SPDX-License-Identifier: MIT
 *
 * What rows of laws share (laws.h), and parameters by name. A law lists its parameters once, the density last:
 *
 *     #define X_PARAMETERS(P) P(name, unit, low, high, low_open, high_open, meaning, ...) ...
 *     struct x_parameters { X_PARAMETERS(MPM_MEMBER) };                the values that a user gives, by name
 *     MPM_ROW(x, .name = "x", MPM_ROW_PARAMETERS(x, X_PARAMETERS), ...)                x_row, its row of the registry
 *
 * Kernels include the rows too; compiled per law, they see a row as constants. Those of a GPU, which are C++, do not.
 */
#pragma once
#include <math.h>
#include <stddef.h>

#include "materials/laws.h"

#ifdef __cplusplus
#define MPM_ROW(law, ...)
#else
#define MPM_ROW(law, ...) static const mpm_law law##_row = {__VA_ARGS__};
#endif

#define MPM_MEMBER(name, ...) double name;
#define MPM_PARAMETER(label, ...) {.name = #label, __VA_ARGS__},
#define MPM_ROW_PARAMETERS(law, LIST) \
    .parameters = sizeof(struct law##_parameters) / sizeof(double), \
    .parameter = (const mpm_parameter[]){LIST(MPM_PARAMETER)}

/** The values of a material, which are those of its row in order, by name. */
#define MPM_VALUES(law, values) ((const struct law##_parameters *)(const void *)(values))

/** The index of a parameter in the row. */
#define MPM_PLACE(law, name) ((int)(offsetof(struct law##_parameters, name) / sizeof(double)))

/** A function of a law's row, which kernels do not ask for and do not compile. */
#ifdef MPM_DIM
#define MPM_OUTSIDE_KERNELS(function) NULL
#else
#define MPM_OUTSIDE_KERNELS(function) function
#endif

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

#define ANY_NUMBER -INFINITY, INFINITY, true, true
#define POSITIVE 0, INFINITY, true, true
#define NOT_NEGATIVE 0, INFINITY, false, true

/* ---- parameters -------------------------------------------------------------------------------------------------- */

#define POISSONS_RATIO(P) \
    P(nu, "1", -1, 0.5, true, true, "Poisson's ratio; the wave speed grows without bound at 0.5")

#define ELASTIC_MODULI(P) \
    P(E, "Pa", POSITIVE, "Young's modulus") \
    POISSONS_RATIO(P)

#define FRICTION_ANGLE(P) P(friction_angle_deg, "deg", 0, 90, true, true, "phi: angle of internal friction")

#define DENSITY(P) P(density, "kg/m3", POSITIVE, "initial density")

#define ELASTIC_PARAMETERS(P) \
    ELASTIC_MODULI(P) \
    DENSITY(P)

/* ---- fields of a history ----------------------------------------------------------------------------------------- */

/* J_P = det F_P */
#define PLASTIC_VOLUME_RATIO \
    {"Jp", "1", MPM_SCALAR, .initial = 1, .low = 0, .high = INFINITY, .scales_volume = true, \
     .meaning = "volume ratio of the plastic part of the deformation"}

#define STRETCH_OUT_OF_PLANE \
    {"Fzz", "1", MPM_SCALAR, .initial = 1, .low = 0, .high = INFINITY, .scales_volume = true, \
     .meaning = "elastic stretch out of plane, in plane strain"}

#define PLASTIC_STRAIN \
    {"plastic_strain", "1", MPM_SCALAR, .low = -INFINITY, .high = INFINITY, \
     .meaning = "equivalent plastic strain that has accumulated"}

#define GAP \
    {"gap", "1", MPM_SCALAR, .initial = 1, .low = 0, .high = INFINITY, \
     .meaning = "volume ratio of the gap between grains that have parted"}
