/* SPDX-License-Identifier: MIT */
#include "state/mirror.h"

mpm_mirror *mpm_mirror_new(const mpm_allocator *allocator, ptrdiff_t rows, int components, size_t element,
                           bool integer, bool read_only)
{
    mpm_mirror *mirror = mpm_memory_new(allocator, 1, sizeof *mirror);
    void *data = mpm_memory_new(allocator, (size_t)rows * (size_t)components, element);
    if (!mirror || !data) {
        mpm_memory_free(allocator, data);
        mpm_memory_free(allocator, mirror);
        return NULL;
    }
    *mirror = (mpm_mirror){*allocator, 1, rows, components, element, integer, read_only, true, false, 0, data};
    return mirror;
}

void mpm_mirror_retain(mpm_mirror *mirror)
{
    mirror->references++;
}

void mpm_mirror_release(mpm_mirror *mirror)
{
    if (!mirror || --mirror->references)
        return;
    mpm_allocator allocator = mirror->allocator;
    mpm_memory_free(&allocator, mirror->data);
    mpm_memory_free(&allocator, mirror);
}
