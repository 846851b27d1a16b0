/* SPDX-License-Identifier: MIT
 *
 * Forces of the elements. In the order of the textbook's algorithm, for every element:
 *
 *     D_s = [x_1 - x_0 ...],  F = D_s D_m^-1                deformation gradient; D_m^-1 is computed once
 *     F = R S                                               polar decomposition
 *     e = S - I                                             strain of what is left without the rotation
 *     P = R (2 mu e + lambda tr e I)                        stress; in a law (materials/), and each law has its own
 *     f_k = -V P grad N_k,  f_0 = -sum f_k                  forces on the corners
 *
 * grad N_k, row k - 1 of D_m^-1, points from the opposite face to corner k: -V grad N_k = A_k n_k/d with the area and
 * the outward normal of that face at rest. Stiffness-proportional damping adds b F (2 mu dE/dt + lambda tr(dE/dt) I) to
 * P, with the moduli at rest and the rate dE/dt = sym(F^T dF/dt) of Green's strain: it resists no rigid motion, has no
 * torque, and is b K v at rest. Fibres count as taut there.
 *
 * M. Mueller, M. Gross, Interactive virtual materials, Graphics Interface (2004) 239-246.
 */
#include "fem/kernels/laws.h"

/* What a strip of tiles needs. */
struct strip {
    const mpm_fem_sweep *sweep;
    const mpm_fem_strip *tiles;
    struct laws laws;
    const vec4 *x, *v;
    vec4 *copies;
    mpm_fem_found *found;
};

/* Adds the stress of stiffness-proportional damping. */
NOINLINE void damp(const struct strip *strip, const int32_t *index, ptrdiff_t tile, const struct shape *shape,
                   const matrix *F, struct law_piola *piola)
{
    const wide b = wide_set((real)strip->sweep->damping);
    const matrix rate = matrix_multiply_left_transposed(*F, gradient_of(strip->v, index, &shape->inverse));
    matrix twice, stress; /* twice: 2 dE/dt */
    wide modulus;         /* of waves at rest */
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            twice.m[i][j] = rate.m[i][j] + rate.m[j][i];
    if (strip->laws.material->has_moduli) {
        const struct law_moduli rest = laws_moduli(&strip->laws, tile, matrix_identity());
        stress = matrix_scale(wide_set((real)0.5) * b, matrix_symmetric(law_moduli_apply(rest.packed, twice)));
        modulus = law_piola_at(strip->laws.material->law, laws_at(&strip->laws, tile), matrix_identity()).modulus;
    } else {
        wide mu, lambda;
        laws_lame(&strip->laws, tile, &mu, &lambda);
        stress = matrix_add_diagonal(matrix_scale(b * mu, twice), b * lambda * matrix_trace(rate));
        modulus = mu + mu + wide_max(lambda, wide_set(0));
    }
    piola->P = matrix_add(piola->P, matrix_multiply(*F, stress));
    const wide largest2 = matrix_largest_eigenvalue_bound(matrix_multiply_transposed(*F, *F));
    piola->modulus = wide_max(piola->modulus, modulus * largest2);
}

/* Keeps the moduli of a tile, and counts those that differ too much from those before the step. */
INLINE void note_modulus(const struct strip *strip, ptrdiff_t tile, wide volume, wide modulus)
{
    const mpm_fem_sweep *sweep = strip->sweep;
    wide_store((real *)sweep->modulus + tile * WIDTH, modulus);
    if (sweep->modulus_before) {
        const wide before = wide_load((const real *)sweep->modulus_before + tile * WIDTH);
        const wide most = wide_set((real)sweep->most_change);
        const mask near = wide_less_equal(modulus, most * before) & wide_less_equal(before, most * modulus);
        const mask padding = wide_less_equal(volume, wide_set(0));
        strip->found->stiffened += WIDTH - __builtin_popcount(mask_bits(near) | mask_bits(padding));
    }
}

INLINE void sweep_strip(const struct strip *strip, const int law)
{
    const mpm_fem_mesh *mesh = strip->sweep->mesh;
    const wide low = wide_set((real)law_row(law)->J_low), high = wide_set((real)law_row(law)->J_high);
    const wide largest = wide_set((real)REAL_LARGEST);
    mask finite = wide_less(wide_set(0), wide_set(1));
    for (ptrdiff_t tile = strip->tiles->first; tile < strip->tiles->end; tile++) {
        const int32_t *index = mesh->tile_nodes + tile * CORNERS * WIDTH;
        const struct shape shape = shape_load(mesh, tile);
        const matrix F = gradient_of(strip->x, index, &shape.inverse);
        struct law_piola piola = law_piola_at(law, laws_at(&strip->laws, tile), F);
        note_modulus(strip, tile, shape.volume, piola.modulus);
        if (strip->sweep->damping > 0)
            damp(strip, index, tile, &shape, &F, &piola);
        scatter(strip->copies, index, &shape, &piola.P, piola.modulus);
        strip->found->elastic += wide_sum(shape.volume * piola.energy);
        finite = finite & wide_less(wide_abs(piola.energy), largest) & wide_less(piola.modulus, largest);
        if (!mpm_laws_invert(law)) {
            const wide J = matrix_det(F);
            const mask inside = wide_less(low, J) & wide_less(J, high) & wide_less(wide_set(0), shape.volume);
            const mask padding = wide_less_equal(shape.volume, wide_set(0));
            strip->found->out_of_range += WIDTH - __builtin_popcount(mask_bits(inside) | mask_bits(padding));
        }
    }
    strip->found->finite &= !mask_any(mask_not(finite));
}

#define NO_PIOLA(enumerator, name)
#define PIOLA(enumerator, name) \
    NOINLINE void sweep_##name(const struct strip *strip) { sweep_strip(strip, enumerator); }
#define INVERTS PIOLA
#define SWEEP(enumerator, name, kind, speed, tangent, piola) piola(enumerator, name)
MPM_LAWS(SWEEP)
#undef NO_PIOLA
#undef PIOLA

/* One function for all other elastic laws that keep F. */
NOINLINE void sweep_others(const struct strip *strip, int law)
{
    enum { ELASTIC, INELASTIC };
    switch (law) {
#define CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        if (kind == ELASTIC && !law_keeps_J(enumerator) && !mpm_laws_piola(enumerator)) \
            sweep_strip(strip, enumerator); \
        break;
        MPM_LAWS(CASE)
#undef CASE
    }
}

void MPM_KERNEL(forces_task)(const mpm_fem_sweep *sweep, ptrdiff_t task, int thread)
{
    const mpm_fem_mesh *mesh = sweep->mesh;
    mpm_fem_found found = {.finite = true};
    vec4 *x = sweep->workspaces[thread], *v = x + mesh->most_nodes;
    struct strip strip = {.sweep = sweep, .x = x, .v = v, .found = &found};
    nodes_load(x, mesh, task, sweep->x, DIM);
    if (sweep->damping > 0)
        nodes_load(v, mesh, task, sweep->v, DIM);
    strip.copies = copies_begin(sweep->copies, mesh, task);
    for (int32_t s = mesh->task_strip[task]; s < mesh->task_strip[task + 1]; s++) {
        const mpm_material *material = &sweep->materials[mesh->strips[s].material];
        union law_parameters parameters = {0};
        strip.laws = laws_of(sweep, material, &parameters);
        strip.tiles = &mesh->strips[s];
        switch (material->law) {
#define NO_PIOLA(enumerator, name)
#define PIOLA(enumerator, name) \
        case enumerator: \
            sweep_##name(&strip); \
            break;
            MPM_LAWS(SWEEP)
#undef NO_PIOLA
#undef PIOLA
#undef INVERTS
#undef SWEEP
        default:
            sweep_others(&strip, material->law);
        }
    }
    sweep->found[task] = found;
}
