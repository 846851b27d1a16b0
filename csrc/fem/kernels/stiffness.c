/* SPDX-License-Identifier: MIT
 *
 * The stiffness of the elements, as products with a vector and as the blocks on the diagonal. That of an isotropic law
 * is corotated: K = sum_e R K_e R^T with the linear stiffness K_e at rest.
 *
 *     K p:       P = R (2 mu sym(R^T dF) + lambda tr(R^T dF) I),  dF = D_p D_m^-1
 *     K_ii:      sum_e V [mu |g|^2 I + (lambda + mu) (R g) (R g)^T],  g = grad N_i
 *
 * What the derivative of R would add is left out, so K is symmetric and never negative. M. Mueller, M. Gross,
 * Interactive virtual materials, Graphics Interface (2004) 239-246.
 *
 * A law with axes of its own has C = dP/dF at the present F, made positive semi-definite (materials/moduli.h), because
 * fibres stiffen with their stretch:
 *
 *     K p:       P = C : dF
 *     K_ii:      sum_e V g_b g_d C_abcd
 */
#include "fem/kernels/laws.h"

_Static_assert(MPM_FEM_MODULI(DIM) == LAW_MODULI, "what a store writes");

/* What is kept of a tile. */
struct kept {
    bool has_moduli;
    matrix R;
    wide mu, lambda;
    wide packed[LAW_MODULI]; /* of a law that has moduli, instead */
};

INLINE real *tangent_of_tile(const mpm_fem_sweep *sweep, ptrdiff_t tile)
{
    return (real *)sweep->tangent + tile * sweep->tangent_reals * WIDTH;
}

INLINE void tangent_load(struct kept *tangent, const mpm_fem_sweep *sweep, ptrdiff_t tile, const bool has_moduli)
{
    const real *from = tangent_of_tile(sweep, tile);
    tangent->has_moduli = has_moduli;
    if (has_moduli) {
        for (int k = 0; k < LAW_MODULI; k++)
            tangent->packed[k] = wide_load(from + k * WIDTH);
        return;
    }
    UNROLL for (int i = 0; i < DIM * DIM; i++)
        tangent->R.m[i / DIM][i % DIM] = wide_load(from + i * WIDTH);
    tangent->mu = wide_load(from + DIM * DIM * WIDTH);
    tangent->lambda = wide_load(from + (DIM * DIM + 1) * WIDTH);
}

INLINE void tangent_store(const mpm_fem_sweep *sweep, ptrdiff_t tile, const struct kept *tangent)
{
    real *to = tangent_of_tile(sweep, tile);
    if (tangent->has_moduli) {
        for (int k = 0; k < LAW_MODULI; k++)
            wide_store(to + k * WIDTH, tangent->packed[k]);
        return;
    }
    UNROLL for (int i = 0; i < DIM * DIM; i++)
        wide_store(to + i * WIDTH, tangent->R.m[i / DIM][i % DIM]);
    wide_store(to + DIM * DIM * WIDTH, tangent->mu);
    wide_store(to + (DIM * DIM + 1) * WIDTH, tangent->lambda);
}

/* Entry (a, c) of the block V g_b g_d C_abcd. */
INLINE wide moduli_block(const struct kept *tangent, const wide g[DIM], wide volume, int a, int c)
{
    wide sum = wide_set(0);
    UNROLL for (int b = 0; b < DIM; b++)
        UNROLL for (int d = 0; d < DIM; d++) {
            const int e = a * DIM + b, f = c * DIM + d;
            sum = wide_fma(g[b] * g[d], tangent->packed[f < e ? LAW_MODULUS(e, f) : LAW_MODULUS(f, e)], sum);
        }
    return volume * sum;
}

/* Adds the block K_kk of corner k: its diagonal xx, yy, zz, or what is beside it, xy, xz, yz. */
INLINE void add_block(vec4 *copies, const int32_t *index, const struct shape *shape, const struct kept *tangent,
                      const wide g[DIM], const bool beside)
{
    wide h[DIM], part[DIM], norm2 = wide_set(0);
    if (tangent->has_moduli) {
        UNROLL for (int i = 0; i < DIM; i++)
            part[i] = beside ? wide_set(0) : moduli_block(tangent, g, shape->volume, i, i);
        if (beside) {
            part[0] = moduli_block(tangent, g, shape->volume, 0, 1);
            UNROLL for (int i = 1; DIM == 3 && i < DIM; i++)
                part[i] = moduli_block(tangent, g, shape->volume, i - 1, DIM - 1); /* xz, yz */
        }
        corner_add(copies, index, part, wide_set(0));
        return;
    }
    UNROLL for (int i = 0; i < DIM; i++) {
        h[i] = wide_set(0);
        UNROLL for (int j = 0; j < DIM; j++)
            h[i] = wide_fma(tangent->R.m[i][j], g[j], h[i]);
        norm2 = wide_fma(g[i], g[i], norm2);
    }
    const wide along = shape->volume * (tangent->lambda + tangent->mu), all = shape->volume * tangent->mu * norm2;
    UNROLL for (int i = 0; i < DIM; i++)
        part[i] = beside ? wide_set(0) : wide_fma(along * h[i], h[i], all);
    if (beside) {
        part[0] = along * h[0] * h[1];
        UNROLL for (int i = 1; DIM == 3 && i < DIM; i++)
            part[i] = along * h[i - 1] * h[DIM - 1]; /* xz, yz */
    }
    corner_add(copies, index, part, wide_set(0));
}

INLINE void add_blocks(vec4 *copies, const int32_t *index, const struct shape *shape, const struct kept *tangent,
                       const bool beside)
{
    wide first[DIM];
    UNROLL for (int i = 0; i < DIM; i++)
        first[i] = wide_set(0);
    UNROLL for (int k = 0; k < DIM; k++) {
        UNROLL for (int i = 0; i < DIM; i++)
            first[i] -= shape->inverse.m[k][i];
        add_block(copies, index + (k + 1) * WIDTH, shape, tangent, shape->inverse.m[k], beside);
    }
    add_block(copies, index, shape, tangent, first, beside);
}

/* Keeps the tangents of a strip, and adds the diagonals of the blocks. */
INLINE void linearize(const mpm_fem_sweep *sweep, const mpm_fem_strip *strip, const vec4 *x, vec4 *copies,
                      const bool has_moduli)
{
    union law_parameters parameters = {0};
    const struct laws laws = laws_of(sweep, &sweep->materials[strip->material], &parameters);
    struct kept tangent = {.has_moduli = has_moduli};
    for (ptrdiff_t tile = strip->first; tile < strip->end; tile++) {
        const int32_t *index = sweep->mesh->tile_nodes + tile * CORNERS * WIDTH;
        const struct shape shape = shape_load(sweep->mesh, tile);
        const matrix F = gradient_of(x, index, &shape.inverse);
        if (has_moduli) {
            const struct law_moduli moduli = laws_moduli(&laws, tile, F);
            memcpy(tangent.packed, moduli.packed, sizeof tangent.packed);
        } else {
            laws_lame(&laws, tile, &tangent.mu, &tangent.lambda);
            tangent.R = polar_rotation(F);
        }
        tangent_store(sweep, tile, &tangent);
        add_blocks(copies, index, &shape, &tangent, false);
    }
}

/* Adds what is beside the diagonals of the blocks. */
INLINE void add_beside(const mpm_fem_sweep *sweep, const mpm_fem_strip *strip, vec4 *copies, const bool has_moduli)
{
    for (ptrdiff_t tile = strip->first; tile < strip->end; tile++) {
        const struct shape shape = shape_load(sweep->mesh, tile);
        struct kept tangent;
        tangent_load(&tangent, sweep, tile, has_moduli);
        add_blocks(copies, sweep->mesh->tile_nodes + tile * CORNERS * WIDTH, &shape, &tangent, true);
    }
}

/* Adds -K p. */
INLINE void add_product(const mpm_fem_sweep *sweep, const mpm_fem_strip *strip, const vec4 *p, vec4 *copies,
                        const bool has_moduli)
{
    for (ptrdiff_t tile = strip->first; tile < strip->end; tile++) {
        const int32_t *index = sweep->mesh->tile_nodes + tile * CORNERS * WIDTH;
        const struct shape shape = shape_load(sweep->mesh, tile);
        const matrix dF = gradient_of(p, index, &shape.inverse);
        struct kept t;
        matrix P;
        tangent_load(&t, sweep, tile, has_moduli);
        if (has_moduli) {
            P = law_moduli_apply(t.packed, dF);
        } else {
            const matrix rate = matrix_multiply_left_transposed(t.R, dF);
            matrix stress;
            UNROLL for (int i = 0; i < DIM; i++)
                UNROLL for (int j = 0; j < DIM; j++)
                    stress.m[i][j] = t.mu * (rate.m[i][j] + rate.m[j][i]);
            stress = matrix_add_diagonal(stress, t.lambda * matrix_trace(rate));
            P = matrix_multiply(t.R, stress);
        }
        scatter(copies, index, &shape, &P, wide_set(0));
    }
}

/* A function of its own for each kind of tangent, so that the one does not slow the other down. */
NOINLINE void linearize_moduli(const mpm_fem_sweep *sweep, const mpm_fem_strip *strip, const vec4 *x, vec4 *copies)
{
    linearize(sweep, strip, x, copies, true);
}

NOINLINE void add_moduli_beside(const mpm_fem_sweep *sweep, const mpm_fem_strip *strip, vec4 *copies)
{
    add_beside(sweep, strip, copies, true);
}

NOINLINE void add_moduli_product(const mpm_fem_sweep *sweep, const mpm_fem_strip *strip, const vec4 *p, vec4 *copies)
{
    add_product(sweep, strip, p, copies, true);
}

void MPM_KERNEL(stiffness_linearize)(const mpm_fem_sweep *sweep, ptrdiff_t task, int thread)
{
    const mpm_fem_mesh *mesh = sweep->mesh;
    vec4 *x = sweep->workspaces[thread], *copies = copies_begin(sweep->copies, mesh, task);
    nodes_load(x, mesh, task, sweep->x, DIM);
    for (int32_t s = mesh->task_strip[task]; s < mesh->task_strip[task + 1]; s++)
        if (sweep->materials[mesh->strips[s].material].has_moduli)
            linearize_moduli(sweep, &mesh->strips[s], x, copies);
        else
            linearize(sweep, &mesh->strips[s], x, copies, false);
}

void MPM_KERNEL(stiffness_beside)(const mpm_fem_sweep *sweep, ptrdiff_t task, int thread)
{
    const mpm_fem_mesh *mesh = sweep->mesh;
    vec4 *copies = copies_begin(sweep->copies, mesh, task);
    (void)thread;
    for (int32_t s = mesh->task_strip[task]; s < mesh->task_strip[task + 1]; s++)
        if (sweep->materials[mesh->strips[s].material].has_moduli)
            add_moduli_beside(sweep, &mesh->strips[s], copies);
        else
            add_beside(sweep, &mesh->strips[s], copies, false);
}

void MPM_KERNEL(stiffness_product)(const mpm_fem_sweep *sweep, ptrdiff_t task, int thread)
{
    const mpm_fem_mesh *mesh = sweep->mesh;
    vec4 *p = sweep->workspaces[thread], *copies = copies_begin(sweep->copies, mesh, task);
    nodes_load(p, mesh, task, sweep->p, 4);
    for (int32_t s = mesh->task_strip[task]; s < mesh->task_strip[task + 1]; s++)
        if (sweep->materials[mesh->strips[s].material].has_moduli)
            add_moduli_product(sweep, &mesh->strips[s], p, copies);
        else
            add_product(sweep, &mesh->strips[s], p, copies, false);
}
