/* SPDX-License-Identifier: MIT
 *
 * The inside of a simulation, shared by the files of this folder.
 */
#pragma once
#include "mpm/implicit.h"

/* Scratch of a run: what the tasks and blocks of the current grid report. */
struct reports {
    mpm_measure *measures;    /* per task */
    mpm_block_report *blocks; /* per block */
    mpm_rigid_sums *rigid_sums; /* per group; NULL without rigid bodies */
    mpm_collider_book *block_books, *task_books; /* per block or task, and collider */
};

struct mpm_simulation {
    mpm_run run;
    mpm_store store;
    mpm_settings settings;
    const mpm_kernels *kernels;
    const mpm_integrator *integrator;

    mpm_boundary boundary;
    double approach; /* of the last step: largest sum of the speeds of a collider and of material near it [m/s] */

    mpm_material *materials;
    size_t material_count, material_capacity;
    bool has_moduli;     /* a material keeps its tangent as moduli */
    bool lacks_energy;   /* a material has stresses without an energy in implicit steps */
    bool has_rigid;      /* a material is rigid */
    bool has_kink;       /* the stress of a material has a kink */
    mpm_rigid_body *rigid; /* per material: of the step that ends, scratch */
    size_t rigid_capacity;
    double yield_strain; /* least strain at which a material yields; infinite: none does */

    mpm_particles particles;
    mpm_grid grid;
    double natural_dt; /* the step that the control plans next; 0: not planned yet */
    double drift;      /* cells that a particle may have moved since the last binning */
    bool binning_due;
    bool grid_valid;   /* the grid holds the velocities of the last step */
    bool measured;     /* `measure` belongs to the current state */
    bool volumes_due;  /* rest volumes of 0 wait for the density of the grid */
    bool frozen;       /* particles without mass wait for their deletion */
    mpm_measure measure;
    mpm_books books;

    const double *body_force; /* during mpm_simulation_step_forced: [row][dim] [m/s2] */
    double force[3];          /* its sum over the particles of the step that begins [N] */

    bool is_synchronized; /* v and C are those of the last whole step: always between runs (synchronize.c) */

    /* Scratch of a run */
    struct reports reports;
    void **workspaces; /* per thread */
    int workspace_count;
    struct solver solver; /* of implicit steps */
};

/* describe.c: what kernels and grid need to know */
unsigned mpm_describe_vectors(const mpm_simulation *simulation); /* what nodes keep (mpm_grid_vector) */
mpm_grid_vector mpm_describe_preconditioner(const mpm_simulation *simulation); /* of a solve */
mpm_colliders mpm_describe_colliders(const mpm_simulation *simulation, mpm_collider_book *books);
mpm_sweep mpm_describe_sweep(const mpm_simulation *simulation);
mpm_exchange mpm_describe_exchange(mpm_simulation *simulation, int field, void *rows);

/* views.c: the particles in their tiles as fields of the store */
extern const mpm_store_method mpm_views_method;

/* rebin.c */
typedef enum mpm_bin_kind { MPM_BIN_ALL, MPM_BIN_WITHOUT_MASSLESS, MPM_BIN_MID_STEP } mpm_bin_kind; /* mpm_binning */
mpm_status mpm_rebin_run(mpm_simulation *simulation, const mpm_placement *placements, size_t count, mpm_bin_kind kind);
mpm_status mpm_rebin_if_due(mpm_simulation *simulation); /* between steps */
mpm_status mpm_rebin_mid_step(mpm_simulation *simulation, double travel); /* before the gather; or puts it off */
void mpm_rebin_note_motion(mpm_simulation *simulation, double dt, const mpm_measure *measure); /* after each step */

/* periodic.c: at every binning, particles beyond a periodic face enter at the opposite face */
typedef struct mpm_periodic_wrap {
    mpm_placement *placements; /* the given ones and those of the wrapped particles; NULL: none was wrapped */
    size_t count;              /* wrapped particles */
    mpm_placement *wrapped;    /* of them alone */
    void *saved;               /* [wrapped][dim] their old positions */
} mpm_periodic_wrap;

mpm_status mpm_periodic_begin(mpm_simulation *simulation, const mpm_placement *placed, size_t placed_count,
                              mpm_periodic_wrap *wrap);
/* Frees the lists. If the binning has failed, restores the positions bit for bit. */
void mpm_periodic_end(mpm_simulation *simulation, mpm_periodic_wrap *wrap, mpm_status binning);

/* timestep.c */
mpm_stable_dt mpm_timestep_limit(const mpm_simulation *simulation); /* the bound, and the particle that sets it */
double mpm_timestep_rigid(const mpm_simulation *simulation); /* of automatic steps with rigid bodies, else infinite */
double mpm_timestep_plan(const mpm_simulation *simulation, double time, double end); /* of a step from `time` on */
mpm_status mpm_timestep_check(mpm_simulation *simulation, double dt); /* refuses dt above the bound */
void mpm_timestep_foresee(mpm_simulation *simulation); /* plans the automatic step from the last measured state */
bool mpm_timestep_revise(mpm_simulation *simulation);  /* shrinks the plan to a new state's bound; did it change? */
void mpm_timestep_halve(mpm_simulation *simulation, double *dt); /* after a refusal */

/* sweeps.c: the operations of the kernels on a simulation; they need the pool. `dt`: size of the step */
mpm_status mpm_sweeps_begin(mpm_simulation *simulation); /* makes scratch */
void mpm_sweeps_end(mpm_simulation *simulation);
mpm_status mpm_sweeps_fit(void *simulation, const mpm_grid *grid);    /* scratch for that grid; prepares a binning */
void mpm_sweeps_p2g(mpm_simulation *simulation, double dt);
void mpm_sweeps_body_force(mpm_simulation *simulation, double dt); /* after P2G, if the step has a body force */
mpm_block_report mpm_sweeps_grid(mpm_simulation *simulation, double dt);
void mpm_sweeps_grid_free(mpm_simulation *simulation, double dt, double forces_dt); /* before a solve */
mpm_block_report mpm_sweeps_grid_finish(mpm_simulation *simulation, double dt);     /* after it */
mpm_grid_pass mpm_sweeps_describe_grid(const mpm_simulation *simulation, mpm_grid_stage stage, double dt);
mpm_measure mpm_sweeps_solve(mpm_simulation *simulation, mpm_operation operation, const mpm_arguments *arguments);
void mpm_sweeps_blocks(mpm_simulation *simulation, mpm_pool_item item, void *context, size_t count); /* item by block */
mpm_measure mpm_sweeps_dry_run(mpm_simulation *simulation, double dt, const mpm_block_report *blocks, double enough);
mpm_measure mpm_sweeps_g2p(mpm_simulation *simulation, double dt);
mpm_measure mpm_sweeps_g2p2g(mpm_simulation *simulation, double dt, double next_dt);
mpm_measure mpm_sweeps_measure(mpm_simulation *simulation);
void mpm_sweeps_synchronize(mpm_simulation *simulation, const mpm_particles *before, double time, double dt);
void mpm_sweeps_density(mpm_simulation *simulation); /* the grid pass for rest volumes */
void mpm_sweeps_rest_volume(mpm_simulation *simulation);
void mpm_sweeps_rigid_sums(mpm_simulation *simulation, double dt); /* and the books of colliders, of rigid bodies */
void mpm_sweeps_filter(mpm_simulation *simulation, mpm_block_report *report); /* XPIC: velocities for particles */
void mpm_sweeps_f_bar(mpm_simulation *simulation, double dt); /* F-bar: averages for the G2P that follows */
void mpm_sweeps_add_books(const mpm_simulation *simulation, mpm_collider_book *sums); /* of a whole step */

/* synchronize.c: deferred stores of v and C */
void mpm_synchronize_defer(mpm_simulation *simulation, bool fused); /* after G2P, or G2P2G */
void mpm_synchronize_particles(mpm_simulation *simulation);

/* strays.c */
mpm_status mpm_strays_find(mpm_simulation *simulation); /* are particles outside the domain, or out of range? */
mpm_status mpm_strays_of_law(mpm_simulation *simulation); /* adds the rows that a law spoils to the trouble noted */

/* refusal.c: `travel` is how far particles would move at most, in cells */
mpm_reason mpm_refusal_find(mpm_simulation *simulation, mpm_block_report *report, double dt, double *travel);
mpm_status mpm_refusal_report(mpm_simulation *simulation, mpm_reason reason, const mpm_block_report *report, double dt);

double mpm_refusal_travel(const mpm_simulation *simulation); /* the largest accepted motion in one step, in cells */

/* rigid.c */
mpm_status mpm_rigid_reserve(mpm_simulation *simulation); /* room for one more material */
int mpm_rigid_too_long(const mpm_simulation *simulation); /* the material of the body that had a step refused */
/* Finds the motion of every rigid body in the step, before G2P. Adds the impulses of the walls, and raises `travel`.
 * Returns why the step cannot be taken. */
mpm_reason mpm_rigid_find(mpm_simulation *simulation, double dt, double impulse[3], double *travel);

/* totals.c */
mpm_totals mpm_totals_of(const mpm_simulation *simulation);
mpm_history_section mpm_totals_section(const void *simulation, int index); /* the columns of the history */
void mpm_totals_record(void *simulation); /* in the history, where that is due */

/* refresh.c, step.c */
mpm_status mpm_refresh_state(mpm_simulation *simulation); /* views read in, bins fresh, state measured */
mpm_status mpm_step_advance(mpm_simulation *simulation, const mpm_goal *goal);
