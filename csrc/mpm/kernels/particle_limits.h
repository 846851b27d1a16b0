/* SPDX-License-Identifier: MIT
 *
 * What limits the step of a particle, and when a particle is outside the domain or out of its law's range. The
 * including file defines ANY_SCHEME: 1 if the scheme is known at run time only, 0 if it is the standard scheme.
 */
#pragma once
#include "materials/law_switch.h"
#include "mpm/kernels/arena.h"
#include "mpm/kernels/shock.h"

/* A single lane that sums a whole group would lose digits that many lanes keep. So the scalar kernel adds its sums to
 * those of the task after so many particles. */
enum { LONGEST_SUM = 32 };

/* Of the step that ends and the step that begins [s]; 0 for a step that the operation does not concern. */
struct durations {
    double ending, beginning;
};

struct constants {
    wide gather_dt, gather_dt_cells; /* dt, dt/h */
    wide affine;                     /* h D^-1: 4/h for the quadratic kernel */
    wide h;
    wide spin;                       /* D/h, the factor of C in angular momentum and energy: h/4; 0: C is no velocity */
    wide isolated;                   /* factor of the isolated bound: 1/h^2 */
    wide stress;                     /* -dt h D^-1 of the step that begins */
    wide stress_by_slope;            /* -dt/h of that step */
    double room;                     /* beyond a face, in cells */
    wide lowest[DIM], highest[DIM];  /* where particles may be, in cells from the block's first node */
    wide J_low, J_high;
    const mpm_law *row; /* of the law */
};

__attribute__((unused)) static struct constants group_constants(const mpm_sweep *sweep, struct durations dt,
                                                                const mpm_group *group)
{
    const mpm_law *law = mpm_material_law(&sweep->materials[group->material]);
    const double h = sweep->dx, room = wall_room(sweep->scheme.degree);
    const double D = mpm_scheme_second_moment(sweep->scheme.degree); /* over h^2 */
    struct constants k = {
        .gather_dt = wide_set((real)dt.ending),
        .gather_dt_cells = wide_set((real)(dt.ending / h)),
        .affine = wide_set((real)(1 / D / h)),
        .h = wide_set((real)h),
        .spin = wide_set(mpm_scheme_is_affine(&sweep->scheme) ? (real)(h * D) : 0),
        .isolated = wide_set((real)(mpm_scheme_isolated_factor(&sweep->scheme) / (h * h))),
        .stress = wide_set((real)(-1 / D * dt.beginning / h)),
        .stress_by_slope = wide_set((real)(-dt.beginning / h)),
        .room = room,
        .J_low = wide_set((real)law->J_low),
        .J_high = wide_set((real)law->J_high),
        .row = law,
    };
    for (int a = 0; a < DIM; a++) {
        const double first = (double)group->block[a] * BLOCK_SIDE;
        k.lowest[a] = wide_set((real)(-first - room));
        k.highest[a] = wide_set((real)((double)sweep->cells[a] - first + room));
        if (sweep->period[a]) { /* no particle leaves there */
            k.lowest[a] = wide_set(-(real)__builtin_inf());
            k.highest[a] = wide_set((real)__builtin_inf());
        }
    }
    return k;
}

INLINE unsigned find_outside(const struct constants *k, const struct tile *tile)
{
    mask inside = wide_less(wide_set(0), tile->mass), alive = inside;
    UNROLL for (int a = 0; a < DIM; a++)
        inside &= wide_less_equal(k->lowest[a], tile->x[a]) & wide_less_equal(tile->x[a], k->highest[a]);
    return mask_bits(alive) & ~mask_bits(inside);
}

/* What becomes of lane q, which is outside. */
INLINE mpm_leave leave_fate(const mpm_sweep *sweep, const struct constants *k, const struct tile *tile, int q)
{
    unsigned beyond = 0;
    for (int a = 0; a < DIM; a++) {
        const real x = wide_lane(tile->x[a], q);
        beyond |= (unsigned)(x < wide_lane(k->lowest[a], q)) << 2 * a;
        beyond |= (unsigned)(x > wide_lane(k->highest[a], q)) << (2 * a + 1);
    }
    return mpm_leave_fate(sweep->on_leave, beyond);
}

INLINE unsigned find_out_of_range(const struct constants *k, const struct tile *tile)
{
    const mask alive = wide_less(wide_set(0), tile->mass);
    return mask_bits(alive) &
           ~mask_bits(wide_less_equal(k->J_low, tile->state.J) & wide_less_equal(tile->state.J, k->J_high));
}

INLINE mask is_finite(wide a)
{
    return wide_less(wide_abs(a), wide_set((real)__builtin_inf()));
}

INLINE unsigned find_bad_state(const struct tile *tile, const int history)
{
    mask alive = wide_less(wide_set(0), tile->mass), finite = alive;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            finite &= is_finite(tile->state.F.m[i][j]);
    for (int c = 0; c < history; c++)
        finite &= is_finite(tile->state.history[c]);
    return mask_bits(alive) & ~mask_bits(finite);
}

INLINE unsigned find_bad_response(const struct tile *tile, const struct law_evaluation *evaluation)
{
    const struct law_evaluation *e = evaluation;
    const mask alive = wide_less(wide_set(0), tile->mass);
    mask finite = is_finite(e->tau_zz) & is_finite(e->energy) & is_finite(e->isolated) & is_finite(e->wave) &
                  is_finite(e->damping);
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            finite &= is_finite(e->tau.m[i][j]);
    return mask_bits(alive) & ~mask_bits(finite);
}

/* Laws of the registry give numbers to any state. Those of users may not, and motion need not show it. */
INLINE unsigned find_broken(const int law, const struct tile *tile, const struct law_evaluation *evaluation,
                            const int history)
{
    return law == MPM_USER ? find_bad_state(tile, history) | find_bad_response(tile, evaluation) : 0;
}

struct limits {
    wide rate2, wave2, speed, gradient2;
};

/* The linear kernel's kappa over its least value: 1/(4 f (1 - f)) for the axis on which the particle is nearest to a
 * node. It is unbounded, because the mass of the far node may vanish. Where f (1 - f) < 0.01, that node is so light
 * that its motion hardly affects the particle. */
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
                                     const struct law_evaluation *evaluation)
{
    const wide zero = wide_set(0);
    const mask alive = wide_less(zero, tile->mass);
    const wide volume_per_mass = tile->volume / wide_select(alive, tile->mass, wide_set(1));
    struct limits l;
    /* isolated particle: dt^2 S V/(m h^2) <= 1 */
    wide factor = k->isolated;
    if (ANY_SCHEME && sweep->scheme.degree == MPM_LINEAR)
        factor *= linear_excess(tile);
    l.rate2 = volume_per_mass * evaluation->isolated * factor;
    wide damping = evaluation->damping;
    if (ANY_SCHEME && mpm_scheme_is_viscous(&sweep->scheme))
        damping += shock_of(&sweep->scheme, k->h, tile, evaluation).damping;
    if (mask_any(wide_less(zero, damping)))
        l.rate2 = damped_rate2(l.rate2, volume_per_mass * damping * factor);
    l.rate2 = wide_select(alive, l.rate2, zero);
    l.wave2 = wide_select(alive, volume_per_mass * evaluation->wave, zero);
    l.speed = zero;
    UNROLL for (int b = 0; b < DIM; b++)
        l.speed = wide_max(wide_abs(tile->v[b]), l.speed);
    l.gradient2 = matrix_dot(tile->C, tile->C);
    return l;
}
