/* SPDX-License-Identifier: MIT */
#include "materials/parameters.h"

#include <math.h>
#include <string.h>

#include "base/real.h"
#include "run/store.h"

bool mpm_parameters_may_vary(const mpm_material *material, int dim)
{
    const mpm_law *law = mpm_material_law(material);
    if (material->law == MPM_USER || material->varying < 0 || material->varying >= law->parameters ||
        mpm_law_history(law, dim) + material->varying > MPM_LAW_HISTORY)
        return false;
    for (int k = 0; k < material->varying; k++)
        if (material->parameter[k] <= (k ? material->parameter[k - 1] : -1) ||
            material->parameter[k] >= law->parameters - 1)
            return false;
    return true;
}

static bool same_range(const mpm_field *field, const mpm_parameter *parameter)
{
    return !strcmp(field->unit, parameter->unit) && field->low == parameter->low && field->high == parameter->high &&
           field->low_closed == !parameter->low_open && field->high_closed == !parameter->high_open;
}

bool mpm_parameters_change(mpm_material *material, const mpm_material *other)
{
    if (material->law != other->law || material->law == MPM_USER || material->varying != other->varying)
        return false;
    for (int k = 0; k < material->varying; k++)
        if (material->parameter[k] != other->parameter[k])
            return false;
    memcpy(material->values, other->values, sizeof material->values);
    return true;
}

mpm_status mpm_parameters_list(const mpm_fields *fields, const mpm_material *material, mpm_field *rows, int *count)
{
    for (int k = 0; k < material->varying; k++) {
        const mpm_parameter *parameter = &mpm_material_law(material)->parameter[material->parameter[k]];
        const int found = mpm_fields_find(fields, parameter->name);
        if (found >= 0) {
            const mpm_field *field = &fields->row[found];
            if (field->owner != MPM_OWNER_LAW || field->rank != MPM_SCALAR || !same_range(field, parameter))
                return MPM_BAD_ARGUMENT;
            continue;
        }
        mpm_field *row = &rows[(*count)++];
        *row = (mpm_field){.rank = MPM_SCALAR, .owner = MPM_OWNER_LAW, .state_of = MPM_STATE_OF_OWNERS,
                           .low = parameter->low, .high = parameter->high, .low_closed = !parameter->low_open,
                           .high_closed = !parameter->high_open, .initial = NAN};
        if (mpm_store_name(row, parameter->name, parameter->unit))
            return MPM_TOO_LARGE;
    }
    return MPM_OK;
}

int mpm_parameters_field(const mpm_fields *fields, const mpm_material *material, int k)
{
    return mpm_fields_find(fields, mpm_material_law(material)->parameter[material->parameter[k]].name);
}

bool mpm_parameters_written(const mpm_fields *fields, const mpm_material *material, void *const *written)
{
    for (int k = 0; k < material->varying; k++)
        if (written[mpm_parameters_field(fields, material, k)])
            return true;
    return false;
}

void mpm_parameters_inspect(const mpm_parameter_rows *rows, uint8_t *flaws, const char **words)
{
    const mpm_material *material = rows->material;
    double values[MPM_LAW_PARAMETERS];
    memcpy(values, material->values, sizeof values);
    for (ptrdiff_t row = 0; row < rows->count; row++) {
        if (rows->materials[row] != rows->index)
            continue;
        for (int k = 0; k < material->varying; k++)
            values[material->parameter[k]] = mpm_real_at(rows->values[k], (size_t)row, rows->real_size);
        const char *broken = mpm_laws_unfit(material->law, values);
        if (!broken || (*words && broken != *words))
            continue;
        *words = broken;
        flaws[row] = MPM_NOT_TOGETHER;
    }
}
