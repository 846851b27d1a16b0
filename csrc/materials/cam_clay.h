/* SPDX-License-Identifier: MIT
 *
 * Modified Cam clay: elastic in its logarithmic strain, stiffer under pressure, and yielding on an ellipse in the plane
 * of pressure and shear. It hardens where it is compacted, softens where it dilates, and flows at constant volume
 * between.
 *
 *     F = F_E F_P,  e = 1/2 ln F_E F_E^T,  v = -tr e/kappa                               F_E is the particle's F
 *     Psi = a kappa (e^v - 1 - v) + mu |dev e|^2                                         per rest volume [J/m3]
 *     p = a (e^v - 1),  q = sqrt(3/2) 2 mu |dev e|                                       Kirchhoff stress [Pa]
 *     q^2/M^2 + P (P - P_c) <= 0,  P = p + a,  P_c = p_c + a                             yield
 *     d ln P_c = -d tr e_P/(lambda - kappa)                                              hardening
 *
 * a is the attraction of the grains, the largest tension. Under isotropic pressure ln P falls with the logarithm of the
 * volume: by 1/kappa in the elastic range, by 1/lambda beyond. K. H. Roscoe & J. B. Burland, in Engineering Plasticity
 * (1968) 535; logarithms of volume as in R. Butterfield, Geotechnique 29 (1979) 469; in finite strain as in R. I. Borja
 * & C. Tamagnini, Comput. Methods Appl. Mech. Eng. 155 (1998) 73.
 *
 * The return map has one unknown, u from 1 at the trial state to 0 where P = P_c/2. With b = lambda - kappa, A =
 * 1/kappa + 1/b, w = u w_1, w_1 = ln(2 P/P_c)/2 of the trial state, and m = w (b - kappa)/(b + kappa):
 *
 *     P = P_x e^(m + w),  P_c = 2 P_x e^(m - w),  q = q_1 u/(u + (1 - u) B/(e^m sinh(w)/w)),  B = 3 mu/(M^2 P_x A)
 *     (q/(M P_x e^m))^2 + e^(2 w) - 2 = 0
 *
 * All three follow from the associated flow of the end of the step; the last is the yield function over (P_x e^m)^2.
 */
#pragma once
#include "materials/row.h"

#define CAM_CLAY_PARAMETERS(P) \
    P(shear_modulus, "Pa", POSITIVE, "mu") \
    P(swelling, "1", 0, 1, true, true, "kappa: fall of ln volume over growth of ln pressure, elastic") \
    P(compression, "1", 0, 1, true, true, "lambda: the same where it yields") \
    P(critical_slope, "1", POSITIVE, "M: shear q over pressure p at critical state") \
    P(attraction, "Pa", POSITIVE, "a: largest tension; the bulk modulus at rest is a/kappa") \
    P(preconsolidation, "Pa", NOT_NEGATIVE, "pressure at which new particles yield") \
    DENSITY(P)

struct cam_clay_parameters { CAM_CLAY_PARAMETERS(MPM_MEMBER) };

static inline const char *cam_clay_unfit(const double *values)
{
    const struct cam_clay_parameters *p = MPM_VALUES(cam_clay, values);
    return p->compression > p->swelling ? NULL : "compression must be > swelling";
}

/* p + a ~ J^(-1/kappa) */
static inline double cam_clay_stiffening(const double *values)
{
    return 1 / MPM_VALUES(cam_clay, values)->swelling;
}

MPM_ROW(cam_clay,
    .name = "cam_clay", .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(cam_clay, CAM_CLAY_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(cam_clay_unfit),
    .stiffening = MPM_OUTSIDE_KERNELS(cam_clay_stiffening),
    .fields = 4,
    .field = {
        PLASTIC_VOLUME_RATIO, STRETCH_OUT_OF_PLANE,
        {"yield_pressure", "Pa", MPM_SCALAR, .low = -INFINITY, .high = INFINITY,
         .initial_parameter = 1 + MPM_PLACE(cam_clay, preconsolidation),
         .meaning = "isotropic pressure at which it yields"},
        PLASTIC_STRAIN,
    },
    .reference = "R. I. Borja, C. Tamagnini, Cam-Clay plasticity part III: Extension of the infinitesimal model "
                 "to include finite strains, Computer Methods in Applied Mechanics and Engineering 155 (1998) "
                 "73-95. doi:10.1016/S0045-7825(97)00141-2")

#ifdef MPM_DIM /* for kernels */
#include "materials/flow_tangent.h"
#include "materials/hencky_flow.h"

enum { CAM_CLAY_JP, CAM_CLAY_FZZ, CAM_CLAY_PC, CAM_CLAY_STRAIN }; /* index in the history */

struct cam_clay {
    wide mu, attraction;       /* [Pa] */
    wide kappa, inverse_kappa;
    wide slope, inverse_M2;    /* M, 1/M^2 */
    wide A, skew, bend;        /* A, (b - kappa)/(b + kappa), 3 mu/(M^2 A) [Pa] */
    wide least, most;          /* limits of P_c [Pa] */
};

#define CAM_CLAY_LARGEST_POWER 40 /* |v| at most: beyond, stress is e^40 a */

INLINE struct cam_clay cam_clay_prepare(const struct cam_clay_parameters *p)
{
    const double mu = p->shear_modulus, kappa = p->swelling, b = p->compression - kappa, M = p->critical_slope,
                 a = p->attraction;
    const double A = 1 / kappa + 1 / b;
    const struct cam_clay law = {
        .mu = wide_set((real)mu), .attraction = wide_set((real)a),
        .kappa = wide_set((real)kappa), .inverse_kappa = wide_set((real)(1 / kappa)),
        .slope = wide_set((real)M), .inverse_M2 = wide_set((real)(1 / (M * M))),
        .A = wide_set((real)A), .skew = wide_set((real)((b - kappa) / (b + kappa))),
        .bend = wide_set((real)(3 * mu / (M * M * A))),
        .least = wide_set((real)(1e-3 * a)), .most = wide_set((real)(1e12 * a)),
    };
    return law;
}

/* v within its limits */
INLINE wide cam_clay_power(const struct cam_clay *law, wide trace)
{
    const wide most = wide_set(CAM_CLAY_LARGEST_POWER);
    return wide_min(wide_max(-trace * law->inverse_kappa, -most), most);
}

/* A trial state beyond the surface, and the state at a value of u. */
struct cam_clay_flow {
    wide w1, q1, Px;         /* of the trial state */
    wide share, grown, lift; /* q/q_1, e^w, e^m */
    wide off;                /* yield function, scaled to lie between -1 and 1 */
};

INLINE void cam_clay_try(const struct cam_clay *law, struct cam_clay_flow *f, wide u)
{
    const wide one = wide_set(1), w = u * f->w1;
    f->grown = wide_exp(w);
    f->lift = wide_exp(w * law->skew);
    const wide around = law->bend / (f->Px * f->lift * wide_sinhc(w, f->grown));
    f->share = u / wide_fma(one - u, around, u);
    const wide Q = f->share * f->q1 / (law->slope * f->Px * f->lift), Q2 = wide_min(Q * Q, wide_set((real)1e15));
    const wide square = f->grown * f->grown;
    f->off = (Q2 + square - wide_set(2)) / (Q2 + square + one);
}

/* Finds u by false position. Where the same end moves again, the other one counts less, in proportion to what is left
 * (N. Anderson & A. Bjorck, BIT 13 (1973) 253). Lanes that are done keep their state. As e^(2 w) <= 2, w does not
 * exceed 0.35: e^w_1 may be beyond all numbers. */
NOINLINE void cam_clay_solve(const struct cam_clay *law, struct cam_clay_flow *f, wide *u, mask yields)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), small = wide_set(4 * REAL_EPSILON);
    struct cam_clay_flow trial = *f;
    const wide top = wide_set((real)0.35), first = wide_min(one, top / wide_max(f->w1, top));
    cam_clay_try(law, &trial, first);
    wide low = zero, high = first, off_low = wide_set((real)-0.5), off_high = trial.off, found = first;
    *f = trial;
    mask open = yields & wide_less(small, trial.off);
    mask low_moved = wide_less(one, zero), high_moved = low_moved;
    for (int k = 0; k < 64 && mask_any(open); k++) {
        const wide secant = low + (high - low) * (off_low / (off_low - off_high));
        const wide next =
            wide_select(wide_less(low, secant) & wide_less(secant, high), secant, half * (low + high));
        cam_clay_try(law, &trial, next);
        const mask above = wide_less(zero, trial.off);
        found = wide_select(open, next, found);
        f->share = wide_select(open, trial.share, f->share);
        f->grown = wide_select(open, trial.grown, f->grown);
        f->lift = wide_select(open, trial.lift, f->lift);
        high = wide_select(above, next, high);
        low = wide_select(above, low, next);
        const wide left = one - trial.off / wide_select(above, off_high, off_low);
        const wide weight = wide_select(wide_less(zero, left), left, half);
        off_low = wide_select(above, wide_select(high_moved, weight * off_low, off_low), trial.off);
        off_high = wide_select(above, trial.off, wide_select(low_moved, weight * off_high, off_high));
        high_moved = above;
        low_moved = wide_less(trial.off, zero);
        open &= wide_less(small, wide_abs(trial.off)) & wide_less(small * high, high - low);
    }
    *u = found;
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the fault stays visible. */
INLINE mask cam_clay_return_map(const struct cam_clay *law, struct law_state *state, wide dt, matrix velocity_gradient)
{
    (void)dt, (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5);
    const struct hencky_trial t = hencky_trial_of(state->F, state->history[CAM_CLAY_FZZ]);
    const wide P = law->attraction * wide_exp(cam_clay_power(law, t.trace));
    const wide given = state->history[CAM_CLAY_PC] + law->attraction;
    const wide Pc = wide_min(wide_max(given, law->least), law->most);
    const wide q = wide_set((real)2.4494897427831781) * law->mu * t.length; /* 2 sqrt(3/2) */
    const wide room = P * (Pc - P), slack = wide_set(32 * REAL_EPSILON) * Pc * Pc;
    const mask yields = t.sound & wide_less(room + slack, q * q * law->inverse_M2);
    if (!mask_any(yields))
        return wide_less(one, zero);

    /* With a small kappa, v of one step may exceed its limit by far. The rest is in the logarithms. */
    const wide rest = wide_max(-t.trace * law->inverse_kappa - wide_set(CAM_CLAY_LARGEST_POWER), zero);
    struct cam_clay_flow f = {.w1 = half * (wide_log_any((P + P) / Pc) + rest), .q1 = q};
    const wide crossing = (f.w1 + f.w1) / law->A; /* plastic compaction at the crossing, where P = P_c/2 */
    f.Px = P * wide_exp(rest - crossing * law->inverse_kappa);
    wide u;
    cam_clay_solve(law, &f, &u, yields);
    const wide compacted = (one - u) * crossing, middle = f.Px * f.lift;
    /* no q on the surface exceeds sqrt(2) M P_x e^m; that holds for extreme trial states, too */
    const wide largest = wide_set((real)1.4142135623730951) * law->slope * middle;
    const wide keep = wide_min(f.share, largest / wide_select(wide_less(zero, q), q, one));

    matrix F = state->F;
    wide Fzz = state->history[CAM_CLAY_FZZ];
    hencky_return(&t, &F, &Fzz, keep, compacted, yields);
    state->F = F;
    state->history[CAM_CLAY_FZZ] = Fzz;
    const wide flowed = wide_select(yields, (one - keep) * t.length, zero);
    state->history[CAM_CLAY_STRAIN] = wide_fma(wide_set(PLASTIC_SHEAR), flowed, state->history[CAM_CLAY_STRAIN]);
    const wide Jp = state->history[CAM_CLAY_JP], new_Pc = (middle + middle) / f.grown;
    const wide held = wide_min(wide_max(new_Pc, law->least), law->most);
    state->history[CAM_CLAY_JP] = wide_select(yields, Jp * wide_exp(-compacted), Jp);
    state->history[CAM_CLAY_PC] = wide_select(yields, held - law->attraction, state->history[CAM_CLAY_PC]);
    return yields & (wide_less(new_Pc, held) | wide_less(held, new_Pc));
}

INLINE struct law_evaluation cam_clay_evaluate(const struct cam_clay *law, struct law_state state,
                                               matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), third = wide_set((real)(1.0 / 3));
    const struct hencky_trial t = hencky_trial_of(state.F, state.history[CAM_CLAY_FZZ]);
    const wide v = cam_clay_power(law, t.trace), grown = wide_exp(v), two_mu = law->mu + law->mu;
    const wide p = law->attraction * wide_expm1(v);

    struct law_evaluation r;
    r.tau = matrix_add_diagonal(matrix_scale(two_mu, t.deviator), -p);
    r.tau_zz = wide_fma(two_mu, t.zz, -p);
    r.energy = wide_fma(law->attraction * law->kappa, wide_exp_excess(v, grown), law->mu * t.length * t.length);
    /* that of Hencky's solid with the bulk modulus of this pressure */
    const wide bulk = law->attraction * law->inverse_kappa * grown;
    const struct hencky tangent = {law->mu, wide_fnma(two_mu, third, bulk)};
    r.damping = zero;
    hencky_bound_shear(&tangent, t.deviator, &r);
    return r;
}

/* The return map solves Q^2 + e^(2 w) = 2, Q = q/(M P_x e^m) (cam_clay.h). With h = (1/u - 1) B/(P_x e^m sinh(w)/w) and
 * the share 1/(1 + h) of q, the changes are
 *
 *     d ln Q = d ln q_1 + around/(u S) du - share d ln P_x + ((1 - share)(skew + c) - skew) dw,  S = u + (1 - u) around
 *     dw = w_1 du + u dw_1,  c = d ln(sinh(w)/w)/dw,  Q^2 d ln Q + e^(2 w) dw = 0 */
INLINE struct law_tangent cam_clay_tangent(const struct cam_clay *law, const wide stretch[DIM],
                                           const struct law_state *state, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), mu = law->mu;
    struct flow_trial t = flow_trial_of(stretch, state, 3, flow_zz(state, CAM_CLAY_FZZ));
    const wide v = cam_clay_power(law, t.trace), P1 = law->attraction * wide_exp(v);
    const wide given = state->history[CAM_CLAY_PC] + law->attraction;
    const wide Pc = wide_min(wide_max(given, law->least), law->most);
    const wide q1 = wide_set(FLOW_SHEAR) * mu * t.length;
    const struct law_evaluation mapped = flow_map(MPM_CAM_CLAY, law, &t.state, dt);
    const wide room = P1 * (Pc - P1), slack = wide_set(32 * REAL_EPSILON) * Pc * Pc;
    const mask flows = wide_less(room + slack, q1 * q1 * law->inverse_M2);

    /* u by the shares of shear or of w, whichever is known better */
    const wide w1 = half * wide_log_any((P1 + P1) / Pc), crossing = (w1 + w1) / law->A;
    const wide Px = P1 * wide_exp(-crossing * law->inverse_kappa);
    const wide P2 = law->attraction -
                    wide_set((real)(1.0 / 3)) * (matrix_trace(mapped.tau) + (DIM == 2 ? mapped.tau_zz : zero));
    const wide Pc2 = t.state.history[CAM_CLAY_PC] + law->attraction;
    const wide w = half * wide_log_any((P2 + P2) / wide_max(Pc2, law->least)), lift = wide_exp(w * law->skew);
    const wide grown = wide_exp(w), sinhc = wide_sinhc(w, grown);
    const wide around = law->bend / (Px * lift * sinhc);
    const mask clear = wide_less(wide_set((real)0.05), wide_abs(w1));
    const wide by_w = w / wide_select(clear, w1, one);
    wide length2 = zero; /* the mapped deviator */
    const wide mean = wide_set((real)(1.0 / 3)) * (matrix_trace(mapped.tau) + (DIM == 2 ? mapped.tau_zz : zero));
    UNROLL for (int i = 0; i < DIM; i++)
        length2 = wide_fma(mapped.tau.m[i][i] - mean, mapped.tau.m[i][i] - mean, length2);
    if (DIM == 2)
        length2 = wide_fma(mapped.tau_zz - mean, mapped.tau_zz - mean, length2);
    const wide q2 = wide_set((real)1.2247448713915890) * wide_sqrt(length2);
    const wide share = wide_min(q2 / wide_select(wide_less(zero, q1), q1, one), one);
    const wide by_q = share * around / wide_max(wide_fma(share, around, one - share), wide_set(REAL_EPSILON));
    const wide u = wide_min(wide_max(wide_select(clear, by_w, by_q), zero), one);

    const wide Q = q2 / (law->slope * Px * lift), Q2 = Q * Q, E = grown * grown, S = wide_fma(one - u, around, u);
    const wide part = u / S; /* share of q, as the map has it */
    const mask near = wide_less(wide_abs(w), wide_set((real)0.02));
    const wide away = wide_select(near, one, w), cosh = half * (grown + one / grown);
    const wide c = wide_select(near, w * wide_set((real)(1.0 / 3)), (cosh / sinhc - one) / away);
    const wide B1 = wide_fma(one - part, law->skew + c, -law->skew), bend = wide_fma(Q2, B1, E);
    const wide inverse = one / wide_fma(Q2, around / S, u * bend * w1);
    /* by ln q_1, then by the trace: d ln P_x = (1/(A kappa) - 1)/kappa dt, dw_1 = -dt/(2 kappa) */
    const wide dw1 = -half * law->inverse_kappa, dPx = (law->inverse_kappa / law->A - one) * law->inverse_kappa;
    const wide du_q = -u * Q2 * inverse, du_t = u * (Q2 * part * dPx - bend * u * dw1) * inverse;
    const wide dw_q = w1 * du_q, dw_t = wide_fma(w1, du_t, u * dw1);
    const wide around_u = around / (S * wide_max(u, wide_set(REAL_EPSILON)));
    const wide dq_q = one + around_u * du_q + (one - part) * (law->skew + c) * dw_q;
    const wide dq_t = around_u * du_t + (one - part) * (dPx + (law->skew + c) * dw_t);
    const wide shrunk = part * t.length, whole = wide_select(t.strained, t.length, one), raised = law->skew + one;
    const struct flow_slopes elastic = flow_elastic(law->attraction * law->inverse_kappa * wide_exp(v));
    const struct flow_slopes flow = {
        .keep = part, .by_length = part * dq_q, .by_trace = shrunk * dq_t,
        .mean_by_length = -P2 * raised * dw_q / whole, .mean_by_trace = -P2 * wide_fma(raised, dw_t, dPx)};
    const struct flow_slopes chosen = flow_select(flows, flow, elastic);
    return flow_radial_tangent(&t, &mapped, mu, 3, &chosen);
}
#endif
