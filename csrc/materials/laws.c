/* SPDX-License-Identifier: MIT */
#include "materials/law_rows.h"

const mpm_law *mpm_laws_get(int index)
{
    return &law_rows[index];
}
