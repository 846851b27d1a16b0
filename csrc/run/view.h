/* SPDX-License-Identifier: MIT
 *
 * A view: the user's side of a field, a row-ordered array that NumPy looks at. It is counted, so that it outlives both
 * the store and a change of the rows: whoever holds a view keeps its memory.
 *
 * Threads: used only while the interpreter lock is held, but for `data`, which is written between runs.
 */
#pragma once
#include <stdbool.h>

#include "base/memory.h"

typedef struct mpm_view {
    mpm_allocator allocator;
    int references; /* the store's and those of who holds it */
    ptrdiff_t rows;
    int components;
    size_t element; /* bytes */
    bool integer;   /* int32 or int64 rather than float or double */
    bool read_only;
    bool stale;   /* the resident side is newer */
    bool touched; /* it was handed out since the last run: it may have been written */
    ptrdiff_t exports; /* arrays of it that are alive */
    void *data;
} mpm_view;

/** A stale view with one reference; NULL: out of memory. */
mpm_view *mpm_view_new(const mpm_allocator *allocator, ptrdiff_t rows, int components, size_t element,
                       bool integer, bool read_only);

void mpm_view_retain(mpm_view *view);

/** Drops one reference; the last one frees. NULL is allowed. */
void mpm_view_release(mpm_view *view);
