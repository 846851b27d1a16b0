/* SPDX-License-Identifier: MIT
 *
 * A run, whatever the integrator: threads start, the state is brought up to date, the integrator takes its steps, and
 * particles are synchronized, whatever has ended it.
 */
#include "integrate/state.h"

static bool is_reached(const mpm_simulation *simulation, const mpm_goal *goal)
{
    return simulation->steps >= goal->last_step || !(simulation->time < goal->end);
}

mpm_status mpm_run_towards(mpm_simulation *simulation, const mpm_goal *goal)
{
    if (!simulation->suspect && is_reached(simulation, goal))
        return MPM_OK; /* nothing to do changes nothing, not even the bins */
    mpm_status status = mpm_sweeps_begin(simulation, simulation->settings.threads);
    if (status)
        return status;
    if (!(status = mpm_refresh_state(simulation)) && !(status = mpm_trouble_find(simulation)) &&
        !is_reached(simulation, goal))
        status = simulation->integrator->advance(simulation, goal);
    mpm_synchronize_particles(simulation);
    if (status == MPM_UNSTABLE) /* what follows is planned anew, not from the last of the refused attempts */
        simulation->natural_dt = simulation->approach = 0;
    mpm_sweeps_end(simulation);
    return status;
}
