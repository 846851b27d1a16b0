/* SPDX-License-Identifier: MIT
 *
 * How full nodes are, and which materials have particles whose mass does not tell their volume (mpm/kernels/fill.c).
 */
#pragma once
#include "mpm/state.h"

/** Notes a particle of the material with this index: its rest volume, 0 if it is unknown [m3], and its mass [kg]. */
void mpm_volumes_note(mpm_simulation *simulation, double volume, double mass, int index);

/** Notes all particles. */
void mpm_volumes_note_all(mpm_simulation *simulation);

/** Finds how full nodes are, for fluids in the G2P that follows; without the correction of density, does nothing. */
void mpm_volumes_fill(mpm_simulation *simulation);
