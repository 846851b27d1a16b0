/* SPDX-License-Identifier: MIT
 *
 * What a sweep does to particles in every transfer scheme: it advances position, strain and history, lets colliders
 * deflect particles, and sums up the new state.
 */
#pragma once
#include "mpm/kernels/collide.h"
#include "mpm/kernels/density.h"
#include "mpm/kernels/particle_limits.h"

/* Sums and maxima of a group, by lane. Positions count in cells from the block's first node. */
struct tally {
    wide mass, momentum[DIM], mass_moment[DIM], angular_momentum[3], kinetic, elastic;
    wide rate2, wave2, speed, gradient2, advection_speed, least_det;
    int64_t outside, clamped, frozen, out_of_range, clipped;
};

static void tally_begin(struct tally *tally)
{
    memset(tally, 0, sizeof *tally);
    tally->least_det = wide_set(1);
}

/* The velocity and the gradient that move particles and strain them; in the standard scheme they are v and C. */
struct motion {
    wide velocity[DIM];
    matrix gradient;
};

/* I + s grad v */
INLINE matrix increment(wide s, matrix gradient)
{
    return matrix_add_diagonal(matrix_scale(s, gradient), wide_set(1));
}

INLINE wide volume_factor(const struct constants *k, matrix gradient)
{
    return matrix_det(increment(k->gather_dt, gradient));
}

/* 1 + s tr grad v, det(I + s grad v) to first order */
INLINE wide trace_factor(const struct constants *k, matrix gradient)
{
    return wide_fma(k->gather_dt, matrix_trace(gradient), wide_set(1));
}

/* The least determinant of the strain increment; it shows how close a particle comes to turning inside out. */
INLINE wide least_factor(const struct constants *k, matrix gradient, const bool keeps_J, const mpm_f_update f_update)
{
    if (f_update == MPM_F_TRACE && keeps_J)
        return wide_min(trace_factor(k, gradient), volume_factor(k, gradient));
    if (f_update != MPM_F_CAYLEY)
        return volume_factor(k, gradient);
    const wide half_dt = wide_set((real)0.5) * k->gather_dt;
    return wide_min(matrix_det(increment(half_dt, gradient)), matrix_det(increment(-half_dt, gradient)));
}

/* Advances position and strain. */
INLINE void advance(const struct constants *k, struct tile *tile, const struct motion *motion, const bool keeps_J,
                    const mpm_f_update f_update)
{
    if (f_update == MPM_F_CAYLEY) {
        /* (I - A/2)^-1 (I + A/2) = 2 (I - A/2)^-1 - I with A = dt grad v. It keeps the volume if A is skew. */
        const wide half_dt = wide_set((real)0.5) * k->gather_dt;
        const matrix inner = increment(-half_dt, motion->gradient), cofactor = matrix_cofactor(inner);
        const wide det = matrix_det_from(inner, cofactor);
        if (keeps_J) {
            tile->state.J *= matrix_det(increment(half_dt, motion->gradient)) / det;
        } else {
            const matrix F = tile->state.F,
                         twice = matrix_scale(wide_set(2) / det, matrix_multiply_left_transposed(cofactor, F));
            UNROLL for (int i = 0; i < DIM; i++)
                UNROLL for (int j = 0; j < DIM; j++)
                    tile->state.F.m[i][j] = twice.m[i][j] - F.m[i][j];
        }
    } else if (keeps_J) {
        tile->state.J = tile->state.J * (f_update == MPM_F_TRACE ? trace_factor(k, motion->gradient)
                                                                : volume_factor(k, motion->gradient));
    } else {
        tile->state.F = matrix_advance(k->gather_dt, motion->gradient, tile->state.F);
    }
    UNROLL for (int a = 0; a < DIM; a++)
        tile->x[a] = wide_fma(k->gather_dt_cells, motion->velocity[a], tile->x[a]);
}

/* J after a step, drawn to the volume that the particles take on the grid. Tile and motion stay in registers because no
 * address of them is taken. */
INLINE wide correct_density(const mpm_sweep *sweep, const struct constants *k, matrix gradient, wide mass, wide fill,
                            wide J, wide new_J)
{
    return density_corrected(wide_set((real)sweep->scheme.density_correction) * k->gather_dt, gradient, mass, fill, J,
                             new_J);
}

/* A user's return map also changes padding, such as its age. Padding must stay in the state at rest, where the law
 * gives finite numbers: its volume is 0, but 0 times NaN is NaN. */
INLINE void yield_of_user(const struct constants *k, const union law_parameters *parameters, struct tile *tile,
                          const struct motion *motion, const int history)
{
    const mask alive = wide_less(wide_set(0), tile->mass);
    const matrix F = tile->state.F;
    wide before[MPM_LAW_HISTORY];
    for (int c = 0; c < history; c++)
        before[c] = tile->state.history[c];
    return_map(MPM_USER, parameters, &tile->state, k->gather_dt, motion->gradient);
    tile->state.F = matrix_select(alive, tile->state.F, F);
    for (int c = 0; c < history; c++)
        tile->state.history[c] = wide_select(alive, tile->state.history[c], before[c]);
}

/* Brings the trial F back onto the yield surface. Padding is at rest, so it is never clipped. `history`: the components
 * of the law's history. */
INLINE void yield(const struct constants *k, const int law, const bool inlines, const union law_parameters *parameters,
                  struct tile *tile, const struct motion *motion, const int history, struct tally *tally)
{
    if (__builtin_expect(law == MPM_USER, 0)) {
        yield_of_user(k, parameters, tile, motion, history);
        return;
    }
    const mask clipped = inlines ? inlined_return_map(law, parameters, &tile->state, k->gather_dt, motion->gradient)
                                 : return_map(law, parameters, &tile->state, k->gather_dt, motion->gradient);
    tally->clipped += __builtin_popcount(mask_bits(clipped));
}

/* Counts the particles that have left the domain. As on_leave says, puts them back onto the face or freezes them. The
 * error about broken ones needs their mass, so they are frozen after the next step, if the state is mended. */
NOINLINE void handle_outside(const struct mpm_sweep *sweep, const struct constants *k, struct tile *tile,
                             struct tally *tally, unsigned outside, unsigned broken)
{
    for (int q = 0; q < WIDTH; q++) {
        if (!(outside >> q & 1))
            continue;
        const mpm_leave fate = leave_fate(sweep, k, tile, q);
        if (fate == MPM_LEAVE_DELETE && broken >> q & 1)
            continue;
        tally->outside++;
        if (fate == MPM_LEAVE_CLAMP) {
            tally->clamped++;
            for (int a = 0; a < DIM; a++) {
                real *x = (real *)&tile->x[a] + q;
                const real low = wide_lane(k->lowest[a], q) + (real)k->room;
                const real high = wide_lane(k->highest[a], q) - (real)k->room;
                *x = *x < low ? low : *x > high ? high : *x;
            }
        } else if (fate == MPM_LEAVE_DELETE) {
            tally->frozen++;
            ((real *)&tile->mass)[q] = 0;
            ((real *)&tile->volume)[q] = 0;
            for (int b = 0; b < DIM; b++) {
                ((real *)&tile->v[b])[q] = 0;
                for (int a = 0; a < DIM; a++)
                    ((real *)&tile->C.m[b][a])[q] = 0;
            }
            tile->mass_changed = true;
        }
    }
}

/* tr(B D^-1 B^T) where C is 4/h^2 B and D is that of the linear kernel, limited from below as in linear_excess. */
INLINE wide linear_affine_energy(const struct constants *k, const struct tile *tile)
{
    const wide one = wide_set(1);
    wide sum = wide_set(0);
    UNROLL for (int a = 0; a < DIM; a++) {
        const wide f = tile->x[a] - wide_floor(tile->x[a]), D = wide_max(f * (one - f), wide_set((real)0.01));
        UNROLL for (int b = 0; b < DIM; b++)
            sum += tile->C.m[b][a] * tile->C.m[b][a] / D;
    }
    return k->spin * k->spin * sum;
}

/* Sums up the new state. */
INLINE void measure(const struct mpm_sweep *sweep, const struct constants *k, const int law, struct tile *tile,
                    const struct law_evaluation *evaluation, const int history, struct tally *tally,
                    const bool advanced)
{
    const unsigned broken = find_broken(law, tile, evaluation, history);
    const wide m = tile->mass;
    const wide *v = tile->v, *x = tile->x;
    const wide(*C)[DIM] = (const wide(*)[DIM])tile->C.m;
    if (advanced) {
        unsigned outside = find_outside(k, tile);
        if (__builtin_expect(outside, 0))
            handle_outside(sweep, k, tile, tally, outside, broken);
    }
    tally->out_of_range += __builtin_popcount(find_out_of_range(k, tile) | broken);

    struct limits l = particle_limits(sweep, k, tile, evaluation);
    tally->rate2 = wide_max(l.rate2, tally->rate2);
    tally->wave2 = wide_max(l.wave2, tally->wave2);
    tally->speed = wide_max(l.speed, tally->speed);
    tally->gradient2 = wide_max(l.gradient2, tally->gradient2);

    wide v2 = v[0] * v[0];
    UNROLL for (int a = 1; a < DIM; a++)
        v2 = wide_fma(v[a], v[a], v2);
    tally->mass += m;
    UNROLL for (int a = 0; a < DIM; a++) {
        tally->momentum[a] = wide_fma(m, v[a], tally->momentum[a]);
        tally->mass_moment[a] = wide_fma(m, x[a], tally->mass_moment[a]);
    }
    /* x cross v, and the spin eps:B of the affine velocity with B = D C; both over h */
    UNROLL for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        wide spin = k->spin * (C[b][a] - C[a][b]);
        tally->angular_momentum[c] =
            wide_fma(m, wide_fma(x[a], v[b], wide_fnma(x[b], v[a], spin)), tally->angular_momentum[c]);
    }
    /* m/2 (v^2 + D |C|^2) */
    wide affine = k->h * k->spin * l.gradient2;
    if (ANY_SCHEME && mpm_scheme_keeps_B(&sweep->scheme))
        affine = linear_affine_energy(k, tile);
    tally->kinetic = wide_fma(m, v2 + affine, tally->kinetic);
    tally->elastic = wide_fma(tile->volume, evaluation->energy, tally->elastic);
}

static void raise_to(double *largest, double value)
{
    *largest = *largest > value ? *largest : value;
}

/* Adds the tally of a group, in the units of mpm_measure, to the measure of its task. */
static void add_tally(mpm_measure *measure, const struct tally *t, const mpm_sweep *sweep, const mpm_group *group)
{
    double origin[3] = {0}, momentum[3] = {0}, mass = wide_sum(t->mass);
    for (int a = 0; a < DIM; a++) {
        origin[a] = sweep->lower[a] + (double)group->block[a] * BLOCK_SIDE * sweep->dx;
        momentum[a] = wide_sum(t->momentum[a]);
        measure->momentum[a] += momentum[a];
        measure->mass_moment[a] += mass * origin[a] + sweep->dx * wide_sum(t->mass_moment[a]);
    }
    for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        measure->angular_momentum[c] += origin[a] * momentum[b] - origin[b] * momentum[a] +
                                        sweep->dx * wide_sum(t->angular_momentum[c]);
    }
    measure->mass += mass;
    measure->kinetic += 0.5 * wide_sum(t->kinetic);
    measure->elastic += wide_sum(t->elastic);
    raise_to(&measure->rate2, wide_largest(t->rate2));
    raise_to(&measure->wave2, wide_largest(t->wave2));
    raise_to(&measure->speed, wide_largest(t->speed));
    raise_to(&measure->gradient2, wide_largest(t->gradient2));
    raise_to(&measure->advection_speed, wide_largest(t->advection_speed));
    double least = -wide_largest(-t->least_det);
    measure->least_det = measure->least_det < least ? measure->least_det : least;
    measure->outside += t->outside;
    measure->clamped += t->clamped;
    measure->frozen += t->frozen;
    measure->out_of_range += t->out_of_range;
    measure->clipped += t->clipped;
}

/* How far the particles of a group may get into a collider [m]. The nodes inside of it stop the material below its
 * surface, half a cell on average. There F of a particle that is stopped earlier would no longer follow x, and those
 * that come behind it would be stopped at the same place, where no force parts them. */
static double allowed_depth(const mpm_sweep *sweep)
{
    return sweep->colliders.particles == MPM_PARTICLES_SURFACE ? 0 : 0.5 * sweep->dx;
}

/* Applies colliders to v, and to the velocity that moves the particles where it differs; that one has no momentum. */
NOINLINE void collide(const mpm_sweep *sweep, const mpm_group *group, struct tile *tile, struct motion *motion,
                      mpm_collider_book *books)
{
    const double depth = allowed_depth(sweep);
    MPM_KERNEL(collide_tile)(&sweep->colliders, group, tile, tile->mass, depth, tile->v, books);
    if (ANY_SCHEME)
        MPM_KERNEL(collide_tile)(&sweep->colliders, group, tile, wide_set(0), depth, motion->velocity, books);
    else
        memcpy(motion->velocity, tile->v, sizeof tile->v);
}

/* The same on copies: the originals can stay in registers because their address is not taken. */
INLINE void collide_and_copy(const mpm_sweep *sweep, const mpm_group *group, struct tile *tile, struct motion *motion,
                             mpm_collider_book *books)
{
    struct tile met = *tile;
    struct motion deflected = *motion;
    collide(sweep, group, &met, &deflected, books);
    UNROLL for (int a = 0; a < DIM; a++)
        tile->v[a] = met.v[a];
    *motion = deflected;
}

INLINE void note_advection(struct tally *tally, const struct motion *motion)
{
    UNROLL for (int a = 0; a < DIM; a++)
        tally->advection_speed = wide_max(wide_abs(motion->velocity[a]), tally->advection_speed);
}
