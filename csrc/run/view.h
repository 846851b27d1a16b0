/* SPDX-License-Identifier: MIT
 *
 * A view: the row-ordered array of a field that NumPy sees. Views are reference-counted, so that they outlive the store
 * and a change of the rows: a reference keeps the memory.
 *
 * Threads: use a view only while the interpreter lock is held, except for `data`, which is written between runs.
 */
#pragma once
#include <stdbool.h>

#include "base/memory.h"

typedef struct mpm_view {
    mpm_allocator allocator;
    int references; /* of the store and of other holders */
    ptrdiff_t rows;
    int components;
    size_t element; /* bytes */
    bool integer;   /* int32 or int64 rather than float or double */
    bool read_only;
    bool stale;   /* the resident state is newer */
    bool touched; /* an array was handed out since the last run, so the view may have been written */
    bool read_in; /* it may have been written when it was last read in; cleared by who compares processes */
    ptrdiff_t exports; /* live arrays */
    void *data;
} mpm_view;

/** May users have written to the view (NULL: there is none) since it was written out? */
static inline bool mpm_view_may_be_written(const mpm_view *view)
{
    return view && !view->read_only && !view->stale && (view->touched || view->exports > 0);
}

/** A stale view with one reference; NULL: out of memory. */
mpm_view *mpm_view_new(const mpm_allocator *allocator, ptrdiff_t rows, int components, size_t element,
                       bool integer, bool read_only);

void mpm_view_retain(mpm_view *view);

/** Drops one reference; the last one frees. NULL is allowed. */
void mpm_view_release(mpm_view *view);
