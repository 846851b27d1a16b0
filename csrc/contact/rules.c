/* SPDX-License-Identifier: MIT */
#include "contact/rules.h"

#include <string.h>

static const mpm_rule table[] = {
    [MPM_STICKY] = {"sticky", .wall = true, .collider = true, .methods = MPM_FOR_ALL},
    [MPM_SLIP] = {"slip", .wall = true, .collider = true, .frictional = true, .methods = MPM_FOR_ALL},
    [MPM_SEPARATE] = {"separate", .wall = true, .collider = true, .frictional = true, .rebounds = true,
                      .methods = MPM_FOR_ALL},
    [MPM_MIRROR] = {"mirror", .wall = true, .images = true, .methods = MPM_FOR_ALL},
    [MPM_PERIODIC] = {"periodic", .wall = true, .images = true, .joins = true,
                      .methods = MPM_FOR_POINTS | MPM_FOR_FLUID}, /* elements cannot cross a face */
    [MPM_ABSORBING] = {"absorbing", .wall = true, .collider = true, .absorbs = true,
                       .methods = MPM_FOR_POINTS | MPM_FOR_ELEMENTS},
};

const mpm_rule *mpm_rules_get(int contact)
{
    return contact >= 0 && contact < (int)(sizeof table / sizeof *table) ? &table[contact] : NULL;
}

int mpm_rules_find(const char *name)
{
    for (int contact = 0; mpm_rules_get(contact); contact++)
        if (!strcmp(table[contact].name, name))
            return contact;
    return -1;
}

bool mpm_rules_are_speeds(const double speeds[2])
{
    return speeds[0] >= 0 && speeds[1] >= 0 && speeds[0] <= 1e90 && speeds[1] <= 1e90; /* squares stay finite */
}

bool mpm_rules_allow(const mpm_wall walls[2], unsigned method)
{
    for (int side = 0; side < 2; side++) {
        const mpm_rule *rule = mpm_rules_get((int)walls[side].contact);
        if (!rule || !rule->wall || !(rule->methods & method) || !(walls[side].friction >= 0) ||
            !(walls[side].restitution >= 0 && walls[side].restitution <= (rule->rebounds ? 1 : 0)) ||
            !mpm_rules_are_speeds(walls[side].speeds) ||
            !(walls[side].friction_heat >= 0 && walls[side].friction_heat <= 1))
            return false;
    }
    return mpm_rules_get((int)walls[0].contact)->joins == mpm_rules_get((int)walls[1].contact)->joins;
}
