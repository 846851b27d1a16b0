/* SPDX-License-Identifier: MIT */
#include "run/options.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define AT(member) .offset = offsetof(mpm_common, member)
static const mpm_option rows[] = {
    {"dim", MPM_OPTION_WHOLE, AT(dim), .range = MPM_FROM(2, 3)},
    {"dtype", MPM_OPTION_REAL, AT(real_size)},
    {"lower", MPM_OPTION_VECTOR, AT(lower)},
    {"gravity", MPM_OPTION_VECTOR, AT(gravity)},
    {"walls", MPM_OPTION_WALLS, AT(walls)},
    {"on_leave", MPM_OPTION_LEAVE, AT(on_leave),
     .words = {[MPM_LEAVE_RAISE] = "raise", [MPM_LEAVE_DELETE] = "delete", [MPM_LEAVE_CLAMP] = "clamp"}},
    {"dt", MPM_OPTION_NUMBER, AT(dt), .range = MPM_FROM(0, DBL_MAX)},
    {"max_dt", MPM_OPTION_NUMBER, AT(max_dt), .range = MPM_FROM(DBL_MIN, INFINITY),
     .single = MPM_FROM(FLT_MIN, INFINITY)},
    {"allow_unstable", MPM_OPTION_FLAG, AT(allow_unstable)},
    {"history", MPM_OPTION_WHOLE, AT(history), .range = MPM_FROM(0, INT_MAX)},
    {"threads", MPM_OPTION_WHOLE, AT(threads), .range = MPM_FROM(1, MPM_MOST_THREADS)},
    {"isa", MPM_OPTION_TEXT, AT(isa)}, /* the method knows which there are */
    {0},
};

const mpm_options mpm_options_common = {.rows = rows};

mpm_range mpm_options_range(const mpm_option *row, size_t real_size)
{
    return real_size == sizeof(float) && row->single.high != 0 ? row->single : row->range;
}

int mpm_options_find_word(const mpm_option *row, const char *word)
{
    for (int k = 0; k < MPM_MOST_WORDS; k++)
        if (row->words[k] && !strcmp(row->words[k], word))
            return k;
    return -1;
}

static bool is_within(double value, mpm_range range)
{
    return value <= range.high && (range.low_open ? value > range.low : value >= range.low); /* false for NaN */
}

static bool is_word(const mpm_option *row, unsigned number)
{
    return number < MPM_MOST_WORDS && row->words[number];
}

/* Is the part of a vector, of cells, walls or fates allowed that belongs to an axis? */
static bool allows_axis(const mpm_option *row, const void *value, int axis, unsigned contacts)
{
    const mpm_leave *leave = (const mpm_leave *)value + 2 * axis;
    return row->kind == MPM_OPTION_VECTOR  ? isfinite(((const double *)value)[axis])
           : row->kind == MPM_OPTION_CELLS ? is_within((double)((const int64_t *)value)[axis], row->range)
           : row->kind == MPM_OPTION_WALLS ? mpm_rules_allow((const mpm_wall *)value + 2 * axis, contacts)
           : row->kind == MPM_OPTION_LEAVE ? is_word(row, leave[0]) && is_word(row, leave[1])
                                           : true;
}

static bool allows(const mpm_option *row, const mpm_common *settings, unsigned contacts)
{
    const void *value = (const char *)settings + row->offset;
    const double *numbers = value;
    const mpm_range range = mpm_options_range(row, settings->real_size);
    switch (row->kind) {
    case MPM_OPTION_NUMBER:
        return is_within(*numbers, range);
    case MPM_OPTION_PAIR:
        return is_within(numbers[0], range) && is_within(numbers[1], range);
    case MPM_OPTION_WHOLE:
        return is_within(*(const int *)value, range);
    case MPM_OPTION_WORD:
        return is_word(row, *(const unsigned *)value);
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
