/* SPDX-License-Identifier: MIT
 *
 * The particles of a collider, and where they are now.
 */
#pragma once
#include "sph/state.h"

mpm_status mpm_sph_solids_make(mpm_sph *sph, size_t collider, const double low[3], const double high[3],
                               const mpm_goal *goal); /* which has the poll */
mpm_status mpm_sph_solids_pose(mpm_sph *sph, size_t collider);
void mpm_sph_solids_state(mpm_sph *sph);            /* sets where colliders are and how they move */
void mpm_sph_solids_limit(mpm_sph *sph, double dt); /* finds collider_dt; `dt`: the bound without colliders [s] */
void mpm_sph_solids_free(mpm_sph *sph, size_t collider);
void mpm_sph_solids_clear(mpm_sph *sph);
