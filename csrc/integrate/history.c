/* SPDX-License-Identifier: MIT */
#include "integrate/history.h"

static const mpm_history_column plane[] = {
    {"time", 0, 1},    {"dt", 1, 1},       {"mass", 2, 1},         {"momentum", 3, 2}, {"center_of_mass", 5, 2},
    {"angular_momentum", 7, 1}, {"kinetic", 8, 1}, {"elastic", 9, 1}, {"gravitational", 10, 1}, {"energy", 11, 1},
    {"wall_impulse", 12, 2}, {0},
};
static const mpm_history_column space[] = {
    {"time", 0, 1},    {"dt", 1, 1},       {"mass", 2, 1},         {"momentum", 3, 3}, {"center_of_mass", 6, 3},
    {"angular_momentum", 9, 3}, {"kinetic", 12, 1}, {"elastic", 13, 1}, {"gravitational", 14, 1}, {"energy", 15, 1},
    {"wall_impulse", 16, 3}, {0},
};

const mpm_history_column *mpm_history_columns(int dim, int *length)
{
    *length = dim == 2 ? 14 : 19;
    return dim == 2 ? plane : space;
}
