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

#define STRETCH_OUT_OF_PLANE \
    {"Fzz", "1", MPM_SCALAR, .initial = 1, .low = 0, .high = INFINITY, .scales_volume = true, \
     .meaning = "elastic stretch out of plane, in plane strain"}

#define PLASTIC_STRAIN \
    {"plastic_strain", "1", MPM_SCALAR, .low = -INFINITY, .high = INFINITY, \
     .meaning = "equivalent plastic strain that has accumulated"}

#define GAP \
    {"gap", "1", MPM_SCALAR, .initial = 1, .low = 0, .high = INFINITY, \
     .meaning = "volume ratio of the gap between grains that have parted"}

#define INVERSE_METRIC(name) \
    {name, "1", MPM_SYMMETRIC, .initial = 1, .low = -INFINITY, .high = INFINITY, \
     .meaning = "inverse right Cauchy-Green tensor of the dashpot's deformation"}

static const mpm_law law_rows[MPM_LAW_COUNT + 1] = {
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
        .name = "fluid", .strain = MPM_KEEPS_J, .viscous = true, .J_low = 1e-2, .J_high = 1e6, .parameters = 5,
        .parameter = {
            {"bulk_modulus", "Pa", 0, INFINITY, true, true, "stiffness K = rho c^2 at rest"},
            {"gamma", "1", -1, 20, false, false, "exponent of the pressure law; -1 or at least 1",
             .branches = MPM_BRANCHES},
            {"viscosity", "Pa s", 0, INFINITY, false, true, "dynamic viscosity"},
            {"tension", "flag", 0, 1, false, false, "1: stretched fluid pulls; 0: it tears without resistance",
             .branches = MPM_BRANCHES},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .reference = "J. J. Monaghan, Simulating free surface flows with SPH, Journal of Computational Physics "
                     "110 (1994) 399-406 (equation of state); A. P. Tampubolon et al., Multi-species simulation "
                     "of porous sand and water mixtures, ACM Transactions on Graphics 36(4) (2017) 105.",
    },
    [MPM_SNOW] = {
        .name = "snow", .J_low = 1e-4, .J_high = 1e4, .parameters = 8,
        .parameter = {
            {"E", "Pa", 0, INFINITY, true, true, "Young's modulus before hardening"},
            {"nu", "1", -1, 0.5, true, true, "Poisson's ratio; the wave speed grows without bound at 0.5"},
            {"critical_compression", "1", 0, 1, true, true, "elastic down to the stretch 1 - theta_c",
             .is_yield_strain = true},
            {"critical_stretch", "1", 0, 1e6, true, false, "elastic up to the stretch 1 + theta_s",
             .is_yield_strain = true},
            {"hardening", "1", 0, INFINITY, false, true, "xi: moduli grow by e^(xi (1 - Jp))"},
            {"least_Jp", "1", 0, 1, false, false, "lower limit of Jp"},
            {"largest_Jp", "1", 1, INFINITY, false, false, "upper limit of Jp"},
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
    [MPM_SAINT_VENANT_KIRCHHOFF] = {
        .name = "saint_venant_kirchhoff", .J_low = 1e-4, .J_high = 1e4, .parameters = 3,
        .parameter = {ELASTIC_PARAMETERS},
        .reference = "J. Bonet, R. D. Wood, Nonlinear Continuum Mechanics for Finite Element Analysis, 2nd ed., "
                     "Cambridge University Press (2008), chapter 6.",
    },
    [MPM_HENCKY] = {
        .name = "hencky", .J_low = 1e-3, .J_high = 1e3, .parameters = 3,
        .parameter = {ELASTIC_PARAMETERS},
        .reference = "L. Anand, On H. Hencky's approximate strain-energy function for moderate deformations, "
                     "Journal of Applied Mechanics 46 (1979) 78-82. doi:10.1115/1.3424532",
    },
    [MPM_MOONEY_RIVLIN] = {
        .name = "mooney_rivlin", .J_low = 1e-3, .J_high = 1e3, .parameters = 4,
        .parameter = {
            {"c10", "Pa", 0, INFINITY, true, true, "half the shear modulus that goes with I1"},
            {"c01", "Pa", 0, INFINITY, false, true, "half the shear modulus that goes with I2"},
            {"bulk_modulus", "Pa", 0, INFINITY, true, true, "bulk modulus at rest"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .reference = "P. G. Ciarlet, G. Geymonat, Sur les lois de comportement en elasticite non lineaire "
                     "compressible, Comptes Rendus de l'Academie des Sciences Paris, Serie II 295 (1982) 423-426.",
    },
    [MPM_VON_MISES] = {
        .name = "von_mises", .J_low = 1e-3, .J_high = 1e3, .parameters = 7,
        .parameter = {
            {"E", "Pa", 0, INFINITY, true, true, "Young's modulus"},
            {"nu", "1", -1, 0.5, true, true, "Poisson's ratio; the wave speed grows without bound at 0.5"},
            {"yield_stress", "Pa", 0, INFINITY, true, true, "sigma_y: uniaxial stress at which flow begins"},
            {"hardening", "Pa", 0, INFINITY, false, true, "H: growth of the yield stress with plastic strain"},
            {"kinematic_hardening", "Pa", 0, INFINITY, false, true, "K: shift of the surface with plastic strain",
             .branches = MPM_BRANCHES_AT_0, .turns_axes = true},
            {"viscosity", "Pa s", 0, INFINITY, false, true, "eta: resistance to the rate of plastic flow",
             .branches = MPM_BRANCHES_AT_0},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 3,
        .field = {
            PLASTIC_VOLUME_RATIO,
            PLASTIC_STRAIN,
            {"backstress", "Pa", MPM_SYMMETRIC, .low = -INFINITY, .high = INFINITY,
             .meaning = "centre of the yield surface, turned back by the rotation of F"},
        },
        .reference = "J. C. Simo, Algorithms for static and dynamic multiplicative plasticity that preserve the "
                     "classical return mapping schemes of the infinitesimal theory, Computer Methods in Applied "
                     "Mechanics and Engineering 99 (1992) 61-112. doi:10.1016/0045-7825(92)90123-2",
    },
    [MPM_NACC] = {
        .name = "nacc", .J_low = 1e-3, .J_high = 1e3, .parameters = 7,
        .parameter = {
            {"E", "Pa", 0, INFINITY, true, true, "Young's modulus"},
            {"nu", "1", -1, 0.5, true, true, "Poisson's ratio; the wave speed grows without bound at 0.5"},
            {"friction_angle_deg", "deg", 0, 90, true, true, "phi: angle of internal friction"},
            {"cohesion", "1", 0, INFINITY, false, true, "beta: tensile over compressive strength"},
            {"hardening", "1", 0, INFINITY, false, true, "xi: growth of the strength with consolidation"},
            {"consolidation", "1", -10, 10, false, false, "alpha of new particles; below 0: consolidated"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 3,
        .field = {
            PLASTIC_VOLUME_RATIO,
            STRETCH_OUT_OF_PLANE,
            {"alpha", "1", MPM_SCALAR, .initial_parameter = 6, .low = -INFINITY, .high = INFINITY,
             .meaning = "state of consolidation: the lower, the stronger"},
        },
        .reference = "J. Wolper, Y. Fang, M. Li, J. Lu, M. Gao, C. Jiang, CD-MPM: continuum damage material point "
                     "methods for dynamic fracture animation, ACM Transactions on Graphics 38(4) (2019) 119. "
                     "doi:10.1145/3306346.3322949",
    },
    [MPM_DRUCKER_PRAGER] = {
        .name = "drucker_prager", .J_low = 1e-3, .J_high = 1e3, .parameters = 8,
        .parameter = {
            {"E", "Pa", 0, INFINITY, true, true, "Young's modulus"},
            {"nu", "1", -1, 0.5, true, true, "Poisson's ratio; the wave speed grows without bound at 0.5"},
            {"friction_angle_deg", "deg", 0, 90, true, true, "phi: angle of internal friction"},
            {"dilation_angle_deg", "deg", 0, 90, false, true, "psi: angle of dilation"},
            {"cohesion", "Pa", 0, INFINITY, false, true, "shear strength without pressure"},
            {"tension", "Pa", 0, INFINITY, false, false, "mean tension at which grains part, at most c cot phi"},
            {"cone", "1", 0, 2, false, false, "where it meets Mohr-Coulomb: compression, extension, plane strain"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 3, .field = {PLASTIC_VOLUME_RATIO, STRETCH_OUT_OF_PLANE, GAP},
        .reference = "D. C. Drucker, W. Prager, Soil mechanics and plastic analysis or limit design, Quarterly of "
                     "Applied Mathematics 10 (1952) 157-165. doi:10.1090/qam/48291",
    },
    [MPM_MOHR_COULOMB] = {
        .name = "mohr_coulomb", .J_low = 1e-3, .J_high = 1e3, .parameters = 6,
        .parameter = {
            {"E", "Pa", 0, INFINITY, true, true, "Young's modulus"},
            {"nu", "1", -1, 0.5, true, true, "Poisson's ratio; the wave speed grows without bound at 0.5"},
            {"friction_angle_deg", "deg", 0, 90, true, true, "phi: angle of internal friction"},
            {"dilation_angle_deg", "deg", 0, 90, false, true, "psi: angle of dilation"},
            {"cohesion", "Pa", 0, INFINITY, false, true, "shear strength without pressure"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 3, .field = {PLASTIC_VOLUME_RATIO, STRETCH_OUT_OF_PLANE, GAP},
        .reference = "E. A. de Souza Neto, D. Peric, D. R. J. Owen, Computational Methods for Plasticity, Wiley "
                     "(2008), section 8.2. doi:10.1002/9780470694626",
    },
    [MPM_CAM_CLAY] = {
        .name = "cam_clay", .J_low = 1e-3, .J_high = 1e3, .parameters = 7,
        .parameter = {
            {"shear_modulus", "Pa", 0, INFINITY, true, true, "mu"},
            {"swelling", "1", 0, 1, true, true, "kappa: fall of ln volume over growth of ln pressure, elastic"},
            {"compression", "1", 0, 1, true, true, "lambda: the same where it yields"},
            {"critical_slope", "1", 0, INFINITY, true, true, "M: shear q over pressure p at critical state"},
            {"attraction", "Pa", 0, INFINITY, true, true, "a: largest tension; the bulk modulus at rest is a/kappa"},
            {"preconsolidation", "Pa", 0, INFINITY, false, true, "pressure at which new particles yield"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 3,
        .field = {
            PLASTIC_VOLUME_RATIO, STRETCH_OUT_OF_PLANE,
            {"yield_pressure", "Pa", MPM_SCALAR, .initial_parameter = 6, .low = -INFINITY, .high = INFINITY,
             .meaning = "isotropic pressure at which it yields"},
        },
        .reference = "R. I. Borja, C. Tamagnini, Cam-Clay plasticity part III: Extension of the infinitesimal model "
                     "to include finite strains, Computer Methods in Applied Mechanics and Engineering 155 (1998) "
                     "73-95. doi:10.1016/S0045-7825(97)00141-2",
    },
    [MPM_MU_I] = {
        .name = "mu_i", .J_low = 1e-3, .J_high = 1e3, .parameters = 8,
        .parameter = {
            {"E", "Pa", 0, INFINITY, true, true, "Young's modulus"},
            {"nu", "1", -1, 0.5, true, true, "Poisson's ratio; the wave speed grows without bound at 0.5"},
            {"mu_1", "1", 0, INFINITY, true, true, "friction of slow flow"},
            {"mu_2", "1", 0, INFINITY, true, true, "friction of fast flow"},
            {"I_0", "1", 0, INFINITY, true, true, "inertial number halfway between the two"},
            {"grain_diameter", "m", 0, INFINITY, true, true, "diameter of the grains"},
            {"grain_density", "kg/m3", 0, INFINITY, true, true, "density of the grains themselves"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 3, .field = {PLASTIC_VOLUME_RATIO, STRETCH_OUT_OF_PLANE, GAP},
        .reference = "P. Jop, Y. Forterre, O. Pouliquen, A constitutive law for dense granular flows, Nature 441 "
                     "(2006) 727-730. doi:10.1038/nature04801",
    },
    [MPM_HERSCHEL_BULKLEY] = {
        .name = "herschel_bulkley", .J_low = 1e-3, .J_high = 1e3, .parameters = 6,
        .parameter = {
            {"bulk_modulus", "Pa", 0, INFINITY, true, true, "K"},
            {"shear_modulus", "Pa", 0, INFINITY, true, true, "mu: elastic, before it flows"},
            {"yield_stress", "Pa", 0, INFINITY, false, true, "tau_y: shear stress at which it flows"},
            {"consistency", "Pa s^n", 0, INFINITY, false, true, "k: growth of the stress with the rate of shear",
             .branches = MPM_BRANCHES_AT_0},
            {"exponent", "1", 0.1, 10, false, false, "n: 1 Bingham, below 1 shear-thinning, above shear-thickening",
             .branches = MPM_BRANCHES_AT_1},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 1, .field = {STRETCH_OUT_OF_PLANE},
        .reference = "Y. Yue, B. Smith, C. Batty, C. Zheng, E. Grinspun, Continuum foam: A material point method for "
                     "shear-dependent flows, ACM Transactions on Graphics 34(5) (2015) 160. doi:10.1145/2751541",
    },
    [MPM_VISCOELASTIC] = {
        .name = "viscoelastic", .viscous = true, .relaxes = true, .J_low = 1e-3, .J_high = 1e3, .parameters = 8,
        .parameter = {
            {"E", "Pa", 0, INFINITY, true, true, "Young's modulus of fast deformation"},
            {"nu", "1", -1, 0.5, true, true, "Poisson's ratio of fast deformation"},
            {"g_1", "1", 0, 1, false, true, "share of the shear modulus that relaxes in the first branch",
             .branches = MPM_BRANCHES_AT_0},
            {"tau_1", "s", 0, INFINITY, true, true, "its relaxation time"},
            {"g_2", "1", 0, 1, false, true, "share of the shear modulus that relaxes in the second branch",
             .branches = MPM_BRANCHES_AT_0},
            {"tau_2", "s", 0, INFINITY, true, true, "its relaxation time"},
            {"viscosity", "Pa s", 0, INFINITY, false, true, "eta of the dashpot beside the springs"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 2, .field = {INVERSE_METRIC("viscous_1"), INVERSE_METRIC("viscous_2")},
        .reference = "S. Reese, S. Govindjee, A theory of finite viscoelasticity and numerical aspects, International "
                     "Journal of Solids and Structures 35 (1998) 3455-3482. doi:10.1016/S0020-7683(97)00217-5",
    },
    [MPM_COROTATED] = {
        .name = "corotated", .J_low = 1e-4, .J_high = 1e4, .parameters = 3,
        .parameter = {ELASTIC_PARAMETERS},
        .reference = "M. Mueller, M. Gross, Interactive virtual materials, Proceedings of Graphics Interface (2004) "
                     "239-246.",
    },
    [MPM_OGDEN] = {
        .name = "ogden", .J_low = 1e-3, .J_high = 1e3, .parameters = 8,
        .parameter = {
            {"mu_1", "Pa", -INFINITY, INFINITY, true, true, "modulus of the first term; mu_1 alpha_1 > 0",
             .branches = MPM_BRANCHES_AT_0},
            {"alpha_1", "1", -50, 50, false, false, "exponent of the first term"},
            {"mu_2", "Pa", -INFINITY, INFINITY, true, true, "modulus of the second term; mu_2 alpha_2 >= 0",
             .branches = MPM_BRANCHES_AT_0},
            {"alpha_2", "1", -50, 50, false, false, "exponent of the second term"},
            {"mu_3", "Pa", -INFINITY, INFINITY, true, true, "modulus of the third term; mu_3 alpha_3 >= 0",
             .branches = MPM_BRANCHES_AT_0},
            {"alpha_3", "1", -50, 50, false, false, "exponent of the third term"},
            {"bulk_modulus", "Pa", 0, INFINITY, true, true, "bulk modulus at rest"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .reference = "R. W. Ogden, Large deformation isotropic elasticity: on the correlation of theory and experiment "
                     "for compressible rubberlike solids, Proceedings of the Royal Society of London A 328 (1972) "
                     "567-583. doi:10.1098/rspa.1972.0096",
    },
    [MPM_FIBRE_REINFORCED] = {
        .name = "fibre_reinforced", .kinked = true, .J_low = 1e-3, .J_high = 1e3, .parameters = 8,
        .parameter = {
            {"E", "Pa", 0, INFINITY, true, true, "Young's modulus without fibres"},
            {"nu", "1", -1, 0.5, true, true, "Poisson's ratio without fibres"},
            {"k_1", "Pa", 0, INFINITY, false, true, "stiffness of the fibres"},
            {"k_2", "1", 0, INFINITY, false, true, "growth of this stiffness with the stretch; 0: none"},
            {"direction_x", "1", -INFINITY, INFINITY, true, true, "of the fibres, a vector of any length"},
            {"direction_y", "1", -INFINITY, INFINITY, true, true, "likewise"},
            {"direction_z", "1", -INFINITY, INFINITY, true, true, "likewise"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .reference = "G. A. Holzapfel, T. C. Gasser, R. W. Ogden, A new constitutive framework for arterial wall "
                     "mechanics and a comparative study of material models, Journal of Elasticity 61 (2000) 1-48. "
                     "doi:10.1023/A:1010835316564",
    },
    [MPM_JOHNSON_COOK] = {
        .name = "johnson_cook", .J_low = 1e-3, .J_high = 1e3, .parameters = 16,
        .parameter = {
            {"shear_modulus", "Pa", 0, INFINITY, true, true, "mu"},
            {"bulk_modulus", "Pa", 0, INFINITY, true, true, "K = rho c0^2 at rest"},
            {"s", "1", 0, 10, false, false, "growth of the shock speed with the particle velocity"},
            {"grueneisen", "1", 0, 100, false, false, "Gamma: growth of the pressure with heat per volume"},
            {"A", "Pa", 0, INFINITY, true, true, "yield stress"},
            {"B", "Pa", 0, INFINITY, false, true, "hardening"},
            {"n", "1", 0.01, 10, false, false, "exponent of hardening"},
            {"C", "1", 0, 10, false, false, "growth of the yield stress with the logarithm of the strain rate",
             .branches = MPM_BRANCHES_AT_0},
            {"reference_rate", "1/s", 0, INFINITY, true, true, "strain rate up to which that growth is none"},
            {"m", "1", 0.01, 100, false, false, "exponent of thermal softening"},
            {"reference_temperature", "K", 0, INFINITY, true, true, "temperature up to which nothing softens"},
            {"melting_temperature", "K", 0, INFINITY, true, true, "temperature without strength"},
            {"initial_temperature", "K", 0, INFINITY, true, true, "of new particles, at which they are at rest"},
            {"heat_capacity", "J/(m3 K)", 0, INFINITY, true, true, "rho c, per rest volume"},
            {"taylor_quinney", "1", 0, 1, false, false, "share of the plastic work that becomes heat"},
            {"density", "kg/m3", 0, INFINITY, true, true, "initial density"},
        },
        .fields = 3,
        .field = {
            STRETCH_OUT_OF_PLANE, PLASTIC_STRAIN,
            {"temperature", "K", MPM_SCALAR, .initial = 298, .initial_parameter = 13, .low = 0, .high = INFINITY,
             .heat_capacity = 14, .meaning = "temperature, raised by plastic work"},
        },
        .reference = "G. R. Johnson, W. H. Cook, A constitutive model and data for metals subjected to large strains, "
                     "high strain rates and high temperatures, Proceedings of the 7th International Symposium on "
                     "Ballistics (1983) 541-547.",
    },
    [MPM_RIGID] = {
        .name = "rigid", .rigid = true, .J_low = 0.5, .J_high = 2, .parameters = 1,
        .parameter = {{"density", "kg/m3", 0, INFINITY, true, true, "density"}},
        .fields = 2,
        .field = {
            {"reaction", "Pa", MPM_SYMMETRIC, .low = -INFINITY, .high = INFINITY,
             .meaning = "stress that keeps the body rigid where others touch it"},
            {"x_remainder", "1", MPM_VECTOR, .low = -1e-5, .high = 1e-5,
             .meaning = "what rounding has taken from the position, in cells"},
        },
        .reference = "J. C. Simo, K. K. Wong, Unconditionally stable algorithms for rigid body dynamics that exactly "
                     "preserve energy and momentum, International Journal for Numerical Methods in Engineering 31 "
                     "(1991) 19-52. doi:10.1002/nme.1620310103",
    },
    [MPM_USER] = {.name = "user"}, /* keeps F; the rest is in the material */
};
