/* SPDX-License-Identifier: MIT
 *
 * Compressible Mooney-Rivlin solid, for rubber.
 *
 *     Psi(F) = C10 (I1 - 3) + C01 (I2 - 3) + c (J^2 - 1) - d ln J               energy per rest volume [J/m3]
 *     tau(F) = 2 C10 b + 2 C01 (I1 b - b^2) + (2 c J^2 - d) I,  b = F F^T       Kirchhoff stress [Pa]
 *     c = lambda/4 - C01,  d = 2 C10 + 4 C01 + 2 c                              no stress at rest
 *
 * I1 = tr b and I2 = (I1^2 - tr b^2)/2 are those of three dimensions; in plane strain b_zz = 1. At rest
 * mu = 2 (C10 + C01) and lambda = K - 2/3 mu. If c >= 0, the energy is polyconvex. With C01 = 0 the solid is
 * neo-Hookean. Ciarlet & Geymonat, C. R. Acad. Sci. Paris II 295 (1982) 423.
 */
#pragma once
#include "materials/row.h"

#define MOONEY_RIVLIN_PARAMETERS(P) \
    P(c10, "Pa", POSITIVE, "half the shear modulus that goes with I1") \
    P(c01, "Pa", NOT_NEGATIVE, "half the shear modulus that goes with I2") \
    P(bulk_modulus, "Pa", POSITIVE, "bulk modulus at rest") \
    DENSITY(P)

struct mooney_rivlin_parameters { MOONEY_RIVLIN_PARAMETERS(MPM_MEMBER) };

/* Polyconvexity. */
static inline const char *mooney_rivlin_unfit(const double *values)
{
    const struct mooney_rivlin_parameters *p = MPM_VALUES(mooney_rivlin, values);
    const double slack = 1 - 1e-12; /* rounding, where a limit is computed from other parameters */
    return p->bulk_modulus >= (4 * p->c10 + 16 * p->c01) / 3 * slack ? NULL
                                                                      : "bulk_modulus must be >= 4/3 c10 + 16/3 c01";
}

MPM_ROW(mooney_rivlin,
    .name = "mooney_rivlin", .J_low = 1e-3, .J_high = 1e3,
    MPM_ROW_PARAMETERS(mooney_rivlin, MOONEY_RIVLIN_PARAMETERS), .unfit = MPM_OUTSIDE_KERNELS(mooney_rivlin_unfit),
    .reference = "P. G. Ciarlet, G. Geymonat, Sur les lois de comportement en elasticite non lineaire "
                 "compressible, Comptes Rendus de l'Academie des Sciences Paris, Serie II 295 (1982) 423-426.")

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"
#include "math/strain.h"

struct mooney_rivlin {
    wide c10, c01; /* [Pa] */
    wide c, d;     /* volumetric [Pa] */
};

INLINE struct mooney_rivlin mooney_rivlin_prepare(const struct mooney_rivlin_parameters *p)
{
    const double c10 = p->c10, c01 = p->c01, lambda = p->bulk_modulus - 4 * (c10 + c01) / 3, c = lambda / 4 - c01;
    const struct mooney_rivlin law = {wide_set((real)c10), wide_set((real)c01), wide_set((real)c),
                                  wide_set((real)(2 * c10 + 4 * c01 + 2 * c))};
    return law;
}

INLINE struct law_evaluation mooney_rivlin_evaluate(const struct mooney_rivlin *law, struct law_state state,
                                                    matrix velocity_gradient)
{
    (void)velocity_gradient;
    const wide one = wide_set(1), half = wide_set((real)0.5), J = state.J, two_c10 = law->c10 + law->c10;
    const wide two_c01 = law->c01 + law->c01, two_c = law->c + law->c;
    const struct strain s = strain_of(state.F, J, NULL);
    const wide square = s.gained * (J + one); /* J^2 - 1 */
    const matrix e = s.e, b = matrix_add_diagonal(e, one);
    const wide trace = s.trace, first = trace + wide_set(3); /* I1 */
    /* tau = 2 C10 e + 2 C01 (tr e b + e - e^2) + 2 c (J^2 - 1) I with e = b - I: every term vanishes at rest */
    const matrix square_e = matrix_multiply(e, e);
    matrix shear = matrix_scale(trace, b);
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            shear.m[i][j] += e.m[i][j] - square_e.m[i][j];
    const wide volumetric = two_c * square;

    struct law_evaluation r;
    r.tau = matrix_symmetric(matrix_add_diagonal(
        matrix_add(matrix_scale(two_c10, e), matrix_scale(two_c01, shear)), volumetric));
    r.tau_zz = wide_fma(two_c01, trace, volumetric);
    /* C10 (tr e - 2 ln J) + C01 (2 tr e + M_2 - 4 ln J) + c (J^2 - 1 - 2 ln J): no term is of first order */
    const wide pairs = wide_fma(wide_set(4), s.shear, s.second);
    r.energy = wide_fma(two_c10, s.shear, law->c01 * pairs) +
               law->c * wide_fma(s.gained, s.gained, s.excess + s.excess);
    /* With w the largest stretch squared and m = min(w, I1/2), no x (I1 - x) exceeds m (I1 - m) and no product of two
     * stretches squared m^2. */
    const wide w = matrix_largest_eigenvalue_bound(b), m = wide_min(w, half * first);
    const wide both = wide_fma(two_c10, w, wide_fma(two_c01, m * (first - m), law->d));
    const wide whole = two_c * J * J;
    r.wave = both + whole;
    r.isolated = both + wide_fma(wide_set(2 * DIM - 1), whole, wide_set(2 * (DIM - 1)) * two_c01 * m * m);
    r.damping = wide_set(0);
    return r;
}

INLINE struct law_tangent mooney_rivlin_tangent(const struct mooney_rivlin *law, const wide e[DIM],
                                                const struct law_state *state)
{
    (void)state;
    const wide zero = wide_set(0), one = wide_set(1), two_c10 = law->c10 + law->c10, two_c01 = law->c01 + law->c01;
    const struct law_volume volume = law_volume_of(e);
    const mask proper = wide_less(wide_set((real)(REAL_IS_FLOAT ? 1e-18 : 1e-100)), volume.J);
    const wide J = wide_select(proper, volume.J, one), inverse = one / J;
    wide strain[DIM], trace = zero, pairs = zero, shear = zero;
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide stretch = wide_select(proper, e[i], one), gained = stretch - one;
        strain[i] = (e[i] - one) * (e[i] + one);
        pairs = wide_fma(strain[i], trace, pairs);
        trace += strain[i];
        shear += wide_fma(gained, gained, wide_set(2) * wide_log_excess(stretch)); /* e^2 - 1 - 2 ln e */
    }
    struct law_tangent t = {.viscosity = zero};
    t.energy = wide_fma(law->c10, shear, law->c01 * (shear + shear + pairs)) +
               law->c * wide_fma(J - one, J - one, wide_set(2) * wide_log_excess(J));
    t.energy = wide_select(proper, t.energy, wide_set((real)__builtin_inf()));
    UNROLL for (int i = 0; i < DIM; i++) {
        const wide others = trace + wide_set(3) - e[i] * e[i]; /* sum of the other stretches squared */
        t.second[i][i] = wide_fma(two_c01, others, two_c10);
        t.first[i] = e[i] * t.second[i][i];
        UNROLL for (int j = i + 1; j < DIM; j++) {
            const wide product = e[i] * e[j], sum = wide_fma(two_c01, wide_fma(-e[j], e[j], others), two_c10);
            t.second[i][j] = t.second[j][i] = (two_c01 + two_c01) * product;
            t.minus[LAW_PAIR(i, j)] = wide_fma(-two_c01, product, sum);
            t.plus[LAW_PAIR(i, j)] = wide_fma(two_c01, product, sum);
        }
    }
    law_add_volumetric(&t, &volume, wide_fma(law->c + law->c, J, -(law->d * inverse)),
                       wide_fma(law->d * inverse, inverse, law->c + law->c));
    return t;
}
#endif
