/* SPDX-License-Identifier: MIT
 *
 * Memory of the place where kernels run, which may be a device with memory of its own. Pointers to it are for kernels
 * alone. The host maps a piece, uses the pointer that it got, and unmaps the piece before kernels run again.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"

typedef enum mpm_access { MPM_READ, MPM_WRITE } mpm_access; /* to write is to change what is there: it is read, too */

typedef struct mpm_device mpm_device;
struct mpm_device {
    /** `bytes` > 0 aligned to 64, zeroed if `cleared`, and all that it takes to map them; NULL: out of memory. */
    void *(*allocate)(mpm_device *device, size_t bytes, bool cleared);
    void (*release)(mpm_device *device, void *memory);
    /** The contents of a whole piece, as `allocate` gave it, at an address of the host. Cannot fail. A piece that is
     *  mapped already gives the same address once more. */
    void *(*map)(mpm_device *device, void *memory, mpm_access access);
    /** Ends one `map`. After the last one, what was written is what kernels see, and the address is void. */
    void (*unmap)(mpm_device *device, void *memory);
    mpm_allocator allocator; /* of the host's memory */
};

/** The device that is the host: to map a piece is to hand out its pointer. */
mpm_device mpm_device_of_host(const mpm_allocator *allocator);

/** `count` zeroed elements of `size` bytes. NULL: out of memory, or the product overflows. */
void *mpm_device_new(mpm_device *device, size_t count, size_t size);

/** The same, but uninitialised. */
void *mpm_device_new_unset(mpm_device *device, size_t count, size_t size);

/** Releases `memory`; NULL is allowed here, and below. */
void mpm_device_free(mpm_device *device, void *memory);

/** `memory` for the host, until mpm_device_unmap. */
void *mpm_device_map(mpm_device *device, const void *memory, mpm_access access);
void mpm_device_unmap(mpm_device *device, const void *memory);
