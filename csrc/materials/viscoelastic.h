/* SPDX-License-Identifier: MIT
 *
 * Viscoelastic solid: a spring beside two Maxwell branches (a Prony series) and a dashpot (Kelvin and Voigt). All
 * springs are quadratic in a logarithmic strain (materials/hencky.h); only deviators relax.
 *
 *     e = 1/2 ln F F^T,  e_k = 1/2 ln F C_k F^T,  C_k = (F_vk^T F_vk)^-1,  det C_k = 1
 *     Psi = K/2 (tr e)^2 + g_0 mu |dev e|^2 + sum g_k mu |dev e_k|^2,  g_0 = 1 - g_1 - g_2       [J/m3]
 *     tau = K tr e I + 2 g_0 mu dev e + sum 2 g_k mu dev e_k + 2 eta J dev D,  D = sym grad v    [Pa]
 *
 * E and nu are those of fast deformation. At a constant F, dev e_k falls by e^(-dt/tau_k); the return map does so
 * exactly. It multiplies b_k = F C_k F^T by e^a, where a = 2 (e^(-dt/tau_k) - 1) dev e_k, which commutes with it:
 * C_k -> C_k + F^-1 (e^a - I) b_k F^-T: no change, no rounding. S. Reese & S. Govindjee, Int. J. Solids Structures 35
 * (1998) 3455. Deviators are those of three dimensions; in plane strain C_k,zz = 1/det C_k in the plane.
 */
#pragma once
#include "materials/row.h"

#define VISCOELASTIC_PARAMETERS(P) \
    P(E, "Pa", POSITIVE, "Young's modulus of fast deformation") \
    P(nu, "1", -1, 0.5, true, true, "Poisson's ratio of fast deformation") \
    P(g_1, "1", 0, 1, false, true, "share of the shear modulus that relaxes in the first branch", \
      .branches = MPM_BRANCHES_AT_0) \
    P(tau_1, "s", POSITIVE, "its relaxation time") \
    P(g_2, "1", 0, 1, false, true, "share of the shear modulus that relaxes in the second branch", \
      .branches = MPM_BRANCHES_AT_0) \
    P(tau_2, "s", POSITIVE, "its relaxation time") \
    P(viscosity, "Pa s", NOT_NEGATIVE, "eta of the dashpot beside the springs") \
    DENSITY(P)

struct viscoelastic_parameters { VISCOELASTIC_PARAMETERS(MPM_MEMBER) };

static inline const char *viscoelastic_unfit(const double *values)
{
    const struct viscoelastic_parameters *p = MPM_VALUES(viscoelastic, values);
    return p->g_1 + p->g_2 < 1 ? NULL : "g_1 + g_2 must be < 1";
}

#define INVERSE_METRIC(name) \
    {name, "1", MPM_SYMMETRIC, .initial = 1, .low = -INFINITY, .high = INFINITY, \
     .meaning = "inverse right Cauchy-Green tensor of the dashpot's deformation"}

MPM_ROW(viscoelastic,
    .name = "viscoelastic", .viscous = true, .relaxes = true, .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(viscoelastic, VISCOELASTIC_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(viscoelastic_unfit),
    .fields = 2, .field = {INVERSE_METRIC("viscous_1"), INVERSE_METRIC("viscous_2")},
    .reference = "S. Reese, S. Govindjee, A theory of finite viscoelasticity and numerical aspects, International "
                 "Journal of Solids and Structures 35 (1998) 3455-3482. doi:10.1016/S0020-7683(97)00217-5")

#ifdef MPM_DIM /* for kernels */
#include "materials/hencky_flow.h"
#include "materials/moduli.h"
#include "math/traceless.h"

enum { VISCOELASTIC_BRANCHES = 2 };

struct viscoelastic {
    struct hencky spring;                       /* g_0 mu, K - 2/3 g_0 mu */
    struct hencky branch[VISCOELASTIC_BRANCHES]; /* g_k mu, -2/3 g_k mu */
    wide rate[VISCOELASTIC_BRANCHES];           /* 1/tau_k */
    wide lambda;                                /* of fast deformation */
    wide viscosity;                             /* eta */
    bool is_used[VISCOELASTIC_BRANCHES];        /* g_k > 0 */
};

INLINE struct viscoelastic viscoelastic_prepare(const struct viscoelastic_parameters *p)
{
    const double E = p->E, nu = p->nu, mu = E / (2 * (1 + nu)), bulk = E / (3 * (1 - 2 * nu));
    const double shares[] = {p->g_1, p->g_2}, times[] = {p->tau_1, p->tau_2};
    double rest = 1;
    struct viscoelastic law = {.lambda = lame_lambda(E, nu), .viscosity = wide_set((real)p->viscosity)};
    UNROLL for (int k = 0; k < VISCOELASTIC_BRANCHES; k++) {
        const double share = shares[k];
        rest -= share;
        law.branch[k] = hencky_with(wide_set((real)(share * mu)), wide_set((real)(share * mu * (-2.0 / 3))));
        law.rate[k] = wide_set((real)(1 / times[k]));
        law.is_used[k] = share > 0;
    }
    law.spring = hencky_with(wide_set((real)(rest * mu)), wide_set((real)(bulk - rest * mu * (2.0 / 3))));
    return law;
}

enum { VISCOELASTIC_COMPONENTS = DIM * (DIM + 1) / 2 };

#define VISCOELASTIC_SHORT2 ((real)4e-4) /* |a|^2 of a step that needs few terms */

/* C_k, and its zz in plane strain */
INLINE matrix viscoelastic_metric(const struct law_state *state, int k, wide *zz)
{
    const matrix C = law_symmetric(&state->history[k * VISCOELASTIC_COMPONENTS]);
    *zz = wide_set(1);
    if (DIM == 2)
        *zz /= matrix_det(C);
    return C;
}

/* A branch: b = F C F^T = m (I + d) with tr d = 0, in 2-D the trace in the plane. Where d is small, functions of b
 * are polynomials of d. */
struct viscoelastic_branch {
    matrix C, FC, b, d;
    wide m, C_zz;
    struct traceless of_d;
    struct polynomial strain; /* dev e_k, of three dimensions */
    wide zz;                  /* dev e_k out of plane */
    mask far;                 /* d is not small */
};

/* ln a, given a - 1 before a was rounded */
INLINE wide viscoelastic_log(wide a, wide gained)
{
    const mask near = wide_less_equal(wide_abs(gained), wide_set((real)0.2));
    wide excess;
    return wide_log_near(wide_max(a, wide_set((real)(REAL_IS_FLOAT ? 1.2e-38 : 2.3e-308))), gained, near, &excess);
}

/* 1/2 ln(I + d) */
INLINE struct polynomial viscoelastic_half_log(const struct traceless *d)
{
    const int degree = REAL_IS_FLOAT ? 10 : 22;
    struct polynomial p = polynomial_constant(wide_set((real)(-0.5 / degree)));
    UNROLL for (int k = degree - 1; k >= 0; k--)
        p = polynomial_raise(p, d, (real)(k == 0 ? 0 : k % 2 ? 0.5 / k : -0.5 / k));
    return p;
}

INLINE struct viscoelastic_branch viscoelastic_branch_of(const struct law_state *state, int k)
{
    struct viscoelastic_branch r;
    r.C = viscoelastic_metric(state, k, &r.C_zz);
    /* With G = F - I and H = F C - I = G + F (C - I): b - I = H F^T + G^T, which has no rounding of 1. Row by row, few
     * numbers wait in registers. */
    const wide one = wide_set(1);
    const matrix c = matrix_add_diagonal(r.C, -one), G = matrix_add_diagonal(state->F, -one);
    matrix e;
    UNROLL for (int i = 0; i < DIM; i++) {
        wide h[DIM];
        UNROLL for (int j = 0; j < DIM; j++) {
            h[j] = G.m[i][j];
            UNROLL for (int l = 0; l < DIM; l++)
                h[j] = wide_fma(state->F.m[i][l], c.m[l][j], h[j]);
            r.FC.m[i][j] = h[j];
        }
        UNROLL for (int j = i; j < DIM; j++) {
            e.m[i][j] = G.m[j][i];
            UNROLL for (int l = 0; l < DIM; l++)
                e.m[i][j] = wide_fma(h[l], state->F.m[j][l], e.m[i][j]);
        }
    }
    e = matrix_symmetric(e);
    r.FC = matrix_add_diagonal(r.FC, one);
    const wide mean_e = wide_set((real)(1.0 / DIM)) * matrix_trace(e);
    r.b = matrix_add_diagonal(e, one);
    r.m = one + mean_e;
    r.d = matrix_scale(one / r.m, matrix_add_diagonal(e, -mean_e));
    r.of_d = traceless_of(r.d);
    r.far = mask_not(wide_less_equal(r.of_d.half, wide_set(HENCKY_NEAR2 / 2)));
    r.strain = viscoelastic_half_log(&r.of_d);
    const wide mean = polynomial_mean(r.strain, &r.of_d);
    r.strain.c[0] -= mean;
    r.zz = wide_set(0);
    if (DIM == 2) { /* the two means of dev e_k: the plane has 1/2 ln m + mean, and what is out of plane 1/2 ln C_zz */
        const wide half = wide_set((real)0.5), grown = matrix_trace(c) + matrix_det(c); /* det C - 1 */
        const wide over = -half * (viscoelastic_log(matrix_det(r.C), grown) + viscoelastic_log(r.m, mean_e)) - mean;
        r.strain.c[0] -= wide_set((real)(1.0 / 3)) * over;
        r.zz = wide_set((real)(2.0 / 3)) * over;
    }
    return r;
}

/* Puts dev e_k, also out of plane, into the lanes of `far`, whose strains are large. */
NOINLINE void viscoelastic_strain_far(const matrix *b, matrix *strain, wide *zz, wide C_zz, mask far)
{
    matrix found = *strain;
    hencky_half_log_far(b, &found, far);
    const wide over = wide_set((real)(DIM == 2 ? 0.5 : 0)) * wide_log_any(C_zz);
    const wide mean = (matrix_trace(found) + over) * wide_set((real)(1.0 / 3));
    *strain = matrix_select(far, matrix_add_diagonal(found, -mean), *strain);
    if (DIM == 2)
        *zz = wide_select(far, over - mean, *zz);
}

/* The strain dev e_k of a branch, that out of plane in r->zz. */
INLINE matrix viscoelastic_strain(struct viscoelastic_branch *r)
{
    matrix strain = polynomial_of(r->strain, r->d);
    if (__builtin_expect(mask_any(r->far), 0)) {
        matrix b = r->b, found = strain; /* copies in memory, so that the originals stay in registers */
        wide zz = r->zz;
        viscoelastic_strain_far(&b, &found, &zz, r->C_zz, r->far);
        strain = found;
        r->zz = zz;
    }
    return strain;
}

/* Puts the change of C in a step into the lanes of `far`, with large strains or a long step. */
NOINLINE void viscoelastic_relax_far(const matrix *F, const matrix *b, wide C_zz, wide less, matrix *change,
                                   mask far)
{
    matrix strain = *b;
    wide zz = wide_set(0);
    viscoelastic_strain_far(b, &strain, &zz, C_zz, far);
    const matrix cofactor = matrix_cofactor(*F);
    const matrix inverse = matrix_scale(wide_set(1) / matrix_det_from(*F, cofactor), cofactor); /* F^-T */
    matrix growth;
    const matrix scaled = matrix_scale(less, strain);
    hencky_growth_far(&scaled, &growth, far);
    const matrix gained = matrix_multiply_left_transposed(inverse, hencky_product(growth, *b));
    *change = matrix_select(far, matrix_multiply(gained, inverse), *change);
}

/* Lanes with a NaN or an inverted F keep their history, so that the fault stays visible. */
INLINE mask viscoelastic_return_map(const struct viscoelastic *law, struct law_state *state, wide dt,
                                    matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide zero = wide_set(0), one = wide_set(1), J = matrix_det(state->F);
    const mask sound = wide_less(zero, J) & wide_less_equal(J, wide_set(REAL_LARGEST));
    UNROLL for (int k = 0; k < VISCOELASTIC_BRANCHES; k++) {
        if (!law->is_used[k])
            continue;
        const struct viscoelastic_branch r = viscoelastic_branch_of(state, k);
        const wide less = wide_set(2) * wide_expm1(-dt * law->rate[k]);
        const struct polynomial a = polynomial_scale(less, r.strain), square = polynomial_multiply(a, a, &r.of_d);
        const wide size2 = wide_set(DIM) * polynomial_mean(square, &r.of_d);
        const mask far = r.far | mask_not(wide_less_equal(size2, wide_set(VISCOELASTIC_SHORT2)));
        struct polynomial grown = polynomial_constant(one); /* e^a - I */
        UNROLL for (int n = REAL_IS_FLOAT ? 3 : 7; n > 1; n--) {
            grown = polynomial_scale(wide_set((real)(1.0 / n)), polynomial_multiply(grown, a, &r.of_d));
            grown.c[0] += one;
        }
        grown = polynomial_multiply(grown, a, &r.of_d);
        /* in powers of b: F^-1 (h_0 + h_1 b + h_2 b^2) b F^-T = h_0 C + (F C)^T (h_1 I + h_2 b) F C */
        const wide inverse = one / r.m, last = grown.c[DIM - 1];
        wide h0 = grown.c[0] - grown.c[1], h1 = inverse * grown.c[1];
        matrix inner;
        if (DIM == 3) {
            h0 += last;
            h1 -= wide_set(2) * inverse * last;
            const matrix middle = matrix_add_diagonal(matrix_scale(inverse * inverse * last, r.b), h1);
            inner = matrix_multiply(middle, r.FC);
        } else
            inner = matrix_scale(h1, r.FC);
        matrix change = matrix_add(matrix_scale(h0, r.C), matrix_multiply_left_transposed(r.FC, inner));
        if (__builtin_expect(mask_any(far), 0)) {
            const matrix F = state->F, b = r.b; /* copies in memory, so that the originals stay in registers */
            matrix found = change;
            viscoelastic_relax_far(&F, &b, r.C_zz, less, &found, far);
            change = found;
        }
        int c = k * VISCOELASTIC_COMPONENTS;
        UNROLL for (int i = 0; i < DIM; i++)
            UNROLL for (int j = i; j < DIM; j++) {
                const wide after = r.C.m[i][j] + change.m[i][j];
                const mask good = sound & wide_less_equal(wide_abs(after), wide_set(REAL_LARGEST));
                state->history[c] = wide_select(good, after, state->history[c]);
                c++;
            }
    }
    return wide_less(one, zero);
}

/* Adds a spring: its largest curvatures are those of its own axes, but for the volume, which all springs share. */
INLINE wide viscoelastic_add(const struct hencky *spring, matrix strain, const wide *zz, struct law_evaluation *sum)
{
    struct law_evaluation r = hencky_respond(spring, strain, zz);
    wide largest;
    const wide own = hencky_bound_wave(spring, strain, &r, &largest) - spring->lambda;
    sum->tau = matrix_add(sum->tau, r.tau);
    sum->tau_zz += r.tau_zz;
    sum->energy += r.energy;
    sum->wave += r.wave;
    return wide_max(own, largest);
}

/* Adds a branch, whose strain is a deviator: in 3-D its principal stresses lie within sqrt(2/3) |tau| of 0. */
INLINE wide viscoelastic_add_branch(const struct hencky *spring, matrix strain, const wide *zz,
                                    struct law_evaluation *sum)
{
    if (DIM == 2)
        return viscoelastic_add(spring, strain, zz, sum);
    const wide two_mu = spring->mu + spring->mu, length2 = matrix_dot(strain, strain), spread2 = length2 + length2;
    const wide spread = wide_sqrt(spread2), reach = two_mu * spread * wide_set((real)0.57735026918962573);
    const wide own = wide_fma(two_mu, wide_sqrt(wide_set(1) + spread2), reach);
    sum->tau = matrix_add(sum->tau, matrix_scale(two_mu, strain));
    sum->energy = wide_fma(spring->mu, length2, sum->energy);
    sum->wave += wide_max(own + spring->lambda, wide_fma(two_mu, spread, spring->mu));
    return own;
}

INLINE struct law_evaluation viscoelastic_evaluate(const struct viscoelastic *law, struct law_state state,
                                                   matrix velocity_gradient)
{
    const wide zero = wide_set(0), half = wide_set((real)0.5), third = wide_set((real)(1.0 / 3));
    mask far;
    const matrix strain = hencky_strain(state.F, &far);
    struct law_evaluation r = {.tau = matrix_scale(zero, matrix_identity())};
    r.tau_zz = r.energy = r.wave = zero;
    r.isolated = viscoelastic_add(&law->spring, strain, NULL, &r) + wide_max(wide_set(DIM) * law->lambda, zero);
    UNROLL for (int k = 0; k < VISCOELASTIC_BRANCHES; k++)
        if (law->is_used[k]) {
            struct viscoelastic_branch branch = viscoelastic_branch_of(&state, k);
            const matrix own = viscoelastic_strain(&branch);
            r.isolated += viscoelastic_add_branch(&law->branch[k], own, DIM == 2 ? &branch.zz : NULL, &r);
        }
    const wide eta_J = law->viscosity * state.J, rate = third * matrix_trace(velocity_gradient);
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++) {
            wide D = half * (velocity_gradient.m[i][j] + velocity_gradient.m[j][i]);
            if (i == j)
                D -= rate;
            r.tau.m[i][j] = wide_fma(eta_J + eta_J, D, r.tau.m[i][j]);
        }
    r.tau_zz = wide_fnma(eta_J + eta_J, rate, r.tau_zz);
    r.damping = wide_set(2 * DIM) * eta_J;
    return r;
}

/* The lower triangular L with L L^T = a, of a symmetric positive definite `a`. */
INLINE matrix viscoelastic_cholesky(matrix a)
{
    const wide least = wide_set((real)(REAL_IS_FLOAT ? 1.2e-38 : 2.3e-308));
    matrix L = {0};
    UNROLL for (int j = 0; j < DIM; j++)
        UNROLL for (int i = j; i < DIM; i++) {
            wide rest = a.m[i][j];
            UNROLL for (int k = 0; k < j; k++)
                rest = wide_fnma(L.m[i][k], L.m[j][k], rest);
            if (i == j)
                L.m[j][j] = wide_sqrt(wide_max(rest, least));
            else
                L.m[i][j] = rest / L.m[j][j];
        }
    return L;
}

/* Within a step, a branch is a solid with the energy g_k mu e^(-dt/tau_k) |dev e_k|^2, e_k = 1/2 ln (F H) (F H)^T with
 * H H^T = C_k: it has the stress after the return map, which multiplies dev e_k by e^(-dt/tau_k). */
INLINE void viscoelastic_moduli(const struct viscoelastic *law, const struct law_trial *trial, struct law_moduli *m)
{
    const wide one = wide_set(1), half = wide_set((real)0.5);
    m->viscosity = law->viscosity * trial->begin->J;
    for (int k = -1; k < VISCOELASTIC_BRANCHES; k++) {
        struct hencky spring = law->spring;
        matrix H = matrix_identity();
        wide zz = wide_set(0), stretch[DIM];
        if (k >= 0) {
            if (!law->is_used[k])
                continue;
            const wide kept = one + wide_expm1(-trial->dt * law->rate[k]);
            spring = hencky_with(kept * law->branch[k].mu, kept * law->branch[k].lambda);
            H = viscoelastic_cholesky(viscoelastic_metric(trial->begin, k, &zz));
            zz = half * wide_log_any(zz);
        }
        struct tangent t;
        tangent_frames(&t, matrix_multiply(trial->F, H), matrix_multiply(trial->begin->F, H), stretch);
        struct law_tangent part = hencky_tangent_with(&spring, stretch, DIM == 2 ? &zz : NULL);
        moduli_add(m, trial, &t, &part);
    }
}
#endif
