/* SPDX-License-Identifier: MIT
 *
 * Loads and held regions, for the methods that have them: their names, their books and their columns in the history. A
 * load acts by what a forced step is given (mpm_forcing).
 */
#pragma once
#include <stdint.h>

#include "base/exact.h"
#include "base/memory.h"
#include "run/history.h"

enum { MPM_MOST_LOADS = 63 }; /* a row has a bit for each */

/** What acts in a forced step, beside gravity. Rows are those of the store; a load may act on many rows, and several
 *  loads on one. */
typedef struct mpm_forcing {
    const double *body_force; /* [row][dim], with the forces of loads [m/s2]; NULL: none */
    /* The forces of loads: the entries of row k are first[k] ... first[k + 1] - 1. */
    const int32_t *first;     /* [rows + 1]; NULL: no load has a force */
    const int32_t *load;      /* [entry]: which load */
    const double *force;      /* [entry][dim] [N] */
    const double *couple;     /* [entry][dim][dim]: force times the arm from the row to its place [N m]; NULL: 0 */
    /* Held regions. */
    const uint64_t *holds;    /* [row]: the loads that hold the row, one bit each; NULL: none does */
    const double *velocity;   /* [load][dim] [m/s]; NaN where the region is free */
    const double *heat;       /* [row]: heat sources, per present volume [W/m3]; NULL: none */
} mpm_forcing;

/** Impulse on the material [N s] and work done on it [J] since the last record. */
typedef struct mpm_load_book {
    double impulse[3], work;
} mpm_load_book;

enum { MPM_LOAD_BOOK = 4 }; /* its doubles */

/** What a load does in a step: sums of its entries, which know no order. */
typedef struct mpm_load_sums {
    mpm_exact force[3]; /* [N] */
    mpm_exact power;    /* [W] */
} mpm_load_sums;

typedef struct mpm_loads {
    char **name;
    mpm_load_book *books;
    mpm_load_sums *sums;
    double (*impulse)[3]; /* of held regions in the step that is tried [N s] */
    size_t count, capacity;
} mpm_loads;

/** Adds a load; its columns of earlier records are 0. Errors: MPM_OUT_OF_MEMORY; MPM_TOO_LARGE beyond MPM_MOST_LOADS.
 *  On error nothing has changed. */
mpm_status mpm_loads_add(mpm_loads *loads, const mpm_allocator *allocator, mpm_history *history, const char *name);

void mpm_loads_clear(mpm_loads *loads, const mpm_allocator *allocator);

/** The columns of load k; no entries beyond the last. */
mpm_history_section mpm_loads_section(const mpm_loads *loads, size_t k);

/** Sums the forces of `entries` of them and their `power` [entry] [W], by load. */
void mpm_loads_sum(mpm_loads *loads, const mpm_forcing *forcing, int dim, ptrdiff_t entries, const double *power);

/** Enters a step of size dt in the books: what mpm_loads_sum has summed, and the impulses of held regions. `sum` gets
 *  the sum of all forces [N]. */
void mpm_loads_enter(mpm_loads *loads, const mpm_forcing *forcing, int dim, double dt, double sum[3]);

/** Begins all books anew. */
void mpm_loads_clear_books(mpm_loads *loads);
