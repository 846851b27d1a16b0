/* SPDX-License-Identifier: MIT */
#include "run/alter.h"

#include <math.h>
#include <string.h>

static bool are_numbers(const double *values, int count, double low)
{
    for (int k = 0; values && k < count; k++)
        if (!(isfinite(values[k]) && values[k] >= low))
            return false;
    return true;
}

mpm_status mpm_alter_scene(mpm_common *common, mpm_boundary *boundary, const mpm_allocator *allocator,
                           const mpm_alteration *change)
{
    if (!are_numbers(change->gravity, 3, -INFINITY) || !are_numbers(change->friction, 6, 0))
        return MPM_BAD_ARGUMENT;
    if (change->collider) {
        const mpm_status status = mpm_boundary_replace(boundary, allocator, change->collider);
        if (status)
            return status;
    }
    for (int a = 0; change->gravity && a < common->dim; a++)
        common->gravity[a] = change->gravity[a];
    for (int face = 0; change->friction && face < 6; face++)
        common->walls[face].friction = boundary->walls[face].friction = change->friction[face];
    return MPM_OK;
}
