/* SPDX-License-Identifier: MIT
 *
 * Colliders for tests/gpu/emulated.cpp: the host's side, which copies and poses them.
 */
#include <stdlib.h>

#include "contact/boundary.h"

mpm_boundary *boundary_new(int dim)
{
    mpm_boundary *boundary = calloc(1, sizeof *boundary);
    if (boundary)
        boundary->dim = dim;
    return boundary;
}

/* `nodes`: kind, mapped, numbers of each, as Python has them. */
int boundary_add(mpm_boundary *boundary, int contact, double friction, int node_count, const int64_t *nodes,
                 int number_count, double *numbers, const double reference[3], int motion, const double vector[3],
                 double frequency, int key_count, const double *keys)
{
    const mpm_allocator allocator = mpm_memory_default();
    mpm_collider collider = {.name = "collider", .contact = (mpm_contact)contact, .friction = friction};
    collider.shape = (mpm_shape){.dim = boundary->dim, .node_count = (size_t)node_count, .numbers = numbers,
                                 .number_count = (size_t)number_count};
    collider.motion = (mpm_motion){.kind = (mpm_motion_kind)motion, .frequency = frequency, .keys = keys,
                                   .key_count = (size_t)key_count};
    collider.shape.nodes = calloc((size_t)node_count, sizeof *collider.shape.nodes);
    for (int n = 0; collider.shape.nodes && n < node_count; n++)
        collider.shape.nodes[n] =
            (mpm_shape_node){(int32_t)nodes[3 * n], nodes[3 * n + 1] != 0, nodes[3 * n + 2]};
    for (int a = 0; a < 3; a++) {
        collider.reference[a] = reference[a];
        collider.motion.vector[a] = vector[a];
    }
    const mpm_status status = mpm_boundary_add(boundary, &allocator, &collider);
    free(collider.shape.nodes);
    return (int)status;
}

void boundary_pose(mpm_boundary *boundary, double time, double dt) { mpm_boundary_pose(boundary, time, dt); }

const mpm_collider *boundary_list(const mpm_boundary *boundary, int *count)
{
    *count = (int)boundary->count;
    return boundary->colliders;
}

void boundary_free(mpm_boundary *boundary)
{
    const mpm_allocator allocator = mpm_memory_default();
    mpm_boundary_clear(boundary, &allocator);
    free(boundary);
}
