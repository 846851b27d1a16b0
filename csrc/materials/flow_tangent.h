/* SPDX-License-Identifier: MIT
 *
 * The derivatives of the stress after an isotropic return map, mostly one in logarithmic strain (J. C. Simo, Comput.
 * Methods Appl. Mech. Eng. 99 (1992) 61-112). In principal axes, the map takes trial strains e_i = ln s_i to stresses
 * tau_i:
 *
 *     tau_i = 2 mu L' n_i + m,  n = dev e/L,  L = |dev e|,  t = tr e       mostly; L', m: functions of L and t
 *     D_ij = dtau_i/de_j = 2 mu L'/L (dev - n n) + 2 mu n (dL'/dL n + dL'/dt 1) + 1 (dm/dL n + dm/dt 1)
 *     P = U diag(tau_i/s_i) V^T:  Psi_i = tau_i/s_i,  Psi_ij = (D_ij - delta_ij tau_i)/(s_i s_j)
 *
 * D is that of the return map itself, not of its limit of short steps, and includes the rate in a step of size dt.
 * Where flow is not associated it has a skew part, which conjugate gradients cannot solve with: its symmetric part is
 * kept. That of grains, whose shear stress follows the pressure but not the other way round, is indefinite, and is made
 * positive semi-definite.
 */
#pragma once
#include "materials/law_switch.h"
#include "materials/tangent.h"

/* A trial state in principal axes. In plane strain, laws with an elastic strain out of plane have a third axis. */
struct flow_trial {
    struct law_state state; /* F = diag(s); what is not proper has s = 1 */
    wide s[DIM], n[DIM];    /* stretches; direction of the deviator, 0 without one */
    wide length, trace;     /* L, t */
    mask proper, strained;  /* all stretches are positive; L > 0 */
};

/* `axes` is the dimension of traces and deviators: DIM, or 3, in plane strain with the strain `zz`. */
INLINE struct flow_trial flow_trial_of(const wide stretch[DIM], const struct law_state *state, int axes, wide zz)
{
    const wide zero = wide_set(0), one = wide_set(1), least = wide_set((real)(REAL_IS_FLOAT ? 1e-18 : 1e-100));
    struct flow_trial t = {.state = *state, .trace = zero, .proper = wide_less(zero, one)};
    UNROLL for (int i = 0; i < DIM; i++)
        t.proper &= wide_less(least, stretch[i]);
    wide strain[DIM];
    t.state.F = matrix_scale(zero, matrix_identity());
    UNROLL for (int i = 0; i < DIM; i++) {
        t.s[i] = t.state.F.m[i][i] = wide_select(t.proper, stretch[i], one);
        strain[i] = wide_log(t.s[i]);
        t.trace += strain[i];
    }
    if (axes > DIM)
        t.trace += zz;
    t.state.J = matrix_det(t.state.F);
    const wide mean = t.trace * wide_set((real)(1.0 / axes));
    wide square = zero;
    if (axes > DIM)
        square = (zz - mean) * (zz - mean);
    UNROLL for (int i = 0; i < DIM; i++)
        square = wide_fma(strain[i] - mean, strain[i] - mean, square);
    t.length = wide_sqrt(square);
    const wide inverse = wide_select(wide_less(zero, t.length), one / t.length, zero);
    UNROLL for (int i = 0; i < DIM; i++)
        t.n[i] = (strain[i] - mean) * inverse;
    t.strained = wide_less(zero, t.length);
    return t;
}

/* What a return map does to a trial state. */
struct flow_slopes {
    wide keep;             /* L'/L */
    wide by_length, by_trace; /* dL'/dL, dL'/dt */
    wide mean_by_length, mean_by_trace; /* dm/dL, dm/dt [Pa] */
};

/* That of a state within the yield surface; K is dm/dt. */
INLINE struct flow_slopes flow_elastic(wide K)
{
    const wide zero = wide_set(0), one = wide_set(1);
    return (struct flow_slopes){one, one, zero, zero, K};
}

INLINE struct flow_slopes flow_select(mask flows, struct flow_slopes a, struct flow_slopes b)
{
    return (struct flow_slopes){
        wide_select(flows, a.keep, b.keep), wide_select(flows, a.by_length, b.by_length),
        wide_select(flows, a.by_trace, b.by_trace), wide_select(flows, a.mean_by_length, b.mean_by_length),
        wide_select(flows, a.mean_by_trace, b.mean_by_trace)};
}

/* The tangent, from the response of the law to the mapped state, from D, and from (tau_i - tau_j)/(e_i - e_j). */
INLINE struct law_tangent flow_tangent(const struct flow_trial *t, const struct law_evaluation *mapped,
                                       const wide D[DIM][DIM], const wide shear[LAW_PAIRS])
{
    const wide half = wide_set((real)0.5);
    struct law_tangent r = {.viscosity = wide_set(0)};
    wide inverse[DIM];
    r.energy = wide_select(t->proper, mapped->energy, wide_set((real)__builtin_inf()));
    UNROLL for (int i = 0; i < DIM; i++)
        inverse[i] = wide_set(1) / t->s[i];
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide tau = mapped->tau.m[i][i];
        r.first[i] = tau * inverse[i];
        r.second[i][i] = (D[i][i] - tau) * inverse[i] * inverse[i];
        UNROLL for (int j = i + 1; j < DIM; j++) {
            const int k = LAW_PAIR(i, j);
            const wide other = mapped->tau.m[j][j] * inverse[j];
            r.second[i][j] = r.second[j][i] = half * (D[i][j] + D[j][i]) * inverse[i] * inverse[j];
            r.minus[k] = wide_fma(shear[k], hencky_slope(t->s[i], t->s[j]), -other) * inverse[i];
            r.plus[k] = (r.first[i] + other) / (t->s[i] + t->s[j]);
        }
    }
    return r;
}

/* The same for a return map along the deviator. */
INLINE struct law_tangent flow_radial_tangent(const struct flow_trial *t, const struct law_evaluation *mapped, wide mu,
                                              int axes, const struct flow_slopes *flow)
{
    const wide two_mu = mu + mu, shortened = two_mu * flow->keep, third = wide_set((real)(1.0 / axes));
    wide D[DIM][DIM], shear[LAW_PAIRS];
    UNROLL for (int k = 0; k < LAW_PAIRS; k++)
        shear[k] = shortened;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++) {
            const wide along = wide_fma(flow->by_length - flow->keep, t->n[j], flow->by_trace);
            D[i][j] = wide_fma(two_mu * t->n[i], along, wide_fma(flow->mean_by_length, t->n[j], flow->mean_by_trace)) -
                      third * shortened;
            if (i == j)
                D[i][j] += shortened;
        }
    return flow_tangent(t, mapped, D, shear);
}

/* 2 mu L = q/sqrt(3/2); the bulk modulus of three dimensions. */
#define FLOW_SHEAR ((real)2.4494897427831781) /* 2 sqrt(3/2): q = FLOW_SHEAR mu L */

INLINE wide flow_bulk(const struct hencky *elastic)
{
    return wide_fma(wide_set((real)(2.0 / 3)), elastic->mu, elastic->lambda);
}

INLINE matrix flow_still(void)
{
    return matrix_scale(wide_set(0), matrix_identity());
}

/* The strain out of plane, of laws that keep its stretch. */
INLINE wide flow_zz(const struct law_state *state, int fzz)
{
    return DIM == 2 ? wide_log_any(state->history[fzz]) : wide_set(0);
}

/* Maps a trial state and evaluates the result. */
#define FLOW_MAP(name, law, t, dt) \
    name##_return_map(law, &(t).state, dt, flow_still()); \
    (t).state.J = matrix_det((t).state.F); \
    const struct law_evaluation mapped = name##_evaluate(law, (t).state, flow_still())

/* ---- flow at constant volume ------------------------------------------------------------------------------------- */

/* Without kinematic hardening, whose backstress need not share the axes of the strain. */
INLINE struct law_tangent von_mises_tangent(const struct von_mises *law, const wide stretch[DIM],
                                            const struct law_state *state, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), two_mu = law->elastic.mu + law->elastic.mu;
    const wide before = state->history[VON_MISES_STRAIN];
    struct flow_trial t = flow_trial_of(stretch, state, 3, von_mises_strain_zz(state));
    FLOW_MAP(von_mises, law, t, dt);
    wide stiffness = law->stiffness;
    if (law->is_viscous)
        stiffness += law->twice_viscosity / dt;
    const wide excess = wide_fnma(law->hardening, before, wide_fma(two_mu, t.length, -law->yield));
    const mask flows = t.strained & wide_less(zero, excess);
    struct flow_slopes flow = flow_elastic(flow_bulk(&law->elastic));
    flow.keep = wide_select(flows, one - excess / stiffness / wide_select(flows, t.length, one), one);
    flow.by_length = wide_select(flows, one - two_mu / stiffness, one);
    return flow_radial_tangent(&t, &mapped, law->elastic.mu, 3, &flow);
}

/* n (tau - tau_y - drop) is d(k rate^n)/d(ln rate). */
INLINE struct law_tangent herschel_bulkley_tangent(const struct herschel_bulkley *law, const wide stretch[DIM],
                                                   const struct law_state *state, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), mu = law->elastic.mu;
    struct flow_trial t = flow_trial_of(stretch, state, 3, flow_zz(state, HERSCHEL_BULKLEY_FZZ));
    FLOW_MAP(herschel_bulkley, law, t, dt);
    const wide tau = wide_set((real)1.4142135623730951) * mu * t.length, excess = tau - law->yield;
    const mask flows = t.strained & wide_less(zero, excess);
    const wide drop = herschel_bulkley_drop(law, wide_select(flows, excess, one), mu * dt);
    const wide viscous = wide_max(excess - drop, zero) * (law->of_viscous / law->of_rate);
    const wide kept = wide_max(tau - drop, zero) / wide_select(flows, tau, one);
    struct flow_slopes flow = flow_elastic(flow_bulk(&law->elastic));
    flow.keep = wide_select(flows, kept, one);
    flow.by_length = wide_select(flows, viscous / (viscous + wide_select(flows, drop, one)), one);
    return flow_radial_tangent(&t, &mapped, mu, 3, &flow);
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
        .J = johnson_cook_volume(t.state.J, Fzz), .strain = wide_max(state->history[JOHNSON_COOK_STRAIN], zero),
        .temperature = state->history[JOHNSON_COOK_TEMPERATURE], .q1 = wide_set(FLOW_SHEAR) * law->mu * t.length};
    if (law->is_viscous)
        f.per_rate = law->inverse_rate / wide_max(dt, tiny);
    f.y0 = f.J * johnson_cook_softening(law, f.temperature) *
           wide_fma(law->B, johnson_cook_power(f.strain, law->n), law->A);
    FLOW_MAP(johnson_cook, law, t, dt);
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

/* ---- grains ------------------------------------------------------------------------------------------------------ */

INLINE struct law_tangent flow_definite(struct law_tangent t)
{
    law_tangent_project(&t);
    return t;
}

INLINE struct law_tangent sand_tangent(const struct sand *law, const wide stretch[DIM], const struct law_state *state,
                                       wide dt)
{
    const wide zero = wide_set(0), mu = law->elastic.mu;
    struct flow_trial t = flow_trial_of(stretch, state, DIM, zero);
    FLOW_MAP(sand, law, t, dt);
    const wide volume = t.trace + wide_log_any(state->history[SAND_JP]), allowed = law->slope * (law->tip - volume);
    const mask press = wide_less(volume, law->tip), slide = t.strained & wide_less(allowed, t.length);
    const wide bulk = wide_fma(wide_set((real)(2.0 / DIM)), mu, law->elastic.lambda);
    const struct flow_slopes sliding = {.keep = allowed / wide_select(slide, t.length, wide_set(1)), .by_length = zero,
                                        .by_trace = -law->slope, .mean_by_length = zero, .mean_by_trace = bulk};
    const struct flow_slopes parted = {zero, zero, zero, zero, zero};
    const struct flow_slopes flow = flow_select(press, flow_select(slide, sliding, flow_elastic(bulk)), parted);
    return flow_definite(flow_radial_tangent(&t, &mapped, mu, DIM, &flow));
}

INLINE struct law_tangent drucker_prager_tangent(const struct drucker_prager *law, const wide stretch[DIM],
                                                 const struct law_state *state, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), mu = law->elastic.mu, K = law->bulk, three_mu = wide_set(3) * mu;
    struct flow_trial t = flow_trial_of(stretch, state, 3, flow_zz(state, DRUCKER_PRAGER_FZZ));
    FLOW_MAP(drucker_prager, law, t, dt);
    const wide per_L = wide_set(FLOW_SHEAR) * mu, q = per_L * t.length;
    const wide p = -K * (t.trace + wide_log_any(state->history[DRUCKER_PRAGER_GAP]));
    const wide over = q - wide_fma(law->friction, p, law->strength);
    const mask flat = wide_less(p, -law->tension) & wide_less_equal(q, law->corner);
    const mask slides = t.strained & mask_not(flat) & wide_less(zero, over);
    const wide per_flow = one / wide_fma(K * law->friction, law->dilation, three_mu), gain = over * per_flow;
    const mask corner = slides & wide_less(wide_fma(K * law->dilation, gain, p), -law->tension);
    const wide whole = wide_select(slides, q, one), some = K * law->dilation * per_flow;
    const struct flow_slopes elastic = flow_elastic(K);
    const struct flow_slopes sliding = {
        .keep = wide_fnma(three_mu, gain, q) / whole, .by_length = one - three_mu * per_flow,
        .by_trace = -K * three_mu * law->friction * per_flow / per_L, .mean_by_length = -some * per_L,
        .mean_by_trace = K * wide_fnma(some, law->friction, one)};
    const struct flow_slopes torn = {one, one, zero, zero, zero};
    const struct flow_slopes both = {law->corner / whole, zero, zero, zero, zero};
    struct flow_slopes flow = flow_select(slides, flow_select(corner, both, sliding), elastic);
    flow = flow_select(flat, torn, flow);
    return flow_definite(flow_radial_tangent(&t, &mapped, mu, 3, &flow));
}

/* The change x of the shear stress solves x^2 + (R + range p - S) x - R S = 0 (mu_i.h), R = mu dt Q sqrt(p). */
INLINE struct law_tangent mu_i_tangent(const struct mu_i *law, const wide stretch[DIM], const struct law_state *state,
                                       wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), half = wide_set((real)0.5), mu = law->elastic.mu, K = law->bulk;
    struct flow_trial t = flow_trial_of(stretch, state, 3, flow_zz(state, MU_I_FZZ));
    FLOW_MAP(mu_i, law, t, dt);
    const wide root2 = wide_set((real)1.4142135623730951), tau = root2 * mu * t.length;
    const wide p = -K * (t.trace + wide_log_any(state->history[MU_I_GAP])), S = wide_fnma(law->least, p, tau);
    const mask parts = wide_less_equal(p, zero), slides = t.strained & wide_less(zero, p) & wide_less(zero, S);
    const wide press = wide_select(slides, p, one), reach = mu * dt * law->pace * wide_sqrt(press);
    const wide linear = wide_fma(law->range, p, reach - S), product = reach * S;
    const wide root = wide_sqrt(wide_max(wide_fma(linear, linear, wide_set(4) * product), zero));
    const mask grows = wide_less(zero, linear);
    const wide x = wide_select(grows, (product + product) / wide_select(grows, linear + root, one),
                               half * (root - linear));
    const wide whole = wide_select(slides & wide_less(zero, root), root, one), R_p = half * reach / press;
    const wide x_tau = (x + reach) / whole;
    const wide x_p = (R_p * S - law->least * reach - (R_p + law->range + law->least) * x) / whole;
    const struct flow_slopes elastic = flow_elastic(K);
    const struct flow_slopes sliding = {
        .keep = wide_max(tau - x, zero) / wide_select(slides, tau, one), .by_length = one - x_tau,
        .by_trace = K * x_p / (root2 * mu), .mean_by_length = zero, .mean_by_trace = K};
    const struct flow_slopes parted = {zero, zero, zero, zero, zero};
    const struct flow_slopes flow = flow_select(parts, parted, flow_select(slides, sliding, elastic));
    return flow_definite(flow_radial_tangent(&t, &mapped, mu, 3, &flow));
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
}

INLINE struct law_tangent mohr_coulomb_tangent(const struct mohr_coulomb *law, const wide stretch[DIM],
                                               const struct law_state *state, wide dt)
{
    const wide zero = wide_set(0), one = wide_set(1), two_mu = law->elastic.mu + law->elastic.mu;
    const wide lift = wide_set((real)(1.0 / 3)) * wide_log_any(state->history[MOHR_COULOMB_GAP]);
    const wide zz = flow_zz(state, MOHR_COULOMB_FZZ);
    struct flow_trial t = flow_trial_of(stretch, state, 3, zz);
    FLOW_MAP(mohr_coulomb, law, t, dt);
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

/* ---- clay -------------------------------------------------------------------------------------------------------- */

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
    FLOW_MAP(cam_clay, law, t, dt);
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
    FLOW_MAP(nacc, law, t, dt);
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
