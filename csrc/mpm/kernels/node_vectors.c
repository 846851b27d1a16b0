/* SPDX-License-Identifier: MIT
 *
 * The passes over the node vectors of a solve, one block at a time (mpm_node_operation in kernels.h).
 *
 * The unknowns are velocities of nodes; images of a node share one. So M is the mass of a node with all its images, the
 * copies are summed over the images like momentum (fold.h), and every image holds the same vector, in its own frame. A
 * sum over the unknowns takes each image with its share of M.
 */
#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"

static real *vector_of(const mpm_node_pass *pass, mpm_grid_field vector, ptrdiff_t b)
{
    return field_nodes(pass->grid, vector, b);
}

/* Runs `body` for every part of a block's vec4s, which begins at real n. */
#define FOR_BLOCK(n) for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += PART_REALS)

/* The part of each node in sums over unknowns: 1, or the share of an image in M. */
static void find_shares(const mpm_node_pass *pass, ptrdiff_t b, real share[4 * MPM_BLOCK_NODES])
{
    const bool folded = pass->grid->blocks[b].fold >= 0;
    const real *own = vector_of(pass, MPM_GRID_VELOCITY, b), *guess = vector_of(pass, MPM_GRID_GUESS, b);
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n++) {
        const real M = guess[n | 3];
        share[n] = !folded ? 1 : M > 0 ? own[n | 3] / M : 0;
    }
}

/* sum left right, each node divided by the fourth component of `over` if there is one. */
static double block_dot(const mpm_node_pass *pass, ptrdiff_t b, const real *left, const real *right, const real *over)
{
    real share[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    const bool folded = pass->grid->blocks[b].fold >= 0;
    part sum = part_set(0);
    if (folded)
        find_shares(pass, b, share);
    FOR_BLOCK(n) {
        part value = part_load(right + n);
        if (over)
            value = part_over(value, part_mass(part_load(over + n)));
        if (folded)
            value *= part_load(share + n);
        sum = part_fma(part_load(left + n), value, sum);
    }
    return part_sum(sum);
}

static void fetch(const real *node, double out[3])
{
    for (int a = 0; a < 3; a++)
        out[a] = a < DIM ? (double)node[a] : 0;
}

static void put(real *node, const double in[3])
{
    for (int a = 0; a < DIM; a++)
        node[a] = (real)in[a];
}

#define FOR_CONSTRAINED(pass, b, at) \
    for (mpm_constrained_node *at = (pass)->constrained->nodes + (pass)->constrained->first[b], \
         *end_ = at + (pass)->constrained->count[b]; at < end_; at++)

static void give(const mpm_node_pass *pass, ptrdiff_t b, real *velocity)
{
    FOR_CONSTRAINED(pass, b, at) {
        double v[3];
        fetch(velocity + 4 * at->node, v);
        mpm_constraint_give(at, v);
        put(velocity + 4 * at->node, v);
    }
}

static void begin(const mpm_node_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const int32_t fold = grid->blocks[b].fold;
    real *guess = vector_of(pass, MPM_GRID_GUESS, b), *velocity = vector_of(pass, MPM_GRID_VELOCITY, b);
    memcpy(guess, velocity, 4 * MPM_BLOCK_NODES * sizeof(real));
    if (fold >= 0) {
        real folded[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
        fold_block(folded, grid, MPM_GRID_VELOCITY, fold);
        for (int n = 3; n < 4 * MPM_BLOCK_NODES; n += 4)
            guess[n] = folded[n];
    }
    give(pass, b, velocity);
}

/* r = S [M (u - v^) - impulse - push] */
static void residual(const mpm_node_pass *pass, ptrdiff_t b, const real *impulse)
{
    const real *guess = vector_of(pass, MPM_GRID_GUESS, b), *trial = vector_of(pass, pass->trial, b);
    real *r = vector_of(pass, MPM_GRID_RESIDUAL, b), change[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    real inertia[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    FOR_BLOCK(n) {
        const part before = part_load(guess + n), M = part_mass(before), velocity = part_components();
        const part u = (part_load(trial + n) - before) * velocity, Mu = M * u;
        part_store(change + n, u);
        part_store(inertia + n, Mu);
        /* a node without mass has no residual, whatever rounding leaves of its force */
        part_store(r + n, part_where(M, Mu - velocity * part_load(impulse + n)));
    }
    pass->sums[b][1] = 0.5 * block_dot(pass, b, inertia, change, NULL);
    FOR_CONSTRAINED(pass, b, at) {
        double whole[3], u[3];
        fetch(r + 4 * at->node, whole);
        fetch(trial + 4 * at->node, u);
        for (int a = 0; a < DIM; a++) {
            whole[a] -= at->push[a];
            pass->sums[b][1] -= at->push[a] * u[a];
        }
        mpm_constraint_share(at, whole);
        mpm_constraint_project(at, whole);
        put(r + 4 * at->node, whole);
    }
    pass->sums[b][0] = block_dot(pass, b, r, r, guess);
    if (pass->along)
        pass->sums[b][1] = block_dot(pass, b, r, vector_of(pass, MPM_GRID_CORRECTION, b), NULL);
}

/* r M^-1 r and r D^-1 r */
static void measure_residual(const mpm_node_pass *pass, ptrdiff_t b)
{
    const real *r = vector_of(pass, MPM_GRID_RESIDUAL, b);
    pass->sums[b][0] = block_dot(pass, b, r, r, vector_of(pass, MPM_GRID_GUESS, b));
    pass->sums[b][1] = pass->preconditioner == MPM_GRID_GUESS
                           ? pass->sums[b][0]
                           : block_dot(pass, b, r, r, vector_of(pass, pass->preconditioner, b));
}

/* D = M + the diagonal that a sweep has scattered; r = -r, p = D^-1 r, x = 0 */
static void start(const mpm_node_pass *pass, ptrdiff_t b, const real *impulse)
{
    const real *guess = vector_of(pass, MPM_GRID_GUESS, b);
    real *D = vector_of(pass, pass->preconditioner, b);
    real *r = vector_of(pass, MPM_GRID_RESIDUAL, b), *p = vector_of(pass, MPM_GRID_DIRECTION, b);
    for (int n = 3; D != guess && n < 4 * MPM_BLOCK_NODES; n += 4)
        D[n] = guess[n] > 0 ? guess[n] + impulse[n] : 0;
    FOR_BLOCK(n) {
        const part minus = -part_load(r + n);
        part_store(r + n, minus);
        part_store(p + n, part_over(minus, part_mass(part_load(D + n))));
    }
    memset(vector_of(pass, MPM_GRID_CORRECTION, b), 0, 4 * MPM_BLOCK_NODES * sizeof(real));
    measure_residual(pass, b);
}

/* q = S [M p + dt^2 H p] */
static void product(const mpm_node_pass *pass, ptrdiff_t b, const real *stiffness)
{
    const real *guess = vector_of(pass, MPM_GRID_GUESS, b), *p = vector_of(pass, MPM_GRID_DIRECTION, b);
    real *q = vector_of(pass, MPM_GRID_PRODUCT, b);
    FOR_BLOCK(n) {
        const part M = part_mass(part_load(guess + n)), u = part_load(p + n);
        part_store(q + n, part_where(M, part_fma(M, u, part_components() * part_load(stiffness + n))));
    }
    FOR_CONSTRAINED(pass, b, at) {
        double whole[3];
        fetch(q + 4 * at->node, whole);
        mpm_constraint_project(at, whole);
        put(q + 4 * at->node, whole);
    }
    pass->sums[b][0] = block_dot(pass, b, p, q, NULL);
}

static void advance(const mpm_node_pass *pass, ptrdiff_t b)
{
    const real *p = vector_of(pass, MPM_GRID_DIRECTION, b), *q = vector_of(pass, MPM_GRID_PRODUCT, b);
    real *x = vector_of(pass, MPM_GRID_CORRECTION, b), *r = vector_of(pass, MPM_GRID_RESIDUAL, b);
    const part a = part_set((real)pass->factor), minus = part_set(-(real)pass->factor);
    FOR_BLOCK(n) {
        part_store(x + n, part_fma(a, part_load(p + n), part_load(x + n)));
        part_store(r + n, part_fma(minus, part_load(q + n), part_load(r + n)));
    }
    measure_residual(pass, b);
}

static void redirect(const mpm_node_pass *pass, ptrdiff_t b)
{
    const real *D = vector_of(pass, pass->preconditioner, b), *r = vector_of(pass, MPM_GRID_RESIDUAL, b);
    real *p = vector_of(pass, MPM_GRID_DIRECTION, b);
    const part a = part_set((real)pass->factor);
    FOR_BLOCK(n)
        part_store(p + n, part_fma(a, part_load(p + n), part_over(part_load(r + n), part_mass(part_load(D + n)))));
}

/* The trial velocity; the mass is that of v. */
static void try(const mpm_node_pass *pass, ptrdiff_t b)
{
    const real *v = vector_of(pass, MPM_GRID_VELOCITY, b), *x = vector_of(pass, MPM_GRID_CORRECTION, b);
    real *u = vector_of(pass, MPM_GRID_TRIAL, b);
    const part a = part_set((real)pass->factor);
    FOR_BLOCK(n)
        part_store(u + n, part_fma(a, part_load(x + n), part_load(v + n)));
}

static void extrapolate(const mpm_node_pass *pass, ptrdiff_t b)
{
    const real *before = vector_of(pass, MPM_GRID_BEFORE, b);
    real *v = vector_of(pass, MPM_GRID_VELOCITY, b), *middle = vector_of(pass, MPM_GRID_MIDPOINT, b);
    memcpy(middle, v, 4 * MPM_BLOCK_NODES * sizeof(real));
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n++)
        v[n] = n % 4 < DIM ? (v[n] - before[n]) + v[n] : v[n];
    FOR_CONSTRAINED(pass, b, at) {
        double end[3];
        fetch(v + 4 * at->node, end);
        mpm_constraint_finish(at, end, (double)vector_of(pass, MPM_GRID_GUESS, b)[4 * at->node + 3]);
        put(v + 4 * at->node, end);
    }
}

/* What follows the sum of the copies. */
static void use_copies(const mpm_node_pass *pass, ptrdiff_t b, const real *sum)
{
    if (pass->operation == MPM_NODES_PRODUCT) {
        product(pass, b, sum);
        return;
    }
    residual(pass, b, sum);
    if (pass->operation == MPM_NODES_SYSTEM)
        start(pass, b, sum);
}

void MPM_KERNEL(node_vectors_block)(const mpm_node_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_node_block *block = &grid->blocks[b];
    real own[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    switch (pass->operation) {
    case MPM_NODES_BEGIN:
        begin(pass, b);
        break;
    case MPM_NODES_GIVE:
        give(pass, b, vector_of(pass, MPM_GRID_VELOCITY, b));
        break;
    case MPM_NODES_RESIDUAL:
    case MPM_NODES_SYSTEM:
    case MPM_NODES_PRODUCT:
        sum_copies(block->fold < 0 ? own : field_sums(grid, MPM_GRID_FORCES, b), grid, block,
                   grid->copies[MPM_GRID_FORCES]);
        if (block->fold < 0)
            use_copies(pass, b, own); /* otherwise node_vectors_fold continues after the barrier */
        break;
    case MPM_NODES_ADVANCE:
        advance(pass, b);
        break;
    case MPM_NODES_REDIRECT:
        redirect(pass, b);
        break;
    case MPM_NODES_TRY:
        try(pass, b);
        break;
    case MPM_NODES_EXTRAPOLATE:
        extrapolate(pass, b);
        break;
    }
}

void MPM_KERNEL(node_vectors_fold)(const mpm_node_pass *pass, ptrdiff_t fold)
{
    const mpm_images *images = &pass->grid->images;
    const int32_t b = images->blocks[fold];
    real sum[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    fold_block(sum, pass->grid, MPM_GRID_FORCES, (int32_t)fold);
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++)
        unfold_vector(sum + 4 * images->nodes[i].node, &images->nodes[i]);
    use_copies(pass, b, sum);
}
