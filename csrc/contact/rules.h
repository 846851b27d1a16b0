/* SPDX-License-Identifier: MIT
 *
 * The contacts as rows of a table: what may have one, and what else it has. contact/walls.h says how they act.
 */
#pragma once
#include "contact/walls.h"

/** The methods that can have a contact. */
enum { MPM_FOR_POINTS = 1, MPM_FOR_FLUID = 2, MPM_FOR_ELEMENTS = 4, MPM_FOR_ALL = 7 };

enum { MPM_FEWEST_PERIODIC_CELLS = 4 }; /* along an axis: the widest kernel touches no node twice */

typedef struct mpm_rule {
    const char *name;
    bool wall, collider; /* may have it */
    bool frictional;     /* has Coulomb friction */
    bool rebounds;       /* has a restitution, of impacts of rigid bodies */
    bool absorbs;        /* has dashpots, with speeds of waves */
    bool images;         /* the grid or the fluid continues beyond the face as images of its inside */
    bool joins;          /* both faces of an axis are one, and have it */
    unsigned methods;
} mpm_rule;

/** The row of a contact; NULL if there is no such contact. */
const mpm_rule *mpm_rules_get(int contact);

/** The contact of that name, -1 if there is none. */
int mpm_rules_find(const char *name);

/** Can they be those of waves [m/s]? */
bool mpm_rules_are_speeds(const double speeds[2]);

/** Do the walls of an axis go together, and may a simulation by `method` have them? */
bool mpm_rules_allow(const mpm_wall walls[2], unsigned method);
