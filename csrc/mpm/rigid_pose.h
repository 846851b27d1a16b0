/* SPDX-License-Identifier: MIT
 *
 * Do the particles of rigid bodies lie where a position and a rotation put them? Users may write x and F.
 */
#pragma once
#include "mpm/state.h"

/* After the sums over rigid bodies: finds the first body whose x or F, which have been written, fit no pose. Keeps its
 * material and how far they are from the nearest pose for mpm_rigid_pose_report. */
bool mpm_rigid_pose_fits(mpm_simulation *simulation);

void mpm_rigid_pose_report(const mpm_simulation *simulation, mpm_error *error);
