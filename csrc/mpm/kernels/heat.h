/* SPDX-License-Identifier: MIT
 *
 * Conduction of heat: what materials and walls have, and the passes over the nodes (heat.c, heat_nodes.c).
 */
#pragma once
#include "contact/collider.h"
#include "mpm/memory/grid.h"

enum { MPM_MOST_SCALES = 8, MPM_MOST_KNOTS = 32 };

/** A parameter of a law that follows the temperature: linear between the knots, whose temperatures ascend, and constant
 *  beyond them. Two equal temperatures are a jump at the melting temperature: from the first value to the second, the
 *  parameter goes with the liquid share. */
typedef struct mpm_scale {
    int parameter; /* of the law; one that varies */
    int knots;
    double temperature[MPM_MOST_KNOTS], value[MPM_MOST_KNOTS]; /* [K], the parameter's unit */
} mpm_scale;

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
    double liquid_stretch; /* of what has melted, without stress; 1 where the density stays */
    int scales;
    mpm_scale scale[MPM_MOST_SCALES];
    bool per_volume; /* what is conducted is no heat, but the pressure of pore water, or a concentration: the rest
                      * volume stores it, with c times the density per volume, in the place of the mass */
    double least;    /* "temperatures" of particles are greater */
    double biot;     /* > 0: the pressure of pore water (pore.h) */
    mpm_scale swelling; /* of a solute, in the place of an expansion: the stretch; no knots: none */
} mpm_thermal;

/** How a material holds a solute. */
typedef struct mpm_solute {
    double diffusivity;   /* D [m2/s] */
    double concentration; /* of new particles, per rest volume [mol/m3] */
    double swelling;      /* linear, per concentration above that [m3/mol] */
    mpm_scale stretch;    /* in its place, the stretch without stress at concentrations; no knots: none */
    int scales;           /* parameters that follow the concentration */
    mpm_scale scale[MPM_MOST_SCALES];
} mpm_solute;

/** Does the body change its size with its temperature? */
static inline bool mpm_thermal_stretches(const mpm_thermal *thermal)
{
    return thermal->expansion > 0 || thermal->swelling.knots ||
           (thermal->latent_heat > 0 && thermal->liquid_stretch != 1);
}

/** What a sweep does. */
typedef enum mpm_heat_sweep {
    MPM_HEAT_BEGIN,   /* keeps old values, takes in sources and what has been dissipated; temperatures to the grid */
    MPM_HEAT_TAKE,    /* the same without the grid, where no conduction is due; counts temperatures out of range */
    MPM_HEAT_AREAS,   /* surfaces of the material, to the grid */
    MPM_HEAT_LATENT,  /* latent heat that particles may take and give, to the grid */
    MPM_HEAT_FLOW,    /* heat that has flowed in a sub-step, to the grid */
    MPM_HEAT_BACK,    /* new temperatures of the particles; counts those out of range */
    MPM_HEAT_ON,      /* the same, and to the grid for the next sub-step */
    MPM_HEAT_RESTORE, /* what was kept */
    MPM_HEAT_FOLLOW,  /* gives F the thermal stretch of the temperatures, and parameters their values */
    MPM_HEAT_SUM,     /* measures sum m c T, of pore water its volume, of a solute its amount */
    MPM_HEAT_PUSH,    /* after P2G: the force of the pore pressure, to the grid */
    MPM_HEAT_SWEEPS
} mpm_heat_sweep;

/** The reals of a particle that `kept` has: its volume, temperature, liquid share, what of its dissipation has heated
 *  it, and the gradient. */
#define MPM_HEAT_REALS(dim) (4 + (dim))

/** What a sweep needs: the row of every material, the columns of the temperature, of the first component of its
 *  gradient, of the thermal stretch that F does not contain, of the liquid share and, with books of dissipation,
 *  of what of it has heated, and the sub-step. */
typedef struct mpm_heat_arguments {
    mpm_heat_sweep sweep;
    const mpm_thermal *materials;
    int temperature, gradient, stretch, liquid, heated;
    void *kept; /* [tile][reals][lanes], since BEGIN or TAKE */
    double dt;  /* [s] */
    const double *source; /* heat sources by row [W/m3], NULL: none; in BEGIN and TAKE */
    double source_dt;     /* for how long they have acted [s] */
    bool friction;        /* nodes have heat of friction; in BEGIN and TAKE */
    const struct mpm_block_report *reports; /* per block: with friction, what walls and colliders have given */
    double solve_dt;      /* of the implicit step that follows [s], 0: sub-steps */
    bool melts;           /* BACK: a solve has given nodes latent heat */
    double weight[3];     /* of pore water, rho g [N/m3] */
    double strain_dt;     /* FLOW: for how long the material strains, in PUSH: the step [s] */
    mpm_grid_field moves; /* FLOW: the velocities that strain it */
} mpm_heat_arguments;

/** What a face of the domain or a collider does to the heat of the material. */
typedef enum mpm_heat_contact {
    MPM_HEAT_INSULATED,
    MPM_HEAT_TEMPERATURE, /* has a temperature, and so has the material there */
    MPM_HEAT_FLUX,        /* gives a flux */
    MPM_HEAT_TRANSFER,    /* gives a flux in proportion to the difference of the temperatures */
    MPM_HEAT_CONTACTS
} mpm_heat_contact;

typedef struct mpm_heat_surface {
    mpm_heat_contact kind;
    double value;       /* temperature [K], or flux into the material [W/m2] */
    double coefficient; /* of a transfer [W/(m2 K)] */
} mpm_heat_surface;

/** What a pass over the nodes makes of the copies of a sweep. */
typedef enum mpm_heat_stage {
    MPM_HEAT_STAGE_MEANS,       /* temperatures, with images */
    MPM_HEAT_STAGE_AREAS,       /* sums of V grad w, and what colliders do to the nodes */
    MPM_HEAT_STAGE_HOLD,        /* the temperatures of colliders */
    MPM_HEAT_STAGE_LATENT,      /* of an implicit step, where bodies melt: sums; what is solid, melts or is liquid */
    MPM_HEAT_STAGE_SORT,        /* the same again, by the heat that has flowed; how many nodes have changed */
    MPM_HEAT_STAGE_SYSTEM,      /* of an implicit step: the residual of the temperatures at its beginning */
    MPM_HEAT_STAGE_PRODUCT,     /* of a direction with the matrix */
    MPM_HEAT_STAGE_ADVANCE,     /* along the direction; the new residual */
    MPM_HEAT_STAGE_REDIRECT,    /* the next direction */
    MPM_HEAT_STAGE_SOLVED,      /* the temperatures at the end of the step, from which heat flows */
    MPM_HEAT_STAGE_CHANGES,     /* changes by the heat that has come to the nodes, and from surfaces, with images */
    MPM_HEAT_STAGE_HOLD_CHANGES /* those of nodes with the temperatures of colliders */
} mpm_heat_stage;

/** Heat from walls, from colliders, from sources and from friction at walls and colliders to the material [J]. */
typedef struct mpm_heat_book {
    double wall, collider, source, friction;
} mpm_heat_book;

/** How a free surface of saturated material lets water pass. */
typedef enum mpm_pore_surface {
    MPM_PORE_CLOSED,
    MPM_PORE_DRAINED, /* has the pressure 0 */
    MPM_PORE_SEEPAGE  /* likewise, unless water would come in */
} mpm_pore_surface;

typedef struct mpm_heat_pass {
    const mpm_grid *grid;
    mpm_heat_stage stage;
    mpm_heat_surface walls[6];
    mpm_symmetry symmetry[3]; /* of the motion; faces of given temperature are planes of odd images beside these */
    const mpm_collider *colliders;
    const mpm_heat_surface *surfaces; /* of the first colliders; the others are insulated */
    size_t surface_count;
    bool has_areas;           /* there are areas, as surfaces give fluxes */
    double lower[3], dx;      /* of the grid [m] */
    double dt;                /* of the sub-step [s] */
    mpm_heat_book *books;     /* per block: of the sub-step */
    double *sums;             /* per block: the product that a solve asks for */
    double factor;            /* of ADVANCE and REDIRECT */
    bool melts;               /* nodes may take latent heat in a solve */
    mpm_pore_surface open;    /* of pore water */
    double weight[3];         /* of it [N/m3] */
    int degree;
    size_t collider_count;
} mpm_heat_pass;
