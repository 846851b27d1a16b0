/* SPDX-License-Identifier: MIT */
#include "contact/shape.h"

#include <math.h>
#include <string.h>

/* A distance waiting to be joined. */
struct reading {
    double phi, normal[3];
};

const char *mpm_shape_kind_name(int kind)
{
    static const char *const names[] = {
#define NAME(enumerator, name) #name,
        MPM_SHAPE_KINDS(NAME)
#undef NAME
    };
    return kind >= 0 && kind < MPM_SHAPE_KIND_COUNT ? names[kind] : NULL;
}

/* ---- description ------------------------------------------------------------------------------------------------ */

/* Values of a lattice, -1 if its numbers make no sense. */
static int64_t lattice_values(const double *numbers, int dim)
{
    double values = 1;
    for (int a = 0; a < 3; a++) {
        const double nodes = numbers[4 + a], least = a < dim ? 2 : 1, most = a < dim ? INT32_MAX : 1;
        if (!(nodes >= least && nodes <= most))
            return -1;
        values *= nodes;
    }
    return numbers[3] > 0 && values < 0x1p50 ? (int64_t)values : -1;
}

static bool size_is_right(mpm_shape_kind kind, int64_t size, const double *numbers, int dim)
{
    switch (kind) {
    case MPM_HALF_SPACE:
    case MPM_BOX:
        return size == 6;
    case MPM_BALL:
        return size == 4;
    case MPM_CAPSULE:
    case MPM_CYLINDER:
        return size == 7;
    case MPM_POLYGON:
        return dim == 2 && size >= 6 && size % 2 == 0;
    case MPM_LATTICE:
        return size >= MPM_LATTICE_VALUES && size - MPM_LATTICE_VALUES == lattice_values(numbers, dim);
    default:
        return size == 0;
    }
}

const char *mpm_shape_flaw(const mpm_shape *shape)
{
    size_t used = 0;
    int depth = 0;
    for (size_t n = 0; n < shape->node_count; n++) {
        const mpm_shape_node *node = &shape->nodes[n];
        if (node->kind < 0 || node->kind >= MPM_SHAPE_KIND_COUNT)
            return "no such kind of node";
        if (node->size < 0 || (uint64_t)node->size > shape->number_count - used)
            return "too few numbers";
        const bool leaf = node->kind < MPM_UNION;
        const int64_t map = leaf && node->mapped ? MPM_SHAPE_MAP : 0;
        if (node->size < map || !size_is_right((mpm_shape_kind)node->kind, node->size - map,
                                               shape->numbers + used + map, shape->dim))
            return "a node has the wrong number of numbers";
        used += (size_t)node->size;
        if (leaf ? depth == MPM_SHAPE_DEPTH : depth < (node->kind == MPM_COMPLEMENT ? 1 : 2))
            return "the nodes do not fit together, or are nested too deeply";
        depth += leaf ? 1 : node->kind == MPM_COMPLEMENT ? 0 : -1;
    }
    return depth != 1 || used != shape->number_count ? "nodes or numbers are left over" : NULL;
}

static double steepness_of(const mpm_shape *shape)
{
    const double *numbers = shape->numbers;
    double steepness = 1;
    for (size_t n = 0; n < shape->node_count; numbers += shape->nodes[n++].size)
        if (shape->nodes[n].kind == MPM_LATTICE)
            steepness = fmax(steepness, numbers[(shape->nodes[n].mapped ? MPM_SHAPE_MAP : 0) + 8]);
    return steepness;
}

mpm_status mpm_shape_copy(mpm_shape *copy, const mpm_allocator *allocator, const mpm_shape *shape)
{
    *copy = *shape;
    copy->nodes = mpm_memory_new(allocator, shape->node_count, sizeof *copy->nodes);
    copy->numbers = mpm_memory_new(allocator, shape->number_count, sizeof *copy->numbers);
    if (!copy->nodes || !copy->numbers) {
        mpm_shape_clear(copy, allocator);
        return MPM_OUT_OF_MEMORY;
    }
    memcpy(copy->nodes, shape->nodes, shape->node_count * sizeof *copy->nodes);
    memcpy(copy->numbers, shape->numbers, shape->number_count * sizeof *copy->numbers);
    copy->steepness = steepness_of(copy);
    return MPM_OK;
}

void mpm_shape_clear(mpm_shape *shape, const mpm_allocator *allocator)
{
    mpm_memory_free(allocator, shape->nodes);
    mpm_memory_free(allocator, shape->numbers);
    *shape = (mpm_shape){0};
}

/* ---- leaves ----------------------------------------------------------------------------------------------------- */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* v/|v| times `sign`; where v is zero, `instead`. Returns |v|. */
static double direction(const double v[3], double sign, const double instead[3], double out[3])
{
    const double length = sqrt(dot(v, v));
    for (int a = 0; a < 3; a++)
        out[a] = length > 0 ? sign * v[a] / length : instead[a];
    return length;
}

static const double along_x[3] = {1, 0, 0};

static double half_space(const double *numbers, const double x[3], double normal[3])
{
    const double from[3] = {x[0] - numbers[0], x[1] - numbers[1], x[2] - numbers[2]};
    memcpy(normal, numbers + 3, 3 * sizeof *normal);
    return dot(from, normal);
}

static double box(const double *numbers, int dim, const double x[3], double normal[3])
{
    double beyond[3] = {0}, nearest = -INFINITY;
    int side = 0, outside = 0;
    for (int a = 0; a < dim; a++) {
        const double middle = 0.5 * (numbers[a] + numbers[3 + a]), half = 0.5 * (numbers[3 + a] - numbers[a]);
        const double from = x[a] - middle, depth = fabs(from) - half;
        if (depth > nearest) {
            nearest = depth;
            side = a;
        }
        if (depth > 0) {
            beyond[a] = copysign(depth, from);
            outside = 1;
        }
    }
    if (outside)
        return direction(beyond, 1, along_x, normal);
    normal[0] = normal[1] = normal[2] = 0;
    normal[side] = x[side] < 0.5 * (numbers[side] + numbers[3 + side]) ? -1 : 1;
    return nearest;
}

static double ball(const double *numbers, const double x[3], double normal[3])
{
    const double from[3] = {x[0] - numbers[0], x[1] - numbers[1], x[2] - numbers[2]};
    return direction(from, 1, along_x, normal) - numbers[3];
}

/* A direction across the unit vector `axis`; in 2-D the one in the plane. */
static void across(const double axis[3], double out[3])
{
    const double least = fmin(fabs(axis[0]), fmin(fabs(axis[1]), fabs(axis[2])));
    const int a = least == fabs(axis[2]) ? 2 : least == fabs(axis[1]) ? 1 : 0, b = (a + 1) % 3, c = (a + 2) % 3;
    const double size = sqrt(axis[b] * axis[b] + axis[c] * axis[c]);
    out[a] = 0;
    out[b] = -axis[c] / size;
    out[c] = axis[b] / size;
}

static double capsule(const double *numbers, const double x[3], double normal[3])
{
    double axis[3], from[3], aside[3];
    for (int a = 0; a < 3; a++) {
        axis[a] = numbers[3 + a] - numbers[a];
        from[a] = x[a] - numbers[a];
    }
    const double length2 = dot(axis, axis), length = sqrt(length2);
    const double along = dot(from, axis) / length2, t = along > 0 ? along < 1 ? along : 1 : 0;
    for (int a = 0; a < 3; a++) {
        from[a] -= t * axis[a];
        axis[a] /= length;
    }
    across(axis, aside);
    return direction(from, 1, aside, normal) - numbers[6];
}

static double cylinder(const double *numbers, const double x[3], double normal[3])
{
    double axis[3], from[3], aside[3], outwards[3];
    for (int a = 0; a < 3; a++) {
        axis[a] = numbers[3 + a] - numbers[a];
        from[a] = x[a] - numbers[a];
    }
    const double length = sqrt(dot(axis, axis));
    for (int a = 0; a < 3; a++)
        axis[a] /= length;
    const double along = dot(from, axis) - 0.5 * length;
    for (int a = 0; a < 3; a++)
        from[a] -= (along + 0.5 * length) * axis[a];
    across(axis, aside);
    const double out = direction(from, 1, aside, outwards) - numbers[6], end = fabs(along) - 0.5 * length;
    const double up = along < 0 ? -1 : 1;
    if (out > 0 && end > 0) {
        const double size = sqrt(out * out + end * end);
        for (int a = 0; a < 3; a++)
            normal[a] = (out * outwards[a] + end * up * axis[a]) / size;
        return size;
    }
    for (int a = 0; a < 3; a++)
        normal[a] = out >= end ? outwards[a] : up * axis[a];
    return out >= end ? out : end;
}

static double polygon(const double *numbers, int64_t size, const double x[3], double normal[3])
{
    double least = INFINITY, nearest[3] = {0}, edge_normal[3] = {0};
    bool inside = false;
    const double *p = numbers + size - 2;
    for (int64_t k = 0; k < size; p = numbers + k, k += 2) {
        const double *q = numbers + k;
        const double edge[2] = {q[0] - p[0], q[1] - p[1]}, from[2] = {x[0] - p[0], x[1] - p[1]};
        const double length2 = edge[0] * edge[0] + edge[1] * edge[1];
        const double along = (from[0] * edge[0] + from[1] * edge[1]) / length2;
        const double t = along > 0 ? along < 1 ? along : 1 : 0;
        const double away[2] = {from[0] - t * edge[0], from[1] - t * edge[1]};
        const double distance2 = away[0] * away[0] + away[1] * away[1];
        if (distance2 < least) {
            least = distance2;
            memcpy(nearest, away, sizeof away);
            edge_normal[0] = edge[1] / sqrt(length2);
            edge_normal[1] = -edge[0] / sqrt(length2);
        }
        /* even-odd rule along +x, the lower end of an edge being part of it */
        if ((p[1] > x[1]) != (q[1] > x[1]) && from[0] < edge[0] * (from[1] / edge[1]))
            inside = !inside;
    }
    const double distance = direction(nearest, inside ? -1 : 1, edge_normal, normal);
    return inside ? -distance : distance;
}

static double lattice(const double *numbers, int dim, const double x[3], double normal[3])
{
    const double *values = numbers + MPM_LATTICE_VALUES, spacing = numbers[3];
    const bool ends_within = numbers[7] != 0;
    double fraction[3] = {0}, beyond[3] = {0}, gradient[3] = {0}, value = 0, beyond2 = 0;
    ptrdiff_t first = 0, stride[3] = {0};
    for (int a = 0; a < dim; a++) {
        const double last = numbers[4 + a] - 1, cells = (x[a] - numbers[a]) / spacing;
        const double held = cells > 0 ? cells < last ? cells : last : 0;
        const ptrdiff_t cell = held < last ? (ptrdiff_t)held : (ptrdiff_t)last - 1;
        fraction[a] = held - (double)cell;
        beyond[a] = cells > 0 && cells < last ? 0 : spacing * (cells - held);
        beyond2 += beyond[a] * beyond[a];
        stride[a] = 1;
        for (int b = a + 1; b < dim; b++)
            stride[a] *= (ptrdiff_t)numbers[4 + b];
        first += cell * stride[a];
    }
    for (int corner = 0; corner < 1 << dim; corner++) {
        double weight = 1, slope[3] = {1, 1, 1};
        ptrdiff_t at = first;
        for (int a = 0; a < dim; a++) {
            const int upper = corner >> a & 1;
            const double share = upper ? fraction[a] : 1 - fraction[a];
            at += upper ? stride[a] : 0;
            weight *= share;
            for (int b = 0; b < dim; b++)
                slope[b] *= b == a ? (upper ? 1 : -1) : share;
        }
        value += weight * values[at];
        for (int a = 0; a < dim; a++)
            gradient[a] += slope[a] * values[at] / spacing;
    }
    for (int a = 0; a < dim; a++)
        if (beyond[a] != 0)
            gradient[a] = 0;
    if (beyond2 > 0 && ends_within) {
        /* sqrt(phi^2 + gap^2) of the nearest point of the rim: no larger than the distance, continuous, and as
         * steep as phi, since the two gradients are perpendicular */
        for (int a = 0; a < dim; a++)
            gradient[a] = value * gradient[a] + beyond[a];
        value = sqrt(value * value + beyond2);
    }
    direction(gradient, 1, along_x, normal);
    return value;
}

/* ---- evaluation ------------------------------------------------------------------------------------------------- */

static double leaf(const mpm_shape_node *node, const double *numbers, int dim, const double x[3], double normal[3])
{
    switch (node->kind) {
    case MPM_HALF_SPACE:
        return half_space(numbers, x, normal);
    case MPM_BOX:
        return box(numbers, dim, x, normal);
    case MPM_BALL:
        return ball(numbers, x, normal);
    case MPM_CAPSULE:
        return capsule(numbers, x, normal);
    case MPM_CYLINDER:
        return cylinder(numbers, x, normal);
    case MPM_POLYGON:
        return polygon(numbers, node->size - (node->mapped ? MPM_SHAPE_MAP : 0), x, normal);
    default:
        return lattice(numbers, dim, x, normal);
    }
}

static double mapped_leaf(const mpm_shape_node *node, const double *map, int dim, const double x[3], double normal[3])
{
    const double *inverse = map, *shift = map + 9, *scale = map + 12;
    double y[3], inner[3], outer[3];
    for (int a = 0; a < 3; a++)
        y[a] = inverse[3 * a] * (x[0] - shift[0]) + inverse[3 * a + 1] * (x[1] - shift[1]) +
               inverse[3 * a + 2] * (x[2] - shift[2]);
    const double phi = *scale * leaf(node, map + MPM_SHAPE_MAP, dim, y, inner);
    for (int a = 0; a < 3; a++) /* gradients go with the inverse transpose */
        outer[a] = inverse[a] * inner[0] + inverse[3 + a] * inner[1] + inverse[6 + a] * inner[2];
    direction(outer, 1, along_x, normal);
    return phi;
}

double mpm_shape_distance(const mpm_shape *shape, const double x[3], double normal[3])
{
    struct reading stack[MPM_SHAPE_DEPTH];
    const double *numbers = shape->numbers;
    int depth = 0;
    for (size_t n = 0; n < shape->node_count; numbers += shape->nodes[n++].size) {
        const mpm_shape_node *node = &shape->nodes[n];
        struct reading *top = &stack[depth - 1];
        switch (node->kind) {
        case MPM_UNION:
        case MPM_INTERSECTION:
            if (node->kind == MPM_UNION ? top->phi < top[-1].phi : top->phi > top[-1].phi)
                top[-1] = *top;
            depth--;
            break;
        case MPM_COMPLEMENT:
            top->phi = -top->phi;
            for (int a = 0; a < 3; a++)
                top->normal[a] = -top->normal[a];
            break;
        default:
            top = &stack[depth++];
            top->phi = node->mapped ? mapped_leaf(node, numbers, shape->dim, x, top->normal)
                                    : leaf(node, numbers, shape->dim, x, top->normal);
        }
    }
    memcpy(normal, stack[0].normal, sizeof stack[0].normal);
    return stack[0].phi;
}
