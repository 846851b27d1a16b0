/* SPDX-License-Identifier: MIT
 *
 * The options of a simulation as rows of a table: name, kind, place in the settings, allowed range or words. The flaw
 * of settings follows from the rows, and so do the arguments of the extension's constructors (python/settings.c) and
 * the ranges and words in Python. An option of one method is a member of its settings and a row of its table; an option
 * of all methods is a member here and a row in options.c.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "contact/rules.h"

#define MPM_COMMON_MEMBERS \
    int dim;               /* 2 or 3 */ \
    size_t real_size;      /* 4 or 8 */ \
    double lower[3];       /* of the domain; the place of node 0 [m] */ \
    double gravity[3];     /* [m/s2] */ \
    mpm_wall walls[6];     /* x-, x+, y-, y+, z-, z+; periodic: both faces of an axis */ \
    mpm_leave on_leave[6]; /* by the faces of `walls` */ \
    double dt;             /* fixed step [s]; 0: automatic */ \
    double max_dt;         /* upper limit of the automatic step [s]; infinite: none */ \
    bool allow_unstable;   /* do not refuse a fixed dt above the bound */ \
    int history;           /* steps from record to record of the history; 0: no history */ \
    int threads;           /* at least 1 */ \
    const char *isa;       /* a name of mpm_variants_isa; NULL: the fastest here */

/** The settings that every method has. A 2-D simulation ignores the third axis. */
typedef struct mpm_common {
    MPM_COMMON_MEMBERS
} mpm_common;

/** The first member of the settings of a method: the common ones, together and by name. */
#define MPM_COMMON \
    union { \
        mpm_common common; \
        struct { \
            MPM_COMMON_MEMBERS \
        }; \
    }

typedef enum mpm_option_kind {
    MPM_OPTION_NUMBER, /* double */
    MPM_OPTION_PAIR,   /* double[2], both within the range */
    MPM_OPTION_WHOLE,  /* int */
    MPM_OPTION_FLAG,   /* bool */
    MPM_OPTION_WORD,   /* an enumeration: the number of a word */
    MPM_OPTION_EITHER, /* bool: the number of one of two words */
    MPM_OPTION_REAL,   /* size_t, of a real number: the word "float32" or "float64" */
    MPM_OPTION_VECTOR, /* double[3], finite */
    MPM_OPTION_CELLS,  /* int64_t[3], within the range */
    MPM_OPTION_WALLS,  /* mpm_wall[6] */
    MPM_OPTION_LEAVE,  /* mpm_leave[6]: words */
    MPM_OPTION_TEXT    /* const char * */
} mpm_option_kind;

enum { MPM_MOST_WORDS = 8, MPM_MOST_THREADS = 1024, MPM_MOST_CELLS = 1 << 30 };

typedef struct mpm_range {
    double low, high;
    bool low_open;
} mpm_range;

#define MPM_FROM(from, to) {.low = (from), .high = (to)}
#define MPM_ABOVE(above, to) {.low = (above), .high = (to), .low_open = true}

typedef struct mpm_option {
    const char *name; /* as in Python */
    mpm_option_kind kind;
    size_t offset;          /* in the settings */
    mpm_range range, single; /* of numbers; in single precision another one, unless its `high` is 0 */
    const char *words[MPM_MOST_WORDS]; /* by number; NULL: there is none of that number */
} mpm_option;

typedef struct mpm_options {
    const char *method; /* "mpm", "sph", "fem"; NULL: all */
    unsigned contacts;  /* MPM_FOR_...: which it can have */
    const mpm_option *rows; /* a NULL name follows the last one */
} mpm_options;

/** What all methods have. */
extern const mpm_options mpm_options_common;

/** The range of a row in this precision. */
mpm_range mpm_options_range(const mpm_option *row, size_t real_size);

/** The number of a word, -1 if there is none. */
int mpm_options_find_word(const mpm_option *row, const char *word);

/** The name of the first setting that its row does not allow, common ones first; NULL if there is none. Settings that
 *  do not go together are the method's affair. */
const char *mpm_options_flaw(const mpm_options *options, const mpm_common *settings);
