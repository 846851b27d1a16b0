/* SPDX-License-Identifier: MIT
 *
 * The user's side of a field: a row-ordered array that NumPy looks at. It is counted, so that it outlives both the
 * simulation and a change of the particles: whoever holds a view keeps its memory.
 *
 * Threads: used only while the interpreter lock is held, but for `data`, which is written between runs.
 */
#pragma once
#include <stdbool.h>

#include "base/memory.h"

typedef struct mpm_mirror {
    mpm_allocator allocator;
    int references; /* the simulation's and the field object's */
    ptrdiff_t rows;
    int components;
    size_t element; /* bytes */
    bool integer;   /* int32 or int64 rather than float or double */
    bool read_only;
    bool stale;   /* the resident side is newer */
    bool touched; /* a view was handed out since the last run: it may have been written */
    ptrdiff_t exports; /* views alive */
    void *data;
} mpm_mirror;

/** A stale mirror with one reference; NULL: out of memory. */
mpm_mirror *mpm_mirror_new(const mpm_allocator *allocator, ptrdiff_t rows, int components, size_t element,
                           bool integer, bool read_only);

void mpm_mirror_retain(mpm_mirror *mirror);

/** Drops one reference; the last one frees. NULL is allowed. */
void mpm_mirror_release(mpm_mirror *mirror);
