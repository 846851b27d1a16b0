/* SPDX-License-Identifier: MIT
 *
 * The node vectors of a linearly implicit step, with four reals per node. It solves, for the velocity w at its end,
 *
 *     A w = M v + dt (f + M (g + b)) + J,   A = (1 + a dt) M + (dt^2 + b dt) K
 *
 * with the impulses J of contacts, which act along the directions that they hold (contact/constraint.h). S removes
 * these directions. D is the block of A on the diagonal.
 *
 * D. Baraff, A. Witkin, Large steps in cloth simulation, SIGGRAPH (1998) 43-54.
 */
#include <math.h>

#include "fem/kernels/tiles.h"

struct rows {
    ptrdiff_t first, end;
};

INLINE struct rows rows_of(const mpm_fem_solve *solve, ptrdiff_t chunk)
{
    const ptrdiff_t end = (chunk + 1) * MPM_FEM_CHUNK;
    return (struct rows){chunk * MPM_FEM_CHUNK, end < solve->mesh->nodes ? end : solve->mesh->nodes};
}

INLINE vec4 sum_copies(const mpm_fem_solve *solve, ptrdiff_t row)
{
    const mpm_fem_mesh *mesh = solve->mesh;
    const vec4 *copies = solve->copies;
    vec4 sum = {0};
    for (int32_t k = mesh->node_copy[row]; k < mesh->node_copy[row + 1]; k++)
        sum += copies[mesh->copies_of[k]];
    return sum;
}

/* The constrained node of a row; the constrained nodes ascend, and `next` follows them. */
INLINE const mpm_constrained_node *constrained_at(const mpm_fem_solve *solve, ptrdiff_t chunk, ptrdiff_t row,
                                                  int32_t *next)
{
    const bool is_next = *next < solve->constrained_first[chunk + 1] && solve->constrained[*next].node == row;
    return is_next ? &solve->constrained[(*next)++] : NULL;
}

NOINLINE void project_constrained(const mpm_constrained_node *node, real r[DIM])
{
    double wide_r[3] = {0};
    for (int a = 0; a < DIM; a++)
        wide_r[a] = (double)r[a];
    mpm_constraint_project(node, wide_r);
    for (int a = 0; a < DIM; a++)
        r[a] = (real)wide_r[a];
}

INLINE void project(const mpm_constrained_node *node, real r[DIM])
{
    if (node)
        project_constrained(node, r);
}

/* z = S D^-1 r */
INLINE void precondition(const mpm_fem_solve *solve, ptrdiff_t row, const mpm_constrained_node *node,
                         const real *r, real z[DIM])
{
    const real *b = (const real *)solve->blocks + row * MPM_FEM_BLOCK;
#if DIM == 2
    z[0] = b[0] * r[0] + b[3] * r[1];
    z[1] = b[3] * r[0] + b[1] * r[1];
#else
    z[0] = b[0] * r[0] + b[3] * r[1] + b[4] * r[2];
    z[1] = b[3] * r[0] + b[1] * r[1] + b[5] * r[2];
    z[2] = b[4] * r[0] + b[5] * r[1] + b[2] * r[2];
#endif
    project(node, z);
}

/* The inverse of D, from the block of K: xx, yy, zz, xy, xz, yz. */
static void invert(const mpm_fem_solve *solve, ptrdiff_t row)
{
    real *b = (real *)solve->blocks + row * MPM_FEM_BLOCK;
    const double mass = solve->inertia * (double)((const real *)solve->mass)[row], k = solve->stiffness;
    const double xx = mass + k * (double)b[0], yy = mass + k * (double)b[1], xy = k * (double)b[3];
#if DIM == 2
    const double det = xx * yy - xy * xy;
    b[0] = (real)(yy / det);
    b[1] = (real)(xx / det);
    b[3] = (real)(-xy / det);
#else
    const double zz = mass + k * (double)b[2], xz = k * (double)b[4], yz = k * (double)b[5];
    const double a = yy * zz - yz * yz, d = xz * yz - xy * zz, e = xy * yz - xz * yy;
    const double det = xx * a + xy * d + xz * e;
    b[0] = (real)(a / det);
    b[1] = (real)((xx * zz - xz * xz) / det);
    b[2] = (real)((xx * yy - xy * xy) / det);
    b[3] = (real)(d / det);
    b[4] = (real)(e / det);
    b[5] = (real)((xy * xz - xx * yz) / det);
#endif
}

/* Takes the sums of the copies as the diagonals of the blocks of K, or as what is beside them, and inverts D. */
void MPM_KERNEL(vectors_blocks)(const mpm_fem_solve *solve, ptrdiff_t chunk)
{
    const struct rows rows = rows_of(solve, chunk);
    for (ptrdiff_t row = rows.first; row < rows.end; row++) {
        real *b = (real *)solve->blocks + row * MPM_FEM_BLOCK;
        const vec4 sum = sum_copies(solve, row);
        for (int i = 0; i < 3; i++)
            b[(solve->beside ? 3 : 0) + i] = sum[i];
        if (solve->beside)
            invert(solve, row);
    }
}

/* The velocity that the solve begins with: that of the beginning of the step, as the contacts give it; w = v if
 * `factor` is 0, else w stays and is given. */
void MPM_KERNEL(vectors_guess)(const mpm_fem_solve *solve, ptrdiff_t chunk)
{
    const struct rows rows = rows_of(solve, chunk);
    int32_t next = solve->constrained_first[chunk];
    for (ptrdiff_t row = rows.first; row < rows.end; row++) {
        const mpm_constrained_node *node = constrained_at(solve, chunk, row, &next);
        real *w = (real *)solve->w + row * 4;
        for (int a = 0; a < DIM && solve->factor == 0; a++)
            w[a] = ((const real *)solve->v)[row * DIM + a];
        if (!node)
            continue;
        double given[3] = {0};
        for (int a = 0; a < DIM; a++)
            given[a] = (double)w[a];
        mpm_constraint_give(node, given);
        for (int a = 0; a < DIM; a++)
            w[a] = (real)given[a];
    }
}

/* The right-hand side without contacts, minus A w: copies hold -K w. */
INLINE void residual_of(const mpm_fem_solve *solve, ptrdiff_t row, real r[DIM])
{
    const real *v = (const real *)solve->v + row * DIM, *w = (const real *)solve->w + row * 4;
    const real *f = (const real *)solve->force + row * 4, mass = ((const real *)solve->mass)[row];
    const vec4 sum = sum_copies(solve, row);
    for (int a = 0; a < DIM; a++) {
        const double b = solve->body_force ? solve->body_force[row * DIM + a] : 0;
        r[a] = (real)solve->dt * f[a] + (real)solve->stiffness * sum[a] +
               mass * (v[a] - (real)solve->inertia * w[a] + (real)(solve->dt * (solve->gravity[a] + b)));
    }
}

/* r = S (rhs + friction - A w), p = D^-1 r, x = 0. Sums: r M^-1 r, r D^-1 r. */
void MPM_KERNEL(vectors_begin)(const mpm_fem_solve *solve, ptrdiff_t chunk)
{
    const struct rows rows = rows_of(solve, chunk);
    int32_t next = solve->constrained_first[chunk];
    double sums[2] = {0};
    for (ptrdiff_t row = rows.first; row < rows.end; row++) {
        const mpm_constrained_node *node = constrained_at(solve, chunk, row, &next);
        real *r = (real *)solve->r + row * 4, *p = (real *)solve->p + row * 4, *x = (real *)solve->x + row * 4, z[DIM];
        residual_of(solve, row, r);
        for (int a = 0; a < DIM && node; a++)
            r[a] += (real)node->push[a];
        project(node, r);
        precondition(solve, row, node, r, z);
        const double inverse = 1 / (double)((const real *)solve->mass)[row];
        for (int a = 0; a < DIM; a++) {
            p[a] = z[a];
            x[a] = 0;
            sums[0] += (double)r[a] * (double)r[a] * inverse;
            sums[1] += (double)r[a] * (double)z[a];
        }
    }
    memcpy(solve->sums[chunk], sums, sizeof sums);
}

/* q = S A p; copies hold -K p. Sum: p q. */
void MPM_KERNEL(vectors_product)(const mpm_fem_solve *solve, ptrdiff_t chunk)
{
    const struct rows rows = rows_of(solve, chunk);
    int32_t next = solve->constrained_first[chunk];
    double sum = 0;
    for (ptrdiff_t row = rows.first; row < rows.end; row++) {
        const mpm_constrained_node *node = constrained_at(solve, chunk, row, &next);
        const real *p = (const real *)solve->p + row * 4;
        const real inertia = (real)solve->inertia * ((const real *)solve->mass)[row];
        real *q = (real *)solve->q + row * 4;
        const vec4 copies = sum_copies(solve, row);
        for (int a = 0; a < DIM; a++)
            q[a] = inertia * p[a] - (real)solve->stiffness * copies[a];
        project(node, q);
        for (int a = 0; a < DIM; a++)
            sum += (double)p[a] * (double)q[a];
    }
    solve->sums[chunk][0] = sum;
}

/* x += factor p, r -= factor q. Sums: r M^-1 r, r D^-1 r. */
void MPM_KERNEL(vectors_advance)(const mpm_fem_solve *solve, ptrdiff_t chunk)
{
    const struct rows rows = rows_of(solve, chunk);
    int32_t next = solve->constrained_first[chunk];
    const real factor = (real)solve->factor;
    double sums[2] = {0};
    for (ptrdiff_t row = rows.first; row < rows.end; row++) {
        const mpm_constrained_node *node = constrained_at(solve, chunk, row, &next);
        const real *p = (const real *)solve->p + row * 4, *q = (const real *)solve->q + row * 4;
        real *r = (real *)solve->r + row * 4, *x = (real *)solve->x + row * 4, z[DIM];
        const double inverse = 1 / (double)((const real *)solve->mass)[row];
        for (int a = 0; a < DIM; a++) {
            x[a] += factor * p[a];
            r[a] -= factor * q[a];
        }
        precondition(solve, row, node, r, z);
        for (int a = 0; a < DIM; a++) {
            sums[0] += (double)r[a] * (double)r[a] * inverse;
            sums[1] += (double)r[a] * (double)z[a];
        }
    }
    memcpy(solve->sums[chunk], sums, sizeof sums);
}

/* p = D^-1 r + factor p */
void MPM_KERNEL(vectors_redirect)(const mpm_fem_solve *solve, ptrdiff_t chunk)
{
    const struct rows rows = rows_of(solve, chunk);
    int32_t next = solve->constrained_first[chunk];
    for (ptrdiff_t row = rows.first; row < rows.end; row++) {
        const mpm_constrained_node *node = constrained_at(solve, chunk, row, &next);
        real *p = (real *)solve->p + row * 4, z[DIM];
        precondition(solve, row, node, (const real *)solve->r + row * 4, z);
        for (int a = 0; a < DIM; a++)
            p[a] = z[a] + (real)solve->factor * p[a];
    }
}

/* w += x */
void MPM_KERNEL(vectors_add)(const mpm_fem_solve *solve, ptrdiff_t chunk)
{
    const struct rows rows = rows_of(solve, chunk);
    for (ptrdiff_t row = rows.first; row < rows.end; row++)
        for (int a = 0; a < DIM; a++)
            ((real *)solve->w)[row * 4 + a] += ((const real *)solve->x)[row * 4 + a];
}

/* The impulses of contacts, J = A w - rhs, at the constrained nodes: r gets them. Copies hold -K w. */
void MPM_KERNEL(vectors_contact)(const mpm_fem_solve *solve, ptrdiff_t chunk)
{
    for (int32_t k = solve->constrained_first[chunk]; k < solve->constrained_first[chunk + 1]; k++) {
        real *r = (real *)solve->r + (ptrdiff_t)solve->constrained[k].node * 4;
        residual_of(solve, solve->constrained[k].node, r);
        for (int a = 0; a < DIM; a++)
            r[a] = -r[a];
    }
}

/* Velocities w and positions at the end of the step. */
void MPM_KERNEL(vectors_finish)(const mpm_fem_solve *solve, ptrdiff_t chunk)
{
    const struct rows rows = rows_of(solve, chunk);
    mpm_fem_report report = {.collider_speed = -1};
    for (ptrdiff_t row = rows.first; row < rows.end; row++) {
        const real *x = (const real *)solve->position + row * DIM, *w = (const real *)solve->w + row * 4;
        const double mass = (double)((const real *)solve->mass)[row];
        for (int a = 0; a < DIM; a++) {
            const double speed = __builtin_fabs((double)w[a]);
            report.speed = speed <= report.speed ? report.speed : speed <= REAL_LARGEST ? speed : (double)INFINITY;
            report.force[a] += solve->body_force ? mass * solve->body_force[row * DIM + a] : 0;
            report.drag[a] -= solve->drag * mass * (double)w[a];
            ((real *)solve->next_v)[row * DIM + a] = w[a];
            ((real *)solve->next_x)[row * DIM + a] = x[a] + (real)solve->dt * w[a];
        }
    }
    solve->reports[chunk] = report;
}
