/* SPDX-License-Identifier: MIT */
#include "contact/shape.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "contact/shape_reading.h"

enum {
    DEFORMING_HEADER = MPM_LATTICE_HEADER + 1,
    MOST_DISTRIBUTED = 4 /* times the nodes of an intersection that its parts may have */
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

/* How many numbers a deforming leaf has, -1 if they are invalid. */
static int64_t deforming_size(const double *numbers, int dim)
{
    const int64_t nodes = mpm_lattice_nodes(numbers, dim);
    const double frames = numbers[MPM_LATTICE_HEADER];
    const double size =
        DEFORMING_HEADER + 2 * frames - 1 + frames * (double)nodes + 2 * (frames - 1) * (double)nodes * dim;
    const bool sensible = nodes > 0 && frames >= 2 && frames <= INT32_MAX && frames == floor(frames);
    return sensible && size < 0x1p50 ? (int64_t)size : -1;
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
        return size > MPM_LATTICE_HEADER && size - MPM_LATTICE_HEADER == mpm_lattice_nodes(numbers, dim);
    case MPM_DEFORMING:
        return size > DEFORMING_HEADER && size == deforming_size(numbers, dim);
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

static bool joins(const mpm_shape_node *node)
{
    return node->kind == MPM_UNION || node->kind == MPM_INTERSECTION;
}

/* What the nodes from `begin` on describe: parts from `part` on, to be united, with factors from `factor` on, of `cost`
 * nodes. */
struct operand {
    size_t begin, number, part, factor, cost;
};

/* Parts and factors of the operands that wait to be joined, one after another. */
struct parting {
    const mpm_shape *shape;
    const mpm_allocator *allocator;
    mpm_shape_part *parts;
    mpm_shape_factor *factors;
    size_t part_count, part_capacity, factor_count, factor_capacity;
};

static mpm_status add_part(struct parting *all)
{
    const size_t count = all->part_count;
    if (mpm_memory_grow(all->allocator, (void **)&all->parts, &all->part_capacity, count, count + 1,
                        sizeof *all->parts))
        return MPM_OUT_OF_MEMORY;
    all->parts[all->part_count++] = (mpm_shape_part){.first = all->factor_count, .end = all->factor_count};
    return MPM_OK;
}

/* Adds a factor to the last part. */
static mpm_status add_factor(struct parting *all, mpm_shape_factor factor)
{
    const size_t count = all->factor_count;
    if (mpm_memory_grow(all->allocator, (void **)&all->factors, &all->factor_capacity, count, count + 1,
                        sizeof *all->factors))
        return MPM_OUT_OF_MEMORY;
    all->factors[all->factor_count++] = factor;
    all->parts[all->part_count - 1].end = all->factor_count;
    return MPM_OK;
}

static mpm_status add_factors_of(struct parting *all, size_t part)
{
    mpm_status status = MPM_OK;
    for (size_t f = all->parts[part].first; f < all->parts[part].end && !status; f++)
        status = add_factor(all, all->factors[f]);
    return status;
}

/* Intersects the last two operands, of which the second one ends with the last part: each part of the one with each of
 * the other. If that takes too many nodes, the nodes before `end` become one factor. */
static mpm_status intersect(struct parting *all, struct operand *one, const struct operand *other, size_t end,
                            bool turned)
{
    const size_t last = all->part_count, first_new = all->factor_count;
    const size_t parts = other->part - one->part, others = last - other->part;
    const size_t cost = one->cost * others + other->cost * parts;
    mpm_status status = MPM_OK;
    if (cost > MOST_DISTRIBUTED * (end - one->begin)) {
        all->part_count = one->part;
        all->factor_count = one->factor;
        one->cost = end - one->begin;
        status = add_part(all);
        return status ? status : add_factor(all, (mpm_shape_factor){one->begin, end, one->number, turned});
    }
    for (size_t p = one->part; p < other->part && !status; p++)
        for (size_t q = other->part; q < last && !status; q++)
            if (!(status = add_part(all)) && !(status = add_factors_of(all, p)))
                status = add_factors_of(all, q);
    if (status)
        return status;
    const size_t back = first_new - one->factor;
    memmove(all->factors + one->factor, all->factors + first_new,
            (all->factor_count - first_new) * sizeof *all->factors);
    memmove(all->parts + one->part, all->parts + last, (all->part_count - last) * sizeof *all->parts);
    all->factor_count -= back;
    all->part_count -= last - one->part;
    for (size_t p = one->part; p < all->part_count; p++) {
        all->parts[p].first -= back;
        all->parts[p].end -= back;
    }
    one->cost = cost;
    return MPM_OK;
}

/* Finds of which nodes a complement is meant, all in all. */
static void find_turned(const mpm_shape *shape, bool *turned)
{
    bool stack[MPM_SHAPE_DEPTH] = {false};
    int depth = 1;
    for (size_t n = shape->node_count; n-- > 0;) { /* an operator comes after its operands */
        turned[n] = stack[--depth];
        const int operands = joins(&shape->nodes[n]) ? 2 : shape->nodes[n].kind == MPM_COMPLEMENT ? 1 : 0;
        for (int k = 0; k < operands; k++)
            stack[depth++] = turned[n] != (operands == 1);
    }
}

/* Brings the nodes into the normal form. */
static mpm_status distribute(struct parting *all, const bool *turned)
{
    const mpm_shape *shape = all->shape;
    struct operand stack[MPM_SHAPE_DEPTH];
    size_t number = 0;
    int depth = 0;
    mpm_status status = MPM_OK;
    for (size_t n = 0; n < shape->node_count && !status; number += (size_t)shape->nodes[n++].size) {
        const int32_t kind = shape->nodes[n].kind;
        if (kind < MPM_UNION) {
            stack[depth++] = (struct operand){n, number, all->part_count, all->factor_count, 1};
            if (!(status = add_part(all)))
                status = add_factor(all, (mpm_shape_factor){n, n + 1, number, turned[n]});
        } else if (kind != MPM_COMPLEMENT) {
            struct operand *one = &stack[--depth - 1];
            if ((kind == MPM_INTERSECTION) != turned[n])
                status = intersect(all, one, &stack[depth], n + 1, turned[n]);
            else
                one->cost += stack[depth].cost;
        }
    }
    return status;
}

/* Where one part remains, its factors are parts that intersect. */
static mpm_status split(struct parting *all)
{
    mpm_status status = MPM_OK;
    const size_t count = all->factor_count;
    if (all->part_count > 1 || count == 1)
        return MPM_OK;
    for (size_t f = 1; f < count && !status; f++)
        status = add_part(all);
    for (size_t f = 0; f < count && !status; f++)
        all->parts[f] = (mpm_shape_part){.first = f, .end = f + 1};
    return status;
}

static mpm_status find_parts(mpm_shape *shape, const mpm_allocator *allocator)
{
    struct parting all = {.shape = shape, .allocator = allocator};
    bool *turned = mpm_memory_new(allocator, shape->node_count, sizeof *turned);
    mpm_status status = turned ? MPM_OK : MPM_OUT_OF_MEMORY;
    if (!status) {
        find_turned(shape, turned);
        status = distribute(&all, turned);
    }
    shape->intersects = all.part_count == 1;
    if (!status && !(status = split(&all))) {
        shape->parts = mpm_memory_new(allocator, all.part_count, sizeof *shape->parts);
        shape->factors = mpm_memory_new(allocator, all.factor_count, sizeof *shape->factors);
        status = shape->parts && shape->factors ? MPM_OK : MPM_OUT_OF_MEMORY;
    }
    if (!status) {
        memcpy(shape->parts, all.parts, all.part_count * sizeof *shape->parts);
        memcpy(shape->factors, all.factors, all.factor_count * sizeof *shape->factors);
        shape->part_count = all.part_count;
        shape->factor_count = all.factor_count;
    }
    mpm_memory_free(allocator, turned);
    mpm_memory_free(allocator, all.parts);
    mpm_memory_free(allocator, all.factors);
    return status;
}

/* Finds the steepness of every part and of the whole. */
static void find_steepness(mpm_shape *shape)
{
    shape->steepness = 1;
    for (size_t p = 0; p < shape->part_count; p++) {
        mpm_shape_part *part = &shape->parts[p];
        part->steepness = 1;
        for (size_t f = part->first; f < part->end; f++) {
            const double *numbers = shape->numbers + shape->factors[f].number;
            for (size_t n = shape->factors[f].first; n < shape->factors[f].end; numbers += shape->nodes[n++].size) {
                const mpm_shape_node *node = &shape->nodes[n];
                const double *leaf = numbers + (node->mapped ? MPM_SHAPE_MAP : 0);
                if (node->kind == MPM_LATTICE || node->kind == MPM_DEFORMING)
                    part->steepness = fmax(part->steepness, leaf[MPM_LATTICE_STEEPNESS]);
            }
        }
        shape->steepness = fmax(shape->steepness, part->steepness);
    }
}

mpm_status mpm_shape_copy(mpm_shape *copy, const mpm_allocator *allocator, const mpm_shape *shape)
{
    *copy = *shape;
    copy->parts = NULL;
    copy->factors = NULL;
    copy->nodes = mpm_memory_new(allocator, shape->node_count, sizeof *copy->nodes);
    copy->numbers = mpm_memory_new(allocator, shape->number_count, sizeof *copy->numbers);
    if (!copy->nodes || !copy->numbers) {
        mpm_shape_clear(copy, allocator);
        return MPM_OUT_OF_MEMORY;
    }
    memcpy(copy->nodes, shape->nodes, shape->node_count * sizeof *copy->nodes);
    memcpy(copy->numbers, shape->numbers, shape->number_count * sizeof *copy->numbers);
    if (find_parts(copy, allocator)) {
        mpm_shape_clear(copy, allocator);
        return MPM_OUT_OF_MEMORY;
    }
    find_steepness(copy);
    return MPM_OK;
}

void mpm_shape_clear(mpm_shape *shape, const mpm_allocator *allocator)
{
    mpm_memory_free(allocator, shape->nodes);
    mpm_memory_free(allocator, shape->numbers);
    mpm_memory_free(allocator, shape->parts);
    mpm_memory_free(allocator, shape->factors);
    *shape = (mpm_shape){0};
}

/* ---- motion ----------------------------------------------------------------------------------------------------- */

double mpm_shape_speed(const mpm_shape *shape, double time, double dt)
{
    const double *numbers = shape->numbers;
    double speed = 0;
    for (size_t n = 0; n < shape->node_count; numbers += shape->nodes[n++].size) {
        const mpm_shape_node *node = &shape->nodes[n];
        if (node->kind != MPM_DEFORMING)
            continue;
        const double *leaf = numbers + (node->mapped ? MPM_SHAPE_MAP : 0), *times = leaf + DEFORMING_HEADER;
        const double longest = node->mapped ? numbers[MPM_SHAPE_MAP - 1] : 1;
        const ptrdiff_t last = (ptrdiff_t)leaf[MPM_LATTICE_HEADER] - 1;
        for (ptrdiff_t k = 0; k < last; k++)
            if (times[k] < time + dt && times[k + 1] > time)
                speed = fmax(speed, longest * times[last + 1 + k]);
    }
    return speed;
}
