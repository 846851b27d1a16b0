/* SPDX-License-Identifier: MIT
 *
 * Conduction of heat: what materials and walls have, and the passes over the nodes (heat.c, heat_nodes.c).
 */
#pragma once
#include "mpm/memory/grid.h"

/** How a material conducts; a `specific_heat` of 0: it takes no part. */
typedef struct mpm_thermal {
    double conductivity;  /* k [W/(m K)] */
    double specific_heat; /* c [J/(kg K)] */
    double temperature;   /* of new particles [K] */
    double density;       /* at rest, the least of it [kg/m3] */
    double melting;       /* Tm [K]; a latent heat of 0: it does not melt */
    double latent_heat;   /* L [J/kg] */
    double liquid_conductivity, liquid_specific_heat;
    double expansion;     /* linear, per temperature above that of new particles [1/K] */
    double heating;       /* share of what the law dissipates that heats it */
} mpm_thermal;

/** What a sweep needs: the row of every material, the columns of the temperature, of the first component of its
 *  gradient, of the thermal stretch that F does not contain, of the liquid share and, with books of dissipation,
 *  of what of it has heated, and the sub-step. */
typedef struct mpm_heat_arguments {
    const mpm_thermal *materials;
    int temperature, gradient, stretch, liquid, heated;
    double dt; /* [s] */
} mpm_heat_arguments;

/** What a face of the domain does to the heat of the material. */
typedef enum mpm_heat_face { MPM_HEAT_INSULATED, MPM_HEAT_TEMPERATURE, MPM_HEAT_FLUX, MPM_HEAT_FACES } mpm_heat_face;

typedef struct mpm_heat_wall {
    mpm_heat_face kind;
    double value; /* temperature [K]; or flux into the material [W/m2] */
} mpm_heat_wall;

/** What a pass over the nodes makes of the copies of a sweep. */
typedef enum mpm_heat_stage {
    MPM_HEAT_AREAS,  /* sums of V grad w */
    MPM_HEAT_MEANS,  /* temperatures, with images */
    MPM_HEAT_CHANGES /* their changes by the heat that has come to the nodes, with images and flux */
} mpm_heat_stage;

typedef struct mpm_heat_pass {
    const mpm_grid *grid;
    mpm_heat_stage stage;
    mpm_heat_wall walls[6];
    mpm_symmetry symmetry[3]; /* of the motion; faces of given temperature are planes of odd images beside these */
    double dt;                /* of the sub-step [s] */
    double *wall_heat;        /* per block: from the walls to the material in the sub-step [J] */
} mpm_heat_pass;
