/* SPDX-License-Identifier: MIT
 *
 * Conduction of heat between the steps of motion: fields, materials and walls of a simulation, and its sub-steps.
 */
#pragma once
#include "mpm/state.h"

/* The fields of the particles, "temperature" [K], "temperature_gradient" [K/m], "thermal_stretch",
 * "liquid_fraction". */
mpm_status mpm_heat_add_fields(mpm_simulation *simulation);

/* Room for one more material. */
mpm_status mpm_heat_reserve(mpm_simulation *simulation);
mpm_status mpm_heat_set_material(mpm_simulation *simulation, int material, const mpm_thermal *thermal);
mpm_status mpm_heat_set_wall(mpm_simulation *simulation, int face, const mpm_heat_wall *wall);

/* The temperature of new particles of a material, among their initial values. */
void mpm_heat_begin(const mpm_simulation *simulation, int material, double initial[MPM_MOST_COLUMNS]);

/* Conducts for the step of size dt and what has been put off before, if that is due. Needs the pool, and the bins of
 * the step; uses the copies of the velocity, which have been summed. */
void mpm_heat_conduct(mpm_simulation *simulation, double dt);

/* Measures the heat of the present state. Needs the pool. */
void mpm_heat_measure(mpm_simulation *simulation);
