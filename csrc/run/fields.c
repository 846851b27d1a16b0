/* SPDX-License-Identifier: MIT */
#include "run/fields.h"

#include <math.h>
#include <string.h>

double mpm_fields_initial(mpm_rank rank, int dim, int c, double initial)
{
    if (rank == MPM_SCALAR || rank == MPM_VECTOR)
        return initial;
    int row = 0, length = dim; /* of the component's matrix row; in a symmetric tensor it begins with the diagonal */
    while (c >= length) {
        c -= length;
        length -= rank == MPM_SYMMETRIC;
        row++;
    }
    return c == (rank == MPM_SYMMETRIC ? 0 : row) ? initial : 0;
}

static const mpm_field of_core[MPM_CORE_FIELDS] = {
    [MPM_FIELD_X] = {"x", "m", MPM_VECTOR, .state_of = MPM_STATE_OF_ALL, .check = MPM_CHECK_INSIDE,
                     .column = MPM_COLUMN_X},
    [MPM_FIELD_V] = {"v", "m/s", MPM_VECTOR, .state_of = MPM_STATE_OF_ALL, .column = MPM_COLUMN_V},
    [MPM_FIELD_F] = {"F", "1", MPM_TENSOR, .state_of = MPM_STATE_OF_F_LAWS, .check = MPM_CHECK_DET, .initial = 1},
    [MPM_FIELD_C] = {"C", "1/s", MPM_TENSOR, .state_of = MPM_STATE_OF_ALL, .column = MPM_COLUMN_C},
    [MPM_FIELD_J] = {"J", "1", MPM_SCALAR, .state_of = MPM_STATE_OF_J_LAWS, .initial = 1, .column = MPM_NO_COLUMN},
    [MPM_FIELD_MASS] = {"mass", "kg", MPM_SCALAR, .lasting = true, .column = MPM_COLUMN_MASS},
    [MPM_FIELD_VOLUME] = {"volume", "m\u00b3", MPM_SCALAR, .lasting = true, .column = MPM_COLUMN_VOLUME},
    [MPM_FIELD_MATERIAL] = {"material", "1", MPM_SCALAR, MPM_TYPE_INT32, .lasting = true, .column = MPM_BY_ROW},
    [MPM_FIELD_ID] = {"id", "1", MPM_SCALAR, MPM_TYPE_INT64, .lasting = true, .column = MPM_BY_ROW},
};

mpm_fields mpm_fields_of_core(int dim)
{
    mpm_fields fields = {.dim = dim, .count = MPM_CORE_FIELDS};
    memcpy(fields.row, of_core, sizeof of_core);
    for (int f = 0; f < MPM_CORE_FIELDS; f++) {
        fields.row[f].width = fields.row[f].rank == MPM_SCALAR ? 1 : dim;
        fields.row[f].low = f == MPM_FIELD_J ? 0 : -INFINITY;
        fields.row[f].high = INFINITY;
    }
    fields.row[MPM_FIELD_F].column = mpm_fields_F(dim);
    return fields;
}

int mpm_fields_find(const mpm_fields *fields, const char *name)
{
    for (int f = 0; f < fields->count; f++)
        if (!strcmp(fields->row[f].name, name))
            return f;
    return -1;
}
