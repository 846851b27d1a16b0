/* SPDX-License-Identifier: MIT
 *
 * Changes of what is simulated, between runs. The state stays as it is and is measured anew.
 */
#pragma once
#include "contact/boundary.h"
#include "run/options.h"

struct mpm_material;

/** What changes; NULL: stays as it is. */
typedef struct mpm_alteration {
    const double *gravity;               /* (3) [m/s2] */
    const double *friction;              /* (6) of the walls, >= 0; unused where they have none */
    const struct mpm_material *material; /* other values of the parameters of material `index` */
    int index;
    const mpm_collider *collider;        /* takes the place of the collider of its name, whose contact it has */
} mpm_alteration;

/** Changes gravity, friction and a collider in the settings and the boundary of a method. The book of the collider goes
 *  on. Errors: MPM_OUT_OF_MEMORY; MPM_BAD_ARGUMENT if a value is out of range, or there is no such collider. On error
 *  nothing has changed. */
mpm_status mpm_alter_scene(mpm_common *common, mpm_boundary *boundary, const mpm_allocator *allocator,
                           const mpm_alteration *change);
