/* SPDX-License-Identifier: MIT
 *
 * When particles are binned anew, and everything that depends on it.
 */
#pragma once
#include "mpm/state.h"

typedef enum mpm_bin_kind { MPM_BIN_ALL, MPM_BIN_WITHOUT_MASSLESS, MPM_BIN_MID_STEP } mpm_bin_kind; /* mpm_binning */
mpm_status mpm_rebin_run(mpm_simulation *simulation, const mpm_placement *placements, size_t count, mpm_bin_kind kind);
mpm_status mpm_rebin_if_due(mpm_simulation *simulation); /* between steps */
mpm_status mpm_rebin_mid_step(mpm_simulation *simulation, double travel); /* before the gather; or puts it off */
void mpm_rebin_note_motion(mpm_simulation *simulation, double dt, const mpm_measure *measure); /* after each step */
