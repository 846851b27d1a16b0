/* SPDX-License-Identifier: MIT
 *
 * Totals of the present state, from what the last sweep has measured.
 */
#include "integrate/state.h"

#include <math.h>

mpm_totals mpm_totals_of(const mpm_simulation *simulation)
{
    const mpm_measure *m = &simulation->measure;
    mpm_totals t = {.time = simulation->time, .mass = m->mass, .kinetic = m->kinetic, .elastic = m->elastic};
    const mpm_wall *walls = simulation->settings.walls;
    for (int a = 0; a < 3; a++) {
        const bool lever = !mpm_walls_periodic(walls, (a + 1) % 3) && !mpm_walls_periodic(walls, (a + 2) % 3);
        t.momentum[a] = m->momentum[a];
        t.angular_momentum[a] = lever ? m->angular_momentum[a] : NAN;
        t.center_of_mass[a] = m->mass > 0 && !mpm_walls_periodic(walls, a) ? m->mass_moment[a] / m->mass : NAN;
        if (!mpm_walls_periodic(walls, a))
            t.gravitational -= simulation->settings.gravity[a] * m->mass_moment[a];
    }
    return t;
}
