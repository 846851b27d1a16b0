/* SPDX-License-Identifier: MIT
 *
 * Binning within a simulation: particles beyond periodic faces come in at the other side, and what hangs on the order
 * of particles and on the grid follows.
 */
#include "integrate/state.h"

mpm_status mpm_rebin_run(mpm_simulation *simulation, const mpm_placement *placements, size_t count, mpm_bin_kind kind)
{
    mpm_periodic_wrap wrap = {0};
    mpm_status status = mpm_periodic_begin(simulation, placements, count, &wrap);
    if (status)
        return status;
    mpm_binning binning = {
        .allocator = &simulation->allocator,
        .pool = simulation->pool,
        .locate = simulation->kernels->locate,
        .placements = wrap.placements ? wrap.placements : placements,
        .placement_count = count + wrap.count,
        .drop_massless = kind == MPM_BIN_WITHOUT_MASSLESS,
        .mid_step = kind == MPM_BIN_MID_STEP,
        .prepare = mpm_sweeps_fit,
        .context = simulation,
        .records = mpm_describe_records(&simulation->settings),
    };
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        binning.symmetry[axis] = mpm_describe_symmetry(&simulation->settings, axis);
    status = mpm_binning_run(&binning, &simulation->particles, &simulation->grid);
    mpm_periodic_end(simulation, &wrap, status);
    if (!status) {
        simulation->drift = 0;
        simulation->binning_due = false;
        simulation->grid_valid = false;
        simulation->health.binnings++;
        /* A particle in another block is rounded otherwise when it is written out. */
        if (simulation->mirrors[MPM_FIELD_X])
            simulation->mirrors[MPM_FIELD_X]->stale = true;
    }
    return status;
}
