/* SPDX-License-Identifier: MIT
 *
 * Shapes at points: the functions of shape.c that a GPU has, too (mpm/gpu/contact.h). The text is C and C++.
 */
#pragma once
#include "contact/shape.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"

/* ---- leaves ----------------------------------------------------------------------------------------------------- */

/* Sets `out` to sign v/|v|, or to `instead` if v is zero. Returns |v|. */
static double direction(const double v[3], double sign, const double instead[3], double out[3])
{
    const double length = sqrt(mpm_dot3(v, v));
    for (int a = 0; a < 3; a++)
        out[a] = length > 0 ? sign * v[a] / length : instead[a];
    return length;
}

static const double along_x[3] = {1, 0, 0};

static double half_space(const double *numbers, const double x[3], double normal[3])
{
    const double from[3] = {x[0] - numbers[0], x[1] - numbers[1], x[2] - numbers[2]};
    memcpy(normal, numbers + 3, 3 * sizeof *normal);
    return mpm_dot3(from, normal);
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

/* A direction perpendicular to the unit vector `axis`; in 2-D it lies in the plane. */
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
    const double length2 = mpm_dot3(axis, axis), length = sqrt(length2);
    const double along = mpm_dot3(from, axis) / length2, t = along > 0 ? along < 1 ? along : 1 : 0;
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
    const double length = sqrt(mpm_dot3(axis, axis));
    for (int a = 0; a < 3; a++)
        axis[a] /= length;
    const double along = mpm_dot3(from, axis) - 0.5 * length;
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
    bool inside = false, at_edge = false;
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
            at_edge = along > 0 && along < 1;
            memcpy(nearest, away, sizeof away);
            edge_normal[0] = edge[1] / sqrt(length2);
            edge_normal[1] = -edge[0] / sqrt(length2);
        }
        /* even-odd rule along +x; an edge includes its lower end */
        if ((p[1] > x[1]) != (q[1] > x[1]) && from[0] < edge[0] * (from[1] / edge[1]))
            inside = !inside;
    }
    const double distance = direction(nearest, inside ? -1 : 1, edge_normal, normal);
    if (at_edge) /* close to it, little but rounding is left of `nearest` */
        memcpy(normal, edge_normal, sizeof edge_normal);
    return inside ? -distance : distance;
}

static double lattice(const double *numbers, int dim, const double x[3], double normal[3])
{
    double gradient[3];
    const mpm_lattice_place place = mpm_lattice_find(numbers, dim, x);
    const double phi = mpm_lattice_distance(&place, numbers + MPM_LATTICE_HEADER, gradient);
    direction(gradient, 1, along_x, normal);
    return phi;
}

static double deforming(const double *numbers, int dim, double time, const double x[3], double normal[3],
                        double velocity[3])
{
    const ptrdiff_t nodes = (ptrdiff_t)mpm_lattice_nodes(numbers, dim),
                    last = (ptrdiff_t)numbers[MPM_LATTICE_HEADER] - 1;
    const double *times = numbers + MPM_LATTICE_HEADER + 1, *phi = times + 2 * last + 1;
    ptrdiff_t interval = 0;
    while (interval < last - 1 && times[interval + 1] <= time)
        interval++;
    const double *v = phi + (last + 1) * nodes + 2 * interval * nodes * dim;
    const bool moves = time >= times[0] && time < times[last];
    const double delta = times[interval + 1] - times[interval], gone = (time - times[interval]) / delta;
    const double g = gone > 0 ? gone < 1 ? gone : 1 : 0;

    double mean[3] = {0}, sum = 0, gradient[3] = {0};
    const mpm_lattice_place here = mpm_lattice_find(numbers, dim, x);
    for (int end = 0; moves && end < 2; end++) {
        double w[3];
        mpm_lattice_vector(&here, v + end * nodes * dim, w);
        for (int a = 0; a < 3; a++)
            mean[a] += (end ? g : 1 - g) * w[a];
    }
    for (int end = 0; end < 2; end++) {
        const double share = end ? g : 1 - g, lapse = (end ? 1 - g : -g) * delta;
        const double from[3] = {x[0] + lapse * mean[0], x[1] + lapse * mean[1], x[2] + lapse * mean[2]};
        const mpm_lattice_place place = mpm_lattice_find(numbers, dim, from);
        double slope[3], w[3] = {0};
        sum += share * mpm_lattice_distance(&place, phi + (interval + end) * nodes, slope);
        if (moves)
            mpm_lattice_vector(&place, v + end * nodes * dim, w);
        for (int a = 0; a < 3; a++) {
            gradient[a] += share * slope[a];
            velocity[a] += share * w[a];
        }
    }
    direction(gradient, 1, along_x, normal);
    return sum;
}

/* ---- evaluation ------------------------------------------------------------------------------------------------- */

static mpm_shape_reading read_leaf(const mpm_shape_node *node, const double *numbers, int dim, double time,
                                   const double x[3])
{
    mpm_shape_reading r = {.phi = 0};
    switch (node->kind) {
    case MPM_HALF_SPACE:
        r.phi = half_space(numbers, x, r.normal);
        break;
    case MPM_BOX:
        r.phi = box(numbers, dim, x, r.normal);
        break;
    case MPM_BALL:
        r.phi = ball(numbers, x, r.normal);
        break;
    case MPM_CAPSULE:
        r.phi = capsule(numbers, x, r.normal);
        break;
    case MPM_CYLINDER:
        r.phi = cylinder(numbers, x, r.normal);
        break;
    case MPM_POLYGON:
        r.phi = polygon(numbers, node->size - (node->mapped ? MPM_SHAPE_MAP : 0), x, r.normal);
        break;
    case MPM_LATTICE:
        r.phi = lattice(numbers, dim, x, r.normal);
        break;
    default:
        r.phi = deforming(numbers, dim, time, x, r.normal, r.velocity);
    }
    return r;
}

/* out = M v, or the transpose of M times v. */
static void multiply(const double *matrix, bool transposed, const double v[3], double out[3])
{
    const int row = transposed ? 1 : 3, column = transposed ? 3 : 1;
    for (int a = 0; a < 3; a++)
        out[a] = matrix[row * a] * v[0] + matrix[row * a + column] * v[1] + matrix[row * a + 2 * column] * v[2];
}

static mpm_shape_reading read_mapped(const mpm_shape_node *node, const double *map, int dim, double time,
                                     const double x[3])
{
    const double *matrix = map, *inverse = map + 9, *shift = map + 18, least = map[21];
    const double from[3] = {x[0] - shift[0], x[1] - shift[1], x[2] - shift[2]};
    double y[3], gradient[3];
    multiply(inverse, false, from, y);
    const mpm_shape_reading inner = read_leaf(node, map + MPM_SHAPE_MAP, dim, time, y);
    mpm_shape_reading r = {.phi = least * inner.phi};
    multiply(inverse, true, inner.normal, gradient); /* gradients transform with the inverse transpose */
    direction(gradient, 1, along_x, r.normal);
    multiply(matrix, false, inner.velocity, r.velocity);
    return r;
}

/* Does the second of two joined shapes decide? In a tie the first one does. */
static bool decides(bool intersects, double second, double first)
{
    return intersects ? second > first : second < first;
}

static void turn(mpm_shape_reading *reading)
{
    reading->phi = -reading->phi;
    for (int a = 0; a < 3; a++)
        reading->normal[a] = -reading->normal[a];
}

/* Evaluates the nodes from `first` to `end`, whose numbers begin at `numbers`. */
static mpm_shape_reading read_nodes(const mpm_shape *shape, size_t first, size_t end_node, const double *numbers,
                                    double time, const double x[3])
{
    mpm_shape_reading stack[MPM_SHAPE_DEPTH];
    int depth = 0;
    for (size_t n = first; n < end_node; numbers += shape->nodes[n++].size) {
        const mpm_shape_node *node = &shape->nodes[n];
        mpm_shape_reading *end = stack + depth;
        switch (node->kind) {
        case MPM_UNION:
        case MPM_INTERSECTION:
            if (decides(node->kind == MPM_INTERSECTION, end[-1].phi, end[-2].phi))
                end[-2] = end[-1];
            depth--;
            break;
        case MPM_COMPLEMENT:
            turn(&end[-1]);
            break;
        default:
            *end = node->mapped ? read_mapped(node, numbers, shape->dim, time, x)
                                : read_leaf(node, numbers, shape->dim, time, x);
            depth++;
        }
    }
    return stack[0];
}

mpm_shape_reading mpm_shape_read(const mpm_shape *shape, double time, const double x[3])
{
    return read_nodes(shape, 0, shape->node_count, shape->numbers, time, x);
}

static mpm_shape_reading read_factor(const mpm_shape *shape, const mpm_shape_factor *factor, double time,
                                     const double x[3])
{
    mpm_shape_reading r = read_nodes(shape, factor->first, factor->end, shape->numbers + factor->number, time, x);
    if (factor->turned)
        turn(&r);
    return r;
}

mpm_shape_reading mpm_shape_read_part(const mpm_shape *shape, double time, const double x[3], size_t part)
{
    mpm_shape_reading r = read_factor(shape, &shape->factors[shape->parts[part].first], time, x);
    for (size_t f = shape->parts[part].first + 1; f < shape->parts[part].end; f++) {
        const mpm_shape_reading at = read_factor(shape, &shape->factors[f], time, x);
        if (decides(true, at.phi, r.phi))
            r = at;
    }
    return r;
}

double mpm_shape_find_parts(const mpm_shape *shape, double time, const double x[3], double radius, uint64_t *parts)
{
    /* The difference of two distances changes by twice the steepness; the rest is for rounding. */
    const double sign = shape->intersects ? -1 : 1, reach = 2.01 * shape->steepness * radius;
    double least[MPM_SHAPE_BITS], all = INFINITY;
    for (int b = 0; b < MPM_SHAPE_BITS; b++)
        least[b] = INFINITY;
    for (size_t p = 0; p < shape->part_count; p++) {
        const double phi = sign * mpm_shape_read_part(shape, time, x, p).phi;
        double *of_bit = &least[mpm_shape_bit(shape, p)];
        *of_bit = fmin(*of_bit, phi);
        all = fmin(all, phi);
    }
    for (int b = 0; b < MPM_SHAPE_BITS; b++)
        if (least[b] <= all + reach)
            *parts |= (uint64_t)1 << b;
    return sign * all;
}

mpm_shape_reading mpm_shape_read_parts(const mpm_shape *shape, double time, const double x[3], uint64_t parts)
{
    mpm_shape_reading r = {.phi = shape->intersects ? -INFINITY : INFINITY};
    for (size_t p = 0; p < shape->part_count; p++) {
        if (!(parts >> mpm_shape_bit(shape, p) & 1))
            continue;
        const mpm_shape_reading at = mpm_shape_read_part(shape, time, x, p);
        if (decides(shape->intersects, at.phi, r.phi))
            r = at;
    }
    return r;
}
