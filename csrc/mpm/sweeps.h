/* SPDX-License-Identifier: MIT
 *
 * The operations of the kernels on a simulation, launched by its back end. They need the pool. `dt` is the size of the
 * step.
 */
#pragma once
#include "mpm/state.h"

mpm_status mpm_sweeps_begin(mpm_simulation *simulation); /* begins the back end; makes reports */
mpm_status mpm_sweeps_ready(mpm_simulation *simulation); /* before a step */
mpm_status mpm_sweeps_status(mpm_simulation *simulation); /* of the launches so far */
void mpm_sweeps_end(mpm_simulation *simulation);
mpm_status mpm_sweeps_fit(void *simulation, const mpm_grid *grid);    /* reports for that grid; prepares a binning */
/* Reduces what tasks or blocks report, as mpm_reduction_finish does. */
void mpm_sweeps_reduce(const mpm_simulation *simulation, const mpm_reduction *reduction, void *result);
/* The reduction of what all blocks report, or those that the process counts; the rest of it is as it was. */
mpm_reduction mpm_sweeps_of_blocks(const mpm_simulation *simulation, mpm_reduction reduction);
void mpm_sweeps_p2g(mpm_simulation *simulation, double dt);
void mpm_sweeps_faces(mpm_simulation *simulation);   /* before P2G: the sides of cracks */
void mpm_sweeps_moments(mpm_simulation *simulation); /* after P2G, where bodies may touch */
void mpm_sweeps_body_force(mpm_simulation *simulation, double dt); /* after P2G, if the step has a body force */
void mpm_sweeps_mark_holds(mpm_simulation *simulation, int first, bool begins); /* of regions from `first` on */
void mpm_sweeps_hold_impulses(mpm_simulation *simulation); /* after the grid pass, of a step with held regions */
void mpm_sweeps_load_power(mpm_simulation *simulation, double dt); /* before G2P, of a step with loads */
mpm_block_report mpm_sweeps_grid(mpm_simulation *simulation, double dt);
void mpm_sweeps_grid_free(mpm_simulation *simulation, double dt, double forces_dt); /* before a solve */
mpm_block_report mpm_sweeps_grid_finish(mpm_simulation *simulation, double dt);     /* after it */
/* One of the sweeps of conduction. */
mpm_measure mpm_sweeps_heat(mpm_simulation *simulation, const mpm_heat_arguments *arguments);
mpm_heat_book mpm_sweeps_heat_book(const mpm_simulation *simulation); /* of the blocks, after a sub-step */
double mpm_sweeps_heat_sum(const mpm_simulation *simulation); /* of the blocks, in a solve */
mpm_grid_pass mpm_sweeps_describe_grid(const mpm_simulation *simulation, mpm_grid_stage stage, double dt);
/* Returns the energy. */
double mpm_sweeps_solve(mpm_simulation *simulation, mpm_operation operation, const mpm_arguments *arguments);
void mpm_sweeps_pass(mpm_simulation *simulation, const mpm_pass *pass);
mpm_measure mpm_sweeps_dry_run(mpm_simulation *simulation, double dt, const mpm_block_report *blocks, double enough);
void mpm_sweeps_g2p(mpm_simulation *simulation, double dt);
void mpm_sweeps_g2p2g(mpm_simulation *simulation, double dt, double next_dt);
/* The back end may begin the grid pass of the next step, from `time` on, before the host reads what the sweep of this
 * one has measured. */
void mpm_sweeps_foresee(mpm_simulation *simulation, double time, double dt, double present_dt);
mpm_measure mpm_sweeps_measured(const mpm_simulation *simulation); /* by the last of these */
mpm_measure mpm_sweeps_measure(mpm_simulation *simulation);
void mpm_sweeps_synchronize(mpm_simulation *simulation, const mpm_particles *before, double time, double dt);
void mpm_sweeps_density(mpm_simulation *simulation); /* the grid pass for rest volumes */
void mpm_sweeps_rest_volume(mpm_simulation *simulation);
void mpm_sweeps_rigid_sums(mpm_simulation *simulation, double dt); /* dt > 0: of the body force of the step */
mpm_measure mpm_sweeps_rigid_place(mpm_simulation *simulation, bool ends_step);
mpm_block_report mpm_sweeps_sum_reports(const mpm_simulation *simulation); /* of the blocks */
void mpm_sweeps_filter(mpm_simulation *simulation, mpm_block_report *report); /* XPIC: velocities for particles */
/* How full the nodes are, for fluids in the G2P that follows. `heat` is read where materials expand. */
void mpm_sweeps_fill(mpm_simulation *simulation, const mpm_heat_arguments *heat);
void mpm_sweeps_f_bar(mpm_simulation *simulation, double dt); /* F-bar: averages for the G2P that follows */
/* The collider that is fastest near material, NULL without colliders, and its speed, 0 if none is near. */
const mpm_collider *mpm_sweeps_fastest(const mpm_simulation *simulation, double *speed);
void mpm_sweeps_add_books(const mpm_simulation *simulation, mpm_collider_book *sums); /* of a whole step */
