/* SPDX-License-Identifier: MIT */
#include "materials/law_rows.h"

const mpm_law *mpm_laws_get(int index)
{
    return law_rows[index];
}

const char *mpm_laws_unfit(int index, const double *values)
{
    return law_rows[index]->unfit ? law_rows[index]->unfit(values) : NULL;
}
