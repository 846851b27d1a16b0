/* SPDX-License-Identifier: MIT
 *
 * Conduction of heat between the steps of motion: fields, materials and walls of a simulation, and its sub-steps.
 */
#pragma once
#include "mpm/heat_state.h"

/* The fields of the particles: "temperature" [K], "temperature_gradient" [K/m], "thermal_stretch", "liquid_fraction";
 * of pore water and of solutes, others. */
mpm_status mpm_heat_add_fields(mpm_simulation *simulation);

/* Room for one more material. */
mpm_status mpm_heat_reserve(mpm_simulation *simulation);
mpm_status mpm_heat_set_material(mpm_simulation *simulation, int material, const mpm_thermal *thermal);
/* Where the material has particles (`begun`), only its mobility may differ from what it has. */
mpm_status mpm_heat_set_pore(mpm_simulation *simulation, int material, const mpm_pore *pore, bool begun);
mpm_status mpm_heat_set_solute(mpm_simulation *simulation, int material, const mpm_solute *solute);
mpm_status mpm_heat_set_wall(mpm_simulation *simulation, int face, const mpm_heat_surface *wall);
mpm_status mpm_heat_set_collider(mpm_simulation *simulation, int collider, const mpm_heat_surface *surface);

/* The temperature of new particles of a material, among their initial values. */
void mpm_heat_begin(const mpm_simulation *simulation, int material, double initial[MPM_MOST_COLUMNS]);

/* The arguments of sweeps. Not where `settings.heat` is false. */
mpm_heat_arguments mpm_heat_arguments_of(const mpm_simulation *simulation, double dt);

/* The longest step that conducts within a number of sub-steps for which a run need not wait [s]; infinite without
 * conduction. */
double mpm_heat_bound(const mpm_simulation *simulation);

/* The square of the wave speed that pore water adds to that of the law, a^2 M/rho [m2/s2]; 0 without any. */
double mpm_heat_pore_wave2(const mpm_simulation *simulation);

/* Adds the force of the pore pressure to what P2G has left, if there is any. */
void mpm_heat_push(mpm_simulation *simulation, double dt);

/* Conducts for the step and what has been put off before, if that is due, as the last part of an attempt. Sets a reason
 * if temperatures leave their range, whose particles the run's error then has. Needs the pool, and the bins of the
 * step; uses the copies of the velocity, which have been summed. Errors: MPM_OUT_OF_MEMORY; MPM_INTERRUPTED between two
 * sub-steps. On error, and with a reason, nothing has changed. */
mpm_status mpm_heat_conduct(mpm_simulation *simulation, const mpm_step *step, mpm_reason *reason);

/* Restores what it was before, as long as no particle has been binned. */
void mpm_heat_undo(mpm_simulation *simulation);

/* Enters it in the books, and expands the material. */
void mpm_heat_commit(mpm_simulation *simulation);

/* Releases the memory of heat. */
void mpm_heat_end(mpm_simulation *simulation);

/* Measures the heat of the present state. Needs the pool. */
void mpm_heat_measure(mpm_simulation *simulation);
