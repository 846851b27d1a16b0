/* SPDX-License-Identifier: MIT */
#include "materials/laws.h"

#include <math.h>

#define ELASTIC_PARAMETERS \
    {"E", "Pa", 0, INFINITY, true, true, NAN, "Young's modulus"}, \
    {"nu", "1", -1, 0.5, true, true, NAN, "Poisson's ratio; the wave speed grows without bound at 0.5"}, \
    {"density", "kg/m3", 0, INFINITY, true, true, NAN, "initial density"}

static const mpm_law table[MPM_LAW_COUNT] = {
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
        .name = "fluid", .fluid = true, .J_low = 1e-2, .J_high = 1e6, .parameters = 4,
        .parameter = {
            {"bulk_modulus", "Pa", 0, INFINITY, true, true, NAN, "stiffness K = rho c^2 at rest"},
            {"gamma", "1", 1, 20, false, false, 7, "exponent of the pressure law"},
            {"viscosity", "Pa s", 0, INFINITY, false, true, 0, "dynamic viscosity"},
            {"density", "kg/m3", 0, INFINITY, true, true, NAN, "initial density"},
        },
        .reference = "J. J. Monaghan, Simulating free surface flows with SPH, Journal of Computational Physics "
                     "110 (1994) 399-406 (equation of state); A. P. Tampubolon et al., Multi-species simulation "
                     "of porous sand and water mixtures, ACM Transactions on Graphics 36(4) (2017) 105.",
    },
};

const mpm_law *mpm_laws_get(int index)
{
    return &table[index];
}
