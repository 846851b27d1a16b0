/* SPDX-License-Identifier: MIT
 *
 * All memory of the core comes from here. The allocator lets a test make each allocation fail in turn.
 */
#pragma once
#include <stddef.h>

/** Where memory comes from. `allocate` returns `bytes` aligned to 64, or NULL; `release` takes it back. */
typedef struct mpm_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *memory);
    void *user;
} mpm_allocator;

/** The allocator of the C library. */
mpm_allocator mpm_memory_default(void);

/** `count` zeroed elements of `size` bytes, aligned to 64. The allocator is asked for a positive multiple of 64 bytes.
 *  NULL: out of memory, or the product overflows. */
void *mpm_memory_new(const mpm_allocator *allocator, size_t count, size_t size);

/** The same, but uninitialised. */
void *mpm_memory_new_unset(const mpm_allocator *allocator, size_t count, size_t size);

/** Releases `memory`; NULL is allowed. */
void mpm_memory_free(const mpm_allocator *allocator, void *memory);

/** Makes `*array` hold at least `wanted` elements of `size` bytes and keeps its first `used`. Grows by half, so that
 *  appending is cheap; new elements are zero. Returns 0, or -1 with nothing changed. */
int mpm_memory_grow(const mpm_allocator *allocator, void **array, size_t *capacity, size_t used, size_t wanted,
                    size_t size);

/** Makes the C library, where it is glibc, take blocks from half a MiB on from the system one by one, and give them
 *  back as soon as they are freed. Otherwise it keeps them between others. Gives back what is free now. */
void mpm_memory_take_singly(void);
