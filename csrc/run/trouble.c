/* SPDX-License-Identifier: MIT */
#include "run/trouble.h"

mpm_status mpm_trouble_note(mpm_trouble *trouble, mpm_status status, mpm_reason reason, double dt)
{
    *trouble = (mpm_trouble){.reason = reason, .dt = dt};
    return status;
}

void mpm_trouble_add_rows(mpm_trouble *trouble, const uint8_t *flags, ptrdiff_t rows, int flag)
{
    for (ptrdiff_t row = 0; row < rows; row++)
        if (flags[row] == flag) {
            if (trouble->row_count < MPM_MOST_TROUBLE_ROWS)
                trouble->rows[trouble->row_count++] = (int32_t)row;
            trouble->count++;
        }
}
