/* SPDX-License-Identifier: MIT */
/* sources: contact/shape.c contact/lattice.c base/memory.c */
/* A copied shape is a union of parts, or an intersection of them: for random combinations, phi is that of the tree as
 * described, also by the parts that can decide nearby. Every allocation fails once. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "contact/shape.h"
#include "ledger.h"
#include "random.h"

enum { MOST_LEAVES = 40 };

struct tree {
    mpm_shape_node nodes[4 * MOST_LEAVES];
    double numbers[4 * MOST_LEAVES];
    mpm_shape shape;
};

static void add_node(struct tree *tree, mpm_shape_kind kind)
{
    tree->nodes[tree->shape.node_count++] = (mpm_shape_node){.kind = kind, .size = kind == MPM_BALL ? 4 : 0};
    for (int k = 0; kind == MPM_BALL && k < 4; k++)
        tree->numbers[tree->shape.number_count++] = k < 2 ? uniform(-1, 1) : k == 3 ? uniform(0.2, 0.6) : 0;
}

/* A random tree of so many leaves; balanced ones need the most parts. */
static void grow(struct tree *tree, int leaves)
{
    const int first = random_bits() % 3 ? leaves / 2 : leaves - 1;
    if (leaves == 1) {
        add_node(tree, MPM_BALL);
    } else {
        grow(tree, first);
        grow(tree, leaves - first);
        add_node(tree, random_bits() & 1 ? MPM_UNION : MPM_INTERSECTION);
    }
    if (random_bits() % 4 == 0)
        add_node(tree, MPM_COMPLEMENT);
}

static void make(struct tree *tree, int leaves)
{
    *tree = (struct tree){.shape = {.dim = 2}};
    grow(tree, leaves);
    tree->shape.nodes = tree->nodes;
    tree->shape.numbers = tree->numbers;
}

static bool is_same(double phi, mpm_shape_reading at)
{
    return phi == at.phi && fabs(at.normal[0] * at.normal[0] + at.normal[1] * at.normal[1] - 1) < 1e-12;
}

static void compare(const mpm_shape *copy, const struct tree *tree)
{
    const double centre[3] = {uniform(-1, 1), uniform(-1, 1), 0}, radius = 0.1;
    uint64_t parts = 0;
    mpm_shape_find_parts(copy, 0, centre, radius, &parts);
    for (int point = 0; point < 20; point++) {
        const double angle = uniform(0, 6.3), far = point ? radius * uniform(0, 1) : 0;
        const double x[3] = {centre[0] + far * cos(angle), centre[1] + far * sin(angle), 0};
        const double phi = mpm_shape_read(&tree->shape, 0, x).phi;
        double least = INFINITY, largest = -INFINITY;
        for (size_t p = 0; p < copy->part_count; p++) {
            const double of_part = mpm_shape_read_part(copy, 0, x, p).phi;
            least = fmin(least, of_part);
            largest = fmax(largest, of_part);
        }
        assert(phi == (copy->intersects ? largest : least));
        assert(is_same(phi, mpm_shape_read_parts(copy, 0, x, UINT64_MAX)));
        assert(is_same(phi, mpm_shape_read_parts(copy, 0, x, parts)));
    }
}

int main(void)
{
    struct ledger ledger = {0};
    const mpm_allocator allocator = {count_allocate, count_release, &ledger};
    int united = 0, kept = 0;
    for (int k = 0; k < 2000; k++) {
        struct tree tree;
        mpm_shape copy;
        make(&tree, 1 + k % MOST_LEAVES);
        assert(!mpm_shape_flaw(&tree.shape));
        ledger.fail_at = 0;
        const long before = ledger.calls;
        assert(!mpm_shape_copy(&copy, &allocator, &tree.shape));
        const long calls = ledger.calls - before;
        united += !copy.intersects;
        for (size_t f = 0; f < copy.factor_count; f++)
            kept += copy.factors[f].end > copy.factors[f].first + 1;
        compare(&copy, &tree);
        mpm_shape_clear(&copy, &allocator);
        for (long fail = 1; k % 100 < 20 && fail <= calls; fail++) {
            ledger.fail_at = ledger.calls + fail;
            assert(mpm_shape_copy(&copy, &allocator, &tree.shape) == MPM_OUT_OF_MEMORY);
        }
        assert(!ledger.live);
    }
    assert(united > 500 && united < 1900 && kept > 100);
    return 0;
}
