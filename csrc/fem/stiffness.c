/* SPDX-License-Identifier: MIT
 *
 * The stiffness of the elements, corotated: K = sum_e R K_e R^T with the linear stiffness K_e at rest, as products with
 * a vector and as the blocks on the diagonal.
 *
 *     K p:       P = R (2 mu sym(R^T dF) + lambda tr(R^T dF) I),  dF = D_p D_m^-1
 *     K_ii:      sum_e V [mu |g|^2 I + (lambda + mu) (R g) (R g)^T],  g = grad N_i
 *
 * What the derivative of R would add is left out, so K is symmetric and never negative. M. Mueller, M. Gross,
 * Interactive virtual materials, Graphics Interface (2004) 239-246.
 */
#include "fem/laws.h"

enum { TANGENT = MPM_FEM_TANGENT(DIM) };

struct tangent {
    matrix R;
    wide mu, lambda;
};

INLINE struct tangent tangent_load(const mpm_fem_sweep *sweep, ptrdiff_t tile)
{
    const real *from = (const real *)sweep->tangent + tile * TANGENT * WIDTH;
    struct tangent tangent;
    UNROLL for (int i = 0; i < DIM * DIM; i++)
        tangent.R.m[i / DIM][i % DIM] = wide_load(from + i * WIDTH);
    tangent.mu = wide_load(from + DIM * DIM * WIDTH);
    tangent.lambda = wide_load(from + (DIM * DIM + 1) * WIDTH);
    return tangent;
}

INLINE void tangent_store(const mpm_fem_sweep *sweep, ptrdiff_t tile, const struct tangent *tangent)
{
    real *to = (real *)sweep->tangent + tile * TANGENT * WIDTH;
    UNROLL for (int i = 0; i < DIM * DIM; i++)
        wide_store(to + i * WIDTH, tangent->R.m[i / DIM][i % DIM]);
    wide_store(to + DIM * DIM * WIDTH, tangent->mu);
    wide_store(to + (DIM * DIM + 1) * WIDTH, tangent->lambda);
}

/* Adds the block K_kk of corner k: its diagonal xx, yy, zz, or what is beside it, xy, xz, yz. */
INLINE void add_block(vec4 *copies, const int32_t *index, const struct shape *shape, const struct tangent *tangent,
                      const wide g[DIM], const bool beside)
{
    wide h[DIM], part[DIM], norm2 = wide_set(0);
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

INLINE void add_blocks(vec4 *copies, const int32_t *index, const struct shape *shape, const struct tangent *tangent,
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

/* Keeps R, mu and lambda of the elements of a task, and adds the diagonals of the blocks. */
void MPM_KERNEL(stiffness_linearize)(const mpm_fem_sweep *sweep, ptrdiff_t task, int thread)
{
    const mpm_fem_mesh *mesh = sweep->mesh;
    vec4 *x = sweep->workspaces[thread], *copies = copies_begin(sweep->copies, mesh, task);
    nodes_load(x, mesh, task, sweep->x, DIM);
    for (int32_t s = mesh->task_strip[task]; s < mesh->task_strip[task + 1]; s++) {
        const mpm_fem_strip *strip = &mesh->strips[s];
        union law_parameters parameters = {0};
        const struct laws laws = laws_of(sweep, &sweep->materials[strip->material], &parameters);
        struct tangent tangent;
        for (ptrdiff_t tile = strip->first; tile < strip->end; tile++) {
            const int32_t *index = mesh->tile_nodes + tile * CORNERS * WIDTH;
            const struct shape shape = shape_load(mesh, tile);
            laws_lame(&laws, tile, &tangent.mu, &tangent.lambda);
            tangent.R = polar_rotation(gradient_of(x, index, &shape.inverse));
            tangent_store(sweep, tile, &tangent);
            add_blocks(copies, index, &shape, &tangent, false);
        }
    }
}

/* Adds what is beside the diagonals of the blocks. */
void MPM_KERNEL(stiffness_beside)(const mpm_fem_sweep *sweep, ptrdiff_t task, int thread)
{
    const mpm_fem_mesh *mesh = sweep->mesh;
    vec4 *copies = copies_begin(sweep->copies, mesh, task);
    (void)thread;
    for (int32_t s = mesh->task_strip[task]; s < mesh->task_strip[task + 1]; s++)
        for (ptrdiff_t tile = mesh->strips[s].first; tile < mesh->strips[s].end; tile++) {
            const struct shape shape = shape_load(mesh, tile);
            const struct tangent tangent = tangent_load(sweep, tile);
            add_blocks(copies, mesh->tile_nodes + tile * CORNERS * WIDTH, &shape, &tangent, true);
        }
}

/* Adds -K p. */
void MPM_KERNEL(stiffness_product)(const mpm_fem_sweep *sweep, ptrdiff_t task, int thread)
{
    const mpm_fem_mesh *mesh = sweep->mesh;
    vec4 *p = sweep->workspaces[thread], *copies = copies_begin(sweep->copies, mesh, task);
    nodes_load(p, mesh, task, sweep->p, 4);
    for (int32_t s = mesh->task_strip[task]; s < mesh->task_strip[task + 1]; s++)
        for (ptrdiff_t tile = mesh->strips[s].first; tile < mesh->strips[s].end; tile++) {
            const int32_t *index = mesh->tile_nodes + tile * CORNERS * WIDTH;
            const struct shape shape = shape_load(mesh, tile);
            const struct tangent t = tangent_load(sweep, tile);
            const matrix rate = matrix_multiply_left_transposed(t.R, gradient_of(p, index, &shape.inverse));
            matrix stress;
            UNROLL for (int i = 0; i < DIM; i++)
                UNROLL for (int j = 0; j < DIM; j++)
                    stress.m[i][j] = t.mu * (rate.m[i][j] + rate.m[j][i]);
            stress = matrix_add_diagonal(stress, t.lambda * matrix_trace(rate));
            const matrix P = matrix_multiply(t.R, stress);
            scatter(copies, index, &shape, &P, wide_set(0));
        }
}
