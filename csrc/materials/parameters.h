/* SPDX-License-Identifier: MIT
 *
 * Parameters of laws that vary over the rows of a store: particles, or elements of a mesh. Each has a scalar field of
 * its name, which is NaN in rows of materials that do not vary in it.
 */
#pragma once
#include <stdint.h>

#include "base/status.h"
#include "materials/laws.h"

/** Are the parameters of a law of the registry that vary listed in ascending order, without the density, and do they
 *  fit behind its history in `dim` dimensions? */
bool mpm_parameters_may_vary(const mpm_material *material, int dim);

/** Gives a material the parameters of another one of the same law, of which the same vary. False if it is none, and
 *  nothing has changed. */
bool mpm_parameters_change(mpm_material *material, const mpm_material *other);

/** Appends to `rows` the fields of parameters that vary which the table lacks. Errors: MPM_TOO_LARGE if a name is too
 *  long; MPM_BAD_ARGUMENT if the name is that of something else. */
mpm_status mpm_parameters_list(const mpm_fields *fields, const mpm_material *material, mpm_field *rows, int *count);

/** The field of the k-th parameter that varies. */
int mpm_parameters_field(const mpm_fields *fields, const mpm_material *material, int k);

/** Does the material vary in a field that was written (not NULL)? */
bool mpm_parameters_written(const mpm_fields *fields, const mpm_material *material, void *const *written);

/** The rows of a material. */
typedef struct mpm_parameter_rows {
    const mpm_material *material;
    int32_t index;            /* of the material */
    const int32_t *materials; /* of every row */
    ptrdiff_t count;
    size_t real_size;
    const void *values[MPM_LAW_PARAMETERS]; /* of each parameter that varies: reals [row] */
} mpm_parameter_rows;

/** Flags rows with MPM_NOT_TOGETHER whose parameters break a condition (mpm_laws_unfit), and puts it into `words`. All
 *  rows of one report break the same condition. */
void mpm_parameters_inspect(const mpm_parameter_rows *rows, uint8_t *flaws, const char **words);
