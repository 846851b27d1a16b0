/* SPDX-License-Identifier: MIT
 *
 * Colliders as one piece of memory: an array of mpm_collider, and behind it what they point to. Names and motions stay
 * on the host, which poses them. C for the host, and C++.
 */
#pragma once
#include <string.h>

#include "contact/collider.h"

enum { MPM_PACK_ALIGNMENT = 16 };

static inline size_t mpm_pack_round(size_t bytes)
{
    return (bytes + MPM_PACK_ALIGNMENT - 1) / MPM_PACK_ALIGNMENT * MPM_PACK_ALIGNMENT;
}

/* Copies an array behind what was packed, unless `to` is NULL. Returns where it will lie. */
static inline const void *mpm_pack_array(char *to, const char *there, size_t *used, const void *array, size_t bytes)
{
    const size_t at = *used;
    if (to && bytes)
        memcpy(to + at, array, bytes);
    *used = mpm_pack_round(at + bytes);
    return there ? there + at : NULL;
}

/** Writes colliders to `to`, as they are to lie at `there` in the memory of a device. `to` NULL: writes nothing.
 *  Returns the bytes that they take. Where no shape has changed, only the first `count` mpm_colliders have. */
static inline size_t mpm_pack_colliders(const mpm_collider *colliders, size_t count, char *to, const char *there)
{
    size_t used = mpm_pack_round(count * sizeof *colliders);
    for (size_t k = 0; k < count; k++) {
        mpm_collider packed = colliders[k];
        mpm_shape *s = &packed.shape;
        packed.name = NULL;
        packed.motion.keys = NULL;
        s->nodes = (mpm_shape_node *)mpm_pack_array(to, there, &used, s->nodes, s->node_count * sizeof *s->nodes);
        s->numbers = (double *)mpm_pack_array(to, there, &used, s->numbers, s->number_count * sizeof *s->numbers);
        s->factors = (mpm_shape_factor *)mpm_pack_array(to, there, &used, s->factors,
                                                        s->factor_count * sizeof *s->factors);
        s->parts = (mpm_shape_part *)mpm_pack_array(to, there, &used, s->parts, s->part_count * sizeof *s->parts);
        if (to)
            memcpy(to + k * sizeof packed, &packed, sizeof packed);
    }
    return used;
}

/** Brings packed colliders, which lie in memory of the host, up to date but for their shapes. Returns whether any has
 *  changed. */
static inline bool mpm_pack_poses(mpm_collider *packed, const mpm_collider *colliders, size_t count)
{
    bool changed = false;
    for (size_t k = 0; k < count; k++) {
        mpm_collider fresh;
        memcpy(&fresh, &colliders[k], sizeof fresh); /* with what lies between the members, which is compared, too */
        memcpy(&fresh.shape, &packed[k].shape, sizeof fresh.shape);
        fresh.name = NULL;
        fresh.motion.keys = NULL;
        changed |= memcmp(&packed[k], &fresh, sizeof fresh) != 0;
        memcpy(&packed[k], &fresh, sizeof fresh);
    }
    return changed;
}
