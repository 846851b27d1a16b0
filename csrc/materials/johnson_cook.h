/* SPDX-License-Identifier: MIT
 *
 * Metal at high rates, pressures and temperatures: the yield stress of Johnson and Cook, heat from plastic work (Taylor
 * and Quinney), and a pressure of Mie and Grueneisen about the Hugoniot curve of a linear shock speed,
 * U_s = c0 + s u_p.
 *
 *     F = F_E F_P,  det F_P = 1,  e = 1/2 ln F_E F_E^T,  x = 1 - J                  F_E is the particle's F
 *     dev tau = 2 mu dev e,  tr tau/3 = -p J                                        Kirchhoff stress [Pa]
 *     p = p_H(x) + Gamma rho0 c (T - T_i),  p_H = K x/(1 - s x)^2,  K = rho0 c0^2   pressure [Pa]
 *     sqrt(3/2) |dev tau| <= J (A + B ep^n) (1 + C ln max(r, 1)) (1 - H^m)          yield, r = (d ep/dt)/r0
 *     H = (T - T_r)/(T_m - T_r) between 0 and 1
 *     rho0 c dT = chi sqrt(3/2) |dev tau| d ep
 *
 * In tension p_H = K x. Where 1 - s x < 1/5, far beyond what a metal meets, p_H goes on along its tangent. At a given T
 * stress derives from the free energy
 *
 *     Psi = mu |dev e|^2 + U(x) + Gamma rho0 c (T - T_i) x,  U = integral of p_H = K (x/u)^2 (y - ln(1 + y))/y^2
 *
 * per rest volume, with u = 1 - s x and y = s x/u. G. R. Johnson & W. H. Cook, Proc. 7th Int. Symp. on Ballistics
 * (1983) 541; G. I. Taylor & H. Quinney, Proc. R. Soc. Lond. A 143 (1934) 307; M. A. Meyers, Dynamic Behavior of
 * Materials (1994), chapters 4 and 5.
 *
 * The return map has one unknown, the growth g of ep. The stress falls with it, q = q_1 - 3 mu g from the trial q_1,
 * and the work of the step is (y_0 + q) g/2, y_0 being the yield stress of the strain and temperature before it at the
 * rate of the step. So hardening, rate and temperature are those of the end of the step.
 */
#pragma once
#include "materials/row.h"

/* Without the density, which is the last of a row. */
#define JOHNSON_COOK_OWN(P) \
    P(shear_modulus, "Pa", POSITIVE, "mu") \
    P(bulk_modulus, "Pa", POSITIVE, "K = rho c0^2 at rest") \
    P(s, "1", 0, 10, false, false, "growth of the shock speed with the particle velocity") \
    P(grueneisen, "1", 0, 100, false, false, "Gamma: growth of the pressure with heat per volume") \
    P(A, "Pa", POSITIVE, "yield stress") \
    P(B, "Pa", NOT_NEGATIVE, "hardening") \
    P(n, "1", 0.01, 10, false, false, "exponent of hardening") \
    P(C, "1", 0, 10, false, false, "growth of the yield stress with the logarithm of the strain rate", \
      .branches = MPM_BRANCHES_AT_0) \
    P(reference_rate, "1/s", POSITIVE, "strain rate up to which that growth is none") \
    P(m, "1", 0.01, 100, false, false, "exponent of thermal softening") \
    P(reference_temperature, "K", POSITIVE, "temperature up to which nothing softens") \
    P(melting_temperature, "K", POSITIVE, "temperature without strength") \
    P(initial_temperature, "K", POSITIVE, "of new particles, at which they are at rest") \
    P(heat_capacity, "J/(m3 K)", POSITIVE, "rho c, per rest volume") \
    P(taylor_quinney, "1", 0, 1, false, false, "share of the plastic work that becomes heat")

#define JOHNSON_COOK_PARAMETERS(P) \
    JOHNSON_COOK_OWN(P) \
    DENSITY(P)

#define JOHNSON_COOK_FIELDS \
    STRETCH_OUT_OF_PLANE, PLASTIC_STRAIN, \
        {"temperature", "K", MPM_SCALAR, .initial = 298, .low = 0, .high = INFINITY, \
         .initial_parameter = 1 + MPM_PLACE(johnson_cook, initial_temperature), \
         .heat_capacity = 1 + MPM_PLACE(johnson_cook, heat_capacity), \
         .meaning = "temperature, raised by plastic work"}

struct johnson_cook_parameters { JOHNSON_COOK_PARAMETERS(MPM_MEMBER) };

static inline const char *johnson_cook_unfit(const double *values)
{
    const struct johnson_cook_parameters *p = MPM_VALUES(johnson_cook, values);
    return p->melting_temperature > p->reference_temperature
               ? NULL
               : "melting_temperature must be > reference_temperature";
}

MPM_ROW(johnson_cook,
    .name = "johnson_cook", .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(johnson_cook, JOHNSON_COOK_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(johnson_cook_unfit),
    .fields = 3, .field = {JOHNSON_COOK_FIELDS},
    .reference = "G. R. Johnson, W. H. Cook, A constitutive model and data for metals subjected to large strains, "
                 "high strain rates and high temperatures, Proceedings of the 7th International Symposium on "
                 "Ballistics (1983) 541-547.")

#ifdef MPM_DIM /* for kernels */
#include "materials/flow_tangent.h"
#include "materials/hencky_flow.h"

enum { JOHNSON_COOK_FZZ, JOHNSON_COOK_STRAIN, JOHNSON_COOK_TEMPERATURE }; /* index in the history */

struct johnson_cook {
    wide mu, bulk, slope, steepest;       /* mu, K [Pa], s, largest x of the Hugoniot curve */
    wide thermal, initial;                /* Gamma rho0 c [Pa/K], T_i [K] */
    wide A, B, n, C, m;
    wide inverse_rate;                    /* 1/r0 [s] */
    wide reference, inverse_range;        /* T_r [K], 1/(T_m - T_r) [1/K] */
    wide heating;                         /* chi/(rho0 c) [K/Pa] */
    bool is_viscous;                      /* C > 0 */
};

NOINLINE struct johnson_cook johnson_cook_prepare(const struct johnson_cook_parameters *p)
{
    const double s = p->s, capacity = p->heat_capacity;
    const struct johnson_cook law = {
        .mu = wide_set((real)p->shear_modulus), .bulk = wide_set((real)p->bulk_modulus), .slope = wide_set((real)s),
        .steepest = wide_set((real)(s > 0.01 ? 0.8 / s : 80)),
        .thermal = wide_set((real)(p->grueneisen * capacity)), .initial = wide_set((real)p->initial_temperature),
        .A = wide_set((real)p->A), .B = wide_set((real)p->B), .n = wide_set((real)p->n),
        .C = wide_set((real)p->C), .m = wide_set((real)p->m),
        .inverse_rate = wide_set((real)(1 / p->reference_rate)),
        .reference = wide_set((real)p->reference_temperature),
        .inverse_range = wide_set((real)(1 / (p->melting_temperature - p->reference_temperature))),
        .heating = wide_set((real)(p->taylor_quinney / capacity)),
        .is_viscous = p->C > 0,
    };
    return law;
}

/* a^b for a >= 0, b > 0 */
INLINE wide johnson_cook_power(wide a, wide b)
{
    return wide_select(wide_less(wide_set(0), a), wide_exp(b * wide_log_any(a)), wide_set(0));
}

/* 1 - H^m at a temperature */
INLINE wide johnson_cook_softening(const struct johnson_cook *law, wide temperature)
{
    const wide zero = wide_set(0), one = wide_set(1);
    const wide H = wide_min(wide_max((temperature - law->reference) * law->inverse_range, zero), one);
    return one - johnson_cook_power(H, law->m);
}

/* The volume ratio; in plane strain with the stretch out of plane. */
INLINE wide johnson_cook_volume(wide J, wide Fzz)
{
#if DIM == 2
    return J * Fzz;
#else
    (void)Fzz;
    return J;
#endif
}

/* What the return map of a step knows. */
struct johnson_cook_flow {
    wide q1, y0, J;           /* trial stress; yield stress before the step, at rest; det F */
    wide strain, temperature; /* before the step */
    wide per_rate;            /* 1/(r0 dt) */
};

/* ln r of a growth g in the step */
INLINE wide johnson_cook_ln_rate(const struct johnson_cook_flow *f, wide g)
{
    return wide_max(wide_log_any(g * f->per_rate), wide_set(0));
}

/* The temperature after a growth g, with the factor of its rate. */
INLINE wide johnson_cook_heated(const struct johnson_cook *law, const struct johnson_cook_flow *f, wide g, wide faster)
{
    const wide q = wide_fnma(wide_set(3) * law->mu, g, f->q1);
    return wide_fma(law->heating, wide_set((real)0.5) * g * wide_fma(f->y0, faster, q), f->temperature);
}

/* q1 - 3 mu g - (yield stress at g), and an upper bound of what it falls by per g. */
INLINE wide johnson_cook_miss(const struct johnson_cook *law, const struct johnson_cook_flow *f, wide g, wide *fall)
{
    const wide zero = wide_set(0), one = wide_set(1), three_mu = wide_set(3) * law->mu;
    const wide least = wide_set((real)(REAL_IS_FLOAT ? 1e-30 : 1e-200)), strain = f->strain + g;
    wide faster = one, quickens = zero;
    if (law->is_viscous) {
        const wide ln_rate = johnson_cook_ln_rate(f, g);
        faster = wide_fma(law->C, ln_rate, one);
        quickens = wide_select(wide_less(zero, ln_rate), law->C / wide_max(g, least), zero);
    }
    const wide soft = f->J * johnson_cook_softening(law, johnson_cook_heated(law, f, g, faster));
    const wide hardened = law->B * johnson_cook_power(strain, law->n), still = law->A + hardened;
    const wide slope = law->n * hardened / wide_max(strain, least);
    *fall = wide_fma(soft, wide_fma(slope, faster, still * quickens), three_mu);
    return wide_fnma(soft * still, faster, wide_fnma(three_mu, g, f->q1));
}

/* Finds g by Newton's method between bounds, with halving where it would leave them and now and then. Lanes that are
 * done keep their g. */
NOINLINE void johnson_cook_solve(const struct johnson_cook *law, const struct johnson_cook_flow *f, wide *flow,
                                 mask yields)
{
    const wide half = wide_set((real)0.5), small = wide_set(4 * REAL_EPSILON);
    wide low = wide_set(0), high = f->q1 / (wide_set(3) * law->mu), fall;
    wide g = (f->q1 - f->y0) / (wide_set(3) * law->mu), found = g;
    mask open = yields;
    for (int k = 0; k < 80 && mask_any(open); k++) {
        const wide miss = johnson_cook_miss(law, f, g, &fall);
        const mask above = wide_less(wide_set(0), miss);
        found = wide_select(open, g, found);
        low = wide_select(above, g, low);
        high = wide_select(above, high, g);
        open &= wide_less(small * f->q1, wide_abs(miss)) & wide_less(small * high, high - low);
        const wide newton = g + miss / fall, middle = half * (low + high);
        const mask inside = wide_less(low, newton) & wide_less(newton, high);
        g = wide_select(inside, newton, middle);
        if (k % 8 == 7)
            g = middle;
    }
    *flow = found;
}

/* Lanes that stay elastic keep their bits, so that their neighbours do not affect them. Lanes with a NaN or an inverted
 * F keep theirs too, so that the fault stays visible. */
INLINE mask johnson_cook_return_map(const struct johnson_cook *law, struct law_state *state, wide dt,
                                    matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), tiny = wide_set((real)(REAL_IS_FLOAT ? 1e-30 : 1e-200));
    const wide Fzz = state->history[JOHNSON_COOK_FZZ];
    const struct hencky_trial t = hencky_trial_of(state->F, Fzz);
    struct johnson_cook_flow f = {
        .q1 = wide_set((real)2.4494897427831781) * law->mu * t.length, /* 2 sqrt(3/2) */
        .J = johnson_cook_volume(matrix_det(state->F), Fzz),
        .strain = wide_max(state->history[JOHNSON_COOK_STRAIN], zero),
        .temperature = state->history[JOHNSON_COOK_TEMPERATURE],
    };
    f.y0 = f.J * johnson_cook_softening(law, f.temperature) *
           wide_fma(law->B, johnson_cook_power(f.strain, law->n), law->A);
    mask yields = t.sound & wide_less(wide_fma(wide_set(32 * REAL_EPSILON), f.q1, f.y0), f.q1) &
                  wide_less_equal(f.q1, wide_set(REAL_LARGEST));
    if (law->is_viscous) { /* in no time it cannot flow */
        yields &= wide_less(tiny, dt);
        f.per_rate = law->inverse_rate / wide_max(dt, tiny);
    }
    if (!mask_any(yields))
        return wide_less(one, zero);

    wide g;
    johnson_cook_solve(law, &f, &g, yields);
    const wide q = wide_max(wide_fnma(wide_set(3) * law->mu, g, f.q1), zero);
    matrix F = state->F;
    wide moved = Fzz;
    hencky_return(&t, &F, &moved, q / wide_select(yields, f.q1, one), wide_set(0), yields);
    state->F = F;
    state->history[JOHNSON_COOK_FZZ] = moved;
    wide faster = one;
    if (law->is_viscous)
        faster = wide_fma(law->C, johnson_cook_ln_rate(&f, g), one);
    const wide heated = johnson_cook_heated(law, &f, g, faster);
    state->history[JOHNSON_COOK_STRAIN] = wide_select(yields, f.strain + g, state->history[JOHNSON_COOK_STRAIN]);
    state->history[JOHNSON_COOK_TEMPERATURE] = wide_select(yields, heated, f.temperature);
    return wide_less(one, zero);
}

/* p_H, dp_H/dx and U. */
struct johnson_cook_cold {
    wide p, stiffness, energy;
};

INLINE struct johnson_cook_cold johnson_cook_compress(const struct johnson_cook *law, wide x)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5);
    const wide on = wide_min(wide_max(x, zero), law->steepest), sx = law->slope * on;
    const wide inverse = one / (one - sx), xu = on * inverse, y = sx * inverse, grown = one + y;
    const mask near = wide_less(grown, wide_set((real)1.4142)), nearly_zero = wide_less(y, wide_set(REAL_EPSILON));
    const wide defect = wide_select(near, log_defect(y, grown), y - wide_log(grown));
    const wide part = wide_select(nearly_zero, half, defect / wide_select(nearly_zero, one, y * y));
    struct johnson_cook_cold r = {
        .p = law->bulk * xu * inverse,
        .stiffness = law->bulk * (one + sx) * inverse * inverse * inverse,
        .energy = law->bulk * xu * xu * part,
    };
    const wide beyond = x - on; /* along the tangent */
    r.energy = wide_fma(beyond, wide_fma(half * r.stiffness, beyond, r.p), r.energy);
    r.p = wide_fma(r.stiffness, beyond, r.p);
    return r;
}

INLINE struct law_evaluation johnson_cook_evaluate(const struct johnson_cook *law, struct law_state state,
                                                   matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), two_mu = law->mu + law->mu;
    const struct hencky_trial t = hencky_trial_of(state.F, state.history[JOHNSON_COOK_FZZ]);
    const wide *Fzz = DIM == 2 ? &state.history[JOHNSON_COOK_FZZ] : NULL;
    const wide J = johnson_cook_volume(state.J, state.history[JOHNSON_COOK_FZZ]);
    const wide x = -strain_of(state.F, J, Fzz).gained;
    const struct johnson_cook_cold cold = johnson_cook_compress(law, x);
    const wide hot = law->thermal * (state.history[JOHNSON_COOK_TEMPERATURE] - law->initial);
    const wide pJ = (cold.p + hot) * J;

    struct law_evaluation r;
    r.tau = matrix_add_diagonal(matrix_scale(two_mu, t.deviator), -pJ);
    r.tau_zz = wide_fma(two_mu, t.zz, -pJ);
    r.energy = wide_fma(law->mu * t.length, t.length, wide_fma(hot, x, cold.energy));
    /* that of Hencky's solid with the modulus d2 U/d(ln J)2; where that is negative, 0 bounds it */
    const wide modulus = wide_max(wide_fma(J * J, cold.stiffness, -pJ), zero);
    const struct hencky tangent = {law->mu, wide_fnma(two_mu, wide_set((real)(1.0 / 3)), modulus)};
    r.damping = zero;
    hencky_bound_shear(&tangent, t.deviator, &r);
    return r;
}

/* The growth g of the plastic strain solves q_1 - 3 mu g = Y(g, q_1, J), the yield stress at the end of the step, which
 * depends on q_1 and J by the heat of the step. Heat changes the pressure, too. */
INLINE struct law_tangent johnson_cook_tangent(const struct johnson_cook *law, const wide stretch[DIM],
                                               const struct law_state *state, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), three_mu = wide_set(3) * law->mu;
    const wide tiny = wide_set((real)(REAL_IS_FLOAT ? 1e-30 : 1e-200)), root = wide_set((real)1.2247448713915890);
    const wide Fzz = state->history[JOHNSON_COOK_FZZ];
    struct flow_trial t = flow_trial_of(stretch, state, 3, flow_zz(state, JOHNSON_COOK_FZZ));
    struct johnson_cook_flow f = {
        .q1 = wide_set(FLOW_SHEAR) * law->mu * t.length, .J = johnson_cook_volume(t.state.J, Fzz),
        .strain = wide_max(state->history[JOHNSON_COOK_STRAIN], zero),
        .temperature = state->history[JOHNSON_COOK_TEMPERATURE]};
    if (law->is_viscous)
        f.per_rate = law->inverse_rate / wide_max(dt, tiny);
    f.y0 = f.J * johnson_cook_softening(law, f.temperature) *
           wide_fma(law->B, johnson_cook_power(f.strain, law->n), law->A);
    const struct law_evaluation mapped = flow_map(MPM_JOHNSON_COOK, law, &t.state, dt);
    const wide strain = wide_max(t.state.history[JOHNSON_COOK_STRAIN], zero), g = strain - f.strain;
    const mask flows = t.strained & wide_less(zero, g);
    wide faster = one, quickens = zero;
    if (law->is_viscous) {
        const wide ln_rate = johnson_cook_ln_rate(&f, wide_max(g, tiny));
        faster = wide_fma(law->C, ln_rate, one);
        quickens = wide_select(wide_less(zero, ln_rate), law->C / wide_max(g, tiny), zero);
    }
    /* the yield stress, and its derivatives */
    const wide T = t.state.history[JOHNSON_COOK_TEMPERATURE], H = (T - law->reference) * law->inverse_range;
    const mask softens = wide_less(zero, H) & wide_less(H, one);
    const wide soft = johnson_cook_softening(law, T), hardened = law->B * johnson_cook_power(strain, law->n);
    const wide steep = law->m * (one - soft) * law->inverse_range / wide_select(softens, H, one);
    const wide still = law->A + hardened, hardening = law->n * hardened / wide_max(strain, tiny);
    const wide q = wide_fnma(three_mu, g, f.q1), by_heat = wide_select(softens, -f.J * steep * still * faster, zero);
    const wide half_heat = half * law->heating;
    const wide T_g = half_heat * (wide_fma(f.y0, faster, q) + g * (f.y0 * quickens - three_mu));
    const wide T_q = half_heat * g, T_t = half_heat * g * f.y0 * faster;
    const wide Y = f.J * soft * still * faster;
    const wide Y_g = wide_fma(by_heat, T_g, f.J * soft * wide_fma(hardening, faster, still * quickens));
    const wide fall = one / (three_mu + wide_select(flows, Y_g, zero));
    const wide g_q = wide_fnma(by_heat, T_q, one) * fall, g_t = -wide_fma(by_heat, T_t, Y) * fall;
    const wide per_L = wide_set(FLOW_SHEAR) * law->mu, heats = law->thermal * f.J;
    /* mean stress -J (p_H + thermal (T - T_i)) */
    const struct johnson_cook_cold cold = johnson_cook_compress(law, one - f.J);
    const wide pressure = wide_fma(law->thermal, T - law->initial, cold.p);
    const struct flow_slopes elastic = flow_elastic(f.J * wide_fma(f.J, cold.stiffness, -pressure));
    const struct flow_slopes flow = {
        .keep = wide_max(q, zero) / wide_select(flows, f.q1, one), .by_length = wide_fnma(three_mu, g_q, one),
        .by_trace = -root * g_t, .mean_by_length = -heats * per_L * wide_fma(T_g, g_q, T_q),
        .mean_by_trace = elastic.mean_by_trace - heats * wide_fma(T_g, g_t, T_t)};
    const struct flow_slopes chosen = flow_select(flows, flow, elastic);
    return flow_radial_tangent(&t, &mapped, law->mu, 3, &chosen);
}
#endif
