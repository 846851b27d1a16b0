/* SPDX-License-Identifier: MIT
 *
 * The rows of the registry (laws.h). Kernels include the rows too; compiled per law, they see a row as constants.
 */
#pragma once
#include <math.h>

#include "materials/laws.h"

#define ELASTIC_PARAMETERS \
    {"E", "Pa", 0, INFINITY, true, true, "Young's modulus"}, \
    {"nu", "1", -1, 0.5, true, true, "Poisson's ratio; the wave speed grows without bound at 0.5"}, \
    {"density", "kg/m3", 0, INFINITY, true, true, "initial density"}

/* J_P = det F_P */
#define PLASTIC_VOLUME_RATIO \
    {"Jp", "1", MPM_SCALAR, .initial = 1, .low = 0, .high = INFINITY, .scales_volume = true, \
     .meaning = "volume ratio of the plastic part of the deformation"}

static const mpm_law law_rows[MPM_LAW_COUNT] = {
    [MPM_FIXED_COROTATED] = {
        .name = "fixed_corotated", .J_low = 1e-4, .J_high = 1e4, .parameters = 3,
        .parameter = {ELASTIC_PARAMETERS},
        .reference = "A. Stomakhin, R. Howes, C. Schroeder, J. M. Teran, Energetically consistent invertible "
                     "elasticity, Eurographics/ACM SIGGRAPH Symposium on Computer Animation (2012) 25-32.",
    },
    [MPM_NEO_HOOKEAN] = {
        .name = "neo_hookean", .J_low = 1e-3, .J_high = 1e3, .parameters = 3,
        .parameter = {ELASTIC_PARAMETERS},
        .reference = "J. Bonet, R. D. Wood, Nonlinear Continuum Mechanics for Finite Element Analysis, 2nd ed., "
                     "Cambridge University Press (2008), chapter 6.",
    },
    [MPM_FLUID] = {
        .name = "fluid", .strain = MPM_KEEPS_J, .viscous = true, .J_low = 1e-2, .J_high = 1e6, .parameters = 4,
        .parameter = {
            {"bulk_modulus", "Pa", 0, INFINITY, true, true, "stiffness K = rho c^2 at rest"},
            {"gamma", "1", 1, 20, false, false, "exponent of the pressure law"},
            {"viscosity", "Pa s", 0, INFINITY, false, true, "dynamic viscosity"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .reference = "J. J. Monaghan, Simulating free surface flows with SPH, Journal of Computational Physics "
                     "110 (1994) 399-406 (equation of state); A. P. Tampubolon et al., Multi-species simulation "
                     "of porous sand and water mixtures, ACM Transactions on Graphics 36(4) (2017) 105.",
    },
    [MPM_SNOW] = {
        .name = "snow", .J_low = 1e-4, .J_high = 1e4, .parameters = 6,
        .parameter = {
            {"E", "Pa", 0, INFINITY, true, true, "Young's modulus before hardening"},
            {"nu", "1", -1, 0.5, true, true, "Poisson's ratio; the wave speed grows without bound at 0.5"},
            {"critical_compression", "1", 0, 1, true, true, "elastic down to the stretch 1 - theta_c",
             .is_yield_strain = true},
            {"critical_stretch", "1", 0, 1e6, true, false, "elastic up to the stretch 1 + theta_s",
             .is_yield_strain = true},
            {"hardening", "1", 0, INFINITY, false, true, "xi: moduli grow by e^(xi (1 - Jp))"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 1, .field = {PLASTIC_VOLUME_RATIO},
        .reference = "A. Stomakhin, C. Schroeder, L. Chai, J. Teran, A. Selle, A material point method for snow "
                     "simulation, ACM Transactions on Graphics 32(4) (2013) 102. doi:10.1145/2461912.2461948",
    },
    [MPM_SAND] = {
        .name = "sand", .J_low = 1e-3, .J_high = 1e3, .parameters = 5,
        .parameter = {
            {"E", "Pa", 0, INFINITY, true, true, "Young's modulus"},
            {"nu", "1", -1, 0.5, true, true, "Poisson's ratio; the wave speed grows without bound at 0.5"},
            {"friction_angle_deg", "deg", 0, 90, true, true, "phi: angle of internal friction"},
            {"cohesion", "Pa", 0, INFINITY, false, true, "shear strength without pressure"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 1, .field = {PLASTIC_VOLUME_RATIO},
        .reference = "G. Klar, T. Gast, A. Pradhana, C. Fu, C. Schroeder, C. Jiang, J. Teran, Drucker-Prager "
                     "elastoplasticity for sand animation, ACM Transactions on Graphics 35(4) (2016) 103. "
                     "doi:10.1145/2897824.2925906",
    },
};
