/* SPDX-License-Identifier: MIT */
#include "run/options.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

const char mpm_options_last_word[] = "";

static const char *const fates[] = {[MPM_LEAVE_RAISE] = "raise", [MPM_LEAVE_DELETE] = "delete",
                                    [MPM_LEAVE_CLAMP] = "clamp", MPM_LAST_WORD};

#define AT(member) offsetof(mpm_common, member)
static const mpm_option rows[] = {
    {"dim", MPM_OPTION_WHOLE, AT(dim), .range = MPM_FROM(2, 3)},
    {"dtype", MPM_OPTION_REAL, AT(real_size), .words = NULL},
    {"lower", MPM_OPTION_VECTOR, AT(lower), .words = NULL},
    {"gravity", MPM_OPTION_VECTOR, AT(gravity), .words = NULL},
    {"walls", MPM_OPTION_WALLS, AT(walls), .words = NULL},
    {"on_leave", MPM_OPTION_LEAVE, AT(on_leave), .words = fates},
    {"dt", MPM_OPTION_NUMBER, AT(dt), .range = MPM_FROM(0, DBL_MAX)},
    {"max_dt", MPM_OPTION_NUMBER, AT(max_dt), .range = MPM_FROM(DBL_MIN, INFINITY),
     .single = MPM_FROM(FLT_MIN, INFINITY)},
    {"allow_unstable", MPM_OPTION_FLAG, AT(allow_unstable), .words = NULL},
    {"history", MPM_OPTION_WHOLE, AT(history), .range = MPM_FROM(0, INT_MAX)},
    {"threads", MPM_OPTION_WHOLE, AT(threads), .range = MPM_FROM(1, MPM_MOST_THREADS)},
    {"isa", MPM_OPTION_TEXT, AT(isa), .words = NULL}, /* the method knows which there are */
    {0},
};

const mpm_options mpm_options_common = {.rows = rows};

mpm_range mpm_options_range(const mpm_option *row, size_t real_size)
{
    return real_size == sizeof(float) && row->single.high != 0 ? row->single : row->range;
}

int mpm_options_find_word(const mpm_option *row, const char *word)
{
    for (int k = 0; row->words[k] != MPM_LAST_WORD; k++)
        if (row->words[k] && !strcmp(row->words[k], word))
            return k;
    return -1;
}

static bool is_within(double value, mpm_range range)
{
    return value <= range.high && (range.low_open ? value > range.low : value >= range.low); /* false for NaN */
}

static bool is_word(const mpm_option *row, int number)
{
    for (int k = 0; row->words[k] != MPM_LAST_WORD; k++)
        if (k == number)
            return row->words[k];
    return false;
}

/* Is the entry of a vector, of cells or of the walls allowed that belongs to an axis? */
static bool allows_axis(const mpm_option *row, const char *value, int axis, unsigned contacts)
{
    const mpm_leave *leave = (const mpm_leave *)value;
    switch (row->kind) {
    case MPM_OPTION_VECTOR:
        return isfinite(((const double *)value)[axis]);
    case MPM_OPTION_CELLS:
        return is_within((double)((const int64_t *)value)[axis], row->range);
    case MPM_OPTION_WALLS:
        return mpm_rules_allow((const mpm_wall *)value + 2 * axis, contacts);
    case MPM_OPTION_LEAVE:
        return is_word(row, (int)leave[2 * axis]) && is_word(row, (int)leave[2 * axis + 1]);
    default:
        return true;
    }
}

static bool allows(const mpm_option *row, const mpm_common *settings, unsigned contacts)
{
    const char *value = (const char *)settings + row->offset;
    const double *numbers = (const double *)value;
    const mpm_range range = mpm_options_range(row, settings->real_size);
    switch (row->kind) {
    case MPM_OPTION_NUMBER:
        return is_within(*numbers, range);
    case MPM_OPTION_PAIR:
        return is_within(numbers[0], range) && is_within(numbers[1], range);
    case MPM_OPTION_WHOLE:
        return is_within(*(const int *)value, range);
    case MPM_OPTION_WORD:
        return is_word(row, *(const int *)value);
    case MPM_OPTION_REAL:
        return *(const size_t *)value == sizeof(float) || *(const size_t *)value == sizeof(double);
    default:
        for (int axis = 0; axis < settings->dim; axis++)
            if (!allows_axis(row, value, axis, contacts))
                return false;
        return true;
    }
}

const char *mpm_options_flaw(const mpm_options *options, const mpm_common *settings)
{
    const mpm_option *tables[] = {rows, options->rows};
    for (int k = 0; k < 2; k++)
        for (const mpm_option *row = tables[k]; row->name; row++)
            if (!allows(row, settings, options->contacts))
                return row->name;
    const double least = settings->real_size == sizeof(float) ? (double)FLT_MIN : DBL_MIN;
    return settings->dt > 0 && settings->dt < least ? "dt" : NULL; /* the precision knows it as 0 */
}
