/* SPDX-License-Identifier: MIT
 *
 * Cohesive Cam clay (NACC): a compressible neo-Hookean solid that yields on an ellipse in the plane of pressure p and
 * shear q. It hardens where it is compacted, and softens and breaks where it is torn.
 *
 *     F = F_E F_P,  b = F_E F_E^T,  J = det F_E,  alpha its state of consolidation        F_E is the particle's F
 *     Psi(F_E) = mu/2 (J^(-2/3) tr b - 3) + kappa/2 ((J^2 - 1)/2 - ln J)                    per rest volume [J/m3]
 *     s = mu J^(-2/3) dev b,  p = -kappa/2 (J^2 - 1),  tau = s - p I
 *     y = 3/2 (1 + 2 beta) |s|^2 + M^2 (p + beta p0)(p - p0) <= 0,  M = 6 sin phi/(3 - sin phi)
 *     p0 = kappa (1e-5 + sinh(xi max(-alpha, 0)))                                         consolidation pressure
 *
 * The return map: beyond a tip of the ellipse (p > p0 or p < -beta p0), F_E becomes J'^(1/3) U V^T with the pressure of
 * the tip, and alpha grows by ln(J/J'). Else if y > 0, dev b shrinks onto the ellipse at this p and tr b, and alpha
 * grows by ln(J/J_x): J_x has the pressure p_x where the line from the centre of the ellipse to (p, q) crosses it. No
 * case changes J Jp, the whole volume ratio. J. Wolper, Y. Fang, M. Li, J. Lu, M. Gao & C. Jiang, CD-MPM: continuum
 * damage material point methods for dynamic fracture animation, ACM TOG 38(4) (2019) 119, section 4.
 *
 * Traces and deviators are those of three dimensions. In plane strain the elastic stretch out of plane is kept: Fzz.
 */
#pragma once
#include "materials/row.h"

#define NACC_PARAMETERS(P) \
    ELASTIC_MODULI(P) \
    FRICTION_ANGLE(P) \
    P(cohesion, "1", NOT_NEGATIVE, "beta: tensile over compressive strength") \
    P(hardening, "1", NOT_NEGATIVE, "xi: growth of the strength with consolidation") \
    P(consolidation, "1", -10, 10, false, false, "alpha of new particles; below 0: consolidated") \
    DENSITY(P)

struct nacc_parameters { NACC_PARAMETERS(MPM_MEMBER) };

MPM_ROW(nacc,
    .name = "nacc", .J_low = 1e-3, .J_high = 1e3, MPM_ROW_PARAMETERS(nacc, NACC_PARAMETERS),
    .fields = 4,
    .field = {
        PLASTIC_VOLUME_RATIO,
        STRETCH_OUT_OF_PLANE,
        {"alpha", "1", MPM_SCALAR, .low = -INFINITY, .high = INFINITY,
         .initial_parameter = 1 + MPM_PLACE(nacc, consolidation),
         .meaning = "state of consolidation: the lower, the stronger"},
        PLASTIC_STRAIN,
    },
    .reference = "J. Wolper, Y. Fang, M. Li, J. Lu, M. Gao, C. Jiang, CD-MPM: continuum damage material point "
                 "methods for dynamic fracture animation, ACM Transactions on Graphics 38(4) (2019) 119. "
                 "doi:10.1145/3306346.3322949")

#ifdef MPM_DIM /* for kernels */
#include "materials/angle.h"
#include "materials/flow_tangent.h"
#include "math/singular.h"
#include "math/spectrum.h"

enum { NACC_JP, NACC_FZZ, NACC_ALPHA, NACC_STRAIN }; /* index in the history */

struct nacc {
    wide mu, kappa; /* shear and bulk modulus [Pa] */
    wide M2, beta;
    wide shear;     /* 3/2 (1 + 2 beta) */
    wide hardening; /* xi */
};

INLINE struct nacc nacc_prepare(const struct nacc_parameters *p)
{
    double sine, cosine;
    angle_sine_cosine(p->friction_angle_deg * (3.14159265358979323846 / 180), &sine, &cosine);
    const double M = 6 * sine / (3 - sine);
    const struct nacc law = {
        .mu = lame_mu(p->E, p->nu),
        .kappa = wide_set((real)(p->E / (3 * (1 - 2 * p->nu)))),
        .M2 = wide_set((real)(M * M)),
        .beta = wide_set((real)p->cohesion),
        .shear = wide_set((real)(1.5 * (1 + 2 * p->cohesion))),
        .hardening = wide_set((real)p->hardening),
    };
    return law;
}

/* What stress and yield need: b without its mean, the mean and the deviator out of plane, J and J^(-2/3). */
struct nacc_strain {
    struct strain small; /* of three dimensions */
    matrix deviator;
    wide zz, mean, J, shrink;
};

INLINE struct nacc_strain nacc_strain_of(const struct law_state *state)
{
    const wide one = wide_set(1), *Fzz = DIM == 2 ? &state->history[NACC_FZZ] : NULL;
    struct nacc_strain s; /* an initialiser would clear it first */
    s.J = matrix_det(state->F);
    s.zz = wide_set(0);
    if (Fzz)
        s.J *= *Fzz;
    s.small = strain_of(state->F, wide_max(s.J, wide_set((real)1e-9)), Fzz);
    const wide mean = s.small.trace * wide_set((real)(1.0 / 3));
    s.mean = one + mean;
    s.deviator = matrix_add_diagonal(s.small.e, -mean);
    if (Fzz)
        s.zz = wide_fma(*Fzz - one, *Fzz + one, -mean);
    s.shrink = wide_exp(wide_set((real)(-2.0 / 3)) * s.small.ln_J);
    return s;
}

/* J^(-2/3) tr b/3 - 1 = e^w - 1. Where strains are small, w is of second order: that of its logarithm cancels. */
INLINE wide nacc_shear(const struct nacc_strain *b)
{
    const wide one = wide_set(1), third = wide_set((real)(1.0 / 3)), mean = third * b->small.trace;
    const wide w = wide_fma(third + third, b->small.shear, -log_defect(mean, b->mean));
    wide series = one;
    UNROLL for (int k = REAL_IS_FLOAT ? 4 : 8; k > 1; k--) /* |w| < 0.05 */
        series = wide_fma(series * w, wide_set((real)(1.0 / k)), one);
    return wide_select(b->small.near, w * series, wide_fma(b->shrink, b->mean, -one));
}

/* sinh x of x >= 0: its series where that is small, so that nothing cancels. */
INLINE wide nacc_sinh(wide x)
{
    const wide x2 = x * x, grown = wide_exp(x), half = wide_set((real)0.5);
    wide series = wide_set(1);
    UNROLL for (int k = 7; k > 0; k--)
        series = wide_fma(series * x2, wide_set((real)(1.0 / (2 * k * (2 * k + 1)))), wide_set(1));
    return wide_select(wide_less(x, half), x * series, half * (grown - wide_set(1) / grown));
}

/* The strain that flows, by b' over b along each axis. */
struct nacc_flowed {
    wide trace, square; /* tr e, |e|^2 */
};

INLINE void nacc_flow_along(struct nacc_flowed *flowed, wide ratio)
{
    const wide strain = wide_set((real)0.5) * wide_log_any(ratio);
    flowed->trace += strain;
    flowed->square = wide_fma(strain, strain, flowed->square);
}

/* For large strains: F with U diag(sqrt(scale (s^2 - mean) + to)) V^T. */
NOINLINE void nacc_move_far(const matrix *F, matrix *moved, struct nacc_flowed *flowed, wide scale, wide mean, wide to,
                            mask far)
{
    const struct singular s = singular_decompose(*F);
    wide value[DIM];
    struct nacc_flowed own = {wide_set(0), wide_set(0)};
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide before = s.value[i] * s.value[i];
        const wide after = wide_max(wide_fma(scale, wide_fma(s.value[i], s.value[i], -mean), to), wide_set(0));
        value[i] = wide_sqrt(after);
        nacc_flow_along(&own, after / before);
    }
    flowed->trace = wide_select(far, own.trace, flowed->trace);
    flowed->square = wide_select(far, own.square, flowed->square);
    *moved = matrix_select(far, singular_compose(&s, value), *moved);
}

/* For lanes that yield: the same, by W F with W = sqrt((scale (b - mean I) + to I) b^-1), where no stretch is small. */
NOINLINE void nacc_move(matrix *F, const matrix *deviator, struct nacc_flowed *flowed, wide scale, wide mean, wide to,
                        mask yields)
{
    const struct spectrum s = spectrum_of(*deviator);
    wide ratio[DIM], least = wide_set(REAL_LARGEST);
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide before = mean + s.value[i], after = wide_max(wide_fma(scale, s.value[i], to), wide_set(0));
        least = wide_min(least, wide_fma(wide_set((real)-0.25), mean, before));
        const wide share = after / before;
        ratio[i] = wide_sqrt(share);
        nacc_flow_along(flowed, share);
    }
    matrix moved = matrix_multiply(spectrum_spread(&s, ratio), *F);
    const mask far = mask_not(wide_less_equal(wide_set(0), least));
    if (__builtin_expect(mask_any(yields & far), 0))
        nacc_move_far(F, &moved, flowed, scale, mean, to, far);
    *F = matrix_select(yields, moved, *F);
}

/* Where a trial state lies. */
struct nacc_trial {
    wide p0, tip, p;  /* the tips of the ellipse, p0 and -beta p0; the pressure [Pa] */
    wide room, shear2; /* M^2 (p - tip) (p0 - p), and 3/2 (1 + 2 beta) |s|^2, which is less within the ellipse */
    mask pressed, torn, slides; /* beyond one tip or the other; else, beyond the ellipse */
};

INLINE struct nacc_trial nacc_trial_of(const struct nacc *law, const struct nacc_strain *b, wide alpha)
{
    const wide zero = wide_set(0), one = wide_set(1), kappa = law->kappa, half_kappa = wide_set((real)0.5) * kappa;
    const wide relative = wide_set((real)1e-5) + nacc_sinh(law->hardening * wide_max(-alpha, zero));
    const wide length2 = wide_fma(b->zz, b->zz, matrix_dot(b->deviator, b->deviator)), to_shear = law->mu * b->shrink;
    struct nacc_trial t = {.p0 = kappa * wide_min(relative, wide_set((real)1e6))};
    t.tip = -law->beta * t.p0;
    t.p = -half_kappa * b->small.gained * (b->J + one);
    const wide length_s2 = to_shear * to_shear * length2;
    t.room = law->M2 * (t.p - t.tip) * (t.p0 - t.p);
    t.shear2 = law->shear * length_s2;
    const mask sound = wide_less(zero, b->J) & wide_less_equal(b->J, wide_set(REAL_LARGEST)) &
                       wide_less_equal(length_s2, wide_set(REAL_LARGEST));
    const wide slack = wide_set((real)1e-6) * law->M2 * t.p0 * t.p0; /* of a state that was returned and has rounded */
    t.pressed = sound & wide_less(t.p0, t.p);
    t.torn = sound & wide_less(t.p, t.tip);
    t.slides = sound & mask_not(t.pressed | t.torn) & wide_less(t.room + slack, t.shear2);
    return t;
}

/* The factor of the deviator of b: 1 within the ellipse, 0 beyond a tip. */
INLINE wide nacc_scale(const struct nacc_trial *t)
{
    const wide zero = wide_set(0), one = wide_set(1);
    const wide ratio2 = wide_max(t->room, zero) / wide_select(t->slides, t->shear2, one); /* of |s|^2 */
    return wide_select(t->slides, wide_sqrt(ratio2), wide_select(t->pressed | t->torn, zero, one));
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the fault stays visible. */
INLINE mask nacc_return_map(const struct nacc *law, struct law_state *state, wide dt, matrix velocity_gradient)
{
    (void)dt, (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), third = wide_set((real)(1.0 / 3));
    const struct nacc_strain b = nacc_strain_of(state);
    const wide alpha = state->history[NACC_ALPHA], half_kappa = half * law->kappa;
    const struct nacc_trial t = nacc_trial_of(law, &b, alpha);
    const mask beyond = t.pressed | t.torn, yields = beyond | t.slides;
    if (!mask_any(yields))
        return wide_less(one, zero);

    const wide tip_J2 = wide_max(one - wide_select(t.pressed, t.p0, t.tip) / half_kappa, zero), scale = nacc_scale(&t);
    /* the crossing: with c the centre, a fraction of p - c */
    const wide centre = half * (t.p0 + t.tip), axis = half * (t.p0 - t.tip), off = t.p - centre;
    const wide reach2 = wide_fma(law->M2 * off, off, t.shear2);
    const wide crossing = wide_fma(axis * off, wide_sqrt(law->M2 / wide_select(t.slides, reach2, one)), centre);
    const wide crossing_J2 = wide_max(one - crossing / half_kappa, wide_set((real)1e-8));
    const wide J2 = wide_select(beyond, wide_max(tip_J2, wide_set((real)1e-8)), crossing_J2);
    const wide ln_J2 = wide_log_any(J2);
    const wide gained = b.small.ln_J - half * ln_J2;

    const wide to = wide_select(beyond, wide_exp(third * ln_J2), b.mean);
    matrix F = state->F; /* copies in memory, so that the originals stay in registers */
    const matrix deviator = b.deviator;
    struct nacc_flowed flowed = {zero, zero};
    nacc_move(&F, &deviator, &flowed, scale, b.mean, to, yields);
    state->F = F;
    wide J = matrix_det(F);
#if DIM == 2
    const wide Fzz = wide_sqrt(wide_max(wide_fma(scale, b.zz, to), zero));
    nacc_flow_along(&flowed, wide_fma(scale, b.zz, to) / (b.zz + b.mean));
    state->history[NACC_FZZ] = wide_select(yields, Fzz, state->history[NACC_FZZ]);
    J *= Fzz;
#endif
    const wide Jp = state->history[NACC_JP];
    state->history[NACC_JP] = wide_select(yields, Jp * (b.J / wide_select(yields, J, one)), Jp);
    state->history[NACC_ALPHA] = wide_select(yields, alpha + gained, alpha);
    const wide length2 = wide_max(wide_fnma(third * flowed.trace, flowed.trace, flowed.square), zero);
    const wide strain = state->history[NACC_STRAIN];
    const wide sheared = wide_fma(wide_set(PLASTIC_SHEAR), wide_sqrt(length2), strain);
    state->history[NACC_STRAIN] = wide_select(yields, sheared, strain);
    return wide_less(one, zero);
}

INLINE struct law_evaluation nacc_evaluate(const struct nacc *law, struct law_state state, matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), third = wide_set((real)(1.0 / 3));
    const struct nacc_strain b = nacc_strain_of(&state);
    const wide J = b.J, gained = b.small.gained, square = gained * (J + one);
    const wide mu = law->mu * b.shrink, half_kappa = half * law->kappa, pull = half_kappa * square;

    struct law_evaluation r;
    r.tau = matrix_add_diagonal(matrix_scale(mu, b.deviator), pull);
    r.tau_zz = wide_fma(mu, b.zz, pull);
    r.energy = wide_fma(wide_set((real)1.5) * law->mu, nacc_shear(&b),
                        half_kappa * wide_fma(half * gained, gained, b.small.excess));
    /* Along A with trace t, in units of mu J^(-2/3): I1 (2/9 t^2 + tr A^2/3) - 4/3 t A:b + |A F|^2, and
     * kappa (J^2 t^2 - (J^2 - 1)/2 tr A^2). I1 = 3 mean; the plane has its own mean, and w +- r bound its values. */
    const wide centre = matrix_trace(b.deviator) * wide_set((real)(1.0 / DIM));
    const wide radius = matrix_largest_eigenvalue_bound(b.deviator) - centre;
    const wide middle = b.mean + centre, w = middle + radius, least = middle - radius;
    const wide five_thirds = wide_set((real)(5.0 / 3)), two_thirds = wide_set((real)(2.0 / 3));
    r.wave = wide_fma(mu, wide_max(wide_fma(five_thirds, b.mean, -third * least), w) + two_thirds * radius,
                      half_kappa * (square + wide_set(2)));
    const wide whole = wide_fma(mu, two_thirds * b.mean - two_thirds * wide_set(2) * middle, law->kappa * J * J);
    /* 4/3 sqrt(d) |dev b| */
    const wide cross = wide_set((real)(4.0 / 3 * (DIM == 3 ? 2.1213203435596424 : 2))) * radius;
    r.isolated = wide_fma(mu, b.mean + w + cross, wide_set(DIM) * wide_max(whole, zero)) + wide_abs(pull);
    r.damping = zero;
    return r;
}

/* With b_i = s_i^2, m their mean and d = b - m, the map gives b' = c d + m (nacc.h), beyond a tip a constant pressure:
 *
 *     tau_i = mu J'^(-2/3) c d_i + kappa/2 (J'^2 - 1),  J'^2 = prod b'_i
 *     d ln c = (M^2 (p_0 + tip - 2 p) dp/room + 4/3 tr de - d|d|^2/|d|^2)/2,  dp = -kappa J^2 tr de  where it slides
 *     db_i = 2 b_i de_i,  d|d|^2 = 4 sum b_i d_i de_i */
INLINE struct law_tangent nacc_tangent(const struct nacc *law, const wide stretch[DIM], const struct law_state *state,
                                       wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), third = wide_set((real)(1.0 / 3));
    const wide two_thirds = third + third, tiny = wide_set((real)(REAL_IS_FLOAT ? 1e-30 : 1e-200));
    struct flow_trial t = flow_trial_of(stretch, state, 3, flow_zz(state, NACC_FZZ));
    const struct nacc_strain b = nacc_strain_of(&t.state);
    const struct nacc_trial yield = nacc_trial_of(law, &b, state->history[NACC_ALPHA]);
    const struct law_evaluation mapped = flow_map(MPM_NACC, law, &t.state, dt);
    const struct nacc_strain after = nacc_strain_of(&t.state);
    const wide c = nacc_scale(&yield), kept = wide_select(yield.pressed | yield.torn, zero, one);
    const wide J2 = after.J * after.J, mu = law->mu * after.shrink;
    const wide length2 = wide_fma(b.zz, b.zz, matrix_dot(b.deviator, b.deviator));
    const wide whole = wide_select(yield.slides, wide_max(length2, tiny), one);
    const wide least = wide_set(REAL_EPSILON) * law->M2 * yield.p0 * yield.p0;
    const wide room = wide_select(yield.slides, wide_max(yield.room, least), one);
    const wide slope = law->M2 * (yield.p0 + yield.tip - yield.p - yield.p) * law->kappa * b.J * b.J / room;
    wide D[DIM][DIM], shear[LAW_PAIRS];
    UNROLL for (int j = 0; j < DIM; j++) {
        const wide grown = b.deviator.m[j][j] + b.mean, moved = two_thirds * grown; /* dm */
        const wide by_length = wide_set(2) * grown * b.deviator.m[j][j] / whole;
        const wide dc = c * wide_select(yield.slides, half * (two_thirds + two_thirds - slope) - by_length, zero);
        wide ln_J2 = zero, db[DIM]; /* of b' */
        UNROLL for (int i = 0; i < DIM; i++) {
            db[i] = wide_fnma(c, moved, dc * b.deviator.m[i][i]);
            if (i == j)
                db[i] = wide_fma(c, grown + grown, db[i]);
            ln_J2 += (db[i] + moved) / wide_max(after.deviator.m[i][i] + after.mean, tiny);
        }
        if (DIM == 2)
            ln_J2 += (wide_fnma(c, moved, dc * b.zz) + moved) / wide_max(after.zz + after.mean, tiny);
        const wide pull = half * law->kappa * J2 * ln_J2;
        UNROLL for (int i = 0; i < DIM; i++)
            D[i][j] = kept * wide_fma(mu, wide_fnma(third * ln_J2 * c, b.deviator.m[i][i], db[i]), pull);
    }
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i + 1; j < DIM; j++)
            shear[LAW_PAIR(i, j)] = mu * c * (t.s[i] + t.s[j]) / hencky_slope(t.s[i], t.s[j]);
    return flow_definite(flow_tangent(&t, &mapped, D, shear));
}
#endif
