/* SPDX-License-Identifier: MIT */
#include "mpm/volumes.h"

#include <math.h>

#include "base/real.h"
#include "mpm/heat.h"
#include "mpm/rigid_motion.h"
#include "mpm/sweeps.h"

static const double ROUNDING = 1e-6; /* of masses and volumes: a simulation from a file agrees with its writer */

void mpm_volumes_note(mpm_simulation *simulation, double volume, double mass, int index)
{
    mpm_material *material = &simulation->materials[index];
    const bool told = mpm_material_law(material)->strain == MPM_KEEPS_J &&
                      fabs(mass * simulation->fluid_volume - volume) <= ROUNDING * volume;
    material->has_volumes |= !told && mass > 0;
}

void mpm_volumes_note_all(mpm_simulation *simulation)
{
    const mpm_particles mapped =
        mpm_particles_map(&simulation->particles, MPM_COLUMN_MASS, MPM_COLUMN_VOLUME + 1, MPM_READ);
    const void *mass = mapped.column[MPM_COLUMN_MASS], *volume = mapped.column[MPM_COLUMN_VOLUME];
    for (size_t g = 0; g < mapped.group_count; g++) {
        const mpm_group *group = &mapped.groups[g];
        const size_t first = (size_t)group->first_tile * (size_t)mapped.lanes;
        for (size_t slot = first; slot < first + (size_t)group->tiles * (size_t)mapped.lanes; slot++)
            mpm_volumes_note(simulation, mpm_real_at(volume, slot, mapped.real_size),
                             mpm_real_at(mass, slot, mapped.real_size), group->material); /* padding has none */
    }
    mpm_particles_unmap(&simulation->particles, MPM_COLUMN_MASS, MPM_COLUMN_VOLUME + 1);
    for (size_t m = 0; m < simulation->material_count && simulation->distributed; m++) {
        const double noted = simulation->materials[m].has_volumes; /* by another process, too */
        simulation->materials[m].has_volumes = mpm_team_most(simulation->team, noted) > 0;
    }
}

void mpm_volumes_fill(mpm_simulation *simulation)
{
    if (!simulation->grid.field[MPM_GRID_FILL])
        return;
    mpm_heat_arguments heat = {0};
    if (simulation->heat.follows)
        heat = mpm_heat_arguments_of(simulation, 0);
    mpm_rigid_motion_place(simulation); /* the particles of rigid bodies have volumes */
    mpm_sweeps_fill(simulation, &heat);
}
