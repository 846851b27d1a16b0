/* SPDX-License-Identifier: MIT
 *
 * The sweeps of implicit steps: the force of a trial velocity, and its derivative. With g_ip the gradient of weight i
 * at particle p (of moving least squares, or of the B-spline), a trial velocity v on the nodes gives
 *
 *     G_p = sum_i v_i g_ip^T,  F_p = (I + dt G_p) F_p^n,  f_i = -sum_p V_p P(F_p) F_p^nT g_ip
 *     (H u)_i = sum_p V_p [dP/dF : (G_p(u) F_p^n)] F_p^nT g_ip                        dt f(v + u) = dt f(v) - dt^2 H u
 *
 * P dF is kept in the principal frame (materials/tangent.h), or, of laws with axes of their own, as the symmetric
 * matrix of its d^2 x d^2 components (materials/moduli.h).
 *
 * Viscosity adds eta J (G + G^T - 2/3 tr G I) to the Kirchhoff stress, with G at the end of the step. The history of a
 * law, and J in its viscosity, are those of the beginning of the step. A law whose tangent includes the return map maps
 * every trial F, and keeps nothing of it: the gather that ends the step does so once more.
 *
 * Along with the force, the sweeps that keep the tangent scatter sum_p w_ip dt^2 V_p 4/h^2 M_p, an estimate of the
 * diagonal of dt^2 H. M_p is the largest modulus of a wave.
 *
 * The including file defines gather_gradient, scatter_stress and FAMILY(name), the exported name of an operation.
 */
#pragma once
#include "materials/prepared.h"
#include "materials/tangent.h"
#include "mpm/kernels/kernels.h"

enum { PACKED = DIM == 2 }; /* every tangent is stored as a packed symmetric matrix, which is smaller in 2-D */
enum { FRAMED_REALS = MPM_TANGENT_REALS(DIM, false) };
_Static_assert(MPM_TANGENT_REALS(3, false) == 31 && MPM_TANGENT_REALS(DIM, true) == LAW_MODULI, "what a store writes");

/* The state of a tile at the beginning of the step. A law that keeps J alone has F = J^(1/d) I. */
INLINE void load_state(struct tile *tile, const mpm_sweep *sweep, const mpm_group *group, ptrdiff_t t, const int law)
{
    const mpm_material *material = &sweep->materials[group->material];
    const bool keeps_J = law_keeps_J(law);
    tile_load(tile, sweep->particles, t, keeps_J, false);
    tile_load_history(tile, sweep->particles, t, material, law_history(law, material) + material->varying);
    if (keeps_J) {
        const wide stretch = DIM == 2 ? wide_sqrt(tile->state.J)
                                      : wide_exp(wide_set((real)(1.0 / 3)) * wide_log(tile->state.J));
        tile->state.F = matrix_scale(stretch, matrix_identity());
    } else {
        tile->state.J = matrix_det(tile->state.F);
    }
}

/* Column (c, d) of the derivative as a d^2 x d^2 matrix is that of the gradient with 1 at (c, d). */
INLINE void tangent_store(real *out, const struct tangent *t)
{
    int k = 0;
    if (PACKED) {
        UNROLL for (int e = 0; e < DIM * DIM; e++) {
            matrix unit = matrix_scale(wide_set(0), matrix_identity());
            unit.m[e / DIM][e % DIM] = wide_set(1);
            const matrix column = tangent_apply(t, unit);
            UNROLL for (int f = 0; f <= e; f++)
                wide_store(out + k++ * WIDTH, column.m[f / DIM][f % DIM]);
        }
        return;
    }
    UNROLL for (int e = 0; e < DIM * DIM; e++)
        wide_store(out + k++ * WIDTH, t->U.m[e / DIM][e % DIM]);
    UNROLL for (int e = 0; e < DIM * DIM; e++)
        wide_store(out + k++ * WIDTH, t->W.m[e / DIM][e % DIM]);
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++)
            wide_store(out + k++ * WIDTH, t->second[i][j]);
    UNROLL for (int p = 0; p < LAW_PAIRS; p++)
        wide_store(out + k++ * WIDTH, t->even[p]);
    UNROLL for (int p = 0; p < LAW_PAIRS; p++)
        wide_store(out + k++ * WIDTH, t->odd[p]);
    wide_store(out + k * WIDTH, t->viscosity);
}

/* Applies a stored derivative to G. */
INLINE matrix tangent_apply_stored(const real *in, matrix G, const bool packed)
{
    struct tangent t;
    int k = 0;
    if (packed) {
        wide moduli[LAW_MODULI];
        UNROLL for (; k < LAW_MODULI; k++)
            moduli[k] = wide_load(in + k * WIDTH);
        return law_moduli_apply(moduli, G);
    }
    UNROLL for (int e = 0; e < DIM * DIM; e++)
        t.U.m[e / DIM][e % DIM] = wide_load(in + k++ * WIDTH);
    UNROLL for (int e = 0; e < DIM * DIM; e++)
        t.W.m[e / DIM][e % DIM] = wide_load(in + k++ * WIDTH);
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++)
            t.second[i][j] = t.second[j][i] = wide_load(in + k++ * WIDTH);
    UNROLL for (int p = 0; p < LAW_PAIRS; p++)
        t.even[p] = wide_load(in + k++ * WIDTH);
    UNROLL for (int p = 0; p < LAW_PAIRS; p++)
        t.odd[p] = wide_load(in + k++ * WIDTH);
    t.viscosity = wide_load(in + k * WIDTH);
    return tangent_apply(&t, G);
}

/* The potential of the viscous stress, eta J (D : D - (tr D)^2/3). */
INLINE wide dissipation(wide eta, matrix G)
{
    const wide trace = matrix_trace(G), half = wide_set((real)0.5);
    wide square = wide_set(0);
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++) {
            const wide D = half * (G.m[i][j] + G.m[j][i]);
            square = wide_fma(D, D, square);
        }
    return eta * wide_fnma(wide_set((real)(1.0 / 3)) * trace, trace, square);
}

/* The largest |Y_ii| of a unit gradient along a principal direction, and the viscosity along it. */
INLINE wide longitudinal_modulus(const struct tangent *t)
{
    wide most = wide_set(0);
    UNROLL for (int i = 0; i < DIM; i++) {
        wide length2 = wide_set(0);
        UNROLL for (int a = 0; a < DIM; a++)
            length2 = wide_fma(t->W.m[a][i], t->W.m[a][i], length2);
        most = wide_max(most, length2 * t->second[i][i]);
    }
    return wide_fma(wide_set((real)(4.0 / 3)), t->viscosity, most);
}

/* Prefetches what a sweep reads of a later tile. The fields are too many streams for the hardware prefetcher. */
INLINE void prefetch_place(const mpm_sweep *sweep, ptrdiff_t at)
{
    __builtin_prefetch(tile_scalar(sweep->particles, MPM_COLUMN_MASS, at));
    UNROLL for (int a = 0; a < DIM; a++)
        __builtin_prefetch(tile_vector(sweep->particles, MPM_COLUMN_X, at) + a * WIDTH);
}

INLINE void prefetch_state(const mpm_sweep *sweep, ptrdiff_t at, const bool keeps_J)
{
    prefetch_place(sweep, at);
    __builtin_prefetch(tile_scalar(sweep->particles, MPM_COLUMN_VOLUME, at));
    for (int k = 0; k < (keeps_J ? 1 : DIM * DIM); k++)
        __builtin_prefetch(tile_vector(sweep->particles, mpm_fields_F(DIM) + k / DIM, at) + k % DIM * WIDTH);
}

INLINE void prefetch_tangent(const real *tangent, const bool packed)
{
    enum { LINE = 64 / sizeof(real) };
    const int reals = (packed ? (int)LAW_MODULI : (int)FRAMED_REALS) * WIDTH;
    for (int k = 0; k < reals; k += LINE)
        __builtin_prefetch(tangent + k);
}

/* What a sweep does with the trial velocity. */
enum trial {
    LINEARIZED, /* the force of the linear model about F^n, whose derivative is stored */
    TANGENT,    /* the force, and its derivative is stored */
    RESIDUAL    /* the force */
};

/* What a trial velocity does to a tile. */
struct answer {
    matrix force;                     /* dt V P F^nT */
    wide energy, viscosity, diagonal; /* Psi; dt V eta J; dt^2 V times the largest modulus of a wave */
};

/* A tile and its trial velocity. */
struct question {
    const mpm_material *material;
    const union law_parameters *parameters;
    const struct tile *tile;
    matrix G, F; /* F: at which the law is evaluated */
    wide dt;
    wide scale;  /* of the force, dt V */
    wide factor; /* of the derivative, beta dt^2 V */
    bool projects;
    real *stored; /* the derivative of the tile */
};

INLINE struct answer answer_framed(const struct question *q, const enum trial trial)
{
    struct tangent tangent;
    wide stretch[DIM];
    tangent_frames(&tangent, q->F, q->tile->state.F, stretch);
    struct law_tangent law_part =
        law_tangent_at(mpm_material_kernel_law(q->material), q->parameters, stretch, &q->tile->state, q->dt);
    struct answer r = {.energy = law_part.energy, .diagonal = wide_set(0)};
    r.force = matrix_scale(q->scale, tangent_force(&tangent, &law_part));
    r.viscosity = tangent.viscosity = q->scale * law_part.viscosity;
    if (trial != RESIDUAL) {
        tangent_fill(&tangent, &law_part, q->factor, q->projects);
        tangent_store(q->stored, &tangent);
        r.diagonal = longitudinal_modulus(&tangent);
    }
    if (trial == LINEARIZED)
        r.force = matrix_add(r.force, tangent_apply(&tangent, q->G));
    else
        r.force = matrix_add(r.force, viscous_stress(tangent.viscosity, q->G));
    return r;
}

/* The same for a law with axes of its own; `diagonal` looks along the axes of space. What the call needs in memory is
 * copied, so that the originals stay in registers. */
INLINE struct answer answer_by_moduli(const struct question *q, const enum trial trial)
{
    const struct law_state begin = q->tile->state;
    const struct law_trial at = {q->F, &begin, q->dt, trial != RESIDUAL, q->projects};
    struct law_moduli moduli;
    MPM_KERNEL(general_laws_moduli)(mpm_material_kernel_law(q->material), q->parameters, &at, &moduli);
    struct answer r = {.energy = moduli.energy, .viscosity = q->scale * moduli.viscosity, .diagonal = wide_set(0)};
    r.force = matrix_scale(q->scale, moduli.force);
    for (int e = 0; trial != RESIDUAL && e < DIM * DIM; e++) {
        matrix unit = matrix_scale(wide_set(0), q->F);
        unit.m[e / DIM][e % DIM] = wide_set(1);
        const matrix viscous = viscous_stress(r.viscosity, unit);
        for (int f = 0; f <= e; f++) {
            const int k = LAW_MODULUS(e, f);
            const wide entry = wide_fma(q->factor, moduli.packed[k], viscous.m[f / DIM][f % DIM]);
            wide_store(q->stored + k * WIDTH, entry);
            if (e == f && e % (DIM + 1) == 0)
                r.diagonal = wide_max(r.diagonal, entry);
        }
    }
    if (trial == LINEARIZED)
        r.force = matrix_add(r.force, tangent_apply_stored(q->stored, q->G, true));
    else
        r.force = matrix_add(r.force, viscous_stress(r.viscosity, q->G));
    return r;
}

/* Scatters dt f of the trial velocity, and returns the energy sum of V Psi and dt V times the dissipation. */
INLINE double trial_group(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group,
                          struct workspace *work, const mpm_material *material, const enum trial trial)
{
    const int law = material->law;
    const struct constants k = group_constants(sweep, (struct durations){0}, group);
    const wide dt = wide_set((real)arguments->solve.dt), zero = wide_set(0);
    const wide per_dx2 = wide_set((real)(4 / (sweep->dx * sweep->dx)));
    union law_parameters parameters = {0};
    wide sum = zero;
    double energy = 0;
    struct run run;
    prepare_law(mpm_material_kernel_law(material), &parameters, material);
    nodes_read(work, group, arguments->solve.nodes);
    run_begin(&run);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH, at = group->first_tile + t;
        struct tile tile;
        load_state(&tile, sweep, group, at, law);
        prefetch_state(sweep, at + 1, law_keeps_J(law));
        const mask alive = wide_less(zero, tile.mass);
        const matrix G = gather_gradient(sweep, work, &k, &tile);
        const wide scale = dt * tile.volume;
        const matrix F = matrix_advance(trial == LINEARIZED ? zero : dt, G, tile.state.F);
        const struct question question = {
            material, &parameters, &tile, G, F, dt, scale, wide_set((real)arguments->solve.beta) * (dt * scale),
            arguments->solve.projects, (real *)arguments->solve.tangent + at * (arguments->solve.reals * WIDTH)};
        const struct answer r =
            material->has_moduli ? answer_by_moduli(&question, trial) : answer_framed(&question, trial);
        const wide diagonal = wide_select(alive, per_dx2 * r.diagonal, zero);
        const wide found = wide_fma(tile.volume, r.energy, dissipation(r.viscosity, G));
        sum += wide_select(alive, found, zero);
        const matrix minus = matrix_scale(wide_set(-1), r.force), none = matrix_scale(zero, matrix_identity());
        const matrix force = matrix_select(alive, minus, none);
        scatter_stress(sweep, work, &run, &k, &tile, force, diagonal, left < WIDTH ? (int)left : WIDTH);
        if (WIDTH == 1 && t % LONGEST_SUM == LONGEST_SUM - 1) {
            energy += wide_sum(sum);
            sum = zero;
        }
    }
    momentum_end(sweep, group, work, &run);
    return energy + wide_sum(sum);
}

/* Scatters dt^2 H u. */
INLINE void product_group(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group,
                          struct workspace *work, const bool packed)
{
    const struct constants k = group_constants(sweep, (struct durations){0}, group);
    const ptrdiff_t size = (ptrdiff_t)arguments->solve.reals * WIDTH;
    const real *stored = arguments->solve.tangent;
    struct run run;
    nodes_read(work, group, arguments->solve.nodes);
    run_begin(&run);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH, at = group->first_tile + t;
        struct tile tile;
        UNROLL for (int a = 0; a < DIM; a++)
            tile.x[a] = wide_load(tile_vector(sweep->particles, MPM_COLUMN_X, at) + a * WIDTH);
        tile.mass = wide_load(tile_scalar(sweep->particles, MPM_COLUMN_MASS, at));
        prefetch_place(sweep, at + 1);
        prefetch_tangent(stored + (at + 1) * size, packed);
        const matrix G = gather_gradient(sweep, work, &k, &tile);
        const matrix force = tangent_apply_stored(stored + at * size, G, packed);
        scatter_stress(sweep, work, &run, &k, &tile, force, wide_set(0), left < WIDTH ? (int)left : WIDTH);
    }
    momentum_end(sweep, group, work, &run);
}

static void begin_task(const mpm_sweep *sweep, ptrdiff_t task, struct workspace *work)
{
    clear_copies(sweep->grid, MPM_GRID_FORCES, task);
    sweep->measures[task] = (mpm_measure){.least_det = 1};
    begin_scatter(work);
}

INLINE void trial_task(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, struct workspace *work,
                       const enum trial trial)
{
    begin_task(sweep, task, work);
    for (int32_t g = sweep->grid->task_group[task]; g < sweep->grid->task_group[task + 1]; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        sweep->measures[task].elastic +=
            trial_group(sweep, arguments, group, work, &sweep->materials[group->material], trial);
    }
}

#define TRIAL(name, trial) \
    void FAMILY(name)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread) \
    { \
        trial_task(sweep, arguments, task, sweep->workspaces[thread], trial); \
    }
TRIAL(linearize, LINEARIZED)
TRIAL(tangent, TANGENT)
TRIAL(residual, RESIDUAL)

void FAMILY(product)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    struct workspace *work = sweep->workspaces[thread];
    begin_task(sweep, task, work);
    for (int32_t g = sweep->grid->task_group[task]; g < sweep->grid->task_group[task + 1]; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        if (PACKED || sweep->materials[group->material].has_moduli)
            product_group(sweep, arguments, group, work, true);
        else
            product_group(sweep, arguments, group, work, false);
    }
}
