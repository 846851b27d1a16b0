/* SPDX-License-Identifier: MIT */
#include "contact/boundary.h"

#include <string.h>

#include "contact/rules.h"

void mpm_boundary_clear(mpm_boundary *boundary, const mpm_allocator *allocator)
{
    for (size_t k = 0; k < boundary->count; k++)
        mpm_collider_clear(&boundary->colliders[k], allocator);
    mpm_memory_free(allocator, boundary->colliders);
    mpm_memory_free(allocator, boundary->books);
}

static bool is_collider(const mpm_collider *collider, int dim)
{
    const mpm_motion *motion = &collider->motion;
    const mpm_rule *rule = mpm_rules_get((int)collider->contact);
    return collider->name && collider->shape.dim == dim && !mpm_shape_flaw(&collider->shape) &&
           rule && rule->collider && collider->friction >= 0 && collider->restitution >= 0 &&
           collider->restitution <= (rule->rebounds ? 1 : 0) && mpm_rules_are_speeds(collider->speeds) &&
           collider->friction_heat >= 0 && collider->friction_heat <= 1 &&
           (unsigned)motion->kind <= MPM_MOTION_CONTINUED && (motion->keys || !motion->key_count) &&
           motion->key_count >= mpm_motion_least_keys(motion->kind);
}

mpm_status mpm_boundary_add(mpm_boundary *boundary, const mpm_allocator *allocator, const mpm_collider *collider)
{
    if (!is_collider(collider, boundary->dim))
        return MPM_BAD_ARGUMENT;
    const size_t count = boundary->count;
    mpm_collider_book *books = mpm_memory_new(allocator, count + 1, sizeof *books);
    if (!books || mpm_memory_grow(allocator, (void **)&boundary->colliders, &boundary->capacity, count, count + 1,
                                  sizeof *collider) ||
        mpm_collider_copy(&boundary->colliders[count], allocator, collider)) {
        mpm_memory_free(allocator, books);
        return MPM_OUT_OF_MEMORY;
    }
    for (size_t k = 0; k < count; k++)
        books[k] = boundary->books[k];
    mpm_memory_free(allocator, boundary->books);
    boundary->books = books;
    boundary->count++;
    boundary->revision++;
    return MPM_OK;
}

mpm_status mpm_boundary_replace(mpm_boundary *boundary, const mpm_allocator *allocator, const mpm_collider *collider)
{
    size_t k = 0;
    if (!is_collider(collider, boundary->dim))
        return MPM_BAD_ARGUMENT;
    while (k < boundary->count && strcmp(boundary->colliders[k].name, collider->name))
        k++;
    if (k == boundary->count || boundary->colliders[k].contact != collider->contact)
        return MPM_BAD_ARGUMENT;
    mpm_collider made;
    const mpm_status status = mpm_collider_copy(&made, allocator, collider);
    if (status)
        return status;
    mpm_collider_clear(&boundary->colliders[k], allocator);
    boundary->colliders[k] = made;
    boundary->revision++;
    return MPM_OK;
}

void mpm_boundary_drop(mpm_boundary *boundary, const mpm_allocator *allocator)
{
    mpm_collider_clear(&boundary->colliders[--boundary->count], allocator);
    boundary->revision++;
}

void mpm_boundary_pose(mpm_boundary *boundary, double time, double dt)
{
    for (size_t k = 0; k < boundary->count; k++)
        boundary->colliders[k].now = mpm_collider_state_at(&boundary->colliders[k], time, dt);
}

const char *mpm_boundary_touched(const mpm_boundary *boundary, double time, const double x[3])
{
    const char *name = NULL;
    double least = boundary->dx;
    for (size_t k = 0; k < boundary->count; k++) {
        const mpm_collider *collider = &boundary->colliders[k];
        const mpm_collider_state now = mpm_collider_state_at(collider, time, 0);
        const double phi = mpm_collider_read(collider, &now, x, UINT64_MAX).phi;
        if (phi < least) {
            least = phi;
            name = collider->name;
        }
    }
    return name;
}

void mpm_boundary_clear_books(mpm_boundary *boundary)
{
    for (size_t k = 0; k < boundary->count; k++)
        boundary->books[k] = (mpm_collider_book){0};
}

size_t mpm_boundary_bytes(const mpm_boundary *boundary)
{
    size_t bytes = 0;
    for (size_t k = 0; k < boundary->count; k++)
        bytes += mpm_collider_bytes(&boundary->colliders[k]);
    return bytes;
}

mpm_symmetry mpm_boundary_symmetry(const mpm_boundary *boundary, int axis)
{
    const mpm_wall *walls = &boundary->walls[2 * axis];
    return (mpm_symmetry){
        .cells = boundary->cells[axis],
        .mirror = {walls[0].contact == MPM_MIRROR, walls[1].contact == MPM_MIRROR},
        .periodic = mpm_walls_periodic(boundary->walls, axis),
    };
}

bool mpm_boundary_is_periodic(const mpm_boundary *boundary)
{
    bool any = false;
    for (int axis = 0; axis < boundary->dim; axis++)
        any |= mpm_walls_periodic(boundary->walls, axis);
    return any;
}
