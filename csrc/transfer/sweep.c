/* SPDX-License-Identifier: MIT
 *
 * The sweep: everything a step does to particles, tile by tile. See kernels.h for its modes.
 *
 * In the standard scheme (scheme.h; this file is compiled a second time, by sweep_any.c, for all others)
 *
 *     v = sum w v_i,  C = 4/h^2 sum w v_i (x_i - x)^T               G2P, quadratic B-spline (APIC: Jiang et al. 2015)
 *     v of what lies within a collider follows the collision rule (contact/collider.h)
 *     F <- (I + dt C) F  or  J <- det(I + dt C) J,  x <- x + dt v;  the return map of a plastic law
 *     p_i += w [m v + (m C - dt V0 4/h^2 tau(F)) (x_i - x)]         P2G (MLS-MPM: Hu et al. 2018)
 */
#include "materials/fixed_corotated.h"
#include "materials/fluid.h"
#include "materials/neo_hookean.h"
#include "materials/snow.h"
#ifdef SWEEP_ANY_SCHEME
#define ARENA_DEGREE MPM_CUBIC
#include "transfer/stencil_any.h"
#define SWEEP(name) MPM_KERNEL(sweep_any_##name)
enum { ANY_SCHEME = 1 };
#else
#ifdef MPM_ONE_LANE
#include "transfer/stencil_scalar.h"
#else
#include "transfer/stencil_rows.h"
#endif
#define SWEEP(name) MPM_KERNEL(sweep_##name)
enum { ANY_SCHEME = 0 };
#endif
#include "transfer/collide.h"
#include "transfer/tile.h"

union law_parameters {
#define MEMBER(enumerator, name) struct name name;
    MPM_LAWS(MEMBER)
#undef MEMBER
};

/* `law` is a constant wherever these are inlined, so that the switch disappears. */
INLINE void prepare_law(const int law, union law_parameters *parameters, const double *values)
{
    switch (law) {
#define CASE(enumerator, name) \
    case enumerator: \
        parameters->name = name##_prepare(values); \
        break;
        MPM_LAWS(CASE)
#undef CASE
    }
}

INLINE struct law_response respond(const int law, const union law_parameters *parameters, struct law_state state,
                                   matrix C)
{
    switch (law) {
#define CASE(enumerator, name) \
    case enumerator: \
        return name##_respond(&parameters->name, state, C);
        MPM_LAWS(CASE)
#undef CASE
    }
    __builtin_unreachable();
}

/* Returns the lanes whose plastic state had to be held within its limits. */
INLINE mask return_map(const int law, const union law_parameters *parameters, struct law_state *state)
{
    switch (law) {
#define CASE(enumerator, name) \
    case enumerator: \
        return name##_return_map(&parameters->name, state);
        MPM_PLASTIC_LAWS(CASE)
#undef CASE
    }
    __builtin_unreachable();
}

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

/* ---- the pieces of a sweep ------------------------------------------------------------------------------------ */

/* What moves particles and their strain; in the standard scheme v and C themselves. */
struct motion {
    wide velocity[DIM];
    matrix gradient;
};

#ifndef SWEEP_ANY_SCHEME

struct workspace {
    arena velocity, momentum;
    struct stencil stencil;
};

INLINE void begin_gather(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->velocity);
}

/* Velocity and its gradient from the grid; frozen particles (mass 0) do not move. */
INLINE struct motion gather(const mpm_sweep *sweep, struct workspace *work, const struct constants *k,
                            struct tile *tile, const bool fluid)
{
    (void)sweep, (void)fluid;
    struct stencil *stencil = &work->stencil;
    struct motion motion;
    wide moment[DIM][DIM];
    stencil_prepare(stencil, tile->x);
    stencil_gather(stencil, work->velocity + ARENA_SLACK, tile->v, moment);
    const wide *d = stencil_middle(stencil), zero = wide_set(0);
    const mask alive = wide_less(zero, tile->mass);
    UNROLL for (int b = 0; b < DIM; b++) {
        UNROLL for (int a = 0; a < DIM; a++)
            tile->C.m[b][a] = wide_select(alive, k->affine * wide_fnma(d[a], tile->v[b], moment[a][b]), zero);
        motion.velocity[b] = tile->v[b] = wide_select(alive, tile->v[b], zero);
    }
    motion.gradient = tile->C;
    return motion;
}

INLINE void scatter(const mpm_sweep *sweep, struct workspace *work, struct run *run, const struct constants *k,
                    const struct tile *tile, const struct law_response *response, int count)
{
    (void)sweep;
    struct stencil *stencil = &work->stencil;
    const wide h_mass = k->h * tile->mass, stress = k->stress * tile->volume;
    wide Q[DIM], A[DIM][DIM];
    stencil_prepare(stencil, tile->x);
    const wide *d = stencil_middle(stencil);
    UNROLL for (int b = 0; b < DIM; b++) {
        Q[b] = tile->mass * tile->v[b];
        UNROLL for (int a = 0; a < DIM; a++) {
            A[a][b] = wide_fma(h_mass, tile->C.m[b][a], stress * response->tau.m[b][a]);
            Q[b] = wide_fnma(A[a][b], d[a], Q[b]);
        }
    }
    stencil_scatter(stencil, run, work->momentum + ARENA_SLACK, count, Q, tile->mass, A);
}

INLINE void end_scatter(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, struct run *run)
{
    run_end(run, work->momentum + ARENA_SLACK);
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies);
}

#else

struct run {
    char unused;
};

INLINE void run_begin(struct run *run)
{
    (void)run;
}

struct workspace {
    arena velocity, before, momentum, impulse;
    struct stencil stencil;
};

INLINE void begin_gather(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->velocity);
    if (mpm_scheme_is_split(&sweep->scheme))
        arena_read(work->before + ARENA_SLACK, group, sweep->grid->before);
}

/* The share of C that a step hands on: its skew part whole, the symmetric one damped (RPIC at keep = 0). */
INLINE matrix damped(matrix C, wide keep)
{
    const wide half = wide_set((real)0.5);
    matrix result;
    UNROLL for (int b = 0; b < DIM; b++)
        UNROLL for (int a = 0; a < DIM; a++)
            result.m[b][a] = half * wide_fma(keep, C.m[b][a] + C.m[a][b], C.m[b][a] - C.m[a][b]);
    return result;
}

/* Does the volume ratio after the step reach 1? ASFLIP lets particles part from the grid only there. */
INLINE mask separates(const struct constants *k, const struct tile *tile, matrix gradient, const bool fluid)
{
    wide J = tile->state.J;
    if (!fluid)
        J = matrix_det(tile->state.F) * tile->state.plastic;
    return wide_less(wide_set((real)0.999), J * wide_fma(k->gather_dt, matrix_trace(gradient), wide_set(1)));
}

/* The new v and C of particles, and what moves them and their strain: the table of scheme.h. */
INLINE struct motion gather(const mpm_sweep *sweep, struct workspace *work, const struct constants *k,
                            struct tile *tile, const bool fluid)
{
    const mpm_scheme *scheme = &sweep->scheme;
    const bool affine = mpm_scheme_is_affine(scheme), mls = scheme->gradient == MPM_GRADIENT_MLS;
    const bool by_moment = affine && scheme->transfer != MPM_TPIC, by_slope = scheme->transfer == MPM_TPIC;
    const wide zero = wide_set(0), inverse_h = wide_set((real)(1 / sweep->dx));
    const mask alive = wide_less(zero, tile->mass);
    struct stencil *s = &work->stencil;
    struct motion motion;
    matrix moment = matrix_identity(), slope = moment;

    stencil_prepare(s, tile->x, scheme->degree);
    stencil_gather(s, work->velocity + ARENA_SLACK, scheme->degree,
                   (mls || by_moment ? WANT_MOMENT : 0) | (!mls || by_slope ? WANT_SLOPE : 0));
    UNROLL for (int b = 0; b < DIM; b++) {
        const wide v = stencil_sum(s, 0, b);
        UNROLL for (int a = 0; a < DIM; a++) {
            if (mls || by_moment)
                moment.m[b][a] = wide_select(alive, k->affine * wide_fnma(s->e[a], v, stencil_sum(s, 1 + a, b)), zero);
            if (!mls || by_slope)
                slope.m[b][a] = wide_select(alive, inverse_h * stencil_sum(s, 1 + DIM + a, b), zero);
        }
        motion.velocity[b] = wide_select(alive, v, zero);
    }
    motion.gradient = mls ? moment : slope;
    tile->C = by_moment ? moment : by_slope ? slope : motion.gradient;
    if (affine && scheme->c_keep != 1)
        tile->C = damped(tile->C, wide_set((real)scheme->c_keep));

    if (mpm_scheme_is_split(scheme))
        stencil_gather(s, work->before + ARENA_SLACK, scheme->degree, 0);
    const wide ratio = wide_set((real)scheme->flip_ratio);
    const mask parts = scheme->transfer == MPM_ASFLIP ? separates(k, tile, motion.gradient, fluid) : alive;
    UNROLL for (int b = 0; b < DIM; b++) {
        wide v = motion.velocity[b];
        if (mpm_scheme_is_flip(scheme))
            v = wide_select(alive, wide_fma(ratio, tile->v[b] - stencil_sum(s, 0, b), v), zero);
        else if (scheme->transfer == MPM_XPIC)
            v = wide_select(alive, stencil_sum(s, 0, b), zero);
        tile->v[b] = v;
        if (mpm_scheme_moves_apart(scheme))
            motion.velocity[b] = wide_select(parts, v, motion.velocity[b]);
    }
    return motion;
}

/* Q, A and G of a deposit with the offset of the particle from node 0 folded into Q. */
INLINE void fold_offset(struct deposit *deposit, const wide e[DIM])
{
    UNROLL for (int b = 0; b < DIM; b++)
        UNROLL for (int a = 0; a < DIM; a++)
            deposit->Q[b] = wide_fnma(deposit->A[a][b], e[a], deposit->Q[b]);
}

INLINE void scatter(const mpm_sweep *sweep, struct workspace *work, struct run *run, const struct constants *k,
                    const struct tile *tile, const struct law_response *response, int count)
{
    (void)run;
    const mpm_scheme *scheme = &sweep->scheme;
    const bool split = mpm_scheme_is_split(scheme), mls = scheme->gradient == MPM_GRADIENT_MLS;
    const bool affine = mpm_scheme_is_affine(scheme), keeps_B = mpm_scheme_keeps_B(scheme);
    const wide zero = wide_set(0), h_mass = k->h * tile->mass;
    wide stress_by_offset = zero, stress_by_slope = zero; /* -dt V0 tau D^-1 Delta w, or -dt V0 tau grad w */
    wide C_by_offset = zero, C_by_slope = zero;           /* m C Delta w, or m B grad w with B = h^2/4 C */
    if (mls)
        stress_by_offset = k->stress * tile->volume;
    else
        stress_by_slope = wide_set((real)(-sweep->scatter_dt / sweep->dx)) * tile->volume;
    if (keeps_B)
        C_by_slope = wide_set((real)0.25) * h_mass;
    else if (affine)
        C_by_offset = h_mass;
    struct stencil *s = &work->stencil;
    struct deposit momentum = {.mass = tile->mass,
                               .by_offset = (affine && !keeps_B) || (mls && !split),
                               .by_slope = keeps_B || (!mls && !split)};
    struct deposit impulse = {.mass = zero, .by_offset = mls, .by_slope = !mls};
    stencil_prepare(s, tile->x, scheme->degree);
    UNROLL for (int b = 0; b < DIM; b++) {
        momentum.Q[b] = tile->mass * tile->v[b];
        impulse.Q[b] = zero;
        UNROLL for (int a = 0; a < DIM; a++) {
            const wide C = tile->C.m[b][a], tau = response->tau.m[b][a];
            impulse.A[a][b] = stress_by_offset * tau;
            impulse.G[a][b] = stress_by_slope * tau;
            momentum.A[a][b] = C_by_offset * C;
            momentum.G[a][b] = C_by_slope * C;
            if (!split) {
                momentum.A[a][b] += impulse.A[a][b];
                momentum.G[a][b] += impulse.G[a][b];
            }
        }
    }
    fold_offset(&momentum, s->e);
    stencil_scatter(s, work->momentum + ARENA_SLACK, count, scheme->degree, &momentum);
    if (split) {
        fold_offset(&impulse, s->e);
        stencil_scatter(s, work->impulse + ARENA_SLACK, count, scheme->degree, &impulse);
    }
}

INLINE void end_scatter(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, struct run *run)
{
    (void)run;
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies);
    if (sweep->grid->impulse_copies)
        arena_add(work->impulse + ARENA_SLACK, group, sweep->grid->impulse_copies);
}

#endif

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
INLINE void advance(const struct constants *k, struct tile *tile, const struct motion *motion, const bool fluid,
                    const bool cayley)
{
    if (cayley) {
        /* (I - A/2)^-1 (I + A/2) = 2 (I - A/2)^-1 - I, A = dt grad v: keeps volume where A is a rotation's */
        const wide half_dt = wide_set((real)0.5) * k->gather_dt;
        const matrix inner = increment(-half_dt, motion->gradient), cofactor = matrix_cofactor(inner);
        const wide det = matrix_det_from(inner, cofactor);
        if (fluid) {
            tile->state.J *= matrix_det(increment(half_dt, motion->gradient)) / det;
        } else {
            const matrix F = tile->state.F, twice = matrix_scale(wide_set(2) / det, matrix_multiply_left_transposed(cofactor, F));
            UNROLL for (int i = 0; i < DIM; i++)
                UNROLL for (int j = 0; j < DIM; j++)
                    tile->state.F.m[i][j] = twice.m[i][j] - F.m[i][j];
        }
    } else if (fluid) {
        tile->state.J = tile->state.J * volume_factor(k, motion->gradient);
    } else {
        tile->state.F = matrix_advance(k->gather_dt, motion->gradient, tile->state.F);
    }
    UNROLL for (int a = 0; a < DIM; a++)
        tile->x[a] = wide_fma(k->gather_dt_cells, motion->velocity[a], tile->x[a]);
}

/* The trial F back onto the yield surface. Padding is never clipped: it holds a state at rest. */
INLINE void yield(const int law, const union law_parameters *parameters, struct tile *tile, struct tally *tally)
{
    tally->clipped += __builtin_popcount(mask_bits(return_map(law, parameters, &tile->state)));
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
                                     const struct law_response *response, const bool fluid)
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
    if (fluid) {
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
                    const struct law_response *response, struct tally *tally, const bool fluid, const bool moved)
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

    struct limits l = particle_limits(sweep, k, tile, response, fluid);
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

/* ---- groups and tasks ----------------------------------------------------------------------------------------- */

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
                      mpm_collider_book *books, double *pushed)
{
    MPM_KERNEL(collide_tile)(&sweep->colliders, group, tile, tile->mass, tile->v, books, pushed);
    if (ANY_SCHEME)
        MPM_KERNEL(collide_tile)(&sweep->colliders, group, tile, wide_set(0), motion->velocity, books, pushed);
    else
        memcpy(motion->velocity, tile->v, sizeof tile->v);
}

INLINE void note_motion(struct tally *tally, const struct motion *motion)
{
    UNROLL for (int a = 0; a < DIM; a++)
        tally->moved = wide_max(wide_abs(motion->velocity[a]), tally->moved);
}

INLINE void sweep_group(const mpm_sweep *sweep, const mpm_group *group, ptrdiff_t task, struct workspace *work,
                        mpm_measure *result, const int law, const unsigned mode)
{
    const bool fluid = law == MPM_FLUID, plastic = mpm_laws_plastic(law);
    const bool gathers = mode & (MPM_GATHER | MPM_PROBE);
    const bool cayley = ANY_SCHEME && sweep->scheme.cayley;
    const struct constants k = group_constants(sweep, group);
    mpm_collider_book *books = sweep->colliders.books + (size_t)task * sweep->colliders.count;
    const bool collides = (mode & MPM_GATHER) && sweep->colliders.count &&
                          MPM_KERNEL(collide_reaches)(&sweep->colliders, group, sweep->gather_dt, books);
    union law_parameters parameters = {0};
    struct tally tally;
    struct run run;
    prepare_law(law, &parameters, sweep->materials[group->material].values);
    tally_begin(&tally);
    if (gathers)
        begin_gather(sweep, group, work);
    if (mode & MPM_SCATTER)
        run_begin(&run);

    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        struct motion motion;
        tile_load(&tile, sweep->particles, group->first_tile + t, fluid, !gathers || ANY_SCHEME);
        if (plastic)
            tile_load_plastic(&tile, sweep->particles, group->first_tile + t);
        if (gathers)
            motion = gather(sweep, work, &k, &tile, fluid);
        if (mode & MPM_PROBE) {
            note_motion(&tally, &motion);
            tally.least_det = wide_min(least_factor(&k, motion.gradient, cayley), tally.least_det);
            continue;
        }
        if (__builtin_expect(collides, 0))
            collide(sweep, group, &tile, &motion, books, &result->pushed);
        if (mode & MPM_GATHER)
            advance(&k, &tile, &motion, fluid, cayley);
        if ((mode & MPM_GATHER) && plastic)
            yield(law, &parameters, &tile, &tally);
        if (!fluid)
            tile.state.J = matrix_det(tile.state.F);
        const struct law_response response = respond(law, &parameters, tile.state, tile.C);
        if (mode & MPM_MEASURE)
            measure(sweep, &k, &tile, &response, &tally, fluid, mode & MPM_GATHER);
        if (mode & MPM_GATHER)
            tile_store(&tile, sweep->particles, group->first_tile + t, fluid);
        if ((mode & MPM_GATHER) && plastic)
            tile_store_plastic(&tile, sweep->particles, group->first_tile + t);
        if (mode & MPM_SCATTER) {
            const ptrdiff_t left = group->count - t * WIDTH;
            scatter(sweep, work, &run, &k, &tile, &response, left < WIDTH ? (int)left : WIDTH);
        }
    }
    if (mode & MPM_SCATTER)
        end_scatter(sweep, group, work, &run);
    if (mode & (MPM_MEASURE | MPM_PROBE))
        add_tally(result, &tally, sweep, group);
}

#ifdef SWEEP_ANY_SCHEME

/* XPIC: v_r -> S v_r on particles -> S+ of it on the grid. */
static void filter_group(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    const int degree = sweep->scheme.degree;
    struct stencil *s = &work->stencil;
    arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->filtered);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, true, false);
        struct deposit deposit = {.mass = tile.mass};
        stencil_prepare(s, tile.x, degree);
        stencil_gather(s, work->velocity + ARENA_SLACK, degree, 0);
        UNROLL for (int b = 0; b < DIM; b++)
            deposit.Q[b] = tile.mass * stencil_sum(s, 0, b);
        stencil_scatter(s, work->momentum + ARENA_SLACK, left < WIDTH ? (int)left : WIDTH, degree, &deposit);
    }
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies);
}

/* V0 = m h^d/sum w m_i where V0 is not known yet (Stomakhin et al. 2013, step 2). */
static void volume_group(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    struct stencil *s = &work->stencil;
    const wide zero = wide_set(0);
    const wide cell = wide_set((real)(DIM == 3 ? sweep->dx * sweep->dx * sweep->dx : sweep->dx * sweep->dx));
    arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->velocity);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, true, false);
        stencil_prepare(s, tile.x, sweep->scheme.degree);
        stencil_gather(s, work->velocity + ARENA_SLACK, sweep->scheme.degree, 0);
        const mask unknown = wide_less(zero, tile.mass) & wide_less_equal(tile.volume, zero);
        const wide around = wide_select(unknown, stencil_sum(s, 0, 3), wide_set(1));
        wide_store((real *)sweep->particles->volume + (group->first_tile + t) * WIDTH,
                   wide_select(unknown, tile.mass * cell / around, tile.volume));
    }
}

#endif

static void clear_copies(const mpm_grid *grid, void *copies, ptrdiff_t task)
{
    const size_t node = 4 * sizeof(real), block = MPM_BLOCK_NODES * node;
    memset((char *)copies + (size_t)grid->task_copy[task] * block, 0,
           (size_t)(grid->task_copy[task + 1] - grid->task_copy[task]) * block);
}

INLINE void sweep_groups(const mpm_sweep *sweep, ptrdiff_t task, struct workspace *work, const unsigned mode)
{
    const mpm_grid *grid = sweep->grid;
    mpm_measure *result = &sweep->measures[task];
    *result = (mpm_measure){.least_det = 1};
    if ((mode & MPM_GATHER) && sweep->colliders.count)
        memset(sweep->colliders.books + (size_t)task * sweep->colliders.count, 0,
               sweep->colliders.count * sizeof *sweep->colliders.books);
    if (mode & (MPM_SCATTER | MPM_FILTER))
        clear_copies(grid, grid->copies, task);
    if (ANY_SCHEME && (mode & MPM_SCATTER) && grid->impulse_copies)
        clear_copies(grid, grid->impulse_copies, task);
    for (int32_t g = grid->task_group[task]; g < grid->task_group[task + 1]; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
#ifdef SWEEP_ANY_SCHEME
        if (mode == MPM_FILTER)
            filter_group(sweep, group, work);
        else if (mode == MPM_VOLUME)
            volume_group(sweep, group, work);
        else
            sweep_group(sweep, group, task, work, result, sweep->materials[group->material].law, mode);
#else
        switch (sweep->materials[group->material].law) {
#define CASE(enumerator, name) \
    case enumerator: \
        sweep_group(sweep, group, task, work, result, enumerator, mode); \
        break;
            MPM_LAWS(CASE)
#undef CASE
        }
#endif
    }
}

/* One function per mode, so that each is compiled for its own pieces only. */
#define SWEEP_MODE(name, mode) \
    NOINLINE void name(const mpm_sweep *sweep, ptrdiff_t task, struct workspace *work) \
    { \
        sweep_groups(sweep, task, work, mode); \
    }
SWEEP_MODE(sweep_fused, MPM_GATHER | MPM_MEASURE | MPM_SCATTER)
SWEEP_MODE(sweep_gather, MPM_GATHER | MPM_MEASURE)
SWEEP_MODE(sweep_scatter, MPM_SCATTER)
SWEEP_MODE(sweep_measure, MPM_MEASURE)
SWEEP_MODE(sweep_probe, MPM_PROBE)
#ifdef SWEEP_ANY_SCHEME
SWEEP_MODE(sweep_filter, MPM_FILTER)
SWEEP_MODE(sweep_volume, MPM_VOLUME)

/* Of the larger of the two sweeps. */
extern const size_t SWEEP(workspace);
const size_t SWEEP(workspace) = sizeof(struct workspace);
#endif

void SWEEP(task)(const mpm_sweep *sweep, ptrdiff_t task, int thread)
{
    struct workspace *work = sweep->workspaces[thread];
    switch (sweep->mode) {
    case MPM_GATHER | MPM_MEASURE | MPM_SCATTER:
        sweep_fused(sweep, task, work);
        break;
    case MPM_GATHER | MPM_MEASURE:
        sweep_gather(sweep, task, work);
        break;
    case MPM_SCATTER:
        sweep_scatter(sweep, task, work);
        break;
    case MPM_MEASURE:
        sweep_measure(sweep, task, work);
        break;
    case MPM_PROBE:
        sweep_probe(sweep, task, work);
        break;
#ifdef SWEEP_ANY_SCHEME
    case MPM_FILTER:
        sweep_filter(sweep, task, work);
        break;
    case MPM_VOLUME:
        sweep_volume(sweep, task, work);
        break;
#endif
    }
}

/* ---- questions asked between steps ---------------------------------------------------------------------------- */

static real limit_of_lane(const struct limits *l, int which, int q)
{
    const wide *all[] = {&l->rate2, &l->wave2, &l->speed, &l->gradient2};
    return wide_lane(*all[which], q);
}

INLINE int32_t find_limit_in_group(const mpm_sweep *sweep, const mpm_group *group, const int law, int which,
                                   int32_t found)
{
    const bool fluid = law == MPM_FLUID;
    const struct constants k = group_constants(sweep, group);
    const mpm_measure *most = &sweep->measures[0];
    const double limit = which == 0 ? most->rate2 : which == 1 ? most->wave2 : which == 2 ? most->speed : most->gradient2;
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, sweep->materials[group->material].values);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, fluid, true);
        if (mpm_laws_plastic(law))
            tile_load_plastic(&tile, sweep->particles, group->first_tile + t);
        if (!fluid)
            tile.state.J = matrix_det(tile.state.F);
        const struct law_response response = respond(law, &parameters, tile.state, tile.C);
        const struct limits l = particle_limits(sweep, &k, &tile, &response, fluid);
        for (int q = 0; q < WIDTH; q++) {
            const int32_t row = sweep->particles->row[(group->first_tile + t) * WIDTH + q];
            if (row >= 0 && (double)limit_of_lane(&l, which, q) >= limit && (found < 0 || row < found))
                found = row;
        }
    }
    return found;
}

int32_t SWEEP(find_limit)(const mpm_sweep *sweep, int which)
{
    int32_t found = -1;
    for (size_t g = 0; g < sweep->particles->group_count; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        switch (sweep->materials[group->material].law) {
#define CASE(enumerator, name) \
    case enumerator: \
        found = find_limit_in_group(sweep, group, enumerator, which, found); \
        break;
            MPM_LAWS(CASE)
#undef CASE
        }
    }
    return found;
}

#ifndef SWEEP_ANY_SCHEME /* what does not depend on the scheme */

void SWEEP(find_trouble)(const mpm_sweep *sweep, uint8_t *flags)
{
    for (size_t g = 0; g < sweep->particles->group_count; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        const bool fluid = sweep->materials[group->material].law == MPM_FLUID;
        const struct constants k = group_constants(sweep, group);
        for (ptrdiff_t t = 0; t < group->tiles; t++) {
            struct tile tile;
            tile_load(&tile, sweep->particles, group->first_tile + t, fluid, true);
            if (!fluid)
                tile.state.J = matrix_det(tile.state.F);
            const unsigned outside = find_outside(&k, &tile), out_of_range = find_out_of_range(&k, &tile);
            for (int q = 0; q < WIDTH; q++) {
                const int32_t row = sweep->particles->row[(group->first_tile + t) * WIDTH + q];
                if (row >= 0 && (outside >> q & 1))
                    flags[row] = MPM_OUTSIDE;
                if (row >= 0 && (out_of_range >> q & 1))
                    flags[row] = MPM_INVERTED;
            }
        }
    }
}

/* States from rows `first` to `first + lanes` of arrays; `plastic` may be NULL. */
static struct law_state state_from_rows(const real *F, const real *plastic, ptrdiff_t first, int lanes)
{
    struct law_state state = {.F = matrix_identity(), .plastic = wide_set(1)};
    for (int q = 0; q < lanes; q++) {
        for (int e = 0; e < DIM * DIM; e++)
            ((real *)&state.F.m[e / DIM][e % DIM])[q] = F[(first + q) * DIM * DIM + e];
        if (plastic)
            ((real *)&state.plastic)[q] = plastic[first + q];
    }
    return state;
}

void SWEEP(evaluate)(const mpm_evaluation *evaluation)
{
    const int law = evaluation->material.law;
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, evaluation->material.values);
    matrix rest = matrix_scale(wide_set(0), matrix_identity());
    for (ptrdiff_t first = 0; first < evaluation->count; first += WIDTH) {
        const int lanes = evaluation->count - first < WIDTH ? (int)(evaluation->count - first) : WIDTH;
        struct law_state state = state_from_rows(evaluation->F, evaluation->plastic, first, lanes);
        state.J = matrix_det(state.F);
        const struct law_response r = respond(law, &parameters, state, rest);
        for (int q = 0; q < lanes; q++) {
            for (int e = 0; e < DIM * DIM; e++)
                ((real *)evaluation->tau)[(first + q) * DIM * DIM + e] = wide_lane(r.tau.m[e / DIM][e % DIM], q);
            ((real *)evaluation->energy)[first + q] = wide_lane(r.energy, q);
            ((real *)evaluation->tau_zz)[first + q] = DIM == 2 ? wide_lane(r.tau_zz, q) : 0;
            ((real *)evaluation->isolated)[first + q] = wide_lane(r.isolated, q);
            ((real *)evaluation->wave)[first + q] = wide_lane(r.wave, q);
        }
    }
}

INLINE void return_map_rows(const mpm_return_map *states, const int law)
{
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, states->material.values);
    real *F = states->F, *plastic = states->plastic;
    for (ptrdiff_t first = 0; first < states->count; first += WIDTH) {
        const int lanes = states->count - first < WIDTH ? (int)(states->count - first) : WIDTH;
        struct law_state state = state_from_rows(F, plastic, first, lanes);
        return_map(law, &parameters, &state);
        for (int q = 0; q < lanes; q++) {
            for (int e = 0; e < DIM * DIM; e++)
                F[(first + q) * DIM * DIM + e] = wide_lane(state.F.m[e / DIM][e % DIM], q);
            plastic[first + q] = wide_lane(state.plastic, q);
        }
    }
}

void SWEEP(return_map)(const mpm_return_map *states)
{
    switch (states->material.law) {
#define CASE(enumerator, name) \
    case enumerator: \
        return_map_rows(states, enumerator); \
        break;
        MPM_PLASTIC_LAWS(CASE)
#undef CASE
    }
}

#endif
