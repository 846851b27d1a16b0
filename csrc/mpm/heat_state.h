/* SPDX-License-Identifier: MIT
 *
 * What sweeps ask about the conduction of a simulation.
 */
#pragma once
#include "mpm/state.h"

/* Is it heat that is conducted, and not the pressure of pore water or a solute? */
static inline bool mpm_heat_is_heat(const mpm_simulation *simulation)
{
    const mpm_settings *settings = &simulation->settings;
    return settings->heat && !settings->pore && !settings->solute;
}

/* May a material melt? */
static inline bool mpm_heat_melts(const mpm_simulation *simulation)
{
    bool melts = false;
    for (size_t m = 0; m < simulation->material_count; m++)
        melts |= simulation->heat.materials[m].latent_heat > 0;
    return melts;
}

/* May friction heat the material? */
static inline bool mpm_heat_rubs(const mpm_simulation *simulation)
{
    const mpm_settings *settings = &simulation->settings;
    bool rubs = settings->contact;
    for (int face = 0; face < 2 * settings->dim; face++)
        rubs |= settings->walls[face].friction * settings->walls[face].friction_heat > 0;
    for (size_t k = 0; k < simulation->boundary.count; k++)
        rubs |= simulation->boundary.colliders[k].friction * simulation->boundary.colliders[k].friction_heat > 0;
    return rubs && mpm_heat_is_heat(simulation);
}
