/* SPDX-License-Identifier: MIT
 *
 * Brings the resident state up to date before a run or a query. Reads in views, computes rest volumes and measures the
 * state, each only where it is due. Binning waits for a step, so that a query, or a run that cannot begin, changes no
 * bit.
 */
#include "mpm/refresh.h"

#include "mpm/halo.h"
#include "mpm/heat.h"
#include "mpm/rebin.h"
#include "mpm/replicas.h"
#include "mpm/rigid_motion.h"
#include "mpm/state.h"
#include "mpm/sweeps.h"

/* Computes missing rest volumes from the density of the grid. */
static void find_volumes(mpm_simulation *simulation)
{
    simulation->grid_valid = false;
    mpm_sweeps_p2g(simulation, 0);
    mpm_sweeps_density(simulation);
    mpm_sweeps_rest_volume(simulation);
    simulation->volumes_due = false;
    simulation->measured = false;
    mpm_store_outdate(&simulation->store, MPM_FIELD_VOLUME);
    mpm_replicas_share(simulation);
    mpm_store_refresh(&simulation->store);
}

mpm_status mpm_refresh_state(mpm_simulation *simulation)
{
    const double start = mpm_clock_seconds();
    mpm_status status = mpm_halo_agree(simulation, mpm_store_read_in(&simulation->store));
    mpm_run_spend(&simulation->run, MPM_PHASE_VIEWS, start);
    if (!status && simulation->volumes_due && !(status = mpm_rebin_if_due(simulation)))
        find_volumes(simulation);
    if (status)
        return status;
    if (!simulation->measured) {
        simulation->measure = mpm_sweeps_measure(simulation);
        if ((status = mpm_sweeps_status(simulation)))
            return status;
        mpm_rigid_motion_find(simulation);
        mpm_rigid_motion_measure(simulation, &simulation->measure);
        simulation->measured = true;
        simulation->run.suspect |= simulation->measure.out_of_range != 0;
    }
    mpm_heat_measure(simulation);
    return MPM_OK;
}
