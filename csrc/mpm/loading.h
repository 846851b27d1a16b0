/* SPDX-License-Identifier: MIT
 *
 * Loads and held regions in a step: what a forced step is given (run/loads.h), at the particles and nodes.
 */
#pragma once
#include "mpm/state.h"

mpm_status mpm_loading_reserve(mpm_simulation *simulation); /* room for the step that begins */
void mpm_loading_mark(mpm_simulation *simulation); /* before P2G: which nodes regions hold */
void mpm_loading_measure(mpm_simulation *simulation, double dt); /* before G2P: what the loads do */
void mpm_loading_clear(mpm_simulation *simulation);
