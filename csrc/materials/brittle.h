/* SPDX-License-Identifier: MIT
 *
 * A brittle solid that cracks: Rankine's criterion, and softening by which a crack, smeared over a band, dissipates the
 * fracture energy. Cracks that close carry compression in full.
 *
 *     e = 1/2 ln F F^T = (1 + nu)/E tau - nu/E tr tau I + w/(1 - w) tau_+/E        tau_+: tension, by principal axes
 *     Psi = 1/2 tau : e
 *     r = max over time of tau_1/((1 - w) f_t),   1 - w = exp(-(r - 1)/r_f)/r for r >= 1
 *     r_f = E G_f/(l_c f_t^2) - 1/2
 *
 * The damage w of a particle grows from 0 to 1. The last term of e is the strain of open cracks, so that the compliance
 * in tension grows by 1/(1 - w), and nothing else changes: Psi is convex in e, and tau its derivative (P. Ladeveze, LMT
 * Cachan, report 34 (1983); Ladeveze & Lemaitre, IUTAM (1984)). In a bar the stress after the peak f_t is
 * f_t exp(-(r - 1)/r_f), r = E e/f_t, and the area below the curve is G_f/l_c: the crack band of Bazant & Oh, Materials
 * and Structures 16 (1983) 155. With a band too wide for the fracture energy, r_f <= 0: stress would snap back.
 *
 * In principal axes, with y_i = E e_i + nu S, S = tr tau:
 *
 *     tau_i = h(y_i) y_i,   h = (1 - w)/(1 + nu (1 - w)) for y_i > 0, else 1/(1 + nu)
 *
 * With nu >= 0, k largest y_i are positive, where k is the first for which S of k of them leaves the next not positive.
 * In plane strain the third principal strain is 0.
 *
 * Where 0.001 f_t are left of the strength, a principal stretch beyond e is set back to e: the gap between pieces is
 * longer than a particle knows of, and F stays bounded.
 */
#pragma once
#include "materials/crack_band.h"
#include "materials/row.h"

#define BRITTLE_PARAMETERS(P) \
    P(E, "Pa", POSITIVE, "Young's modulus") \
    P(nu, "1", 0, 0.5, false, true, "Poisson's ratio") \
    P(tensile_strength, "Pa", POSITIVE, "f_t: largest principal stress, of Kirchhoff stresses") \
    CRACK_BAND(P, POSITIVE) \
    DENSITY(P)

struct brittle_parameters { BRITTLE_PARAMETERS(MPM_MEMBER) };

static inline const char *brittle_unfit(const double *values)
{
    const struct brittle_parameters *p = MPM_VALUES(brittle, values);
    const double f = p->tensile_strength;
    return p->E * p->fracture_energy > 0.5 * p->crack_band * f * f
               ? NULL
               : "crack_band must be < 2 E fracture_energy/tensile_strength^2";
}

MPM_ROW(brittle,
    .name = "brittle", .kinked = true, .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(brittle, BRITTLE_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(brittle_unfit),
    .fields = 1, .field = {DAMAGE}, .reference = CRACK_BAND_REFERENCE)

#ifdef MPM_DIM /* for kernels */
#include "materials/hencky.h"

enum { BRITTLE_DAMAGE }; /* index in the history */

#define BRITTLE_LOG_LEFT 6.907755279 /* a crack that carries e^-this of the strength is open for good */

struct brittle {
    struct hencky elastic;
    wide E, nu;
    wide pressed, pressed_sum; /* 1/(1 + nu); nu/(1 + nu) */
    wide strength;             /* f_t [Pa] */
    wide inverse_strength;     /* 1/f_t [1/Pa] */
    wide inverse_range;        /* 1/r_f */
    wide broken;               /* damage from which stretches are limited */
};

INLINE struct brittle brittle_prepare(const struct brittle_parameters *p)
{
    const double f = p->tensile_strength, range = p->E * p->fracture_energy / (p->crack_band * f * f) - 0.5;
    const struct brittle law = {
        .elastic = hencky_of(p->E, p->nu),
        .E = wide_set((real)p->E), .nu = wide_set((real)p->nu),
        .pressed = wide_set((real)(1 / (1 + p->nu))), .pressed_sum = wide_set((real)(p->nu / (1 + p->nu))),
        .strength = wide_set((real)f), .inverse_strength = wide_set((real)(1 / f)),
        .inverse_range = wide_set((real)(1 / range)),
        .broken = wide_set((real)(1 - 1e-3 / (1 + BRITTLE_LOG_LEFT * range))),
    };
    return law;
}

/* E times three principal strains in descending order. */
struct brittle_pull {
    wide high, middle, low;
};

INLINE struct brittle_pull brittle_order(const wide p[3])
{
    const wide upper = wide_max(p[0], p[1]), lower = wide_min(p[0], p[1]);
    const struct brittle_pull pull = {.high = wide_max(upper, p[2]), .middle = wide_max(lower, wide_min(upper, p[2])),
                                 .low = wide_min(lower, p[2])};
    return pull;
}

/* The sum of the principal stresses where a share `kept` of the stiffness in tension is left. */
INLINE wide brittle_sum(const struct brittle *law, const struct brittle_pull *p, wide kept)
{
    const wide zero = wide_set(0), one = wide_set(1), nu = law->nu;
    const wide open = kept / wide_fma(nu, kept, one), shut = law->pressed;
    const wide all = one - wide_set(3) * law->pressed_sum; /* 1 - nu (sum of h), of k = 0 */
    const wide step = nu * (shut - open);                  /* for each that is positive */
    const wide low = p->middle + p->low;
    wide sum = shut * (p->high + low) / all;
    const mask first = wide_less(zero, wide_fma(nu, sum, p->high));
    sum = wide_select(first, wide_fma(open, p->high, shut * low) / (all + step), sum);
    const mask second = first & wide_less(zero, wide_fma(nu, sum, p->middle));
    sum = wide_select(second, wide_fma(open, p->high + p->middle, shut * p->low) / (all + step + step), sum);
    const mask third = second & wide_less(zero, wide_fma(nu, sum, p->low));
    return wide_select(third, open * (p->high + low) / wide_fma(wide_set(3), step, all), sum);
}

/* The share of the stiffness that is left after the stress has been tau_1 = `stress` kept. */
INLINE wide brittle_soften(const struct brittle *law, wide stress)
{
    const wide one = wide_set(1), r = wide_max(stress * law->inverse_strength, one);
    return wide_exp((one - r) * law->inverse_range) / r;
}

/* The same of the strains p where `kept` is left. */
INLINE wide brittle_soften_at(const struct brittle *law, const struct brittle_pull *p, wide kept)
{
    const wide y = wide_fma(law->nu, brittle_sum(law, p, kept), p->high);
    return brittle_soften(law, y / wide_fma(law->nu, kept, wide_set(1)));
}

/* Finds the share that is left, brittle_soften_at(kept) = kept, between 0 and what was: by the secant, in Illinois'
 * form (Dowell & Jarratt, BIT 11 (1971) 168), and by halving now and then. Lanes that are done keep theirs. */
INLINE wide brittle_grow(const struct brittle *law, const struct brittle_pull *p, wide before, wide after, mask grows)
{
    const wide zero = wide_set(0), half = wide_set((real)0.5), small = wide_set(2 * REAL_EPSILON);
    wide high = before, high_miss = after - before, low = zero, low_miss = brittle_soften_at(law, p, zero);
    wide x = after, found = after;
    mask open = grows, fell = wide_less(zero, zero), rose = fell;
    for (int k = 0; k < 60 && mask_any(open); k++) {
        const wide miss = brittle_soften_at(law, p, x) - x;
        found = wide_select(open, x, found);
        const mask up = wide_less_equal(zero, miss); /* the root is at x or above */
        high_miss = wide_select(up, wide_select(rose, half * high_miss, high_miss), miss);
        low_miss = wide_select(up, miss, wide_select(fell, half * low_miss, low_miss));
        low = wide_select(up, x, low);
        high = wide_select(up, high, x);
        rose = up;
        fell = mask_not(up);
        open &= wide_less(small, wide_abs(miss)) & wide_less(small, high - low);
        const wide fall = low_miss - high_miss, secant = wide_fma(low_miss / fall, high - low, low);
        const mask inside = wide_less(low, secant) & wide_less(secant, high);
        x = wide_select(inside, secant, half * (low + high));
        if (k % 8 == 7)
            x = half * (low + high);
    }
    return found;
}

/* Limits the principal stretches of the lanes of `long_ones`. */
NOINLINE void brittle_shorten(matrix *F, mask long_ones)
{
    struct singular s = singular_decompose(*F);
    UNROLL for (int i = 0; i < DIM; i++)
        s.value[i] = wide_min(s.value[i], wide_set((real)2.7182818284590452));
    *F = matrix_select(long_ones, singular_compose(&s, s.value), *F);
}

/* The damage of a tile in which some lanes may crack. */
NOINLINE void brittle_crack(const struct brittle *law, const matrix *strain, matrix *F, wide *damage, mask sound)
{
    const wide zero = wide_set(0), one = wide_set(1);
    const struct spectrum s = spectrum_of(*strain);
    wide pull[3] = {zero, zero, zero};
    UNROLL for (int i = 0; i < DIM; i++)
        pull[i] = law->E * s.value[i];
    const struct brittle_pull p = brittle_order(pull);
    const wide before = one - *damage, after = brittle_soften_at(law, &p, before);
    const wide least = wide_fma(wide_set(16 * REAL_EPSILON), before, wide_set(REAL_EPSILON)); /* rounding of both */
    const mask grows = sound & wide_less(after, before - least);
    if (mask_any(grows)) {
        const wide kept = brittle_grow(law, &p, before, after, grows);
        *damage = wide_select(grows, wide_min(wide_max(one - kept, *damage), one), *damage);
    }
    const mask broken = sound & wide_less_equal(law->broken, *damage);
    const mask long_ones = broken & wide_less(law->E, p.high);
    if (__builtin_expect(mask_any(long_ones), 0))
        brittle_shorten(F, long_ones);
}

/* Lanes that do not crack keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the fault stays visible. Tiles below the strength need no decomposition. */
INLINE mask brittle_return_map(const struct brittle *law, struct law_state *state, wide dt, matrix velocity_gradient)
{
    (void)dt, (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), two_mu = law->elastic.mu + law->elastic.mu;
    const wide J = matrix_det(state->F);
    const mask sound = wide_less(zero, J) & wide_less_equal(J, wide_set(REAL_LARGEST));
    mask far;
    const matrix strain = hencky_strain(state->F, &far);
    const wide pull = law->elastic.lambda * matrix_trace(strain);
    const wide largest = matrix_largest_eigenvalue_bound(matrix_add_diagonal(matrix_scale(two_mu, strain), pull));
    wide damage = state->history[BRITTLE_DAMAGE];
    const mask may = sound & (wide_less(law->strength, largest) | wide_less(zero, damage));
    if (!mask_any(may))
        return wide_less(one, zero);
    const matrix copy = strain;
    matrix F = state->F; /* copies in memory, so that the originals stay in registers */
    brittle_crack(law, &copy, &F, &damage, sound);
    state->F = F;
    state->history[BRITTLE_DAMAGE] = damage;
    return wide_less(one, zero);
}

/* The response of the damaged lanes of a tile. The curvature of Psi is at most that without cracks; stress adds to it.
 * With (tau_i - tau_j)/(e_i - e_j) <= 2 mu for 2 mu, the bounds of hencky_bound_wave hold: 2 mu x coth x is at most
 * 2 mu + |tau_i - tau_j|, and 2 mu x/(1 - e^-2x) at most mu + |tau_i - tau_j|. */
NOINLINE void brittle_respond(const struct brittle *law, const matrix *strain, wide damage, struct law_evaluation *r)
{
    const wide zero = wide_set(0), one = wide_set(1), kept = one - damage, two_mu = law->elastic.mu + law->elastic.mu;
    const struct spectrum s = spectrum_of(*strain);
    wide pull[3] = {zero, zero, zero}, tau[3], high = zero, low = zero, work = zero;
    UNROLL for (int i = 0; i < DIM; i++)
        pull[i] = law->E * s.value[i];
    const struct brittle_pull p = brittle_order(pull);
    const wide lift = law->nu * brittle_sum(law, &p, kept), open = kept / wide_fma(law->nu, kept, one);
    UNROLL for (int i = 0; i < 3; i++) {
        const wide y = pull[i] + lift;
        tau[i] = wide_select(wide_less(zero, y), open, law->pressed) * y;
        if (i < DIM) /* in plane strain the third does no work */
            work = wide_fma(tau[i], s.value[i < DIM ? i : 0], work);
    }
    high = low = tau[0];
    UNROLL for (int i = 1; i < DIM; i++) {
        high = wide_max(high, tau[i]);
        low = wide_min(low, tau[i]);
    }
    const mask cracked = wide_less(zero, damage);
    const wide longitudinal = two_mu + law->elastic.lambda + wide_max(-low, zero) + (high - low);
    const wide isolated = wide_max(law_isolated_modulus(longitudinal, law->elastic.lambda), high);
    r->tau = matrix_select(cracked, spectrum_spread(&s, tau), r->tau);
    r->tau_zz = wide_select(cracked, tau[2], r->tau_zz);
    r->energy = wide_select(cracked, wide_set((real)0.5) * work, r->energy);
    r->wave = wide_select(cracked, longitudinal, r->wave);
    r->isolated = wide_select(cracked, isolated, r->isolated);
}

INLINE struct law_evaluation brittle_evaluate(const struct brittle *law, struct law_state state,
                                              matrix velocity_gradient)
{
    (void)velocity_gradient;
    mask far;
    const matrix strain = hencky_strain(state.F, &far);
    struct law_evaluation r = hencky_respond(&law->elastic, strain, NULL);
    hencky_bound_shear(&law->elastic, strain, &r);
    if (mask_any(wide_less(wide_set(0), state.history[BRITTLE_DAMAGE]))) {
        const matrix copy = strain;
        struct law_evaluation damaged = r; /* copies in memory, so that the originals stay in registers */
        brittle_respond(law, &copy, state.history[BRITTLE_DAMAGE], &damaged);
        r = damaged;
    }
    return r;
}
#endif
