/* SPDX-License-Identifier: MIT
 *
 * Deferred stores. PIC, APIC and TPIC compute v and C of every particle anew in each step, from node velocities alone.
 * A fused sweep scatters v and C while they are in registers, and so it need not store them. It writes x to a second
 * array, and the next grid pass writes velocities to a second array; thus the positions and node velocities of the
 * gather remain. To synchronize the particles (for a separate scatter, a binning or the end of a run) is to repeat that
 * gather, which gives the same bits. Between runs the particles are always synchronized.
 */
#include "mpm/synchronize.h"

#include "mpm/state.h"
#include "mpm/sweeps.h"

static void swap(void **a, void **b)
{
    void *kept = *a;
    *a = *b;
    *b = kept;
}

void mpm_synchronize_defer(mpm_simulation *simulation, bool fused)
{
    simulation->is_synchronized = !fused || !mpm_scheme_recomputes_velocity(&simulation->settings.scheme);
    if (simulation->is_synchronized)
        return;
    swap(&simulation->particles.column[MPM_COLUMN_X], &simulation->particles.spare_vector);
    swap(&simulation->grid.field[MPM_GRID_VELOCITY], &simulation->grid.field[MPM_GRID_PREVIOUS]);
}

void mpm_synchronize_particles(mpm_simulation *simulation)
{
    if (simulation->is_synchronized)
        return;
    simulation->is_synchronized = true;
    swap(&simulation->grid.field[MPM_GRID_VELOCITY], &simulation->grid.field[MPM_GRID_PREVIOUS]);
    mpm_particles before = simulation->particles;
    before.column[MPM_COLUMN_X] = before.spare_vector;
    mpm_sweeps_synchronize(simulation, &before, simulation->run.began, simulation->run.dt);
}
