/* SPDX-License-Identifier: MIT
 *
 * The internals of a simulation, private to this folder.
 */
#pragma once
#include "mpm/backend.h"
#include "mpm/implicit.h"
#include "mpm/memory/partition.h"
#include "ranks/team.h"
#include "rigid/impulses.h"

/* What a process exchanges with its neighbours on the present grid; all 0 without a team. */
struct halo {
    mpm_partition partition;
    bool has_boxes;     /* of the partition */
    unsigned scattered; /* fields whose copies have changed since the last exchange, one bit each */
    unsigned cleared;   /* fields whose copies of other processes are 0 where nobody can reach, likewise */
    mpm_message *messages; /* per neighbour */
    void *out, *in;     /* room for all of them */
    mpm_message *to_all; /* per process */
    size_t *first;      /* where the share of each process of an array begins; one more at the end */
    void *blocks;       /* room for a field of the grid, and for what moves */
    int32_t *out_blocks, *in_blocks; /* whose nodes move at a binning in mid step, by process */
    uint8_t *needs;     /* per block: the process reaches it, or its nodes move from here */
    size_t *first_out, *first_in;    /* per process: where its blocks begin in them; one more at the end */
};

/* Scratch of a run, in memory of the device: what the tasks and blocks of the current grid report. */
struct reports {
    mpm_measure *measures;    /* per task */
    mpm_block_report *blocks; /* per block */
    mpm_rigid_sums *rigid_sums; /* per group; NULL without rigid bodies */
    mpm_collider_book *block_books, *task_books; /* per block or task, and collider */
    double (*hold_impulses)[3]; /* per block and load; NULL without loads */
    mpm_layer_book *pair_books; /* per pair of layers at a place */
    int32_t *pair_counting; /* likewise, of the host: the process whose books count; NULL without a team */
    int32_t *pair_labels; /* likewise, of the host: its number among the pairs with columns, or -1; NULL without */
    mpm_heat_book *heat_books; /* per block; NULL without heat */
    double *heat_sums; /* per block: of a solve; NULL without */
    struct halo halo;
    mpm_collider_book *kept_books; /* per collider, of the host: what belongs to no block, for the whole run */
};

/* What of a rigid body never changes, and the forces at its points. */
struct rigid_form {
    mpm_rigid_form form;
    double (*force)[3]; /* scratch in memory of the device */
    double (*last)[3], (*coming)[3]; /* in the last step that was taken, and in one that is attempted */
    bool *kept;         /* a particle keeps the force */
    mpm_rigid_motion motion, shown; /* of the body, and what its particles show of it; where `bodies_shown` */
    size_t joint; /* its book among `joints`, from 1; 0: none */
};

/* A column of the history: what the joint of a body, or of bodies of one name after each other, has given. */
struct joint_book {
    char *name;
    double impulse[3], torque[3]; /* since the last record [N s], about the centre of mass of the body [N m s] */
};

/* Forces on the rigid bodies in a step, by partner. */
struct rigid_forces {
    size_t count, capacity;
    mpm_rigid_force *list;
};

/* How far the particles of a rigid body, x [m] and F, are from a position and a rotation. */
struct misfit {
    int material;
    double apart[2];
};

/* What is mapped while rigid bodies meet what they touch. */
struct look {
    mpm_particles particles; /* x to F */
    void *velocity, *before; /* of the nodes; `before`: of XPIC */
    mpm_block_report *blocks;
    mpm_collider_book *block_books;
};

/* The step between its attempt and its commit. */
struct stage {
    mpm_block_report report; /* of the grid pass */
    double travel;           /* how far particles move at most, in cells */
    bool scattered;          /* the next step has been scattered already */
    double friction_work, adhesion_work; /* of the contacts between bodies */
    double wall_impulse[3];  /* on material, from walls at no node [N s] */
};

/* New particles in tiles behind the groups, until the last of their body has come. */
struct waiting {
    ptrdiff_t count;
    mpm_arrival *arrivals; /* where they go */
    size_t arrival_count, arrival_capacity;
    uint8_t *cell; /* of their base nodes, by slot from the first one behind the groups on */
    size_t cell_capacity;
    bool lacks_volumes; /* some have a volume of 0 */
};

/* What a conduction has found, before its step is committed. */
struct conduction {
    bool changes; /* temperatures: the old ones are kept */
    bool stagnated; /* a solve has left a larger residual than it should */
    double pending;
    mpm_heat_book book;
};

/* Conduction of heat (heat.c). */
struct heat {
    mpm_thermal *materials; /* per material */
    size_t capacity;
    mpm_heat_surface walls[6];
    mpm_heat_surface *surfaces; /* of the first colliders; the others are insulated */
    size_t surface_count, surface_capacity;
    bool has_areas;         /* surfaces may give fluxes */
    bool follows, heats;    /* a material has a size or parameters that do; what a law dissipates heats it */
    bool law_heats;         /* a law changes the temperature by itself */
    double pending;         /* time that has passed since the last conduction [s] */
    mpm_heat_book book;     /* since the last record */
    struct conduction coming;
    void *kept;             /* scratch of a conduction (kernels/heat.h), in memory of the device */
    ptrdiff_t kept_tiles;   /* its room */
    double total;           /* sum m c T [J] of the state that was measured last */
    mpm_pore_surface open;  /* of pore water, as its density [kg/m3]: that of all materials */
    double water_density;
};

struct mpm_simulation {
    mpm_run run;
    mpm_store store;
    mpm_settings settings;
    const mpm_kernels *kernels; /* those that the host calls itself, on mapped memory */
    mpm_backend *backend;
    const mpm_integrator *integrator;
    mpm_team *team; /* the processes that run the simulation together; NULL: one alone */
    mpm_team own_team; /* the memory of it */
    bool distributed;  /* every process has the particles of its own tasks alone, and belongs to the team for ever */

    mpm_boundary boundary;
    double approach; /* of the last step: largest sum of the speeds of a collider and of material near it [m/s] */

    mpm_material *materials;
    size_t material_count, material_capacity;
    bool has_moduli;     /* a material keeps its tangent as moduli */
    bool lacks_energy;   /* a material has stresses without an energy in implicit steps */
    bool has_rigid;      /* a material is rigid */
    bool has_kink;       /* the stress of a material has a kink */
    bool damps;          /* there is damping, or an absorbing wall or collider */
    bool has_fluid;      /* a material keeps J alone */
    double fluid_volume; /* per mass of the first fluid of which that is known [m3/kg]; 0: there is none */
    mpm_rigid_body *rigid; /* per material */
    struct rigid_form *forms; /* per material */
    size_t rigid_capacity, form_capacity;
    struct joint_book *joints;
    size_t joint_count, joint_capacity;
    int32_t *layer;      /* of bodies, per material */
    size_t layer_capacity;
    mpm_layers layers;   /* how they touch */
    double adhesion_work; /* what adhesion between bodies has taken since the last record [J] */
    double yield_strain; /* least strain at which a material yields; infinite: none does */

    mpm_particles particles;
    struct waiting waiting;
    mpm_grid grid;
    double drift;      /* cells that a particle may have moved since the last binning */
    bool binning_due;
    bool grid_valid;   /* the grid holds the velocities of the last step */
    bool measured;     /* `measure` belongs to the current state */
    bool bodies_due;   /* particles of rigid bodies may have come, gone or been changed: see mpm_rigid_motion_find */
    bool bodies_restored; /* the motions of rigid bodies are those of a snapshot */
    bool bodies_shown; /* particles have been written since the last step: see mpm_rigid_motion_note */
    bool bodies_moved; /* particles of rigid bodies are not where their bodies are: see mpm_rigid_motion_place */
    bool poses_due;    /* x or F of rigid particles may have been written: see rigid_pose.h */
    bool volumes_due;  /* rest volumes of 0 wait for the density of the grid */
    bool frozen;       /* particles without mass wait for their deletion */
    mpm_measure measure;
    mpm_books books;
    double damping_impulse[3]; /* since the last record [N s] */

    struct heat heat;

    double *load_power; /* per entry of the forcing, in memory of the device [W] */
    size_t load_capacity;
    double force[3]; /* the sum of the run's body force over the particles of the step that begins [N] */

    bool is_synchronized; /* v and C are those of the last whole step: always between runs (synchronize.c) */

    /* Scratch of a run */
    struct stage stage;
    struct look look;
    struct reports reports;
    struct solver solver; /* of implicit steps */
    mpm_rigid_world world;
    struct misfit misfit; /* of the body for which a step was refused */
    struct rigid_forces rigid_forces[2]; /* of the last step; of the step that is attempted */
    mpm_rigid_node *rigid_nodes; /* that rigid bodies may touch in the step */
    size_t rigid_node_count, rigid_node_capacity;
};
