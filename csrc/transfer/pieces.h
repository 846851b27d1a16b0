/* SPDX-License-Identifier: MIT
 *
 * The pieces of a sweep that no transfer scheme changes: motion and strain, limits, totals, troubles. Before it is
 * included, ANY_SCHEME says whether the scheme is left open until the program runs, or is the standard one.
 */
#pragma once
#include "materials/law_switch.h"
#include "transfer/arena.h"
#include "transfer/collide.h"
#include "transfer/tile.h"

/* Sums and maxima of a group, one particle per lane, positions in cells from the block's first node. */
struct tally {
    wide mass, momentum[DIM], moment[DIM], angular_momentum[3], kinetic, elastic;
    wide rate2, wave2, speed, gradient2, moved, least_det;
    int64_t outside, out_of_range, clipped;
};

struct constants {
    wide gather_dt, gather_dt_cells; /* dt, dt/h */
    wide affine;                     /* h D^-1: 4/h for the quadratic kernel */
    wide h;
    wide spin;                       /* D/h, what C weighs in angular momentum and energy: h/4; 0: C is no velocity */
    wide isolated;                   /* factor of the isolated bound: 1/h^2 */
    wide stress;                     /* -dt h D^-1 of the step to come */
    double room;                     /* beyond a face, in cells */
    wide lowest[DIM], highest[DIM];  /* where particles may be, in cells from the block's first node */
    wide J_low, J_high;
};

static void tally_begin(struct tally *tally)
{
    memset(tally, 0, sizeof *tally);
    tally->least_det = wide_set(1);
}

/* What moves particles and their strain; in the standard scheme v and C themselves. */
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

/* How close a strain increment comes to turning particles inside out: the least determinant that it takes. */
INLINE wide least_factor(const struct constants *k, matrix gradient, const bool cayley)
{
    if (!cayley)
        return volume_factor(k, gradient);
    const wide half_dt = wide_set((real)0.5) * k->gather_dt;
    return wide_min(matrix_det(increment(half_dt, gradient)), matrix_det(increment(-half_dt, gradient)));
}

/* Moves the particles and their strain. */
INLINE void advance(const struct constants *k, struct tile *tile, const struct motion *motion, const bool keeps_J,
                    const bool cayley)
{
    if (cayley) {
        /* (I - A/2)^-1 (I + A/2) = 2 (I - A/2)^-1 - I, A = dt grad v: keeps volume where A is a rotation's */
        const wide half_dt = wide_set((real)0.5) * k->gather_dt;
        const matrix inner = increment(-half_dt, motion->gradient), cofactor = matrix_cofactor(inner);
        const wide det = matrix_det_from(inner, cofactor);
        if (keeps_J) {
            tile->state.J *= matrix_det(increment(half_dt, motion->gradient)) / det;
        } else {
            const matrix F = tile->state.F, twice = matrix_scale(wide_set(2) / det, matrix_multiply_left_transposed(cofactor, F));
            UNROLL for (int i = 0; i < DIM; i++)
                UNROLL for (int j = 0; j < DIM; j++)
                    tile->state.F.m[i][j] = twice.m[i][j] - F.m[i][j];
        }
    } else if (keeps_J) {
        tile->state.J = tile->state.J * volume_factor(k, motion->gradient);
    } else {
        tile->state.F = matrix_advance(k->gather_dt, motion->gradient, tile->state.F);
    }
    UNROLL for (int a = 0; a < DIM; a++)
        tile->x[a] = wide_fma(k->gather_dt_cells, motion->velocity[a], tile->x[a]);
}

/* The trial F back onto the yield surface. Padding is never clipped: it holds a state at rest. */
INLINE void yield(const struct constants *k, const int law, const union law_parameters *parameters, struct tile *tile,
                  const struct motion *motion, struct tally *tally)
{
    const mask clipped = return_map(law, parameters, &tile->state, k->gather_dt, motion->gradient);
    tally->clipped += __builtin_popcount(mask_bits(clipped));
}

/* Particles that have left the domain: counted, and under on_leave put back onto the face or frozen. */
NOINLINE void handle_outside(const struct mpm_sweep *sweep, const struct constants *k, struct tile *tile,
                             struct tally *tally, unsigned outside)
{
    tally->outside += __builtin_popcount(outside);
    for (int q = 0; q < WIDTH; q++) {
        if (!(outside >> q & 1))
            continue;
        if (sweep->on_leave == MPM_LEAVE_CLAMP) {
            for (int a = 0; a < DIM; a++) {
                real *x = (real *)&tile->x[a] + q;
                const real low = wide_lane(k->lowest[a], q) + (real)k->room;
                const real high = wide_lane(k->highest[a], q) - (real)k->room;
                *x = *x < low ? low : *x > high ? high : *x;
            }
        } else if (sweep->on_leave == MPM_LEAVE_DELETE) {
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

INLINE unsigned find_outside(const struct constants *k, const struct tile *tile)
{
    mask inside = wide_less(wide_set(0), tile->mass), alive = inside;
    UNROLL for (int a = 0; a < DIM; a++)
        inside &= wide_less_equal(k->lowest[a], tile->x[a]) & wide_less_equal(tile->x[a], k->highest[a]);
    return mask_bits(alive) & ~mask_bits(inside);
}

INLINE unsigned find_out_of_range(const struct constants *k, const struct tile *tile)
{
    const mask alive = wide_less(wide_set(0), tile->mass);
    return mask_bits(alive) &
           ~mask_bits(wide_less_equal(k->J_low, tile->state.J) & wide_less_equal(tile->state.J, k->J_high));
}

/* The limits of every particle: 1/dt^2 of the isolated bound, squared wave speed, speed, squared gradient. */
struct limits {
    wide rate2, wave2, speed, gradient2;
};

/* The linear kernel's kappa over its least value: 1/(4 f (1 - f)) for the axis on which the particle is nearest to a
 * node. It has no bound, because the mass of the far node has none; where f (1 - f) < 0.01 that node is so light that
 * the particle hardly notices what becomes of it. */
INLINE wide linear_excess(const struct tile *tile)
{
    const wide one = wide_set(1);
    wide least = wide_set((real)0.25);
    UNROLL for (int a = 0; a < DIM; a++) {
        const wide f = tile->x[a] - wide_floor(tile->x[a]);
        least = wide_min(f * (one - f), least);
    }
    return wide_set((real)0.25) / wide_max(least, wide_set((real)0.01));
}

INLINE struct limits particle_limits(const mpm_sweep *sweep, const struct constants *k, const struct tile *tile,
                                     const struct law_response *response)
{
    const wide zero = wide_set(0);
    const mask alive = wide_less(zero, tile->mass);
    const wide volume_per_mass = tile->volume / wide_select(alive, tile->mass, wide_set(1));
    struct limits l;
    /* isolated particle: dt^2 S V/(m h^2) <= 1; with viscosity dt^2 a + dt b <= 1 */
    wide factor = k->isolated;
    if (ANY_SCHEME && sweep->scheme.degree == MPM_LINEAR)
        factor *= linear_excess(tile);
    wide a = volume_per_mass * response->isolated * factor;
    l.rate2 = a;
    if (mask_any(wide_less(zero, response->damping))) {
        wide b = volume_per_mass * response->damping * factor;
        wide rate = wide_set((real)0.5) * (b + wide_sqrt(wide_fma(b, b, wide_set(4) * wide_max(a, zero))));
        l.rate2 = rate * rate;
    }
    l.rate2 = wide_select(alive, l.rate2, zero);
    l.wave2 = wide_select(alive, volume_per_mass * response->wave, zero);
    l.speed = zero;
    UNROLL for (int b = 0; b < DIM; b++)
        l.speed = wide_max(wide_abs(tile->v[b]), l.speed);
    l.gradient2 = matrix_dot(tile->C, tile->C);
    return l;
}

/* tr(B D^-1 B^T) where C is 4/h^2 B and D that of the linear kernel, kept from 0 as in linear_excess. */
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

INLINE void measure(const struct mpm_sweep *sweep, const struct constants *k, struct tile *tile,
                    const struct law_response *response, struct tally *tally, const bool moved)
{
    const wide m = tile->mass;
    const wide *v = tile->v, *x = tile->x;
    const wide(*C)[DIM] = (const wide(*)[DIM])tile->C.m;
    if (moved) {
        unsigned outside = find_outside(k, tile);
        if (__builtin_expect(outside, 0))
            handle_outside(sweep, k, tile, tally, outside);
    }
    tally->out_of_range += __builtin_popcount(find_out_of_range(k, tile));

    struct limits l = particle_limits(sweep, k, tile, response);
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
        tally->moment[a] = wide_fma(m, x[a], tally->moment[a]);
    }
    /* x cross v and the spin of the affine velocity, eps:B with B = D C, both over h */
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
    tally->elastic = wide_fma(tile->volume, response->energy, tally->elastic);
}

static struct constants group_constants(const mpm_sweep *sweep, const mpm_group *group)
{
    const mpm_law *law = mpm_laws_get(sweep->materials[group->material].law);
    const double h = sweep->dx, room = wall_room(sweep->scheme.degree);
    const double D = mpm_scheme_second_moment(sweep->scheme.degree); /* over h^2 */
    struct constants k = {
        .gather_dt = wide_set((real)sweep->gather_dt),
        .gather_dt_cells = wide_set((real)(sweep->gather_dt / h)),
        .affine = wide_set((real)(1 / D / h)),
        .h = wide_set((real)h),
        .spin = wide_set(mpm_scheme_is_affine(&sweep->scheme) ? (real)(h * D) : 0),
        .isolated = wide_set((real)(mpm_scheme_isolated_factor(&sweep->scheme) / (h * h))),
        .stress = wide_set((real)(-1 / D * sweep->scatter_dt / h)),
        .room = room,
        .J_low = wide_set((real)law->J_low),
        .J_high = wide_set((real)law->J_high),
    };
    for (int a = 0; a < DIM; a++) {
        const double first = (double)group->block[a] * BLOCK_SIDE;
        k.lowest[a] = wide_set((real)(-first - room));
        k.highest[a] = wide_set((real)((double)sweep->cells[a] - first + room));
        if (sweep->period[a]) { /* nobody leaves there */
            k.lowest[a] = wide_set(-(real)__builtin_inf());
            k.highest[a] = wide_set((real)__builtin_inf());
        }
    }
    return k;
}

/* The tally of a group, in the units of mpm_measure, added to that of its task. */
static void add_tally(mpm_measure *measure, const struct tally *t, const mpm_sweep *sweep, const mpm_group *group)
{
    double origin[3] = {0}, momentum[3] = {0}, mass = wide_sum(t->mass);
    for (int a = 0; a < DIM; a++) {
        origin[a] = sweep->lower[a] + (double)group->block[a] * BLOCK_SIDE * sweep->dx;
        momentum[a] = wide_sum(t->momentum[a]);
        measure->momentum[a] += momentum[a];
        measure->moment[a] += mass * origin[a] + sweep->dx * wide_sum(t->moment[a]);
    }
    for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        measure->angular_momentum[c] += origin[a] * momentum[b] - origin[b] * momentum[a] +
                                        sweep->dx * wide_sum(t->angular_momentum[c]);
    }
    measure->mass += mass;
    measure->kinetic += 0.5 * wide_sum(t->kinetic);
    measure->elastic += wide_sum(t->elastic);
#define LARGEST(member) \
    do { \
        double largest = wide_largest(t->member); \
        measure->member = measure->member > largest ? measure->member : largest; \
    } while (0)
    LARGEST(rate2);
    LARGEST(wave2);
    LARGEST(speed);
    LARGEST(gradient2);
    LARGEST(moved);
#undef LARGEST
    double least = -wide_largest(-t->least_det);
    measure->least_det = measure->least_det < least ? measure->least_det : least;
    measure->outside += t->outside;
    measure->out_of_range += t->out_of_range;
    measure->clipped += t->clipped;
}

/* What lies within a collider, and what moves it if that is another velocity; the latter carries no momentum. */
NOINLINE void collide(const mpm_sweep *sweep, const mpm_group *group, struct tile *tile, struct motion *motion,
                      mpm_collider_book *books)
{
    MPM_KERNEL(collide_tile)(&sweep->colliders, group, tile, tile->mass, tile->v, books);
    if (ANY_SCHEME)
        MPM_KERNEL(collide_tile)(&sweep->colliders, group, tile, wide_set(0), motion->velocity, books);
    else
        memcpy(motion->velocity, tile->v, sizeof tile->v);
}

/* The same on copies, so that what is handed to no function can stay in registers. */
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

INLINE void note_motion(struct tally *tally, const struct motion *motion)
{
    UNROLL for (int a = 0; a < DIM; a++)
        tally->moved = wide_max(wide_abs(motion->velocity[a]), tally->moved);
}
