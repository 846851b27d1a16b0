/* SPDX-License-Identifier: MIT */
#include "run/view.h"

mpm_view *mpm_view_new(const mpm_allocator *allocator, ptrdiff_t rows, int components, size_t element,
                       bool integer, bool read_only)
{
    mpm_view *view = mpm_memory_new(allocator, 1, sizeof *view);
    void *data = mpm_memory_new(allocator, (size_t)rows * (size_t)components, element);
    if (!view || !data) {
        mpm_memory_free(allocator, data);
        mpm_memory_free(allocator, view);
        return NULL;
    }
    *view = (mpm_view){*allocator, 1, rows, components, element, integer, read_only, true, false, false, 0, data};
    return view;
}

void mpm_view_retain(mpm_view *view)
{
    view->references++;
}

void mpm_view_release(mpm_view *view)
{
    if (!view || --view->references)
        return;
    mpm_allocator allocator = view->allocator;
    mpm_memory_free(&allocator, view->data);
    mpm_memory_free(&allocator, view);
}
