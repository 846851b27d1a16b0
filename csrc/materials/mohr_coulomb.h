/* SPDX-License-Identifier: MIT
 *
 * Soil or rock by Mohr and Coulomb: elastic in its logarithmic strain (materials/hencky.h). It slides on the plane
 * where shear exceeds friction and cohesion, gains volume as it slides, and parts at the apex of the yield surface.
 *
 *     F = F_E F_P,  e = 1/2 ln F_E F_E^T,  tau_i = 2 mu e_i + lambda tr e          F_E is the particle's F
 *     (1 + sin phi) tau_1 - (1 - sin phi) tau_3 <= 2 c cos phi                     yield: tau_1 >= tau_2 >= tau_3 [Pa]
 *     tau_1 <= sigma_t                                             cut-off of tension, where there is one [Pa]
 *
 * phi = 0 is Tresca's criterion. The return map goes, with the flow of the dilation angle psi, to the plane, or if the
 * principal stresses would change places to the edge tau_1 = tau_2 or tau_2 = tau_3, or if these cross there to the
 * apex tau_i = c cot phi, where grains part: the gap g takes the rest of the volume. Beyond the cut-off, flow is normal
 * to it: one, two or three stresses become sigma_t, and grains part in the last case. Where that is beyond the plane,
 * the state goes to the line or the corner in which both meet. The trial strain includes ln g/3 along each axis. Jp =
 * det F_P takes what F_E loses. Flow is found as a change of strain: differences of stresses, which lose the digits of
 * 2 mu e beside lambda tr e where nu is near 1/2, would feed energy to the deviator. The strength follows the plastic
 * strain at the beginning of a step (materials/strength.h). E. A. de Souza Neto, D. Peric & D. R. J. Owen,
 * Computational Methods for Plasticity (2008), section 8.2; gaps as in Tampubolon et al., ACM TOG 36(4) (2017) 105.
 */
#pragma once
#include "materials/row.h"
#include "materials/strength.h"

#define MOHR_COULOMB_PARAMETERS(P) \
    ELASTIC_MODULI(P) \
    P(friction_angle_deg, "deg", 0, 90, false, true, "phi: angle of internal friction; 0: Tresca") \
    P(dilation_angle_deg, "deg", 0, 90, false, true, "psi: angle of dilation") \
    P(cohesion, "Pa", NOT_NEGATIVE, "shear strength without pressure") \
    P(tension, "Pa", 0, INFINITY, false, false, "largest principal stress; infinite: no cut-off") \
    STRENGTH_PARAMETERS(P) \
    DENSITY(P)

struct mohr_coulomb_parameters { MOHR_COULOMB_PARAMETERS(MPM_MEMBER) };

#define MOHR_COULOMB_START(p) {(p)->friction_angle_deg, (p)->dilation_angle_deg, (p)->cohesion}

static inline const char *mohr_coulomb_unfit(const double *values)
{
    const struct mohr_coulomb_parameters *p = MPM_VALUES(mohr_coulomb, values);
    const double start[3] = MOHR_COULOMB_START(p);
    return strength_unfit(start, &p->table_strain_1, true);
}

MPM_ROW(mohr_coulomb,
    .name = "mohr_coulomb", .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(mohr_coulomb, MOHR_COULOMB_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(mohr_coulomb_unfit),
    .fields = 4, .field = {PLASTIC_VOLUME_RATIO, STRETCH_OUT_OF_PLANE, GAP, PLASTIC_STRAIN},
    .reference = "E. A. de Souza Neto, D. Peric, D. R. J. Owen, Computational Methods for Plasticity, Wiley "
                 "(2008), section 8.2. doi:10.1002/9780470694626")

#ifdef MPM_DIM /* for kernels */
#include "materials/flow_tangent.h"
#include "materials/hencky_flow.h"

enum { MOHR_COULOMB_JP, MOHR_COULOMB_FZZ, MOHR_COULOMB_GAP, MOHR_COULOMB_STRAIN }; /* index in the history */

struct mohr_coulomb {
    struct hencky elastic;
    wide bulk3;              /* 3 K [Pa] */
    wide tensile, pressed;   /* 2 mu (1 + sin phi), 2 mu (1 - sin phi) [Pa] */
    wide volume;             /* 2 lambda sin phi [Pa] */
    wide cohesion;           /* 2 c cos phi [Pa] */
    wide inner, strength;    /* M, k of the largest cone q = M p + k within the surface */
    wide along, across;      /* strain per flow on a plane: 1 + sin psi, 1 - sin psi */
    wide plane, right, left; /* 1/stiffness of the plane, of the edges tau_1 = tau_2 and tau_2 = tau_3 [1/Pa] */
    wide apex;               /* strain along each axis where grains part; infinite where they do not */
    wide tension;            /* sigma_t [Pa]; infinite where it is not below c cot phi */
    wide under;              /* tau_3 of the plane where tau_1 = sigma_t [Pa] */
    wide cut_off;            /* the sigma_t that was given */
    struct strength_table table;
};

INLINE struct mohr_coulomb mohr_coulomb_prepare(const struct mohr_coulomb_parameters *p)
{
    const double E = p->E, nu = p->nu, mu = E / (2 * (1 + nu)), lambda = E * nu / ((1 + nu) * (1 - 2 * nu));
    double s, cosine, d, unused;
    angle_sine_cosine(p->friction_angle_deg * (3.14159265358979323846 / 180), &s, &cosine);
    angle_sine_cosine(p->dilation_angle_deg * (3.14159265358979323846 / 180), &d, &unused);
    const double first = 2 * mu * (1 + s) * (1 + d), third = 2 * mu * (1 - s) * (1 - d), both = 4 * lambda * s * d;
    const double tip = s > 0 ? p->cohesion * cosine / s : INFINITY;
    const double tension = p->tension < tip ? p->tension : INFINITY, first_apex = p->tension < tip ? p->tension : tip;
    const double start[3] = MOHR_COULOMB_START(p);
    const struct mohr_coulomb law = {
        .elastic = {wide_set((real)mu), wide_set((real)lambda)},
        .bulk3 = wide_set((real)(E / (1 - 2 * nu))),
        .tensile = wide_set((real)(2 * mu * (1 + s))),
        .pressed = wide_set((real)(2 * mu * (1 - s))),
        .volume = wide_set((real)(2 * lambda * s)),
        .cohesion = wide_set((real)(2 * p->cohesion * cosine)),
        .inner = wide_set((real)(3 * s / __builtin_sqrt(3 + s * s))),
        .strength = wide_set((real)(3 * p->cohesion * cosine / __builtin_sqrt(3 + s * s))),
        .along = wide_set((real)(1 + d)),
        .across = wide_set((real)(1 - d)),
        .plane = wide_set((real)(1 / (first + third + both))),
        .right = wide_set((real)(1 / (first + 2 * third + 2 * both))),
        .left = wide_set((real)(1 / (2 * first + third + 2 * both))),
        .apex = wide_set((real)(first_apex * (1 - 2 * nu) / E)),
        .tension = wide_set((real)tension),
        .under = wide_set((real)(tension < tip ? ((1 + s) * tension - 2 * p->cohesion * cosine) / (1 - s) : 0)),
        .cut_off = wide_set((real)p->tension),
        .table = strength_table_of(start, &p->table_strain_1),
    };
    return law;
}

/* The law with the strength at a plastic strain. */
NOINLINE void mohr_coulomb_harden(const struct mohr_coulomb *law, wide strain, struct mohr_coulomb *now)
{
    const wide zero = wide_set(0), one = wide_set(1), two = wide_set(2), infinite = wide_set((real)INFINITY);
    const struct strength strength = strength_at(&law->table, wide_max(strain, zero));
    wide s, cosine, d, unused;
    strength_sine_cosine(strength.friction, &s, &cosine);
    strength_sine_cosine(strength.dilation, &d, &unused);
    const wide two_mu = law->elastic.mu + law->elastic.mu, c = strength.cohesion;
    const wide root = wide_sqrt(wide_fma(s, s, wide_set(3)));
    const wide first = two_mu * (one + s) * (one + d), third = two_mu * (one - s) * (one - d);
    const wide both = wide_set(4) * law->elastic.lambda * s * d;
    const wide tip = wide_select(wide_less(zero, s), c * cosine / s, infinite);
    const mask cut = wide_less(law->cut_off, tip);
    const wide apex = wide_min(law->cut_off, tip);
    *now = *law;
    now->tensile = two_mu * (one + s);
    now->pressed = two_mu * (one - s);
    now->volume = two * law->elastic.lambda * s;
    now->cohesion = two * c * cosine;
    now->inner = wide_set(3) * s / root;
    now->strength = wide_set(3) * c * cosine / root;
    now->along = one + d;
    now->across = one - d;
    now->plane = one / (first + third + both);
    now->right = one / (first + two * third + two * both);
    now->left = one / (two * first + third + two * both);
    now->apex = apex / law->bulk3;
    now->tension = wide_select(cut, law->cut_off, infinite);
    now->under = wide_select(cut, ((one + s) * apex - now->cohesion) / (one - s), zero);
}

/* Ordered principal strains after the return, and whether grains part. */
struct mohr_coulomb_strain {
    wide high, middle, low;
    mask yields, parts;
    mask torn, meets, two; /* beyond the cut-off; there, on the plane too; two stresses (of the plane, the first two) */
    mask corner;           /* of the cut-off and the plane, where two stresses are equal */
};

/* What flow adds to principal strains in any order. */
struct mohr_coulomb_flow {
    wide change[3];
    mask yields, parts;
};

/* By how much stress exceeds the yield surface, given the largest strain, the smallest, and the part of `rest`. */
INLINE wide mohr_coulomb_over(const struct mohr_coulomb *law, wide high, wide low, wide rest)
{
    return wide_fma(law->tensile, high, wide_fnma(law->pressed, low, rest));
}

/* The return to the cut-off, for lanes that are beyond it. */
NOINLINE void mohr_coulomb_tear(const struct mohr_coulomb *law, wide high, wide middle, wide low, mask torn,
                                struct mohr_coulomb_strain *r)
{
    const wide zero = wide_set(0), mu = law->elastic.mu, lambda = law->elastic.lambda, t = law->tension;
    const wide two_mu = mu + mu, trace = high + middle + low;
    const wide single = high - (wide_fma(two_mu, high, lambda * trace) - t) / (two_mu + lambda);
    const wide pair = (t - lambda * low) / (two_mu + lambda + lambda);
    const mask two = wide_less(single, middle), three = two & wide_less(pair, low);
    struct mohr_coulomb_strain n = {.parts = three, .torn = torn};
    n.two = two & mask_not(three);
    n.high = wide_select(three, law->apex, wide_select(two, pair, single));
    n.middle = wide_select(three, law->apex, wide_select(two, pair, middle));
    n.low = wide_select(three, law->apex, low);

    const wide rest = wide_fma(law->volume, n.high + n.middle + n.low, -law->cohesion);
    n.meets = wide_less(zero, mohr_coulomb_over(law, n.high, n.low, rest)) & mask_not(three);
    const wide apart = (t - law->under) / two_mu;
    const wide line_low = (law->under - lambda * (middle + apart)) / (two_mu + lambda + lambda);
    const wide line_high = line_low + apart;
    const mask above = wide_less(line_high, middle), below = wide_less(middle, line_low);
    const wide share = lambda / law->bulk3; /* e_i = (tau_i - lambda/(3 K) tr tau)/(2 mu) */
    const wide sum = wide_select(above, t + t + law->under, t + law->under + law->under);
    const wide corner_high = (t - share * sum) / two_mu, corner_low = (law->under - share * sum) / two_mu;
    n.corner = n.meets & (above | below);
    n.high = wide_select(n.meets, wide_select(n.corner, corner_high, line_high), n.high);
    n.low = wide_select(n.meets, wide_select(n.corner, corner_low, line_low), n.low);
    const wide between = wide_select(above, corner_high, wide_select(below, corner_low, middle));
    n.middle = wide_select(n.meets, between, n.middle);

    r->high = wide_select(torn, n.high, r->high);
    r->middle = wide_select(torn, n.middle, r->middle);
    r->low = wide_select(torn, n.low, r->low);
    r->parts = (torn & n.parts) | (mask_not(torn) & r->parts);
    r->yields |= torn;
    r->torn = torn;
    r->meets = torn & n.meets;
    r->two = torn & n.two & mask_not(n.meets);
    r->corner = torn & n.corner;
}

INLINE struct mohr_coulomb_strain mohr_coulomb_map(const struct mohr_coulomb *law, wide high, wide middle, wide low)
{
    const wide half = wide_set((real)0.5), rest = wide_fma(law->volume, high + middle + low, -law->cohesion);
    const wide over = mohr_coulomb_over(law, high, low, rest);
    struct mohr_coulomb_strain r = {.yields = wide_less(wide_set(0), over)};
    const wide flow = over * law->plane;
    const wide plane_high = wide_fnma(flow, law->along, high), plane_low = wide_fma(flow, law->across, low);

    const wide right_flow = (over + mohr_coulomb_over(law, middle, low, rest)) * law->right;
    const wide right_high = half * wide_fnma(right_flow, law->along, high + middle);
    const wide right_low = wide_fma(right_flow, law->across, low);

    const wide left_flow = (over + mohr_coulomb_over(law, high, middle, rest)) * law->left;
    const wide left_high = wide_fnma(left_flow, law->along, high);
    const wide left_low = half * wide_fma(left_flow, law->across, middle + low);

    const mask right = wide_less(plane_high, middle), left = mask_not(right) & wide_less(middle, plane_low);
    r.high = wide_select(right, right_high, wide_select(left, left_high, plane_high));
    r.low = wide_select(right, right_low, wide_select(left, left_low, plane_low));
    r.middle = wide_select(right, right_high, wide_select(left, left_low, middle));
    r.parts = r.yields & wide_less(r.high, r.low) & wide_less_equal(law->apex, wide_set(REAL_LARGEST));
    r.high = wide_select(r.yields, wide_select(r.parts, law->apex, r.high), high);
    r.middle = wide_select(r.yields, wide_select(r.parts, law->apex, r.middle), middle);
    r.low = wide_select(r.yields, wide_select(r.parts, law->apex, r.low), low);
    const wide two_mu = law->elastic.mu + law->elastic.mu;
    const wide largest = wide_fma(two_mu, r.high, law->elastic.lambda * (r.high + r.middle + r.low));
    const mask is_cut = wide_less_equal(law->tension, wide_set(REAL_LARGEST));
    const mask torn = wide_less(law->tension, largest) | (r.parts & is_cut);
    r.torn = r.meets = r.two = r.corner = wide_less(wide_set(1), wide_set(0));
    if (__builtin_expect(mask_any(torn), 0)) {
        struct mohr_coulomb_strain copy = r; /* in memory, so that the original stays in registers */
        mohr_coulomb_tear(law, high, middle, low, torn, &copy);
        r = copy;
    }
    return r;
}

INLINE struct mohr_coulomb_flow mohr_coulomb_flow_of(const struct mohr_coulomb *law, const wide strain[3])
{
    const wide upper = wide_max(strain[0], strain[1]), lower = wide_min(strain[0], strain[1]);
    const wide high = wide_max(upper, strain[2]), low = wide_min(lower, strain[2]);
    const wide middle = wide_max(lower, wide_min(upper, strain[2]));
    const struct mohr_coulomb_strain r = mohr_coulomb_map(law, high, middle, low);
    struct mohr_coulomb_flow flow = {.yields = r.yields, .parts = r.parts};
    UNROLL for (int i = 0; i < 3; i++) {
        const wide lesser = wide_select(wide_less(low, strain[i]), r.middle, r.low);
        flow.change[i] = wide_select(wide_less(strain[i], high), lesser, r.high) - strain[i];
    }
    return flow;
}

/* For large strains: F and its flow, in the lanes of `far`. */
NOINLINE void mohr_coulomb_yield_far(const struct mohr_coulomb *law, const matrix *F, wide zz, wide lift, mask far,
                                     matrix *moved, struct mohr_coulomb_flow *flow)
{
    const struct singular s = singular_decompose(*F);
    wide strain[3], value[DIM];
    UNROLL for (int i = 0; i < 3; i++)
        strain[i] = wide_fma(wide_set((real)(1.0 / 3)), lift, i < DIM ? wide_log_any(s.value[i < DIM ? i : 0]) : zz);
    const struct mohr_coulomb_flow found = mohr_coulomb_flow_of(law, strain);
    UNROLL for (int i = 0; i < DIM; i++)
        value[i] = wide_exp(strain[i] + found.change[i]);
    *moved = matrix_select(far, singular_compose(&s, value), *moved);
    UNROLL for (int i = 0; i < 3; i++)
        flow->change[i] = wide_select(far, found.change[i], flow->change[i]);
    flow->yields = (far & found.yields) | (mask_not(far) & flow->yields);
    flow->parts = (far & found.parts) | (mask_not(far) & flow->parts);
}

/* The return map for a tile in which the lanes of `may` may yield or close gaps. Returns the lanes whose history it
 * limited. */
NOINLINE mask mohr_coulomb_yield(const struct mohr_coulomb *law, const struct hencky_trial *t, matrix *F, wide *Fzz,
                                 wide *Jp, wide *gap, wide *plastic, mask may)
{
    const wide zero = wide_set(0), one = wide_set(1), third = wide_set((real)(1.0 / 3)), lift = wide_log_any(*gap);
    const wide mean = third * t->trace, raised = third * lift;
    const struct spectrum s = spectrum_of(t->deviator);
    wide strain[3], value[DIM];
    UNROLL for (int i = 0; i < 3; i++)
        strain[i] = (i < DIM ? s.value[i < DIM ? i : 0] : t->zz) + (mean + raised);
    struct mohr_coulomb_flow flow = mohr_coulomb_flow_of(law, strain);
    UNROLL for (int i = 0; i < DIM; i++)
        value[i] = wide_expm1(flow.change[i] + raised);
    matrix moved = matrix_advance(one, spectrum_spread(&s, value), *F);
    if (__builtin_expect(mask_any(may & t->far), 0))
        mohr_coulomb_yield_far(law, F, t->zz + mean, lift, t->far, &moved, &flow);

    const mask changes = may & (flow.yields | wide_less(*gap, one) | wide_less(one, *gap));
    const wide flowed = flow.change[0] + flow.change[1] + flow.change[2]; /* of the trace */
    *F = matrix_select(changes, moved, *F);
    if (DIM == 2)
        *Fzz = wide_select(changes, wide_fma(wide_expm1(flow.change[2] + raised), *Fzz, *Fzz), *Fzz);
    wide length2 = zero; /* of its deviator */
    UNROLL for (int i = 0; i < 3; i++) {
        const wide part = wide_fnma(third, flowed, flow.change[i]);
        length2 = wide_fma(part, part, length2);
    }
    const wide grown = wide_fma(wide_set(PLASTIC_SHEAR), wide_sqrt(length2), *plastic);
    *plastic = wide_select(may & flow.yields, grown, *plastic);
    const wide opened = wide_select(flow.parts, -flowed, zero);
    return hencky_keep_volume(Jp, gap, -flowed - lift, wide_exp(opened), changes);
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the fault stays visible. Within the inner cone no lane needs a decomposition. */
INLINE mask mohr_coulomb_return_map(const struct mohr_coulomb *law, struct law_state *state, wide dt,
                                    matrix velocity_gradient)
{
    (void)dt, (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), third = wide_set((real)(1.0 / 3));
    wide Fzz = state->history[MOHR_COULOMB_FZZ], Jp = state->history[MOHR_COULOMB_JP];
    wide gap = state->history[MOHR_COULOMB_GAP], plastic = state->history[MOHR_COULOMB_STRAIN];
    struct mohr_coulomb now;
    if (law->table.points) {
        mohr_coulomb_harden(law, plastic, &now);
        law = &now;
    }
    const struct hencky_trial t = hencky_trial_of(state->F, Fzz);
    const wide p = -third * law->bulk3 * t.trace, q = wide_set((real)2.4494897427831781) * law->elastic.mu * t.length;
    const mask inside = wide_less_equal(q, wide_fma(law->inner, p, law->strength)) &
                        wide_less_equal(wide_fma(third + third, q, -p), law->tension);
    const mask may = t.sound & (mask_not(inside) | wide_less(gap, one) | wide_less(one, gap));
    if (!mask_any(may))
        return wide_less(one, zero);
    matrix F = state->F; /* copies in memory, so that the originals stay in registers */
    const struct hencky_trial trial = t;
    const mask limited = mohr_coulomb_yield(law, &trial, &F, &Fzz, &Jp, &gap, &plastic, may);
    state->F = F;
    state->history[MOHR_COULOMB_FZZ] = Fzz;
    state->history[MOHR_COULOMB_JP] = Jp;
    state->history[MOHR_COULOMB_GAP] = gap;
    state->history[MOHR_COULOMB_STRAIN] = plastic;
    return limited;
}

INLINE struct law_evaluation mohr_coulomb_evaluate(const struct mohr_coulomb *law, struct law_state state,
                                                   matrix velocity_gradient)
{
    (void)velocity_gradient;
    return hencky_flow_evaluate(&law->elastic, state.F, state.history[MOHR_COULOMB_FZZ]);
}

/* The same as below, of lanes that are on the cut-off. */
NOINLINE void mohr_coulomb_torn_slopes(const struct mohr_coulomb *law, const struct mohr_coulomb_strain *r,
                                       wide E[3][3])
{
    const wide zero = wide_set(0), lambda = law->elastic.lambda;
    const wide two_mu = law->elastic.mu + law->elastic.mu;
    const wide one_share = lambda / (two_mu + lambda), two_share = lambda / (two_mu + lambda + lambda);
    const mask still = r->parts | r->corner;
    UNROLL for (int i = 0; i < 3; i++)
        UNROLL for (int j = 0; j < 3; j++) {
            const wide own = wide_set(i == j);
            const wide single = i == 0 ? (j == 0 ? zero : -one_share) : own;
            const wide pair = i < 2 ? (j < 2 ? zero : -two_share) : own;
            const wide line = i == 1 ? own : (j == 1 ? -two_share : zero);
            const wide slope = wide_select(r->meets, line, wide_select(r->two, pair, single));
            E[i][j] = wide_select(r->torn, wide_select(still, zero, slope), E[i][j]);
        }
}

/* de'_r/de_s of principal strains in descending order. */
INLINE void mohr_coulomb_slopes(const struct mohr_coulomb *law, const struct mohr_coulomb_strain *r, wide E[3][3])
{
    const wide zero = wide_set(0), half = wide_set((real)0.5), two_V = law->volume + law->volume;
    const mask right = r->yields & wide_less_equal(r->high, r->middle);
    const mask left = r->yields & mask_not(right) & wide_less_equal(r->middle, r->low);
    const mask edge = right | left;
    /* by how much the flow grows with each strain */
    const wide f[3] = {
        wide_select(right, law->right * (law->tensile + two_V),
                    wide_select(left, law->left * (law->tensile + law->tensile + two_V),
                                law->plane * (law->tensile + law->volume))),
        wide_select(right, law->right * (law->tensile + two_V),
                    wide_select(left, law->left * (two_V - law->pressed), law->plane * law->volume)),
        wide_select(right, law->right * (two_V - law->pressed - law->pressed),
                    wide_select(left, law->left * (two_V - law->pressed), law->plane * (law->volume - law->pressed)))};
    const wide flow[3] = {wide_select(right, half * law->along, law->along),
                          wide_select(right, half * law->along, wide_select(left, -half * law->across, zero)),
                          wide_select(left, -half * law->across, -law->across)};
    UNROLL for (int i = 0; i < 3; i++)
        UNROLL for (int j = 0; j < 3; j++) {
            /* equal strains of an edge share what changes */
            const bool of_right = i < 2 && j < 2, of_left = i > 0 && j > 0;
            const wide own = wide_set(i == j);
            wide kept = wide_select(right, of_right ? half : own, wide_select(left, of_left ? half : own, own));
            kept = wide_fnma(flow[i], f[j], wide_select(edge, kept, own));
            E[i][j] = wide_select(r->parts, zero, wide_select(r->yields, kept, wide_set(i == j)));
        }
    if (__builtin_expect(mask_any(r->torn), 0))
        mohr_coulomb_torn_slopes(law, r, E);
}

INLINE struct law_tangent mohr_coulomb_tangent(const struct mohr_coulomb *law, const wide stretch[DIM],
                                               const struct law_state *state, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), two_mu = law->elastic.mu + law->elastic.mu;
    const wide lift = wide_set((real)(1.0 / 3)) * wide_log_any(state->history[MOHR_COULOMB_GAP]);
    const wide zz = flow_zz(state, MOHR_COULOMB_FZZ);
    struct flow_trial t = flow_trial_of(stretch, state, 3, zz);
    const struct law_evaluation mapped = flow_map(MPM_MOHR_COULOMB, law, &t.state, dt);
    struct mohr_coulomb now;
    if (law->table.points) {
        mohr_coulomb_harden(law, state->history[MOHR_COULOMB_STRAIN], &now);
        law = &now;
    }
    wide e[3], E[3][3], place[DIM][3], D[DIM][DIM], shear[LAW_PAIRS];
    UNROLL for (int i = 0; i < 3; i++)
        e[i] = lift + (i < DIM ? wide_log(t.s[i % DIM]) : zz);
    const wide upper = wide_max(e[0], e[1]), lower = wide_min(e[0], e[1]);
    const struct mohr_coulomb_strain r = mohr_coulomb_map(
        law, wide_max(upper, e[2]), wide_max(lower, wide_min(upper, e[2])), wide_min(lower, e[2]));
    mohr_coulomb_slopes(law, &r, E);
    /* place[i][r] is 1 where axis i is the r-th of the descending order, else 0; the first of equal ones comes first */
    UNROLL for (int i = 0; i < DIM; i++) {
        wide rank = zero;
        UNROLL for (int j = 0; j < 3; j++)
            if (j != i)
                rank += wide_select(j < i ? wide_less_equal(e[i], e[j]) : wide_less(e[i], e[j]), one, zero);
        UNROLL for (int k = 0; k < 3; k++) {
            const wide off = rank - wide_set((real)k);
            place[i][k] = wide_select(wide_less(off * off, wide_set((real)0.25)), one, zero);
        }
    }
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++) {
            wide own = zero, sum = zero;
            UNROLL for (int a = 0; a < 3; a++)
                UNROLL for (int b = 0; b < 3; b++) {
                    own = wide_fma(place[i][a] * place[j][b], E[a][b], own);
                    sum = wide_fma(place[j][b], E[a][b], sum);
                }
            D[i][j] = wide_fma(two_mu, own, law->elastic.lambda * sum);
        }
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i + 1; j < DIM; j++) {
            const wide gap = e[i] - e[j], change = mapped.tau.m[i][i] - mapped.tau.m[j][j];
            const mask apart = wide_less(wide_set(0), wide_abs(gap));
            const wide quotient = change / wide_select(apart, gap, one);
            const wide found = wide_select(apart, quotient, D[i][i] - D[i][j]);
            shear[LAW_PAIR(i, j)] = wide_min(wide_max(found, zero), two_mu);
        }
    return flow_definite(flow_tangent(&t, &mapped, D, shear));
}
#endif
