/* SPDX-License-Identifier: MIT
 *
 * Isotropic hardening of metals: the yield stress Y as a function of the equivalent plastic strain ep.
 *
 *     Y(ep) = sigma_y + H ep + the parts in use                                       uniaxial stress [Pa]
 *     Voce    Q (1 - e^(-b ep))
 *     power   sigma_y ((1 + ep/e_0)^n - 1)                           so that Y = sigma_y (1 + ep/e_0)^n
 *     table   from sigma_y on, linear between points and constant beyond the last
 *
 * A part is its parameters, 0 where it is not in use, and its lines in `hardening_gain`. Y must not fall, so that a
 * step has one answer. E. Voce, J. Inst. Met. 74 (1948) 537; H. W. Swift, J. Mech. Phys. Solids 1 (1952) 1.
 */
#pragma once
#include "materials/row.h"

#define HARDENING_POINT(P, k) \
    P(table_strain_##k, "1", NOT_NEGATIVE, "plastic strain of a point of the table; 0: none") \
    P(table_stress_##k, "Pa", NOT_NEGATIVE, "yield stress of this point")

/* All but the linear part. */
#define HARDENING_PARAMETERS(P) \
    P(voce_saturation, "Pa", NOT_NEGATIVE, "Q: by how much the yield stress grows in the end") \
    P(voce_rate, "1", NOT_NEGATIVE, "b: rate of this growth with plastic strain") \
    P(power_strain, "1", NOT_NEGATIVE, "e_0: plastic strain at which the yield stress has grown by 2^n; 0: none") \
    P(power_exponent, "1", 0, 1, false, false, "n: exponent of this growth") \
    HARDENING_POINT(P, 1) \
    HARDENING_POINT(P, 2) \
    HARDENING_POINT(P, 3) \
    HARDENING_POINT(P, 4) \
    HARDENING_POINT(P, 5) \
    HARDENING_POINT(P, 6) \
    HARDENING_POINT(P, 7) \
    HARDENING_POINT(P, 8) \
    HARDENING_POINT(P, 9) \
    HARDENING_POINT(P, 10)

struct hardening_parameters { HARDENING_PARAMETERS(MPM_MEMBER) };

/* Those of a law that has them among its own. */
#define HARDENING_VALUE(name, ...) .name = p->name,
#define HARDENING_OF(p) {HARDENING_PARAMETERS(HARDENING_VALUE)}

enum { HARDENING_POINTS = 10 };

/* Strains and stresses of the table; returns the number of points. */
static inline int hardening_table(const struct hardening_parameters *p, double strain[], double stress[])
{
    const double *value = &p->table_strain_1;
    int points = 0;
    for (; points < HARDENING_POINTS && value[2 * points] > 0; points++) {
        strain[points] = value[2 * points];
        stress[points] = value[2 * points + 1];
    }
    return points;
}

static inline const char *hardening_unfit(double yield_stress, const struct hardening_parameters *p)
{
    double strain[HARDENING_POINTS], stress[HARDENING_POINTS];
    const int points = hardening_table(p, strain, stress);
    for (int k = 0; k < points; k++) {
        if (k && !(strain[k] > strain[k - 1]))
            return "the strains of a table must increase";
        if (!(stress[k] >= (k ? stress[k - 1] : yield_stress)))
            return k ? "the stresses of a table must not decrease" : "the stresses of a table must be >= yield_stress";
    }
    return NULL;
}

#ifdef MPM_DIM /* for kernels */
#include "math/elementary.h"

/* Stresses are times sqrt(2/3), as the radius of the yield surface is. */
#define HARDENING_ROOT 0.81649658092772603

struct hardening {
    wide yield, slope;                   /* sigma_y, H: the linear part */
    wide saturation, rate;               /* Q, b */
    wide inverse_strain, exponent;       /* 1/e_0, n */
    bool saturates, is_power, is_curved; /* Q > 0; e_0 > 0; there is any part that is not linear */
    int points;
    real strain[HARDENING_POINTS], stress[HARDENING_POINTS];
};

INLINE struct hardening hardening_of(double yield_stress, double slope, const struct hardening_parameters *p)
{
    const double root = HARDENING_ROOT;
    double strain[HARDENING_POINTS], stress[HARDENING_POINTS];
    struct hardening h = {
        .yield = wide_set((real)(root * yield_stress)),
        .slope = wide_set((real)(root * slope)),
        .saturation = wide_set((real)(root * p->voce_saturation)),
        .rate = wide_set((real)p->voce_rate),
        .inverse_strain = wide_set((real)(p->power_strain > 0 ? 1 / p->power_strain : 0)),
        .exponent = wide_set((real)p->power_exponent),
        .saturates = p->voce_saturation > 0,
        .is_power = p->power_strain > 0,
        .points = hardening_table(p, strain, stress),
    };
    for (int k = 0; k < h.points; k++) {
        h.strain[k] = (real)strain[k];
        h.stress[k] = (real)(root * stress[k]);
    }
    h.is_curved = h.saturates || h.is_power || h.points;
    return h;
}

/* What the parts that are not linear add to the radius, and the slope of it. */
INLINE wide hardening_gain(const struct hardening *h, wide strain, wide *slope)
{
    const wide zero = wide_set(0), one = wide_set(1), ep = wide_max(strain, zero);
    wide gain = zero;
    *slope = zero;
    if (h->saturates) {
        const wide grown = -wide_expm1(-h->rate * ep);
        gain = wide_fma(h->saturation, grown, gain);
        *slope = wide_fma(h->saturation * h->rate, one - grown, *slope);
    }
    if (h->is_power) {
        const wide base = wide_fma(ep, h->inverse_strain, one);
        const wide grown = h->yield * wide_expm1(h->exponent * wide_log(base));
        gain += grown;
        *slope = wide_fma(h->exponent * h->inverse_strain / base, h->yield + grown, *slope);
    }
    wide from = zero, stress = h->yield;
    for (int k = 0; k < h->points; k++) {
        const wide to = wide_set(h->strain[k]), width = to - from;
        const wide steep = (wide_set(h->stress[k]) - stress) / width;
        gain = wide_fma(steep, wide_min(wide_max(ep - from, zero), width), gain);
        *slope = wide_select(wide_less_equal(from, ep) & wide_less(ep, to), *slope + steep, *slope);
        from = to;
        stress = wide_set(h->stress[k]);
    }
    return gain;
}

NOINLINE void hardening_add_gain(const struct hardening *h, wide strain, wide *radius)
{
    wide slope;
    *radius += hardening_gain(h, strain, &slope);
}

/* sqrt(2/3) Y: the radius of the yield surface in the space of deviators. */
INLINE wide hardening_radius(const struct hardening *h, wide strain)
{
    wide radius = wide_fma(h->slope, strain, h->yield);
    if (__builtin_expect(h->is_curved, 0)) {
        wide whole = radius; /* in memory, as for all calls */
        hardening_add_gain(h, strain, &whole);
        radius = whole;
    }
    return radius;
}

/* The flow g of a step, by which the strain grows by sqrt(2/3) g, from the excess over the radius before it.
 * `stiffness`, by how much the excess falls per g, comes without the parts that are not linear, and goes with them, at
 * the end of the step. Newton's method between bounds, with halving where it would leave them and now and then. Lanes
 * that are done keep their g. */
NOINLINE void hardening_solve(const struct hardening *h, wide before, wide excess, wide *stiffness, wide *flow)
{
    const wide zero = wide_set(0), half = wide_set((real)0.5), small = wide_set(4 * REAL_EPSILON);
    const wide root = wide_set((real)HARDENING_ROOT), linear = *stiffness;
    wide slope, low = zero, high = excess / linear;
    const wide gained = hardening_gain(h, before, &slope);
    wide fall = wide_fma(root, slope, linear), g = excess / fall, found = zero, end = fall;
    const wide size = excess + wide_fma(h->slope, before, h->yield) + gained; /* what rounds */
    mask open = wide_less(zero, excess);
    for (int k = 0; k < 80 && mask_any(open); k++) {
        const wide more = hardening_gain(h, wide_fma(root, g, before), &slope) - gained;
        const wide miss = wide_fnma(linear, g, excess) - more;
        const mask above = wide_less(zero, miss);
        fall = wide_fma(root, slope, linear);
        found = wide_select(open, g, found);
        end = wide_select(open, fall, end);
        low = wide_select(above, g, low);
        high = wide_select(above, high, g);
        open &= wide_less(small * size, wide_abs(miss)) & wide_less(small * high, high - low);
        const wide newton = g + miss / fall, middle = half * (low + high);
        const mask inside = wide_less(low, newton) & wide_less(newton, high);
        g = wide_select(inside, newton, middle);
        if (k % 8 == 7)
            g = middle;
    }
    *flow = found;
    *stiffness = end;
}
#endif
