/* SPDX-License-Identifier: MIT */
#include "integrate/history.h"

/* One number, a vector, or an angular momentum: one number in 2-D. */
enum rank { NUMBER, VECTOR, TURNING };

struct column {
    const char *name;
    enum rank rank;
};

static const struct column of_material[] = {
    {"time", NUMBER},   {"dt", NUMBER},      {"mass", NUMBER},          {"momentum", VECTOR}, {"center_of_mass", VECTOR},
    {"angular_momentum", TURNING}, {"kinetic", NUMBER}, {"elastic", NUMBER}, {"gravitational", NUMBER},
    {"energy", NUMBER}, {"body_impulse", VECTOR}, {"wall_impulse", VECTOR},
};
static const struct column of_collider[] = {{"impulse", VECTOR}, {"torque", TURNING}};

enum {
    MATERIAL_COLUMNS = sizeof of_material / sizeof *of_material,
    COLLIDER_COLUMNS = sizeof of_collider / sizeof *of_collider,
};

static int width_of(enum rank rank, int dim)
{
    return rank == NUMBER ? 1 : rank == VECTOR ? dim : dim == 2 ? 1 : 3;
}

mpm_history_column mpm_history_get(int dim, int colliders, int index)
{
    mpm_history_column column = {.collider = -1};
    for (int k = 0;; k++) {
        const int beyond = k - MATERIAL_COLUMNS;
        if (beyond >= COLLIDER_COLUMNS * colliders)
            return (mpm_history_column){.offset = column.offset, .collider = -1};
        const struct column *row = beyond < 0 ? &of_material[k] : &of_collider[beyond % COLLIDER_COLUMNS];
        column.name = row->name;
        column.width = width_of(row->rank, dim);
        column.collider = beyond < 0 ? -1 : beyond / COLLIDER_COLUMNS;
        if (k == index)
            return column;
        column.offset += column.width;
    }
}

int mpm_history_length(int dim, int colliders)
{
    return mpm_history_get(dim, colliders, -1).offset;
}
