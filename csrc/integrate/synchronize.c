/* SPDX-License-Identifier: MIT
 *
 * Deferred stores. PIC, APIC and TPIC find v and C of every particle anew in each step, from the velocities of nodes
 * alone. So a fused sweep, which scatters them while it still holds them, does not store them. It stores x into a
 * second array, and the next grid pass writes into a second array of nodes: the positions and the node velocities that
 * it gathered from stay. Whoever needs v and C (a scatter by itself, binning, the end of a run) has the particles
 * synchronized: the same gather from the same numbers, and so the same bits. Between runs they always are.
 */
#include "integrate/state.h"

static void swap(void **a, void **b)
{
    void *kept = *a;
    *a = *b;
    *b = kept;
}

void mpm_synchronize_defer(mpm_simulation *simulation, bool fused)
{
    simulation->is_synchronized = !fused || !mpm_scheme_forgets(&simulation->settings.scheme);
    if (simulation->is_synchronized)
        return;
    swap(&simulation->particles.column[MPM_COLUMN_X], &simulation->particles.spare_vector);
    swap(&simulation->grid.vector[MPM_GRID_VELOCITY], &simulation->grid.vector[MPM_GRID_PREVIOUS]);
}

void mpm_synchronize_particles(mpm_simulation *simulation)
{
    if (simulation->is_synchronized)
        return;
    simulation->is_synchronized = true;
    swap(&simulation->grid.vector[MPM_GRID_VELOCITY], &simulation->grid.vector[MPM_GRID_PREVIOUS]);
    mpm_particles before = simulation->particles;
    before.column[MPM_COLUMN_X] = before.spare_vector;
    mpm_sweeps_synchronize(simulation, &before, simulation->run.began, simulation->run.dt);
}
